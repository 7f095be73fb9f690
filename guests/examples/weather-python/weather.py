"""The tool `weather`: asks a weather service, which wants a key in a header."""

from dataclasses import dataclass
from typing import Annotated, Literal

from bub_guest import Plugin, Prompt, Rule, SystemPart, Turn, context


@dataclass
class Settings:
    """The table `[plugins.weather.config]`."""

    server: Annotated[str, "The weather service, as in `https://api.example.com`."]
    home: Annotated[str | None, "The city that is meant where none is named."] = None


plugin = Plugin("weather", about="Says how the weather is.", settings=Settings)

SERVICE = plugin.http("*", why="to ask the weather service; grant the host of `server` alone")
plugin.http("http://*", why="the same, where that server is on this machine")
KEY = plugin.secret("weather", why="to say who asks; it goes into a header of the requests, and never to this plugin")


@dataclass
class Day:
    """A day of the forecast, as the service writes it and as the model reads it."""

    date: str
    sky: str
    high: float
    low: float


@plugin.tool(effect="read", reads_outside=True)
def weather(
    city: Annotated[str, "The name of a city."],
    units: Annotated[Literal["metric", "imperial"], "In degrees Celsius or Fahrenheit."] = "metric",
    days: Annotated[int, "For how many days.", Rule(minimum=1, maximum=7)] = 1,
) -> list[Day]:
    """Say how the weather is in a city, today and in the days that follow."""
    request = (
        SERVICE.get(f"{plugin.config.server}/forecast")
        .query("city", city)
        .query("units", units)
        .query("days", str(days))
        .header("x-api-key", KEY.placeholder())
    )
    with context("the weather service"):
        response = request.send()
    with context(f"the weather in `{city}`"):
        return response.success().json(list[Day])


@plugin.hook("system-prompt", why="to tell the model which city is meant where none is named")
def home(turn: Turn, prompt: Prompt) -> list[SystemPart]:
    city = plugin.config.home
    return [SystemPart("weather", f"Weather without a city is the weather in {city}.")] if city else []
