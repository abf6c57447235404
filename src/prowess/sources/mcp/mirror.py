"""The mirror of a server: a folder with every skill that it lists, as a placeholder or whole.

    ~/.prowess/cache/mcp/<server>/
      record.json            what the server listed, and what went wrong
      <scheme>-<level>/      the shelves; each is a root that is searched for skills
        <path>/              one skill
      staging/               what is on the way, and what was put aside
      lock

A skill is made in `staging` and takes its place in one step, so that whoever looks sees the old one, the new one, or
none, and never parts. All of it can be deleted at any time.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from prowess.skill.frontmatter import MAX_FRONTMATTER_BYTES
from prowess.sources.mcp.listed import Listed
from prowess.sources.mcp.placeholders import PLACEHOLDER_END, render_placeholder
from prowess.sources.mcp.wire import SKILL_MD
from prowess.sources.private_folders import make_private_folder
from prowess.sources.renaming import exchange
from prowess.sources.skill_files import read_skill_files

__all__ = ["Mirror"]

_SHELF = re.compile(r"[a-z][a-z0-9+.-]*-[0-9]+")
_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Mirror:
    """The folder of one server. Whoever changes it holds its lock."""

    folder: str

    @property
    def lock(self) -> str:
        """The path of the lock."""
        return os.path.join(self.folder, "lock")

    @property
    def staging(self) -> str:
        """Where skills are made before they take their place."""
        return os.path.join(self.folder, "staging")

    def locate(self, one: Listed) -> str:
        """Return the folder of a listed skill."""
        return os.path.join(self.folder, one.shelf, *one.path.split("/"))

    def holds(self, one: Listed) -> bool:
        """Whether every file of a skill is there, and nothing else, with the bytes that were listed."""
        return read_skill_files(os.path.realpath(self.locate(one))).digest == one.digest

    def is_fetched(self, one: Listed) -> bool:
        """Whether something else than a placeholder is in the place of a skill, which may be a former version of it."""
        try:
            with open(os.path.join(self.locate(one), SKILL_MD), "rb") as file:
                return not file.read(MAX_FRONTMATTER_BYTES).endswith(PLACEHOLDER_END)
        except OSError:
            return False

    def place_placeholder(self, one: Listed) -> bool:
        """Make sure that a skill has its placeholder; say whether it can have one."""
        text = render_placeholder(one.frontmatter)
        if text is None:
            return False
        if not self._is_placeholder(one, text):
            self.place(one, {SKILL_MD: text})
        return True

    def _is_placeholder(self, one: Listed, text: bytes) -> bool:
        folder = self.locate(one)
        try:
            if os.listdir(folder) != [SKILL_MD]:
                return False
            with open(os.path.join(folder, SKILL_MD), "rb") as file:
                return file.read(len(text) + 1) == text
        except OSError:
            return False

    def place(self, one: Listed, files: Mapping[str, bytes]) -> None:
        """Put files in the place of a skill, in one step."""
        draft = self._make_draft(files)
        target = self.locate(one)
        make_private_folder(os.path.dirname(target))
        if os.path.lexists(target):
            exchange(draft, target)
        else:
            os.rename(draft, target)
        _remove(draft)

    def _make_draft(self, files: Mapping[str, bytes]) -> str:
        make_private_folder(self.staging)
        draft = os.path.join(tempfile.mkdtemp(dir=self.staging), "skill")
        os.mkdir(draft, 0o700)
        for path, content in files.items():
            target = os.path.join(draft, *path.split("/"))
            make_private_folder(os.path.dirname(target))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
                file.write(content)
        return draft

    def keep_only(self, skills: Iterable[Listed]) -> None:
        """Take everything out of the shelves but these skills."""
        kept = {self.locate(one) for one in skills}
        way = {os.path.dirname(path) for path in kept}
        for path in list(way):
            while len(path := os.path.dirname(path)) > len(self.folder):
                way.add(path)
        for shelf in self.shelves():
            self._clear(os.path.join(self.folder, shelf), kept=kept, way=way, depth=0)

    def _clear(self, folder: str, *, kept: set[str], way: set[str], depth: int) -> None:
        if folder in kept or depth > _MAX_DEPTH:
            return
        if folder not in way or os.path.lexists(os.path.join(folder, SKILL_MD)):  # A former skill goes as a whole.
            self._put_aside(folder)
            return
        for name in os.listdir(folder):
            self._clear(os.path.join(folder, name), kept=kept, way=way, depth=depth + 1)

    def _put_aside(self, path: str) -> None:
        make_private_folder(self.staging)
        aside = os.path.join(tempfile.mkdtemp(dir=self.staging), "skill")
        os.rename(path, aside)
        _remove(aside)

    def shelves(self) -> tuple[str, ...]:
        """Return the names of the shelves that are there, sorted."""
        try:
            return tuple(sorted(name for name in os.listdir(self.folder) if _SHELF.fullmatch(name)))
        except OSError:
            return ()

    def measure(self, one: Listed | None = None) -> int:
        """Return how many bytes the files on all shelves have, or those in the place of one skill."""
        tops = [os.path.join(self.folder, shelf) for shelf in self.shelves()] if one is None else [self.locate(one)]
        walks = (os.walk(top) for top in tops)
        files = (os.path.join(folder, name) for walk in walks for folder, _, names in walk for name in names)
        return sum(os.lstat(file).st_size for file in files)

    def clean(self) -> None:
        """Remove what others have left in the staging folder. Nobody else is at work, since the lock is held."""
        shutil.rmtree(self.staging, ignore_errors=True)

    def remove(self) -> None:
        """Remove the whole mirror: the server is no longer wanted."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _remove(draft: str) -> None:
    """Remove what was put aside, with the folder that was made for it; what stays is cleaned the next time."""
    remove: Callable[[str], None] = shutil.rmtree if os.path.isdir(draft) and not os.path.islink(draft) else os.unlink
    with suppress(OSError):
        if os.path.lexists(draft):
            remove(draft)
        os.rmdir(os.path.dirname(draft))
