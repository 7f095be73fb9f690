/** Write plugins for bub-wasm in JavaScript and TypeScript. `index.d.ts` describes everything. */

export { PluginError, context } from "./error.js";
export { Entry, event } from "./handles.js";
export { HttpError } from "./http.js";
export * as log from "./log.js";
export { Plugin } from "./plugin.js";
export { t } from "./schema.js";
export { decode, dumps, encode, loads } from "./text.js";

/** The text of a prompt, without images and files. */
export function textOf(prompt) {
  if (prompt.tag === "text") return prompt.val;
  const parts = JSON.parse(prompt.val);
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
