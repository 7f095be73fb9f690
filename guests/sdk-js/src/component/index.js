/** The exports of a component: objects that call the plugin's functions. */

import { use } from "../backend.js";
import { PluginError, lower } from "../error.js";
import { Turn } from "../handles.js";
import { FUNCTIONS, INTERFACES } from "../hooks.js";
import { dumps } from "../text.js";
import { files } from "./files.js";
import { opener } from "./http.js";

/** The exports by their names. `imports` has an object for each interface that the world imports, by its last name. */
export function install(plugin, imports) {
  const ours = { openHttp: imports.outgoingHandler && opener(imports), files: imports.preopens && files(imports) };
  use({ ...imports, ...ours });
  const exports = {};
  for (const [name, { call, object }] of plugin.hooks) {
    exports[camel(name)] = object ? several(name, object) : one(name, call);
  }
  if (plugin.tools.size) exports.tools = tools(plugin);
  if (plugin.commands.size) exports.commands = commands(plugin);
  return exports;
}

function camel(name) {
  return name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}

function one(name, call) {
  return { [name === "selector" ? "select" : camel(name)]: calling(call, FUNCTIONS[name]) };
}

function several(name, object) {
  const functions = Object.entries(INTERFACES[name].functions);
  return Object.fromEntries(
    functions.map(([key, of]) => [key, calling((...given) => (object[key] ?? of.missing).apply(object, given), of)]),
  );
}

/** A function that reads its arguments, writes its result, and answers with errors. */
function calling(call, { takes, returns, plain }) {
  return (...given) => {
    try {
      return returns(call(...takes.map((read, index) => read(given[index]))));
    } catch (error) {
      const record = plain ? undefined : lower(error);
      if (record) throw record;
      // A mistake in the code is a fault, and its author reads this.
      console.error(`${error?.name}: ${error?.message}\n${error?.stack ?? ""}`);
      throw error;
    }
  };
}

function tools(plugin) {
  const specs = [...plugin.tools.values()].map((tool) => ({
    name: tool.name,
    description: tool.about,
    parameters: dumps(tool.type.schema()),
    forModel: !tool.forPeople,
    effect: tool.effect,
    readsOutside: tool.readsOutside,
  }));
  const call = (turn, name, given) => {
    const tool = plugin.tools.get(name);
    if (!tool) throw PluginError.notFound(`there is no tool \`${name}\` here`);
    return tool.call(turn, given);
  };
  const same = (value) => value;
  return {
    listTools: () => specs,
    callTool: calling(call, { takes: [(raw) => new Turn(raw), same, same], returns: same }),
  };
}

function commands(plugin) {
  const run = (name, given) => {
    const command = plugin.commands.get(name);
    if (!command) throw PluginError.notFound(`there is no command \`${name}\` here`);
    return String(command.call(given));
  };
  const same = (value) => value;
  return {
    listCommands: () => [...plugin.commands].map(([name, { about }]) => ({ name, about })),
    runCommand: calling(run, { takes: [same, same], returns: same }),
  };
}
