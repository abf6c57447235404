"""Names that others may give to files and folders: those that every disk can hold, and tell from one another."""

import unicodedata
from collections.abc import Iterable

from prowess.sources.skill_files import is_leftover

__all__ = ["MAX_PATH_BYTES", "fold_path", "judge_name", "judge_paths"]

MAX_PATH_BYTES = 1_024
MAX_STEPS = 16
_MAX_NAME_BYTES = 240
_FORBIDDEN = frozenset('<>:"|?*\\/')
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_SHOWN = 120


def judge_name(name: str) -> str:
    """Return why no file or folder may have this name; empty if it may."""
    if name in ("", ".", ".."):
        return "leads elsewhere"
    if not name.isprintable() or not _FORBIDDEN.isdisjoint(name):
        return "has characters that a name cannot have"
    if name != name.strip(" ") or name.endswith("."):
        return "begins with a blank, or ends with a blank or a dot"
    if name.partition(".")[0].rstrip(" ").casefold() in _DEVICES:
        return "is the name of a device"
    if len(name.encode("utf-8", "surrogatepass")) > _MAX_NAME_BYTES:
        return "is too long"
    if name.casefold() == ".git" or is_leftover(name.encode("utf-8", "surrogatepass")):
        return "is never part of a skill"
    return ""


def judge_paths(paths: Iterable[str]) -> str:
    """Return why these paths cannot be the files of one folder; empty if they can."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        steps = path.split("/")
        if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES or len(steps) > MAX_STEPS:
            return f"{_show(path)} is too long or too deep"
        for step in steps:
            if reason := judge_name(step):
                return f"{_show(path)}: {_show(step)} {reason}"
        if (other := files.setdefault(fold_path(path), path)) != path:
            return f"{_show(path)} and {_show(other)} are one name on some disks"
        for depth in range(1, len(steps)):
            folder = "/".join(steps[:depth])
            if (other := folders.setdefault(fold_path(folder), folder)) != folder:
                return f"{_show(folder)} and {_show(other)} are one name on some disks"
    clash = files.keys() & folders.keys()
    return f"{_show(files[min(clash)])} is a file and a folder" if clash else ""


def fold_path(path: str) -> str:
    """Return one spelling for all paths that a disk may hold to be the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _show(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
