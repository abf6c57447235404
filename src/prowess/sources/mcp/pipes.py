"""A server that is started by a command and talks by standard input and output, a message a line.

The SDK has such a transport, but one whose lines may be endless.
"""

import os
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from prowess.sources.mcp.meters import Meter, TooMuch

__all__ = ["open_pipe"]

_CHUNK = 1 << 16
_PATIENCE_SECONDS = 0.5
"""For a server to end by itself when nobody talks to it any more, and again when it is told to."""
_Incoming = SessionMessage | Exception
_Streams = tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@asynccontextmanager
async def open_pipe(
    command: Sequence[str], *, environment: Mapping[str, str], meter: Meter
) -> AsyncGenerator[_Streams, None]:
    """Start a server, and yield the streams of its messages. It has ended when this ends.

    It stays in the group of this process, so that whoever ends the group ends it too.
    """
    process = await anyio.open_process(
        list(command), env=get_default_environment() | dict(environment), stderr=subprocess.DEVNULL
    )
    incoming, received = anyio.create_memory_object_stream[_Incoming](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_receive, process, incoming, meter)
            tasks.start_soon(_send, process, sent, incoming)
            try:
                yield received, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            for stream in (incoming, received, outgoing, sent):
                await stream.aclose()


async def _receive(process: Process, incoming: MemoryObjectSendStream[_Incoming], meter: Meter) -> None:
    assert process.stdout is not None
    line = bytearray()
    with suppress(*_GONE, TooMuch):
        while True:
            part = await process.stdout.receive(_CHUNK)
            *ended, rest = part.split(b"\n")
            for piece in ended:
                line += piece
                await _deliver(bytes(line), incoming, meter)
                line.clear()
            line += rest
            meter.take(len(part), message=len(line))
    await incoming.aclose()  # Whoever waits for an answer hears that none will come.


async def _deliver(line: bytes, incoming: MemoryObjectSendStream[_Incoming], meter: Meter) -> None:
    meter.take(0, message=len(line))
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        meter.note_noise()
        return
    await incoming.send(SessionMessage(message))


async def _send(
    process: Process,
    sent: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[_Incoming],
) -> None:
    assert process.stdin is not None
    try:
        async for one in sent:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(f"{text}\n".encode())
    except _GONE:
        await incoming.aclose()


async def _end(process: Process) -> None:
    """Close its input, wait a little, then tell it to end, and then make it."""
    if process.stdin is not None:
        with suppress(*_GONE):
            await process.stdin.aclose()
    for end in (process.terminate, process.kill):
        with anyio.move_on_after(_PATIENCE_SECONDS):
            while process.returncode is None:  # noqa: ASYNC110 - to wait for it is to wait for its pipes too
                await anyio.sleep(0.01)
        if process.returncode is not None:
            break
        with suppress(ProcessLookupError):
            end()
    with anyio.move_on_after(_PATIENCE_SECONDS), suppress(*_GONE):
        while process.stdout is not None:  # What it has left in the pipe keeps the pipe open.
            await process.stdout.receive(_CHUNK)
    with anyio.move_on_after(_PATIENCE_SECONDS), suppress(OSError):
        await process.wait()


def read_variables(names: Sequence[str]) -> dict[str, str]:
    """Return the variables of this process with these names, as far as they are set."""
    return {name: os.environ[name] for name in names if name in os.environ}
