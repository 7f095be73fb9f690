"""The host that answers: that of the component, or the fake one of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Protocol

if TYPE_CHECKING:
    from .http import Request, Stream


class Backend(Protocol):
    """One attribute for each interface of functions, named as in the contracts, and `open_http`."""

    config: Any
    log: Any
    secrets: Any
    chat: Any
    usage: Any
    toolbox: Any
    stages: Any
    subturn: Any
    recall: Any
    process: Any

    def open_http(self, request: Request) -> Stream:
        """Sends a request, and waits for the head of its response."""
        ...


_current: Optional[Backend] = None


def use(backend: Optional[Backend]) -> None:
    """Lets that host answer."""
    global _current
    _current = backend


def get() -> Backend:
    """The host that answers."""
    if _current is None:
        raise RuntimeError("there is no host: a test makes one with `bub_guest.test.Host()`")
    return _current
