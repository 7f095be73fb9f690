/**
 * Write plugins for bub-wasm in JavaScript and TypeScript.
 *
 * The meaning of records and functions is in the comments of `wit/deps`.
 */

export type Json = unknown;
export type Effect = "read" | "write" | "send" | "run";
export type ErrorKind =
  | "invalid-input"
  | "config"
  | "provider"
  | "context-length"
  | "tool"
  | "temporary"
  | "not-found"
  | "denied"
  | "conflict"
  | "cancelled"
  | "unknown";

/** An error of the contract. A tool or a hook that throws it answers with it; any other error is a fault. */
export class PluginError extends Error {
  constructor(kind: ErrorKind, message: string, details?: Record<string, Json>);
  kind: ErrorKind;
  details?: Record<string, Json>;
  static invalid(message: string): PluginError;
  static notFound(message: string): PluginError;
  static temporary(message: string, retryAfter?: number): PluginError;
}

/** Runs a function, and puts in front of its error what was being done. */
export function context<R>(what: string, run: () => R): R;

/** A type of arguments or configurations. Each method returns another one. */
export interface Type<T, Optional extends boolean = false> {
  readonly isOptional: Optional;
  optional(): Type<T | undefined, true>;
  default(value: T): Type<T, true>;
  min(limit: number): Type<T, Optional>;
  max(limit: number): Type<T, Optional>;
  pattern(source: string | RegExp): Type<T, Optional>;
  schema(): Record<string, Json>;
  read(value: Json, name?: string): T;
}

/** The type of the values that a type reads. */
export type Infer<X> = X extends Type<infer T, boolean> ? T : never;
export type Fields = Record<string, Type<any, boolean>>;
export type Object_<F extends Fields> = { [K in keyof F]: Infer<F[K]> };

/** Makes types. The text is the description that a model or a user reads. */
export const t: {
  string(about?: string): Type<string>;
  integer(about?: string): Type<number>;
  number(about?: string): Type<number>;
  boolean(about?: string): Type<boolean>;
  any(about?: string): Type<Json>;
  choice<const C extends readonly (string | number)[]>(choices: C, about?: string): Type<C[number]>;
  list<T>(of: Type<T, boolean>, about?: string): Type<T[]>;
  map<T>(of: Type<T, boolean>, about?: string): Type<Record<string, T>>;
  nullable<T>(of: Type<T, boolean>, about?: string): Type<T | null>;
  object<F extends Fields>(fields: F, about?: string): Type<Object_<F>>;
};

export interface Grant {
  readonly grant: string;
  readonly why: string;
  /** Throws `denied` if the plugin does not hold it now. */
  check(): void;
}

export interface Http extends Grant {
  get(url: string): Request;
  post(url: string): Request;
  request(method: string, url: string): Request;
}

export class HttpError extends PluginError {
  failure: "denied" | "private-address" | "invalid" | "request-too-large" | "response-too-large" | "timeout" | "broken";
}

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: [string, string][];
  readonly content?: Uint8Array;
  header(name: string, value: string): Request;
  headerValue(name: string): string | undefined;
  query(name: string, value: string | number | boolean): Request;
  body(content: Uint8Array | string): Request;
  json(value: Json): Request;
  timeout(seconds: number): Request;
  /** Sends it, and waits for the whole response. A response of any status is no error. */
  send(): Response;
  /** Sends it, and waits for the head of the response. */
  open(): Stream;
}

interface Head {
  readonly status: number;
  readonly headers: [string, Uint8Array | string][];
  header(name: string): string | undefined;
  /** The same response, if its status is one of success. */
  success(): this;
}

export interface Response extends Head {
  readonly body: Uint8Array;
  text(): string;
  json(): any;
  json<T>(type: Type<T, boolean>): T;
}

export interface Stream extends Head {
  readonly pieces: Iterable<Uint8Array>;
  collect(): Response;
  lines(): Iterable<string>;
}

/** A directory: the workspace, or another one. Paths are relative to it. */
export interface Directory extends Grant {
  read(path: string): Uint8Array;
  readText(path: string): string;
  /** Writes a whole file: readers see all of it or nothing. */
  write(path: string, content: Uint8Array | string): void;
  list(path?: string): string[];
  makeDirectory(path: string): void;
  remove(path: string): void;
}

export interface Secret extends Grant {
  /** The text that the host replaces by the secret in a request. */
  placeholder(name?: string): string;
  matches(value: string, name?: string): boolean;
  hmacSha256(data: Uint8Array, name?: string): Uint8Array;
}

export interface ModelRequest {
  messages: Json[];
  model?: string;
  tools?: { name: string; description: string; parameters: Json; effect: Effect }[];
  maxTokens?: number;
  purpose?: string;
  options?: Record<string, Json>;
}

