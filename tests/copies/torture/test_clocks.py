"""A clock that is set back and forth by a day."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.copies.torture.actors import acting, ask_actor
from tests.copies.torture.scenes import Place
from tests.skills_on_disk import write_skill

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5", "R77")]

_DAYS = ["+0", "-1d", "+0", "+1d", "-1d", "-1d", "+1d", "+1d", "+0", "-1d", "+1d", "+0"]


@pytest.fixture(params=["stat-follows", "disk-keeps-its-clock"])
def set_clock(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that says by how much the clock of all children is wrong; the times of files are shifted, or not."""
    if shutil.which("faketime") is None:
        pytest.fail("faketime is not installed: apt-get install faketime")
    shown = subprocess.run(
        ["faketime", "-f", "+0", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True
    )
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    monkeypatch.setenv("LD_PRELOAD", shown.stdout.strip())
    monkeypatch.setenv("FAKETIME_TIMESTAMP_FILE", str(clock))
    monkeypatch.setenv("FAKETIME_NO_CACHE", "1")
    monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")  # Which no setting of the clock changes.
    if request.param == "disk-keeps-its-clock":
        monkeypatch.setenv("NO_FAKE_STAT", "1")
    clock.write_text("-1d\n")
    ask = [sys.executable, "-c", "import time; print(time.time())"]
    told = float(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)
    assert 86_000 < time.time() - told < 86_800
    return clock


def test_every_change_is_seen_by_new_processes_whose_clock_is_a_day_off(set_clock: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number, offset in enumerate(_DAYS):
        _change(place, number)
        set_clock.write_text(f"{offset}\n")
        with acting(1, "sync", tmp_path, "local", 1) as (child,):
            assert ask_actor(child) == {"copied": 2 if number == 0 else 1}
        place.expect_exact()
        assert len(place.retired()) <= 4
    place.expect_mended()


def test_every_change_is_seen_by_one_process_whose_clock_jumps(set_clock: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    _change(place, 0)
    with acting(1, "obey", tmp_path) as (child,):
        assert child.stdin is not None
        assert child.stdout is not None
        for number, offset in enumerate(_DAYS):
            _change(place, number)
            set_clock.write_text(f"{offset}\n")
            child.stdin.write("sync\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["skipped"] == []
            place.expect_exact()
            assert len(place.retired()) <= 4
        assert ask_actor(child) == {}
    place.expect_mended()


def _change(place: Place, number: int) -> None:
    if number == 0:
        write_skill(place.skills, "steady")
    write_skill(place.skills, "changing", files={"data.txt": f"{number:04}"})
