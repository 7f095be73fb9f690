"""The records of the contracts. Their meaning is in the comments of `wit/deps`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, Union

from .contract import Json, Marker, Named, case, wit
from .error import Error
from .text import loads

_TYPES = "bub:types/types"

MessageKind = Annotated[Literal["normal", "command", "error"], Named(_TYPES, "MessageKind")]
Principal = Annotated[Literal["owner", "peer", "anonymous", "schedule"], Named(_TYPES, "Principal")]
MediaKind = Annotated[Literal["image", "audio", "video", "document"], Named(_TYPES, "MediaKind")]
CutOrder = Annotated[Literal["first", "normal", "last"], Named(_TYPES, "CutOrder")]
Provenance = Annotated[Literal["written", "quoted", "forwarded", "attached"], Named(_TYPES, "Provenance")]
Effect = Annotated[Literal["read", "write", "send", "run"], Named("bub:tools/schema", "Effect")]
Level = Annotated[Literal["trace", "debug", "info", "warn", "error"], Named("bub:plugin/log", "Level")]
Admission = Annotated[
    Literal["process", "follow-up", "steer", "drop"], Named("bub:hooks/admit-message", "Decision")
]
Purpose = Annotated[Literal["question", "passage"], Named("bub:model/embedder", "Purpose")]


@wit(_TYPES, "SystemPart")
@dataclass
class SystemPart:
    """A part of the system prompt. `cut` says whether it is cut before or after others where the prompt is too long."""

    name: str
    text: str
    cut: CutOrder = "normal"


@wit(_TYPES, "MediaItem")
@dataclass
class MediaItem:
    kind: MediaKind
    mime_type: str
    filename: Optional[str]
    url: str
    provenance: Provenance = "written"


@wit(_TYPES, "Passage")
@dataclass
class Passage:
    """Text in a message beside what the sender wrote."""

    provenance: Provenance
    author: Optional[str]
    text: str


@wit(_TYPES, "Envelope")
@dataclass
class Envelope:
    """A message, inbound from a channel or outbound to one."""

    content: str
    channel: str = "cli"
    chat_id: str = "local"
    id: Optional[str] = None
    session_id: Optional[str] = None
    sender: Optional[str] = None
    passages: list[Passage] = field(default_factory=list)
    kind: MessageKind = "normal"
    context: Annotated[dict[str, Json], Marker("pairs")] = field(default_factory=dict)
    media: list[MediaItem] = field(default_factory=list)
    output_channel: Optional[str] = None


@wit(_TYPES, "ToolCall")
@dataclass
class ToolCall:
    """A tool call that the model requested. `arguments` is the text as the model wrote it, and may be invalid JSON."""

    name: str
    arguments: str = "{}"
    id: Optional[str] = None

    def json(self) -> Any:
        """The arguments; `invalid-input` if they are not JSON."""
        return loads(self.arguments)


@dataclass
class Text:
    """A text: a prompt, or a piece of a model's answer."""

    value: str


@dataclass
class Parts:
    """A prompt of OpenAI content parts."""

    value: Json


@dataclass
class Reasoning:
    """A piece of what a model thinks before it answers."""

    value: str


@dataclass
class ToolCalls:
    """The calls of a model's answer, complete."""

    value: list[ToolCall]


@dataclass
class ToolResults:
    """One result for each call, in call order."""

    value: Json


@dataclass
class Usage:
    """What a model call has used."""

    value: Json


@dataclass
class Finish:
    """Why a model's answer ended: `stop`, `length`, `tool_calls` or `content_filter`."""

    value: str


@case("Error")
@dataclass
class Failed:
    """The error of a turn, as an event of its stream."""

    value: Error


@dataclass
class Final:
    """The last event of a turn's stream: `{"text", "steps", "usage"}`."""

    value: Json


Prompt = Annotated[Union[Text, Parts], Named(_TYPES, "Prompt")]
StreamEvent = Annotated[
    Union[Text, Reasoning, ToolCalls, ToolResults, Usage, Failed, Final], Named(_TYPES, "StreamEvent")
]
ModelEvent = Annotated[Union[Text, Reasoning, ToolCalls, Usage, Finish], Named("bub:model/exchange", "Event")]


@wit("bub:tools/schema", "ToolSpec")
@dataclass
class ToolSpec:
    """A tool, as the host lists it."""

    name: str
    description: str
    parameters: Json
    effect: Effect
    for_model: bool = True
    reads_outside: bool = False


@wit("bub:model/exchange", "Request")
@dataclass
class Request:
    """A request to a model: OpenAI chat messages."""

    messages: list[Json]
    model: Optional[str] = None
    tools: list[ToolSpec] = field(default_factory=list)
    max_tokens: Optional[int] = None
    purpose: str = "plugin"
    options: Optional[Json] = None


@wit(_TYPES, "ModelChoice")
@dataclass
class ModelChoice:
    """A model that a session can use: its id, `provider:model`, and its name for people."""

    id: str
    name: str


@wit(_TYPES, "ModelOptions")
@dataclass
class ModelOptions:
    choices: list[ModelChoice]
    current: Optional[str] = None
