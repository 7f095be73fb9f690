"""What the hooks receive and answer, beside the records that everything shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Optional, Union

from .contract import Json, Named, case, wit
from .error import Error
from .records import Envelope, ToolCall
from .tape import Entry

_LLM = "bub:hooks/before-llm-call"
_CHANNEL = "bub:channel/channel"
_STORE = "bub:tape/store"


@dataclass
class Proceed:
    """The call goes on as it is."""


@dataclass
class Rewrite:
    """The call goes on with these arguments, or with this request."""

    value: Json


@dataclass
class Answer:
    """Nothing is called; this is the answer."""

    value: Json


@dataclass
class Deny:
    """The tool is not called; the model reads this text."""

    value: str


@dataclass
class Ask:
    """The user decides, at the channel."""

    value: str


ToolDecision = Annotated[
    Union[Proceed, Rewrite, Answer, Deny, Ask], Named("bub:hooks/before-tool-call", "ToolDecision")
]


@wit(_LLM, "LlmRequest")
@dataclass
class LlmRequest:
    """What a model is about to be asked."""

    purpose: str
    model: str
    messages: list[Json]
    tool_names: list[str]
    max_tokens: Optional[int] = None
    options: Optional[Json] = None


@case("Rewrite")
@dataclass
class RewriteRequest:
    """The model is asked this instead."""

    value: LlmRequest


@case("Answer")
@dataclass
class AnswerText:
    """The model is not called; this text is its answer."""

    value: str


LlmDecision = Annotated[Union[Proceed, RewriteRequest, AnswerText], Named(_LLM, "LlmDecision")]


@wit("bub:hooks/after-llm-call", "LlmResult")
@dataclass
class LlmResult:
    """How a model call ended."""

    text: Optional[str]
    tool_calls: list[ToolCall]
    usage: Optional[Json]
    error: Optional[Error]
    duration_ms: int


@wit("bub:hooks/before-reset", "Attachment")
@dataclass
class Attachment:
    """A text that is stored beside the archive of a tape."""

    name: str
    text: str


@wit("bub:hooks/admit-message", "SessionLoad")
@dataclass
class SessionLoad:
    running: bool
    pending: int


@wit("bub:hooks/commands", "Command")
@dataclass
class CommandSpec:
    name: str
    about: str


@wit(_CHANNEL, "Description")
@dataclass
class Description:
    """What a channel is called, and what it can do."""

    name: str
    needs_debounce: bool = False
    supports_polling: bool = False
    webhook: bool = False
    supports_edits: bool = False
    deduplicates: bool = False


@wit(_CHANNEL, "Arrival")
@dataclass
class Arrival:
    """A message that arrived; an inactive one waits for an active one."""

    message: Envelope
    active: bool = True


@wit(_CHANNEL, "Inbox")
@dataclass
class Inbox:
    """The messages since a cursor, the next cursor, and how long to wait before the next poll."""

    arrivals: list[Arrival] = field(default_factory=list)
    cursor: Json = None
    wait_ms: int = 0


@wit(_CHANNEL, "WebhookRequest")
@dataclass
class WebhookRequest:
    method: str
    path: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


@wit(_CHANNEL, "WebhookResponse")
@dataclass
class WebhookResponse:
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    arrivals: list[Arrival] = field(default_factory=list)


@wit(_STORE, "Reset")
@dataclass
class Reset:
    archive: Optional[str]
    kept: list[Entry]


@wit(_STORE, "Batch")
@dataclass
class Batch:
    """The change of one write to one tape: first the reset, then the entries."""

    tape: str
    last: Optional[int]
    reset: Optional[Reset]
    entries: list[Entry]


@dataclass
class Stored:
    """The write is durable."""


@dataclass
class Already:
    """The last write had the same key: nothing was written now."""


@dataclass
class Conflict:
    """Nothing was written. The actual last ids, one for each batch."""

    value: list[int]


StoreOutcome = Annotated[Union[Stored, Already, Conflict], Named(_STORE, "Outcome")]


@wit(_STORE, "Page")
@dataclass
class Page:
    entries: list[Entry]
    more: bool = False


@dataclass
class Kind:
    """Entries of that kind."""

    value: str


@case("Named")
@dataclass
class NamedEntry:
    """Events or anchors with that kind and name."""

    value: tuple[str, str]


@dataclass
class Phase:
    """Anchors that begin a phase."""


Lookup = Annotated[Union[Kind, NamedEntry, Phase], Named(_STORE, "Lookup")]
