import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "bub-guest/test";
import plugin from "./plugin.js";

test("words are counted with the time to read them", () => {
  const host = new Host(plugin, { config: { words_per_minute: 60 } });
  const counted = host.call("{{name_snake}}_count", { text: "to be\nor not  to be" });
  assert.deepEqual(counted, { count: 6, unit: "words", minutes: 0.1 });
});

test("lines and characters are counted", () => {
  const host = new Host(plugin);
  const count = (unit) => host.call("{{name_snake}}_count", { text: "dö\nde", unit });
  assert.deepEqual(count("lines"), { count: 2, unit: "lines" });
  assert.deepEqual(count("characters"), { count: 5, unit: "characters" });
});
