"""A tape with its sidecars and archives, which are read and written together."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from bub_guest import Entry, Reset, context

ARCHIVE = ".jsonl."
"""The separator between a tape and the suffix of its archives."""


def family_of(tape: str) -> str:
    """The tape that a sidecar or an archive belongs to; any other tape itself."""
    return tape.split("__sidecar__")[0].split(ARCHIVE)[0]


@dataclass
class Family:
    """The content of a file. `key` is that of the last write that had one: the same write is applied once."""

    key: Optional[str] = None
    tapes: dict[str, list[Entry]] = field(default_factory=dict)

    @classmethod
    def read(cls, directory: Path, name: str) -> Family:
        with context(f"the file of tape `{name}`"):
            try:
                content = json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))
            except FileNotFoundError:
                return cls()
        return cls(content["key"], {tape: [Entry(*line) for line in lines] for tape, lines in content["tapes"].items()})

    def write(self, directory: Path, name: str) -> None:
        """Readers see all of it or nothing: the file is complete before it gets its name."""
        lines = {
            tape: [(of.id, of.kind, of.payload_text, of.meta_text, of.date) for of in entries]
            for tape, entries in self.tapes.items()
        }
        draft = directory / f"{name}.draft"
        with open(draft, "w", encoding="utf-8") as file:
            json.dump({"key": self.key, "tapes": lines}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, directory / f"{name}.json")

    def last(self, tape: str) -> int:
        """The id of a tape's last entry; 0 if it is empty."""
        entries = self.tapes.get(tape)
        return entries[-1].id if entries else 0

    def append(self, tape: str, entries: list[Entry]) -> None:
        self.tapes.setdefault(tape, []).extend(entries)

    def reset(self, family: str, tape: str, reset: Reset) -> None:
        """Empties a tape, and with a tape that is no sidecar its sidecars."""
        entries = self.tapes.pop(tape, [])
        if tape == family:
            self.tapes = {name: lines for name, lines in self.tapes.items() if ARCHIVE in name}
        if reset.archive is not None:
            self.tapes[self._free(reset.archive)] = entries + reset.kept

    def archive_name(self, tape: str) -> str:
        """The name that an archive of the tape would get."""
        return self._free(f"{tape}{ARCHIVE}1")

    def _free(self, wanted: str) -> str:
        """The name itself, or with a number if it is taken."""
        names = itertools.chain([wanted], (f"{wanted}.{number}" for number in itertools.count(2)))
        return next(name for name in names if name not in self.tapes)
