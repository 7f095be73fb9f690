import assert from "node:assert/strict";
import { test } from "node:test";
import { Entry } from "bub-guest";
import { Host } from "bub-guest/test";
import plugin, { files } from "./plugin.js";

const date = "2026-01-02T03:04:05Z";
const entry = (id, kind = "event", payload = "{}") => new Entry({ id, kind, payload, meta: "{}", date });
const batch = (tape, entries, rest = {}) => ({ tape, entries, ...rest });

test("a write is read again and applied once", () => {
  new Host(plugin);
  const batches = [batch("a__b", [entry(1, "anchor", '{"name":"ü"}'), entry(2)], { last: 0 })];
  assert.deepEqual(files.commit(batches, "k"), { tag: "stored" });
  assert.deepEqual(files.commit(batches, "k"), { tag: "already" });
  assert.deepEqual(files.commit(batches, "l"), { tag: "conflict", val: [2] });
  assert.deepEqual(files.read("a__b", 1, 9).entries.map(({ id }) => id), [2]);
  assert.equal(files.tail("a__b", undefined, 1).more, true);
  assert.equal(files.newest("a__b", { tag: "phase" }).payload.name, "ü");
  assert.deepEqual(files.listTapes(undefined, 9), ["a__b"]);
  assert.deepEqual(files.read("c__d", 0, 9).entries, []);
});

test("a reset empties the sidecars and keeps an archive", () => {
  new Host(plugin);
  files.commit([batch("a__b", [entry(1)]), batch("a__b__sidecar__notes", [entry(1)])]);
  assert.deepEqual(files.listSidecars("a__b", undefined, 9), ["a__b__sidecar__notes"]);
  const archive = files.archiveName("a__b");
  files.commit([batch("a__b", [], { last: 1, reset: { archive, kept: [entry(2)] } })]);
  assert.deepEqual(files.listSidecars("a__b", undefined, 9), []);
  assert.deepEqual(files.read(archive, 0, 9).entries.map(({ id }) => id), [1, 2]);
});

test("without its grant it says so", () => {
  new Host(plugin, { without: ["fs:*"] });
  assert.throws(() => files.read("a__b", 0, 9), { kind: "denied" });
});
