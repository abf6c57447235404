"""Have an app listen: a free port, a server on it that no silent client can hold up, and the signals that end it."""

import asyncio
import errno
import logging
import os
import signal
import socket
from contextlib import suppress

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server
from starlette.types import ASGIApp

from prowess.errors import WorldError
from prowess.surfaces.http.options import NEAR

__all__ = [
    "allow_many_connections",
    "await_signals",
    "choose_address",
    "explain_end",
    "make_server",
    "wait_until_served",
]

_LOG = logging.getLogger("prowess")
_CONNECTIONS = 8_192
_WAITING_CONNECTIONS = 1_024
_FILES = 10_000
_HEADER_BYTES = 65_536
_START_SECONDS = 10.0
_INTERRUPTED = 130


def choose_address(host: str, port: int, *, option: str = "--host and --port") -> tuple[str, int]:
    """Return the address to listen on, and a port that is free there: the given one, or any for 0.

    `option` is what whoever started the server says it by. Raise `WorldError` if it cannot be.

    The server shares ports on Linux. Two of them on one port would answer in turns, and nobody would know why; so
    this tries the port first without sharing.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            if os.name == "posix":  # Elsewhere, it would take the port from whoever has it.
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
            return str(place[0]), trial.getsockname()[1]
    except socket.gaierror as error:
        raise WorldError(
            f"no machine here is called '{host}'",
            hint=f"give an address of this machine: {option}",
            code="no-such-host",
        ) from error
    except (OSError, OverflowError) as error:
        raise _explain_port(error, host=host, port=port, option=option) from error


def _explain_port(error: Exception, *, host: str, port: int, option: str) -> WorldError:
    reason = getattr(error, "errno", None)
    if reason == errno.EADDRINUSE:
        message, code = f"port {port} of {host} is taken", "port-taken"
        hint = f"take another: {option}, where port 0 is any that is free"
    elif reason == errno.EACCES:
        message, hint, code = f"port {port} may not be used", f"take one from 1024 up: {option}", "port-refused"
    else:
        message, code = f"{host} port {port} cannot be listened on: {error}", "no-port"
        hint = f"give another address: {option}"
    return WorldError(message, hint=hint, code=code)


def make_server(app: ASGIApp, address: str, *, port: int, header_seconds: float, interface: Interfaces) -> Server:
    """Return a server. Whoever does not send the whole header of a request in time is let go, and holds up nobody."""
    return Server(
        app,
        address=address,
        port=port,
        interface=interface,
        http=HTTPModes.http1,
        websockets=False,
        backlog=_WAITING_CONNECTIONS,
        backpressure=_CONNECTIONS,
        http1_settings=HTTP1Settings(header_read_timeout=int(header_seconds * 1_000), max_buffer_size=_HEADER_BYTES),
        log_enabled=False,
    )


def allow_many_connections() -> None:
    """Raise the number of files that this process may have open, where that is allowed; some systems begin at 256."""
    try:
        import resource
    except ImportError:  # Windows counts no files.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def await_signals() -> asyncio.Event:
    """Return what is set at the first SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hear(number: int, _frame: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            logging.shutdown()
            os._exit(_INTERRUPTED)
        loop.call_soon_threadsafe(stop.set)

    # The loop hears of signals by a pipe of its own, and loses those that come while this is full, as when hundreds of
    # clients leave at once. So it is only woken that way, and what is to be done is done by a handler of the process.
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no such handlers.
            loop.add_signal_handler(number, _wake)
        signal.signal(number, hear)
    return stop


def _wake() -> None:
    """Do nothing: the loop is awake."""


async def wait_until_served(address: str, port: int, serving: "asyncio.Task[None]") -> None:
    """Return once a connection succeeds."""
    target = NEAR.get(address, address)
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not serving.done():
                with suppress(OSError):
                    _, writer = await asyncio.open_connection(target, port)
                    writer.close()
                    return
                await asyncio.sleep(0.01)
    except TimeoutError:
        pass
    raise explain_end(serving)


def explain_end(serving: "asyncio.Task[None]") -> WorldError:
    """Return the error for a server that has ended by itself; the log says more."""
    reason = serving.exception() if serving.done() and not serving.cancelled() else None
    _LOG.error("the server does not serve", exc_info=reason)
    return WorldError("the server does not serve", hint="its log says more; start it again", code="not-serving")
