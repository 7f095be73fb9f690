/** The handles of the fake host, in the form of the contracts: JSON is text, and errors are records. */

import { loads } from "../text.js";

/** Fails as the host does. */
export function raise(kind, message) {
  throw { kind, message };
}

/** An item that a fake does not have. */
export function missing(what) {
  raise("not-found", `the test's host has no ${what}`);
}

const named = (entry, name) => loads(entry.payload)?.name === name;

export class FakeTurn {
  constructor(host) {
    this.host = host;
    this.runs = 0;
  }

  newRunId() {
    this.runs += 1;
    return `run-${this.runs}`;
  }

  sessionId() {
    return `${this.host.message.channel}:${this.host.message.chatId}`;
  }

  workspace() {
    return this.host.workspace;
  }

  workspaceInstructions() {
    return undefined;
  }

  message() {
    return this.host.message;
  }

  setMessageKind(kind) {
    this.host.message = { ...this.host.message, kind };
  }

  principal() {
    return this.host.principal;
  }

  tainted() {
    return this.host.tainted;
  }

  started() {
    return this.host.started;
  }

  get(key) {
    return this.host.states.has(key) ? JSON.stringify(this.host.states.get(key)) : undefined;
  }

  set(key, json) {
    this.host.states.set(key, loads(json));
  }

  state() {
    return JSON.stringify(Object.fromEntries(this.host.states));
  }

  tape() {
    this.host.require("tape:read");
    return new FakeTape(this.host, "session");
  }

  workspaceTape() {
    this.host.require("tape:workspace");
    return new FakeTape(this.host, "workspace");
  }

  emit(event) {
    this.host.raw.emitted.push(event);
  }
}

/** A tape of the fake host, by its name. */
export class FakeTape {
  constructor(host, of) {
    Object.assign(this, { host, of });
  }

  all() {
    return this.host.tapes.get(this.of) ?? [];
  }

  name() {
    return this.of;
  }

  info() {
    const entries = this.all();
    const anchor = this.lastAnchor();
    return {
      name: this.of,
      entries: entries.length,
      anchors: entries.filter(({ kind }) => kind === "anchor").length,
      lastAnchor: anchor && loads(anchor.payload).name,
      entriesSinceLastAnchor: entries.filter(({ id }) => id > (anchor?.id ?? 0)).length,
      unreadable: 0,
    };
  }

  query({ start, kinds, name, text, since, newestFirst, limit }) {
    let found = this.from(start).filter(({ kind }) => !kinds.length || kinds.includes(kind));
    if (name !== undefined) found = found.filter((entry) => named(entry, name));
    if (text !== undefined) found = found.filter(({ payload }) => payload.toLowerCase().includes(text.toLowerCase()));
    if (since !== undefined) found = found.filter(({ date }) => date >= since);
    if (newestFirst) found = found.toReversed();
    found = found.slice(0, limit ?? found.length);
    return { next: (max) => found.splice(0, Math.min(max, 256)) };
  }

  from({ tag, val }) {
    const entries = this.all();
    const anchor = (name) => this.lastAnchor(name) ?? missing(`anchor \`${name}\``);
    switch (tag) {
      case "first":
        return [...entries];
      case "after-id":
        return entries.filter(({ id }) => id > val);
      case "after-anchor":
        return entries.filter(({ id }) => id > anchor(val).id);
      case "between-anchors":
        return entries.filter(({ id }) => id > anchor(val[0]).id && id < anchor(val[1]).id);
      default:
        return entries.filter(({ id }) => id > (this.lastAnchor()?.id ?? 0));
    }
  }

  search({ text, kinds, limit }) {
    const words = text.toLowerCase().split(/\s+/);
    const fits = ({ kind, payload }) =>
      (!kinds.length || kinds.includes(kind)) && words.every((word) => payload.toLowerCase().includes(word));
    return this.all().filter(fits).toReversed().slice(0, limit).map((entry) => ({ entry, score: 0.9 }));
  }

  tail(before, max) {
    const found = this.all().filter(({ id }) => id < (before ?? Infinity));
    return found.slice(Math.max(0, found.length - Math.min(max, 256)));
  }

  lastAnchor(name, before) {
    const fits = (entry) =>
      entry.kind === "anchor" && entry.id < (before ?? Infinity) && (name === undefined || named(entry, name));
    return this.all().findLast(fits);
  }

  section(name) {
    const [from, to] = [this.lastAnchor(`${name}/open`), this.lastAnchor(`${name}/seal`)];
    return from && to ? this.all().filter(({ id }) => id >= from.id && id <= to.id) : [];
  }

