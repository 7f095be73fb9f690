"""A host for native tests: `python -m unittest` runs a plugin's functions against fakes, without WebAssembly.

    host = Host(plugin, config={"server": "https://api.example.com"}, http=lambda request: response(200, "[]"))
    assert host.call(weather, {"city": "Bern"}) == []

The fakes keep to the contracts where a plugin depends on it: ids of entries rise, JSON is checked, a grant that is taken away
denies. They do not search as the host does: a search finds entries that hold all words. A missing item fails with
`not-found`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from typing import Any, Optional, Union

from .. import backend
from ..error import Error
from ..hooks import Sink
from ..http import HttpError, Request, Response, Stream, parts
from ..plugin import Plugin, Tool
from ..records import Envelope, ModelEvent, Principal, Prompt, StreamEvent, Text
from ..records import Request as ModelRequest
from ..tape import Entry
from ..text import clean, dumps, loads
from ..turn import Turn
from ..view import View
from .fakes import FakeSink, FakeTape, FakeTurn, FakeView, Programs, missing
from .services import Agents, Models, Retrieval, Toolbox


def response(status: int, body: Union[str, bytes] = b"", headers: Iterable[tuple[str, str]] = ()) -> Response:
    """A response with that status and body."""
    content = body.encode() if isinstance(body, str) else body
    return Response(status, [(name, value.encode()) for name, value in headers], content)


class Log:
    """`bub:plugin/log`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def log(self, level: str, message: str) -> None:
        self._host.logged.append((level, clean(message)))


class Host:
    """A fake host. It answers from when it is made until another one is made.

    `http` answers every request, `model` every model call with a text, `tools` are the tools of other plugins by their names,
    `run` runs commands and returns exit code and output, `without` are grants that the plugin does not hold.
    """

    def __init__(
        self,
        plugin: Plugin[Any],
        *,
        config: Optional[dict[str, Any]] = None,
        secrets: Optional[dict[str, str]] = None,
        without: Iterable[str] = (),
        message: Union[str, Envelope] = "hello",
        principal: Principal = "owner",
        tainted: bool = False,
        workspace: str = "/workspace",
        started: str = "2026-01-02T03:04:05+00:00",
        state: Optional[dict[str, Any]] = None,
        entries: Iterable[tuple[str, Any]] = (),
        new_messages: Iterable[Any] = (),
        budget: Optional[int] = None,
        system_prompt: str = "",
        http: Optional[Callable[[Request], Response]] = None,
        model: Optional[Callable[[ModelRequest], str]] = None,
        tools: Optional[dict[str, Callable[[Any], Any]]] = None,
        run: Optional[Callable[[str], tuple[int, str]]] = None,
    ) -> None:
        self.plugin = plugin
        self.table = config or {}
        self.known_secrets = secrets or {}
        self.denied = list(without)
        self.message = message if isinstance(message, Envelope) else Envelope(message)
        self.principal, self.tainted, self.workspace, self.started = principal, tainted, workspace, started
        self.state: dict[str, Any] = dict(state or {})
        self.tapes: dict[str, list[Entry]] = {}
        self.new_messages, self.budget, self.prompt_of_the_system = list(new_messages), budget, system_prompt
        self.answer_http, self.answer_model, self.other_tools, self.answer_run = http, model, tools or {}, run
        self.requests: list[Request] = []
        self.model_calls: list[ModelRequest] = []
        self.logged: list[tuple[str, str]] = []
        self.emitted: list[StreamEvent] = []
        self.sent: list[ModelEvent] = []
        for kind, payload in entries:
            self.write("session", kind, payload, {})
        self.config = self.secrets = self
        self.log = Log(self)
        self.chat = self.usage = Models(self)
        self.toolbox, self.recall, self.process = Toolbox(self), Retrieval(self), Programs(self)
        self.stages = self.subturn = Agents(self)
        backend.use(self)

    def call(self, tool: Union[str, Callable[..., Any]], arguments: Optional[dict[str, Any]] = None) -> Any:
        """Calls a tool, by its function or its name, as the host does, except that the schema's rules are not checked."""
        found = self._tool(tool)
        return loads(found.call(self.turn(), dumps(arguments or {})))

    def run_command(self, name: str, *arguments: str) -> str:
        """Runs a command of the plugin."""
        return str(self.plugin.commands[name].implementation(list(arguments)))

    def turn(self) -> Turn:
        """A handle to the turn, for a hook."""
        return FakeTurn(self)

    def view(self) -> View:
        """A handle to the view, for a selector."""
        return FakeView(self)

    def sink(self) -> Sink:
        """A sink for a provider; `sent` holds what it was sent."""
        return FakeSink(self)

    def prompt(self, text: Optional[str] = None) -> Prompt:
        """A prompt: the text of the message, unless another one is given."""
        return Text(self.message.content if text is None else text)

    def entries(self, tape: str = "session") -> list[Entry]:
        """The entries of a tape: of the session, of `workspace`, or of a sidecar by its name."""
        return list(self.tapes.get(tape, []))

    def write(self, tape: str, kind: str, payload: Any, meta: Any) -> int:
        """Writes an entry, and returns its id."""
        on = self.tapes.setdefault(tape, [])
        id = on[-1].id + 1 if on else 1
        on.append(Entry(id, kind, dumps(payload), dumps(meta), self.started))
        return id

    def require(self, grant: str) -> None:
        """Raises `denied` without that grant."""
        for denied in self.denied:
            if denied == grant or (denied.endswith("*") and grant.startswith(denied[:-1])):
                raise Error("denied", f"the plugin does not hold the grant `{grant}`")

    def _tool(self, tool: Union[str, Callable[..., Any]]) -> Tool:
        for name, found in self.plugin.tools.items():
            if tool in (name, found.function):
                return found
        raise Error("not-found", f"there is no tool `{tool}` here")

    # `bub:plugin/config` and `secrets`.

    def get(self, key: str) -> Any:
        value = self.table.get(key)
        return None if value is None else loads(dumps(value))

    def granted(self, grant: str) -> None:
        self.require(grant)

    def placeholder(self, name: str) -> str:
        self.require(f"secret:{name}")
        return "{{secret:" + name + "}}"

    def matches(self, name: str, value: str) -> bool:
        return hmac.compare_digest(self._secret(name), value.encode())

    def hmac_sha256(self, name: str, data: bytes) -> bytes:
        return hmac.digest(self._secret(name), data, hashlib.sha256)

    def _secret(self, name: str) -> bytes:
        self.require(f"secret:{name}")
        if name not in self.known_secrets:
            raise missing(f"secret `{name}`")
        return self.known_secrets[name].encode()

    # `wasi:http`.

    def open_http(self, request: Request) -> Stream:
        scheme, authority, _ = parts(request.url)
        try:
            self.require(f"http:http://{authority}" if scheme == "http" else f"http:{authority}")
        except Error as error:
            raise HttpError("denied", error.message) from None
        self.requests.append(request)
        if self.answer_http is None:
            raise HttpError("broken", "the test's host has no server")
        answer = self.answer_http(request)
        pieces = (answer.body[at : at + 16] for at in range(0, len(answer.body), 16))
        return Stream(answer.status, answer.headers, pieces)


__all__ = ["FakeTape", "Host", "response"]
