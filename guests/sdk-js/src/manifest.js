/** The manifest and the world of a plugin, made from its code. */

import { INTERFACES } from "./hooks.js";

const VERSION = "0.1.0";
const WASI = "0.2.12";

/** What the code can import, by the beginning of a grant. */
const IMPORTS = {
  secret: ["bub:plugin/secrets"],
  model: ["bub:model/chat"],
  tools: ["bub:tools/toolbox"],
  agent: ["bub:turn/stages", "bub:turn/subturn"],
  usage: ["bub:model/usage"],
  recall: ["bub:context/recall"],
  process: ["bub:process/process"],
  fs: ["wasi:filesystem/preopens"],
  http: ["wasi:http/outgoing-handler", "wasi:http/types"],
};

/** What the plugin says of itself. */
export function manifest(plugin) {
  const hooks = [...plugin.hooks].map(([name, { why }]) => ({ grant: INTERFACES[name]?.grant ?? `hook:${name}`, why }));
  return {
    name: plugin.name,
    version: plugin.version,
    about: plugin.about,
    wants: [...hooks, ...plugin.wants.map(({ grant, why }) => ({ grant, why }))],
    ...(plugin.afterTurn ? { after_turn: plugin.afterTurn } : {}),
    ...(plugin.settings ? { config_schema: plugin.settings.schema() } : {}),
    ...(plugin.tools.size ? { tools: [...plugin.tools.values()].map((tool) => tool.declaration()) } : {}),
  };
}

/** The interfaces that the plugin imports, with their versions. */
export function imports(plugin) {
  const names = new Set(["bub:plugin/config", "bub:plugin/log"]);
  for (const { grant } of plugin.wants) (IMPORTS[grant.split(":")[0]] ?? []).forEach((name) => names.add(name));
  return [...names].sort().map((name) => `${name}@${name.startsWith("wasi:") ? WASI : VERSION}`);
}

/** The interfaces that the plugin exports. */
export function exported(plugin) {
  const own = (name) => (name === "selector" ? "bub:context/selector" : `bub:hooks/${name}`);
  const names = [...plugin.hooks.keys()].map((name) => INTERFACES[name]?.interface ?? own(name));
  if (plugin.tools.size) names.push("bub:tools/tools");
  if (plugin.commands.size) names.push("bub:hooks/commands");
  return names;
}

/** A world in WIT that exports what the plugin has, and imports what its grants are for. */
export function world(plugin) {
  const lines = [
    ...imports(plugin).map((name) => `  import ${name};`),
    ...exported(plugin).map((name) => `  export ${name}@${VERSION};`),
  ];
  return `package bub:guest@${VERSION};\n\nworld plugin {\n${lines.join("\n")}\n}\n`;
}
