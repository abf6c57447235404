"""First syncs of many skills that are killed at any moment."""

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.copies.torture.scenes import Place
from tests.copies.torture.warm_syncs import WarmSyncs
from tests.skills_on_disk import write_skill

_SKILLS = 300
_KILLS = 100


@pytest.mark.slow
@pytest.mark.requirement("K5")
def test_a_hundred_kills_of_a_first_sync_fill_no_disk_and_the_next_one_completes(
    syncs: WarmSyncs, quick_disk: Path
) -> None:
    place = Place(quick_disk)
    for number in range(_SKILLS):
        write_skill(place.skills, f"skill-{number}", files={"data.txt": str(number), "scripts/run.sh": "#!/bin/sh\n"})
    begun = time.monotonic()
    assert _sync(syncs, place) == 0
    whole_seconds, whole_bytes = time.monotonic() - begun, _measure(place.home)
    shutil.rmtree(place.home)
    chance = random.Random(4)
    killed = 0
    while killed < _KILLS:
        if _sync(syncs, place, kill_after=chance.uniform(0, whole_seconds)) == 0:
            shutil.rmtree(place.home)  # It was done before: begin anew.
            continue
        killed += 1
        assert _measure(place.home) < 3 * whole_bytes
    place.expect_mended()
    assert len(place.copies()) == _SKILLS


def _sync(syncs: WarmSyncs, place: Place, *, kill_after: float | None = None) -> int:
    child = os.pidfd_open(syncs.start(place))  # Another process may get the same number later.
    try:
        signal.pidfd_send_signal(child, signal.SIGCONT)
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
        return syncs.wait()
    finally:
        os.close(child)


def _measure(folder: Path) -> int:
    """Return how many bytes of the disk a folder takes, each file counted once."""
    found = [path.lstat() for path in folder.rglob("*")]
    return sum({status.st_ino: status.st_blocks * 512 for status in found}.values())
