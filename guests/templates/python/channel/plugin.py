"""A channel: a webhook for messages, and requests for answers."""

from dataclasses import dataclass
from typing import Annotated

from bub_guest import (
    Arrival,
    Channel,
    Description,
    Envelope,
    Error,
    Plugin,
    WebhookRequest,
    WebhookResponse,
    loads,
    log,
)
from bub_guest.read import read


@dataclass
class Settings:
    """The table `[plugins.{{name}}.config]`."""

    url: Annotated[str | None, "Where answers are posted; without it they are logged."] = None


plugin = Plugin("{{name}}", about="Messages in by HTTP, answers out by HTTP.", settings=Settings)
SERVER = plugin.http("*", why="to post answers; grant the host of `url` alone")
plugin.http("http://*", why="the same, where that server is on this machine")


@dataclass
class Posted:
    """The body of a request. `id` is the sender's id of the message: the same message is taken once."""

    id: str
    text: str
    chat: str = ""
    sender: str | None = None


@plugin.channel(why="to bring messages in and take answers out")
class Messages(Channel):
    def describe(self) -> Description:
        # Its address is `/channels/NAME/` of `bub-wasm serve`.
        return Description("{{name}}", webhook=True)

    def receive(self, request: WebhookRequest) -> WebhookResponse:
        """The host stores the arrivals before it sends the response, so that no message is lost."""
        if request.method != "POST":
            return respond(405, "messages are posted")
        try:
            posted: Posted = read(Posted, loads(request.body))
        except Error:
            return respond(400, "the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`")
        # `content` is what the sender wrote, and nothing else: quotations and attachments have fields of their own.
        message = Envelope(posted.text, "{{name}}", posted.chat, id=posted.id, sender=posted.sender)
        return WebhookResponse(202, arrivals=[Arrival(message)])

    def send(self, message: Envelope, key: str) -> None:
        """`key` is the same for each attempt, so that a server can ignore a repetition."""
        url = plugin.config.url
        if url is None:
            log.info(f"to chat `{message.chat_id}`: {message.content}")
            return
        answer = {"chat": message.chat_id, "text": message.content}
        # The host tries again after a `temporary` error, which `success` makes of a busy server.
        SERVER.post(url).header("idempotency-key", key).json(answer).send().success()


def respond(status: int, text: str) -> WebhookResponse:
    return WebhookResponse(status, [("content-type", "text/plain")], text.encode())
