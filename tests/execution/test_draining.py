"""Draining: floods stay bounded, nothing is lost or out of order, and everything ends."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.execution.draining import Capture, Drained, Filter, drain
from prowess.execution.jobs import Captured, Listener, Stream
from prowess.execution.sandbox import hear_nothing

pytestmark = pytest.mark.slow

_SECONDS = 30.0
Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start shell scripts, each in a group of processes of its own, all of which are gone in the end."""
    started: list[subprocess.Popen[bytes]] = []

    def _start(script: str) -> subprocess.Popen[bytes]:
        command = ["sh", "-c", script]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        started.append(process)
        return process

    yield _start
    for process in started:
        _end_group(process)
        with process:
            pass


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _drain(
    process: subprocess.Popen[bytes],
    *,
    seconds: float = _SECONDS,
    limit_bytes: int = 1_000,
    filters: Mapping[Stream, Filter] | None = None,
    listener: Listener = hear_nothing,
    check: Callable[[], str] = lambda: "",
    end: Callable[[], None] | None = None,
) -> Drained:
    return drain(
        process,
        deadline=time.monotonic() + seconds,
        limit_bytes=limit_bytes,
        filters=filters or {},
        listener=listener,
        check=check,
        end=end or (lambda: _end_group(process)),
    )


def _capture(limit_bytes: int, *parts: bytes) -> Captured:
    capture = Capture(limit_bytes)
    for part in parts:
        capture.feed(part)
    return capture.finish()


# What is kept


def test_output_within_the_limit_is_kept_as_it_is() -> None:
    assert _capture(10, b"01234", b"56789") == Captured(b"0123456789", 10)


@pytest.mark.requirement("R96")
def test_beginning_and_end_are_kept_with_a_notice_of_what_was_cut() -> None:
    notice = "\n[… 1,994 bytes left out: output is cut at 6 …]\n".encode()
    assert _capture(6, b"abc", b"x" * 1_994, b"123") == Captured(b"abc" + notice + b"123", 2_000, truncated=True)


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_smallest_limits_keep_no_more_than_they_say(limit: int) -> None:
    notice = f"\n[… {9 - limit} bytes left out: output is cut at {limit} …]\n".encode()
    whole = b"123456789"
    head, tail = whole[: limit - limit // 2], whole[9 - limit // 2 :]
    assert _capture(limit, *(whole[at : at + 1] for at in range(9))) == Captured(
        head + notice + tail, 9, truncated=True
    )


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=20), st.integers(0, 200))
def test_capture_is_the_same_however_the_output_is_cut(whole: bytes, cuts: list[int], limit: int) -> None:
    places = [0, *sorted(cuts), len(whole)]
    assert _capture(limit, *(whole[start:end] for start, end in pairwise(places))) == _capture(limit, whole)


@given(st.binary(max_size=300), st.integers(0, 200))
def test_capture_holds_the_beginning_the_end_and_the_count(whole: bytes, limit: int) -> None:
    captured = _capture(limit, whole)
    head, tail = limit - limit // 2, limit // 2
    assert captured.size_bytes == len(whole)
    assert captured.truncated == (len(whole) > limit)
    assert captured.content.startswith(whole[:head])
    assert captured.content.endswith(whole[len(whole) - tail :] if captured.truncated else whole)


