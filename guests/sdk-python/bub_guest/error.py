"""Errors: what a plugin answers with when something failed, and where it came from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

ErrorKind = Literal[
    "invalid-input",
    "config",
    "provider",
    "context-length",
    "tool",
    "temporary",
    "not-found",
    "denied",
    "conflict",
    "cancelled",
    "unknown",
]


class Error(Exception):
    """An error of the contract `bub:types/error`: a kind, a sentence and, where they help, details.

    A tool or a hook that raises it answers with it. Errors of the host arrive as it too.

    >>> raise Error("not-found", "there is no city `Atlantis`")
    Traceback (most recent call last):
    bub_guest.error.Error: there is no city `Atlantis`
    """

    def __init__(self, kind: ErrorKind, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.details = details

    def __eq__(self, other: object) -> bool:
        mine = (self.kind, self.message, self.details)
        return isinstance(other, Error) and mine == (other.kind, other.message, other.details)

    def __hash__(self) -> int:
        return hash((self.kind, self.message))

    def __repr__(self) -> str:
        return f"Error({self.kind!r}, {self.message!r})"

    @classmethod
    def invalid(cls, message: str) -> Error:
        """The caller passed something that it can correct: the message says what, and what to do about it."""
        return cls("invalid-input", message)

    @classmethod
    def not_found(cls, message: str) -> Error:
        """What was asked for does not exist."""
        return cls("not-found", message)

    @classmethod
    def temporary(cls, message: str, retry_after: int | None = None) -> Error:
        """A later attempt may succeed, after that many seconds if they are known."""
        return cls("temporary", message, None if retry_after is None else {"retry_after": retry_after})


def from_exception(error: BaseException) -> Error | None:
    """The contract's error for an exception of Python; none for one that is a mistake in the plugin's code."""
    if isinstance(error, Error):
        return error
    if isinstance(error, OSError):
        return Error(_kind(error), error.strerror or str(error) or type(error).__name__)
    return None


def _kind(error: OSError) -> ErrorKind:
    if isinstance(error, FileNotFoundError):
        return "not-found"
    if isinstance(error, PermissionError):
        return "denied"
    if isinstance(error, (TimeoutError, InterruptedError)):
        return "temporary"
    return "unknown"


@contextlib.contextmanager
def context(what: str) -> Iterator[None]:
    """Puts in front of an error what was being done. The kind and the details stay.

    A `ValueError`, such as a text that is no number or no JSON, becomes `invalid-input`, and an `OSError` the kind that fits.
    Any other exception passes: it is a mistake in the plugin's code, and its author reads the traceback.

    >>> with context("the year"):
    ...     int("last")
    Traceback (most recent call last):
    bub_guest.error.Error: the year: invalid literal for int() with base 10: 'last'
    """
    try:
        yield
    except Exception as raised:
        error = from_exception(raised)
        if error is None and isinstance(raised, ValueError):
            error = Error("invalid-input", str(raised))
        if error is None:
            raise
        raise Error(error.kind, f"{what}: {error.message}", error.details) from raised
