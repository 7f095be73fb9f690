"""The handles of the fake host."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Optional

from ..error import Error
from ..hooks import Sink
from ..records import Envelope, Text
from ..system import Child, Output
from ..tape import AfterAnchor, AfterId, BetweenAnchors, Cursor, Draft, Entry, First, Forgotten, Hit, Info, Tape
from ..text import dumps, loads
from ..turn import Turn
from ..view import View, WrittenPart

if TYPE_CHECKING:
    from . import Host


def missing(what: str) -> Error:
    """An item that a fake does not have."""
    return Error("not-found", f"the test's host has no {what}")


class FakeTurn(Turn):
    """A turn of the fake host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._runs = 0

    def new_run_id(self) -> str:
        self._runs += 1
        return f"run-{self._runs}"

    def session_id(self) -> str:
        return f"{self._host.message.channel}:{self._host.message.chat_id}"

    def workspace(self) -> str:
        return self._host.workspace

    def workspace_instructions(self, name: str) -> Optional[str]:
        return None

    def message(self) -> Envelope:
        return self._host.message

    def set_message_kind(self, kind: Any) -> None:
        self._host.message = dataclasses.replace(self._host.message, kind=kind)

    def principal(self) -> Any:
        return self._host.principal

    def tainted(self) -> bool:
        return self._host.tainted

    def started(self) -> str:
        return self._host.started

    def get(self, key: str) -> Any:
        return self._host.state.get(key)

    def set(self, key: str, value: Any) -> None:
        self._host.state[key] = loads(dumps(value))

    def state(self) -> Any:
        return dict(self._host.state)

    def tape(self, grant: Any) -> Tape:
        self._host.require(grant.grant)
        return FakeTape(self._host, "session")

    def workspace_tape(self, grant: Any) -> Tape:
        self._host.require(grant.grant)
        return FakeTape(self._host, "workspace")

    def emit(self, event: Any) -> None:
        self._host.emitted.append(Text(event) if isinstance(event, str) else event)


class FakeSink(Sink):
    """A sink of the fake host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def send(self, event: Any) -> None:
        self._host.sent.append(Text(event) if isinstance(event, str) else event)


class FakeCursor(Cursor):
    """The result of a query."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def next(self, max: int) -> list[Entry]:
        page, self._entries = self._entries[: min(max, 256)], self._entries[min(max, 256) :]
        return page


class FakeTape(Tape):
    """A tape of the fake host, by its name."""

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name

    def _all(self) -> list[Entry]:
        return self._host.tapes.setdefault(self._name, [])

    def name(self) -> str:
        return self._name

    def info(self) -> Info:
        entries = self._all()
        anchors = [index for index, entry in enumerate(entries) if entry.kind == "anchor"]
        last = entries[anchors[-1]].payload.get("name") if anchors else None
        since = len(entries) - (anchors[-1] + 1 if anchors else 0)
        return Info(self._name, len(entries), len(anchors), last, since, None, None, 0)

    def query(self, query: Any) -> Cursor:
        entries = self._from(query.start)
        entries = [entry for entry in entries if not query.kinds or entry.kind in query.kinds]
        if query.name is not None:
            entries = [entry for entry in entries if _named(entry, query.name)]
        if query.text is not None:
            entries = [entry for entry in entries if query.text.lower() in entry.payload_text.lower()]
        entries = [entry for entry in entries if (query.since or "") <= entry.date]
        entries = entries[::-1] if query.newest_first else entries
        return FakeCursor(entries if query.limit is None else entries[: query.limit])

    def _from(self, start: Any) -> list[Entry]:
        entries = self._all()
        if isinstance(start, First):
            return list(entries)
        if isinstance(start, AfterId):
            return [entry for entry in entries if entry.id > start.value]
        if isinstance(start, BetweenAnchors):
            first, second = (self._anchor(name) for name in start.value)
            return [entry for entry in entries if first.id < entry.id < second.id]
        name = start.value if isinstance(start, AfterAnchor) else None
        anchor = self.last_anchor(name)
        if name is not None and anchor is None:
            raise missing(f"anchor `{name}`")
        return [entry for entry in entries if anchor is None or entry.id > anchor.id]

    def _anchor(self, name: str) -> Entry:
        anchor = self.last_anchor(name)
        if anchor is None:
            raise missing(f"anchor `{name}`")
        return anchor

    def search(self, search: Any) -> list[Hit]:
        words = search.text.lower().split()
        found = [entry for entry in self._all() if all(word in entry.payload_text.lower() for word in words)]
        found = [entry for entry in found if not search.kinds or entry.kind in search.kinds]
        return [Hit(entry, 0.9) for entry in reversed(found)][: search.limit]

    def tail(self, before: Optional[int], max: int) -> list[Entry]:
        entries = [entry for entry in self._all() if before is None or entry.id < before]
        return entries[len(entries) - min(max, 256, len(entries)) :]

    def last_anchor(self, name: Optional[str] = None, before: Optional[int] = None) -> Optional[Entry]:
        for entry in reversed(self._all()):
            if entry.kind == "anchor" and (before is None or entry.id < before):
                if name is None or _named(entry, name):
                    return entry
        return None

    def section(self, name: str) -> list[Entry]:
        opening = self.last_anchor(f"{name}/open")
        closing = self.last_anchor(f"{name}/seal")
        if opening is None or closing is None:
            return []
        return [entry for entry in self._all() if opening.id <= entry.id <= closing.id]

    def append(self, grant: Any, drafts: list[Draft]) -> int:
        self._host.require(grant.grant)
        if grant.grant == "tape:event" and any(draft.kind != "event" for draft in drafts):
            raise Error("denied", "the grant `tape:event` is for events")
        ids = [self._host.write(self._name, draft.kind, draft.payload, draft.meta) for draft in drafts]
        return ids[0] if ids else 0

    def append_if(self, grant: Any, last: int, drafts: list[Draft]) -> int:
        entries = self._all()
        if (entries[-1].id if entries else 0) != last:
            raise Error("conflict", "another writer wrote first")
        return self.append(grant, drafts)

    def handoff(self, grant: Any, name: str, state: Any = None) -> int:
        payload = {"name": name} if state is None else {"name": name, "state": state}
        return self.append(grant, [Draft("anchor", payload), Draft.event("handoff", payload)])

    def forget(self, grant: Any, texts: list[str], dry_run: bool = False) -> Forgotten:
        self._host.require(grant.grant)
        found = [entry for entry in self._all() if any(text.lower() in entry.payload_text.lower() for text in texts)]
        if not dry_run:
            self._host.tapes[self._name] = [entry for entry in self._all() if entry not in found]
        return Forgotten(len(found), 1 if found else 0)

    def fork(self) -> Tape:
        name = f"{self._name}/fork-{len(self._host.tapes)}"
        self._host.tapes[name] = list(self._all())
        return FakeTape(self._host, name)

    def merge(self) -> None:
        of, separator, _ = self._name.rpartition("/fork-")
        if not separator:
            raise Error("invalid-input", "this tape is no fork")
        self._host.tapes[of] = self._host.tapes.pop(self._name)

    def reset(self, grant: Any, archive: bool) -> Optional[str]:
        self._host.require(grant.grant)
        self._host.tapes[self._name] = []
        return f"{self._name}.archive" if archive else None

    def sidecar(self, grant: Any, name: str) -> Tape:
        self._host.require(grant.grant)
        own = self._host.plugin.name
        if name != own and not name.startswith(f"{own}."):
            raise Error("denied", f"`{name}` is not a sidecar of the plugin `{own}`")
        return FakeTape(self._host, name)


