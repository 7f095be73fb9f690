// The tool `{{name_snake}}_count`: counts what a text is made of.

import { Plugin, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "Counts the words, characters or lines of a text.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({
    words_per_minute: t.integer("How fast the user reads.").min(1).default(200),
  }),
});
export default plugin;

plugin.tool({
  name: "{{name_snake}}_count",
  about: "Count the words, characters or lines of a text. Use this instead of counting yourself.",
  // It changes nothing, so the host lets models call it without asking.
  effect: "read",
  arguments: {
    text: t.string("The text, as it is."),
    unit: t.choice(["words", "characters", "lines"], "What is counted.").default("words"),
  },
  call({ text, unit }) {
    if (unit === "characters") return { count: [...text].length, unit };
    if (unit === "lines") return { count: text ? text.replace(/\n$/, "").split("\n").length : 0, unit };
    const count = text.split(/\s+/).filter(Boolean).length;
    return { count, unit, minutes: Math.round((count / plugin.config.words_per_minute) * 100) / 100 };
  },
});
