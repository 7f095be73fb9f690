// The entries of a session's tape, the newest first, in pages.
import { useCallback, useEffect, useRef, useState } from '../../lib/html.js';
import { get, path, query } from '../../lib/api.js';
import { TALK_KINDS } from '../../lib/entry.js';
import { unbegun } from '../../lib/prefs.js';
import { rememberTimes } from '../../lib/turns.js';

const PAGE = 160;

/**
 * The newest entries of a session, and the older ones as they are asked for.
 * @returns {{entries: object[], hasOlder: boolean, isBusy: boolean, isNew: boolean, error: Error|null, older: () => Promise<void>, refresh: (isForced?: boolean) => Promise<boolean>, reload: () => void}}
 */
export function useHistory(session) {
  const [state, setState] = useState({ entries: [], hasOlder: false, isBusy: true, isNew: false, error: null });
  const now = useRef(state);
  const asking = useRef(false);
  // Where the next older page ends.
  const before = useRef(null);
  const loading = useRef(null);
  const current = useRef(session);
  current.current = session;
  const set = (fields) => { now.current = { ...now.current, ...fields }; setState(now.current); };

  const read = useCallback(async (range) => {
    const page = await get(path`/v1/sessions/${session}/entries` + query({ ...range, kind: TALK_KINDS, max: PAGE }));
    rememberTimes(page.durations);
    return page;
  }, [session]);

  const reload = useCallback((isForced = true) => (loading.current ??= load(isForced).finally(() => { loading.current = null; })), [session, read]);

  async function load(isForced) {
    // A browser logs an answer 404 as an error, so nothing is asked for what does not exist yet.
    if (!isForced && unbegun.has(session)) {
      set({ entries: [], hasOlder: false, isBusy: false, isNew: true, error: null });
      return;
    }
    set({ isBusy: true, error: null });
    try {
      const { entries, more, next } = await read({});
      if (current.current !== session) return;
      before.current = next ?? entries[0]?.id ?? null;
      set({ entries, hasOlder: more && before.current !== null, isBusy: false, isNew: entries.length === 0 && !more, error: null });
    } catch (error) {
      if (current.current !== session) return;
      // A session without a tape begins with its first message.
      set(error.status === 404 ? { entries: [], hasOlder: false, isBusy: false, isNew: true } : { isBusy: false, error });
    }
  }

  const older = useCallback(async () => {
    if (asking.current || before.current === null) return;
    asking.current = true;
    try {
      // With kinds a page can be empty and not the last one.
      for (let hasMore = true; hasMore;) {
        const { entries, more, next } = await read({ before: before.current });
        if (current.current !== session) return;
        const at = next ?? entries[0]?.id ?? null;
        hasMore = more && at !== null && at < before.current;
        before.current = hasMore ? at : null;
        set({ entries: [...entries, ...now.current.entries], hasOlder: hasMore });
        if (entries.length) break;
      }
    } catch (error) {
      if (current.current === session) set({ error });
    } finally {
      asking.current = false;
    }
  }, [session, read]);

  const refresh = useCallback(async (isForced = true) => {
    // What the tape got while it was read for the first time comes behind that.
    if (loading.current) await loading.current;
    const last = now.current.entries.at(-1)?.id;
    if (last === undefined) { await reload(isForced); return !now.current.error; }
    try {
      let after = last;
      for (let hasMore = true; hasMore;) {
        const { entries, more, next } = await read({ after });
        if (current.current !== session) return false;
        const fresh = entries.filter((entry) => entry.id > now.current.entries.at(-1).id);
        if (fresh.length) set({ entries: [...now.current.entries, ...fresh], isNew: false, error: null });
        const at = next ?? entries.at(-1)?.id ?? after;
        hasMore = more && at > after;
        after = at;
      }
      if (now.current.error) set({ error: null });
      return true;
    } catch (error) {
      if (current.current === session && error.status !== 404) set({ error });
      return false;
    }
  }, [session, read, reload]);

  useEffect(() => {
    now.current = { entries: [], hasOlder: false, isBusy: true, isNew: false, error: null };
    setState(now.current);
    loading.current = null;
    reload(false);
  }, [reload]);

  return { ...state, older, refresh, reload };
}
