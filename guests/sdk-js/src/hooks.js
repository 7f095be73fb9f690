/** The hooks, and how their values are read and written. `wit/README.md` describes when each is called. */

import { PluginError, clean, lift } from "./error.js";
import { Entry, Sink, Turn, View, readEnvelope, writeEnvelope } from "./handles.js";
import { dumps, loads } from "./text.js";

const same = (value) => value;
const turn = (raw) => new Turn(raw);
const view = (raw) => new View(raw);
const text = (value) => (value === undefined || value === null ? undefined : clean(value));
const none = (value) => value ?? undefined;
const json = (value) => (value === undefined || value === null ? undefined : dumps(value));
const prompt = (value) => (typeof value === "string" ? { tag: "text", val: clean(value) } : none(value));
const parsed = (value) => (value === undefined || value === null ? undefined : loads(value));
const optional = (of) => (value) => (value === undefined || value === null ? undefined : of(value));
const list = (of) => (values) => values.map(of);
const part = (value) => ({ cut: "normal", ...value, text: clean(value.text) });
const nothing = () => undefined;

const llmRequest = (request) => ({
  ...request,
  messages: request.messages.map(loads),
  options: parsed(request.options),
});

const llmDecision = (decision) => {
  if (decision?.tag !== "rewrite") return decision ?? { tag: "proceed" };
  const { messages, options, ...rest } = decision.val;
  return { tag: "rewrite", val: { ...rest, messages: messages.map(dumps), options: json(options) } };
};

const toolDecision = (decision) => {
  const { tag, val } = decision ?? { tag: "proceed" };
  return { tag, val: tag === "rewrite" || tag === "answer" ? dumps(val) : val };
};

const outcome = ({ tag, val }) => (tag === "ok" ? loads(val) : lift(val));

const selected = ({ systemPrompt, before = [], history = [], after = [], notes = {} }) => {
  const written = (one) => {
    if (typeof one === "number") return { tag: "entry", val: one };
    return one.tag ? one : { tag: "message", val: dumps(one) };
  };
  return {
    systemPrompt,
    before: before.map(written),
    history: history.map(written),
    after: after.map(written),
    notes: dumps(notes),
  };
};

/** Hooks of one function: what it takes, what it returns, and whether it can answer with an error. */
export const FUNCTIONS = {
  "resolve-session": { takes: [readEnvelope], returns: text },
  "load-state": { takes: [turn], returns: json },
  "build-prompt": { takes: [turn], returns: prompt },
  "run-model": { takes: [turn, same], returns: text },
  "run-model-stream": { takes: [turn, same], returns: Boolean },
  "continue-prompt": { takes: [turn, same], returns: text },
  "system-prompt": { takes: [turn, same], returns: list(part) },
  selector: { takes: [view], returns: selected },
  "save-state": { takes: [turn, same, optional(lift)], returns: nothing },
  "render-outbound": { takes: [turn, same], returns: list(writeEnvelope) },
  "dispatch-outbound": { takes: [readEnvelope], returns: Boolean },
  "on-error": { takes: [same, lift, optional(readEnvelope)], returns: list(writeEnvelope), plain: true },
  "after-turn": { takes: [turn, same], returns: nothing, plain: true },
  "before-reset": { takes: [turn, same], returns: same },
  "before-llm-call": { takes: [turn, llmRequest], returns: llmDecision },
  "after-llm-call": {
    takes: [turn, same, (result) => ({ ...result, usage: parsed(result.usage), error: optional(lift)(result.error) })],
    returns: nothing,
    plain: true,
  },
  "before-tool-call": { takes: [turn, same], returns: toolDecision },
  "after-tool-call": { takes: [turn, same, outcome], returns: json },
  "admit-message": { takes: [same, readEnvelope, same], returns: none },
  "provide-model-options": { takes: [same], returns: same },
};

const arrival = ({ message, active = true }) => ({ message: writeEnvelope(message), active });
const unsupported = (name) => () => {
  throw new PluginError("config", `this channel does not support \`${name}\``);
};
const entry = (one) => new Entry(one);
const rawEntry = (one) => ({
  id: one.id,
  kind: one.kind,
  payload: one.payloadText ?? dumps(one.payload),
  meta: one.metaText ?? dumps(one.meta ?? {}),
  date: one.date,
});
const page = ({ entries, more = false }) => ({ entries: entries.map(rawEntry), more });
const batch = (one) => ({
  ...one,
  reset: one.reset && { ...one.reset, kept: one.reset.kept.map(entry) },
  entries: one.entries.map(entry),
});

const description = (given) => ({
  needsDebounce: false,
  supportsPolling: false,
  webhook: false,
  supportsEdits: false,
  deduplicates: false,
  ...given,
});

const webhookResponse = ({ status = 200, headers = [], body = new Uint8Array(), arrivals = [] }) => ({
  status,
  headers,
  body,
  arrivals: arrivals.map(arrival),
});

const inbox = ({ arrivals = [], cursor = null, waitMs = 0 }) => ({
  arrivals: arrivals.map(arrival),
  cursor: dumps(cursor),
  waitMs,
});

/** Contracts of several functions: where they are, their grants, and their functions. */
export const INTERFACES = {
  channel: {
    interface: "bub:channel/channel",
    grant: "hook:channel",
    functions: {
      describe: { takes: [], returns: description, plain: true },
      poll: { takes: [parsed], returns: inbox, missing: unsupported("poll") },
      receive: { takes: [same], returns: webhookResponse, missing: unsupported("receive") },
      send: { takes: [readEnvelope, same], returns: text },
      update: { takes: [same, readEnvelope], returns: nothing, missing: unsupported("update") },
    },
  },
  provider: {
    interface: "bub:model/provider",
    grant: "hook:provider",
    functions: {
      name: { takes: [], returns: same, plain: true },
      complete: { takes: [llmRequest, (raw) => new Sink(raw)], returns: nothing },
    },
  },
  embedder: {
    interface: "bub:model/embedder",
    grant: "hook:embedder",
    functions: {
      model: { takes: [], returns: same, plain: true },
      embed: { takes: [same, same], returns: same },
    },
  },
  store: {
    interface: "bub:tape/store",
    grant: "hook:tape-store",
    functions: {
      commit: { takes: [list(batch), none], returns: same },
      read: { takes: [same, same, same], returns: page },
      tail: { takes: [same, none, same], returns: page },
      newest: { takes: [same, same, none], returns: optional(rawEntry) },
      listTapes: { takes: [none, same], returns: same },
      listSidecars: { takes: [same, none, same], returns: same },
      archiveName: { takes: [same], returns: text },
    },
  },
};
