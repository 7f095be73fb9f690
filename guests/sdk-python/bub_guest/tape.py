"""Tapes: the entries of a session, of a workspace, and of a plugin's own sidecars."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional, Union

from .contract import Json, Named, host, wit
from .grants import MayWrite, TapeReset
from .text import loads

_ENTRIES = "bub:tape/entries"


@wit(_ENTRIES, "Entry")
@dataclass
class Entry:
    """A record of a tape. `payload_text` and `meta_text` are JSON; `payload` and `meta` read them when they are asked for."""

    id: int
    kind: str
    payload_text: str
    meta_text: str
    date: str

    @functools.cached_property
    def payload(self) -> Any:
        return loads(self.payload_text)

    @functools.cached_property
    def meta(self) -> Any:
        return loads(self.meta_text)

    def is_event(self, name: str) -> bool:
        """Whether this is an event of that name."""
        return self.kind == "event" and isinstance(self.payload, dict) and self.payload.get("name") == name


@wit(_ENTRIES, "Draft")
@dataclass
class Draft:
    """A record without id and date, which the store assigns."""

    kind: str
    payload: Json
    meta: Json = field(default_factory=dict)

    @classmethod
    def event(cls, name: str, data: Any) -> Draft:
        """An event: a fact that is not part of the conversation."""
        return cls("event", {"name": name, "data": data})


@dataclass
class First:
    """From the first entry on."""


@dataclass
class LastAnchor:
    """After the latest anchor."""


@dataclass
class AfterAnchor:
    """After the newest anchor of that name."""

    value: str


@dataclass
class BetweenAnchors:
    """Between the newest anchor of the second name and the newest one of the first name before it."""

    value: tuple[str, str]


@dataclass
class AfterId:
    """After the entry with that id."""

    value: int


Start = Annotated[Union[First, LastAnchor, AfterAnchor, BetweenAnchors, AfterId], Named(_ENTRIES, "Start")]


@wit(_ENTRIES, "Query")
@dataclass
class Query:
    """A condition on entries: all of them, from the first, unless it says otherwise."""

    start: Start = field(default_factory=First)
    kinds: list[str] = field(default_factory=list)
    name: Optional[str] = None
    text: Optional[str] = None
    since: Optional[str] = None
    until: Optional[str] = None
    newest_first: bool = False
    limit: Optional[int] = None


@wit(_ENTRIES, "Search")
@dataclass
class Search:
    """Words, all of which must match."""

    text: str
    kinds: list[str] = field(default_factory=list)
    since: Optional[str] = None
    until: Optional[str] = None
    limit: int = 20
    patience: Optional[int] = None


@wit(_ENTRIES, "Hit")
@dataclass
class Hit:
    entry: Entry
    score: float


@wit(_ENTRIES, "Forgotten")
@dataclass
class Forgotten:
    entries: int
    tapes: int


@wit(_ENTRIES, "Info")
@dataclass
class Info:
    name: str
    entries: int
    anchors: int
    last_anchor: Optional[str]
    entries_since_last_anchor: int
    last_token_usage: Optional[int]
    cache_hit_rate: Optional[float]
    unreadable: int


@wit("bub:tape/tape", "Cursor")
class Cursor:
    """The result of a query, read page by page; iterating over it gives the entries."""

    @host
    def next(self, max: int) -> list[Entry]:
        """The next entries, at most 256; an empty list is the end."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Entry]:
        while page := self.next(256):
            yield from page


@wit("bub:tape/tape", "Tape")
class Tape:
    """A tape. Methods that write to it take the grant to do so."""

    @host
    def name(self) -> str:
        raise NotImplementedError

    @host
    def info(self) -> Info:
        """Its length, its anchors, and what the last model call used."""
        raise NotImplementedError

    @host
    def query(self, query: Query) -> Cursor:
        """The entries that meet a condition."""
        raise NotImplementedError

    @host
    def search(self, search: Search) -> list[Hit]:
        """The entries in which words stand, the best hits first."""
        raise NotImplementedError

    @host
    def tail(self, before: Optional[int], max: int) -> list[Entry]:
        """The newest entries before an id (none: the end), oldest first."""
        raise NotImplementedError

    @host
    def last_anchor(self, name: Optional[str] = None, before: Optional[int] = None) -> Optional[Entry]:
        """The newest anchor, of that name if one is given, before an id."""
        raise NotImplementedError

    @host
    def section(self, name: str) -> list[Entry]:
        """The current section of that name."""
        raise NotImplementedError

    @host
    def append(self, grant: MayWrite, drafts: list[Draft]) -> int:
        """Writes entries at once, and returns the id of the first; the others follow it."""
        raise NotImplementedError

    @host
    def append_if(self, grant: MayWrite, last: int, drafts: list[Draft]) -> int:
        """Writes entries immediately, if `last` is still the last id; `conflict` if it is not."""
        raise NotImplementedError

    @host
    def handoff(self, grant: MayWrite, name: str, state: Optional[Json] = None) -> int:
        """Writes an anchor and the event `handoff`, and returns the anchor's id."""
        raise NotImplementedError

    @host
    def forget(self, grant: MayWrite, texts: list[str], dry_run: bool = False) -> Forgotten:
        """Hides texts from every view and search, for the owner."""
        raise NotImplementedError

    @host
    def fork(self) -> Tape:
        """A copy whose writes reach this tape once it is merged."""
        raise NotImplementedError

    @host
    def merge(self) -> None:
        """Writes what was written to this fork to the tape that it was made of."""
        raise NotImplementedError

    @host
    def reset(self, grant: TapeReset, archive: bool) -> Optional[str]:
        """Empties the tape; with `archive` its entries are kept under the name that is returned."""
        raise NotImplementedError

    @host
    def sidecar(self, grant: MayWrite, name: str) -> Tape:
        """A tape of the plugin's own beside this one: `notes` or `notes.NAME` for the plugin `notes`."""
        raise NotImplementedError
