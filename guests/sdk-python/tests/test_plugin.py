import json
import unittest
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, Optional

from bub_guest import (
    Channel,
    Deny,
    Description,
    Draft,
    EntryPart,
    Error,
    Inbox,
    Plugin,
    Query,
    Rule,
    Selected,
    Text,
    ToolCall,
    Turn,
    context,
    log,
)
from bub_guest.manifest import manifest, world
from bub_guest.read import read
from bub_guest.schema import schema
from bub_guest.test import Host, response
from bub_guest.text import clean, dumps, loads

HOSTILE = "\"'\\`\x00\x1b[31m\u2028é\U0001f600{{secret:a}}]]>"


class Unit(Enum):
    """What is counted."""

    WORDS = "words"
    LINES = "lines"


@dataclass
class Asked:
    text: Annotated[str, "The text."]
    unit: Unit = Unit.WORDS
    tags: list[str] = field(default_factory=list)
    limit: Optional[Annotated[int, Rule(minimum=1)]] = None


class Schemas(unittest.TestCase):
    def test_a_dataclass_has_a_closed_schema(self) -> None:
        made = schema(Asked)
        self.assertEqual((made["required"], made["additionalProperties"]), (["text"], False))
        properties = made["properties"]
        self.assertEqual(properties["text"], {"type": "string", "description": "The text."})
        unit = {"enum": ["words", "lines"], "description": "What is counted.", "default": "words"}
        self.assertEqual(properties["unit"], unit)
        self.assertEqual(properties["limit"]["anyOf"], [{"type": "integer", "minimum": 1}, {"type": "null"}])

    def test_a_hint_without_a_schema_is_refused_by_name(self) -> None:
        with self.assertRaisesRegex(TypeError, "complex.* has no JSON Schema"):
            schema(complex)

    def test_values_are_read_as_their_types_or_the_place_is_named(self) -> None:
        asked: Asked = read(Asked, {"text": "a", "unit": "lines", "tags": ["b"]})
        self.assertEqual(asked, Asked("a", Unit.LINES, ["b"]))
        wrong: list[tuple[Any, Any, str]] = [
            (Asked, {}, "`text` is missing"),
            (Asked, {"text": "a", "txt": 1}, "`txt` is not known; there are `text`, `unit`, `tags`, `limit`"),
            (Asked, {"text": "a", "tags": ["b", 1]}, "`tags[1]` must be a text, and is a number"),
            (Asked, {"text": "a", "unit": HOSTILE}, "`unit` must be `words` or `lines`, and is a text"),
            (int, True, "`it` must be a whole number, and is true or false"),
            (Literal[1], True, "`it` must be `1`, and is true or false"),
            (dict[str, int], {"a": None}, "`it.a` must be a whole number, and is null"),
        ]
        for hint, value, message in wrong:
            with self.assertRaises(Error) as raised:
                read(hint, value)
            self.assertEqual((raised.exception.kind, raised.exception.message), ("invalid-input", message))
        self.assertEqual(read(int, 2.0), 2)


class Tools(unittest.TestCase):
    def setUp(self) -> None:
        self.plugin: Plugin[Any] = Plugin("notes", about="Keeps notes.")
        self.append = self.plugin.tape_append(why="to keep them")
        self.read = self.plugin.tape_read(why="to read them")

    def test_hostile_text_passes_arguments_results_and_errors_unchanged(self) -> None:
        @self.plugin.tool(effect="read", name="notes.echo")
        def echo(text: str, fail: bool = False) -> dict[str, str]:
            """Echo."""
            if fail:
                raise Error("tool", text, {"said": text})
            return {text: text}

        host = Host(self.plugin)
        self.assertEqual(host.call(echo, {"text": HOSTILE}), {HOSTILE: HOSTILE})
        with self.assertRaises(Error) as raised:
            host.call("notes.echo", {"text": HOSTILE, "fail": True})
        self.assertEqual((raised.exception.message, raised.exception.details), (HOSTILE, {"said": HOSTILE}))

    def test_text_that_utf_8_cannot_express_is_replaced(self) -> None:
        self.assertEqual(clean("a\ud800b\ud83d\ude00"), "a\ufffdb\U0001f600")
        self.assertEqual(json.loads(dumps({"a\udfff": 1})), {"a\ufffd": 1})
        for value in (float("nan"), object(), {1j: 1}):
            with self.assertRaisesRegex(Error, "has no JSON"):
                dumps(value)

    def test_bytes_of_json_are_utf_8(self) -> None:
        self.assertEqual(loads('"é"'.encode()), "é")
        for wrong in ('"é"'.encode("utf-16"), b"\xff", b"", b"[" * 100_000):
            with self.assertRaisesRegex(Error, "^it is not JSON"):
                loads(wrong)

    def test_the_turn_is_passed_and_what_is_written_is_on_the_tape(self) -> None:
        @self.plugin.tool(effect="write")
        def keep(turn: Turn, text: str) -> int:
            """Keep a note."""
            tape = turn.tape(self.read)
            turn.set("kept", text)
            tape.append(self.append, [Draft.event("note", {"text": text})])
            return len(list(tape.query(Query(kinds=["event"], name="note"))))

        host = Host(self.plugin)
        self.assertEqual([host.call(keep, {"text": text}) for text in ("a", HOSTILE)], [1, 2])
        self.assertEqual(host.entries()[1].payload, {"name": "note", "data": {"text": HOSTILE}})
        self.assertEqual((host.entries()[1].id, host.state["kept"]), (2, HOSTILE))
        with self.assertRaises(Error) as raised:
            Host(self.plugin, without=["tape:*"]).call(keep, {"text": "a"})
        self.assertEqual(raised.exception.kind, "denied")

    def test_wrong_arguments_are_named_with_the_tool(self) -> None:
        @self.plugin.tool(effect="read", name="notes.count")
        def count(asked: Asked) -> int:
            """Count."""
            return len(asked.text)

        with self.assertRaisesRegex(Error, "^the arguments of `notes_count`: `text` is missing$"):
            Host(self.plugin).call(count)
        self.assertEqual(self.plugin.tools["notes.count"].parameters()["required"], ["text"])

    def test_context_says_what_was_done_and_lets_mistakes_pass(self) -> None:
        with self.assertRaises(Error) as raised, context("the file"):
            open("/nonexistent/file")
        self.assertEqual(raised.exception, Error("not-found", "the file: No such file or directory"))
        with self.assertRaises(AttributeError), context("the file"):
            getattr(None, "absent")

    def test_mistakes_in_a_plugin_are_named_when_it_is_loaded(self) -> None:
        with self.assertRaisesRegex(ValueError, "`system-promt` is not a hook"):
            self.plugin.hook("system-promt", why="")
        with self.assertRaisesRegex(TypeError, "has no docstring"):
            self.plugin.tool(effect="read")(lambda: 1)
        with self.assertRaisesRegex(ValueError, "`htp:a` is not a grant"):
            self.plugin.grant("htp:a", "")


