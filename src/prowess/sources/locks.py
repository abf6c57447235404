"""Locks between processes, that end with the process that holds them.

They lie outside everything that is mounted: whoever can open a file can lock it, even through a read-only mount.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import Enum

from prowess.sources.private_folders import make_private_folder

__all__ = ["HeldLock", "Hold", "hold_lock", "release_lock", "take_lock", "try_lock"]


class Hold(Enum):
    """How a lock is held."""

    SHARED = "shared"
    ALONE = "alone"


class HeldLock:
    """A lock that is held until it is let go. It ends with its process at the latest, whatever a fork has of it."""

    def __init__(self, path: str, hold: Hold) -> None:
        self._process = os.getpid()
        self._lock = take_lock(path, hold)

    def close(self) -> None:
        """Let it go."""
        lock, self._lock = self._lock, -1
        if lock < 0:
            return
        if os.getpid() == self._process:
            release_lock(lock)
        else:
            os.close(lock)


@contextmanager
def hold_lock(path: str, hold: Hold) -> Generator[None]:
    """Hold the lock, waiting for it."""
    lock = take_lock(path, hold)
    try:
        yield
    finally:
        release_lock(lock)


def release_lock(lock: int) -> None:
    """Give a lock back. A child that was forked meanwhile has the descriptor too, and would go on holding it."""
    with suppress(OSError):  # What was done under it is done, and it ends with the process at the latest.
        _unlock(lock)
    with suppress(OSError):
        os.close(lock)


def take_lock(path: str, hold: Hold) -> int:
    """Return a descriptor that holds the lock until it is released, or until the process ends; wait for it."""
    lock = _open(path)
    try:
        _lock(lock, hold, wait=True)
    except BaseException:
        os.close(lock)
        raise
    return lock


def try_lock(path: str, hold: Hold) -> int | None:
    """Return a descriptor that holds the lock until it is released; None if another holds it."""
    lock = _open(path)
    try:
        _lock(lock, hold, wait=False)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    return lock


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private_folder(os.path.dirname(path))
        return os.open(path, flags, 0o600)


if sys.platform == "win32":

    def _lock(lock: int, hold: Hold, *, wait: bool) -> None:  # noqa: ARG001 - as on other systems
        """Lock the first byte; Windows has no shared locks here, so that all are held alone."""
        import msvcrt

        while True:
            try:
                msvcrt.locking(lock, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    raise
            else:
                return

    def _unlock(lock: int) -> None:
        import msvcrt

        msvcrt.locking(lock, msvcrt.LK_UNLCK, 1)

else:

    def _lock(lock: int, hold: Hold, *, wait: bool) -> None:
        import fcntl

        kind = fcntl.LOCK_SH if hold is Hold.SHARED else fcntl.LOCK_EX
        fcntl.flock(lock, kind if wait else kind | fcntl.LOCK_NB)

    def _unlock(lock: int) -> None:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_UN)
