import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "bub-guest/test";
import plugin, { canned } from "./plugin.js";

function answer(host, model, question) {
  canned.complete({ model, messages: [{ role: "user", content: question }] }, host.sink());
  return host.sent.flatMap(({ tag, val }) => (tag === "text" ? [val] : [])).join("");
}

test("a known question has its answer and another one is repeated", () => {
  const config = { answers: { ping: "pong" } };
  assert.equal(answer(new Host(plugin, { config }), "canned", "ping"), "pong");
  assert.equal(answer(new Host(plugin, { config }), "canned", "how are you"), "You said: how are you");
  assert.equal(answer(new Host(plugin, { config }), "canned", "toString"), "You said: toString");
});

test("an unknown model is named", () => {
  const message = "provider `{{name}}` has the one model `canned`, not `large`";
  assert.throws(() => answer(new Host(plugin), "large", "ping"), { message });
});
