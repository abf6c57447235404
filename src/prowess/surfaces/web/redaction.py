"""Paths of this machine, taken out of what is shown to those who are not sitting at it."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, cast

from prowess.settings import Settings
from prowess.sources.places import Place, expand_path
from prowess.sources.source import is_below

__all__ = ["redact_conversation", "redact_paths", "redact_record", "shorten_paths"]

_USUAL_FOLDERS = ("Users", "Volumes", "etc", "home", "mnt", "opt", "private", "root", "srv", "tmp", "usr", "var")
"""At the top of a disk, here or on the machine that a message comes from."""
_OURS = frozenset({"api", "shared", "workspace"})
"""What paths of this site, and of sandboxes, begin with."""
_TROUBLES = frozenset({"error", "notice", "retried"})
"""Events that Prowess tells in words of its own, which may name any file."""
_FAILED = frozenset({"failed", "refused"})
_TYPED = "mention"
"""The key of what is typed to call a skill, which begins as a path does."""
_TOLD = frozenset({"path", "root", "project", "message", "remedy", "hint", "text", "repository", "note", "notes"})
"""Keys of records of skills, decisions and models whose texts may hold a path of the host."""
_WRITTEN = "frontmatter"
"""The key of what the author of a skill has written, which says the same to everybody."""
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\(?:[^\\\s'\"`<>|]+\\)*([^\\\s'\"`<>|]*)")
_BEGUN_PATH = re.compile(r"(?<![\w.~/])/(?=[^/\s]+/)")


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that has a short form."""

    path: str
    pattern: re.Pattern[str]
    shown: str


def redact_paths(text: str, settings: Settings) -> str:
    """Return a text with the folders of this machine replaced.

    What lies in the working folder is shown as `./…`, in Prowess' home as `~/.prowess/…`, in the user's home as `~/…`;
    of any other path, the last part is left. Paths of this site and of sandboxes stay.
    """
    if "/" not in text and "\\" not in text:
        return text
    text = shorten_paths(text, settings)
    quoted, bare = _other_paths()
    text = quoted.sub(lambda found: f"{found[1]}…/{os.path.basename(found[2])}{found[1]}", text)
    text = bare.sub(lambda found: f"…/{os.path.basename(found[0])}", text)
    return _WINDOWS.sub(lambda found: f"…\\{found[1]}", text)


def shorten_paths(text: str, settings: Settings) -> str:
    """Return a text with the folders that Prowess works in by their short forms; all other paths stay.

    For what people, models and skills have written: there, `/etc/hosts` and `#!/usr/bin/env` mean what they say.
    """
    if "/" not in text and "\\" not in text:
        return text
    folders = _known_folders(settings.place, (*(settings.directories or ()), *settings.extra_directories))
    for folder in folders:
        text = folder.pattern.sub(lambda _, shown=folder.shown: shown, text)
    return _drop_begun_path(text, folders)


def _drop_begun_path(text: str, folders: tuple[_Folder, ...]) -> str:
    """Return a text that was cut, as titles are, without the beginning of one of the folders at its end.

    No more of it is looked at than a folder is long, whatever a skill or a script has written.
    """
    longest = max((len(folder.path) for folder in folders), default=0)
    end = len(text) - 1
    if not text.endswith("…"):
        return text
    for begun in _BEGUN_PATH.finditer(text, max(0, end - longest), end):
        if any(folder.path.startswith(text[begun.start() : end]) for folder in folders):
            return f"{text[: begun.start()]}…"
    return text


def redact_conversation(value: Any, settings: Settings) -> Any:
    """Return a record of conversations without the folders of this machine, at any depth.

    Errors and notices, and what has failed, lose all paths; everything else has short forms of those that we know.
    """
    return _redact_value(value, partial(shorten_paths, settings=settings), partial(redact_paths, settings=settings))


def _redact_value(value: Any, usual: Callable[[str], str], strict: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return usual(value)
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        redact = strict if _tells_of_trouble(record) else usual
        return {name: item if name == _TYPED else _redact_value(item, redact, strict) for name, item in record.items()}
    if isinstance(value, list | tuple):
        return [_redact_value(item, usual, strict) for item in cast("list[Any]", value)]
    return value


def redact_record(value: Any, settings: Settings) -> Any:
    """Return a record of skills, decisions or models without the folders of this machine, at any depth."""
    return _redact_told(value, partial(redact_paths, settings=settings), is_told=False)


def _redact_told(value: Any, redact: Callable[[str], str], *, is_told: bool) -> Any:
    if isinstance(value, str):
        return redact(value) if is_told else value
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        return {
            name: item if name == _WRITTEN else _redact_told(item, redact, is_told=name in _TOLD)
            for name, item in record.items()
        }
    if isinstance(value, list | tuple):
        return [_redact_told(item, redact, is_told=is_told) for item in cast("list[Any]", value)]
    return value


def _tells_of_trouble(record: dict[str, Any]) -> bool:
    is_error = "code" in record and "message" in record
    return is_error or str(record.get("event")) in _TROUBLES or str(record.get("state")) in _FAILED


@lru_cache(maxsize=64)
def _known_folders(place: Place, directories: tuple[str, ...]) -> tuple[_Folder, ...]:
    """Return the folders that have a short form, the deepest first."""
    named = {
        form: shown for path, shown in _name_folders(place, directories) for form in (path, os.path.realpath(path))
    }
    longest_first = sorted((path for path in named if path.strip("/")), key=len, reverse=True)
    return tuple(
        _Folder(path, re.compile(rf"(?<![\w.~]){re.escape(path)}(?![\w-]|\.\w)"), named[path]) for path in longest_first
    )


def _name_folders(place: Place, directories: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Return the folders with their short forms; of two forms for one folder, the later counts."""
    inside = (place.home, place.project_root, place.prowess_home)
    for directory in directories:
        path = expand_path(directory, base=place.project_root, home=place.home)
        if not any(is_below(path, one) for one in inside):
            yield path, f"…/{os.path.basename(path)}"
    yield place.home, "~"
    yield place.project_root, "."
    yield place.working_folder, "."
    yield place.prowess_home, "~/.prowess"


@lru_cache(maxsize=1)
def _other_paths() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds absolute paths: those in quotes, which may hold blanks, and all others.

    They begin with a folder that disks have: `/api/skills`, `/pdf-fill` and `/workspace` are no paths of this machine.
    """
    try:
        here = [name for name in os.listdir("/") if name not in _OURS]
    except OSError:
        here = []
    top = "|".join(sorted(map(re.escape, {*here, *_USUAL_FOLDERS}), key=len, reverse=True))
    return (
        re.compile(rf"(['\"`])(/(?:{top})/[^'\"`\n]*[^'\"`\n/])/?\1"),
        re.compile(rf"(?<![\w./~…:-])/(?:{top})/[^\s'\"`,;:()<>\[\]{{}}]*[^\s'\"`,;:()<>\[\]{{}}./]"),
    )
