"""A model provider: answers requests for models `{{name}}:...`."""

import re
from dataclasses import dataclass, field
from typing import Annotated

from bub_guest import Error, Finish, ModelRequest, Plugin, Provider, Sink, Text


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    answers: Annotated[dict[str, str], "Answers by question."] = field(default_factory=dict)


plugin = Plugin("{{name}}", about="The provider `{{name}}`, which answers from its configuration.", settings=Settings)

MODEL = "canned"
"""The one model of this provider."""


@plugin.provider(why="to answer when a model `{{name}}:...` is called")
class Canned(Provider):
    def name(self) -> str:
        """The part before the colon."""
        return "{{name}}"

    def complete(self, request: ModelRequest, sink: Sink) -> None:
        if request.model not in (None, MODEL, "check"):
            raise Error("config", f"provider `{{name}}` has the one model `{MODEL}`, not `{request.model}`")
        question = last_question(request)
        answer = plugin.config.answers.get(question.strip(), f"You said: {question}")
        # Readers see each piece when it is sent.
        for piece in re.findall(r"\S*\s*", answer):
            if piece:
                sink.send(Text(piece))
        sink.send(Finish("stop"))


def last_question(request: ModelRequest) -> str:
    """The last line of what the user said last. Messages are in OpenAI's chat format."""
    for message in reversed(request.messages):
        if message["role"] == "user":
            content = message["content"]
            # A message with images is a list of parts.
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
            return str(text.splitlines()[-1]) if text else ""
    raise Error.invalid("the request has no message of a user")
