"""The texts of files that have changed since a person agreed to a skill, so that the change itself can be shown.

The former text comes from the version that was agreed to, if that is still kept; the new one from the skill, and only
if it is the very text that the question is about.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.activation.consent import Change, FileChange, Question
from prowess.copies.versions import Versions
from prowess.errors import NotFound, WorldError
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.skill import Skill
from prowess.sources.beneath import open_beneath
from prowess.sources.source import show_bytes

__all__ = ["TextChange", "read_changed_texts"]

_MAX_FILES = 50
_MAX_FILE_BYTES = 128 << 10
"""A text that is longer is not compared."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text file that is new, or that differs from what was agreed to before.

    If both texts are the same, it is executable now, or no more.
    """

    path: str
    before: str
    """Empty for a new file."""
    after: str


def read_changed_texts(question: Question, skill: Skill | None, versions: Versions) -> tuple[TextChange, ...]:
    """Return the new and the changed files of which both texts are at hand, within bounds."""
    places = [_Place(versions.folder(question.digest))]
    places += [_Place(skill.real, skill.apart)] if skill is not None else []
    try:
        with versions.pin(question.former_digest) as former:
            # One that is damaged would show another change than there is.
            is_whole = versions.read(former.digest) is not None
            return tuple(_read_all(question, _Place(former.folder) if is_whole else None, places))
    except (NotFound, WorldError, OSError):
        return tuple(_read_all(question, None, places))


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder with files of the skill."""

    folder: str
    apart: bool = False

    def read(self, path: bytes, *, sha256: str = "") -> str | None:
        """Return the text of a file; None if there is none, if it is too long, or not the one of this hash."""
        file = open_beneath(self.folder, path=path, apart=self.apart)
        if not isinstance(file, int):
            return None
        try:
            raw = _read_bounded(file)
        except OSError:
            return None
        finally:
            os.close(file)
        if raw is None or b"\0" in raw or (sha256 and hashlib.sha256(raw).hexdigest() != sha256):
            return None
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return None


def _read_all(question: Question, former: _Place | None, places: Sequence[_Place]) -> Iterator[TextChange]:
    files = {show_bytes(file.path): file for file in question.files if file.kind is not FileKind.LINK}
    for change in question.changes[:_MAX_FILES]:
        file = files.get(change.path)
        if file is None:
            continue
        before = _read_former(change, former, file.path)
        after = None if before is None else _read_present(file, places)
        if before is not None and after is not None:
            yield TextChange(change.path, before, after)


def _read_former(change: FileChange, former: _Place | None, path: bytes) -> str | None:
    if change.change is Change.ADDED:
        return ""
    return former.read(path) if former is not None else None


def _read_present(file: SkillFile, places: Sequence[_Place]) -> str | None:
    found = (place.read(file.path, sha256=file.sha256) for place in places)
    return next((text for text in found if text is not None), None)


def _read_bounded(file: int) -> bytes | None:
    parts: list[bytes] = []
    left = _MAX_FILE_BYTES + 1
    while left > 0 and (part := os.read(file, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts) if left > 0 else None
