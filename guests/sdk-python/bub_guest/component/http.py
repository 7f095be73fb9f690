"""HTTP requests over `wasi:http`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..http import HttpError, Request, Stream, parts
from .wire import module

_PIECE = 64 << 10


class Requests:
    """Sends requests by the bindings of `wasi:http`."""

    def __init__(self) -> None:
        self.types = module("wasi:http/types")
        self.handler = module("wasi:http/outgoing-handler")
        self.closed = module("wasi:io/streams").StreamError_Closed

    def open(self, request: Request) -> Stream:
        """Sends a request, and waits for the head of its response."""
        from componentize_py_types import Err

        try:
            return self._open(request)
        except Err as error:
            raise self._failed(error.value) from None

    def _open(self, request: Request) -> Stream:
        from componentize_py_types import Err

        wasi = self.types
        scheme, authority, path = parts(request.url)
        headers = list(request.headers)
        if request.content is not None:
            headers.append(("content-length", str(len(request.content))))
        fields = wasi.Fields()
        for name, value in headers:
            try:
                fields.append(name, value.encode())
            except (Err, UnicodeEncodeError):
                raise HttpError("invalid", f"header `{name}` cannot be sent") from None
        outgoing = wasi.OutgoingRequest(fields)
        try:
            outgoing.set_method(self._method(request.method))
            outgoing.set_scheme(wasi.Scheme_Http() if scheme == "http" else wasi.Scheme_Https())
            outgoing.set_authority(authority)
            outgoing.set_path_with_query(path)
        except (Err, UnicodeEncodeError):
            raise HttpError("invalid", f"`{request.url}` is no address") from None
        options = wasi.RequestOptions()
        for limit in (options.set_first_byte_timeout, options.set_between_bytes_timeout):
            try:
                limit(int(request.seconds * 1e9))
            except Err:
                pass  # A host that does not know such limits has limits of its own.
        body = outgoing.body()
        coming = self.handler.handle(outgoing, options)
        if request.content is not None:
            self._write(body, request.content)
        try:
            wasi.OutgoingBody.finish(body, None)
        except Err:
            pass  # A server that hangs up in the middle says why in its response, or there is none.
        coming.subscribe().block()
        answer = coming.get()
        if answer is None or isinstance(answer, Err):
            raise HttpError("broken", "the answer was taken before")
        if isinstance(answer.value, Err):
            raise self._failed(answer.value.value)
        response = answer.value.value
        incoming = response.consume()
        return Stream(response.status(), response.headers().entries(), self._pieces(response, incoming))

    def _method(self, name: str) -> Any:
        known = {"GET": "Get", "HEAD": "Head", "POST": "Post", "PUT": "Put", "DELETE": "Delete", "PATCH": "Patch"}
        return getattr(self.types, f"Method_{known[name]}")() if name in known else self.types.Method_Other(name)

    def _write(self, body: Any, content: bytes) -> None:
        from componentize_py_types import Err

        with body.write() as stream:
            try:
                for at in range(0, len(content), 4096):
                    stream.blocking_write_and_flush(content[at : at + 4096])
            except Err:
                pass

    def _pieces(self, response: Any, incoming: Any) -> Iterator[bytes]:
        from componentize_py_types import Err

        # The order matters: what was made last is released first.
        with response, incoming, incoming.stream() as stream:
            while True:
                try:
                    piece = stream.blocking_read(_PIECE)
                except Err as error:
                    if isinstance(error.value, self.closed):
                        return
                    raise HttpError("broken", "the answer was cut off") from None
                if piece:
                    yield bytes(piece)

    def _failed(self, code: Any) -> HttpError:
        name = type(code).__name__.removeprefix("ErrorCode_")
        value = getattr(code, "value", None)
        if name == "HttpRequestDenied":
            return HttpError("denied", "the host refused the request; its log says why")
        if name == "DestinationIpProhibited":
            said = "the server's address is not public; grant `http:` with exactly that host"
            return HttpError("private-address", said)
        if name == "HttpRequestBodySize":
            return HttpError("request-too-large", f"it is larger than the {(value or 0) >> 20} MiB of a request")
        if name == "HttpResponseBodySize":
            return HttpError("response-too-large", "the answer is larger than an answer may be")
        if name == "HttpRequestUriInvalid":
            return HttpError("invalid", "the address leads nowhere")
        if name in ("HttpResponseTimeout", "ConnectionTimeout", "ConnectionReadTimeout"):
            return HttpError("timeout", "it did not answer in time")
        if name == "InternalError" and value:
            # The server's address stands in front, and is said by the code that shows this.
            _, separator, behind = value.partition("`: ")
            return HttpError("broken", behind if separator and value.startswith("`") else value)
        return HttpError("broken", name)
