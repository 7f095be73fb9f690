"""What the grants return: completions, programs, and what an agent loop asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal, Optional

from .contract import Functions, Json, Named, Outcome, host, wit
from .records import ModelEvent, ModelOptions, Prompt, Request, ToolCall, ToolSpec, Level
from .turn import Turn
from .view import View

_RECALL = "bub:context/recall"
_PROCESS = "bub:process/process"


@wit("bub:model/chat", "Completion")
class Completion:
    """A running model call; iterating over it gives its events."""

    @host
    def next(self) -> Optional[ModelEvent]:
        """The next event; none at the end."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[ModelEvent]:
        while (event := self.next()) is not None:
            yield event


@wit("bub:model/usage", "Row")
@dataclass
class UsageRow:
    """The calls of one model and their tokens."""

    model: str
    calls: int
    estimated: int
    prompt: int
    cached: int
    completion: int
    total: int


@wit(_PROCESS, "Output")
@dataclass
class Output:
    """Output of a program; `exit_code` is none while it runs."""

    exit_code: Optional[int]
    output: str
    next_offset: int


@wit(_PROCESS, "Child")
class Child:
    """A program. It ends with its turn, unless its `id` was asked for."""

    @host
    def id(self) -> str:
        raise NotImplementedError

    @host
    def wait(self, timeout_ms: int) -> Output:
        """Waits for its end, at most ten minutes."""
        raise NotImplementedError

    @host
    def read(self, offset: int, max: int) -> Output:
        """Its output from an offset on."""
        raise NotImplementedError

    @host
    def kill(self) -> None:
        """Ends it, with all programs that it started."""
        raise NotImplementedError


@wit("bub:turn/stages", "SelectorList")
@dataclass
class SelectorList:
    names: list[str]
    active: str
    why: str


@wit("bub:turn/subturn", "Request")
@dataclass
class NestedTurn:
    """What a second agent is asked."""

    prompt: Prompt
    session: Optional[str] = None
    model: Optional[str] = None
    tools: Optional[list[str]] = None
    skills: Optional[list[str]] = None


Source = Annotated[Literal["memory", "note", "history"], Named(_RECALL, "Source")]


@wit(_RECALL, "Options")
@dataclass
class RecallOptions:
    sources: list[Source] = field(default_factory=list)
    limit: int = 8
    min_score: float = 0.6
    timeout_ms: int = 1000
    sent: list[str] = field(default_factory=list)
    window_start: Optional[int] = None


@wit(_RECALL, "Hit")
@dataclass
class RecallHit:
    text: str
    score: float
    source: Source
    date: str
    entry: Optional[int]
    tainted: bool


@wit(_RECALL, "Answer")
@dataclass
class RecallAnswer:
    hits: list[RecallHit]
    missed: list[str]


class Config(Functions):
    interface = "bub:plugin/config"

    @host
    def get(self, key: str) -> Optional[Json]:
        raise NotImplementedError

    @host
    def granted(self, grant: str) -> None:
        raise NotImplementedError


class Log(Functions):
    interface = "bub:plugin/log"

    @host
    def log(self, level: Level, message: str) -> None:
        raise NotImplementedError


class Secrets(Functions):
    interface = "bub:plugin/secrets"

    @host
    def placeholder(self, name: str) -> str:
        raise NotImplementedError

    @host
    def matches(self, name: str, value: str) -> bool:
        raise NotImplementedError

    @host
    def hmac_sha256(self, name: str, data: bytes) -> bytes:
        raise NotImplementedError


class Chat(Functions):
    interface = "bub:model/chat"

    @host
    def complete(self, turn: Turn, request: Request) -> Completion:
        raise NotImplementedError

    @host
    def window(self, model: str) -> Optional[int]:
        raise NotImplementedError

    @host
    def input_budget(self, model: str) -> Optional[int]:
        raise NotImplementedError

    @host
    def token_calibration(self, model: str) -> float:
        raise NotImplementedError


class UsageReport(Functions):
    interface = "bub:model/usage"

    @host
    def session(self, turn: Turn, days: int) -> list[UsageRow]:
        raise NotImplementedError

    @host
    def today(self) -> list[UsageRow]:
        raise NotImplementedError

    @host
    def daily_limit(self) -> Optional[int]:
        raise NotImplementedError


class Toolbox(Functions):
    interface = "bub:tools/toolbox"

    @host
    def list_tools(self, turn: Turn) -> list[ToolSpec]:
        raise NotImplementedError

    @host
    def call_tools(self, turn: Turn, calls: list[ToolCall]) -> list[Outcome]:
        raise NotImplementedError


class Stages(Functions):
    interface = "bub:turn/stages"

    @host
    def system_prompt(self, turn: Turn, prompt: Prompt) -> str:
        raise NotImplementedError

    @host
    def messages(
        self, turn: Turn, prompt: Prompt, system_prompt: str, new: list[Json], model: Optional[str]
    ) -> list[Json]:
        raise NotImplementedError

    @host
    def steering(self, turn: Turn) -> list[Prompt]:
        raise NotImplementedError

    @host
    def continue_prompt(self, turn: Turn, prompt: Prompt) -> Optional[str]:
        raise NotImplementedError

    @host
    def selectors(self, turn: Turn) -> SelectorList:
        raise NotImplementedError

    @host
    def model_options(self, turn: Turn) -> ModelOptions:
        raise NotImplementedError


class Subturn(Functions):
    interface = "bub:turn/subturn"

    @host
    def run(self, turn: Turn, request: NestedTurn) -> str:
        raise NotImplementedError


class Retrieval(Functions):
    interface = "bub:context/recall"

    @host
    def search(self, view: View, question: str, options: RecallOptions) -> RecallAnswer:
        raise NotImplementedError


class Programs(Functions):
    interface = "bub:process/process"

    @host
    def spawn(self, command: str, directory: Optional[str]) -> Child:
        raise NotImplementedError

    @host
    def find(self, id: str) -> Child:
        raise NotImplementedError


INTERFACES: dict[str, type[Functions]] = {
    "config": Config,
    "log": Log,
    "secrets": Secrets,
    "chat": Chat,
    "usage": UsageReport,
    "toolbox": Toolbox,
    "stages": Stages,
    "subturn": Subturn,
    "recall": Retrieval,
    "process": Programs,
}
"""The interfaces of functions, by the attribute of the backend."""
