// A selector: the last exchanges. It reads the tape from its end, so its cost does not depend on the length.

import { Plugin, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "Selects the last exchanges of a conversation.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({ turns: t.integer("How many exchanges are selected.").min(1).default(20) }),
});
export default plugin;

// Entries that are read at once.
const PAGE = 64;

export const select = plugin.hook("selector", "to select what the model sees", (view) => {
  const wanted = plugin.config.turns;
  // The current turn is selected whole: its calls and their results are what the model goes on with.
  const start = view.turnStartId();
  const taken = [];
  let turns = 0;
  while (turns < wanted) {
    const page = view.tail(taken.at(-1), PAGE);
    if (page.length === 0) break;
    // Newest first. An exchange begins with the event `loop.start`, so that none is cut in half.
    for (const entry of page.toReversed()) {
      taken.push(entry.id);
      if (entry.id <= start && entry.kind === "event" && entry.payload.name === "loop.start") turns += 1;
      if (turns === wanted) break;
    }
  }
  // `bub-wasm tape` shows the notes.
  return { history: taken.toReversed(), notes: { turns, entries: taken.length } };
});
