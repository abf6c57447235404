"""Have orders carried out by processes of their own, and end them when they take too long."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from prowess.skill.problems import make_problem
from prowess.sources.mcp.draining import Drain
from prowess.sources.mcp.orders import Order, Outcome

__all__ = ["Workers"]

_GRACE_SECONDS = 4.0
"""For a worker to start, and to end by itself when its time is over."""
_MAX_OUTCOME_BYTES = 1 << 20
_MAX_TOLD = 300


@dataclass(slots=True)
class Workers:
    """Starts workers, each for one order. Any thread may use it."""

    _running: set["subprocess.Popen[bytes]"] = field(default_factory=set["subprocess.Popen[bytes]"])
    """Those that nobody has waited for, so that no other process can have their numbers."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_closed: bool = False

    def carry_out(self, order: Order) -> Outcome:
        """Return what came of an order; it takes little longer than the order allows, whatever the server does."""
        from importlib.util import find_spec

        import msgspec

        if find_spec("mcp") is None:
            return _fail(order, "the library for MCP is missing: pip install 'prowess[mcp]'")
        with self._lock:
            if self._is_closed:
                return _fail(order, "the runtime was closed")
            try:
                worker = _start(msgspec.json.encode(order))
            except OSError as error:
                return _fail(order, f"a worker for it cannot be started: {error.strerror or error}")
            self._running.add(worker)
        assert worker.stdout is not None
        assert worker.stderr is not None
        try:
            told, complaint = Drain(worker.stdout, most=_MAX_OUTCOME_BYTES), Drain(worker.stderr, most=_MAX_TOLD)
            is_done = told.wait(order.longest_seconds + _GRACE_SECONDS)
        except RuntimeError as error:  # There are too many threads.
            return _fail(order, f"a worker for it cannot be heard: {error}")
        finally:
            self._end(worker)
        if not is_done:
            return _fail(order, f"it was not done within {order.longest_seconds:g} seconds")
        try:
            return msgspec.json.decode(told.finish(), type=Outcome)
        except msgspec.MsgspecError:
            last = complaint.finish().decode("utf-8", "replace").strip().rpartition("\n")[2]
            return _fail(order, f"what it sent could not be handled: {last or 'the worker was ended'}")

    def _end(self, worker: "subprocess.Popen[bytes]") -> None:
        """End a worker, and its server with it: also that of a worker which has ended before its time."""
        _kill(worker)
        with self._lock:
            self._running.discard(worker)
        worker.wait()

    def close(self) -> None:
        """End all workers, and start no more."""
        with self._lock:
            self._is_closed = True
            for worker in self._running:
                _kill(worker)


def _start(order: bytes) -> "subprocess.Popen[bytes]":
    """Start a worker in a group of its own, which the server that it starts is part of."""
    with tempfile.TemporaryFile() as file:  # A pipe could be full before anybody reads it.
        file.write(order)
        file.seek(0)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "prowess.sources.mcp.worker"],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def _kill(worker: "subprocess.Popen[bytes]") -> None:
    """End all of a worker's group. Nobody has waited for it, so that its number is still its own, dead or not."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            worker.kill()
        else:
            os.killpg(worker.pid, signal.SIGKILL)


def _fail(order: Order, why: str) -> Outcome:
    name = order.server.name
    return Outcome(make_problem("mcp-unreachable", f"the server '{name}': {why}", path=f"mcp:{name}"))
