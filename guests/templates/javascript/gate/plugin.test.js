import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "bub-guest/test";
import plugin, { decide } from "./plugin.js";

test("a blocked text is denied wherever it stands", () => {
  const turn = new Host(plugin).turn();
  for (const given of ['{"cmd":"SUDO ls"}', '{"cmd":["sh",{"c":"sudo ls"}]}', "sudo ls"]) {
    const denied = { tag: "deny", val: "`bash` is not called with `sudo ` in its arguments" };
    assert.deepEqual(decide(turn, { name: "bash", arguments: given }), denied);
  }
});

test("other calls proceed", () => {
  const turn = new Host(plugin, { config: { blocked: ["curl"] } }).turn();
  assert.deepEqual(decide(turn, { name: "bash", arguments: '{"cmd":"sudo ls"}' }), { tag: "proceed" });
});
