// Entries of a tape: their text, and the conversation that they make.
import { oneLine } from './text.js';

/** Kinds of entries that a conversation is made of. */
export const TALK_KINDS = 'message,tool_call,tool_result,error,anchor,event';

// The agent loop puts a line of context and a date before what the user wrote.
const HEAD = /^(?:[\w.$-]+=[^\n]*\n)?---Date: [^\n]{1,64}---\n/;

/**
 * What the user wrote, without the line of context and the date.
 * @param {string} text
 * @returns {string}
 */
export function withoutHead(text) {
  return text.replace(HEAD, '');
}

/**
 * The text and the attachments of a message's content.
 * @param {unknown} content
 * @returns {{text: string, media: {name: string, mime: string, url: string}[]}}
 */
export function contentOf(content) {
  if (typeof content === 'string') return { text: content, media: [] };
  if (!Array.isArray(content)) return { text: content === null || content === undefined ? '' : JSON.stringify(content), media: [] };
  const texts = [];
  const media = [];
  for (const part of content) {
    if (part?.type === 'text') texts.push(String(part.text ?? ''));
    else media.push(mediaOf(part));
  }
  return { text: texts.join('\n'), media };
}

function mediaOf(part) {
  const url = part?.image_url?.url ?? part?.video_url?.url ?? part?.file?.file_data ?? '';
  const data = part?.input_audio?.data;
  const mime = /^data:([^;,]*)/.exec(url)?.[1] ?? (data ? `audio/${part.input_audio.format ?? 'wav'}` : '');
  return { name: part?.file?.filename ?? '', mime, url: data ? `data:${mime};base64,${data}` : String(url) };
}

/**
 * A call of a tool as it stands on a tape or comes in a stream.
 * @param {any} call
 * @returns {{id: string|null, name: string, args: string}}
 */
export function callOf(call) {
  const { name, arguments: args } = call?.function ?? call ?? {};
  return { id: call?.id ?? null, name: String(name ?? '?'), args: typeof args === 'string' ? args : JSON.stringify(args ?? {}) };
}

/**
 * The result of a tool: its text, and whether it is an error.
 * @param {unknown} result
 * @returns {{text: string, isError: boolean}}
 */
export function resultOf(result) {
  if (typeof result === 'string') return { text: result, isError: false };
  const isError = Boolean(result && typeof result === 'object' && result.kind && result.message);
  return { text: isError ? errorText(result) : JSON.stringify(result, null, 2), isError };
}

function errorText(error) {
  const details = error.details === undefined || error.details === null ? '' : `\n${JSON.stringify(error.details, null, 2)}`;
  return `${error.message}${details}`;
}

/**
 * The items of a conversation, from entries in their order.
 * Items are `{key, type, id, date, ...}` with the types user, assistant, tools, command, error, anchor and note.
 */
