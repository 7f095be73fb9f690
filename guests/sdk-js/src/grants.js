/** Grants: what a plugin asks the user for, as objects whose methods are the calls that need them. `Plugin` makes them. */

import { host } from "./backend.js";
import { PluginError, ask, lift } from "./error.js";
import { Child, Completion } from "./handles.js";
import { Request } from "./http.js";
import { decode, dumps, encode, loads } from "./text.js";

/** A grant that the manifest asks for, such as `tape:read`. */
export class Grant {
  constructor(grant, why) {
    Object.assign(this, { grant, why });
  }

  get target() {
    return this.grant.slice(this.grant.indexOf(":") + 1);
  }

  /** Throws `denied` if the plugin does not hold it now. */
  check() {
    ask(() => host().config.granted(this.grant));
  }
}

export class Http extends Grant {
  get(url) {
    return this.request("GET", url);
  }

  post(url) {
    return this.request("POST", url);
  }

  request(method, url) {
    return new Request(method, url);
  }
}

/** A directory: the workspace, or another one. */
export class Directory extends Grant {
  get root() {
    // Without its grant a directory is silently absent.
    this.check();
    return this.target.replace(/:r[ow]$/, "");
  }

  read(path) {
    return host().files.read(this.root, path);
  }

  readText(path) {
    return decode(this.read(path), true);
  }

  write(path, content) {
    host().files.write(this.root, path, typeof content === "string" ? encode(content) : content);
  }

  list(path = ".") {
    return host().files.list(this.root, path);
  }

  makeDirectory(path) {
    host().files.makeDirectory(this.root, path);
  }

  remove(path) {
    host().files.remove(this.root, path);
  }
}

export class Secret extends Grant {
  placeholder(name = this.target) {
    return ask(() => host().secrets.placeholder(name));
  }

  matches(value, name = this.target) {
    return ask(() => host().secrets.matches(name, value));
  }

  hmacSha256(data, name = this.target) {
    return ask(() => host().secrets.hmacSha256(name, data));
  }
}

export class Model extends Grant {
  complete(turn, { messages, tools = [], options, ...request }) {
    const full = {
      purpose: "plugin",
      ...request,
      messages: messages.map(dumps),
      tools: tools.map((tool) => ({ forModel: true, readsOutside: false, ...tool, parameters: dumps(tool.parameters) })),
      options: options === undefined ? undefined : dumps(options),
    };
    return new Completion(ask(() => host().chat.complete(turn.raw, full)));
  }

  ask(turn, question, rest = {}) {
    let answer = "";
    for (const event of this.complete(turn, { messages: [{ role: "user", content: question }], ...rest })) {
      if (event.tag === "text") answer += event.val;
    }
    return answer;
  }

  window(model) {
    return host().chat.window(model);
  }

  inputBudget(model) {
    return host().chat.inputBudget(model);
  }
}

export class Usage extends Grant {
  session(turn, days) {
    return ask(() => host().usage.session(turn.raw, days));
  }

  today() {
    return ask(() => host().usage.today());
  }
}

export class Tools extends Grant {
  list(turn) {
    return ask(() => host().toolbox.listTools(turn.raw));
  }

  /** The results in the order of the calls: values, and a `PluginError` for each call that failed. */
  call(turn, calls) {
    const written = calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: dumps(given ?? {}) }));
    const results = ask(() => host().toolbox.callTools(turn.raw, written));
    return results.map((result) => (result.tag === "ok" ? loads(result.val) : lift(result.val)));
  }
}

export class Recall extends Grant {
  search(view, question, options = {}) {
    const full = { sources: [], limit: 8, minScore: 0.6, timeoutMs: 1000, sent: [], ...options };
    return ask(() => host().recall.search(view.raw, question, full));
  }
}

export class Process extends Grant {
  spawn(command, directory) {
    return new Child(ask(() => host().process.spawn(command, directory)));
  }

  find(id) {
    return new Child(ask(() => host().process.find(id)));
  }
}

export class Agent extends Grant {
  systemPrompt(turn, prompt) {
    return ask(() => host().stages.systemPrompt(turn.raw, prompt));
  }

  messages(turn, prompt, systemPrompt, messages, model) {
    const given = messages.map(dumps);
    return ask(() => host().stages.messages(turn.raw, prompt, systemPrompt, given, model)).map(loads);
  }

  steering(turn) {
    return ask(() => host().stages.steering(turn.raw));
  }

  continuePrompt(turn, prompt) {
    return ask(() => host().stages.continuePrompt(turn.raw, prompt));
  }

  selectors(turn) {
    return ask(() => host().stages.selectors(turn.raw));
  }

  modelOptions(turn) {
    return ask(() => host().stages.modelOptions(turn.raw));
  }

  run(turn, request) {
    return ask(() => host().subturn.run(turn.raw, request));
  }
}

export const KINDS = {
  http: Http,
  secret: Secret,
  model: Model,
  usage: Usage,
  tools: Tools,
  recall: Recall,
  process: Process,
  agent: Agent,
  tape: Grant,
  fs: Directory,
};

/** Makes a grant of its text. */
export function make(grant, why) {
  const kind = KINDS[grant.split(":")[0]];
  if (!kind) throw new PluginError("config", `\`${grant}\` is not a grant: the book lists them under Grants`);
  return new kind(grant, why);
}
