"""Custom sections of WebAssembly components."""

from __future__ import annotations


def with_section(component: bytes, name: str, content: bytes) -> bytes:
    """The component with one more custom section at its end."""
    encoded = name.encode()
    body = _leb(len(encoded)) + encoded + content
    return component + b"\x00" + _leb(len(body)) + body


def _leb(number: int) -> bytes:
    """An unsigned number as LEB128."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
