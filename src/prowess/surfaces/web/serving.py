"""Serve the web app: a port, the server on it, and an end in good order."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace

import structlog
from granian.constants import Interfaces
from granian.server.embed import Server

from prowess.runtime import Runtime
from prowess.surfaces.http.listening import (
    allow_many_connections,
    await_signals,
    choose_address,
    explain_end,
    make_server,
    wait_until_served,
)
from prowess.surfaces.http.options import HttpOptions, check_options
from prowess.surfaces.web.app import make_app
from prowess.surfaces.web.conversations.desk import Desk
from prowess.surfaces.web.guards.stream_slots import StreamSlots
from prowess.surfaces.web.scene.environment import make_environment
from prowess.surfaces.web.scene.rendering import BlockRenderer
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.skill_table import SkillTable
from prowess.surfaces.web.telemetry.logs import configure_logs
from prowess.surfaces.web.telemetry.metrics import Metrics
from prowess.surfaces.web.telemetry.traces import Traces, open_traces

__all__ = ["make_site", "serve"]

_LOG = structlog.get_logger("prowess.web")
_CLOSE_SECONDS = 10.0
"""For turns under way to be let go of."""
_STOP_SECONDS = 5.0
"""For answers under way to be taken."""
_LAST_BYTES_SECONDS = 0.05
"""For the last of them to leave this process."""


async def serve(runtime: Runtime, options: HttpOptions, *, announce: Callable[[HttpOptions], None]) -> None:
    """Serve until somebody ends it (SIGINT or SIGTERM; a second SIGINT ends the process at once).

    `announce` is told the options, with the port that was found, once connections are taken.
    """
    check_options(options)
    address, port = choose_address(options.host, options.port)
    options = replace(options, port=port)
    traces = open_traces(os.environ)
    site = make_site(runtime, options, traces=traces)
    server = make_server(
        make_app(site), address, port=port, header_seconds=options.limits.header_seconds, interface=Interfaces.ASGINL
    )
    configure_logs()  # After the server, which brings a configuration of its own.
    allow_many_connections()
    stop = await_signals()
    await site.desk.open()
    serving = asyncio.create_task(server.serve())
    try:
        await wait_until_served(address, port, serving)
        announce(options)
        await asyncio.wait([serving, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            raise explain_end(serving)
    finally:
        await _shut_down(site, server, serving)
        if traces is not None:
            await asyncio.to_thread(traces.close)


def make_site(runtime: Runtime, options: HttpOptions, *, traces: Traces | None = None) -> Site:
    """Return the parts of a server. Its desk is not open yet."""
    metrics = Metrics()
    metrics.count_skills(lambda: len(runtime.catalog().skills))
    watchers = [metrics.watch, *([traces.watch] if traces else [])]
    templates = make_environment()
    return Site(
        runtime=runtime,
        options=options,
        desk=Desk(runtime, options, watchers=watchers),
        table=SkillTable(runtime, agent=options.agent),
        metrics=metrics,
        templates=templates,
        renderer=BlockRenderer(templates),
        distant_renderer=BlockRenderer(make_environment(redacted=runtime.settings)),
        slots=StreamSlots(options.limits),
        traces=traces,
    )


async def _shut_down(site: Site, server: Server, serving: "asyncio.Task[None]") -> None:
    """End the streams, let go of the turns so that another process can take them over, and end the server."""
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await site.desk.close()
    except Exception:  # noqa: BLE001 - whatever it is, the process must end.
        _LOG.exception("conversations could not be left in good order")
    server.stop()
    await asyncio.wait([serving], timeout=_STOP_SECONDS)  # It takes no more connections; answers go on.
    until = time.monotonic() + _STOP_SECONDS
    while site.metrics.answering and time.monotonic() < until:  # noqa: ASYNC110 - it happens once, at the end
        await asyncio.sleep(0.02)
    await asyncio.sleep(_LAST_BYTES_SECONDS)
