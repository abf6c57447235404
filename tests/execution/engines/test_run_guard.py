"""The guard of containers, with a command that writes down what it is asked to remove."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prowess.execution.engines.run_guard import RunGuard
from prowess.execution.sandbox import NoSandbox

_SECONDS = 20.0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "removed"


def _remover(log: Path) -> tuple[str, ...]:
    return ("sh", "-c", 'echo "$@" >>"$0"', str(log))


def _make_guard(log: Path) -> RunGuard:
    return RunGuard(_remover(log), folder=str(log.parent), environment=dict(os.environ))


def _removed(log: Path) -> list[str]:
    """What was to be removed; it is said several times."""
    return sorted(set(log.read_text().split("\n")) - {""}) if log.exists() else []


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_alive(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def test_guard_starts_with_the_first_container_and_ends_when_it_is_closed(log: Path) -> None:
    guard = _make_guard(log)
    assert guard.process_id is None
    guard.add("a")
    process = guard.process_id
    assert process is not None
    assert os.getsid(process) == process
    guard.drop("a")
    guard.close()
    assert guard.process_id is None
    assert not _is_alive(process)
    assert _removed(log) == []


def test_guard_that_still_knows_a_container_outlives_its_close(log: Path) -> None:
    guard = _make_guard(log)
    guard.add("a")
    guard.close()
    assert guard.process_id is not None
    guard.drop("a")
    guard.close()
    assert guard.process_id is None


def _kill_guard(guard: RunGuard) -> int:
    killed = guard.process_id
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    _wait_for(lambda: guard.process_id is None)
    return killed


@pytest.mark.slow
def test_guard_that_was_killed_is_replaced_by_one_that_knows_as_much(log: Path) -> None:
    guards = [_make_guard(log)]
    guards[0].add("a")
    guards[0].add("b")
    guards[0].drop("a")
    killed = _kill_guard(guards[0])
    guards[0].renew()
    assert guards[0].process_id not in (None, killed)
    guards.clear()
    _wait_for(lambda: _removed(log) == ["b"])


@pytest.mark.slow
def test_guard_that_was_killed_is_noticed_with_the_next_container(log: Path) -> None:
    guards = [_make_guard(log)]
    guards[0].add("a")
    killed = _kill_guard(guards[0])
    guards[0].add("b")
    assert guards[0].process_id not in (None, killed)
    guards.clear()
    _wait_for(lambda: _removed(log) == ["a b"])


def test_guard_that_cannot_be_started_is_said(log: Path) -> None:
    guard = RunGuard(("x",), folder=str(log.parent), environment={"PATH": str(log.parent)})
    with pytest.raises(NoSandbox):
        guard.add("a")


_PROCESS = """
import os, sys, time
from prowess.execution.engines.run_guard import RunGuard
guard = RunGuard(sys.argv[2:], folder=sys.argv[1], environment=dict(os.environ))
guard.add("a")
guard.add("b")
guard.drop("a")
{then}
print("ready", flush=True)
time.sleep(1000)
"""


def _start(log: Path, *, then: str = "") -> tuple[subprocess.Popen[bytes], bytes]:
    """Return a process that has done this, and waits to be killed, with what it has said."""
    code = _PROCESS.format(then=then)
    process = subprocess.Popen([sys.executable, "-c", code, str(log.parent), *_remover(log)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = b""
    while (line := process.stdout.readline()) != b"ready\n":
        assert line
        said += line
    return process, said


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.slow
def test_containers_and_folders_of_a_killed_process_are_removed(log: Path) -> None:
    for name in ("a", "b"):
        (log.parent / name / "output").mkdir(parents=True)
    process, _ = _start(log)
    assert _removed(log) == []
    _kill(process)
    _wait_for(lambda: _removed(log) == ["b"] and not (log.parent / "b").exists())
    assert (log.parent / "a" / "output").is_dir()


@pytest.mark.slow
def test_program_that_the_process_has_started_does_not_keep_the_guard_waiting(log: Path) -> None:
    then = "import subprocess; child = subprocess.Popen(['sleep', '30'], close_fds=False); print(child.pid, flush=True)"
    process, said = _start(log, then=then)
    try:
        _kill(process)
        _wait_for(lambda: _removed(log) == ["b"])
        assert _is_alive(int(said))
    finally:
        os.kill(int(said), signal.SIGKILL)


@pytest.mark.slow
def test_fork_of_the_process_does_not_keep_the_guard_waiting(log: Path) -> None:
    then = "child = os.fork()\nif not child: os.close(1); time.sleep(30); os._exit(0)\nprint(child, flush=True)"
    process, said = _start(log, then=then)
    try:
        _kill(process)
        _wait_for(lambda: _removed(log) == ["b"])
        assert _is_alive(int(said))
    finally:
        os.kill(int(said), signal.SIGKILL)


@pytest.mark.slow
def test_end_of_a_fork_leaves_the_containers_of_its_parent_alone(log: Path) -> None:
    then = (
        "child = os.fork()\n"
        "if not child: guard.add('c'); guard.drop('c'); guard.close(); sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "time.sleep(0.5)"
    )
    process, _ = _start(log, then=then)
    try:
        assert _removed(log) == []
    finally:
        _kill(process)
    _wait_for(lambda: _removed(log) == ["b"])
