// The official client of JavaScript against `bub-wasm serve`: BASE, TOKEN.

import assert from "node:assert/strict";
import OpenAI from "openai";

const { BASE, TOKEN } = process.env;
const client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: TOKEN });

const names = [];
for await (const model of client.models.list()) names.push(model.id);
assert.deepEqual(names.slice(0, 2), ["bub", "openai:fake-model"]);

const say = (content, more = {}, options = {}) =>
  client.chat.completions.create({ model: "bub", messages: [{ role: "user", content }], ...more }, options);

const answer = await say("hello", { user: "javascript" });
assert.equal(answer.choices[0].message.content, "you said: hello");
assert.equal(answer.choices[0].finish_reason, "stop");
assert.equal(answer.usage.prompt_tokens, 7);

const again = await say("and again", {}, { headers: { "X-Session-Id": "http:javascript" } });
assert.equal(again.choices[0].message.content, "you said: and again");

const told = async (content) => {
  let text = "";
  let usage;
  for await (const chunk of await say(content, { stream: true, stream_options: { include_usage: true } })) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  return [text, usage?.prompt_tokens];
};
assert.deepEqual(await told("piece by piece"), ["you said: piece by piece", 7]);
assert.equal((await told("use the tool"))[0], "the word is heron");
assert.equal((await say("use the tool")).choices[0].message.content, "the word is heron");

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
await assert.rejects(say("hi", { tools }), (error) => error instanceof OpenAI.BadRequestError && error.param === "tools");
await assert.rejects(say("hi", { model: "of-nobody" }), OpenAI.NotFoundError);
await assert.rejects(new OpenAI({ baseURL: `${BASE}/v1`, apiKey: "wrong" }).models.list(), OpenAI.AuthenticationError);
await assert.rejects(say("fail"), (error) => error instanceof OpenAI.InternalServerError && /cross/.test(error.message));
await assert.rejects(told("fail"), /cross/);
console.log("javascript is content");
