/**
 * A host for native tests: `node --test` runs a plugin's functions against fakes, without WebAssembly.
 *
 * The fakes keep to the contracts where a plugin depends on it: ids of entries rise, JSON is checked, a grant that is taken
 * away denies. They do not search as the host does: a search finds entries that hold all words. Missing items
 * fail with `not-found`.
 */

import { createHmac } from "node:crypto";
import { use } from "../backend.js";
import { PluginError } from "../error.js";
import { Entry, Sink, Turn, View, readEvent, writeEnvelope } from "../handles.js";
import { HttpError, Response, parts } from "../http.js";
import { decode, dumps, encode, loads } from "../text.js";
import { FakeChild, FakeTape, FakeTurn, FakeView, missing, raise } from "./fakes.js";

/** A response with that status and body. */
export function response(status, body = "", headers = []) {
  return new Response(status, headers, typeof body === "string" ? encode(body) : body);
}

function fail(path) {
  throw PluginError.notFound(`\`${path}\`: no entry`);
}

/** A fake host. It answers from when it is made until another one is made. */
export class Host {
  constructor(plugin, given = {}) {
    const { config = {}, secrets = {}, without = [], message = "hello", principal = "owner", tainted = false } = given;
    const { workspace = "/workspace", started = "2026-01-02T03:04:05+00:00", state = {}, entries = [] } = given;
    const { newMessages = [], budget, systemPrompt = "", http, model, tools = {}, files = {}, run } = given;
    Object.assign(this, { plugin, table: config, knownSecrets: secrets, without, principal, tainted, workspace, started });
    Object.assign(this, { newMessages, budget, systemPrompt, answerHttp: http, answerModel: model, tools, run });
    this.message = writeEnvelope(typeof message === "string" ? { content: message } : message);
    this.contents = new Map(Object.entries(files).map(([path, text]) => [path, encode(text)]));
    this.states = new Map(Object.entries(state));
    this.tapes = new Map();
    Object.assign(this, { requests: [], modelCalls: [], logged: [], raw: { emitted: [], sent: [] }, programs: new Map() });
    for (const [kind, payload] of entries) this.write("session", { kind, payload: dumps(payload), meta: "{}" });
    use(this.backend());
  }

  /** Calls a tool by its name, as the host does, except that the schema's rules are not checked. */
  call(name, given = {}) {
    const tool = this.plugin.tools.get(name);
    if (!tool) throw PluginError.notFound(`there is no tool \`${name}\` here`);
    return loads(tool.call(this.turn(), dumps(given)));
  }

  /** Runs a command of the plugin. */
  runCommand(name, ...given) {
    return String(this.plugin.commands.get(name).call(given));
  }

  /** A handle to the turn, for a hook. */
  turn() {
    return new Turn(new FakeTurn(this));
  }

  /** A handle to the view, for a selector. */
  view() {
    return new View(new FakeView(this));
  }

  /** A sink for a provider; `sent` holds what it was sent. */
  sink() {
    return new Sink({ send: (event) => this.raw.sent.push(event) });
  }

  /** A prompt: the text of the message, unless another one is given. */
  prompt(text = this.message.content) {
    return { tag: "text", val: text };
  }

  /** The entries of a tape: of the session, of `workspace`, or of a sidecar by its name. */
  entries(tape = "session") {
    return (this.tapes.get(tape) ?? []).map((entry) => new Entry(entry));
  }

  /** A value of the turn's state. */
  state(key) {
    return this.states.get(key);
  }

  /** The text of a file. */
  file(path) {
    return this.contents.has(path) ? decode(this.contents.get(path)) : undefined;
  }

  get sent() {
    return this.raw.sent.map(readEvent);
  }

  get emitted() {
    return this.raw.emitted.map(readEvent);
  }

  write(tape, { kind, payload, meta }) {
    loads(payload);
    loads(meta);
    const on = this.tapes.get(tape) ?? [];
    const id = (on.at(-1)?.id ?? 0) + 1;
    this.tapes.set(tape, [...on, { id, kind, payload, meta, date: this.started }]);
    return id;
  }

  require(grant) {
    for (const denied of this.without) {
      const covers = denied.endsWith("*") ? grant.startsWith(denied.slice(0, -1)) : denied === grant;
      if (covers) raise("denied", `the plugin does not hold the grant \`${grant}\``);
    }
  }

  answer(request) {
    this.require(`model:${request.model ?? "test:model"}`);
    const read = { ...request, messages: request.messages.map(loads) };
    this.modelCalls.push(read);
    if (!this.answerModel) missing("model: `new Host(plugin, { model })` answers");
    return this.answerModel(read);
  }

  secret(name) {
    this.require(`secret:${name}`);
    return Object.hasOwn(this.knownSecrets, name) ? this.knownSecrets[name] : missing(`secret \`${name}\``);
  }

