// A turn that runs, from the events of a session's stream.
import { callOf, resultOf } from './entry.js';

// How long calls took, by their ids: of those that this page has seen run, and of those that receipts tell of.
const times = new Map();
const MAX_TIMES = 2000;

/**
 * How long a call took in milliseconds, if it is known.
 * @param {string|null} id
 * @returns {number|undefined}
 */
export const timeOf = (id) => (id ? times.get(id) : undefined);

/**
 * Takes the times of a page of entries.
 * @param {Record<string, number>|undefined} durations
 */
export function rememberTimes(durations) {
  remember(Object.entries(durations ?? {}).map(([id, took]) => ({ id, took })));
}

function remember(blocks) {
  for (const block of blocks) if (block.id && block.took !== undefined) times.set(block.id, block.took);
  for (const id of times.keys()) {
    if (times.size <= MAX_TIMES) break;
    times.delete(id);
  }
}

/**
 * A turn without events. `blocks` are `{type: 'text'|'reasoning'|'tool'|'retry'|'error', ...}`.
 * @param {string} name
 */
export function newTurn(name) {
  return { name, blocks: [], began: Date.now(), isDone: false, error: null, usage: null, missed: 0, results: 0 };
}

/**
 * The turn after an event. `turn` is changed; a turn that begins replaces the one before.
 * @returns {{turn: object|null, ended: boolean}} `ended`: what the turn wrote is on the tape now
 */
export function take(turn, name, data = {}) {
  if (name === 'ready' || name === 'message') return { turn, ended: false };
  if (name === 'begin') return { turn: newTurn(data.turn), ended: false };
  const now = turn ?? newTurn('');
  switch (name) {
    case 'text': case 'reasoning': {
      const last = now.blocks.at(-1);
      if (last?.type === name) last.text += data.text ?? '';
      else now.blocks.push({ type: name, text: data.text ?? '' });
      break;
    }
    case 'tool-begins': {
      const found = pending(now, data);
      if (found) Object.assign(found, { call: data.call, began: Date.now() });
      else now.blocks.push({ type: 'tool', call: data.call, ...callOf({ name: data.tool, arguments: data.arguments }), began: Date.now(), result: null });
      break;
    }
    case 'tool-calls':
      for (const call of data.calls ?? []) {
        const given = callOf(call);
        const found = now.blocks.find((block) => block.type === 'tool' && !block.isListed && block.name === given.name && !block.result);
        if (found) Object.assign(found, { id: given.id, isListed: true });
        else now.blocks.push({ type: 'tool', ...given, isListed: true, result: null });
      }
      break;
    case 'tool-ends': {
      const found = now.blocks.find((block) => block.type === 'tool' && block.call === data.call && block.took === undefined);
      if (found) Object.assign(found, { took: data.took_ms, failed: data.error ?? null });
      break;
    }
    case 'tool-results': {
      const waiting = now.blocks.filter((block) => block.type === 'tool' && !block.result);
      (Array.isArray(data.results) ? data.results : []).forEach((result, n) => { if (waiting[n]) waiting[n].result = resultOf(result); });
      break;
    }
    case 'usage': now.usage = data; break;
    case 'retry': now.blocks.push({ type: 'retry', text: String(data.reason ?? ''), pause: data.pause_ms }); break;
    case 'error': now.error = data; break;
    case 'missed': now.missed += data.count ?? 0; break;
    case 'final':
      now.isDone = true;
      remember(now.blocks);
      now.usage = data.usage ?? now.usage;
      now.error = data.error ?? now.error;
      now.output = data.model_output;
      return { turn: now, ended: true };
    case 'taken-over': return { turn: { ...newTurn(''), isTakenOver: true }, ended: false };
    default:
  }
  return { turn: now, ended: false };
}

function pending(turn, { tool, arguments: args }) {
  const open = turn.blocks.filter((block) => block.type === 'tool' && block.call === undefined && block.name === tool);
  return open.find((block) => block.args === args) ?? open[0];
}
