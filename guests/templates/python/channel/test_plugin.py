import unittest

from bub_guest import Error, WebhookRequest, WebhookResponse
from bub_guest.test import Host, response
from plugin import Messages, plugin


def post(body: bytes) -> WebhookResponse:
    return Messages().receive(WebhookRequest("POST", "", [], body))


class Posts(unittest.TestCase):
    def test_a_posted_message_arrives(self) -> None:
        Host(plugin)
        taken = post(b'{"id":"1","text":"hi","chat":"a"}')
        message = taken.arrivals[0].message
        self.assertEqual((taken.status, message.content, message.chat_id), (202, "hi", "a"))
        self.assertEqual(post(b"hi").status, 400)

    def test_an_answer_is_posted_and_a_busy_server_is_asked_again(self) -> None:
        config = {"url": "https://example.com/answers"}
        host = Host(plugin, config=config, http=lambda request: response(503))
        with self.assertRaises(Error) as raised:
            Messages().send(host.turn().message(), "k")
        self.assertEqual(raised.exception.kind, "temporary")
        self.assertEqual(host.requests[0].header_value("idempotency-key"), "k")

    def test_without_an_address_answers_are_logged(self) -> None:
        host = Host(plugin)
        Messages().send(host.turn().message(), "k")
        self.assertTrue(host.logged[0][1].endswith(": hello"))
