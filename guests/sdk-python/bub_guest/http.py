"""HTTP requests, to the hosts that grants name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, Optional, TypeVar, cast
from urllib.parse import quote

from . import backend
from .error import Error, ErrorKind
from .read import read
from .text import dumps, loads

T = TypeVar("T")

Failure = Literal[
    "denied", "private-address", "invalid", "request-too-large", "response-too-large", "timeout", "broken"
]

_KINDS: dict[Failure, ErrorKind] = {
    "denied": "denied",
    "private-address": "denied",
    "invalid": "invalid-input",
    "request-too-large": "invalid-input",
    "response-too-large": "tool",
    "timeout": "temporary",
    "broken": "temporary",
}


class HttpError(Error):
    """Why a request has no response."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(_KINDS[failure], message)
        self.failure: Failure = failure


@dataclasses.dataclass
class Request:
    """A request. `timeout` limits in seconds how long the head of the response and each piece of its body may take.

    >>> Request("GET", "https://example.com/a").query("q", "one two").url
    'https://example.com/a?q=one%20two'
    """

    method: str
    url: str
    headers: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    content: Optional[bytes] = None
    seconds: float = 30.0

    def header(self, name: str, value: str) -> Request:
        """Adds a header. A secret's placeholder can stand in its value."""
        return dataclasses.replace(self, headers=[*self.headers, (name, value)])

    def header_value(self, name: str) -> Optional[str]:
        """The value of a header, for tests."""
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    def query(self, name: str, value: str) -> Request:
        """Adds a parameter to the query, percent-encoded."""
        separator = "&" if "?" in self.url else "?"
        pair = f"{quote(name, safe='', errors='replace')}={quote(value, safe='', errors='replace')}"
        return dataclasses.replace(self, url=f"{self.url}{separator}{pair}")

    def body(self, content: bytes) -> Request:
        """Sets the body."""
        return dataclasses.replace(self, content=content)

    def json(self, value: Any) -> Request:
        """Sets the body to the JSON of a value, and `content-type` with it."""
        return self.header("content-type", "application/json").body(dumps(value).encode())

    def timeout(self, seconds: float) -> Request:
        """Limits how long the head of the response, and each piece of its body, may take; 30 seconds unless set."""
        return dataclasses.replace(self, seconds=seconds)

    def send(self) -> Response:
        """Sends it, and waits for the whole response. A response of any status is no error."""
        return self.open().collect()

    def open(self) -> Stream:
        """Sends it, and waits for the head of the response."""
        parts(self.url)
        return backend.get().open_http(self)


def parts(url: str) -> tuple[str, str, str]:
    """Scheme, host with its port, and the path with its query, of an `http:` or `https:` URL."""
    scheme, separator, rest = url.partition("://")
    at = next((index for index, letter in enumerate(rest) if letter in "/?"), len(rest))
    if not separator or scheme not in ("http", "https") or at == 0:
        raise HttpError("invalid", f"`{url}` is no address")
    return scheme, rest[:at], rest[at:]


@dataclasses.dataclass
class Head:
    """Status and headers of a response."""

    status: int
    headers: list[tuple[str, bytes]]

    def header(self, name: str) -> Optional[str]:
        """The first header of that name, if it is a text."""
        for known, value in self.headers:
            if known.lower() == name.lower():
                try:
                    return value.decode().strip()
                except UnicodeDecodeError:
                    return None
        return None

    def _check(self) -> None:
        if 200 <= self.status < 300:
            return
        kind: ErrorKind = "tool"
        if self.status in (401, 403):
            kind = "denied"
        elif self.status in (404, 410):
            kind = "not-found"
        elif self.status in (408, 425, 429) or 500 <= self.status < 600:
            kind = "temporary"
        after = self.header("retry-after") or ""
        details = {"retry_after": int(after)} if after.isdecimal() else None
        raise Error(kind, f"the server answered with status {self.status}", details)


@dataclasses.dataclass
class Response(Head):
    """A response with its whole body."""

    body: bytes = b""

    def success(self) -> Response:
        """The same response, if its status is one of success; else an error whose kind says whether to try again."""
        self._check()
        return self

    def text(self) -> str:
        """The body as text; `invalid-input` if it is no UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError as error:
            raise Error("invalid-input", f"the server's answer is no text: {error}") from error

    def json(self, of: type[T] | Any = Any) -> T:
        """The body read from JSON, as that type; `invalid-input` if it is not."""
        try:
            return cast(T, read(of, loads(self.body)))
        except Error as error:
            raise Error(error.kind, f"the server's answer: {error.message}") from error


@dataclasses.dataclass
class Stream(Head):
    """A response whose body is read piece by piece."""

    pieces: Iterator[bytes] = dataclasses.field(default_factory=lambda: iter(()))

    def success(self) -> Stream:
        """The same response, if its status is one of success."""
        self._check()
        return self

    def collect(self) -> Response:
        """Waits for the rest of the body."""
        return Response(self.status, self.headers, b"".join(self.pieces))

    def lines(self) -> Iterator[str]:
        """The lines of the body without their ends. Bytes that are no UTF-8 are replaced."""
        rest = b""
        for piece in self.pieces:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
        if rest:
            yield rest.decode(errors="replace").rstrip("\r")
