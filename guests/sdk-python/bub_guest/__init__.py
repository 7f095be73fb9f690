"""Write plugins for bub-wasm in Python.

A plugin is a WebAssembly component: tools that a model calls, and hooks that the host calls in the stages of a turn.

    from bub_guest import Plugin

    plugin = Plugin("greeter", about="Greets.")


    @plugin.tool(effect="read")
    def greet(name: str) -> str:
        "Greet somebody."
        return f"hello, {name}"

`python -m bub_guest build greeter.py` makes the component, and `bub_guest.test` runs the plugin natively in tests.

- `Plugin` has the decorators, and a method for each grant, whose result the calls take that need it.
- `hooks` lists the hooks; `schema` lists the type hints that have a JSON Schema.
- `context` puts in front of an error what was being done.
"""

# Modules that import no others come first: where a component is built, the interpreter's stack is short, and a chain of
# imports inside of imports would exhaust it.
# isort: off
from . import contract, text, schema, read, records, backend, grants, tape, turn, view, decisions, hooks, plugin, system  # noqa: F401
# isort: on
from . import log
from .contract import Json
from .decisions import (
    Already,
    Answer,
    AnswerText,
    Arrival,
    Ask,
    Attachment,
    Batch,
    Conflict,
    Deny,
    Description,
    Inbox,
    Kind,
    LlmDecision,
    LlmRequest,
    LlmResult,
    Lookup,
    NamedEntry,
    Page,
    Phase,
    Proceed,
    Reset,
    Rewrite,
    RewriteRequest,
    SessionLoad,
    Stored,
    StoreOutcome,
    ToolDecision,
    WebhookRequest,
    WebhookResponse,
)
from .error import Error, ErrorKind, context
from .hooks import Channel, Embedder, Provider, Sink, Store
from .http import HttpError, Request, Response
from .plugin import Plugin
from .records import (
    Envelope,
    Final,
    Finish,
    MediaItem,
    ModelChoice,
    ModelOptions,
    Parts,
    Passage,
    Prompt,
    Reasoning,
    StreamEvent,
    SystemPart,
    Text,
    ToolCall,
    ToolCalls,
    ToolResults,
    ToolSpec,
    Usage,
)
from .records import Request as ModelRequest
from .schema import Rule
from .tape import Draft, Entry, Query, Search, Tape
from .text import dumps, loads
from .turn import Turn, text_of
from .view import EntryPart, MessagePart, Selected, View

__all__ = [name for name in dir() if not name.startswith("_")]
