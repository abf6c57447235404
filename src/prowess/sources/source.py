"""The Source: a place skills come from."""

import os
from dataclasses import dataclass

from prowess.policy import Links, Scan, SourceKind
from prowess.skill.deception import make_printable
from prowess.skill.problems import Problem

__all__ = ["Source", "is_below", "is_text", "show_bytes", "show_path"]


@dataclass(frozen=True, slots=True)
class Source:
    """A folder to search, with what is known of it before it is searched."""

    kind: SourceKind
    root: str
    """An absolute path on the host."""
    trusted: bool = True
    scan: Scan = Scan.RECURSIVE
    links: Links = Links.KNOWN_ROOTS
    plugin: str = ""
    """The plugin's id, for kind `plugin`; the server's name, for kind `mcp`."""
    project: str = ""
    """The project's root, for kind `project`."""
    expected: bool = False
    """Somebody named this folder, so its absence is worth a word."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with it, whatever the folder holds."""

    def skill_id(self, relative: str) -> str:
        """Return the id of the skill at `relative` below the root, the root's own name standing for the root itself."""
        path = show_path(relative or os.path.basename(os.path.normpath(self.root)))
        return f"{self.kind}:{self.plugin}/{path}" if self.plugin else f"{self.kind}:{path}"


def show_path(path: str) -> str:
    """Return `path` as text on one line that can be printed and sent, whatever bytes the name has on disk."""
    if path.isascii() and path.isprintable():
        return path
    if not path.isascii():
        path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return make_printable(path)


def show_bytes(path: bytes) -> str:
    """Return a name as it is on disk in the way of `show_path`."""
    return show_path(os.fsdecode(path))


def is_text(path: str) -> bool:
    """Whether the bytes of the name on disk are text, so that it can be written and read again."""
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or something in it, by the letters of both."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