  append(drafts) {
    const events = drafts.every(({ kind }) => kind === "event");
    // Events need one of two grants, all else the greater one.
    if (events) this.requireOne("tape:append", "tape:event");
    else this.host.require("tape:append");
    return drafts.map((draft) => this.host.write(this.of, draft))[0] ?? 0;
  }

  requireOne(first, second) {
    try {
      this.host.require(first);
    } catch {
      this.host.require(second);
    }
  }

  appendIf(last, drafts) {
    if ((this.all().at(-1)?.id ?? 0) !== last) raise("conflict", "another writer wrote first");
    return this.append(drafts);
  }

  handoff(name, state) {
    const payload = JSON.stringify({ name, ...(state === undefined ? {} : { state: loads(state) }) });
    const event = `{"name":"handoff","data":${payload}}`;
    return this.append([
      { kind: "anchor", payload, meta: "{}" },
      { kind: "event", payload: event, meta: "{}" },
    ]);
  }

  forget(texts, dryRun) {
    this.host.require("tape:append");
    const holds = ({ payload }) => texts.some((text) => payload.toLowerCase().includes(text.toLowerCase()));
    const entries = this.all().filter(holds).length;
    if (!dryRun) this.host.tapes.set(this.of, this.all().filter((entry) => !holds(entry)));
    return { entries, tapes: entries ? 1 : 0 };
  }

  fork() {
    const name = `${this.of}/fork-${this.host.tapes.size}`;
    this.host.tapes.set(name, this.all());
    return new FakeTape(this.host, name);
  }

  merge() {
    const at = this.of.lastIndexOf("/fork-");
    if (at < 0) raise("invalid-input", "this tape is no fork");
    this.host.tapes.set(this.of.slice(0, at), this.all());
  }

  reset(archive) {
    this.host.require("tape:reset");
    this.host.tapes.set(this.of, []);
    return archive ? `${this.of}.archive` : undefined;
  }

  sidecar(name) {
    this.requireOne("tape:append", "tape:event");
    const own = this.host.plugin.name;
    if (name !== own && !name.startsWith(`${own}.`)) raise("denied", `\`${name}\` is not a sidecar of the plugin \`${own}\``);
    return new FakeTape(this.host, name);
  }
}

/** The view of a selector: the session's tape from its latest anchor on. */
export class FakeView {
  constructor(host) {
    Object.assign(this, { host, at: 0, tape: new FakeTape(host, "session") });
  }

  window() {
    return this.tape.all().filter(({ id }) => id >= (this.tape.lastAnchor()?.id ?? 0));
  }

  next(max) {
    const page = this.window().slice(this.at, this.at + Math.min(max, 256));
    this.at += page.length;
    return page;
  }

  nextIds(max) {
    const page = this.window().slice(this.at, this.at + Math.min(max, 4096));
    this.at += page.length;
    return page.map(({ id }) => id);
  }

  tail(before, max) {
    const found = this.window().filter(({ id }) => id < (before ?? Infinity));
    return found.slice(Math.max(0, found.length - Math.min(max, 256)));
  }

  search(text, max) {
    return this.tape.search({ text, kinds: [], limit: max });
  }

  query(sidecar, query, max) {
    return new FakeTape(this.host, sidecar ?? "session").query(query).next(max);
  }

  sidecar(name) {
    return this.tape.sidecar(name);
  }

  info() {
    return this.tape.info();
  }

  prompt() {
    return this.host.prompt();
  }

  systemPrompt() {
    return this.host.systemPrompt;
  }

  systemParts() {
    return [];
  }

  model() {
    return "test:model";
  }

  budget() {
    return this.host.budget;
  }

  tokenCalibration() {
    return 1;
  }

  turnStartId() {
    return this.tape.all().at(-1)?.id ?? 0;
  }

  newMessages() {
    return this.host.newMessages.map((message) => JSON.stringify(message));
  }

  replaceNewMessages(messages) {
    if (messages.length !== this.host.newMessages.length) raise("invalid-input", "there must be as many messages as before");
    this.host.newMessages = messages.map(loads);
  }

  tools() {
    return [];
  }

  state(key) {
    return new FakeTurn(this.host).get(key);
  }
}

/** A program that has ended. */
export class FakeChild {
  constructor(name, code, output) {
    Object.assign(this, { name, code, output });
  }

  id() {
    return this.name;
  }

  wait() {
    return { exitCode: this.code, output: this.output, nextOffset: this.output.length };
  }

  read(offset, max) {
    const output = this.output.slice(offset, offset + max);
    return { exitCode: this.code, output, nextOffset: offset + output.length };
  }

  kill() {
    this.code = -9;
  }
}
