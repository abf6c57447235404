"""The versions of one of the user's own skills: the folder that is in use, and those that were.

Versions count from 1. The former ones lie in `versions/<number>`; the one in use has the next number. So folders alone
give the numbers, and a record beside them adds when each version came, from where, and with which digest.

A new version changes places with the old one in one step. Before that it lies among the versions as
`.incoming-<number>-<digest>`, `number` being what the old one will be called. After a crash, its digest tells whether
the step was taken: if not, it is what nobody has ever used and goes; if so, it is the old version and gets its number.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from prowess.copies.trees import remove_tree
from prowess.copies.user_folders import ensure_plain_folder
from prowess.sources.durable_names import fsync_folder
from prowess.sources.heads import read_plain_file
from prowess.sources.renaming import exchange
from prowess.sources.skill_files import read_skill_files
from prowess.sources.whole_files import write_whole

__all__ = ["Archive", "History", "KeptVersion", "Origin", "VersionNote"]

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_INCOMING = re.compile(r"\.incoming-([1-9][0-9]{0,8})-([0-9a-f]{64})")
_ASIDE = ".aside"
"""What the old version is called for a moment where two folders cannot change places in one step."""
_MAX_RECORD_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a version came from: a folder, or a folder of a git repository at a commit."""

    place: str
    ref: str = ""
    folder: str = ""
    commit: str = ""

    @property
    def is_git(self) -> bool:
        return bool(self.commit)

    @property
    def address(self) -> str:
        """What it can be added by again."""
        ref = f"@{self.ref}" if self.ref else ""
        return f"{self.place}{ref}" + (f"#{self.folder}" if self.folder else "")


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What the record says of one version."""

    digest: str = ""
    at: float | None = None
    """When it came into use, in seconds since 1970."""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class _Record:
    versions: dict[str, VersionNote] = field(default_factory=dict[str, VersionNote])


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """One version, as it lies on disk."""

    number: int
    folder: str
    digest: str
    """Empty if not all of its files can be read."""
    at: float | None = None
    origin: Origin | None = None
    edited: bool = False
    """The files are not those that came: somebody has worked on them."""


@dataclass(frozen=True, slots=True)
class History:
    """All versions of a skill."""

    name: str
    current: KeptVersion | None
    """None if the skill was removed."""
    previous: tuple[KeptVersion, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the versions of one skill lie. Only who holds the user's lock changes anything."""

    current: str
    """The folder in use."""
    folder: str
    """For everything else."""

    def exists(self) -> bool:
        """Whether there is a version in use. A link or a file in its place counts as one."""
        return os.path.lexists(self.current)

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the former versions, sorted."""
        return tuple(sorted(int(name) for name in self._names() if _NUMBER.fullmatch(name)))

    def next_number(self) -> int:
        """Return the number of the version in use, or of the one to come if there is none."""
        return max(self.numbers(), default=0) + 1

    def path(self, number: int) -> str:
        """Return where a former version lies, or will."""
        return os.path.join(self.folder, "versions", str(number))

    def prepare(self) -> None:
        """Make the folders, and take care of what a crash has left."""
        for folder in (self.folder, os.path.join(self.folder, "versions")):
            ensure_plain_folder(folder)
        if not self.is_settled():
            self._settle()

    def is_settled(self) -> bool:
        """Whether no crash has left anything."""
        return not any(name.startswith(".incoming-") for name in self._names())

    def place(self, staged: str, *, digest: str) -> None:
        """Put a folder in use, and keep the one that was."""
        if not self.exists():
            os.rename(staged, self.current)
            self._sync()
            return
        number = self.next_number()
        incoming = os.path.join(self.folder, "versions", f".incoming-{number}-{digest}")
        os.rename(staged, incoming)
        self._sync()
        exchange(incoming, self.current)
        os.rename(incoming, self.path(number))
        self._sync()

    def put_away(self) -> int:
        """Take the version in use out of use and keep it; return its number."""
        number = self.next_number()
        os.rename(self.current, self.path(number))
        self._sync()
        return number

    def take_back(self, number: int) -> None:
        """Put a kept version in use as it lies there, so that it is no former one any more."""
        os.rename(self.path(number), self.current)
        self._sync()

    def notes(self) -> Mapping[int, VersionNote]:
        """Return what the record says; nothing if it is lost or damaged."""
        raw = read_plain_file(self._record, limit=_MAX_RECORD_BYTES)
        try:
            record = msgspec.json.decode(raw or b"{}", type=_Record)
        except msgspec.MsgspecError:
            return {}
        return {int(number): note for number, note in record.versions.items() if _NUMBER.fullmatch(number)}

    def write_note(self, number: int, note: VersionNote) -> None:
        """Add to the record, which is on disk when this returns; what it says of versions that are not there goes."""
        known = {**self.notes(), number: note}
        kept = {*self.numbers(), self.next_number(), number}
        record = _Record({str(one): known[one] for one in sorted(known) if one in kept})
        write_whole(self._record, msgspec.json.format(msgspec.json.encode(record)) + b"\n", mode=0o600)

    def read(self, name: str) -> History:
        """Return all versions."""
        notes = self.notes()
        previous = tuple(_keep(number, self.path(number), notes.get(number)) for number in self.numbers())
        return History(name, self.read_current(), previous)

    def read_current(self) -> KeptVersion | None:
        """Return the version in use; None if there is none."""
        number = self.next_number()
        return _keep(number, self.current, self.notes().get(number)) if self.exists() else None

    def read_version(self, number: int) -> KeptVersion | None:
        """Return one version, in use or former; None if it is not there."""
        if number in self.numbers():
            return _keep(number, self.path(number), self.notes().get(number))
        return self.read_current() if number == self.next_number() else None

    @property
    def _record(self) -> str:
        return os.path.join(self.folder, "record.json")

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.folder, "versions")))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _settle(self) -> None:
        versions = os.path.join(self.folder, "versions")
        for name in (name for name in self._names() if name.endswith(_ASIDE)):
            aside = os.path.join(versions, name)
            if _INCOMING.fullmatch(name.removesuffix(_ASIDE)):
                os.rename(aside, self.path(self.next_number()) if self.exists() else self.current)
        for name in self._names():
            found, path = _INCOMING.fullmatch(name), os.path.join(versions, name)
            if found and read_skill_files(path).digest == found[2]:
                remove_tree(path)
            elif found:
                os.rename(path, self.path(self.next_number()))
        self._sync()

    def _sync(self) -> None:
        """Make sure that what was renamed stays so."""
        for folder in (os.path.join(self.folder, "versions"), self.folder, os.path.dirname(self.folder)):
            fsync_folder(folder)
        fsync_folder(os.path.dirname(self.current))


def _keep(number: int, folder: str, note: VersionNote | None) -> KeptVersion:
    digest = read_skill_files(folder).digest
    if note is None:
        return KeptVersion(number, folder, digest)
    return KeptVersion(number, folder, digest, note.at, note.origin, edited=bool(note.digest) and note.digest != digest)