  backend() {
    const rows = () => {
      this.require("usage");
      const calls = this.modelCalls.length;
      const row = { model: "test:model", calls, estimated: calls, prompt: 0, cached: 0, completion: 0, total: 0 };
      return calls ? [row] : [];
    };
    const agent = (answer) => {
      this.require("agent");
      return answer;
    };
    return {
      config: {
        get: (key) => (this.table[key] === undefined ? undefined : dumps(this.table[key])),
        granted: (grant) => this.require(grant),
      },
      log: { log: (level, message) => this.logged.push([level, message]) },
      secrets: {
        placeholder: (name) => {
          this.require(`secret:${name}`);
          return `{{secret:${name}}}`;
        },
        matches: (name, value) => this.secret(name) === value,
        hmacSha256: (name, data) => new Uint8Array(createHmac("sha256", this.secret(name)).update(data).digest()),
      },
      // The text in two pieces, so that a plugin that reads only the first is found out.
      chat: {
        complete: (_, request) => {
          const text = this.answer(request);
          const middle = Math.floor(text.length / 2);
          const events = [
            { tag: "text", val: text.slice(0, middle) },
            { tag: "text", val: text.slice(middle) },
            { tag: "finish", val: "stop" },
          ];
          return { next: () => events.shift() };
        },
        window: () => undefined,
        inputBudget: () => this.budget,
        tokenCalibration: () => 1,
      },
      usage: { session: rows, today: rows, dailyLimit: () => void rows() },
      toolbox: {
        listTools: () => Object.keys(this.tools).map((name) => ({ name, description: "", parameters: "{}", effect: "read" })),
        callTools: (_, calls) => calls.map((call) => this.callOther(call)),
      },
      stages: {
        systemPrompt: () => agent(this.systemPrompt),
        messages: (_, prompt, system, messages) =>
          agent([...(system ? [dumps({ role: "system", content: system })] : []), ...messages]),
        steering: () => agent([]),
        continuePrompt: () => agent(undefined),
        selectors: () => agent({ names: ["simple"], active: "simple", why: "there is no other" }),
        modelOptions: () => agent({ choices: [] }),
      },
      subturn: {
        run: (_, { prompt, model }) =>
          agent(this.answer({ purpose: "subagent", model, messages: [dumps({ role: "user", content: prompt.val })] })),
      },
      recall: {
        search: (_, question, { limit }) => {
          this.require("recall");
          const hits = new FakeTape(this, "session").search({ text: question, kinds: [], limit });
          const text = ({ payload }) => String(loads(payload).content ?? payload);
          const found = hits.map(({ entry, score }) => ({
            text: text(entry),
            score,
            source: "history",
            date: entry.date,
            entry: entry.id,
            tainted: false,
          }));
          return { hits: found, missed: [] };
        },
      },
      process: {
        spawn: (command) => {
          this.require("process");
          if (!this.run) missing("programs: `new Host(plugin, { run })` runs them");
          const child = new FakeChild(`program-${this.programs.size + 1}`, ...this.run(command));
          this.programs.set(child.id(), child);
          return child;
        },
        find: (id) => {
          this.require("process");
          return this.programs.get(id) ?? missing(`program \`${id}\``);
        },
      },
      files: {
        read: (_, path) => this.contents.get(path) ?? fail(path),
        write: (_, path, bytes) => this.contents.set(path, bytes),
        list: (_, path) => {
          const start = path === "." ? "" : `${path}/`;
          const inside = [...this.contents.keys()].filter((file) => file.startsWith(start));
          return [...new Set(inside.map((file) => file.slice(start.length).split("/")[0]))].sort();
        },
        makeDirectory: () => undefined,
        remove: (_, path) => void (this.contents.delete(path) || fail(path)),
      },
      openHttp: (request) => this.open(request),
    };
  }

  callOther({ name, arguments: given }) {
    try {
      this.require(`tools:${name}`);
      if (!this.tools[name]) missing(`tool \`${name}\``);
      return { tag: "ok", val: dumps(this.tools[name](loads(given))) };
    } catch (error) {
      return { tag: "err", val: { kind: error.kind ?? "tool", message: error.message } };
    }
  }

  open(request) {
    const { scheme, authority } = parts(request.url);
    try {
      this.require(scheme === "http" ? `http:http://${authority}` : `http:${authority}`);
    } catch (error) {
      throw new HttpError("denied", error.message);
    }
    this.requests.push(request);
    if (!this.answerHttp) throw new HttpError("broken", "the test's host has no server");
    const { status, headers, body } = this.answerHttp(request);
    const pieces = Array.from({ length: Math.ceil(body.length / 16) }, (_, at) => body.slice(at * 16, at * 16 + 16));
    return { status, headers, pieces };
  }
}