export type ModelEvent =
  | { tag: "text" | "reasoning" | "finish"; val: string }
  | { tag: "tool-calls"; val: ToolCall[] }
  | { tag: "usage"; val: Json };
export type StreamEvent =
  | string
  | ModelEvent
  | { tag: "tool-results" | "final"; val: Json }
  | { tag: "error"; val: { kind: ErrorKind; message: string } };

export interface Model extends Grant {
  complete(turn: Turn, request: ModelRequest): Iterable<ModelEvent>;
  ask(turn: Turn, question: string, rest?: Omit<ModelRequest, "messages">): string;
  window(model: string): number | undefined;
  inputBudget(model: string): number | undefined;
}

export interface UsageRow {
  model: string;
  calls: number;
  estimated: number;
  prompt: number;
  cached: number;
  completion: number;
  total: number;
}

export interface Usage extends Grant {
  session(turn: Turn, days: number): UsageRow[];
  today(): UsageRow[];
}

export interface Tools extends Grant {
  list(turn: Turn): { name: string; description: string; parameters: string; effect: Effect }[];
  call(turn: Turn, calls: { id?: string; name: string; arguments?: Json }[]): (Json | PluginError)[];
}

export interface Recall extends Grant {
  search(
    view: View,
    question: string,
    options?: { limit?: number; minScore?: number; sent?: string[]; windowStart?: number },
  ): { hits: { text: string; score: number; source: string; date: string; entry?: number }[]; missed: string[] };
}

export interface Output {
  exitCode?: number;
  output: string;
  nextOffset: number;
}

export interface Child {
  id(): string;
  wait(timeoutMs: number): Output;
  read(offset: number, max: number): Output;
  kill(): void;
}

export interface Process extends Grant {
  spawn(command: string, directory?: string): Child;
  find(id: string): Child;
}

export interface Agent extends Grant {
  systemPrompt(turn: Turn, prompt: Prompt): string;
  messages(turn: Turn, prompt: Prompt, systemPrompt: string, messages: Json[], model?: string): Json[];
  steering(turn: Turn): Prompt[];
  continuePrompt(turn: Turn, prompt: Prompt): string | undefined;
  selectors(turn: Turn): { names: string[]; active: string; why: string };
  modelOptions(turn: Turn): ModelOptions;
  run(turn: Turn, request: { prompt: Prompt; session?: string; model?: string; tools?: string[]; skills?: string[] }): string;
}

export type MessageKind = "normal" | "command" | "error";
export type Provenance = "written" | "quoted" | "forwarded" | "attached";

export interface MediaItem {
  kind: "image" | "audio" | "video" | "document";
  mimeType: string;
  filename?: string;
  url: string;
  provenance: Provenance;
}

export interface Envelope {
  content: string;
  channel: string;
  chatId: string;
  id?: string;
  sessionId?: string;
  sender?: string;
  passages: { provenance: Provenance; author?: string; text: string }[];
  kind: MessageKind;
  context: Record<string, Json>;
  media: MediaItem[];
  outputChannel?: string;
}

export type Prompt = { tag: "text"; val: string } | { tag: "parts"; val: string };
export interface SystemPart {
  name: string;
  text: string;
  cut?: "first" | "normal" | "last";
}
export interface ToolCall {
  id?: string;
  name: string;
  /** As the model wrote them: they may be invalid JSON. */
  arguments: string;
}
export interface ModelOptions {
  choices: { id: string; name: string }[];
  current?: string;
}

export class Entry {
  id: number;
  kind: string;
  date: string;
  payloadText: string;
  metaText: string;
  readonly payload: any;
  readonly meta: any;
}
export interface Draft {
  kind: string;
  payload: Json;
  meta?: Record<string, Json>;
}
/** An event, to be appended to a tape. */
export function event(name: string, data: Json): Draft;

export type Start =
  | { tag: "first" | "last-anchor" }
  | { tag: "after-anchor"; val: string }
  | { tag: "between-anchors"; val: [string, string] }
  | { tag: "after-id"; val: number };
export interface Query {
  start?: Start;
  kinds?: string[];
  name?: string;
  text?: string;
  since?: string;
  until?: string;
  newestFirst?: boolean;
  limit?: number;
}
export interface Search {
  text: string;
  kinds?: string[];
  since?: string;
  until?: string;
  limit?: number;
}
export interface Info {
  name: string;
  entries: number;
  anchors: number;
  lastAnchor?: string;
  entriesSinceLastAnchor: number;
  lastTokenUsage?: number;
  cacheHitRate?: number;
  unreadable: number;
}

