// Messages on their way. Each has an idempotency key, so that it can be sent again until an answer comes: also after a
// reload, as long as it has no attachments.
import { api } from '../../lib/api.js';
import { draft, load, save, unbegun } from '../../lib/prefs.js';
import { signal } from '../../lib/signal.js';
import { randomId } from '../../lib/text.js';

const KEY = 'outbox';
const DONE_MS = 4000;
const PAUSES_MS = [1000, 2000, 5000, 10_000, 15_000];

/**
 * `{key, session, content, media, after, state: 'sending'|'waiting'|'done'|'failed', error, sent}` in the order of sending.
 * `after` is the last entry that the tape had: the message comes behind it.
 */
export const outbox = signal([]);

const finished = new Set();

/**
 * Calls `listener(message)` when the turn of a message has ended.
 * @param {(message: object) => void} listener
 * @returns {() => void}
 */
export function onFinished(listener) {
  finished.add(listener);
  return () => finished.delete(listener);
}

function store() {
  const kept = outbox.value.filter((one) => !one.media.length && one.state !== 'failed' && one.state !== 'done');
  save(KEY, kept.length ? kept.map(({ key, session, content, after }) => ({ key, session, content, after })) : null);
}

function change(key, fields) {
  outbox.set(outbox.value.map((one) => (one.key === key ? { ...one, ...fields } : one)));
  store();
}

/**
 * Removes a message from those on their way.
 * @param {string} key
 */
export function drop(key) {
  outbox.set(outbox.value.filter((one) => one.key !== key));
  store();
}

/**
 * Sends a message; the result of its turn.
 * @param {string} session
 * @param {string} content
 * @param {object[]} [media]
 * @param {number} [after] the last entry of the tape
 * @param {string} [key] of the idempotency
 * @returns {Promise<object|null>}
 */
export async function send(session, content, media = [], after = 0, key = `page-${randomId(16)}`) {
  const message = { key, session, content, media, after, state: 'sending', error: null, sent: new Date().toISOString() };
  outbox.set([...outbox.value.filter((one) => one.key !== key), message]);
  store();
  const body = { content, session_id: session, ...(media.length && { media }) };
  for (let attempt = 0; ; attempt += 1) {
    try {
      const outcome = await api('POST', '/v1/turns', body, { headers: { 'Idempotency-Key': key } });
      change(key, { state: 'done', outcome });
      unbegun.remove(session);
      // The tape has the message now, in whatever form.
      setTimeout(() => drop(key), DONE_MS);
      for (const listener of [...finished]) listener({ ...message, outcome });
      return outcome;
    } catch (error) {
      if (error.status === 401) {
        // The text goes back to where it was written, for after the sign-in.
        if (!draft.read(session)) draft.write(session, content);
        drop(key);
        return null;
      }
      const isTemporary = error.isOffline || error.status === 503 || error.status === 502 || error.status === 504;
      if (!isTemporary) {
        change(key, { state: 'failed', error });
        for (const listener of [...finished]) listener({ ...message, error });
        return null;
      }
      change(key, { state: 'waiting', error });
      await pause(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]);
      if (!outbox.value.some((one) => one.key === key)) return null;
      change(key, { state: 'sending' });
    }
  }
}

function pause(ms) {
  return new Promise((resolve) => {
    const go = () => { clearTimeout(timer); removeEventListener('online', go); resolve(); };
    const timer = setTimeout(go, ms);
    addEventListener('online', go);
  });
}

/** Sends again what was on its way when the page was closed. */
export function resume() {
  for (const { key, session, content, after } of load(KEY, [])) send(session, content, [], after, key);
}
