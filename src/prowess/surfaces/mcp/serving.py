"""Have the MCP server serve: one client on standard input and output, or many over HTTP."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from prowess.runtime import Runtime
from prowess.surfaces.mcp.options import McpOptions

if TYPE_CHECKING:
    from prowess.surfaces.http.options import HttpOptions
    from prowess.surfaces.mcp.visits import Hall

__all__ = ["serve_http", "serve_stdio"]

_GRACE_SECONDS = 3
_STOP_SECONDS = 5.0
"""For answers under way to be ended, and their sessions."""


def serve_stdio(runtime: Runtime, options: McpOptions) -> None:
    """Serve the one client that has started this process, until it closes standard input."""
    _log_to_stderr()
    anyio.run(_serve_stdio, runtime, options)


async def _serve_stdio(runtime: Runtime, options: McpOptions) -> None:
    from mcp.server.stdio import stdio_server

    from prowess.surfaces.mcp.server import make_server

    server, hall = make_server(runtime, options)
    _begin_collecting()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_at_a_signal, hall, runtime)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _leave_at_a_signal(hall: "Hall", runtime: Runtime) -> None:
    """End the process in order: what reads standard input cannot be interrupted."""
    if os.name == "nt":
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            with anyio.move_on_after(_GRACE_SECONDS, shield=True):
                await hall.close()
                await anyio.to_thread.run_sync(runtime.close, abandon_on_cancel=True)
            os._exit(128 + number)


def serve_http(runtime: Runtime, options: McpOptions, *, announce: Callable[[str], None]) -> None:
    """Serve clients over HTTP until the process is ended. `announce` is told the address."""
    assert options.http is not None
    _log_to_stderr()
    asyncio.run(_serve_http(runtime, options, options.http, announce))


async def _serve_http(
    runtime: Runtime, options: McpOptions, http: "HttpOptions", announce: Callable[[str], None]
) -> None:
    from granian.constants import Interfaces

    from prowess.surfaces.http import listening
    from prowess.surfaces.mcp.http_app import PATH, make_http_app

    address, port = listening.choose_address(http.host, http.port, option="--http")
    app = make_http_app(runtime, options, port=port)
    _begin_collecting()
    server = listening.make_server(
        app, address, port=port, header_seconds=http.limits.header_seconds, interface=Interfaces.ASGI
    )
    listening.allow_many_connections()
    stop = listening.await_signals()
    serving = asyncio.create_task(server.serve())
    try:
        await listening.wait_until_served(address, port, serving)
        announce(f"http://{f'[{http.host}]' if ':' in http.host else http.host}:{port}{PATH}")
        await asyncio.wait([serving, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            raise listening.explain_end(serving)
    finally:
        server.stop()
        await asyncio.wait([serving], timeout=_STOP_SECONDS)


def _begin_collecting() -> None:
    """Look for garbage from now on, and not among all that was loaded to begin with, which takes long."""
    gc.freeze()
    gc.enable()


def _log_to_stderr() -> None:
    """Keep standard output for the protocol."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
