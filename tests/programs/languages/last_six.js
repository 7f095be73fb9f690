// A selector in JavaScript: the last six messages, and nothing else.
//
//     componentize-qjs --sync --stub-wasi --wit wit --world selector --js last_six.js --output last_six.wasm
//
// Without `--sync` it is made for asynchronous components, which the host does not load.

const SHOWN = 6;

export const selector = {
  select(view) {
    const shown = [];
    let passed = 0;
    let before;
    while (shown.length < SHOWN) {
      const entries = view.tail(before, 64);
      if (entries.length === 0) break;
      for (const entry of entries.toReversed()) {
        if (entry.kind === "message" && shown.length < SHOWN) shown.push(entry.id);
        else passed += 1;
      }
      before = entries[0].id;
    }
    const history = shown.toReversed().map((id) => ({ tag: "entry", val: id }));
    const notes = JSON.stringify({ language: "javascript", passed });
    return { systemPrompt: undefined, before: [], history, after: [], notes };
  },
};
