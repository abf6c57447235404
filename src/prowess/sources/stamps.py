"""Stamps: what changes when a file changes, and when that can be relied on."""

import os
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import cast

__all__ = ["Stamp", "are_reliable", "is_reliable", "stamp_file"]

Stamp = tuple[int, int, int, int, int, int]
"""Device, inode, size, mtime, ctime and mode. The ctime cannot be set back by a program."""

_FINE_CLOCK = 100_000_000
_COARSE_CLOCK = 2_500_000_000
"""Nanoseconds within which a disk's clock may not tell two changes apart; coarse where its times are whole seconds."""
_HAS_CHANGE_TIMES = os.name != "nt"
"""Windows gives the time of creation as ctime; there, a change shows in the mtime alone."""

stamp_file = cast(
    "Callable[[os.stat_result], Stamp]",
    attrgetter("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode"),
)
"""Return what identifies a file's content without reading it."""


def is_reliable(stamp: Stamp, *, taken: int) -> bool:
    """Whether any change after `taken`, in nanoseconds, must show in the stamp.

    A change gets the disk's time of that moment as its ctime. So it shows if the stamp's own ctime is older than
    `taken` by more than the steps of the disk's clock; one from the future tells nothing.
    """
    changed = _last_change(stamp)
    return changed <= taken - (_FINE_CLOCK if changed % 1_000_000_000 else _COARSE_CLOCK)


def are_reliable(stamps: Sequence[Stamp], *, taken: int) -> bool:
    """Whether any change after `taken` must show in one of the stamps. Most are so old that the newest tells."""
    newest = max(map(_last_change, stamps), default=0)
    return newest <= taken - _COARSE_CLOCK or all(is_reliable(stamp, taken=taken) for stamp in stamps)


def _later_time(stamp: Stamp) -> int:
    return max(stamp[3], stamp[4])


_last_change: Callable[[Stamp], int] = itemgetter(4) if _HAS_CHANGE_TIMES else _later_time
