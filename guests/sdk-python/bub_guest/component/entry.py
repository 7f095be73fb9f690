"""The exports of a component: classes that call the plugin's functions."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from .. import backend
from ..decisions import CommandSpec
from ..error import Error, from_exception
from ..hooks import FUNCTIONS, INTERFACES
from ..plugin import Plugin
from ..records import ToolSpec
from ..system import INTERFACES as FUNCTIONS_OF_THE_HOST
from ..turn import Turn
from . import wire


class Host:
    """The host of a component: an attribute for each interface that its world imports."""

    def __init__(self) -> None:
        for name, of in FUNCTIONS_OF_THE_HOST.items():
            try:
                setattr(self, name, wire.functions(of))
            except ImportError:
                continue
        try:
            from .http import Requests

            self.open_http = Requests().open
        except ImportError:
            pass


def exports(plugin: Plugin[Any]) -> dict[str, type]:
    """A class for each interface that the plugin exports, by the name that the bindings look for."""
    wire.prepare()
    backend.use(Host())  # type: ignore[arg-type]
    made = {}
    for name, hook in plugin.hooks.items():
        if name in INTERFACES:
            made[_camel(name)] = _interface(name, hook.implementation)
        else:
            of = FUNCTIONS[name]
            function = "select" if name == "selector" else name.replace("-", "_")
            call = _call(hook.implementation, of.takes, of.returns, of.can_fail)
            made[_camel(name)] = type(_camel(name), (), {function: call})
    if plugin.tools:
        made["Tools"] = _tools(plugin)
    if plugin.commands:
        made["Commands"] = _commands(plugin)
    return made


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _call(function: Callable[..., Any], takes: tuple[Any, ...], returns: Any, can_fail: bool) -> Callable[..., Any]:
    """A method that translates arguments, the result and errors."""
    from componentize_py_types import Err

    lifted = [wire.lift(hint) for hint in takes]
    lowered = wire.same if returns is None else wire.lower(returns)

    def method(_self: Any, *arguments: Any) -> Any:
        try:
            answer = function(*(lift(argument) for lift, argument in zip(lifted, arguments)))
            return None if returns is None else lowered(answer)
        except Exception as raised:
            error = from_exception(raised) if can_fail else None
            if error is None:
                raise
            raise Err(wire.lower_error(error)) from None

    return method


def _interface(name: str, implementation: Any) -> type:
    of = INTERFACES[name]
    methods = {}
    for function, declared in vars(of.of).items():
        if function.startswith("_") or not callable(declared):
            continue
        known = wire.hints(declared)
        returns = known["return"]
        order = declared.__code__.co_varnames[1 : declared.__code__.co_argcount]
        takes = tuple(_as_json(name, key, known[key]) for key in order)
        returns = None if returns is type(None) else returns
        methods[function] = _call(getattr(implementation, function), takes, returns, function not in of.plain)
    return type(_camel(name), (), methods)


def _as_json(interface: str, parameter: str, hint: Any) -> Any:
    from ..contract import Json

    return typing.Optional[Json] if (interface, parameter) == ("channel", "cursor") else hint


def _tools(plugin: Plugin[Any]) -> type:
    specs = [
        ToolSpec(tool.name, tool.about, tool.parameters(), tool.effect, tool.for_model, tool.reads_outside)
        for tool in plugin.tools.values()
    ]
    listed = wire.lower(list[ToolSpec])(specs)

    def call(turn: Turn, name: str, arguments: str) -> str:
        tool = plugin.tools.get(name)
        if tool is None:
            raise Error("not-found", f"there is no tool `{name}` here")
        return tool.call(turn, arguments)

    return type("Tools", (), {"list_tools": lambda _self: listed, "call_tool": _call(call, (Turn, str, str), str, True)})


def _commands(plugin: Plugin[Any]) -> type:
    specs = [CommandSpec(name, command.why) for name, command in plugin.commands.items()]
    listed = wire.lower(list[CommandSpec])(specs)

    def run(name: str, arguments: list[str]) -> str:
        command = plugin.commands.get(name)
        if command is None:
            raise Error("not-found", f"there is no command `{name}` here")
        return str(command.implementation(arguments))

    methods = {"list_commands": lambda _self: listed, "run_command": _call(run, (str, list[str]), str, True)}
    return type("Commands", (), methods)
