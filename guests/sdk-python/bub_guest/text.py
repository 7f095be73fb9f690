"""Text and JSON that can cross to the host, which takes UTF-8 and nothing else."""

from __future__ import annotations

import dataclasses

# Codecs are imported when they are first used, and a component has no files to import from.
import encodings.latin_1  # noqa: F401
import encodings.utf_16_le  # noqa: F401
import enum
import json
from typing import Any

from .error import Error


def clean(text: str) -> str:
    """The same text without lone surrogates, which UTF-8 cannot express: U+FFFD stands for each."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def dumps(value: Any) -> str:
    """JSON of a value: of what `json` takes, and of dataclasses and enums."""
    try:
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise Error("unknown", f"a value of the plugin has no JSON: {error}") from error
    return clean(written)


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; `invalid-input` if it is not JSON."""
    try:
        # Bytes are UTF-8: `json` would guess, and take UTF-16.
        return json.loads(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:
        raise Error("invalid-input", f"it is not JSON: {error}") from error


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"`{type(value).__name__}` is not a JSON type")
