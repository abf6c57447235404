"""Take what a process writes as it comes, and keep a bounded part of it."""

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from prowess.execution.jobs import Captured, Listener, Stream
from prowess.execution.stopping import check_stopped

__all__ = ["Capture", "Drained", "Filter", "drain"]

_PART_BYTES = 1 << 16
_TICK_SECONDS = 0.05
"""How often the bounds are looked at that nothing announces."""
_GRACE_SECONDS = 0.5
"""How long after a deadline the loop may come to it by itself."""
_LAST_SECONDS = 10.0
"""How long streams may stay open after all that could write to them was ended."""


class Filter(Protocol):
    """Changes a stream on its way, as one that takes secrets out."""

    def feed(self, part: bytes, /) -> bytes: ...
    def finish(self) -> bytes: ...


class Capture:
    """The beginning and the end of a stream, each up to half of the limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_limit = limit_bytes - limit_bytes // 2
        self._tail_limit = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._bytes = 0

    def feed(self, part: bytes) -> None:
        """Take the next part."""
        self._bytes += len(part)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += part[:room]
            part = part[room:]
        if not part or not self._tail_limit:
            return
        self._tail += part[-self._tail_limit :]
        if len(self._tail) >= 2 * self._tail_limit:  # Seldom, so that a byte is moved but once or twice.
            del self._tail[: -self._tail_limit]

    def finish(self) -> Captured:
        """Return what was kept, with a notice in the place of what was not."""
        kept_tail = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        left_out = self._bytes - len(self._head) - len(kept_tail)
        if left_out == 0:
            return Captured(bytes(self._head) + kept_tail, self._bytes)
        notice = f"\n[… {left_out:,} bytes left out: output is cut at {self._head_limit + self._tail_limit:,} …]\n"
        return Captured(bytes(self._head) + notice.encode() + kept_tail, self._bytes, truncated=True)


@dataclass(frozen=True, slots=True)
class Drained:
    """What a process has written, and why it had to be ended, if it had."""

    stdout: Captured
    stderr: Captured
    timed_out: bool = False
    fault: str = ""
    """The bound that it reached, in a sentence."""


class _Sink:
    """Where one stream goes: through its filter to the listener and into a capture."""

    def __init__(self, stream: Stream, limit_bytes: int, through: Filter | None, listener: Listener) -> None:
        self._stream = stream
        self._capture = Capture(limit_bytes)
        self._filter = through
        self._listener = listener

    def feed(self, part: bytes) -> None:
        self._pass_on(self._filter.feed(part) if self._filter else part)

    def finish(self) -> Captured:
        if self._filter:
            self._pass_on(self._filter.finish())
        return self._capture.finish()

    def _pass_on(self, part: bytes) -> None:
        if part:
            self._capture.feed(part)
            self._listener(self._stream, part)


def drain(
    process: subprocess.Popen[bytes],
    *,
    deadline: float,
    limit_bytes: int,
    filters: Mapping[Stream, Filter],
    listener: Listener,
    check: Callable[[], str],
    end: Callable[[], None],
) -> Drained:
    """Read both streams of a process to their ends, and see it to its own: it may close them and go on.

    At the deadline, on the clock that never goes back, or when `check` names a bound that was reached, `end` is called,
    which must end everything that could write. What `check`, a filter or the listener raises is passed on, as is
    `Stopped`, with the process as it is: ending it is the caller's part then, as it is when the streams stay open after
    `end`.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    ends = {process.stdout.fileno(): Stream.STDOUT, process.stderr.fileno(): Stream.STDERR}
    sinks = {stream: _Sink(stream, limit_bytes, filters.get(stream), listener) for stream in Stream}
    end = _once(end)  # The watcher may call it as well, from its thread.
    timed_out, fault, ended_at, next_check = False, "", 0.0, time.monotonic() + _TICK_SECONDS
    with _time_limit(deadline, end), selectors.DefaultSelector() as selector:
        for handle, stream in ends.items():
            os.set_blocking(handle, False)
            selector.register(handle, selectors.EVENT_READ, stream)
        while selector.get_map() or process.poll() is None:
            now = time.monotonic()
            if not ended_at:
                if now >= next_check:
                    check_stopped()
                    fault, next_check = check(), now + _TICK_SECONDS
                timed_out = now >= deadline and not fault
                if timed_out or fault:
                    ended_at = now
                    end()
            elif now - ended_at > _LAST_SECONDS:
                break
            patience = _TICK_SECONDS if ended_at else max(0.0, min(_TICK_SECONDS, deadline - now))
            if not selector.get_map():
                _wait(process, patience)
                continue
            for key, _ in selector.select(patience):
                _read_part(key.fd, sinks[key.data], selector)
    return Drained(sinks[Stream.STDOUT].finish(), sinks[Stream.STDERR].finish(), timed_out, fault)


def _once(end: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does it when it is first called; whoever else calls it finds it done."""
    lock, called = threading.Lock(), threading.Event()

    def call() -> None:
        with lock:
            if not called.is_set():
                called.set()
                end()

    return call


@contextmanager
def _time_limit(deadline: float, end: Callable[[], None]) -> Generator[None]:
    """End the process soon after the deadline even if the block is held up by a listener that waits for its reader."""
    over = threading.Event()

    def watch() -> None:
        if not over.wait(max(0.0, deadline - time.monotonic()) + _GRACE_SECONDS):
            end()

    watcher = threading.Thread(target=watch, name="prowess-time-limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _read_part(handle: int, sink: _Sink, selector: selectors.BaseSelector) -> None:
    try:
        part = os.read(handle, _PART_BYTES)
    except BlockingIOError:
        return
    if part:
        sink.feed(part)
    else:
        selector.unregister(handle)
