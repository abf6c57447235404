"""Stamps: what changes when a file changes, and when that can be relied on."""

import os
from collections.abc import Sequence

__all__ = ["Stamp", "are_reliable", "is_reliable", "stamp_file"]

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime. The last cannot be set back by a program."""

_FINE_CLOCK = 100_000_000
_COARSE_CLOCK = 2_500_000_000
"""Nanoseconds within which a disk's clock may not tell two changes apart; coarse where its times are whole seconds."""


def stamp_file(status: os.stat_result) -> Stamp:
    """Return what identifies a file's content without reading it."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_reliable(stamp: Stamp, *, taken: int) -> bool:
    """Whether any change after `taken`, in nanoseconds, must show in the stamp."""
    changed = stamp[4]
    return changed <= taken - (_FINE_CLOCK if changed % 1_000_000_000 else _COARSE_CLOCK)


def are_reliable(stamps: Sequence[Stamp], *, taken: int) -> bool:
    """Whether any change after `taken` must show in one of the stamps. Most are so old that the newest tells."""
    newest = max((stamp[4] for stamp in stamps), default=0)
    return newest <= taken - _COARSE_CLOCK or all(is_reliable(stamp, taken=taken) for stamp in stamps)
