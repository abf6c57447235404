"""A disk that is really full, at every point of a sync at which it can be."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.errors import WorldError
from tests.copies.torture.scenes import Place, Scene

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5")]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_AMPLE = 64 << 20
_ENOUGH = 80
"""So many free pages or inodes are more than the sync of the scene needs."""


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk in memory whose size can be set."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_AMPLE},nr_inodes=10000", "tmpfs", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.fail(f"a small disk cannot be mounted: {mounted.stderr}; run this test as root (apt-get install mount)")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("what", ["space", "inodes"])
def test_a_full_disk_leaves_whole_versions_and_the_sync_succeeds_when_there_is_room(tiny_disk: Path, what: str) -> None:
    failures: list[str] = []
    for spare in range(_ENOUGH):
        scene = Scene(Place(tiny_disk / str(spare)))
        scene.prepare()
        _shrink(tiny_disk, what, spare)
        try:
            scene.place.sync()
        except WorldError as error:
            failures.append(error.message)
        else:
            break
        finally:
            _remount(tiny_disk, f"size={_AMPLE},nr_inodes=10000")
        scene.expect_whole()
        scene.expect_mended()
    else:
        pytest.fail("the disk was full however large it was")
    assert len(failures) > 5
    assert {message.rpartition(": ")[2].partition(" (")[0] for message in failures} == {"No space left on device"}
    assert scene.place.copies() == scene.after


def _shrink(disk: Path, what: str, spare: int) -> None:
    """Leave so many pages or inodes free."""
    status = os.statvfs(disk)
    if what == "space":
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        _remount(disk, f"size={used + spare * _PAGE}")
    else:
        _remount(disk, f"nr_inodes={status.f_files - status.f_ffree + spare}")


def _remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)
