"""Values of JSON as the types that hints name."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import Any, Literal, TypeVar, Union, cast

from .error import Error
from .schema import Member, _bare, members

T = TypeVar("T")


def read(hint: type[T] | Any, value: Any, name: str = "it") -> T:
    """The value as that type; `invalid-input` with the place that does not fit.

    >>> read(list[int], [1, "2"])
    Traceback (most recent call last):
    bub_guest.error.Error: `it[1]` must be a whole number, and is a text
    """
    hint, _ = _bare(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return cast(T, _either(arguments, value, name))
    if origin is Literal:
        if not any(value == choice and type(value) is type(choice) for choice in arguments):
            raise _unfit(name, " or ".join(f"`{choice}`" for choice in arguments), value)
        return cast(T, value)
    if hint is list or origin is list:
        if not isinstance(value, list):
            raise _unfit(name, "a list", value)
        of = arguments[0] if arguments else Any
        return cast(T, [read(of, element, f"{name}[{index}]") for index, element in enumerate(value)])
    if hint is dict or origin is dict:
        if not isinstance(value, dict):
            raise _unfit(name, "an object", value)
        of = arguments[1] if arguments else Any
        return cast(T, {key: read(of, element, f"{name}.{key}") for key, element in value.items()})
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        found = next((variant for variant in hint if variant.value == value), None)
        if found is None:
            raise _unfit(name, " or ".join(f"`{variant.value}`" for variant in hint), value)
        return cast(T, found)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return cast(T, hint(**read_members(members(hint), value, "" if name == "it" else f"{name}.")))
    return cast(T, _plain(hint, value, name))


def read_members(fields: list[Member], value: Any, place: str = "") -> dict[str, Any]:
    """The members of an object, each as its type."""
    if not isinstance(value, dict):
        raise Error("invalid-input", f"`{place.rstrip('.') or 'it'}` must be an object, and is {_word(value)}")
    known = {field.name: field for field in fields}
    for name in value:
        if name not in known:
            raise Error("invalid-input", f"`{place}{name}` is not known; there are {_list(known)}")
    for field in fields:
        if field.required and field.name not in value:
            raise Error("invalid-input", f"`{place}{field.name}` is missing")
    return {name: read(known[name].hint, element, f"{place}{name}") for name, element in value.items()}


def _either(hints: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and type(None) in hints:
        return None
    rest = [hint for hint in hints if hint is not type(None)]
    for hint in rest[:-1]:
        try:
            return read(hint, value, name)
        except Error:
            continue
    return read(rest[-1], value, name)


def _plain(hint: Any, value: Any, name: str) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if hint is int and not whole:
        # JSON does not tell 1 from 1.0.
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise _unfit(name, "a whole number", value)
    if hint is float:
        if not whole and not isinstance(value, float):
            raise _unfit(name, "a number", value)
        return float(value)
    if hint is str and not isinstance(value, str):
        raise _unfit(name, "a text", value)
    if hint is bool and not isinstance(value, bool):
        raise _unfit(name, "`true` or `false`", value)
    if hint is type(None) and value is not None:
        raise _unfit(name, "null", value)
    return value


def _unfit(name: str, wanted: str, value: Any) -> Error:
    return Error("invalid-input", f"`{name}` must be {wanted}, and is {_word(value)}")


def _word(value: Any) -> str:
    words = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return words.get(type(value), "null")


def _list(names: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
