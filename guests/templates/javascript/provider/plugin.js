// A model provider: answers requests for models `{{name}}:...`.

import { Plugin, PluginError, t } from "bub-guest";

const plugin = new Plugin({
  name: "{{name}}",
  about: "The provider `{{name}}`, which answers from its configuration.",
  // The table `[plugins.{{name}}.config]`.
  config: t.object({ answers: t.map(t.string(), "Answers by question.").default({}) }),
});
export default plugin;

// The one model of this provider.
const MODEL = "canned";

export const canned = plugin.provider("to answer when a model `{{name}}:...` is called", {
  // The part before the colon.
  name: () => "{{name}}",

  complete(request, sink) {
    if (![undefined, null, MODEL, "check"].includes(request.model)) {
      throw new PluginError("config", `provider \`{{name}}\` has the one model \`${MODEL}\`, not \`${request.model}\``);
    }
    const question = lastQuestion(request.messages);
    const { answers } = plugin.config;
    const known = Object.hasOwn(answers, question.trim());
    const answer = known ? answers[question.trim()] : `You said: ${question}`;
    // Readers see each piece when it is sent.
    for (const piece of answer.split(/(?<=\s)/)) sink.send(piece);
    sink.send({ tag: "finish", val: "stop" });
  },
});

// The last line of what the user said last. Messages are in OpenAI's chat format.
function lastQuestion(messages) {
  const message = messages.findLast(({ role }) => role === "user");
  if (!message) throw PluginError.invalid("the request has no message of a user");
  const { content } = message;
  // A message with images is a list of parts.
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
  return text.split("\n").at(-1);
}