/** The turn in progress. */
export interface Turn {
  newRunId(): string;
  sessionId(): string;
  workspace(): string;
  workspaceInstructions(name: string): string | undefined;
  message(): Envelope;
  setMessageKind(kind: MessageKind): void;
  principal(): "owner" | "peer" | "anonymous" | "schedule";
  tainted(): boolean;
  started(): string;
  get(key: string): any;
  set(key: string, value: Json): void;
  state(): any;
  tape(grant: Grant): Tape;
  workspaceTape(grant: Grant): Tape;
  emit(event: StreamEvent): void;
}

/** A tape. Methods that write to it take the grant to do so. */
export interface Tape {
  name(): string;
  info(): Info;
  query(query?: Query): Iterable<Entry>;
  search(search: Search): { entry: Entry; score: number }[];
  tail(before: number | undefined, max: number): Entry[];
  lastAnchor(name?: string, before?: number): Entry | undefined;
  section(name: string): Entry[];
  append(grant: Grant, drafts: Draft[]): number;
  appendIf(grant: Grant, last: number, drafts: Draft[]): number;
  handoff(grant: Grant, name: string, state?: Json): number;
  forget(grant: Grant, texts: string[], dryRun?: boolean): { entries: number; tapes: number };
  fork(): Tape;
  merge(): void;
  reset(grant: Grant, archive: boolean): string | undefined;
  sidecar(grant: Grant, name: string): Tape;
}

/** What a selector sees. */
export interface View {
  next(max: number): Entry[];
  nextIds(max: number): number[];
  tail(before: number | undefined, max: number): Entry[];
  search(text: string, max: number, timeoutMs: number): { entry: Entry; score: number }[];
  query(sidecar: string | undefined, query: Query, max: number, timeoutMs: number): Entry[];
  sidecar(grant: Grant, name: string): Tape;
  info(): Info;
  prompt(): Prompt;
  systemPrompt(): string;
  systemParts(): { plugin?: string; part: SystemPart }[];
  model(): string;
  budget(): number | undefined;
  tokenCalibration(): number;
  turnStartId(): number;
  newMessages(): any[];
  replaceNewMessages(messages: Json[]): void;
  tools(): { name: string; description: string; parameters: string; effect: Effect }[];
  state(key: string): any;
}

/** The id of an entry, or a message that the selector made. */
export type Part = number | Record<string, Json>;
export interface Selected {
  history?: Part[];
  before?: Part[];
  after?: Part[];
  systemPrompt?: string;
  notes?: Record<string, Json>;
}

export interface LlmRequest {
  purpose: string;
  model: string;
  messages: any[];
  toolNames: string[];
  maxTokens?: number;
  options?: Json;
}
export type LlmDecision = { tag: "proceed" } | { tag: "rewrite"; val: LlmRequest } | { tag: "answer"; val: string };
export type ToolDecision =
  | { tag: "proceed" }
  | { tag: "rewrite" | "answer"; val: Json }
  | { tag: "deny" | "ask"; val: string };
export interface LlmResult {
  text?: string;
  toolCalls: ToolCall[];
  usage?: any;
  error?: PluginError;
  durationMs: number;
}

/** Hooks of one function. Parameters can be left out at the end. */
export interface Hooks {
  "resolve-session": (message: Envelope) => string | undefined | null;
  "load-state": (turn: Turn) => Record<string, Json> | undefined | null;
  "build-prompt": (turn: Turn) => Prompt | string | undefined | null;
  "run-model": (turn: Turn, prompt: Prompt) => string | undefined | null;
  "run-model-stream": (turn: Turn, prompt: Prompt) => boolean;
  "continue-prompt": (turn: Turn, prompt: Prompt) => string | undefined | null;
  "system-prompt": (turn: Turn, prompt: Prompt) => SystemPart[];
  selector: (view: View) => Selected;
  "save-state": (turn: Turn, output: string, failure?: PluginError) => void;
  "render-outbound": (turn: Turn, output: string) => (Partial<Envelope> & { content: string })[];
  "dispatch-outbound": (message: Envelope) => boolean;
  "on-error": (stage: string, error: PluginError, message?: Envelope) => (Partial<Envelope> & { content: string })[];
  "after-turn": (turn: Turn, output: string) => void;
  "before-reset": (turn: Turn, archive: boolean) => { name: string; text: string }[];
  "before-llm-call": (turn: Turn, request: LlmRequest) => LlmDecision | undefined;
  "after-llm-call": (turn: Turn, model: string, result: LlmResult) => void;
  "before-tool-call": (turn: Turn, call: ToolCall) => ToolDecision | undefined;
  "after-tool-call": (turn: Turn, call: ToolCall, outcome: any | PluginError) => Json;
  "admit-message": (
    session: string,
    message: Envelope,
    load: { running: boolean; pending: number },
  ) => "process" | "follow-up" | "steer" | "drop" | undefined | null;
  "provide-model-options": (session: string) => ModelOptions;
}

