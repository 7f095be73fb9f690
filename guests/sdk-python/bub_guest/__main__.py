"""`python -m bub_guest build FILE`: makes a component of a plugin."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .build import BuildError, build, load
from .manifest import manifest_text


def main() -> int:
    """Runs a command, and returns its exit code."""
    parser = argparse.ArgumentParser(prog="bub_guest", description="Builds plugins for bub-wasm.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="make the component of a plugin")
    make.add_argument("file", type=Path, help="the module with the plugin")
    make.add_argument("-o", "--output", type=Path, help="where the component goes; NAME.wasm beside the module unless set")
    make.add_argument("--stub-wasi", action="store_true", help="leave WASI out: no output, no HTTP, no files")
    show = commands.add_parser("manifest", help="print the manifest of a plugin")
    show.add_argument("file", type=Path, help="the module with the plugin")
    arguments = parser.parse_args()
    try:
        if arguments.command == "manifest":
            print(manifest_text(load(arguments.file)[2]))
        else:
            made = build(arguments.file, arguments.output, arguments.stub_wasi)
            print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
