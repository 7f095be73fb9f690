"""`Plugin`: what a plugin is, made from its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Optional, TypeVar, cast

from . import backend, grants, schema
from .error import Error
from .hooks import FUNCTIONS, INTERFACES
from .read import read, read_members
from .records import Effect
from .text import dumps, loads
from .turn import Turn

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=type)


@dataclass
class Tool:
    """A tool: a function, what the manifest says of it, and how it is called."""

    name: str
    about: str
    effect: Effect
    reads_outside: bool
    for_model: bool
    function: Callable[..., Any]
    fields: list[schema.Member]
    turn: Optional[str]
    whole: Optional[schema.Member]

    def parameters(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return schema.schema(self.whole.hint) if self.whole else schema.closed(self.fields)

    def declaration(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {
            "name": self.name,
            "description": self.about,
            "parameters": self.parameters(),
            "effect": self.effect,
            "reads_outside": self.reads_outside,
            "for_model": self.for_model,
        }

    def call(self, turn: Turn, arguments: str) -> str:
        """Calls it with arguments in JSON, and returns its result in JSON."""
        try:
            value = loads(arguments)
            if self.whole:
                passed = {self.whole.name: read(self.whole.hint, value)}
            else:
                passed = read_members(self.fields, value)
        except Error as error:
            raise Error(error.kind, f"the arguments of `{self.name.replace('.', '_')}`: {error.message}") from error
        if self.turn is not None:
            passed[self.turn] = turn
        return dumps(self.function(**passed))


@dataclass
class Registered:
    """A hook: a function, or an object with several."""

    implementation: Any
    why: str


@dataclass
class Plugin(Generic[C]):
    """A plugin. A module has one, with decorators for its tools and hooks.

    >>> plugin = Plugin("greeter", about="Greets.")
    >>> @plugin.tool(effect="read")
    ... def greet(name: str) -> str:
    ...     "Greet somebody."
    ...     return f"hello, {name}"
    >>> plugin.tools["greet"].call(None, '{"name": "Ada"}')
    '"hello, Ada"'

    `settings` is a dataclass, the table `[plugins.NAME.config]`, which `config` reads. With `after_turn="selected"` the hook
    `after-turn` is called only after turns in which the plugin was the selector.
    """

    name: str
    about: str
    version: str = "0.1.0"
    settings: Optional[type[C]] = None
    after_turn: Literal["every", "selected"] = "every"
    tools: dict[str, Tool] = field(default_factory=dict, init=False)
    hooks: dict[str, Registered] = field(default_factory=dict, init=False)
    commands: dict[str, Registered] = field(default_factory=dict, init=False)
    wants: list[grants.Grant] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.settings is not None:
            # Now rather than in each call: a component starts with what its module has done.
            schema.schema(self.settings)

    @property
    def config(self) -> C:
        """The configuration. The host has validated it against the schema of `settings`."""
        if self.settings is None:
            raise TypeError("`Plugin(settings=...)` names no dataclass for the configuration")
        table = {}
        for member in schema.members(self.settings):
            value = backend.get().config.get(member.name)
            if value is not None:
                table[member.name] = value
        try:
            return cast(C, read(self.settings, table))
        except Error as error:
            raise Error("config", f"the plugin's configuration: {error.message}") from error

    def grant(self, grant: str, why: str) -> grants.Grant:
        """Asks for a grant by its text, such as `tape:read`; the other methods return the type that calls take."""
        kind = grants.KINDS.get(grant) or grants.KINDS.get(grant.partition(":")[0])
        if kind is None:
            raise ValueError(f"`{grant}` is not a grant: the book lists them under Grants")
        made = kind(grant, why)
        self.wants.append(made)
        return made

    def http(self, target: str, why: str) -> grants.Http:
        """Asks for requests to a host: `api.example.com`."""
        return cast(grants.Http, self.grant(f"http:{target}", why))

    def secret(self, name: str, why: str) -> grants.Secret:
        """Asks for a secret of the user, which goes into requests in place of a placeholder."""
        return cast(grants.Secret, self.grant(f"secret:{name}", why))

    def model(self, name: str, why: str) -> grants.Model:
        """Asks for calls of models: `openai:*`."""
        return cast(grants.Model, self.grant(f"model:{name}", why))

    def other_tools(self, name: str, why: str) -> grants.Tools:
        """Asks for calls of tools of all plugins: `fs.*`."""
        return cast(grants.Tools, self.grant(f"tools:{name}", why))

    def directory(self, path: str, why: str) -> grants.Directory:
        """Asks for a directory, which `open` reaches: `<workspace>:ro`."""
        return cast(grants.Directory, self.grant(f"fs:{path}", why))

    def tape_read(self, why: str) -> grants.TapeRead:
        return cast(grants.TapeRead, self.grant("tape:read", why))

    def tape_append(self, why: str) -> grants.TapeAppend:
        return cast(grants.TapeAppend, self.grant("tape:append", why))

    def tape_event(self, why: str) -> grants.TapeEvent:
        return cast(grants.TapeEvent, self.grant("tape:event", why))

    def tape_workspace(self, why: str) -> grants.TapeWorkspace:
        return cast(grants.TapeWorkspace, self.grant("tape:workspace", why))

    def tape_reset(self, why: str) -> grants.TapeReset:
        return cast(grants.TapeReset, self.grant("tape:reset", why))

    def agent(self, why: str) -> grants.Agent:
        return cast(grants.Agent, self.grant("agent", why))

    def usage(self, why: str) -> grants.Usage:
        return cast(grants.Usage, self.grant("usage", why))

    def recall(self, why: str) -> grants.Recall:
        return cast(grants.Recall, self.grant("recall", why))

    def process(self, why: str) -> grants.Process:
        return cast(grants.Process, self.grant("process", why))

    def tool(
        self, *, effect: Effect, name: Optional[str] = None, reads_outside: bool = False, for_people: bool = False
    ) -> Callable[[F], F]:
        """Makes a tool of a function. Its docstring is the description that a model reads, its parameters are the arguments.

        A parameter of the type `Turn` is the turn. A single other parameter that is a dataclass holds all arguments.
        `effect` is what the host decides from whether a call is allowed; `reads_outside` says that the result is text by other
        authors, which taints the turn; a tool `for_people` is a comma command, and not offered to the model.
        """

        def register(function: F) -> F:
            about = inspect.getdoc(function)
            if not about:
                raise TypeError(f"`{function.__name__}` has no docstring, which a model reads to know what the tool does")
            turn: list[str] = []

            def is_turn(parameter: str, hint: Any) -> bool:
                return hint is Turn and not turn.append(parameter)

            fields = schema.parameters(function, is_turn)
            whole = fields[0] if len(fields) == 1 and _is_record(fields[0].hint) else None
            named = name or function.__name__
            self._once(named, self.tools, "tool")
            self.tools[named] = Tool(
                named, about, effect, reads_outside, not for_people, function, fields, next(iter(turn), None), whole
            )
            self.tools[named].parameters()
            return function

        return register

    def hook(self, name: str, *, why: str) -> Callable[[F], F]:
        """Makes a hook of a function; `bub_guest.hooks` lists the names. `why` is what the user reads before granting it."""
        if name not in FUNCTIONS:
            raise ValueError(f"`{name}` is not a hook of one function: there are {', '.join(FUNCTIONS)}")

        def register(function: F) -> F:
            self._once(name, self.hooks, "hook")
            self.hooks[name] = Registered(_fewer(function, len(FUNCTIONS[name].takes)), why)
            return function

        return register

    def command(self, function: F) -> F:
        """Makes a command of a function, `bub-wasm NAME ARG...`: it takes the arguments and returns what is printed."""
        named = function.__name__.replace("_", "-")
        self._once(named, self.commands, "command")
        self.commands[named] = Registered(function, inspect.getdoc(function) or "")
        return function

    def channel(self, *, why: str) -> Callable[[K], K]:
        """Makes a channel of a class; `Channel` says what it has."""
        return self._implement("channel", why)

    def provider(self, *, why: str) -> Callable[[K], K]:
        """Makes a provider of models of a class; `Provider` says what it has."""
        return self._implement("provider", why)

    def embedder(self, *, why: str) -> Callable[[K], K]:
        """Makes an embedder of a class; `Embedder` says what it has."""
        return self._implement("embedder", why)

    def store(self, *, why: str) -> Callable[[K], K]:
        """Makes a tape store of a class; `Store` says what it has."""
        return self._implement("store", why)

    def _implement(self, name: str, why: str) -> Callable[[K], K]:
        def register(of: K) -> K:
            if not issubclass(of, INTERFACES[name].of):
                raise TypeError(f"`{of.__name__}` must be a subclass of `{INTERFACES[name].of.__name__}`")
            self._once(name, self.hooks, "hook")
            self.hooks[name] = Registered(of(), why)
            return of

        return register

    def _once(self, name: str, known: dict[str, Any], what: str) -> None:
        if name in known:
            raise ValueError(f"the {what} `{name}` exists twice")


def _is_record(hint: Any) -> bool:
    bare, _ = schema._bare(hint)
    return isinstance(bare, type) and hasattr(bare, "__dataclass_fields__")


def _fewer(function: Callable[..., Any], given: int) -> Callable[..., Any]:
    """The same function, called with as many arguments as it takes."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes = given if inspect.Parameter.VAR_POSITIONAL in kinds else sum(kind in positional for kind in kinds)
    if takes > given:
        raise TypeError(f"`{function.__name__}` takes {takes} parameters, and the hook has {given}")
    return function if takes == given else lambda *arguments: function(*arguments[:takes])