@pytest.mark.parametrize("part_bytes", [1, 2, 4_096, 1 << 20])
def test_capture_takes_memory_in_proportion_to_its_limit(part_bytes: int) -> None:
    limit, part = 30_000, b"x" * part_bytes
    tracemalloc.start()
    try:
        capture = Capture(limit)
        for _ in range(max(16, 3 * limit // part_bytes)):
            capture.feed(part)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * limit + part_bytes


# Processes


def test_both_streams_are_read_to_their_ends(start: Start) -> None:
    drained = _drain(start("echo out; echo err >&2; exit 3"))
    assert drained == Drained(Captured(b"out\n", 4), Captured(b"err\n", 4))


def test_process_is_seen_to_its_end(start: Start) -> None:
    process = start("echo out; exit 3")
    _drain(process)
    assert process.returncode == 3


_FLOOD = "head -c 40000000 /dev/zero | tr '\\0' o & head -c 40000000 /dev/zero | tr '\\0' e >&2; wait"
_MEASURED = f"""
import resource, subprocess, sys, time
from prowess.execution.draining import drain
process = subprocess.Popen(["sh", "-c", sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
drained = drain(process, deadline=time.monotonic() + {_SECONDS}, limit_bytes=1_000_000, filters={{}},
                listener=lambda *_: None, check=lambda: "", end=process.kill)
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(drained.stdout.size_bytes, drained.stderr.size_bytes, len(drained.stdout.content), more < 12_000, process.wait())
"""


@pytest.mark.requirement("R96")
def test_flood_on_both_streams_takes_bounded_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _MEASURED, _FLOOD], capture_output=True, text=True, check=True)
    notice = "\n[… 39,000,000 bytes left out: output is cut at 1,000,000 …]\n".encode()
    assert done.stdout.split() == ["40000000", "40000000", str(1_000_000 + len(notice)), "True", "0"]


@pytest.mark.requirement("R96")
def test_flood_without_end_is_ended_at_the_deadline(start: Start) -> None:
    process = start("yes & yes >&2")
    begun = time.monotonic()
    drained = _drain(process, seconds=0.3, limit_bytes=10)
    assert time.monotonic() - begun < 5
    assert (drained.timed_out, drained.fault, drained.stdout.truncated, drained.stderr.truncated) == (
        True,
        "",
        True,
        True,
    )
    assert process.returncode == -signal.SIGKILL


def test_what_was_written_before_the_deadline_is_kept(start: Start) -> None:
    drained = _drain(start("echo out; echo err >&2; sleep 60"), seconds=0.3)
    assert drained == Drained(Captured(b"out\n", 4), Captured(b"err\n", 4), timed_out=True)


def test_deadline_that_has_passed_ends_a_process_at_once(start: Start) -> None:
    begun = time.monotonic()
    assert _drain(start("sleep 60"), seconds=-5).timed_out
    assert time.monotonic() - begun < 5


@pytest.mark.requirement("R96")
def test_process_that_closes_its_streams_may_go_on_until_the_deadline(start: Start) -> None:
    process = start("echo out; exec >&- 2>&-; sleep 0.4; exit 5")
    assert _drain(process) == Drained(Captured(b"out\n", 4), Captured())
    assert process.returncode == 5
    process = start("exec >&- 2>&-; sleep 60")
    assert _drain(process, seconds=0.3) == Drained(Captured(), Captured(), timed_out=True)
    assert process.returncode == -signal.SIGKILL


def test_bounds_are_looked_at_after_a_process_has_closed_its_streams(start: Start) -> None:
    process = start("exec >&- 2>&-; sleep 60")
    assert _drain(process, check=lambda: "memory") == Drained(Captured(), Captured(), fault="memory")


def test_orphan_that_keeps_a_stream_open_is_waited_for_and_ended(start: Start) -> None:
    process = start("sleep 60 & echo out")
    ended: list[float] = []

    def _end() -> None:
        ended.append(time.monotonic())
        _end_group(process)

    begun = time.monotonic()
    assert _drain(process, seconds=0.3, end=_end) == Drained(Captured(b"out\n", 4), Captured(), timed_out=True)
    assert len(ended) == 1
    assert time.monotonic() - begun < 5
    assert process.returncode == 0


def test_drain_ends_even_if_the_streams_do_not(start: Start) -> None:
    process = start("setsid sh -c 'echo $$; exec sleep 60' &")
    begun = time.monotonic()
    drained = _drain(process, seconds=0.5)
    seconds = time.monotonic() - begun
    os.kill(int(drained.stdout.content), signal.SIGKILL)
    assert (drained.timed_out, 9 < seconds < 30) == (True, True)


