"""Whoever has no token, and whoever is slow, holds up nobody else over HTTP."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.surfaces.mcp.connecting import TOKEN, serving_http, serving_within

pytestmark = pytest.mark.slow

_SILENT = 1_400
"""More than all sessions and streams that a server has at once."""
_SECONDS = 20
_HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
def _many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(4_096, before[1])), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _connect(url: str) -> socket.socket:
    _, _, port = url.removesuffix("/mcp").rpartition(":")
    return socket.create_connection(("127.0.0.1", int(port)), timeout=_SECONDS)


def _read_to_end(connection: socket.socket) -> bytes:
    with connection:
        read = b""
        while piece := connection.recv(65_536):
            read += piece
        return read


@pytest.mark.usefixtures("_many_files")
def test_silent_strangers_hold_up_nobody(skills: Path) -> None:
    with ExitStack() as open_, serving_http("--skills", str(skills)) as url:
        for _ in range(_SILENT):
            open_.enter_context(_connect(url))
        assert httpx2.post(url, json=_HELLO, headers=_HEADERS, timeout=_SECONDS).status_code == 200


def test_silent_and_slow_clients_are_given_up(skills: Path) -> None:
    with serving_within(str(skills), web={"header_seconds": 1, "body_seconds": 1}) as url:
        host = url.removeprefix("http://").removesuffix("/mcp")
        assert _read_to_end(_connect(url)) == b""
        head = _connect(url)
        head.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert _read_to_end(head) == b""
        body = _connect(url)
        given = [f"{name}: {value}" for name, value in {**_HEADERS, "Host": host, "Content-Length": "100"}.items()]
        body.sendall("\r\n".join(["POST /mcp HTTP/1.1", *given, "", '{"jsonrpc"']).encode())
        answer = _read_to_end(body)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"body-too-slow" in answer
        assert httpx2.post(url, json=_HELLO, headers=_HEADERS, timeout=_SECONDS).status_code == 200


def test_body_in_pieces_is_bounded_too(skills: Path) -> None:
    with serving_within(str(skills), mcp={"body_bytes": 1_000}) as url:
        pieces = (b"x" * 600 for _ in range(2))
        refused = httpx2.post(url, content=pieces, headers=_HEADERS, timeout=_SECONDS)
        assert (refused.status_code, refused.json()["error"]["data"]["code"]) == (413, "body-too-large")
