"""How much of an answer is taken: a provider may be broken, or mean harm, and never come to an end."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, AsyncClient, Request, Response

__all__ = ["USUAL_BOUNDS", "AnswerBounds", "AnswerTooLong", "bound_client"]

MAX_ERROR_BYTES = 64 * 1024
"""Of the body of an answer that is an error; the rest is not read."""
MAX_LINE_BYTES = 32_000_000
"""Of one line, which libraries keep in memory until it ends: the longest answer in one piece, every sign escaped."""
MAX_BODY_BYTES = 256_000_000
"""Of a whole answer as it is sent, where every few letters stand in an envelope of their own."""
MAX_PACKED_BYTES = 8_000_000
"""Of an answer that comes packed."""
_SLICE_BYTES = 4096
_PACKING = "content-encoding"


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """How far a single answer may go."""

    characters: int = 4_000_000
    """Of text, thinking and calls together; and of what is kept of it as its provider made it."""
    calls: int = 10_000
    timeouts: float = 30.0
    """How many times `timeout_seconds` we wait for all pieces of an answer together."""


USUAL_BOUNDS = AnswerBounds()


class AnswerTooLong(Exception):
    """An answer goes beyond a bound; its text says which. It would do so again."""


def bound_client(client: "AsyncClient") -> None:
    """Let a client read only so much of any answer, and follow nobody to another place, where the key must not go.

    It asks for answers that are not packed, since a few packed bytes can be gigabytes.
    """
    client.follow_redirects = False
    hooks = client.event_hooks
    client.event_hooks = {
        "request": [*hooks["request"], _ask_for_plain],
        "response": [*hooks["response"], _bound_response],
    }


async def _ask_for_plain(request: "Request") -> None:
    request.headers["accept-encoding"] = "identity"


async def _bound_response(response: "Response") -> None:
    packed = response.headers.get(_PACKING, "identity").strip().lower() not in {"", "identity"}
    if response.is_success:
        bounded = _read_packed if packed else _read_answer
    else:
        bounded = _read_nothing if packed else _read_error
        response.headers.pop(_PACKING, None)
    response.stream = _stream_class()(response.stream, bounded)


async def _read_answer(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    whole = line = 0
    async for part in parts:
        whole += len(part)
        end = max(part.rfind(b"\n"), part.rfind(b"\r"))
        line = line + len(part) if end < 0 else len(part) - end - 1
        if line > MAX_LINE_BYTES:
            raise AnswerTooLong(f"over {MAX_LINE_BYTES:,} bytes in one line")
        if whole > MAX_BODY_BYTES:
            raise AnswerTooLong(f"over {MAX_BODY_BYTES:,} bytes")
        yield part


async def _read_error(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    left = MAX_ERROR_BYTES
    async for part in parts:
        yield part[:left]
        left -= len(part)
        if left <= 0:
            return


async def _read_packed(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass on what is packed although it was not wanted so: in slices, so that each unpacks to a few megabytes."""
    whole = 0
    async for part in parts:
        whole += len(part)
        if whole > MAX_PACKED_BYTES:
            raise AnswerTooLong(f"over {MAX_PACKED_BYTES:,} bytes, packed")
        for start in range(0, len(part), _SLICE_BYTES):
            yield part[start : start + _SLICE_BYTES]


async def _read_nothing(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    del parts
    yield b""


@cache
def _stream_class() -> "Callable[[Any, Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]], AsyncByteStream]":
    """Return a stream for the clients of both generations of the library, which some providers' libraries divide."""
    from httpx2 import AsyncByteStream

    try:
        from httpx import AsyncByteStream as OldStream
    except ImportError:
        OldStream = object  # noqa: N806 - a class

    class BoundedStream(AsyncByteStream, OldStream):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
        def __init__(self, inner: Any, read: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]) -> None:
            self._inner = inner
            self._read = read

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._read(aiter(self._inner)):
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    return BoundedStream
