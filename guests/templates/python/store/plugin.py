"""A tape store: each tape with its sidecars is one file of JSON in the workspace."""

import os
from pathlib import Path
from typing import Optional

from bub_guest import (
    Already,
    Batch,
    Conflict,
    Entry,
    Kind,
    Lookup,
    NamedEntry,
    Page,
    Plugin,
    Store,
    Stored,
    StoreOutcome,
)
from family import ARCHIVE, Family, family_of

plugin = Plugin("{{name}}", about="Keeps tapes as files of the workspace.")
WORKSPACE = plugin.directory("<workspace>:rw", why="to write the tapes there")

DIR = Path("{{name}}-tapes")
"""The directory of the tapes, in the workspace."""


@plugin.store(why="to keep the tapes in place of the host")
class Files(Store):
    def commit(self, batches: list[Batch], key: Optional[str]) -> StoreOutcome:
        if not batches:
            return Stored()
        # All batches belong to one tape and its sidecars.
        name = family_of(batches[0].tape)
        family = Family.read(directory(), name)
        if key is not None and family.key == key:
            return Already()
        lasts = [family.last(batch.tape) for batch in batches]
        if any(batch.last not in (None, last) for batch, last in zip(batches, lasts)):
            return Conflict(lasts)
        for batch in batches:
            if batch.reset:
                family.reset(name, batch.tape, batch.reset)
        for batch in batches:
            family.append(batch.tape, batch.entries)
        family.key = key if key is not None else family.key
        family.write(directory(), name)
        return Stored()

    def read(self, tape: str, after: int, max: int) -> Page:
        found = [entry for entry in entries(tape) if entry.id > after]
        return Page(found[:max], len(found) > max)

    def tail(self, tape: str, before: Optional[int], max: int) -> Page:
        found = [entry for entry in entries(tape) if before is None or entry.id < before]
        rest = len(found) - min(max, len(found))
        return Page(found[rest:], rest > 0)

    def newest(self, tape: str, lookup: Lookup, before: Optional[int]) -> Optional[Entry]:
        for entry in reversed(entries(tape)):
            if (before is None or entry.id < before) and fits(entry, lookup):
                return entry
        return None

    def list_tapes(self, after: Optional[str], max: int) -> list[str]:
        names = [file.stem for file in directory().glob("*.json") if file.stem.count("__") == 1]
        return page(names, after, max)

    def list_sidecars(self, tape: str, after: Optional[str], max: int) -> list[str]:
        family = Family.read(directory(), family_of(tape))
        return page([name for name in family.tapes if name != tape and ARCHIVE not in name], after, max)

    def archive_name(self, tape: str) -> Optional[str]:
        family = Family.read(directory(), family_of(tape))
        return family.archive_name(tape) if tape in family.tapes else None


def directory() -> Path:
    """The directory of the tapes."""
    # Without its grant a directory is silently absent.
    WORKSPACE.check()
    os.makedirs(DIR, exist_ok=True)
    return DIR


def entries(tape: str) -> list[Entry]:
    return Family.read(directory(), family_of(tape)).tapes.get(tape, [])


def fits(entry: Entry, lookup: Lookup) -> bool:
    name = entry.payload.get("name")
    if isinstance(lookup, Kind):
        return entry.kind == lookup.value
    if isinstance(lookup, NamedEntry):
        return (entry.kind, name) == tuple(lookup.value)
    # An anchor of the conversation, not of a plugin's own section.
    is_section = entry.meta.get("zone") is True or name in ("memory/open", "memory/seal")
    return entry.kind == "anchor" and not is_section


def page(names: list[str], after: Optional[str], max: int) -> list[str]:
    """The names after one of them, in byte order."""
    return sorted((name for name in names if after is None or name > after))[:max]
