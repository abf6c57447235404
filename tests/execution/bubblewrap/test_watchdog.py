"""The watchdog: it counts real trees of processes and what they hold in memory, wherever that lies."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prowess.execution.bubblewrap.watchdog import Watchdog
from prowess.policy import RunLimits

_MIB = 1 << 20
_SUBREAPER = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
"""As the first process of a namespace, this one takes over the orphans below it."""
_READY = "\nprint('ready', flush=True); import time; time.sleep(120)\n"
_GROWN = 40
"""Mebibytes that a bare Python stays well below."""
Start = Callable[[str], int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python scripts, and return each one's number once it has done its work and waits."""
    started: list[subprocess.Popen[str]] = []

    def _start(script: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", _SUBREAPER + script + _READY], stdout=subprocess.PIPE, text=True, process_group=0
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield _start
    for process in started:
        os.killpg(process.pid, 9)
        with process:
            pass


def _count(first: int, *, proc: str = "/proc") -> int:
    """Return how many processes are counted: the smallest bound that is not passed."""
    bounds = range(1, 60)
    return next(most for most in bounds if Watchdog(first, RunLimits(processes=most), proc=proc).find_fault() == "")


def _holds(first: int, mebibytes: int) -> bool:
    """Whether more than so much memory is counted."""
    return Watchdog(first, RunLimits(memory_bytes=mebibytes * _MIB)).find_fault() == "memory"


# Processes


def test_single_process_counts_as_one(start: Start) -> None:
    assert _count(start("")) == 1


@pytest.mark.requirement("R96")
def test_tree_is_counted_to_its_leaves(start: Start) -> None:
    chain = "import os\nfor _ in range(5):\n    if os.fork(): os.wait(); os._exit(0)"
    bush = "import subprocess\nkept = [subprocess.Popen(['sleep', '120']) for _ in range(7)]"
    assert (_count(start(chain)), _count(start(bush))) == (6, 8)


def test_children_of_every_thread_are_counted(start: Start) -> None:
    script = """
import subprocess, threading
begun = threading.Barrier(4)
def work():
    child = subprocess.Popen(["sleep", "120"])
    begun.wait()
    child.wait()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    assert _count(start(script)) == 4


@pytest.mark.requirement("R96")
def test_orphans_are_found(start: Start) -> None:
    script = """
import subprocess
subprocess.run(["sh", "-c", "sleep 120 & sleep 120 & (sleep 120 &)"])
"""
    assert _count(start(script)) == 4


def test_orphans_of_another_session_are_found(start: Start) -> None:
    first = start("import subprocess; subprocess.run(['sh', '-c', 'setsid sleep 120 &'])")
    assert _count(first) == 2
    [child] = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    os.kill(int(child), 9)


def test_number_of_processes_may_be_reached_but_not_passed(start: Start) -> None:
    first = start("import subprocess\nkept = [subprocess.Popen(['sleep', '120']) for _ in range(3)]")
    found = [Watchdog(first, RunLimits(processes=most)).find_fault() for most in (3, 4, 5)]
    assert found == ["processes", "", ""]


def test_process_that_has_ended_has_no_fault() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert Watchdog(process.pid, RunLimits(processes=1, memory_bytes=1)).find_fault() == ""


# Memory

_TAKEN = {
    "its own": f"kept = b'x' * ({_GROWN} << 20)",
    "shared without a name": f"import mmap; kept = mmap.mmap(-1, {_GROWN} << 20); kept.write(b'x' * ({_GROWN} << 20))",
    "a file in memory that nothing maps": f"""
import os
handle = os.memfd_create("x")
for _ in range({_GROWN}):
    os.write(handle, b"x" * (1 << 20))
""",
    "a file in memory, mapped": f"""
import mmap, os
handle = os.memfd_create("x")
os.ftruncate(handle, {_GROWN} << 20)
kept = mmap.mmap(handle, {_GROWN} << 20)
kept.write(b"x" * ({_GROWN} << 20))
""",
}


@pytest.mark.requirement("R96")
@pytest.mark.parametrize("script", _TAKEN.values(), ids=_TAKEN)
def test_memory_counts_whatever_kind_it_is_of(start: Start, script: str) -> None:
    first = start(script)
    assert [_holds(first, most) for most in (_GROWN - 5, _GROWN + 25)] == [True, False]


@pytest.mark.requirement("R96")
def test_memory_of_all_processes_is_added_up(start: Start) -> None:
    script = """
import os, time
ready, done = os.pipe()
for _ in range(4):
    if not os.fork():
        kept = bytearray(os.urandom(1 << 20) * 15)
        os.write(done, b"1")
        time.sleep(120)
for _ in range(4):
    os.read(ready, 1)
"""
    first = start(script)
    assert [_holds(first, most) for most in (20, 55, 120)] == [True, True, False]


def test_what_processes_share_counts_once(start: Start) -> None:
    script = f"""
import mmap, os, time
shared = mmap.mmap(-1, {_GROWN} << 20)
own = b"x" * ({_GROWN} << 20)
ready, done = os.pipe()
for _ in range(5):
    if not os.fork():
        shared.write(b"x" * ({_GROWN} << 20))
        os.write(done, b"1")
        time.sleep(120)
for _ in range(5):
    os.read(ready, 1)
"""
    first = start(script)
    assert [_holds(first, most) for most in (2 * _GROWN - 5, 4 * _GROWN)] == [True, False]


def test_file_in_memory_that_many_hold_open_counts_once(start: Start) -> None:
    script = f"""
import os, time
handle = os.memfd_create("x")
for _ in range({_GROWN}):
    os.write(handle, b"x" * (1 << 20))
for _ in range(5):
    if not os.fork():
        time.sleep(120)
"""
    first = start(script)
    assert [_holds(first, most) for most in (_GROWN - 5, 2 * _GROWN)] == [True, False]


def test_files_that_are_mapped_do_not_count(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (60 * _MIB))
    script = f"""
import mmap
file = open({str(tmp_path / "file")!r}, "rb")
kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
assert all(kept[place] for place in range(0, len(kept), 4096))
"""
    assert not _holds(start(script), 30)


def test_processes_come_before_memory(start: Start) -> None:
    first = start("import subprocess\nkept = [subprocess.Popen(['sleep', '120']) for _ in range(3)]")
    assert Watchdog(first, RunLimits(processes=2, memory_bytes=1)).find_fault() == "processes"


# Kernels without lists of children


def _draw(folder: Path, parents: dict[int, int], names: dict[int, bytes]) -> str:
    """Make what a kernel tells of processes, by their parents."""
    for process, parent in parents.items():
        place = folder / str(process)
        (place / "task" / str(process)).mkdir(parents=True)
        name = names.get(process, b"sh")
        (place / "stat").write_bytes(b"%d (%s) S %d 1 1 0 -1 4194560\n" % (process, name, parent))
        (place / "status").write_text("Name:\tsh\nRssAnon:\t    2048 kB\nRssShmem:\t    1024 kB\nThreads:\t1\n")
    (folder / "self").mkdir()
    (folder / "uptime").write_text("1 1\n")
    return str(folder)


def test_tree_is_found_by_parents_too(tmp_path: Path) -> None:
    parents = {1: 0, 10: 1, 11: 10, 12: 10, 13: 12, 20: 1, 21: 20}
    proc = _draw(tmp_path, parents, {12: b"a) S 20 (b", 21: b"\xff\n) S 10 1 1"})
    assert (_count(10, proc=proc), _count(20, proc=proc), _count(1, proc=proc)) == (4, 2, 7)


def test_memory_is_told_where_the_kernel_does_not_share_it_out(tmp_path: Path) -> None:
    proc = _draw(tmp_path, {10: 1, 11: 10}, {})
    faults = [Watchdog(10, RunLimits(memory_bytes=most * _MIB), proc=proc).find_fault() for most in (5, 6)]
    assert faults == ["memory", ""]


def test_parents_give_the_same_as_the_kernel_s_list(start: Start, tmp_path: Path) -> None:
    first = start("import os\nfor _ in range(4):\n    if os.fork(): os.wait(); os._exit(0)")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            told = Path("/proc", name, "stat").read_bytes()
        except OSError:
            continue  # It has ended meanwhile.
        (tmp_path / name).mkdir()
        (tmp_path / name / "stat").write_bytes(told)
    assert _count(first, proc=str(tmp_path)) == _count(first) == 5


def test_looking_at_endless_trees_is_bounded(tmp_path: Path) -> None:
    parents = {number: number - 1 for number in range(10, 400)} | {10: 399}  # Round and round.
    proc = _draw(tmp_path, parents, {})
    assert Watchdog(10, RunLimits(processes=300), proc=proc).find_fault() == "processes"
    assert Watchdog(10, RunLimits(processes=5_000), proc=proc).find_fault() == "processes"
