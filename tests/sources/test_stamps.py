"""A stamp differs after every change; where the disk's clock could hide one, it is not relied on."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.sources.stamps import Stamp, are_reliable, is_reliable, stamp_file

_SECOND = 1_000_000_000
_NOW = 1_800_000_000 * _SECOND + 123_456_789


def _changed_at(moment: int) -> Stamp:
    return (1, 2, 3, 4, moment, 0o100644)


def test_stamp_holds_device_inode_size_both_times_and_mode(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("abc")
    file.chmod(0o640)
    now = file.stat()
    assert stamp_file(os.lstat(file)) == (now.st_dev, now.st_ino, 3, now.st_mtime_ns, now.st_ctime_ns, 0o100640)


def test_change_of_the_mode_shows_whatever_the_clock_says(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("abc")
    before = stamp_file(os.lstat(file))
    file.chmod(0o755)
    after = stamp_file(os.lstat(file))
    assert (before[:4], before[5] != after[5]) == (after[:4], True)


@pytest.mark.parametrize(
    ("changed", "reliable"),
    [
        (_NOW - 100_000_000, True),
        (_NOW - 99_999_999, False),
        (_NOW, False),
        (_NOW + 1, False),
        (_NOW + 3_600 * _SECOND, False),
        (_NOW + 3_600 * _SECOND - _NOW % _SECOND, False),
    ],
)
def test_change_counts_as_settled_a_tenth_of_a_second_later_and_never_ahead_of_its_time(
    changed: int, *, reliable: bool
) -> None:
    assert is_reliable(_changed_at(changed), taken=_NOW) is reliable


@pytest.mark.parametrize(("age", "reliable"), [(2_500_000_000, True), (2_499_999_999, False), (100_000_000, False)])
def test_times_of_whole_seconds_are_those_of_a_coarse_clock(age: int, *, reliable: bool) -> None:
    changed = _NOW - _NOW % _SECOND
    assert is_reliable(_changed_at(changed), taken=changed + age) is reliable


@given(
    st.lists(st.integers(_NOW - 4 * _SECOND, _NOW + _SECOND).flatmap(lambda t: st.sampled_from([t, t - t % _SECOND])))
)
def test_many_stamps_are_reliable_if_each_of_them_is(moments: list[int]) -> None:
    stamps = [_changed_at(moment) for moment in moments]
    assert are_reliable(stamps, taken=_NOW) == all(is_reliable(stamp, taken=_NOW) for stamp in stamps)