class Hooks(unittest.TestCase):
    def test_the_manifest_and_the_world_follow_the_code(self) -> None:
        plugin: Plugin[Any] = Plugin(HOSTILE, about=HOSTILE, after_turn="selected")
        plugin.model("openai:*", why=HOSTILE)

        @plugin.hook("before-tool-call", why="to stop it")
        def gate(turn: Turn, call: ToolCall) -> Any:
            return Deny(call.json()["why"])

        @plugin.channel(why="to be reached")
        class Bell(Channel):
            def describe(self) -> Description:
                return Description("bell", supports_polling=True)

            def poll(self, cursor: Any) -> Inbox:
                return Inbox(cursor={"at": 1})

        made = json.loads(dumps(manifest(plugin)))
        self.assertEqual(made["about"], HOSTILE)
        grants = [want["grant"] for want in made["wants"]]
        self.assertEqual(grants, ["hook:before-tool-call", "hook:channel", "model:openai:*"])
        for line in ("import bub:model/chat@0.1.0;", "export bub:channel/channel@0.1.0;"):
            self.assertIn(line, world(plugin))
        self.assertNotIn("wasi:http", world(plugin))
        self.assertEqual(gate(Host(plugin).turn(), ToolCall("a", '{"why": "no"}')), Deny("no"))
        with self.assertRaisesRegex(Error, "does not support `receive`"):
            Bell().receive(None)  # type: ignore[arg-type]

    def test_a_selector_sees_the_window_and_a_model_answers(self) -> None:
        plugin: Plugin[Any] = Plugin("last", about="Selects.")
        model = plugin.model("*", why="to ask")
        host = Host(plugin, entries=[("anchor", {"name": "a"}), ("message", {"content": HOSTILE})], model=lambda _: "so")
        view = host.view()
        self.assertEqual([entry.kind for entry in view.tail(None, 1)], ["message"])
        self.assertEqual(Selected.entries(view.next_ids(9)).history, [EntryPart(1), EntryPart(2)])
        log.info(HOSTILE)
        self.assertEqual((model.ask(host.turn(), "how?"), host.logged), ("so", [("info", HOSTILE)]))
        self.assertEqual(host.model_calls[0].messages, [{"role": "user", "content": "how?"}])
        self.assertEqual(host.prompt(), Text("hello"))

    def test_a_response_is_read_by_lines_and_by_type(self) -> None:
        plugin: Plugin[Any] = Plugin("web", about="Asks.")
        server, key = plugin.http("*", why=""), plugin.secret("key", why="")
        host = Host(plugin, http=lambda _: response(200, "[1]\r\ntwo\nthree"), secrets={"key": "k"})
        self.assertEqual(list(server.get("https://a/b").open().lines()), ["[1]", "two", "three"])
        with self.assertRaisesRegex(Error, "^the server's answer: it is not JSON"):
            server.post("https://a").json({"b": HOSTILE}).send().json()
        self.assertEqual(json.loads(host.requests[1].content or b""), {"b": HOSTILE})
        with self.assertRaisesRegex(Error, "`ftp://a` is no address"):
            server.get("ftp://a").send()
        self.assertEqual((key.matches("k"), key.matches("l")), (True, False))
        # RFC 4231, test case 2.
        Host(plugin, secrets={"key": "Jefe"})
        digest = key.hmac_sha256(b"what do ya want for nothing?").hex()
        self.assertEqual(digest[:16], "5bdcc146bf60754e")


if __name__ == "__main__":
    unittest.main()
