import assert from "node:assert/strict";
import { test } from "node:test";
import { Plugin, PluginError, context, decode, dumps, encode, event, log, t } from "../src/index.js";
import { lower } from "../src/error.js";
import { manifest, world } from "../src/manifest.js";
import { Host, response } from "../src/testing/index.js";

const HOSTILE = "\"'\\`\0\x1b[31m\u2028é😀{{secret:a}}]]>";

function notes() {
  const plugin = new Plugin({ name: "notes", about: "Keeps notes." });
  return [plugin, plugin.grant("tape:read", "to read them"), plugin.grant("tape:append", "to keep them")];
}

test("a type has a closed schema and names the place of what does not fit", () => {
  const type = t.object({ text: t.string("The text."), tags: t.list(t.string()).default([]), days: t.integer().max(7).optional() });
  assert.deepEqual(type.schema().required, ["text"]);
  assert.equal(type.schema().additionalProperties, false);
  assert.deepEqual(type.schema().properties.days, { type: "integer", maximum: 7 });
  assert.deepEqual(type.read({ text: "a" }), { text: "a", tags: [] });
  const wrong = [
    [{}, "`text` is missing"],
    [{ text: "a", txt: 1 }, "`txt` is not known; there are `text`, `tags`, `days`"],
    [{ text: "a", toString: 1 }, "`toString` is not known; there are `text`, `tags`, `days`"],
    [{ text: "a", tags: ["b", 1] }, "`tags[1]` must be a text, and is a number"],
    [{ text: "a", days: 1.5 }, "`days` must be a whole number, and is a number"],
    [[], "`it` must be an object, and is a list"],
  ];
  for (const [value, message] of wrong) assert.throws(() => type.read(value), { kind: "invalid-input", message });
});

test("hostile text passes arguments, results and errors unchanged", () => {
  const [plugin] = notes();
  plugin.tool({
    name: "notes.echo",
    about: HOSTILE,
    effect: "read",
    arguments: { text: t.string(), fail: t.boolean().default(false) },
    call({ text, fail }) {
      if (fail) throw new PluginError("tool", text, { said: text });
      return { [text]: text };
    },
  });
  const host = new Host(plugin);
  assert.deepEqual(host.call("notes.echo", { text: HOSTILE }), { [HOSTILE]: HOSTILE });
  assert.throws(() => host.call("notes.echo", { text: HOSTILE, fail: true }), { message: HOSTILE, details: { said: HOSTILE } });
  assert.equal(JSON.parse(dumps(manifest(plugin))).tools[0].description, HOSTILE);
  assert.throws(() => host.call("notes.echo"), { message: "the arguments of `notes_echo`: `text` is missing" });
});

test("text that UTF-8 cannot express is replaced, and bytes that are no UTF-8 too", () => {
  assert.equal(dumps({ "a\ud800": "b\udfff" }), '{"a\ufffd":"b\ufffd"}');
  assert.equal(lower(new PluginError("tool", "a\ud800")).message, "a\ufffd");
  assert.deepEqual(encode(HOSTILE), new TextEncoder().encode(HOSTILE));
  const bytes = new Uint8Array([0x61, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xe2, 0x82, 0xf5, 0x62]);
  assert.equal(decode(bytes), new TextDecoder().decode(bytes).replace("\ufffd\ufffdb", "\ufffd\ufffd\ufffdb"));
  assert.equal(decode(encode(HOSTILE)), HOSTILE);
  assert.throws(() => decode(bytes, true), { kind: "invalid-input" });
  assert.throws(() => dumps(NaN), /has no JSON/);
  assert.throws(() => dumps({ a: 1n }), /has no JSON/);
});

test("what is written is on the tape, and a grant that is taken away denies", () => {
  const [plugin, read, append] = notes();
  plugin.tool({
    name: "keep",
    about: "Keep a note.",
    effect: "write",
    arguments: { text: t.string() },
    call({ text }, turn) {
      const tape = turn.tape(read);
      turn.set("kept", text);
      tape.append(append, [event("note", { text })]);
      return [...tape.query({ kinds: ["event"], name: "note" })].length;
    },
  });
  const host = new Host(plugin);
  assert.deepEqual(["a", HOSTILE].map((text) => host.call("keep", { text })), [1, 2]);
  assert.deepEqual(host.entries()[1].payload, { name: "note", data: { text: HOSTILE } });
  assert.equal(host.state("kept"), HOSTILE);
  assert.throws(() => new Host(plugin, { without: ["tape:*"] }).call("keep", { text: "a" }), { kind: "denied" });
  assert.throws(() => new Host(plugin).turn().tape(), /takes the grant/);
});

test("the manifest and the world follow the code", () => {
  const [plugin] = notes();
  plugin.model("openai:*", HOSTILE);
  plugin.hook("before-tool-call", "to stop it", (turn, call) => ({ tag: "deny", val: call.name }));
  plugin.channel("to be reached", { describe: () => ({ name: "bell" }), send: () => undefined });
  const grants = manifest(plugin).wants.map(({ grant }) => grant);
  assert.deepEqual(grants, ["hook:before-tool-call", "hook:channel", "tape:read", "tape:append", "model:openai:*"]);
  assert.match(world(plugin), /import bub:model\/chat@0\.1\.0;/);
  assert.match(world(plugin), /export bub:channel\/channel@0\.1\.0;/);
  assert.doesNotMatch(world(plugin), /wasi:http/);
  assert.throws(() => plugin.hook("system-promt", "", () => []), /`system-promt` is not a hook/);
  assert.throws(() => plugin.provider("", { name: () => "a" }), /a provider has a function `complete`/);
  assert.throws(() => plugin.grant("htp:a", ""), /`htp:a` is not a grant/);
});

test("a selector sees the window, a model answers, and the log is kept", () => {
  const [plugin] = notes();
  const model = plugin.model("*", "to ask");
  const entries = [["anchor", { name: "a" }], ["message", { content: HOSTILE }]];
  const host = new Host(plugin, { entries, model: () => "so" });
  assert.deepEqual(host.view().tail(undefined, 1).map(({ kind }) => kind), ["message"]);
  assert.deepEqual(host.view().nextIds(9), [1, 2]);
  log.info(HOSTILE);
  assert.deepEqual(host.logged, [["info", HOSTILE]]);
  assert.equal(model.ask(host.turn(), "how?"), "so");
  assert.deepEqual(host.modelCalls[0].messages, [{ role: "user", content: "how?" }]);
});

test("a response is read by lines and by type, and errors say what was done", () => {
  const [plugin] = notes();
  const [server, key] = [plugin.http("*", ""), plugin.secret("key", "")];
  const host = new Host(plugin, { http: () => response(200, "[1]\r\ntwo\nthree"), secrets: { key: "Jefe" } });
  assert.deepEqual([...server.get("https://a/b").open().lines()], ["[1]", "two", "three"]);
  assert.throws(() => server.post("https://a").json({ b: HOSTILE }).send().json(), /^PluginError: the server's answer: it is not JSON/);
  assert.deepEqual(JSON.parse(decode(host.requests[1].content)), { b: HOSTILE });
  assert.throws(() => server.get("ftp://a").send(), /`ftp:\/\/a` is no address/);
  assert.throws(() => context("a", () => context("b", () => { throw PluginError.notFound("c"); })), { message: "a: b: c" });
  // RFC 4231, test case 2.
  const digest = Buffer.from(key.hmacSha256(encode("what do ya want for nothing?"))).toString("hex");
  assert.equal(digest.slice(0, 16), "5bdcc146bf60754e");
});
