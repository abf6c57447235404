"""One request to an app, made by hand, so that it may be as odd as a test needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message

__all__ = ["HOST", "Answer", "ask"]

HOST = "127.0.0.1:8765"
_OWN = (("host", HOST),)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        """The code of the error that a program is told."""
        return self.json["error"]["code"]


def ask(
    app: ASGIApp,
    address: str = "/",
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = _OWN,
    body: Sequence[bytes] = (b"",),
    client: str = "127.0.0.1",
) -> Answer:
    """Make one request, its body in these parts, and return the whole answer."""
    path, _, query = address.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": (client, 1234),
        "server": ("127.0.0.1", 8765),
        "state": {},
    }
    parts = list(body)
    sent: list[Message] = []

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(app, scope, receive, send)
    begun = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return Answer(begun["status"], Headers(raw=begun["headers"]), content)