export interface Arrival {
  message: Partial<Envelope> & { content: string };
  active?: boolean;
}
export interface WebhookRequest {
  method: string;
  path: string;
  headers: [string, string][];
  body: Uint8Array;
}
export interface WebhookResponse {
  status?: number;
  headers?: [string, string][];
  body?: Uint8Array;
  arrivals?: Arrival[];
}

/** Where messages come from, and where answers go. */
export interface Channel {
  describe(): {
    name: string;
    needsDebounce?: boolean;
    supportsPolling?: boolean;
    webhook?: boolean;
    supportsEdits?: boolean;
    deduplicates?: boolean;
  };
  poll?(cursor: any): { arrivals?: Arrival[]; cursor?: Json; waitMs?: number };
  receive?(request: WebhookRequest): WebhookResponse;
  send(message: Envelope, key: string): string | undefined | void;
  update?(handle: string, message: Envelope): void;
}

/** Where a provider sends its answer. A string is a piece of its text. */
export interface Sink {
  send(event: ModelEvent | string): void;
}

export interface Provider {
  name(): string;
  complete(request: Required<Pick<ModelRequest, "messages">> & ModelRequest, sink: Sink): void;
}

export interface Embedder {
  model(): string;
  embed(texts: string[], purpose: "question" | "passage"): number[][];
}

export type StoredEntry = Entry | { id: number; kind: string; payload: Json; meta?: Json; date: string };
export interface Page {
  entries: StoredEntry[];
  more?: boolean;
}
export interface Batch {
  tape: string;
  last?: number;
  reset?: { archive?: string; kept: Entry[] };
  entries: Entry[];
}
export type Lookup =
  | { tag: "kind"; val: string }
  | { tag: "named"; val: [string, string] }
  | { tag: "phase" };

/** A tape store. Its rules are in `wit/deps/bub-tape/tape.wit`. */
export interface Store {
  commit(batches: Batch[], key?: string): { tag: "stored" | "already" } | { tag: "conflict"; val: number[] };
  read(tape: string, after: number, max: number): Page;
  tail(tape: string, before: number | undefined, max: number): Page;
  newest(tape: string, lookup: Lookup, before?: number): StoredEntry | undefined;
  listTapes(after: string | undefined, max: number): string[];
  listSidecars(tape: string, after: string | undefined, max: number): string[];
  archiveName(tape: string): string | undefined;
}

/** A plugin. A module has one, and exports it as `default`. */
export class Plugin<C = unknown> {
  constructor(of: {
    name: string;
    about: string;
    version?: string;
    config?: Type<C, boolean>;
    /** `selected`: the hook `after-turn` is called only after turns in which the plugin was the selector. */
    afterTurn?: "every" | "selected";
  });
  readonly name: string;
  /** The configuration, `[plugins.NAME.config]`. */
  readonly config: C;
  grant(grant: "agent", why: string): Agent;
  grant(grant: "usage", why: string): Usage;
  grant(grant: "recall", why: string): Recall;
  grant(grant: "process" | "process:sandboxed", why: string): Process;
  grant(grant: string, why: string): Grant;
  http(target: string, why: string): Http;
  secret(name: string, why: string): Secret;
  model(name: string, why: string): Model;
  otherTools(name: string, why: string): Tools;
  directory(path: string, why: string): Directory;
  tool<F extends Fields>(tool: {
    name: string;
    /** What a model reads of it. */
    about: string;
    /** The host decides from it whether a call is allowed. */
    effect: Effect;
    /** The result is text by other authors, which taints the turn. */
    readsOutside?: boolean;
    /** A comma command, which is not offered to the model. */
    forPeople?: boolean;
    arguments?: F;
    call: (given: Object_<F>, turn: Turn) => unknown;
  }): (given: Object_<F>, turn: Turn) => unknown;
  hook<N extends keyof Hooks>(name: N, why: string, call: Hooks[N]): Hooks[N];
  command(name: string, about: string, call: (given: string[]) => string): (given: string[]) => string;
  channel(why: string, channel: Channel): Channel;
  provider(why: string, provider: Provider): Provider;
  embedder(why: string, embedder: Embedder): Embedder;
  store(why: string, store: Store): Store;
}

/** The host's log. */
export const log: Record<"debug" | "info" | "warn" | "error", (message: unknown) => void>;
/** The text of a prompt, without images and files. */
export function textOf(prompt: Prompt): string;
export function dumps(value: Json): string;
export function loads(text: string): any;
export function encode(text: string): Uint8Array;
export function decode(bytes: Uint8Array | number[], strict?: boolean): string;
