"""The manifest and the world of a plugin, made from its code."""

from __future__ import annotations

from typing import Any

from .hooks import INTERFACES
from .plugin import Plugin
from .schema import schema
from .text import dumps

VERSION = "0.1.0"
WASI = "0.2.12"

# What the code can import, by the beginning of a grant.
_IMPORTS = {
    "secret": ["bub:plugin/secrets"],
    "model": ["bub:model/chat"],
    "tools": ["bub:tools/toolbox"],
    "agent": ["bub:turn/stages", "bub:turn/subturn"],
    "usage": ["bub:model/usage"],
    "recall": ["bub:context/recall"],
    "process": ["bub:process/process"],
}

_EXPORTS = {"selector": "bub:context/selector", **{name: of.interface for name, of in INTERFACES.items()}}


def manifest(plugin: Plugin[Any]) -> dict[str, Any]:
    """What the plugin says of itself."""
    hooks = [{"grant": _hook_grant(name), "why": hook.why} for name, hook in plugin.hooks.items()]
    grants = [{"grant": want.grant, "why": want.why} for want in plugin.wants]
    made: dict[str, Any] = {
        "name": plugin.name,
        "version": plugin.version,
        "about": plugin.about,
        "wants": hooks + grants,
    }
    if plugin.after_turn != "every":
        made["after_turn"] = plugin.after_turn
    if plugin.settings is not None:
        made["config_schema"] = schema(plugin.settings)
    if plugin.tools:
        made["tools"] = [tool.declaration() for tool in plugin.tools.values()]
    return made


def manifest_text(plugin: Plugin[Any]) -> str:
    """The manifest as JSON."""
    return dumps(manifest(plugin))


def world(plugin: Plugin[Any]) -> str:
    """A world in WIT that exports what the plugin has, and imports what its grants are for."""
    imports = {"bub:plugin/config", "bub:plugin/log"}
    wasi = []
    for want in plugin.wants:
        kind = want.grant.partition(":")[0]
        imports.update(_IMPORTS.get(kind, []))
        if kind == "http":
            wasi = ["wasi:http/outgoing-handler"]
    lines = [f"import {name}@{VERSION};" for name in sorted(imports)]
    lines += [f"import {name}@{WASI};" for name in wasi]
    lines += [f"export {name}@{VERSION};" for name in exports(plugin)]
    body = "\n".join(f"  {line}" for line in lines)
    return f"package bub:guest@{VERSION};\n\nworld plugin {{\n{body}\n}}\n"


def exports(plugin: Plugin[Any]) -> list[str]:
    """The interfaces that the plugin exports."""
    names = [_EXPORTS.get(name, f"bub:hooks/{name}") for name in plugin.hooks]
    names += ["bub:tools/tools"] if plugin.tools else []
    names += ["bub:hooks/commands"] if plugin.commands else []
    return names


def _hook_grant(name: str) -> str:
    return INTERFACES[name].grant if name in INTERFACES else f"hook:{name}"
