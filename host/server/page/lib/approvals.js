// Questions before tool calls, of all sessions. While a page listens, turns ask instead of denying.
import { get, path, post } from './api.js';
import { announce } from './notices.js';
import { sharedStream } from './shared.js';
import { signal } from './signal.js';
import { t } from './i18n.js';

/** `{list, state}`; `state` is `connecting`, `open`, `waiting`, `missing` or `closed`. */
export const approvals = signal({ list: [], state: 'connecting' });

let close = null;

/**
 * Starts to listen; returns the end.
 * @returns {() => void}
 */
export function listen() {
  close?.();
  let known = new Set();
  const take = (list) => {
    const fresh = list.filter((one) => !known.has(one.id));
    known = new Set(list.map((one) => one.id));
    approvals.set({ ...approvals.value, list });
    if (fresh.length) announce(t('A tool call waits for your decision: {tool}', { tool: fresh.map((one) => one.tool).join(', ') }));
  };
  const end = sharedStream('/v1/approvals/stream', {
    isSnapshot: true,
    onEvent: (name, data) => { if (name === 'approvals') take(Array.isArray(data) ? data : data?.approvals ?? []); },
    onState: (state) => {
      approvals.set({ ...approvals.value, state });
      // Without the stream, as for a token without the scope `admin`, the list may still be read.
      if (state === 'missing') get('/v1/approvals').then(({ approvals: list }) => take(list), () => {});
    },
  });
  close = () => { end(); close = null; approvals.set({ list: [], state: 'closed' }); };
  return () => close?.();
}

/**
 * Answers a question: `once`, `session`, `rule`, `no` or `never`.
 * @param {string} id
 * @param {"once"|"session"|"rule"|"no"|"never"} decision
 * @returns {Promise<{id: string, decision: string}>}
 */
export async function answer(id, decision) {
  const done = await post(path`/v1/approvals/${id}`, { decision });
  approvals.set({ ...approvals.value, list: approvals.value.list.filter((one) => one.id !== id) });
  return done;
}
