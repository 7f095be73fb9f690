"""Makes a component of a plugin: its world, the bindings, the interpreter and the manifest."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

from ..manifest import manifest_text, world
from ..plugin import Plugin
from .section import with_section

PACKAGE = Path(__file__).resolve().parent.parent

# The standard library first, for the reason that `bub_guest` gives for its own order.
_ENTRY = """\
import enum, re, functools, contextlib, typing, ast, tokenize, dis, inspect, dataclasses
import json, urllib.parse
import bub_guest
from bub_guest.component.entry import exports
import {module} as module

globals().update(exports(module.{name}))
"""


class BuildError(Exception):
    """Why there is no component: one line for the author."""


def build(source: Path, output: Optional[Path] = None, stub_wasi: bool = False) -> Path:
    """Builds the component of a module, and returns where it is: `NAME.wasm` beside the source unless said otherwise."""
    tool = _componentize()
    module, name, plugin = load(source)
    output = output or source.resolve().parent / f"{plugin.name}.wasm"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _contracts(folder / "wit")
        (folder / "wit" / "plugin.wit").write_text(world(plugin))
        (folder / "bub_entry.py").write_text(_ENTRY.format(module=module, name=name))
        made = folder / "made.wasm"
        command = [*tool, "-d", str(folder / "wit"), "-w", "bub:guest/plugin", "componentize"]
        command += ["--stub-wasi"] if stub_wasi else []
        command += ["-p", str(folder), "-p", str(source.resolve().parent), "-p", str(PACKAGE.parent)]
        done = subprocess.run([*command, "bub_entry", "-o", str(made)], capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).split("\n\nStack backtrace:")[0]
            raise BuildError(f"componentize-py cannot build `{source}`:\n{said}")
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(with_section(made.read_bytes(), "bub:manifest", manifest_text(plugin).encode()))
    return output


def load(source: Path) -> tuple[str, str, Plugin[Any]]:
    """Imports the module of a plugin: the names of module and plugin, and the plugin."""
    if source.suffix != ".py" or not source.is_file():
        raise BuildError(f"`{source}` is not a Python file")
    if not source.stem.isidentifier():
        raise BuildError(f"`{source.name}` cannot be imported: rename it to letters, digits and `_`")
    sys.path.insert(0, str(source.resolve().parent))
    module = importlib.import_module(source.stem)
    if Path(module.__file__ or "").resolve() != source.resolve():
        raise BuildError(f"there is another module `{source.stem}`, `{module.__file__}`: rename `{source.name}`")
    plugins = [(name, value) for name, value in vars(module).items() if isinstance(value, Plugin)]
    if len(plugins) != 1:
        raise BuildError(f"`{source}` has {len(plugins)} objects of type `Plugin`, and must have one")
    return source.stem, *plugins[0]


def _componentize() -> list[str]:
    """How componentize-py is called: beside this interpreter, or in the path."""
    beside = Path(sys.executable).parent / "componentize-py"
    found = str(beside) if beside.is_file() else shutil.which("componentize-py")
    if not found:
        raise BuildError("`componentize-py` is not installed: `pip install componentize-py==0.25.1`")
    return [found]


def _contracts(to: Path) -> None:
    """Copies the contracts, and of WASI what HTTP needs, in the layout that bindings are made from."""
    contracts, wasi = PACKAGE.parent / "wit", PACKAGE.parent / "wasi"
    if not (contracts / "worlds.wit").is_file():
        contracts, wasi = PACKAGE / "wit", PACKAGE / "wasi"
    if not (contracts / "worlds.wit").is_file():
        raise BuildError(f"the contracts are missing: copy the folder `wit` of bub-wasm to `{PACKAGE.parent / 'wit'}`")
    shutil.copytree(contracts / "deps", to / "deps")
    (to / "deps" / "bub-plugin").mkdir()
    shutil.copy(contracts / "worlds.wit", to / "deps" / "bub-plugin" / "worlds.wit")
    for file in wasi.glob("*.wit"):
        (to / "deps" / f"wasi-{file.stem}").mkdir()
        shutil.copy(file, to / "deps" / f"wasi-{file.stem}" / file.name)
