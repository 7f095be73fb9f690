"""A selector: the last exchanges. It reads the tape from its end, so its cost does not depend on the length."""

from dataclasses import dataclass
from typing import Annotated

from bub_guest import Plugin, Rule, Selected, View


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    turns: Annotated[int, "How many exchanges are selected.", Rule(minimum=1)] = 20


plugin = Plugin("{{name}}", about="Selects the last exchanges of a conversation.", settings=Settings)

PAGE = 64
"""Entries that are read at once."""


@plugin.hook("selector", why="to select what the model sees")
def select(view: View) -> Selected:
    wanted, turns = plugin.config.turns, 0
    # The current turn is selected whole: its calls and their results are what the model goes on with.
    start = view.turn_start_id()
    taken: list[int] = []
    while turns < wanted and (page := view.tail(taken[-1] if taken else None, PAGE)):
        # Newest first. An exchange begins with the event `loop.start`, so that none is cut in half.
        for entry in reversed(page):
            taken.append(entry.id)
            turns += entry.id <= start and entry.is_event("loop.start")
            if turns == wanted:
                break
    # `bub-wasm tape` shows the notes.
    return Selected.entries(reversed(taken), {"turns": turns, "entries": len(taken)})
