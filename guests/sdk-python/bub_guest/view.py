"""What a selector sees, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional, Union

from .contract import Json, Named, case, host, wit
from .grants import MayWrite
from .records import Prompt, SystemPart, ToolSpec
from .tape import Entry, Hit, Info, Query, Tape

_SELECTOR = "bub:context/selector"


@wit("bub:context/view", "WrittenPart")
@dataclass
class WrittenPart:
    """A part of the system prompt and the plugin that wrote it."""

    plugin: Optional[str]
    part: SystemPart


@wit("bub:context/view", "View")
class View:
    """One tape from its latest anchor on, and the model call that the selection is for."""

    @host
    def next(self, max: int) -> list[Entry]:
        """The next entries since the latest anchor, at most 256; an empty list is the end."""
        raise NotImplementedError

    @host
    def next_ids(self, max: int) -> list[int]:
        """The ids of the next entries, at most 4,096."""
        raise NotImplementedError

    @host
    def tail(self, before: Optional[int], max: int) -> list[Entry]:
        """The newest entries before an id (none: the end), oldest first."""
        raise NotImplementedError

    @host
    def search(self, text: str, max: int, timeout_ms: int) -> list[Hit]:
        """The entries of the whole tape in which words stand."""
        raise NotImplementedError

    @host
    def query(self, sidecar: Optional[str], query: Query, max: int, timeout_ms: int) -> list[Entry]:
        """The entries of the whole tape, or of a sidecar of the plugin's own, that meet a condition."""
        raise NotImplementedError

    @host
    def sidecar(self, grant: MayWrite, name: str) -> Tape:
        raise NotImplementedError

    @host
    def info(self) -> Info:
        raise NotImplementedError

    @host
    def prompt(self) -> Prompt:
        raise NotImplementedError

    @host
    def system_prompt(self) -> str:
        raise NotImplementedError

    @host
    def system_parts(self) -> list[WrittenPart]:
        raise NotImplementedError

    @host
    def model(self) -> str:
        raise NotImplementedError

    @host
    def budget(self) -> Optional[int]:
        """The tokens that the request should stay within, if they are known."""
        raise NotImplementedError

    @host
    def token_calibration(self) -> float:
        raise NotImplementedError

    @host
    def turn_start_id(self) -> int:
        """The id of the entry before the turn's first."""
        raise NotImplementedError

    @host
    def new_messages(self) -> list[Json]:
        """The messages of this turn, OpenAI chat messages."""
        raise NotImplementedError

    @host
    def replace_new_messages(self, messages: list[Json]) -> None:
        """Replaces the messages of this turn by shorter ones."""
        raise NotImplementedError

    @host
    def tools(self) -> list[ToolSpec]:
        raise NotImplementedError

    @host
    def state(self, key: str) -> Optional[Json]:
        raise NotImplementedError


@case("Entry")
@dataclass
class EntryPart:
    """An entry of the tape, unchanged."""

    value: int


@case("Message")
@dataclass
class MessagePart:
    """A message that the selector made, in OpenAI's chat format."""

    value: Json


Part = Annotated[Union[EntryPart, MessagePart], Named(_SELECTOR, "Part")]


@wit(_SELECTOR, "Selected")
@dataclass
class Selected:
    """The request: system prompt, `before`, `history`, the new messages of the user, `after`."""

    history: list[Part] = field(default_factory=list)
    before: list[Part] = field(default_factory=list)
    after: list[Part] = field(default_factory=list)
    system_prompt: Optional[str] = None
    notes: Json = field(default_factory=dict)

    @classmethod
    def entries(cls, ids: Iterable[int], notes: Optional[dict[str, Any]] = None) -> Selected:
        """These entries, and nothing else of earlier turns."""
        return cls([EntryPart(id) for id in ids], notes=notes or {})
