import assert from "node:assert/strict";
import { test } from "node:test";
import { Host } from "bub-guest/test";
import plugin, { rules } from "./plugin.js";

test("the rules of the configuration are a part of the prompt", () => {
  const host = new Host(plugin, { config: { rules: ["Be brief.", "Be kind."] } });
  const [part] = rules(host.turn(), host.prompt());
  assert.equal(part.text, "Follow these rules:\n- Be brief.\n- Be kind.\n");
});

test("without rules nothing is added", () => {
  const host = new Host(plugin, { config: { rules: [] } });
  assert.deepEqual(rules(host.turn(), host.prompt()), []);
});
