"""Server-sent events: what is new, as long as somebody listens."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack, aclosing
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from prowess.surfaces.web.site import Site

__all__ = ["STREAM", "render_message", "stream_response", "take_slot", "wait_for"]

STREAM = "text/event-stream"
_KEEP_ALIVE_SECONDS = 15.0
_KEEP_ALIVE = b": still here\n\n"
_RETRY = b"retry: 1000\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Proxies are asked to pass everything on at once."""


def render_message(event: str, data: object, *, id_: str = "") -> bytes:
    """Return one message of a stream."""
    number = f"id: {id_}\n".encode() if id_ else b""
    return b"%sevent: %s\ndata: %s\n\n" % (number, event.encode(), msgspec.json.encode(data))


async def wait_for(bell: asyncio.Event) -> bool:
    """Wait until a bell rings, and silence it; False if it has not rung for a while."""
    try:
        async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
            await bell.wait()
    except TimeoutError:
        return False
    bell.clear()
    return True


def take_slot(site: "Site", request: Request) -> ExitStack:
    """Take a place for one more stream, until what is returned is closed; raise `Refused` if there is none."""
    return site.slots.take(request.scope.get("prowess.client", ""))


def stream_response(site: "Site", slot: ExitStack, messages: AsyncGenerator[bytes, None]) -> Response:
    """Return a response that sends messages until its client or the server goes away, and then closes its slot.

    An empty message is a sign of life.
    """
    return _Stream(site, slot, messages)


class _Stream(StreamingResponse):
    """Holds its slot from before it begins, and gives it back even if it never does."""

    def __init__(self, site: "Site", slot: ExitStack, messages: AsyncGenerator[bytes, None]) -> None:
        super().__init__(_frame(messages), media_type=STREAM, headers=_HEADERS)
        self._site = site
        self._slot = slot
        self._messages = messages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._slot)
            stack.enter_context(self._site.metrics.open_stream())
            await stack.enter_async_context(aclosing(self._messages))
            await super().__call__(scope, receive, send)


async def _frame(messages: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield _RETRY
    async for message in messages:
        yield message or _KEEP_ALIVE
