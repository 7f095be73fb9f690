"""Grants: what a plugin asks the user for, as values that the calls which need them take.

`Plugin` makes them, each with the reason that the user reads, and writes them into the manifest. So a call whose grant is not
in the manifest has no value to be called with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from . import backend
from .records import Request, Text, ToolCall, ToolSpec

if TYPE_CHECKING:
    from .http import Request as HttpRequest
    from .system import Child, Completion, ModelOptions, NestedTurn, RecallAnswer, RecallOptions, SelectorList, UsageRow
    from .turn import Prompt, Turn
    from .view import View


@dataclass(frozen=True)
class Grant:
    """A grant that the manifest asks for, such as `http:api.example.com`."""

    grant: str
    why: str

    @property
    def target(self) -> str:
        """What stands behind the colon."""
        return self.grant.partition(":")[2]

    def check(self) -> None:
        """Raises `denied` if the plugin does not hold it now. Ask this for what is silently absent without its grant."""
        backend.get().config.granted(self.grant)


class TapeRead(Grant):
    """Reading the session's tape: `turn.tape(grant)`."""


class TapeWorkspace(Grant):
    """Opening the tape that the sessions of a workspace share: `turn.workspace_tape(grant)`."""


class MayWrite(Grant):
    """A grant to write to tapes."""


class TapeAppend(MayWrite):
    """Writing entries of any kind."""


class TapeEvent(MayWrite):
    """Writing events."""


class TapeReset(Grant):
    """Emptying the session's tape."""


class Directory(Grant):
    """A directory, which `open` and `pathlib` open. The workspace is `.`; any other directory has its own path."""


class Http(Grant):
    """Requests to a host."""

    def get(self, url: str) -> HttpRequest:
        """A GET request of a whole URL, `https://HOST/PATH`."""
        return self.request("GET", url)

    def post(self, url: str) -> HttpRequest:
        """A POST request."""
        return self.request("POST", url)

    def request(self, method: str, url: str) -> HttpRequest:
        """A request with another method."""
        from .http import Request as HttpRequest

        return HttpRequest(method, url)


class Secret(Grant):
    """A secret of the user. A plugin uses it, and never holds it."""

    def placeholder(self, name: Optional[str] = None) -> str:
        """The text that the host replaces by the secret, in the path, the query and the headers of a request."""
        return str(backend.get().secrets.placeholder(name or self.target))

    def matches(self, value: str, name: Optional[str] = None) -> bool:
        """Whether the value is the secret, compared in constant time."""
        return bool(backend.get().secrets.matches(name or self.target, value))

    def hmac_sha256(self, data: bytes, name: Optional[str] = None) -> bytes:
        """The HMAC of the data with the secret as its key."""
        return bytes(backend.get().secrets.hmac_sha256(name or self.target, data))


class Model(Grant):
    """Calling models."""

    def complete(self, turn: Turn, request: Request) -> Completion:
        """Calls a model; iterating over the result gives its events."""
        completion: Completion = backend.get().chat.complete(turn, request)
        return completion

    def ask(self, turn: Turn, question: str, purpose: str = "plugin", model: Optional[str] = None) -> str:
        """Asks a model one question, and returns the text of its answer."""
        request = Request([{"role": "user", "content": question}], purpose=purpose, model=model)
        return "".join(event.value for event in self.complete(turn, request) if isinstance(event, Text))

    def window(self, model: str) -> Optional[int]:
        """The context window of a model in tokens, if it is known."""
        window: Optional[int] = backend.get().chat.window(model)
        return window

    def input_budget(self, model: str) -> Optional[int]:
        """The tokens that a request should stay within."""
        budget: Optional[int] = backend.get().chat.input_budget(model)
        return budget


class Usage(Grant):
    """Reading what model calls have used."""

    def session(self, turn: Turn, days: int) -> list[UsageRow]:
        """What this session has used in the last days, today included."""
        return list(backend.get().usage.session(turn, days))

    def today(self) -> list[UsageRow]:
        """What all sessions have used since midnight."""
        return list(backend.get().usage.today())


class Tools(Grant):
    """Calling the tools of all plugins."""

    def list(self, turn: Turn) -> list[ToolSpec]:
        """The tools that were granted."""
        return list(backend.get().toolbox.list_tools(turn))

    def call(self, turn: Turn, calls: list[ToolCall]) -> list[Any]:
        """The results in the order of the calls: values, and an `Error` for each call that failed."""
        return [*backend.get().toolbox.call_tools(turn, calls)]


class Recall(Grant):
    """Searching memory, notes and earlier conversations, from a selector."""

    def search(self, view: View, question: str, options: RecallOptions) -> RecallAnswer:
        """What may answer a question."""
        answer: RecallAnswer = backend.get().recall.search(view, question, options)
        return answer


class Process(Grant):
    """Starting programs."""

    def spawn(self, command: str, directory: Optional[str] = None) -> Child:
        """Runs a command in a shell, in a directory relative to the workspace."""
        child: Child = backend.get().process.spawn(command, directory)
        return child

    def find(self, id: str) -> Child:
        """A program that an earlier call of the session left running."""
        child: Child = backend.get().process.find(id)
        return child


class Agent(Grant):
    """Calling the hooks of other plugins, and running nested turns."""

    def system_prompt(self, turn: Turn, prompt: Prompt) -> str:
        return str(backend.get().stages.system_prompt(turn, prompt))

    def messages(
        self, turn: Turn, prompt: Prompt, system_prompt: str, new: list[Any], model: Optional[str] = None
    ) -> list[Any]:
        """The messages of the next model call, as the active selector selects them."""
        return [*backend.get().stages.messages(turn, prompt, system_prompt, new, model)]

    def steering(self, turn: Turn) -> list[Prompt]:
        """Takes the messages that have arrived to steer the turn."""
        return [*backend.get().stages.steering(turn)]

    def continue_prompt(self, turn: Turn, prompt: Prompt) -> Optional[str]:
        """Calls `continue-prompt`; none ends the loop."""
        prompt_text: Optional[str] = backend.get().stages.continue_prompt(turn, prompt)
        return prompt_text

    def selectors(self, turn: Turn) -> SelectorList:
        selectors: SelectorList = backend.get().stages.selectors(turn)
        return selectors

    def model_options(self, turn: Turn) -> ModelOptions:
        options: ModelOptions = backend.get().stages.model_options(turn)
        return options

    def run(self, turn: Turn, request: NestedTurn) -> str:
        """Runs a nested turn and returns its answer."""
        return str(backend.get().subturn.run(turn, request))


KINDS: dict[str, type[Grant]] = {
    "tape:read": TapeRead,
    "tape:append": TapeAppend,
    "tape:event": TapeEvent,
    "tape:workspace": TapeWorkspace,
    "tape:reset": TapeReset,
    "agent": Agent,
    "usage": Usage,
    "recall": Recall,
    "process": Process,
    "model": Model,
    "tools": Tools,
    "http": Http,
    "secret": Secret,
    "fs": Directory,
}

