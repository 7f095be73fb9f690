// The official MCP client of TypeScript against `bub-wasm mcp serve` (PROGRAM) and `/mcp` of `serve` (BASE, TOKEN).

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { PROGRAM, BASE, TOKEN } = process.env;

const speak = async (transport, asks) => {
  const capabilities = asks ? { elicitation: {} } : {};
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  if (asks) {
    client.setRequestHandler(ElicitRequestSchema, (request) => {
      assert.match(request.params.message, /write `by-typescript.txt`/);
      return { action: "accept", content: { decision: "once" } };
    });
  }
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "bub-wasm");
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert(names.includes("fs_read") && names.includes("run_turn"), names);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
  const read = await call("fs_read", { path: "notes.txt" });
  assert(!read.isError && read.content[0].text.includes("two"));
  const absent = await call("fs_read", { path: "absent.txt" });
  assert(absent.isError && absent.content[0].text.includes("absent.txt"));
  await assert.rejects(call("no_such_tool", {}), /no_such_tool/);
  if (asks) assert(!(await call("fs_write", { path: "by-typescript.txt", content: "x" })).isError);
  const heard = [];
  const turn = await call("run_turn", { message: "hello" }, { onprogress: (progress) => heard.push(progress) });
  assert.equal(turn.content[0].text, "good morning");
  assert(heard.length > 0 && heard.every(({ progress }) => typeof progress === "number"), heard);
  const slow = call("run_turn", { message: "slowly" }, { signal: AbortSignal.timeout(1000) });
  await assert.rejects(slow);
  assert(!(await call("fs_read", { path: "notes.txt" })).isError, "the session is free again");
  const { resources } = await client.listResources();
  assert(resources[0].uri.startsWith("bub://sessions/"), resources);
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert(contents[0].text.includes('"kind"'));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert(resourceTemplates[0].uriTemplate.startsWith("bub://sessions/"));
  if (transport.terminateSession) await transport.terminateSession();
  await client.close();
};

await speak(new StdioClientTransport({ command: PROGRAM }), true);
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
await speak(new StreamableHTTPClientTransport(new URL(`${BASE}/mcp`), { requestInit }), false);
console.log("typescript is content");
