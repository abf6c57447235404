"""Open a file of a skill by its path, by a walk of directory handles that never leaves the skill.

The system follows no link, neither in the skill nor on the way to its folder. A link in the skill is resolved in the
same walk by its text, under the rule by which the files of a skill are listed, and `..` goes back to the folder that
the walk came from, wherever it has been moved since.
"""

import errno
import os
import stat
from enum import StrEnum

from prowess.sources.open_folders import OpenFolder, open_folder
from prowess.sources.skill_files import MAX_DEPTH, is_part, is_skill_folder, leads_out

__all__ = ["MAX_LINKS", "Obstacle", "open_beneath"]

MAX_LINKS = 40
"""As many as Linux follows on one path."""

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_LINK_INSTEAD = frozenset({errno.ELOOP, errno.ENOTDIR})
"""What systems say of a link that was to be a folder."""


class Obstacle(StrEnum):
    """Why a file cannot be opened."""

    MISSING = "missing"
    DANGLING = "dangling"
    """A link on the way leads to nothing."""
    ESCAPES = "escapes"
    """The way leads out of the skill, or may do so."""
    NOT_A_FILE = "not-a-file"
    """A folder, FIFO, socket or device."""
    UNREADABLE = "unreadable"
    """The system refuses it, or it was changed while it was opened."""
    TOO_MANY_LINKS = "too-many-links"


def open_beneath(folder: str, *, path: bytes, apart: bool = False) -> int | Obstacle:
    """Return a descriptor of the plain file at `path` below the folder, or what stands in the way. It never waits.

    The folder's own path is absolute and has no links: one that is there now was put there since, and leads out. With
    `apart`, folders directly below that have a SKILL.md are other skills: nothing of theirs is found.
    """
    if b"\0" in path:
        return Obstacle.UNREADABLE
    if path.startswith(b"/"):
        return Obstacle.ESCAPES
    folders: list[OpenFolder] = []
    try:
        folders.append(open_folder(folder))
        return _walk(folders, _steps_last_first(path), apart=apart)
    except OSError as error:
        if not folders and error.errno in _LINK_INSTEAD:
            return Obstacle.ESCAPES
        return Obstacle.MISSING if error.errno in _NOT_THERE else Obstacle.UNREADABLE
    finally:
        for one in folders:
            one.close()


def _walk(folders: list[OpenFolder], steps: list[bytes], *, apart: bool) -> int | Obstacle:
    """Take the steps from the last of the folders, which are those on the way from the top to where the walk stands."""
    links, asked_for = 0, len(steps)
    while steps:
        step, here, depth = steps.pop(), folders[-1], len(folders) - 1
        is_of_link = len(steps) >= asked_for  # What the caller asks for lies below what links have put there.
        asked_for = min(asked_for, len(steps))
        if step == b"..":
            if depth == 0:
                return Obstacle.ESCAPES
            folders.pop().close()
            continue
        if not is_part(step, depth=depth):
            return Obstacle.MISSING
        try:
            mode = here.status(step).st_mode
        except FileNotFoundError:
            return Obstacle.DANGLING if is_of_link else Obstacle.MISSING
        if stat.S_ISLNK(mode):
            links += 1
            if links > MAX_LINKS:
                return Obstacle.TOO_MANY_LINKS
            target = here.read_link(step)
            if leads_out(target, depth=depth):
                return Obstacle.ESCAPES
            steps += _steps_last_first(target)
        elif stat.S_ISDIR(mode) and depth < MAX_DEPTH:
            folders.append(here.enter(step))
            if apart and depth == 0 and is_skill_folder(folders[-1]):
                return Obstacle.MISSING
        elif steps or stat.S_ISDIR(mode):  # Below a file there is nothing, and below the deepest folder no part.
            return Obstacle.MISSING
        else:
            return _open_plain(here, step) if stat.S_ISREG(mode) else Obstacle.NOT_A_FILE
    return Obstacle.NOT_A_FILE


def _steps_last_first(path: bytes) -> list[bytes]:
    return [step for step in reversed(path.split(b"/")) if step not in (b"", b".")]


def _open_plain(folder: OpenFolder, name: bytes) -> int | Obstacle:
    """Open what was a plain file a moment ago, and make sure that it still is one."""
    file = folder.open_file(name)
    try:
        plain = stat.S_ISREG(os.fstat(file).st_mode)
    except OSError:
        plain = False
    if plain:
        return file
    os.close(file)
    return Obstacle.NOT_A_FILE
