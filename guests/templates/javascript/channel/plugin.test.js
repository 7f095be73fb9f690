import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "bub-guest";
import { Host, response } from "bub-guest/test";
import plugin, { messages } from "./plugin.js";

const post = (body) => messages.receive({ method: "POST", path: "", headers: [], body: encode(body) });

test("a posted message arrives", () => {
  new Host(plugin);
  const taken = post('{"id":"1","text":"hi","chat":"a"}');
  const [{ message }] = taken.arrivals;
  assert.deepEqual([taken.status, message.content, message.chatId], [202, "hi", "a"]);
  assert.equal(post("hi").status, 400);
});

test("an answer is posted and a busy server is asked again", () => {
  const config = { url: "https://example.com/answers" };
  const host = new Host(plugin, { config, http: () => response(503) });
  assert.throws(() => messages.send(host.turn().message(), "k"), { kind: "temporary" });
  assert.equal(host.requests[0].headerValue("idempotency-key"), "k");
});

test("without an address answers are logged", () => {
  const host = new Host(plugin);
  messages.send(host.turn().message(), "k");
  assert.match(host.logged[0][1], /: hello$/);
});
