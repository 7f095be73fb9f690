"""A gate: decides about each tool call before it is made."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from bub_guest import Deny, Plugin, Proceed, ToolCall, ToolDecision, Turn


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    blocked: Annotated[list[str], "What arguments must not contain."] = field(
        default_factory=lambda: ["rm -rf", "sudo "]
    )


plugin = Plugin("{{name}}", about="Denies tool calls whose arguments contain a blocked text.", settings=Settings)


# Called for the calls of models and of people, with the arguments as they were written.
@plugin.hook("before-tool-call", why="to see the arguments of tool calls and deny those that you block")
def decide(turn: Turn, call: ToolCall) -> ToolDecision:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        # Models may write invalid JSON: then the text itself is searched.
        arguments = call.arguments
    for blocked in plugin.config.blocked:
        if contains(arguments, blocked):
            # The model reads this, and can try something else.
            return Deny(f"`{call.name}` is not called with `{blocked}` in its arguments")
    return Proceed()


def contains(value: Any, text: str) -> bool:
    """Whether a text stands in one of the strings, in upper or lower case."""
    if isinstance(value, str):
        return text.lower() in value.lower()
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(contains(one, text) for one in values)
