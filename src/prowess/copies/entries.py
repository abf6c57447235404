"""What lies in a folder of ours, told by its names without following any link."""

import errno
import os
import stat
from typing import NamedTuple

from prowess.copies.disk_failures import disk_failure
from prowess.copies.trees import unlock_folder
from prowess.errors import WorldError
from prowess.sources.open_folders import FOLDER_FLAGS
from prowess.sources.skill_files import is_leftover
from prowess.sources.source import show_path

__all__ = ["Entry", "find_entry", "is_leftover_name", "list_entries", "list_names", "tells_case", "unlock_entry"]


class Entry(NamedTuple):
    """A name, with what changes when something else has it."""

    name: str
    inode: int
    changed: int
    """When it was last changed, in nanoseconds."""


def find_entry(folder: str, name: str) -> Entry | None:
    """Return what has this name in a folder; None if nothing has."""
    try:
        status = os.lstat(os.path.join(folder, name))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Entry(name, status.st_ino, status.st_ctime_ns)


def list_entries(folder: str) -> list[Entry]:
    """Return everything in a folder, nothing if it is missing; raise if it is a link or no folder."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
        names = _list(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise WorldError(
                f"{show_path(folder)} is not a folder",
                hint="copies are never placed through a link; remove what is there, and sync again",
                code="not-a-folder",
            ) from error
        raise disk_failure(f"{show_path(folder)} cannot be read", error) from error
    return [found for name in names if (found := find_entry(folder, name)) is not None]


def list_names(folder: str) -> list[str]:
    """Return the names in a folder, sorted; nothing if it is a link, no folder, or cannot be read."""
    try:
        return sorted(_list(folder))
    except OSError:
        return []


def _list(folder: str) -> list[str]:
    if os.listdir not in os.supports_fd:
        return [] if os.path.islink(folder) else os.listdir(folder)
    handle = os.open(folder, FOLDER_FLAGS)
    try:
        return os.listdir(handle)
    except FileNotFoundError:  # It was removed since it was opened.
        return []
    finally:
        os.close(handle)


def is_leftover_name(name: str) -> bool:
    """Whether a network file system has made this name for what it keeps of a removed file."""
    return is_leftover(os.fsencode(name))


def unlock_entry(path: str) -> bool:
    """Let something be moved, if it is there; say whether it is."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            unlock_folder(path)
    except FileNotFoundError:
        return False
    return True


def tells_case(folder: str) -> bool:
    """Whether the disk tells names apart that differ in case only."""
    parent, name = os.path.split(folder)
    try:
        return name == name.swapcase() or not os.path.samefile(folder, os.path.join(parent, name.swapcase()))
    except OSError:
        return True
