"""JSON Schemas of type hints, and values read by them.

| hint | schema |
| --- | --- |
| `bool`, `int`, `float`, `str` | `boolean`, `integer`, `number`, `string` |
| `Literal["a", "b"]`, an `Enum` | `enum` |
| `list[T]`, `dict[str, T]` | `array`, `object` |
| `T | None`, `T | U` | `anyOf` |
| a dataclass | `object`; a field without a default is required, and no other members are allowed |
| `Any` | any value |

`Annotated[T, "what it is", Rule(minimum=1)]` adds a description and rules.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union

from .error import Error

_NONE = type(None)
_WORDS = {bool: "boolean", int: "integer", float: "number", str: "string", _NONE: "null"}


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a schema says beyond a type. The host checks it before a call."""

    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None

    def keywords(self) -> dict[str, Any]:
        """The rules under their names in a schema."""
        values = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return {_camel(name): value for name, value in values if value is not None}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclasses.dataclass(frozen=True)
class Member:
    """A member of an object: a field of a dataclass, or a parameter of a function."""

    name: str
    hint: Any
    required: bool
    default: Any = None


_MEMBERS: dict[type, list[Member]] = {}


def members(of: type) -> list[Member]:
    """The fields of a dataclass. They are looked up once: reading type hints takes a while."""
    if of not in _MEMBERS:
        _MEMBERS[of] = _members(of)
    return _MEMBERS[of]


def _members(of: type) -> list[Member]:
    hints = typing.get_type_hints(of, include_extras=True)
    found = []
    for field in dataclasses.fields(of):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if field.default is dataclasses.MISSING else field.default
        found.append(Member(field.name, hints[field.name], required and field.init, default))
    return found


def parameters(function: Callable[..., Any], skip: Callable[[str, Any], bool]) -> list[Member]:
    """The parameters of a function, without those to skip."""
    hints = typing.get_type_hints(function, include_extras=True)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        if skip(name, hint):
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"`{function.__name__}`: `{name}` must be a parameter that has a name of its own")
        required = parameter.default is parameter.empty
        found.append(Member(name, hint, required, None if required else parameter.default))
    return found


def closed(fields: list[Member], about: str = "") -> dict[str, Any]:
    """The schema of an object with these members and no others."""
    properties = {}
    for field in fields:
        node = schema(field.hint)
        if field.default is not None:
            node["default"] = field.default.value if isinstance(field.default, enum.Enum) else field.default
        properties[field.name] = node
    required = [field.name for field in fields if field.required]
    node = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**({"description": about} if about else {}), **node, **({"required": required} if required else {})}


def schema(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a type hint; `TypeError` if it has none."""
    hint, notes = _bare(hint)
    node = _node(hint)
    for note in notes:
        if isinstance(note, str):
            node["description"] = inspect.cleandoc(note)
        elif isinstance(note, Rule):
            node.update(note.keywords())
    return node


def _bare(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if typing.get_origin(hint) is typing.Annotated:
        return typing.get_args(hint)[0], typing.get_args(hint)[1:]
    return hint, ()


def _node(hint: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in _WORDS:
        return {"type": _WORDS[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(argument) for argument in arguments]}
    if hint is list or origin is list:
        return {"type": "array", **({"items": schema(arguments[0])} if arguments else {})}
    if hint is dict or origin is dict:
        return {"type": "object", **({"additionalProperties": schema(arguments[1])} if arguments else {})}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [variant.value for variant in hint], **_docs(hint)}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return closed(members(hint), _docs(hint).get("description", ""))
    raise TypeError(f"`{hint}` has no JSON Schema: `bub_guest.schema` lists the hints that have one")


def _docs(of: type) -> dict[str, str]:
    text = inspect.cleandoc(of.__dict__.get("__doc__") or "")
    # The docstring that a dataclass or an old enum gets by itself.
    own = text and not text.startswith(f"{of.__name__}(") and text != "An enumeration."
    return {"description": text} if own else {}
