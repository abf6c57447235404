"""A server that is reached by HTTP, with bounds on what it answers."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from prowess.sources.mcp.meters import LONGEST_MESSAGE_BYTES, Meter
from prowess.sources.mcp.servers import McpServer

__all__ = ["open_address", "read_headers"]


class _MeteredStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            self._meter.take(len(part), message=size)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _MeteredTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            self._meter.give_up("a packed answer, which nobody asked for")  # A small one may hold any amount.
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _MeteredStream(response.stream, self._meter)
        return response


@asynccontextmanager
async def open_address(server: McpServer, *, meter: Meter) -> AsyncGenerator[tuple[object, object], None]:
    """Yield the streams of the messages from and to a server. Redirects to other places are not followed."""
    headers = {"accept-encoding": "identity", **read_headers(server)}
    timeout = httpx2.Timeout(server.timeout_seconds, read=None)  # The answer is waited for, not its parts.
    async with (
        httpx2.AsyncClient(transport=_MeteredTransport(meter), headers=headers, timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST_MESSAGE_BYTES) as streams,
    ):
        yield streams


def read_headers(server: McpServer) -> dict[str, str]:
    """Return the headers that come from the environment, as far as their variables are set.

    A variable for `Authorization` may hold a bare token.
    """
    found: dict[str, str] = {}
    for header, variable in server.headers_from:
        value = os.environ.get(variable, "")
        if not value:
            continue
        is_bare = header.lower() == "authorization" and " " not in value
        found[header] = f"Bearer {value}" if is_bare else value
    return found