def _named(entry: Entry, name: str) -> bool:
    return isinstance(entry.payload, dict) and entry.payload.get("name") == name


class FakeView(View):
    """The view of a selector: the session's tape from its latest anchor on."""

    def __init__(self, host: Host) -> None:
        self._host, self._at = host, 0
        self._tape = FakeTape(host, "session")

    def _window(self) -> list[Entry]:
        anchor = self._tape.last_anchor()
        return [entry for entry in self._tape._all() if anchor is None or entry.id >= anchor.id]

    def next(self, max: int) -> list[Entry]:
        page = self._window()[self._at : self._at + min(max, 256)]
        self._at += len(page)
        return page

    def next_ids(self, max: int) -> list[int]:
        page = self._window()[self._at : self._at + min(max, 4096)]
        self._at += len(page)
        return [entry.id for entry in page]

    def tail(self, before: Optional[int], max: int) -> list[Entry]:
        entries = [entry for entry in self._window() if before is None or entry.id < before]
        return entries[len(entries) - min(max, 256, len(entries)) :]

    def search(self, text: str, max: int, timeout_ms: int) -> list[Hit]:
        from ..tape import Search

        return self._tape.search(Search(text, limit=max))

    def query(self, sidecar: Optional[str], query: Any, max: int, timeout_ms: int) -> list[Entry]:
        return FakeTape(self._host, sidecar or "session").query(query).next(max)

    def sidecar(self, grant: Any, name: str) -> Tape:
        return self._tape.sidecar(grant, name)

    def info(self) -> Info:
        return self._tape.info()

    def prompt(self) -> Any:
        return self._host.prompt()

    def system_prompt(self) -> str:
        return self._host.prompt_of_the_system

    def system_parts(self) -> list[WrittenPart]:
        return []

    def model(self) -> str:
        return "test:model"

    def budget(self) -> Optional[int]:
        return self._host.budget

    def token_calibration(self) -> float:
        return 1.0

    def turn_start_id(self) -> int:
        entries = self._tape._all()
        return entries[-1].id if entries else 0

    def new_messages(self) -> list[Any]:
        return list(self._host.new_messages)

    def replace_new_messages(self, messages: list[Any]) -> None:
        if len(messages) != len(self._host.new_messages):
            raise Error("invalid-input", "there must be as many messages as before")
        self._host.new_messages = list(messages)

    def tools(self) -> list[Any]:
        return []

    def state(self, key: str) -> Any:
        return self._host.state.get(key)


class Programs:
    """Programs, which a test answers at once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._ended: dict[str, Child] = {}

    def spawn(self, command: str, directory: Optional[str] = None) -> Child:
        self._host.require("process")
        if self._host.answer_run is None:
            raise missing("programs: `Host(run=...)` runs them")
        code, output = self._host.answer_run(command)
        child = FakeChild(f"program-{len(self._ended) + 1}", code, output)
        self._ended[child.id()] = child
        return child

    def find(self, id: str) -> Child:
        self._host.require("process")
        if id not in self._ended:
            raise missing(f"program `{id}`")
        return self._ended[id]


class FakeChild(Child):
    """A program that has ended."""

    def __init__(self, id: str, code: int, output: str) -> None:
        self._id, self._code, self._output = id, code, output

    def id(self) -> str:
        return self._id

    def wait(self, timeout_ms: int) -> Output:
        return Output(self._code, self._output, len(self._output))

    def read(self, offset: int, max: int) -> Output:
        piece = self._output[offset : offset + max]
        return Output(self._code, piece, offset + len(piece))

    def kill(self) -> None:
        self._code = -9
