"""Read the beginning of a SKILL.md, and Codex' sidecar, without being led astray.

Nothing but plain files is opened, and never in a way that could wait: a FIFO, a device or a link out of the skill is a
Problem.
"""

import os
import stat
from collections.abc import Callable

from prowess.skill.dialects import SIDECAR_PATH
from prowess.skill.frontmatter import HEAD_BYTES, MAX_FRONTMATTER_BYTES, is_closed
from prowess.skill.problems import Problem, make_problem
from prowess.sources.disk_errors import name_fault
from prowess.sources.folders import SKILL_MD
from prowess.sources.open_folders import FILE_FLAGS, read_up_to
from prowess.sources.real_paths import find_real_path

__all__ = [
    "complete_head",
    "read_beginning",
    "read_head",
    "read_plain_file",
    "read_sidecar",
    "read_start",
    "sidecar_status",
]


def read_head(folder: str, status: os.stat_result) -> bytes | Problem:
    """Return as much of the folder's SKILL.md as is needed for its frontmatter; `status` is the file's own."""
    beginning = read_beginning(folder, status)
    return beginning if isinstance(beginning, Problem) else complete_head(folder, status, beginning)


def read_beginning(folder: str, status: os.stat_result) -> bytes | Problem:
    """Return the first bytes of the folder's SKILL.md, which are enough for nearly all."""
    return _read(folder, status, _read_once)


def complete_head(folder: str, status: os.stat_result, beginning: bytes) -> bytes | Problem:
    """Return as much of the folder's SKILL.md as is needed for its frontmatter, of which this is the beginning."""
    if len(beginning) < HEAD_BYTES or is_closed(beginning):
        return beginning
    return _read(folder, status, _read_on)


def _read_once(file: int) -> bytes:
    return os.read(file, HEAD_BYTES)


def _read_on(file: int) -> bytes:
    return read_up_to(file, MAX_FRONTMATTER_BYTES + 1)


def _read(folder: str, status: os.stat_result, read: Callable[[int], bytes]) -> bytes | Problem:
    path = f"{folder}/{SKILL_MD}"
    if not stat.S_ISREG(status.st_mode):
        target = _link_target(path, folder, status)
        if isinstance(target, Problem):
            return target
        path = target
    try:
        file = os.open(path, FILE_FLAGS)
        try:
            return read(file)
        finally:
            os.close(file)
    except OSError as error:
        return _unreadable(error)


def read_start(folder: str, *, limit: int) -> bytes | Problem:
    """Return the first `limit` bytes of the folder's SKILL.md."""
    path = f"{folder}/{SKILL_MD}"
    try:
        status = os.lstat(path)
        target = path if stat.S_ISREG(status.st_mode) else _link_target(path, folder, status)
        if isinstance(target, Problem):
            return target
        file = os.open(target, FILE_FLAGS)
        try:
            return read_up_to(file, limit)
        finally:
            os.close(file)
    except OSError as error:
        return _unreadable(error)


def sidecar_status(folder: str) -> os.stat_result | None:
    """Return the status of the sidecar, or None if there is none; that of `agents` if this is no plain folder."""
    path = f"{folder}/{SIDECAR_PATH}"
    if not os.access(path, os.F_OK):  # The common case, asked in the cheapest way.
        return None
    try:
        folder_status = os.lstat(os.path.dirname(path))
        return os.lstat(path) if stat.S_ISDIR(folder_status.st_mode) else folder_status
    except OSError:
        return None


def read_sidecar(folder: str) -> bytes | None:
    """Return the sidecar's bytes, one more than allowed if it is too large; None if it cannot be read."""
    return read_plain_file(f"{folder}/{SIDECAR_PATH}", limit=MAX_FRONTMATTER_BYTES + 1)


def read_plain_file(path: str, *, limit: int) -> bytes | None:
    """Return the first `limit` bytes of a plain file; None if it is something else or cannot be read."""
    try:
        file = os.open(path, FILE_FLAGS)
        try:
            return read_up_to(file, limit) if stat.S_ISREG(os.fstat(file).st_mode) else None
        finally:
            os.close(file)
    except OSError:
        return None


def _link_target(path: str, folder: str, status: os.stat_result) -> str | Problem:
    """Return the plain file inside the folder that a SKILL.md links to."""
    if not stat.S_ISLNK(status.st_mode):
        return make_problem("not-a-file", "SKILL.md is not a file", path=SKILL_MD)
    target, home = find_real_path(path), find_real_path(folder)
    if target is not None and home is not None and _is_plain_file_in(home, target):
        return target
    return make_problem("link-escape", "SKILL.md is a link that leads out of the skill, or nowhere", path=SKILL_MD)


def _is_plain_file_in(folder: str, path: str) -> bool:
    try:
        return path.startswith(folder + os.sep) and stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _unreadable(error: OSError) -> Problem:
    code = name_fault(error, otherwise="skill-md-unreadable")
    return make_problem(code, f"SKILL.md cannot be read: {error.strerror}", path=SKILL_MD)
