"""The turn in progress."""

from __future__ import annotations

from typing import Any, Optional

from .contract import Json, host, wit
from .grants import TapeRead, TapeWorkspace
from .records import Envelope, MessageKind, Principal, Prompt, StreamEvent
from .tape import Tape


@wit("bub:turn/turn", "Turn")
class Turn:
    """A handle to the turn in progress."""

    @host
    def new_run_id(self) -> str:
        """A new id for one model call and its entries."""
        raise NotImplementedError

    @host
    def session_id(self) -> str:
        raise NotImplementedError

    @host
    def workspace(self) -> str:
        """The path of the workspace."""
        raise NotImplementedError

    @host
    def workspace_instructions(self, name: str) -> Optional[str]:
        """The workspace's `AGENTS.md`. It is untrusted: reading it taints the turn unless the user trusts the workspace."""
        raise NotImplementedError

    @host
    def message(self) -> Envelope:
        """The message that started the turn."""
        raise NotImplementedError

    @host
    def set_message_kind(self, kind: MessageKind) -> None:
        raise NotImplementedError

    @host
    def principal(self) -> Principal:
        """Who caused the turn."""
        raise NotImplementedError

    @host
    def tainted(self) -> bool:
        """Whether text by other authors is in the context of the turn."""
        raise NotImplementedError

    @host
    def started(self) -> str:
        """When the turn began, RFC 3339 with the user's offset."""
        raise NotImplementedError

    @host
    def get(self, key: str) -> Optional[Json]:
        """A value of the turn's state, which later hooks see too."""
        raise NotImplementedError

    @host
    def set(self, key: str, value: Json) -> None:
        """Sets a value of the turn's state."""
        raise NotImplementedError

    @host
    def state(self) -> Json:
        """The whole state, an object."""
        raise NotImplementedError

    @host
    def tape(self, grant: TapeRead) -> Tape:
        """Opens the session's tape."""
        raise NotImplementedError

    @host
    def workspace_tape(self, grant: TapeWorkspace) -> Tape:
        """Opens the tape that the sessions of the workspace share."""
        raise NotImplementedError

    @host
    def emit(self, event: StreamEvent) -> None:
        """Sends an event to the listener of the turn, from the hook `run-model-stream`."""
        raise NotImplementedError


def text_of(prompt: Prompt) -> str:
    """The text of a prompt, without images and files."""
    value: Any = prompt.value
    if isinstance(value, str):
        return value
    return "\n".join(part.get("text", "") for part in value if part.get("type") == "text")
