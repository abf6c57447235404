"""Edits that leave size and time of a file as they were, each right after a sync."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from prowess.copies.sync import SyncReport
from tests.copies.torture.scenes import Place
from tests.skills_on_disk import write_skill

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5", "R77")]

_EDITS = 300
_FORMER_TIME = (1_700_000_000_000_000_000, 1_700_000_000_000_000_000)


@pytest.mark.parametrize("keeps_open", [True, False], ids=["one-runtime", "new-runtimes"])
def test_an_edit_of_the_same_size_and_time_is_seen_by_the_very_next_sync(quick_disk: Path, keeps_open: bool) -> None:
    place = Place(quick_disk)
    file = write_skill(place.skills, "edited", files={"scripts/run.py": "0000"}) / "scripts" / "run.py"
    write_skill(place.skills, "steady")
    with ExitStack() as stack:
        sync: Callable[[], SyncReport] = stack.enter_context(place.open()).sync if keeps_open else place.sync
        sync()
        for number in range(1, _EDITS):
            with open(file, "r+b") as opened:
                opened.write(b"%04d" % number)
            os.utime(file, ns=_FORMER_TIME)
            assert sync().copied == ("project:edited",), number
            assert (place.active / "project--edited" / "scripts" / "run.py").read_bytes() == b"%04d" % number
    place.expect_mended()
