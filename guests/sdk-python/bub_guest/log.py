"""The host's log. A line appears under the plugin's name."""

from __future__ import annotations

from . import backend


def debug(message: str) -> None:
    """Says something that helps to find out what a plugin does."""
    backend.get().log.log("debug", message)


def info(message: str) -> None:
    """Says something that the user may want to know."""
    backend.get().log.log("info", message)


def warn(message: str) -> None:
    """Says that something did not work, and what happens instead."""
    backend.get().log.log("warn", message)


def error(message: str) -> None:
    """Says that something failed."""
    backend.get().log.log("error", message)
