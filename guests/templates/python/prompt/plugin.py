"""Adds a part to the system prompt: the rules of the configuration."""

from dataclasses import dataclass, field
from typing import Annotated

from bub_guest import Plugin, Prompt, SystemPart, Turn


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    rules: Annotated[list[str], "What the model has to follow."] = field(
        default_factory=lambda: ["Answer in plain English."]
    )


plugin = Plugin("{{name}}", about="Adds your rules to the system prompt.", settings=Settings)


# Called before each request to a model. The parts of all plugins are joined.
@plugin.hook("system-prompt", why="to tell the model your rules")
def rules(turn: Turn, prompt: Prompt) -> list[SystemPart]:
    lines = "".join(f"- {rule}\n" for rule in plugin.config.rules)
    # The name is for people, in `bub-wasm tape` and in the notes of selectors.
    return [SystemPart("rules", f"Follow these rules:\n{lines}")] if lines else []
