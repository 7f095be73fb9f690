// The events of all turns, and the list of sessions that they keep current.
import { get, on, path, post, query } from './api.js';
import { sharedStream } from './shared.js';
import { signal } from './signal.js';

const MAX_PAGES = 8;

// A busy server has more events than a page can show.
const INTERVAL_MS = 250;

// The list is read again at most so often, and not in more than a tenth of the time.
const PAUSE_MS = 1200;
const SHARE = 10;

/** `{list, error, isLoaded, hasMore}`, the last used first. */
export const sessions = signal({ list: [], error: null, isLoaded: false, hasMore: false });

/** The state of the stream of events. */
export const eventState = signal('connecting');

const listeners = new Set();

/**
 * Calls `listener(name, data)` for each event. Returns the unsubscription.
 * @param {(name: string, data: any) => void} listener
 * @returns {() => void}
 */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Starts to listen; returns the end.
 * @returns {() => void}
 */
export function listen() {
  return sharedStream(`/v1/events?interval=${INTERVAL_MS}`, {
    onEvent: (name, data) => {
      follow(name, data);
      for (const listener of [...listeners]) listener(name, data ?? {});
    },
    onState: (state) => eventState.set(state),
  });
}

function follow(name, data) {
  const session = data?.session_id;
  if (name === 'missed' || name === 'ready') { later(); return; }
  if (!session || !sessions.value.isLoaded) return;
  if (name === 'turn-begins' || name === 'turn-ends') {
    const isKnown = sessions.value.list.some((one) => one.session_id === session);
    patch(session, { running: name === 'turn-begins', last_date: new Date().toISOString() });
    // The names and counts of the end are on the server.
    if (!isKnown || name === 'turn-ends') later();
  }
}

on('connection', (isConnected) => { if (isConnected && sessions.value.error) later(); });

let timer = null;

let pause = PAUSE_MS;

function later() {
  timer ??= setTimeout(async () => {
    timer = null;
    if (!sessions.value.isLoaded && !sessions.value.error) return;
    const began = performance.now();
    await loadSessions();
    pause = Math.max(PAUSE_MS, SHARE * (performance.now() - began));
  }, pause);
}

/**
 * Changes fields of a session in the list.
 * @param {string} session
 * @param {object} fields
 */
export function patch(session, fields) {
  const list = sessions.value.list.map((one) => (one.session_id === session ? { ...one, ...fields } : one));
  sessions.set({ ...sessions.value, list: sorted(list) });
}

function sorted(list) {
  return list.sort((a, b) => String(b.last_date ?? '').localeCompare(String(a.last_date ?? '')));
}

let loading = null;

/**
 * Reads the list. The server orders by id, so all pages are read before they are sorted by date.
 * @returns {Promise<void>}
 */
export function loadSessions() {
  loading ??= (async () => {
    try {
      const list = [];
      let after;
      let hasMore = true;
      for (let page = 0; page < MAX_PAGES && hasMore; page += 1) {
        const found = await get('/v1/sessions' + query({ after, max: 256 }));
        list.push(...found.sessions);
        hasMore = found.more && found.sessions.length > 0;
        after = list.at(-1)?.session_id;
      }
      sessions.set({ list: sorted(list), error: null, isLoaded: true, hasMore });
    } catch (error) {
      sessions.set({ ...sessions.value, error });
    } finally {
      loading = null;
    }
  })();
  return loading;
}

/**
 * What a session is called where it is shown.
 * @param {{session_id?: string, name?: string|null, first_words?: string|null}|undefined} session
 * @returns {string}
 */
export function titleOf(session) {
  return session?.name || session?.first_words || session?.session_id || '';
}

/**
 * Names a session; an empty name removes it.
 * @param {string} session
 * @param {string} name
 */
export const rename = async (session, name) => {
  await post(path`/v1/sessions/${session}/name`, { name });
  patch(session, { name: name || null });
};

/**
 * Puts the tape of a session into an archive.
 * @param {string} session
 * @returns {Promise<{archive: string}>}
 */
export const archive = async (session) => {
  const done = await post(path`/v1/sessions/${session}/archive`, {});
  sessions.set({ ...sessions.value, list: sessions.value.list.filter((one) => one.session_id !== session) });
  return done;
};

/**
 * Makes a session with the entries up to and including `through`.
 * @param {string} session
 * @param {number} through 0: none
 * @param {string} [id] of the new session
 * @returns {Promise<{session_id: string}>}
 */
export const fork = (session, through, id) => post(path`/v1/sessions/${session}/fork`, { through, ...(id && { session_id: id }) });

/**
 * Saves a session's tape as a file.
 * @param {string} session
 * @param {"markdown"|"jsonl"} format
 */
export function exportSession(session, format) {
  const link = document.createElement('a');
  link.href = path`/v1/sessions/${session}/export` + query({ format });
  link.download = '';
  link.click();
}
