"""A sync that is killed, or whose disk fails, at every one of its system calls in turn.

strace lets the n-th call of one kind go wrong, and n grows until the sync is done before. Some names below are those of
other processors and systems; a call that is never made costs one sync.
"""

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies.torture.scenes import Place, Scene
from tests.copies.torture.warm_syncs import Outcome, WarmSyncs

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5")]

_NAMING = ("mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "rename", "renameat", "renameat2")
_CHANGING = (
    *(*_NAMING, "rmdir", "unlink", "unlinkat", "write", "pwrite64", "ftruncate", "copy_file_range", "sendfile"),
    *("chmod", "fchmod", "fchmodat", "utimensat", "fsync", "fdatasync", "syncfs", "flock"),
)
_READING = (
    *("openat", "openat2", "close", "read", "pread64", "getdents64", "newfstatat", "fstat", "statx", "access"),
    *("faccessat", "readlink", "readlinkat", "getcwd", "inotify_init1", "inotify_add_watch"),
)
_WAITING = ("openat", "close", "read", "write", "pwrite64", "flock", "fsync", "syncfs", "renameat2", "getdents64")
_CREATING = "openat with O_CREAT"
_FAULTS = (
    *((call, "error=EIO") for call in (*_CHANGING, *_READING)),
    *((call, "error=ENOSPC") for call in (*_NAMING, _CREATING, "write", "fsync", "syncfs", "inotify_add_watch")),
    *((call, "error=EINTR") for call in _WAITING),
)
_SURE = frozenset({"linkat", "renameat2", "unlinkat", "write", "fchmod", "fsync", "flock", "openat", "close", "read"})
"""Those that a sync makes wherever it runs: where none of them goes wrong, nothing is tried."""
_STRIDE = 3
"""A sync reads hundreds of times, and alike for each file: of its reading calls every third fails."""
_FAR = 2_000
"""No sync of the scene makes so many calls of one kind."""


@pytest.mark.parametrize("call", [*_CHANGING, _CREATING])
def test_a_kill_at_any_call_leaves_whole_versions_and_the_next_sync_mends_all(
    syncs: WarmSyncs, quick_disk: Path, call: str
) -> None:
    for outcome in _suffer_each(syncs, quick_disk, call, "signal=KILL"):
        assert outcome.status == (-signal.SIGKILL if outcome.was_hit else 0)


@pytest.mark.parametrize(("call", "fault"), _FAULTS)
def test_an_error_of_any_call_leaves_whole_versions_and_the_next_sync_mends_all(
    syncs: WarmSyncs, quick_disk: Path, call: str, fault: str
) -> None:
    stride = _STRIDE if call in _READING else 1
    for outcome in _suffer_each(syncs, quick_disk, call, fault, stride=stride):
        try:
            _expect_plain_words(outcome)
        except ValueError as error:
            pytest.fail(f"{error}: {outcome}")


def _suffer_each(syncs: WarmSyncs, folder: Path, call: str, fault: str, *, stride: int = 1) -> Iterator[Outcome]:
    """Let each call of a kind go wrong, or one of so many, in one sync each, and then have one without a fault."""
    if call == _CREATING:
        for number in _find_creating(syncs, folder / "found"):
            yield _suffer(syncs, folder / str(number), f"openat:{fault}", number)
        return
    for number in range(1, _FAR, stride):
        outcome = _suffer(syncs, folder / str(number), f"{call}:{fault}", number)
        yield outcome
        if not outcome.was_hit:
            assert outcome.status == 0
            assert number > 1 or call not in _SURE
            return
    pytest.fail(f"{call} was called {_FAR} times")


def _suffer(syncs: WarmSyncs, folder: Path, fault: str, number: int) -> Outcome:
    """Let one call of one sync go wrong; find all versions whole, and all mended by the next sync."""
    scene = Scene(Place(folder))
    scene.prepare()
    call = fault.partition(":")[0]
    outcome = syncs.run(scene.place, options=[f"-etrace=?{call}", f"-einject=?{fault}:when={number}"])
    try:
        scene.expect_whole()
        scene.expect_mended()
    except Exception as error:
        error.add_note(f"{fault}:when={number}, {outcome}")
        raise
    shutil.rmtree(folder)
    return outcome


def _find_creating(syncs: WarmSyncs, folder: Path) -> list[int]:
    """Return which of the calls that open files make one if it is missing."""
    scene = Scene(Place(folder))
    scene.prepare()
    opened = [
        line for line in syncs.run(scene.place, options=["-etrace=openat"]).calls.splitlines() if "openat" in line
    ]
    found = [number for number, line in enumerate(opened, 1) if "O_CREAT" in line]
    assert len(found) > 10
    return found


def _expect_plain_words(outcome: Outcome) -> None:
    """Find that the sync is done, or says in the way of all errors that the world failed."""
    assert "Traceback" not in outcome.errors, outcome
    if outcome.status == 0:
        return
    document = json.loads(outcome.output) if outcome.output else {"error": {"code": outcome.errors}}
    if "error" not in document:  # The result could be written at a second try, and nothing stands behind it.
        assert outcome.status == 3, outcome
        assert _hit_standard_output(outcome), outcome
        return
    said = document["error"]
    if said["code"] == "settings-unreadable":  # The operator is told; the sync was never begun.
        assert outcome.status == 2, outcome
        return
    assert outcome.status == 3, outcome
    assert said["code"] != "internal-error", outcome
    assert said["code"] != "world" or _hit_standard_output(outcome), outcome


def _hit_standard_output(outcome: Outcome) -> bool:
    return re.search(r"write\(1, .*\(INJECTED\)$", outcome.calls, re.MULTILINE | re.DOTALL) is not None
