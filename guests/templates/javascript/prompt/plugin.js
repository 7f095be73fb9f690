// Adds a part to the system prompt: the rules of the configuration.

import { Plugin, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "Adds your rules to the system prompt.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({
    rules: t.list(t.string(), "What the model has to follow.").default(["Answer in plain English."]),
  }),
});
export default plugin;

// Called before each request to a model. The parts of all plugins are joined.
export const rules = plugin.hook("system-prompt", "to tell the model your rules", () => {
  const lines = plugin.config.rules.map((rule) => `- ${rule}\n`).join("");
  // The name is for people, in `bub-wasm tape` and in the notes of selectors.
  return lines ? [{ name: "rules", text: `Follow these rules:\n${lines}` }] : [];
});
