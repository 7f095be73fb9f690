// Requests to the server and its streams of events. The session cookie is HttpOnly: no module sees a token.

/** A failed request. `status` is 0 where no response came. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }

  /** Whether the server does not have this route or resource. */
  get isMissing() { return this.status === 404 || this.status === 405; }

  /** Whether no response came. */
  get isOffline() { return this.status === 0; }
}

const listeners = { 'signed-out': new Set(), connection: new Set() };

/**
 * Calls `listener` on `signed-out` and on `connection` (with whether the server answers). Returns the unsubscription.
 * @param {"signed-out"|"connection"} name
 * @param {(detail?: boolean) => void} listener
 * @returns {() => void}
 */
export function on(name, listener) {
  listeners[name].add(listener);
  return () => listeners[name].delete(listener);
}

function fire(name, detail) {
  for (const listener of [...listeners[name]]) listener(detail);
}

let isConnected = true;

function connection(now) {
  if (now === isConnected) return;
  isConnected = now;
  fire('connection', now);
}

/**
 * A path below the API: each part is encoded.
 * @param {TemplateStringsArray} strings
 * @param {...(string|number)} values
 * @returns {string}
 */
export function path(strings, ...values) {
  return strings.reduce((all, text, n) => all + text + (n < values.length ? encodeURIComponent(values[n]) : ''), '');
}

/**
 * A query string without the empty values.
 * @param {Record<string, string|number|boolean|null|undefined>} values
 * @returns {string}
 */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length ? '?' + new URLSearchParams(given.map(([key, value]) => [key, String(value)])) : '';
}

async function failure(response) {
  let told = {};
  try { told = (await response.json()).error ?? {}; } catch { /* Not JSON, as from a proxy. */ }
  const error = new ApiError(response.status, told.code ?? 'http', told.message ?? `HTTP ${response.status}`);
  error.retryAfter = Number(response.headers.get('retry-after')) || null;
  return error;
}

/**
 * Sends a request and returns its JSON.
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body] JSON, or bytes with `options.type`
 * @param {{signal?: AbortSignal, headers?: Record<string, string>, type?: string, as?: 'json'|'text'|'lines', quiet?: boolean}} [options]
 *   `quiet`: a 401 does not count as signed out
 */
export async function api(method, url, body, options = {}) {
  const headers = { Accept: 'application/json', ...options.headers };
  const init = { method, headers, signal: options.signal, credentials: 'same-origin', cache: 'no-store' };
  if (method !== 'GET') {
    headers['Content-Type'] = options.type ?? 'application/json';
    init.body = options.type ? body : JSON.stringify(body ?? {});
  }
  let response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    connection(false);
    throw new ApiError(0, 'offline', String(error.message));
  }
  connection(true);
  if (!response.ok) {
    const error = await failure(response);
    if (error.status === 401 && !options.quiet) fire('signed-out');
    throw error;
  }
  if (options.as === 'text') return response.text();
  if (options.as === 'lines') return lines(await response.text());
  const text = await response.text();
  return text ? JSON.parse(text) : {};
}

/** Objects of a text with one JSON object a line; a line that is none is kept as `{line}`. */
function lines(text) {
  return text.split('\n').filter(Boolean).map((line) => {
    try { return JSON.parse(line); } catch { return { line }; }
  });
}

/**
 * Reads JSON.
 * @param {string} url
 * @param {Parameters<typeof api>[3]} [options]
 * @returns {Promise<any>}
 */
export const get = (url, options) => api('GET', url, undefined, options);
/**
 * Sends JSON and returns JSON.
 * @param {string} url
 * @param {unknown} [body]
 * @param {Parameters<typeof api>[3]} [options]
 * @returns {Promise<any>}
 */
export const post = (url, body, options) => api('POST', url, body, options);

const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 400;
const LAST_PAUSE_MS = 15_000;

/**
 * Reads server-sent events, and goes on behind the last one after the connection broke.
 * @param {string} url
 * @param {{onEvent: (name: string, data: any, id: string) => void, onState?: (state: 'connecting'|'open'|'waiting'|'missing'|'closed') => void, lastId?: string}} options
 * @returns {() => void} closes the stream
 */
export function stream(url, { onEvent, onState = () => {}, lastId = '' }) {
  let isClosed = false;
  let pause = FIRST_PAUSE_MS;
  let abort = null;
  let wake = null;

  const online = () => wake?.();
  globalThis.addEventListener('online', online);

  async function read() {
    abort = new AbortController();
    let watchdog = null;
    // The server sends a comment every 15 seconds; a connection that is silent for longer is dead.
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    heard();
    try {
      const headers = { Accept: 'text/event-stream' };
      if (lastId) headers['Last-Event-ID'] = lastId;
      const response = await fetch(url, { headers, signal: abort.signal, credentials: 'same-origin', cache: 'no-store' });
      if (!response.ok) throw await failure(response);
      connection(true);
      onState('open');
      const parse = parser((name, data, id) => {
        if (id) lastId = id;
        pause = FIRST_PAUSE_MS;
        onEvent(name, data, id);
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || isClosed) return;
        heard();
        parse(value);
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  async function run() {
    while (!isClosed) {
      onState('connecting');
      try {
        await read();
      } catch (error) {
        if (isClosed) break;
        if (error.status === 401) { fire('signed-out'); break; }
        if (error.status === 404 || error.status === 405 || error.status === 403) { onState('missing'); return; }
        // The position is not known any more: begin anew.
        if (error.status === 400 && lastId) { lastId = ''; continue; }
        if (error.status === undefined && error.name !== 'AbortError') connection(false);
      }
      if (isClosed) break;
      onState('waiting');
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, pause * (0.7 + Math.random() * 0.6));
      });
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    }
    onState('closed');
  }

  run();
  return () => {
    isClosed = true;
    globalThis.removeEventListener('online', online);
    abort?.abort();
    wake?.();
  };
}

/**
 * A parser of `text/event-stream`, fed with pieces of text.
 * @param {(name: string, data: any, id: string) => void} onEvent
 * @returns {(piece: string) => void}
 */
export function parser(onEvent) {
  let rest = '';
  let name = '';
  let data = [];
  let id = '';
  return (piece) => {
    rest += piece;
    const all = rest.split(/\r\n|\n|\r(?!$)/);
    rest = all.pop();
    for (const line of all) {
      if (line === '') {
        if (data.length) {
          let value = data.join('\n');
          try { value = JSON.parse(value); } catch { /* Plain text stays text. */ }
          onEvent(name || 'message', value, id);
        }
        name = '';
        data = [];
        id = '';
        continue;
      }
      const at = line.indexOf(':');
      if (at === 0) continue;
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
      if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id') id = value;
    }
  };
}
