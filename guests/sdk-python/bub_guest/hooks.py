"""The hooks that a plugin can have.

Those of one function are functions with `@plugin.hook(NAME, why=...)`:

| hook | parameters | result |
| --- | --- | --- |
| `resolve-session` | `Envelope` | `str | None` |
| `load-state` | `Turn` | an object, or `None` |
| `build-prompt` | `Turn` | `Prompt`, `str` or `None` |
| `run-model` | `Turn, Prompt` | `str | None` |
| `run-model-stream` | `Turn, Prompt` | `bool` |
| `continue-prompt` | `Turn, Prompt` | `str | None` |
| `system-prompt` | `Turn, Prompt` | `list[SystemPart]` |
| `selector` | `View` | `Selected` |
| `save-state` | `Turn, str, Error | None` | |
| `render-outbound` | `Turn, str` | `list[Envelope]` |
| `dispatch-outbound` | `Envelope` | `bool` |
| `on-error` | `str, Error, Envelope | None` | `list[Envelope]` |
| `after-turn` | `Turn, str` | |
| `before-reset` | `Turn, bool` | `list[Attachment]` |
| `before-llm-call` | `Turn, LlmRequest` | `LlmDecision` |
| `after-llm-call` | `Turn, str, LlmResult` | |
| `before-tool-call` | `Turn, ToolCall` | `ToolDecision` |
| `after-tool-call` | `Turn, ToolCall, value or Error` | a value, or `None` |
| `admit-message` | `str, Envelope, SessionLoad` | `Admission | None` |
| `provide-model-options` | `str` | `ModelOptions` |

A function may leave parameters out at its end. The others are classes: `Channel`, `Provider`, `Embedder` and
`Store`, with `@plugin.channel(why=...)` and so on. `wit/README.md` describes when each is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from . import decisions as d
from .contract import Json, Outcome, host, wit
from .error import Error
from .records import (
    Admission,
    Envelope,
    ModelEvent,
    ModelOptions,
    Prompt,
    Purpose,
    Request,
    SystemPart,
    ToolCall,
)
from .tape import Entry
from .turn import Turn
from .view import Selected, View


@dataclass(frozen=True)
class Hook:
    """A function of a contract: what it takes, what it returns, and whether it can return an error."""

    takes: tuple[Any, ...]
    returns: Any = None
    can_fail: bool = True


FUNCTIONS: dict[str, Hook] = {
    "resolve-session": Hook((Envelope,), Optional[str]),
    "load-state": Hook((Turn,), Optional[Json]),
    "build-prompt": Hook((Turn,), Optional[Prompt]),
    "run-model": Hook((Turn, Prompt), Optional[str]),
    "run-model-stream": Hook((Turn, Prompt), bool),
    "continue-prompt": Hook((Turn, Prompt), Optional[str]),
    "system-prompt": Hook((Turn, Prompt), list[SystemPart]),
    "selector": Hook((View,), Selected),
    "save-state": Hook((Turn, str, Optional[Error])),
    "render-outbound": Hook((Turn, str), list[Envelope]),
    "dispatch-outbound": Hook((Envelope,), bool),
    "on-error": Hook((str, Error, Optional[Envelope]), list[Envelope], can_fail=False),
    "after-turn": Hook((Turn, str), can_fail=False),
    "before-reset": Hook((Turn, bool), list[d.Attachment]),
    "before-llm-call": Hook((Turn, d.LlmRequest), d.LlmDecision),
    "after-llm-call": Hook((Turn, str, d.LlmResult), can_fail=False),
    "before-tool-call": Hook((Turn, ToolCall), d.ToolDecision),
    "after-tool-call": Hook((Turn, ToolCall, Outcome), Optional[Json]),
    "admit-message": Hook((str, Envelope, d.SessionLoad), Optional[Admission]),
    "provide-model-options": Hook((str,), ModelOptions),
}


class Channel:
    """Where messages come from, and where answers go. A channel leaves out functions that it does not support."""

    def describe(self) -> d.Description:
        """What the channel is called and what it can do."""
        raise NotImplementedError

    def poll(self, cursor: Any) -> d.Inbox:
        """Asks for messages that have arrived since the cursor."""
        raise Error("config", "this channel does not support `poll`")

    def receive(self, request: d.WebhookRequest) -> d.WebhookResponse:
        """Takes a request from outside."""
        raise Error("config", "this channel does not support `receive`")

    def send(self, message: Envelope, key: str) -> Optional[str]:
        """Sends a message; `key` is the same for each attempt. The handle that it returns is for `update`."""
        raise NotImplementedError

    def update(self, handle: str, message: Envelope) -> None:
        """Changes a message that was sent."""
        raise Error("config", "this channel does not support `update`")


@wit("bub:model/sink", "Sink")
class Sink:
    """Where a provider sends its answer."""

    @host
    def send(self, event: ModelEvent) -> None:
        """Sends an event; `cancelled` once the reader has disconnected."""
        raise NotImplementedError


class Provider:
    """A provider of models."""

    def name(self) -> str:
        """The part before the colon in `provider:model`."""
        raise NotImplementedError

    def complete(self, request: Request, sink: Sink) -> None:
        """Answers a request, event by event."""
        raise NotImplementedError


class Embedder:
    """Embeds texts as vectors."""

    def model(self) -> str:
        """The model's name. Vectors of different names are not comparable."""
        raise NotImplementedError

    def embed(self, texts: list[str], purpose: Purpose) -> list[list[float]]:
        """One vector for each text, in order."""
        raise NotImplementedError


class Store:
    """A tape store. Its rules are in `wit/deps/bub-tape/tape.wit`."""

    def commit(self, batches: list[d.Batch], key: Optional[str]) -> d.StoreOutcome:
        """Applies all batches atomically."""
        raise NotImplementedError

    def read(self, tape: str, after: int, max: int) -> d.Page:
        """The entries with an id greater than `after`, in order."""
        raise NotImplementedError

    def tail(self, tape: str, before: Optional[int], max: int) -> d.Page:
        """The newest entries before an id, oldest first."""
        raise NotImplementedError

    def newest(self, tape: str, lookup: d.Lookup, before: Optional[int]) -> Optional[Entry]:
        """The newest entry before an id that matches."""
        raise NotImplementedError

    def list_tapes(self, after: Optional[str], max: int) -> list[str]:
        """The names of tapes after that one, in byte order."""
        raise NotImplementedError

    def list_sidecars(self, tape: str, after: Optional[str], max: int) -> list[str]:
        """The names of the sidecars of a tape in the same way."""
        raise NotImplementedError

    def archive_name(self, tape: str) -> Optional[str]:
        """The name that an archive of the tape would get now."""
        raise NotImplementedError


@dataclass(frozen=True)
class Interface:
    """A contract of several functions: where it is, its grant, its class, and which of its functions cannot fail."""

    interface: str
    grant: str
    of: type
    plain: tuple[str, ...] = ()


INTERFACES: dict[str, Interface] = {
    "channel": Interface("bub:channel/channel", "hook:channel", Channel, ("describe",)),
    "provider": Interface("bub:model/provider", "hook:provider", Provider, ("name",)),
    "embedder": Interface("bub:model/embedder", "hook:embedder", Embedder, ("model",)),
    "store": Interface("bub:tape/store", "hook:tape-store", Store),
}

__all__ = ["FUNCTIONS", "INTERFACES", "Channel", "Embedder", "Hook", "Interface", "Provider", "Sink", "Store"]
