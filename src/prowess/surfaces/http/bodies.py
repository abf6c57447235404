"""The body of a request, taken within bounds of size and time."""

import asyncio

from starlette.types import Message, Receive

from prowess.surfaces.http.options import HttpLimits
from prowess.surfaces.http.refusals import RequestRefused

__all__ = ["CLOSE", "BoundedBody", "refuse_size"]

CLOSE = {"Connection": "close"}
"""What a client goes on to send must not be taken for its next request."""


def refuse_size(limits: HttpLimits) -> RequestRefused:
    """Return the refusal of a body that is too large."""
    return RequestRefused(
        f"the body is larger than {limits.body_bytes:,} bytes", status=413, code="body-too-large", headers=CLOSE
    )


class BoundedBody:
    """Takes a body within its bounds; once it is whole, waits for as long as its reader likes."""

    def __init__(self, receive: Receive, limits: HttpLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._size = 0
        self._is_whole = False
        self._deadline = asyncio.get_running_loop().time() + limits.body_seconds

    async def receive(self) -> Message:
        """Return the next piece. Raise `RequestRefused` if it comes too late, or is too much."""
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise RequestRefused(
                "the body takes too long to come", status=408, code="body-too-slow", headers=CLOSE
            ) from None
        self._size += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._size > self._limits.body_bytes:
            raise refuse_size(self._limits)
        return message
