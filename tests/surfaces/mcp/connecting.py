"""Ways to be a client of the MCP server: the SDK's own, in this process, over pipes, and over HTTP."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp import StdioServerParameters
from mcp.client import Client, ClientRequestContext, IncomingMessage
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from pydantic import ConfigDict

from prowess.runtime import Runtime
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.server import make_server
from tests.surfaces.command import PROWESS

__all__ = [
    "HEADERS",
    "HELLO",
    "LEGACY",
    "MODERN",
    "TOKEN",
    "Person",
    "ask",
    "connect",
    "connect_http",
    "connect_stdio",
    "serving_http",
    "serving_within",
    "until",
    "with_client",
]

LEGACY, MODERN = "legacy", "auto"
"""Before 2026-07-28 a client shook hands and was asked in between; since then, every request stands for itself."""
TOKEN = "0123456789abcdef0123"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
"""The handshake of a client that speaks for itself."""
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
_T = TypeVar("_T")
_SECONDS = 30
_BOUNDED = Path(__file__).with_name("bounded_server.py")


class _Answer(types.Result):
    model_config = ConfigDict(extra="allow")


@dataclass
class Person:
    """Fills in the forms of a client, with one answer after the other."""

    answers: list[str] = field(default_factory=list[str])
    """What is chosen in each; `decline` and `cancel` say so instead."""
    asked: list[str] = field(default_factory=list[str])
    forms: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    waits: bool = False
    """Whether nobody ever answers."""

    async def fill(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the name is the library's
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.asked.append(params.message)
        self.forms.append(params.requested_schema)
        if self.waits:
            await anyio.sleep_forever()
        answer = self.answers.pop(0)
        if answer in ("decline", "cancel"):
            return types.ElicitResult(action=answer)  # pyright: ignore[reportArgumentType]
        return types.ElicitResult(action="accept", content={"answer": answer})


@asynccontextmanager
async def connect(
    runtime: Runtime,
    *,
    mode: str = MODERN,
    person: Person | None = None,
    heard: list[Any] | None = None,
    options: McpOptions | None = None,
) -> AsyncGenerator[Client, None]:
    """Serve a client in this very process."""
    server, _ = make_server(runtime, options or McpOptions())
    async with Client(
        server,
        mode=mode,
        elicitation_callback=person.fill if person else None,
        message_handler=_keep(heard),
        cache=None,
    ) as client:
        yield client


@asynccontextmanager
async def connect_stdio(
    *arguments: str, mode: str = MODERN, person: Person | None = None, heard: list[Any] | None = None
) -> AsyncGenerator[Client, None]:
    """Start the real command, and be its client."""
    server = StdioServerParameters(command=PROWESS, args=[*arguments, "mcp"], env=dict(os.environ))
    async with Client(
        server,
        mode=mode,
        elicitation_callback=person.fill if person else None,
        message_handler=_keep(heard),
        cache=None,
    ) as client:
        yield client


@contextmanager
def serving_http(*arguments: str, token: str = TOKEN, further: Sequence[str] = ()) -> Generator[str]:
    """Start the real command with HTTP on a free port; give its address."""
    with _serving([PROWESS, *arguments, "mcp", "--http", "127.0.0.1:0", *further], token=token) as url:
        yield url


@contextmanager
def serving_within(
    folder: str, *, web: Mapping[str, float] | None = None, mcp: Mapping[str, float] | None = None
) -> Generator[str]:
    """Serve a folder of skills over HTTP within bounds of our own; those of the user if it is empty."""
    bounds = json.dumps({"web": web or {}, "mcp": mcp or {}})
    with _serving([sys.executable, str(_BOUNDED), folder, bounds], token=TOKEN) as url:
        yield url


@contextmanager
def _serving(command: Sequence[str], *, token: str) -> Generator[str]:
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PROWESS_TOKEN": token})
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.fullmatch(r"MCP: (http://\S+)\n", line)
        assert found is not None, line
        yield found[1]
    finally:
        process.terminate()
        process.wait(_SECONDS)
        process.stderr.close()


@asynccontextmanager
async def connect_http(
    url: str,
    *,
    mode: str = MODERN,
    person: Person | None = None,
    heard: list[Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncGenerator[Client, None]:
    """Be a client over HTTP."""
    given = {"Authorization": f"Bearer {TOKEN}"} if headers is None else dict(headers)
    async with (
        httpx2.AsyncClient(headers=given, timeout=_SECONDS) as web,
        Client(
            streamable_http_client(url, http_client=web),
            mode=mode,
            elicitation_callback=person.fill if person else None,
            message_handler=_keep(heard),
            cache=None,
        ) as client,
    ):
        yield client


def _keep(heard: list[Any] | None) -> MessageHandlerFnT:
    async def keep(message: IncomingMessage) -> None:
        if heard is not None:
            heard.append(message)

    return keep


def with_client(work: Callable[[Client], Awaitable[_T]], opened: Any) -> _T:
    """Do something as a client, and leave."""

    ended: list[_T | Exception] = []

    async def run() -> None:
        with anyio.fail_after(_SECONDS):
            async with opened as client:
                try:
                    ended.append(await work(client))
                except Exception as error:  # noqa: BLE001 - so that it is not buried in groups of errors
                    ended.append(error)

    anyio.run(run)
    if isinstance(ended[0], Exception):
        raise ended[0]
    return ended[0]


async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request that the SDK has no name for."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    answer = await client.session.send_request(request, _Answer)
    return answer.model_extra or {}


async def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is waited for happens elsewhere
            await anyio.sleep(0.02)
