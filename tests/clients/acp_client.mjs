// The official client of the Agent Client Protocol against `bub-wasm acp` (PROGRAM) in a folder (WORKSPACE).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const { PROGRAM, WORKSPACE } = process.env;

const speak = async (work) => {
  const program = spawn(PROGRAM, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => program.on("exit", resolve));
  const updates = [];
  const questions = [];
  const editor = client({ name: "test" })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      questions.push(params);
      const { optionId } = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId } };
    });
  const stream = ndJsonStream(Writable.toWeb(program.stdin), Readable.toWeb(program.stdout));
  await editor.connectWith(stream, async (agent) => {
    const begun = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    assert.equal(begun.protocolVersion, 1);
    assert.equal(begun.agentInfo.name, "bub-wasm");
    await work(agent, updates, questions);
  });
  program.stdin.end();
  assert.equal(await ended, 0);
};

const say = (agent, sessionId, text) =>
  agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
const of = (updates, kind) => updates.filter((update) => update.sessionUpdate === kind);
const text = (updates, kind) => of(updates, kind).map((update) => update.content.text).join("");

let session;
await speak(async (agent, updates, questions) => {
  const begun = await agent.request(methods.agent.session.new, { cwd: WORKSPACE, mcpServers: [] });
  session = begun.sessionId;
  assert.equal(begun.modes.currentModeId, "ask");
  assert.equal((await say(agent, session, "hello")).stopReason, "end_turn");
  assert.equal(text(updates, "agent_message_chunk"), "good morning");
  assert.equal((await say(agent, session, "edit it")).stopReason, "end_turn");
  assert.equal(questions.length, 1);
  assert.equal(questions[0].toolCall.content[0].newText, "one\nthree\n");
  const diff = of(updates, "tool_call_update").at(-1).content[0];
  assert.deepEqual([diff.type, diff.oldText, diff.newText], ["diff", "one\ntwo\n", "one\nthree\n"]);
  const forever = say(agent, session, "for ever");
  while (!text(updates, "agent_message_chunk").includes("it never")) await new Promise((done) => setTimeout(done, 20));
  await agent.notify(methods.agent.session.cancel, { sessionId: session });
  assert.equal((await forever).stopReason, "cancelled");
  await agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "read-only" });
  await assert.rejects(agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "none" }));
});
await speak(async (agent, updates) => {
  const { sessions } = await agent.request(methods.agent.session.list, { cwd: WORKSPACE });
  assert(sessions.some(({ sessionId }) => sessionId === session), sessions);
  await agent.request(methods.agent.session.load, { sessionId: session, cwd: WORKSPACE, mcpServers: [] });
  assert(text(updates, "user_message_chunk").startsWith("hello"));
  assert.equal(of(updates, "tool_call").length, 1);
});
console.log("typescript is content");
