// A channel: a webhook for messages, and requests for answers.

import { Plugin, decode, encode, loads, log, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "Messages in by HTTP, answers out by HTTP.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({ url: t.string("Where answers are posted; without it they are logged.").optional() }),
});
export default plugin;

const SERVER = plugin.http("*", "to post answers; grant the host of `url` alone");
plugin.http("http://*", "the same, where that server is on this machine");

// The body of a request. `id` is the sender's id of the message: the same message is taken once.
const Posted = t.object({
  id: t.string(),
  text: t.string(),
  chat: t.string().default(""),
  sender: t.string().optional(),
});

export const messages = plugin.channel("to bring messages in and take answers out", {
  // Its address is `/channels/NAME/` of `bub-wasm serve`.
  describe: () => ({ name: "{{name}}", webhook: true }),

  // The host stores the arrivals before it sends the response, so that no message is lost.
  receive(request) {
    if (request.method !== "POST") return respond(405, "messages are posted");
    let posted;
    try {
      posted = Posted.read(loads(decode(request.body, true)));
    } catch {
      return respond(400, "the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`");
    }
    const { id, text, chat, sender } = posted;
    // `content` is what the sender wrote, and nothing else: quotations and attachments have fields of their own.
    return { status: 202, arrivals: [{ message: { id, content: text, channel: "{{name}}", chatId: chat, sender } }] };
  },

  // `key` is the same for each attempt, so that a server can ignore a repetition.
  send(message, key) {
    const { url } = plugin.config;
    if (url === undefined) {
      log.info(`to chat \`${message.chatId}\`: ${message.content}`);
      return;
    }
    const answer = { chat: message.chatId, text: message.content };
    // The host tries again after a `temporary` error, which `success` makes of a busy server.
    SERVER.post(url).header("idempotency-key", key).json(answer).send().success();
  },
});

function respond(status, text) {
  return { status, headers: [["content-type", "text/plain"]], body: encode(text) };
}
