"""How the records and functions of this package correspond to those of the contracts in `wit/`.

A class names its counterpart with `wit`, a function that the host has is marked with `host`, and type hints say the rest. The
module `component.wire` reads them where a plugin is built as a component; natively they have no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Named:
    """The counterpart of a hint: an enum or a variant of an interface."""

    interface: str
    name: str


@dataclass(frozen=True)
class Marker:
    """A hint whose value has another form in the contract."""

    form: str


Json = Annotated[Any, Marker("json")]
"""A value that crosses as JSON."""

Outcome = Annotated[Any, Marker("outcome")]
"""A value that crosses as JSON, or an `Error`."""


KNOWN: list[type] = []
"""The classes that have a counterpart, in the order in which they were defined."""


def wit(interface: str, name: str) -> Callable[[C], C]:
    """Names the record or the resource of a class."""

    def mark(of: C) -> C:
        setattr(of, "__wit__", (interface, name))
        KNOWN.append(of)
        return of

    return mark


def case(name: str) -> Callable[[C], C]:
    """Names the case of a variant, where it is not the name of the class."""

    def mark(of: C) -> C:
        setattr(of, "__case__", name)
        return of

    return mark


def host(function: F) -> F:
    """Marks a function that the host has."""
    setattr(function, "__host__", True)
    return function


class Functions:
    """The functions of an interface that are not methods of a resource; `interface` names it."""

    interface = ""
