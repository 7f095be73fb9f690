/** Handles of the host: the turn, tapes, views, programs. JSON is read and written here, and errors are thrown. */

import { ask } from "./error.js";
import { dumps, loads } from "./text.js";

const parsed = (json) => (json === undefined || json === null ? undefined : loads(json));

/** A class whose methods pass on to those of a raw handle. */
function passing(...names) {
  const Passing = class {
    constructor(raw) {
      this.raw = raw;
    }
  };
  for (const name of names) {
    Passing.prototype[name] = function (...given) {
      return ask(() => this.raw[name](...given));
    };
  }
  return Passing;
}

/** An entry of a tape: `payload` and `meta` are read when they are asked for. */
export class Entry {
  constructor({ id, kind, payload, meta, date }) {
    Object.assign(this, { id, kind, payloadText: payload, metaText: meta, date });
  }

  get payload() {
    return loads(this.payloadText);
  }

  get meta() {
    return loads(this.metaText);
  }
}

const entries = (list) => list.map((entry) => new Entry(entry));
const drafts = (list) =>
  list.map(({ kind, payload, meta = {} }) => ({ kind, payload: dumps(payload), meta: dumps(meta) }));
const condition = (query) => ({ start: { tag: "first" }, kinds: [], newestFirst: false, ...query });

/** An event, to be appended to a tape. */
export function event(name, data) {
  return { kind: "event", payload: { name, data } };
}

/** The turn in progress. */
export class Turn extends passing(
  "newRunId",
  "sessionId",
  "workspace",
  "workspaceInstructions",
  "setMessageKind",
  "principal",
  "tainted",
  "started",
) {
  message() {
    return readEnvelope(this.raw.message());
  }

  get(key) {
    return parsed(this.raw.get(key));
  }

  set(key, value) {
    ask(() => this.raw.set(key, dumps(value)));
  }

  state() {
    return loads(this.raw.state());
  }

  tape(grant) {
    return new Tape(needs(grant) && ask(() => this.raw.tape()));
  }

  workspaceTape(grant) {
    return new Tape(needs(grant) && ask(() => this.raw.workspaceTape()));
  }

  emit(event) {
    ask(() => this.raw.emit(writeEvent(event)));
  }
}

/** The grant that a call takes, so that the manifest asks for it. */
function needs(grant) {
  if (typeof grant?.grant !== "string") throw new TypeError("this call takes the grant that `plugin` returned");
  return true;
}

/** A tape. Methods that write to it take the grant to do so. */
export class Tape extends passing("name", "info", "merge") {
  *query(query = {}) {
    const cursor = ask(() => this.raw.query(condition(query)));
    for (;;) {
      const page = entries(ask(() => cursor.next(256)));
      if (page.length === 0) return;
      yield* page;
    }
  }

  search(search) {
    const hits = ask(() => this.raw.search({ kinds: [], limit: 20, ...search }));
    return hits.map(({ entry, score }) => ({ entry: new Entry(entry), score }));
  }

  tail(before, max) {
    return entries(ask(() => this.raw.tail(before, max)));
  }

  lastAnchor(name, before) {
    const entry = ask(() => this.raw.lastAnchor(name, before));
    return entry ? new Entry(entry) : undefined;
  }

  section(name) {
    return entries(ask(() => this.raw.section(name)));
  }

  append(grant, list) {
    return needs(grant) && ask(() => this.raw.append(drafts(list)));
  }

  appendIf(grant, last, list) {
    return needs(grant) && ask(() => this.raw.appendIf(last, drafts(list)));
  }

  handoff(grant, name, state) {
    return needs(grant) && ask(() => this.raw.handoff(name, state === undefined ? undefined : dumps(state)));
  }

  forget(grant, texts, dryRun = false) {
    return needs(grant) && ask(() => this.raw.forget(texts, dryRun));
  }

  fork() {
    return new Tape(ask(() => this.raw.fork()));
  }

  reset(grant, archive) {
    return needs(grant) && ask(() => this.raw.reset(archive));
  }

  sidecar(grant, name) {
    return new Tape(needs(grant) && ask(() => this.raw.sidecar(name)));
  }
}

/** What a selector sees. */
export class View extends passing(
  "nextIds",
  "info",
  "prompt",
  "systemPrompt",
  "systemParts",
  "model",
  "budget",
  "tokenCalibration",
  "turnStartId",
  "tools",
) {
  next(max) {
    return entries(ask(() => this.raw.next(max)));
  }

  tail(before, max) {
    return entries(ask(() => this.raw.tail(before, max)));
  }

  search(text, max, timeoutMs) {
    const hits = ask(() => this.raw.search(text, max, timeoutMs));
    return hits.map(({ entry, score }) => ({ entry: new Entry(entry), score }));
  }

  query(sidecar, query, max, timeoutMs) {
    return entries(ask(() => this.raw.query(sidecar, condition(query), max, timeoutMs)));
  }

  sidecar(grant, name) {
    return new Tape(needs(grant) && ask(() => this.raw.sidecar(name)));
  }

  newMessages() {
    return this.raw.newMessages().map(loads);
  }

  replaceNewMessages(messages) {
    ask(() => this.raw.replaceNewMessages(messages.map(dumps)));
  }

  state(key) {
    return parsed(this.raw.state(key));
  }
}

/** A running model call; iterating over it gives its events. */
export class Completion extends passing("next") {
  *[Symbol.iterator]() {
    for (let event = this.next(); event; event = this.next()) yield readEvent(event);
  }
}

/** A program. It ends with its turn, unless its `id` was asked for. */
export class Child extends passing("id", "wait", "read", "kill") {}

/** Where a provider sends its answer. */
export class Sink {
  constructor(raw) {
    this.raw = raw;
  }

  send(event) {
    ask(() => this.raw.send(writeEvent(event)));
  }
}

const JSON_EVENTS = ["usage", "tool-results", "final"];

/** An event as the host takes it: a text stands for itself. */
export function writeEvent(event) {
  if (typeof event === "string") return { tag: "text", val: event };
  return JSON_EVENTS.includes(event.tag) ? { tag: event.tag, val: dumps(event.val) } : event;
}

export function readEvent(event) {
  return JSON_EVENTS.includes(event.tag) ? { tag: event.tag, val: loads(event.val) } : event;
}

/** A message of the host: `context` is an object. */
export function readEnvelope(message) {
  const context = Object.fromEntries(message.context.map(([key, json]) => [key, loads(json)]));
  return { ...message, context };
}

/** A message for the host, with what was left out. */
export function writeEnvelope(message) {
  const context = Object.entries(message.context ?? {}).map(([key, value]) => [key, dumps(value)]);
  const media = (message.media ?? []).map((item) => ({ provenance: "written", ...item }));
  return { kind: "normal", chatId: "local", channel: "cli", passages: [], ...message, context, media };
}
