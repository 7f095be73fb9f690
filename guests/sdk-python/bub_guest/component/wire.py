"""Values of this package as values of the generated bindings (`wit_world`), and back.

The type hints of the package say what a value is. They are read while the component is built, so a call runs functions that are
already put together, and they are read one after the other, because the interpreter's stack is short there.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
import typing
from collections.abc import Callable
from typing import Any, Union

from ..contract import KNOWN, Functions, Marker, Named
from ..error import Error
from ..grants import Grant
from ..text import clean, dumps, loads

Convert = Callable[[Any], Any]


_HINTS: dict[Any, dict[str, Any]] = {}


def hints(of: Any) -> dict[str, Any]:
    """The type hints of a class or a function."""
    if of not in _HINTS:
        _HINTS[of] = typing.get_type_hints(of, include_extras=True)
    return _HINTS[of]


for _class in KNOWN:
    hints(_class)
    for _function in vars(_class).values():
        if hasattr(_function, "__host__"):
            hints(_function)


def same(value: Any) -> Any:
    """The value as it is."""
    return value


def module(interface: str) -> Any:
    """The bindings of an interface. Two of the same name have those of their packages in front."""
    package, name = interface.replace("-", "_").split(":")[-1].split("/")
    namespace = interface.split(":")[0]
    for folder in ("imports", "exports"):
        for candidate in (f"{namespace}_{package}_{name}", f"{package}_{name}", name):
            try:
                return importlib.import_module(f"wit_world.{folder}.{candidate}")
            except ImportError:
                continue
    raise ImportError(f"the world of this component has no `{interface}`")


def _split(hint: Any) -> tuple[Any, Any]:
    """A hint without its annotations, and the one that this package understands."""
    if typing.get_origin(hint) is typing.Annotated:
        bare, *notes = typing.get_args(hint)
        found = [note for note in notes if isinstance(note, (Named, Marker))]
        return bare, found[0] if found else None
    return hint, None


def _is_optional(hint: Any) -> bool:
    return typing.get_origin(hint) in (Union, types.UnionType) and type(None) in typing.get_args(hint)


def _inner(hint: Any) -> Any:
    rest = tuple(argument for argument in typing.get_args(hint) if argument is not type(None))
    return rest[0] if len(rest) == 1 else Union[rest]


def _cases(union: Any, named: Named) -> list[tuple[type, Any, Any]]:
    """The cases of a variant: the class here, the class in the bindings, and the hint of the value."""
    bindings = module(named.interface)
    found = []
    for case in typing.get_args(union):
        name = getattr(case, "__case__", case.__name__)
        found.append((case, getattr(bindings, f"{named.name}_{name}"), hints(case).get("value")))
    return found


def lower(hint: Any) -> Convert:
    """How a value of this type becomes one of the bindings."""
    bare, note = _split(hint)
    if isinstance(note, Marker):
        return {"json": dumps, "outcome": _lower_outcome, "pairs": _lower_pairs}[note.form]
    if isinstance(note, Named):
        return _lower_variant(bare, note) if typing.get_origin(bare) is Union else _lower_enum(bare, note)
    if _is_optional(bare):
        of = lower(_inner(bare))
        return lambda value: None if value is None else of(value)
    if bare is str:
        return clean
    if typing.get_origin(bare) is list:
        of = lower(typing.get_args(bare)[0])
        return lambda value: [of(element) for element in value]
    if typing.get_origin(bare) is tuple:
        parts = [lower(part) for part in typing.get_args(bare)]
        return lambda value: tuple(part(element) for part, element in zip(parts, value))
    if bare is Error:
        return lower_error
    if isinstance(bare, type) and dataclasses.is_dataclass(bare) and hasattr(bare, "__wit__"):
        return _record(_LOWERED, _lower_record, bare)
    if hasattr(bare, "__wit__"):
        return lambda value: value.raw
    return same


def lift(hint: Any) -> Convert:
    """How a value of the bindings becomes one of this type."""
    bare, note = _split(hint)
    if isinstance(note, Marker):
        return {"json": loads, "outcome": _lift_outcome, "pairs": _lift_pairs}[note.form]
    if isinstance(note, Named):
        return _lift_variant(bare, note) if typing.get_origin(bare) is Union else _lift_enum
    if _is_optional(bare):
        of = lift(_inner(bare))
        return lambda value: None if value is None else of(value)
    if typing.get_origin(bare) is list:
        of = lift(typing.get_args(bare)[0])
        return same if of is same else lambda value: [of(element) for element in value]
    if bare is Error:
        return lift_error
    if isinstance(bare, type) and dataclasses.is_dataclass(bare) and hasattr(bare, "__wit__"):
        return _record(_LIFTED, _lift_record, bare)
    if hasattr(bare, "__wit__"):
        # Its methods return handles too, so they are put together when the first one arrives, or by `prepare`.
        return lambda raw: _handle(resource(bare), raw)
    return same


_LOWERED: dict[type, Convert] = {}
_LIFTED: dict[type, Convert] = {}
_RESOURCES: dict[type, type] = {}


def _record(known: dict[type, Convert], make: Convert, of: type) -> Convert:
    # No `functools.cache`: its calls are nested in the interpreter, whose stack is short here.
    if of not in known:
        known[of] = make(of)
    return known[of]


def prepare() -> None:
    """Puts everything together that the world of this component has, what others need first."""
    for of in KNOWN:
        try:
            if dataclasses.is_dataclass(of):
                _record(_LOWERED, _lower_record, of)
                _record(_LIFTED, _lift_record, of)
            else:
                resource(of)
        except (ImportError, AttributeError):
            continue  # Nothing of this world uses it.


def _lower_record(of: type) -> Convert:
    interface, name = getattr(of, "__wit__")
    binding = getattr(module(interface), name)
    ours = {_other(field.name): field.name for field in dataclasses.fields(of)}
    order = [ours[field.name] for field in dataclasses.fields(binding)]
    parts = [(field, lower(hints(of)[field])) for field in order]
    return lambda value: binding(*(part(getattr(value, field)) for field, part in parts))


def _lift_record(of: type) -> Convert:
    fields = [field.name for field in dataclasses.fields(of)]
    parts = [(name, _other(name), lift(hints(of)[name])) for name in fields]
    return lambda value: of(**{name: part(getattr(value, other)) for name, other, part in parts})


def _other(field: str) -> str:
    """The name of a field in the contract."""
    return field.removesuffix("_text") if field in ("payload_text", "meta_text") else field


def _lower_enum(literal: Any, named: Named) -> Convert:
    binding = getattr(module(named.interface), named.name)
    values = {word: binding[word.upper().replace("-", "_")] for word in typing.get_args(literal)}

    def convert(value: Any) -> Any:
        if value not in values:
            raise ValueError(f"`{value}` must be one of {', '.join(f'`{word}`' for word in values)}")
        return values[value]

    return convert


def _lift_enum(value: Any) -> str:
    return str(value.name.lower().replace("_", "-"))


def _lower_variant(union: Any, named: Named) -> Convert:
    cases = {case: (binding, hint and lower(hint)) for case, binding, hint in _cases(union, named)}
    text = next((binding for case, binding, _ in _cases(union, named) if case.__name__ == "Text"), None)

    def convert(value: Any) -> Any:
        if isinstance(value, str) and text is not None:
            return text(clean(value))
        if type(value) not in cases:
            wanted = ", ".join(f"`{case.__name__}`" for case in cases)
            raise TypeError(f"`{type(value).__name__}` is none of {wanted}")
        binding, of = cases[type(value)]
        return binding(of(value.value)) if of else binding()

    return convert


def _lift_variant(union: Any, named: Named) -> Convert:
    cases = {binding: (case, hint and lift(hint)) for case, binding, hint in _cases(union, named)}

    def convert(value: Any) -> Any:
        case, of = cases[type(value)]
        return case(of(value.value)) if of else case()

    return convert


def _lower_pairs(value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(clean(key), dumps(element)) for key, element in value.items()]


def _lift_pairs(value: list[tuple[str, str]]) -> dict[str, Any]:
    return {key: loads(element) for key, element in value}


def lower_error(error: Error) -> Any:
    """The contract's error."""
    bindings = module("bub:types/types")
    kind = bindings.ErrorKind[error.kind.upper().replace("-", "_")]
    return bindings.Error(kind, clean(error.message), None if error.details is None else dumps(error.details))


