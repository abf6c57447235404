"""Make sure that written files are on the disk and not only in memory."""

import ctypes
import errno
import os
import sys
from collections.abc import Sequence

__all__ = ["sync_trees"]

_FEW = 4
"""Up to so many folders, each file is synced by itself; for more, the whole file system at once is faster."""


def sync_trees(folders: Sequence[str]) -> None:
    """Return when every file and folder below these, all on one file system, would outlive a crash.

    Windows syncs only what is open for writing; there, nothing is done.
    """
    if os.name != "posix":
        return
    if len(folders) > _FEW and _sync_file_system(folders[0]):
        return
    for folder in folders:
        _sync_tree(os.fsencode(folder))


def _sync_file_system(folder: str) -> bool:
    """Sync all of the file system; say whether this system has such a call."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None) if sys.platform == "linux" else None
    if call is None:
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        while call(handle) != 0:
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code), folder)
    finally:
        os.close(handle)
    return True


def _sync_tree(folder: bytes) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _sync_tree(entry.path)
            elif entry.is_file(follow_symlinks=False):
                _sync(entry.path)
    _sync(folder)


def _sync(path: bytes) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