export function toItems(entries) {
  const items = [];
  let step = 1;
  // The first entry of the turn that a message began: a fork before the message leaves those out too.
  let begin = null;
  let open = null;
  const taints = [];
  const addTaint = (entry) => add(entry, 'note', { text: oneLine(entry.payload.data?.why ?? ''), isTaint: true });
  const add = (entry, type, fields) => items.push({ key: `${entry.id}`, type, id: entry.id, date: entry.date, ...fields });
  for (const entry of entries) {
    const payload = entry.payload ?? {};
    if (entry.line !== undefined && !entry.payload) { add(entry, 'damage', { text: entry.line }); continue; }
    switch (entry.kind) {
      case 'message': {
        const { text, media } = contentOf(payload.content);
        if (payload.role === 'user') {
          if (step > 1 && isContinuation(text)) break;
          add(entry, 'user', { text: withoutHead(text), media, before: (begin ?? entry.id) - 1 });
          begin = null;
          taints.splice(0).forEach(addTaint);
        } else {
          add(entry, payload.role === 'assistant' ? 'assistant' : 'note', { text, media });
        }
        break;
      }
      case 'tool_call':
        open = { calls: (Array.isArray(payload.calls) ? payload.calls : []).map((call) => ({ ...callOf(call), result: null, entry: entry.id })) };
        add(entry, 'tools', open);
        open = items.at(-1);
        break;
      case 'tool_result':
        if (!open) { open = { calls: [] }; add(entry, 'tools', open); open = items.at(-1); }
        (Array.isArray(payload.results) ? payload.results : []).forEach((result, n) => {
          open.calls[n] ??= { id: null, name: '?', args: '{}' };
          open.calls[n].result = resultOf(result);
        });
        open.key += `-${entry.id}`;
        break;
      case 'error': add(entry, 'error', { text: payload.message ?? JSON.stringify(payload) }); break;
      case 'anchor':
        if (entry.meta?.zone !== true) add(entry, 'anchor', { name: String(payload.name ?? ''), state: payload.state });
        break;
      case 'event': event(entry, payload); break;
      default:
    }
  }
  return items;

  function event(entry, { name, data = {} }) {
    if (name === 'message.taken') begin ??= entry.id;
    else if (name === 'loop.start') { begin ??= entry.id; step = 1; }
    else if (name === 'loop.step.start') { step = data?.step ?? 1; begin ??= entry.id; }
    else if (name === 'loop.step') {
      if (open && items.includes(open)) open.elapsed = data?.elapsed_ms;
      open = null;
      if (data?.status === 'error') add(entry, 'error', { text: String(data.error ?? '') });
    } else if (name === 'command') {
      add(entry, 'command', { raw: String(data?.raw ?? ''), text: String(data?.output ?? ''), isError: data?.status === 'error', elapsed: data?.elapsed_ms });
      begin = null;
    } else if (name === 'turn.tainted') {
      // It can stand before the message that began the turn, and is shown behind it.
      if (begin === null) addTaint(entry); else taints.push(entry);
    }
  }
}

function isContinuation(text) {
  return /^(?:Continue the task until all targets are completed\.)/.test(text);
}

/**
 * One line that says what an entry is.
 * @param {object} entry
 * @returns {string}
 */
export function summary(entry) {
  const payload = entry.payload;
  if (!payload) return oneLine(entry.line ?? '');
  switch (entry.kind) {
    case 'message': {
      const { text, media } = contentOf(payload.content);
      const files = media.length ? ` [${media.map((one) => one.name || one.mime || '?').join(', ')}]` : '';
      return oneLine(withoutHead(text)) + files;
    }
    case 'system': return oneLine(payload.content ?? '');
    case 'tool_call': return oneLine((payload.calls ?? []).map?.((call) => { const { name, args } = callOf(call); return `${name} ${args}`; }).join(' · '));
    case 'tool_result': return oneLine((payload.results ?? []).map?.((result) => (typeof result === 'string' ? result : JSON.stringify(result))).join(' · '));
    case 'anchor': return oneLine(payload.state ? JSON.stringify(payload.state) : '');
    case 'error': return oneLine(payload.message ?? JSON.stringify(payload));
    case 'event': return oneLine(eventText(payload));
    default: return oneLine(JSON.stringify(payload).slice(0, 400));
  }
}

function eventText({ data }) {
  if (data === null || data === undefined) return '';
  if (typeof data !== 'object') return String(data);
  const { raw, output, prompt, status, content, usage, step, elapsed_ms: elapsed, error, model } = data;
  if (raw !== undefined) return `,${raw} → ${output ?? ''}`;
  const parts = [step !== undefined && `step ${step}`, status, model, usage && `${usage.total_tokens} tokens`, elapsed !== undefined && `${elapsed} ms`, error];
  const told = parts.filter(Boolean).join(' · ');
  return told || (prompt && withoutHead(String(prompt))) || content || JSON.stringify(data).slice(0, 400);
}

/**
 * The name of an entry beside its kind: a role, or the name of an anchor or event.
 * @param {object} entry
 * @returns {string}
 */
export function nameOf(entry) {
  const payload = entry.payload ?? {};
  if (entry.kind === 'message') return String(payload.role ?? '');
  if (entry.kind === 'anchor' || entry.kind === 'event') return String(payload.name ?? '');
  return '';
}