def lift_error(error: Any) -> Error:
    """An error of the host."""
    return Error(_lift_enum(error.kind), error.message, None if error.details is None else loads(error.details))  # type: ignore[arg-type]


def _lower_outcome(value: Any) -> Any:
    from componentize_py_types import Err, Ok

    return Err(lower_error(value)) if isinstance(value, Error) else Ok(dumps(value))


def _lift_outcome(value: Any) -> Any:
    from componentize_py_types import Err

    return lift_error(value.value) if isinstance(value, Err) else loads(value.value)


def _handle(of: type, raw: Any) -> Any:
    handle = of()
    handle.raw = raw
    return handle


def resource(of: type) -> type:
    """A subclass whose methods call those of the bindings."""
    if of not in _RESOURCES:
        interface, name = getattr(of, "__wit__")
        getattr(module(interface), name)
        methods = {name: _method(function) for name, function in vars(of).items() if hasattr(function, "__host__")}
        _RESOURCES[of] = type(of.__name__, (of,), methods)
    return _RESOURCES[of]


def functions(of: type[Functions]) -> Functions:
    """An object whose methods call the functions of the bindings."""
    bindings = module(of.interface)
    methods = {}
    for name, function in vars(of).items():
        if hasattr(function, "__host__"):
            methods[name] = _method(function, getattr(bindings, name))
    made: Functions = type(of.__name__, (of,), methods)()
    return made


def _method(function: Any, target: Any = None) -> Any:
    name = function.__name__
    known = hints(function)
    returns = lift(known["return"])
    order = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    takes = [lower(known[key]) if not _is_grant(known[key]) else None for key in order]

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        from componentize_py_types import Err

        values = list(arguments) + [named[key] for key in order[len(arguments) :] if key in named]
        missing = len(order) - len(values)
        values += defaults[len(defaults) - missing :] if missing else ()
        passed = [take(value) for take, value in zip(takes, values) if take is not None]
        try:
            return returns((target or getattr(self.raw, name))(*passed))
        except Err as error:
            raise lift_error(error.value) from None

    return call


def _is_grant(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Grant)
