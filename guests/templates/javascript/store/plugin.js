// A tape store: each tape with its sidecars is one file of JSON in the workspace.

import { Plugin } from "bub-guest";
import { ARCHIVE, Family, familyOf } from "./family.js";

const plugin = new Plugin({ name: "{{name}}", about: "Keeps tapes as files of the workspace." });
export default plugin;

const WORKSPACE = plugin.directory("<workspace>:rw", "to write the tapes there");

// The directory of the tapes, in the workspace.
const DIR = "{{name}}-tapes";

export const files = plugin.store("to keep the tapes in place of the host", {
  commit(batches, key) {
    if (batches.length === 0) return { tag: "stored" };
    // All batches belong to one tape and its sidecars.
    const name = familyOf(batches[0].tape);
    const family = read(name);
    if (key !== undefined && family.key === key) return { tag: "already" };
    const lasts = batches.map(({ tape }) => family.last(tape));
    if (batches.some(({ last }, index) => (last ?? lasts[index]) !== lasts[index])) return { tag: "conflict", val: lasts };
    for (const { tape, reset } of batches) if (reset) family.reset(name, tape, reset);
    for (const { tape, entries } of batches) family.append(tape, entries);
    family.key = key ?? family.key;
    WORKSPACE.makeDirectory(DIR);
    WORKSPACE.write(`${DIR}/${name}.json`, JSON.stringify(family));
    return { tag: "stored" };
  },

  read(tape, after, max) {
    const found = entries(tape).filter(({ id }) => id > after);
    return { entries: found.slice(0, max), more: found.length > max };
  },

  tail(tape, before, max) {
    const found = entries(tape).filter(({ id }) => id < (before ?? Infinity));
    const rest = Math.max(0, found.length - max);
    return { entries: found.slice(rest), more: rest > 0 };
  },

  newest(tape, lookup, before) {
    return entries(tape).findLast((entry) => entry.id < (before ?? Infinity) && fits(entry, lookup));
  },

  listTapes(after, max) {
    WORKSPACE.makeDirectory(DIR);
    const names = WORKSPACE.list(DIR).filter((file) => file.endsWith(".json") && file.split("__").length === 2);
    return page(names.map((file) => file.slice(0, -".json".length)), after, max);
  },

  listSidecars(tape, after, max) {
    const names = Object.keys(read(familyOf(tape)).tapes);
    return page(names.filter((name) => name !== tape && !name.includes(ARCHIVE)), after, max);
  },

  archiveName(tape) {
    const family = read(familyOf(tape));
    return family.tapes[tape] && family.archiveName(tape);
  },
});

function read(name) {
  try {
    return new Family(JSON.parse(WORKSPACE.readText(`${DIR}/${name}.json`)));
  } catch (error) {
    if (error.kind === "not-found") return new Family();
    throw error;
  }
}

function entries(tape) {
  return read(familyOf(tape)).tapes[tape] ?? [];
}

function fits({ kind, payload, meta }, { tag, val }) {
  if (tag === "kind") return kind === val;
  if (tag === "named") return kind === val[0] && payload.name === val[1];
  // An anchor of the conversation, not of a plugin's own section.
  const isSection = meta.zone === true || ["memory/open", "memory/seal"].includes(payload.name);
  return kind === "anchor" && !isSection;
}

// The names after one of them, in byte order.
function page(names, after, max) {
  return names.filter((name) => after === undefined || name > after).sort().slice(0, max);
}
