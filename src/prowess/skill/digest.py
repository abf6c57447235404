"""The digest: one name for the exact files of a skill, the same on every machine.

It is the SHA-256 of a list with one line a file, sorted by path: kind, SHA-256 of the bytes (for a link, of its
target), length of the path, path. The length keeps a path with a line break from posing as two lines. Dates, owners
and empty folders do not count.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["FileKind", "SkillFile", "digest_files"]

_HEADER = b"prowess-skill-digest-1\n"


class FileKind(StrEnum):
    """What a file of a skill is."""

    FILE = "file"
    EXECUTABLE = "executable"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill."""

    path: bytes
    """Below the skill's folder, with `/`; bytes, since a name on disk need not be text."""
    kind: FileKind
    size: int
    sha256: str


def digest_files(files: Iterable[SkillFile]) -> str:
    """Return the digest as 64 hexadecimal digits."""
    whole = hashlib.sha256(_HEADER)
    for file in sorted(files, key=lambda file: file.path):
        whole.update(f"{file.kind} {file.sha256} {len(file.path)} ".encode() + file.path + b"\n")
    return whole.hexdigest()