def test_check_that_finds_a_fault_ends_the_process_once(start: Start) -> None:
    process = start("echo out; sleep 60")
    answers = iter(["", "", "memory", "processes"])
    ended: list[str] = []

    def _end() -> None:
        ended.append("ended")
        _end_group(process)

    drained = _drain(process, check=lambda: next(answers), end=_end)
    assert drained == Drained(Captured(b"out\n", 4), Captured(), fault="memory")
    assert (ended, next(answers)) == (["ended"], "processes")


def test_deadline_that_comes_while_a_listener_waits_ends_the_process_once(start: Start) -> None:
    process = start("echo out; sleep 60")
    ended: list[str] = []
    is_ended = threading.Event()

    def _end() -> None:
        ended.append(threading.current_thread().name)
        _end_group(process)
        is_ended.set()

    def _listen(_stream: Stream, _part: bytes) -> None:
        assert is_ended.wait(_SECONDS)

    drained = _drain(process, seconds=0.1, listener=_listen, end=_end)
    assert (drained.timed_out, ended) == (True, ["prowess-time-limit"])


def test_check_is_asked_while_output_floods(start: Start) -> None:
    begun = time.monotonic()
    drained = _drain(start("yes"), check=lambda: "memory" if time.monotonic() - begun > 0.3 else "")
    assert (drained.timed_out, drained.fault) == (False, "memory")


# Filters and listeners


class _Marking:
    """Keeps what it is fed, holds the last byte back, and ends with a mark."""

    def __init__(self) -> None:
        self.fed = b""
        self._held = b""

    def feed(self, part: bytes, /) -> bytes:
        self.fed += part
        out, self._held = (self._held + part)[:-1], part[-1:]
        return out.lower()

    def finish(self) -> bytes:
        return self._held.lower() + b"."


def test_filters_see_every_byte_in_order_and_listeners_what_is_left(start: Start) -> None:
    filters = {stream: _Marking() for stream in Stream}
    heard = dict.fromkeys(Stream, b"")

    def _listen(stream: Stream, part: bytes) -> None:
        assert part
        heard[stream] += part

    process = start("for i in $(seq 300); do echo OUT$i; echo ERR$i >&2; done")
    drained = _drain(process, limit_bytes=1_000_000, filters=filters, listener=_listen)
    whole = {
        Stream.STDOUT: "".join(f"OUT{i}\n" for i in range(1, 301)).encode(),
        Stream.STDERR: "".join(f"ERR{i}\n" for i in range(1, 301)).encode(),
    }
    assert {stream: one.fed for stream, one in filters.items()} == whole
    assert heard == {stream: text.lower() + b"." for stream, text in whole.items()}
    assert (drained.stdout.content, drained.stderr.content) == (heard[Stream.STDOUT], heard[Stream.STDERR])


def test_filter_of_one_stream_leaves_the_other_alone(start: Start) -> None:
    drained = _drain(start("echo OUT; echo ERR >&2"), filters={Stream.STDERR: _Marking()})
    assert drained == Drained(Captured(b"OUT\n", 4), Captured(b"err\n.", 5))


def test_listener_hears_a_part_while_the_process_runs(start: Start) -> None:
    process = start("echo first; sleep 60")
    heard: list[tuple[Stream, bytes]] = []

    def _listen(stream: Stream, part: bytes) -> None:
        heard.append((stream, part))
        assert process.poll() is None
        process.kill()
        _end_group(process)

    assert not _drain(process, listener=_listen).timed_out
    assert heard == [(Stream.STDOUT, b"first\n")]


def test_fault_of_a_listener_is_passed_on_and_leaves_the_ending_to_the_caller(start: Start) -> None:
    process = start("echo out; sleep 60")
    ended: list[str] = []

    def _listen(stream: Stream, part: bytes) -> None:
        raise RuntimeError(f"{stream} {part.decode()}")

    with pytest.raises(RuntimeError, match=re.escape("stdout out\n")):
        _drain(process, listener=_listen, end=lambda: ended.append("ended"))
    assert (process.poll(), ended) == (None, [])


def test_fault_of_a_check_is_passed_on(start: Start) -> None:
    process = start("sleep 60")

    def _check() -> str:
        raise PermissionError

    with pytest.raises(PermissionError):
        _drain(process, check=_check)
    assert process.poll() is None
