// A memory on a tape: sections between `memory/open` and `memory/seal`, each a version of all of it.
import { get, path, post, query } from '../../lib/api.js';
import { argument } from '../../lib/text.js';

const MAX_VERSIONS = 200;
const SIDECAR = '__sidecar__';

/**
 * The tape of a session's memory, or null where the session has none.
 * @param {string} tape
 * @param {AbortSignal} [signal]
 * @returns {Promise<string|null>}
 */
export async function sidecarOf(tape, signal) {
  const { names = [] } = await get(path`/v1/tapes/${tape}/sidecars`, { signal });
  const found = names.find((name) => name === 'memory' || name.endsWith(`${SIDECAR}memory`));
  return found === 'memory' ? `${tape}${SIDECAR}memory` : found ?? null;
}

/**
 * The versions of a memory, the newest first.
 * @returns {Promise<{version: number, open: number, seal: number, date: string}[]>}
 */
export async function versions(tape, signal) {
  const anchors = (name) => get(path`/v1/tapes/${tape}/query` + query({ kinds: '["anchor"]', name, newest_first: true, max: MAX_VERSIONS }), { signal, as: 'lines' });
  const [opens, seals] = await Promise.all([anchors('memory/open'), anchors('memory/seal')]);
  const isOne = (name) => (entry) => entry.kind === 'anchor' && entry.payload?.name === name;
  const begins = opens.filter(isOne('memory/open'));
  const found = [];
  for (const seal of seals.filter(isOne('memory/seal'))) {
    const version = seal.payload.state?.version;
    // An open anchor without its seal is the rest of a write that failed.
    const open = begins.find((entry) => entry.id < seal.id && entry.payload.state?.version === version);
    if (open) found.push({ version, open: open.id, seal: seal.id, date: seal.date });
  }
  return found.sort((a, b) => b.version - a.version || b.seal - a.seal);
}

/**
 * The content of a version.
 * @returns {Promise<{text: string, isTainted: boolean, updated: string, days: {date: string, text: string, isTainted: boolean}[]}>}
 */
export async function content(tape, { open, seal }, signal) {
  const entries = [];
  for (let after = open; after < seal - 1;) {
    const page = await get(path`/v1/tapes/${tape}/entries` + query({ after, max: Math.min(256, seal - 1 - after) }), { signal });
    if (!page.entries.length) break;
    entries.push(...page.entries.filter((entry) => entry.id < seal));
    after = page.entries.at(-1).id;
    if (!page.more) break;
  }
  const events = entries.filter((entry) => entry.kind === 'event' && entry.payload);
  const long = events.find((entry) => entry.payload.name === 'memory.long_term');
  const days = events.filter((entry) => entry.payload.name === 'memory.daily').map((entry) => ({
    date: String(entry.payload.data?.date ?? ''),
    text: String(entry.payload.data?.content ?? ''),
    isTainted: entry.meta?.tainted === true,
  }));
  return {
    text: String(long?.payload.data?.content ?? ''),
    isTainted: long?.meta?.tainted === true,
    updated: long?.payload.data?.updated_at ?? null,
    days: days.sort((a, b) => b.date.localeCompare(a.date)),
  };
}

/**
 * Runs a command of the memory as the user's own words, and returns what it says.
 * @param {string} session
 * @param {string|undefined} scope
 * @param {string} name
 * @param {Record<string, string>} [values]
 * @returns {Promise<string>}
 */
export async function command(session, scope, name, values = {}) {
  const given = Object.entries({ ...values, scope }).filter(([, value]) => value !== undefined && value !== '');
  const line = [`,memory.${name}`, ...given.map(([key, value]) => argument(key, value))].join(' ');
  const { model_output: output, error } = await post('/v1/turns', { content: line, session_id: session });
  if (error) throw new Error(error.message);
  return output;
}
