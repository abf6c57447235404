"""Control groups: bounds that the kernel keeps on real processes, and where groups can be made."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.execution.bubblewrap.control_groups import ControlGroup, Place, find_place, make_control_group
from prowess.policy import RunLimits

_MIB = 1 << 20
_ROOT = Path("/sys/fs/cgroup")
_SECONDS = 30.0
_GATED = "import sys; sys.stdin.read(1)\n"
"""A process waits to be taken in."""


def _read_own() -> dict[str, str]:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return {name: line.split(":", 2)[2] for line in lines for name in line.split(":", 2)[1].split(",")}


def _get_place() -> Place:
    place = find_place(_read_own())
    if place is None:
        pytest.fail("control groups cannot be made here: these tests need root, or a part of the tree for this user")
    return place


def _list_groups(maker: int) -> list[Path]:
    """Return the folders of the groups that a process has made."""
    return [folder for parent in _get_place().parents for folder in Path(parent).glob(f"prowess-{maker}-*")]


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[ControlGroup]:
    """A group with the limits that a test names; it is gone in the end."""
    before = _list_groups(os.getpid())
    group = make_control_group(request.param)
    assert group is not None
    assert len(_list_groups(os.getpid())) == len(before) + len(_get_place().parents)
    yield group
    group.close()
    assert _list_groups(os.getpid()) == before


def _limited(limits: RunLimits) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("group", [limits], indirect=True, ids=[""])


def _run_in(group: ControlGroup, script: str) -> tuple[int, str]:
    """Return how a Python script ends in a group, and what it has written."""
    command = [sys.executable, "-c", _GATED + script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        group.add(process.pid)
        said, _ = process.communicate("1", timeout=_SECONDS)
    return process.returncode, said


# Bounds


@_limited(RunLimits())
def test_process_within_its_bounds_has_no_fault(group: ControlGroup) -> None:
    assert (_run_in(group, "print('done')"), group.find_fault()) == ((0, "done\n"), "")


@pytest.mark.requirement("R96")
@_limited(RunLimits(memory_bytes=64 * _MIB))
def test_process_that_takes_too_much_memory_is_killed(group: ControlGroup) -> None:
    script = "kept = b'x' * (40 << 20); print('some', flush=True); more = b'x' * (200 << 20)"
    assert (_run_in(group, script), group.find_fault()) == ((-9, "some\n"), "memory")


@pytest.mark.requirement("R96")
@_limited(RunLimits(memory_bytes=64 * _MIB))
@pytest.mark.parametrize(
    "script",
    [
        "import mmap; kept = mmap.mmap(-1, 200 << 20); kept.write(b'x' * (200 << 20))",
        "import os; handle = os.memfd_create('x')\nwhile True: os.write(handle, b'x' * (1 << 20))",
    ],
    ids=["shared memory", "a file in memory"],
)
def test_memory_that_is_no_process_s_own_counts(group: ControlGroup, script: str) -> None:
    assert (_run_in(group, script), group.find_fault()) == ((-9, ""), "memory")


@pytest.mark.slow
@pytest.mark.requirement("R96")
@_limited(RunLimits(memory_bytes=96 * _MIB))
def test_memory_is_bounded_for_all_processes_together(group: ControlGroup) -> None:
    script = """
import os, time
for _ in range(6):
    if not os.fork():
        kept = b"x" * (30 << 20)
        time.sleep(1)
        os._exit(0)
print(min(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(6)))
"""
    status, said = _run_in(group, script)
    assert group.find_fault() == "memory"
    assert (status, said) in ((0, "-9\n"), (-9, ""))  # Version 2 ends them all.


@pytest.mark.requirement("R96")
@_limited(RunLimits(processes=10))
def test_bomb_of_forks_is_stopped(group: ControlGroup) -> None:
    script = """
import os, time
children = []
try:
    while len(children) < 100:
        child = os.fork()
        if not child:
            time.sleep(60)
        children.append(child)
except BlockingIOError as error:
    print(len(children), error.strerror)
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
"""
    assert _run_in(group, script) == (0, "9 Resource temporarily unavailable\n")
    assert group.find_fault() == "processes"


@pytest.mark.requirement("R96")
@_limited(RunLimits(processes=10))
def test_threads_count_as_processes(group: ControlGroup) -> None:
    script = """
import threading
stop = threading.Event()
started = 0
try:
    while started < 100:
        threading.Thread(target=stop.wait).start()
        started += 1
except RuntimeError:
    print(started)
