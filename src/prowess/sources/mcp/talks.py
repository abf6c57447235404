"""Talk with one server about its skills. Everything that it says is a value to be judged, or a `TalkFailed`.

What goes wrong on this side while it talks, as a full disk does, is no failure of the talk and is raised as it is.
"""

import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from mcp import Client
from mcp.client import advertise
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    BlobResourceContents,
    Implementation,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    Request,
)
from pydantic import BaseModel, ValidationError

from prowess.sources.mcp.addresses import open_address
from prowess.sources.mcp.listed import MAX_SKILLS
from prowess.sources.mcp.meters import Meter
from prowess.sources.mcp.pipes import open_pipe, read_variables
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.wire import EXTENSION, GET_METHOD, LIST_METHOD
from prowess.version import __version__

__all__ = ["Talk", "TalkFailed", "converse"]

MAX_PAGES = 200
_MAX_CURSOR = 10_000
_SHOWN = 300
_T = TypeVar("_T")


class _Answer(BaseModel, extra="allow"):
    """Whatever a server answers to a method of the extension."""


class TalkFailed(Exception):
    """A server did not answer, or not in a way that can be used."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Talk:
    """What can be asked of a server that is connected."""

    def __init__(self, client: Client, server: McpServer, meter: Meter) -> None:
        self._client = client
        self._server = server
        self._meter = meter

    async def list_skills(self) -> list[object]:
        """Return the entries of all pages, unjudged; the pages after too many skills are not asked for."""
        found: list[object] = []
        cursor: object = None
        for _ in range(MAX_PAGES):
            page = await self._ask(LIST_METHOD, {} if cursor is None else {"cursor": cursor})
            entries = page.get("skills")
            if not isinstance(entries, list):
                raise TalkFailed("mcp-bad-answer", f"its answer to {LIST_METHOD} holds no list of skills")
            found += cast("list[object]", entries)
            cursor = page.get("nextCursor")
            if cursor is None or len(found) > MAX_SKILLS:
                return found
            if not isinstance(cursor, str) or len(cursor) > _MAX_CURSOR:
                raise TalkFailed("mcp-bad-answer", f"its answer to {LIST_METHOD} has a cursor that is none")
        raise TalkFailed("mcp-bad-answer", f"its list has more than {MAX_PAGES} pages")

    async def get_skill(self, uri: str) -> object:
        """Return the entry of one skill, unjudged."""
        return (await self._ask(GET_METHOD, {"uri": uri})).get("skill")

    async def read(self, uri: str, *, size_bytes: int, seconds: float | None = None) -> bytes:
        """Return the bytes of one file, which has so many as it is listed; within so many seconds if they are given."""
        self._meter.expect(size_bytes)
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        with self._answering(f"the file {_show(uri)}"):
            result = await self._client.session.send_request(request, ReadResourceResult, seconds)
        contents = result.contents
        if len(contents) != 1 or str(contents[0].uri) != uri:
            raise TalkFailed("mcp-bad-answer", f"its answer for {_show(uri)} is not that one file")
        content = contents[0]
        try:
            if isinstance(content, BlobResourceContents):
                return base64.b64decode(content.blob, validate=True)
            return content.text.encode()
        except (binascii.Error, ValueError) as error:
            raise TalkFailed("mcp-bad-answer", f"its answer for {_show(uri)} cannot be decoded") from error

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        request = Request[dict[str, Any], str](method=method, params=params)
        with self._answering(method):
            answer = await self._client.session.send_request(request, _Answer)
        return answer.model_extra or {}

    @contextmanager
    def _answering(self, what: str) -> Generator[None]:
        try:
            yield
        except MCPError as error:
            raise self._name_error(what, error) from error
        except (ValidationError, RuntimeError) as error:  # An answer of the wrong form, or one that asks back.
            message = f"its answer to {what} is not of the form that it should have"
            raise TalkFailed("mcp-bad-answer", message) from error
        except Exception as error:  # Whatever else the SDK raises tells of this one server.
            raise _name_failure(error, self._server, self._meter) from error

    def _name_error(self, what: str, error: MCPError) -> TalkFailed:
        if self._meter.fault:
            return TalkFailed("mcp-bad-answer", self._meter.fault)
        if error.error.code == REQUEST_TIMEOUT:
            return _name_silence(what, self._server, self._meter)
        if error.error.code == CONNECTION_CLOSED:
            return TalkFailed("mcp-unreachable", f"it went away when it was asked for {what}")
        return TalkFailed("mcp-bad-answer", f"it answered {what} with an error: {_show(error.error.message)}")


async def converse(
    server: McpServer, work: Callable[[Talk], Awaitable[_T]], *, opened: Callable[[], None] = lambda: None
) -> _T:
    """Connect to a server that speaks the skills extension, and return what came of the talk; raise TalkFailed if none.

    Whatever else the work raises is raised, and says nothing of the server.

    `opened` is called when the server has been started, or its address is about to be called: before it says anything.
    """
    meter = Meter()
    outcome: list[_T | Exception] = []
    client = Client(
        _open(server, meter, opened),
        extensions=[advertise(EXTENSION, {})],
        cache=None,
        client_info=Implementation(name="prowess", version=__version__),
        read_timeout_seconds=server.timeout_seconds,
    )
    try:
        async with client:
            outcome.append(await _work(client, Talk(client, server, meter), work))
    except Exception as error:  # Whatever the SDK raises tells of this one server.
        if not outcome:  # Else the talk was over, and how it was closed matters to nobody.
            raise _name_failure(error, server, meter) from error
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


@asynccontextmanager
async def _open(server: McpServer, meter: Meter, opened: Callable[[], None]) -> AsyncGenerator[Any, None]:
    if server.command:
        async with open_pipe(server.command, environment=read_variables(server.variables), meter=meter) as streams:
            opened()
            yield streams
        return
    opened()
    async with open_address(server, meter=meter) as streams:
        yield streams


async def _work(client: Client, talk: Talk, work: Callable[[Talk], Awaitable[_T]]) -> _T | Exception:
    """Return a failure as a value: raised, it would come out of the SDK in groups, among those of the server."""
    told = client.server_capabilities
    if EXTENSION not in (told.extensions or {}) and EXTENSION not in (told.experimental or {}):
        return TalkFailed("mcp-no-extension", f"it does not speak the extension {EXTENSION}")
    try:
        return await work(talk)
    except Exception as failure:  # noqa: BLE001 - it is raised again when the server is gone
        return failure


def _name_failure(error: BaseException, server: McpServer, meter: Meter) -> TalkFailed:
    """Say why there was no talk, by the first error in what may be a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if meter.fault:
        return TalkFailed("mcp-bad-answer", meter.fault)
    if server.command and isinstance(error, OSError):
        return TalkFailed("mcp-unreachable", f"it cannot be started: {server.command[0]}: {error.strerror or error}")
    if isinstance(error, MCPError) and error.error.code == REQUEST_TIMEOUT:
        return _name_silence("its greeting", server, meter)
    if server.command and isinstance(error, MCPError) and error.error.code == CONNECTION_CLOSED:
        return TalkFailed("mcp-unreachable", "it ended before it answered")
    if isinstance(error, MCPError):
        return TalkFailed("mcp-unreachable", f"it cannot be talked to: {_show(error.error.message)}")
    return TalkFailed("mcp-unreachable", f"it cannot be reached: {type(error).__name__}: {_show(str(error))}")


def _name_silence(what: str, server: McpServer, meter: Meter) -> TalkFailed:
    if meter.noise:
        return TalkFailed("mcp-bad-answer", f"it answered {what} with {meter.noise:,} lines that are no messages")
    return TalkFailed("mcp-unreachable", f"it gave no answer to {what} within {server.timeout_seconds} seconds")


def _show(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
