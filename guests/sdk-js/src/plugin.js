/** `Plugin`: what a plugin is, made from its code. */

import { host } from "./backend.js";
import { PluginError, context } from "./error.js";
import { make } from "./grants.js";
import { FUNCTIONS, INTERFACES } from "./hooks.js";
import { Type, t } from "./schema.js";
import { dumps, loads } from "./text.js";

const EFFECTS = ["read", "write", "send", "run"];

/** A plugin. A module has one, and exports it as `default`. */
export class Plugin {
  constructor({ name, about, version = "0.1.0", config, afterTurn }) {
    Object.assign(this, { name, about, version, settings: config, afterTurn });
    this.tools = new Map();
    this.hooks = new Map();
    this.commands = new Map();
    this.wants = [];
  }

  /** The configuration. The host has validated it against its schema. */
  get config() {
    if (!this.settings) throw new TypeError("`new Plugin({ config })` names no type for the configuration");
    const table = {};
    for (const key of Object.keys(this.settings.fields)) {
      const json = host().config.get(key);
      if (json !== undefined && json !== null) table[key] = loads(json);
    }
    try {
      return this.settings.read(table);
    } catch (error) {
      throw new PluginError("config", `the plugin's configuration: ${error.message}`);
    }
  }

  /** Asks for a grant by its text, such as `tape:read`. Calls that need the grant take the returned value. */
  grant(grant, why) {
    const made = make(grant, why);
    this.wants.push(made);
    return made;
  }

  http(target, why) {
    return this.grant(`http:${target}`, why);
  }

  secret(name, why) {
    return this.grant(`secret:${name}`, why);
  }

  model(name, why) {
    return this.grant(`model:${name}`, why);
  }

  otherTools(name, why) {
    return this.grant(`tools:${name}`, why);
  }

  directory(path, why) {
    return this.grant(`fs:${path}`, why);
  }

  /** Adds a tool. `about` is what a model reads, and `arguments` are types by their names. */
  tool({ name, about, effect, readsOutside = false, forPeople = false, arguments: fields = {}, call }) {
    if (!about) throw new TypeError(`the tool \`${name}\` has no \`about\`, which a model reads to know what it does`);
    if (!EFFECTS.includes(effect)) throw new TypeError(`the \`effect\` of \`${name}\` is one of ${EFFECTS.join(", ")}`);
    this.once(name, this.tools, "tool");
    const type = fields instanceof Type ? fields : t.object(fields);
    this.tools.set(name, new Tool({ name, about, effect, readsOutside, forPeople, type, run: call }));
    return call;
  }

  /** Adds a hook of one function. `why` is what the user reads before granting it. */
  hook(name, why, call) {
    if (!Object.hasOwn(FUNCTIONS, name)) {
      throw new TypeError(`\`${name}\` is not a hook of one function: there are ${Object.keys(FUNCTIONS).join(", ")}`);
    }
    this.once(name, this.hooks, "hook");
    this.hooks.set(name, { why, call });
    return call;
  }

  /** Adds a command, `bub-wasm NAME ARG...`: it takes the arguments and returns what is printed. */
  command(name, about, call) {
    this.once(name, this.commands, "command");
    this.commands.set(name, { about, call });
    return call;
  }

  channel(why, object) {
    return this.implement("channel", why, object);
  }

  provider(why, object) {
    return this.implement("provider", why, object);
  }

  embedder(why, object) {
    return this.implement("embedder", why, object);
  }

  store(why, object) {
    return this.implement("store", why, object);
  }

  implement(name, why, object) {
    for (const [key, { missing }] of Object.entries(INTERFACES[name].functions)) {
      if (!missing && typeof object[key] !== "function") throw new TypeError(`a ${name} has a function \`${key}\``);
    }
    this.once(name, this.hooks, "hook");
    this.hooks.set(name, { why, object });
    return object;
  }

  once(name, known, what) {
    if (known.has(name)) throw new TypeError(`the ${what} \`${name}\` exists twice`);
  }
}

/** A tool: what the manifest says of it, and how it is called. */
class Tool {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** What the manifest says of it. */
  declaration() {
    return {
      name: this.name,
      description: this.about,
      parameters: this.type.schema(),
      effect: this.effect,
      reads_outside: this.readsOutside,
      for_model: !this.forPeople,
    };
  }

  /** Calls it with arguments in JSON, and returns its result in JSON. */
  call(turn, json) {
    const given = context(`the arguments of \`${this.name.replaceAll(".", "_")}\``, () => this.type.read(loads(json)));
    return dumps(this.run(given, turn));
  }
}