stop.set()
"""
    assert (_run_in(group, script), group.find_fault()) == ((0, "9\n"), "processes")


@_limited(RunLimits())
def test_process_that_has_ended_cannot_be_taken_in(group: ControlGroup) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        with pytest.raises(ProcessLookupError):
            group.add(process.pid)


def test_groups_are_each_their_own() -> None:
    one, other = make_control_group(RunLimits(processes=3)), make_control_group(RunLimits())
    assert one is not None
    assert other is not None
    try:
        _run_in(one, "import subprocess\nfor _ in range(9): subprocess.Popen(['sleep', '0.3'])")
        assert (_run_in(other, "print(1)"), one.find_fault(), other.find_fault()) == ((0, "1\n"), "processes", "")
    finally:
        one.close()
        other.close()


# Closing


def test_closing_waits_a_moment_for_what_was_just_killed() -> None:
    before = _list_groups(os.getpid())
    group = make_control_group(RunLimits())
    assert group is not None
    with subprocess.Popen(["sleep", "60"]) as process:
        group.add(process.pid)
        process.kill()
        group.close()
    assert _list_groups(os.getpid()) == before
    group.close()  # Once more does no harm.


@pytest.mark.slow
def test_closing_gives_up_on_a_group_that_is_in_use() -> None:
    before = _list_groups(os.getpid())
    group = make_control_group(RunLimits())
    assert group is not None
    with subprocess.Popen(["sleep", "60"]) as process:
        group.add(process.pid)
        begun = time.monotonic()
        group.close()
        assert time.monotonic() - begun < 10
        assert len(_list_groups(os.getpid())) == len(before) + len(_get_place().parents)
        process.kill()
    group.close()
    assert _list_groups(os.getpid()) == before


_DIES = """
import os, signal
from prowess.execution.bubblewrap.control_groups import make_control_group
from prowess.policy import RunLimits
assert make_control_group(RunLimits())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_groups_of_dead_makers_are_removed_by_the_next() -> None:
    with subprocess.Popen([sys.executable, "-c", _DIES]) as maker:
        maker.wait()
    assert maker.returncode == -9
    assert _get_place().parents
    assert list(_ROOT.rglob(f"prowess-{maker.pid}-*")) == []


def test_groups_of_the_living_and_of_others_stay() -> None:
    parents = _get_place().parents
    names = (f"prowess-{os.getpid()}-x", "prowess-x", "prowess-other-1", "prowess")
    folders = [Path(parent) / name for parent in parents for name in names]
    for folder in folders:
        folder.mkdir()
    try:
        assert _get_place().parents == parents
        assert [folder for folder in folders if not folder.exists()] == []
    finally:
        for folder in folders:
            folder.rmdir()


def test_group_of_a_dead_maker_with_processes_in_it_stays() -> None:
    folders = [Path(parent) / "prowess-4194305-x" for parent in _get_place().parents]  # No process has that number.
    for folder in folders:
        folder.mkdir()
    try:
        with subprocess.Popen(["sleep", "60"]) as process:
            ControlGroup(tuple(map(str, folders))).add(process.pid)
            _get_place()
            assert [folder.exists() for folder in folders] == [True] * len(folders)
            process.kill()
        deadline = time.monotonic() + _SECONDS
        while any(folder.exists() for folder in folders) and time.monotonic() < deadline:
            _get_place()
        assert [folder.exists() for folder in folders] == [False] * len(folders)
    finally:
        for folder in folders:
            if folder.exists():
                folder.rmdir()


# Where groups can be made

_AS_NOBODY = """
import encodings.ascii, os
from prowess.execution.bubblewrap.control_groups import make_control_group
from prowess.policy import RunLimits
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(make_control_group(RunLimits()))
"""


def test_user_who_may_make_no_groups_has_none() -> None:
    done = subprocess.run([sys.executable, "-c", _AS_NOBODY], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def _draw(top: Path, tree: dict[str, str]) -> str:
    """Make folders, each with the controllers that it gives on to those below."""
    for path, controllers in tree.items():
        folder = top / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(f"{controllers}\n")
    return str(top)


@pytest.mark.parametrize(
    ("tree", "own", "found"),
    [
        ({"/a/b/own": "", "/a/b": "cpu memory pids", "/a": "cpu memory pids"}, "/a/b/own", "/a/b"),
        ({"/a/b/own": "memory pids", "/a/b": "memory pids"}, "/a/b/own", "/a/b/own"),
        ({"/a/b/own": "", "/a/b": "memory", "/a": "pids memory"}, "/a/b/own", "/a"),
        ({"/a/own": "", "/a": "memory", "/": "memory pids"}, "/a/own", "/"),
        ({"/a/own": "", "/a": "", "/": "cpu"}, "/a/own", None),
        ({"/": "memory pids"}, "/seen/from/outside", "/"),
        ({"/": "memory pids", "/../beside": "memory pids"}, "/../beside", "/"),
        ({"/": ""}, "/", None),
    ],
)
def test_group_of_version_2_is_made_where_bounds_are_given_on(
    tmp_path: Path, tree: dict[str, str], own: str, found: str | None
) -> None:
    mount = _draw(tmp_path / "mount", {"/": "", **tree})
    place = find_place({"": own}, mount=mount)
    wanted = None if found is None else Place((os.path.normpath(mount + found),), 2)
    assert place == wanted


def test_groups_of_version_1_are_made_in_both_trees(tmp_path: Path) -> None:
    mount = _draw(tmp_path, {"/memory/own": "", "/pids": "", "/unified": "memory pids"})
    own = {"memory": "/own", "pids": "/elsewhere", "name=systemd": "/", "": "/unified"}
    assert find_place(own, mount=mount) == Place((f"{mount}/memory/own", f"{mount}/pids"), 1)


@pytest.mark.parametrize("own", [{}, {"memory": "/"}, {"pids": "/", "cpu": "/"}, {"memory": "/", "pids": "/"}])
def test_where_a_tree_is_missing_there_is_no_place(tmp_path: Path, own: dict[str, str]) -> None:
    assert find_place(own, mount=_draw(tmp_path, {"/memory": ""})) is None
