"""What is mounted where, as the kernel tells it."""

import re
from typing import NamedTuple

__all__ = ["MountPoint", "parse_mount_points", "read_mount_points"]

_ESCAPE = re.compile(r"\\([0-7]{3})")


class MountPoint(NamedTuple):
    """One line of a process' table."""

    place: str
    """Where it is mounted, as that process sees it."""
    root: str
    """Which folder or file of the file system is mounted there, as a path in that file system."""
    kind: str
    """Of file system, such as `ext4`."""


def read_mount_points(process: str = "self") -> list[MountPoint]:
    """Return what a process finds mounted, in the order of mounting; nothing if that cannot be told."""
    try:
        with open(f"/proc/{process}/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return parse_mount_points(file.read())
    except OSError:
        return []


def parse_mount_points(text: str) -> list[MountPoint]:
    """Return the lines of a `mountinfo`, with paths as they are; what is no such line is passed over."""
    found: list[MountPoint] = []
    for line in text.split("\n"):
        before, _, after = line.partition(" - ")
        fields = before.split(" ", 5)
        if len(fields) > 5 and after:
            found.append(MountPoint(_unescape(fields[4]), _unescape(fields[3]), after.partition(" ")[0]))
    return found


def _unescape(path: str) -> str:
    """Undo how the kernel writes blanks and the like."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), path) if "\\" in path else path
