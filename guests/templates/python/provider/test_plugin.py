import unittest

from bub_guest import Error, ModelRequest, Text
from bub_guest.test import Host
from plugin import Canned, plugin


def answer(host: Host, model: str, question: str) -> str:
    request = ModelRequest([{"role": "user", "content": question}], model=model)
    Canned().complete(request, host.sink())
    return "".join(event.value for event in host.sent if isinstance(event, Text))


class Answers(unittest.TestCase):
    def test_a_known_question_has_its_answer_and_another_one_is_repeated(self) -> None:
        config = {"answers": {"ping": "pong"}}
        self.assertEqual(answer(Host(plugin, config=config), "canned", "ping"), "pong")
        self.assertEqual(answer(Host(plugin, config=config), "canned", "how are you"), "You said: how are you")

    def test_an_unknown_model_is_named(self) -> None:
        with self.assertRaisesRegex(Error, "^provider `{{name}}` has the one model `canned`, not `large`$"):
            answer(Host(plugin), "large", "ping")
