// A gate: decides about each tool call before it is made.

import { Plugin, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "Denies tool calls whose arguments contain a blocked text.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({
    blocked: t.list(t.string(), "What arguments must not contain.").default(["rm -rf", "sudo "]),
  }),
});
export default plugin;

const WHY = "to see the arguments of tool calls and deny those that you block";

// Called for the calls of models and of people, with the arguments as they were written.
export const decide = plugin.hook("before-tool-call", WHY, (turn, call) => {
  const given = parse(call.arguments);
  const found = plugin.config.blocked.find((blocked) => contains(given, blocked));
  if (found === undefined) return { tag: "proceed" };
  // The model reads this, and can try something else.
  return { tag: "deny", val: `\`${call.name}\` is not called with \`${found}\` in its arguments` };
});

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // Models may write invalid JSON: then the text itself is searched.
    return text;
  }
}

// Whether a text stands in one of the strings, in upper or lower case.
function contains(value, text) {
  if (typeof value === "string") return value.toLowerCase().includes(text.toLowerCase());
  return typeof value === "object" && value !== null && Object.values(value).some((one) => contains(one, text));
}
