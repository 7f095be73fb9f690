"""The services of the fake host: models, tools of other plugins, the agent's stages, retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ..error import Error
from ..records import Finish, ModelOptions, Request, Text, ToolCall, ToolSpec
from ..system import Completion, NestedTurn, RecallAnswer, RecallHit, SelectorList, UsageRow
from ..text import dumps, loads
from ..turn import text_of
from .fakes import FakeTape, missing

if TYPE_CHECKING:
    from . import Host


class FakeCompletion(Completion):
    """The text in two pieces, so that a plugin that reads only the first is found out."""

    def __init__(self, text: str) -> None:
        middle = len(text) // 2
        self._events: list[Any] = [Text(text[:middle]), Text(text[middle:]), Finish("stop")]

    def next(self) -> Any:
        return self._events.pop(0) if self._events else None


class Models:
    """`bub:model/chat` and `usage`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def complete(self, turn: Any, request: Request) -> Completion:
        return FakeCompletion(self.answer(request))

    def answer(self, request: Request) -> str:
        """What the test's model answers."""
        self._host.require(f"model:{request.model or 'test:model'}")
        self._host.model_calls.append(request)
        if self._host.answer_model is None:
            raise missing("model: `Host(model=...)` answers")
        return self._host.answer_model(request)

    def window(self, model: str) -> Optional[int]:
        return None

    def input_budget(self, model: str) -> Optional[int]:
        return self._host.budget

    def token_calibration(self, model: str) -> float:
        return 1.0

    def session(self, turn: Any, days: int) -> list[UsageRow]:
        return self.today()

    def today(self) -> list[UsageRow]:
        self._host.require("usage")
        calls = len(self._host.model_calls)
        return [UsageRow("test:model", calls, calls, 0, 0, 0, 0)] if calls else []

    def daily_limit(self) -> Optional[int]:
        self._host.require("usage")
        return None


class Toolbox:
    """`bub:tools/toolbox`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def list_tools(self, turn: Any) -> list[ToolSpec]:
        return [ToolSpec(name, "", {"type": "object"}, "read") for name in self._host.other_tools]

    def call_tools(self, turn: Any, calls: list[ToolCall]) -> list[Any]:
        return [self._call(call) for call in calls]

    def _call(self, call: ToolCall) -> Any:
        try:
            self._host.require(f"tools:{call.name}")
            if call.name not in self._host.other_tools:
                raise missing(f"tool `{call.name}`")
            return loads(dumps(self._host.other_tools[call.name](call.json())))
        except Error as error:
            return error


class Agents:
    """`bub:turn/stages` and `subturn`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def system_prompt(self, turn: Any, prompt: Any) -> str:
        self._host.require("agent")
        return self._host.prompt_of_the_system

    def messages(self, turn: Any, prompt: Any, system_prompt: str, new: list[Any], model: Optional[str]) -> list[Any]:
        self._host.require("agent")
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return [*system, *new]

    def steering(self, turn: Any) -> list[Any]:
        self._host.require("agent")
        return []

    def continue_prompt(self, turn: Any, prompt: Any) -> Optional[str]:
        self._host.require("agent")
        return None

    def selectors(self, turn: Any) -> SelectorList:
        self._host.require("agent")
        return SelectorList(["simple"], "simple", "there is no other")

    def model_options(self, turn: Any) -> ModelOptions:
        self._host.require("agent")
        return ModelOptions([])

    def run(self, turn: Any, request: NestedTurn) -> str:
        self._host.require("agent")
        messages = [{"role": "user", "content": text_of(request.prompt)}]
        return self._host.chat.answer(Request(messages, model=request.model, purpose="subagent"))


class Retrieval:
    """`bub:context/recall`: the entries of the session that hold all words of the question."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def search(self, view: Any, question: str, options: Any) -> RecallAnswer:
        from ..tape import Search

        self._host.require("recall")
        hits = FakeTape(self._host, "session").search(Search(question, limit=options.limit))
        texts = [(hit, str(hit.entry.payload.get("content", hit.entry.payload_text))) for hit in hits]
        found = [RecallHit(text, hit.score, "history", hit.entry.date, hit.entry.id, False) for hit, text in texts]
        return RecallAnswer(found, [])
