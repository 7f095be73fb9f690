import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "bub-guest/test";
import plugin, { select } from "./plugin.js";

const entries = ["one", "two", "three"].flatMap((text) => [
  ["event", { name: "loop.start" }],
  ["message", { content: text }],
]);

test("the last exchanges are selected from their first entry on", () => {
  const host = new Host(plugin, { config: { turns: 2 }, entries });
  assert.deepEqual(select(host.view()).history, [3, 4, 5, 6]);
});

test("a short conversation is selected whole", () => {
  assert.equal(select(new Host(plugin, { entries }).view()).history.length, 6);
  assert.deepEqual(select(new Host(plugin).view()).history, []);
});
