"""The tool `{{name_snake}}_count`: counts what a text is made of."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from bub_guest import Plugin, Rule


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    words_per_minute: Annotated[int, "How fast the user reads.", Rule(minimum=1)] = 200


plugin = Plugin("{{name}}", about="Counts the words, characters or lines of a text.", settings=Settings)


# `effect="read"`: it changes nothing, so the host lets models call it without asking.
@plugin.tool(name="{{name_snake}}_count", effect="read")
def count(
    text: Annotated[str, "The text, as it is."],
    unit: Annotated[Literal["words", "characters", "lines"], "What is counted."] = "words",
) -> dict[str, Any]:
    """Count the words, characters or lines of a text. Use this instead of counting yourself."""
    if unit == "characters":
        return {"count": len(text), "unit": unit}
    if unit == "lines":
        return {"count": len(text.splitlines()), "unit": unit}
    words = len(text.split())
    return {"count": words, "unit": unit, "minutes": round(words / plugin.config.words_per_minute, 2)}
