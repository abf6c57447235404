"""A home in which a sync has much to do, and what must be true of it at every instant and in the end."""

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prowess.copies.record import Record
from prowess.copies.sync import SyncReport
from prowess.runtime import Runtime
from prowess.settings import Settings, load_settings
from tests.skills_on_disk import write_skill

__all__ = ["Contents", "Place", "Scene", "read_contents", "snapshot"]

Contents = Mapping[str, tuple[str, bytes]]
"""All that a folder holds: by path, what it is (file, program, link, folder) and its bytes."""


def read_contents(folder: Path) -> Contents:
    """Return what is in a folder, following no link."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status, name = path.lstat(), path.relative_to(folder).as_posix()
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", os.readlink(path).encode())
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", b"")
        else:
            found[name] = ("program" if status.st_mode & stat.S_IXUSR else "file", path.read_bytes())
    return found


def snapshot(folder: Path) -> Mapping[str, tuple[object, ...]]:
    """Return what a folder holds, with everything that a write or a change of modes would leave behind."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted((folder, *folder.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        marks = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        found[path.relative_to(folder).as_posix()] = (*marks, content)
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """A home of Prowess and a folder of skills, below one folder."""

    base: Path
    user: str = "local"

    @property
    def skills(self) -> Path:
        return self.base / "skills"

    @property
    def home(self) -> Path:
        return self.base / "home" / ".prowess"

    @property
    def active(self) -> Path:
        return self.home / "users" / self.user / "skills" / "active"

    @property
    def personal(self) -> Path:
        return self.home / "users" / self.user / "skills" / "personal"

    @property
    def versions(self) -> Path:
        return self.home / "versions"

    @property
    def workshop(self) -> Path:
        return self.home / "copies"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a child needs to find all this."""
        return {"HOME": str(self.base / "home"), "PROWESS_HOME": str(self.home), "PATH": os.environ["PATH"]}

    @property
    def settings(self) -> Settings:
        settings = load_settings(environ=self.environment, working_folder=str(self.base))
        return settings.for_user(self.user)

    def open(self) -> Runtime:
        """Open a runtime on the skills of the place."""
        return Runtime(self.settings, skills=[self.skills])

    def sync(self) -> SyncReport:
        """Sync as a new process would."""
        with self.open() as runtime:
            return runtime.sync()

    def copies(self) -> Mapping[str, Contents]:
        """Return what is in the active folder now."""
        return {path.name: read_contents(path) for path in self.active.iterdir()}

    def wanted(self) -> Mapping[str, Contents]:
        """Return what must be in the active folder when all skills are copied."""
        return {f"project--{path.name}": read_contents(path) for path in self.skills.iterdir()}

    def staged(self) -> list[str]:
        """Return what lies in staging."""
        staging = self.workshop / "staging"
        return sorted(os.listdir(staging)) if staging.exists() else []

    def retired(self) -> list[str]:
        """Return what was taken out of use and waits for its time."""
        folder = self.workshop / "retired"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def let_a_day_pass(self) -> None:
        """Make everything that the home remembers a day older."""
        (self.workshop / "tidied").unlink(missing_ok=True)
        for name in self.retired():
            moment, _, rest = name.partition("-")
            folder = self.workshop / "retired"
            (folder / name).rename(folder / f"{int(moment) - 86_400_000}-{rest}")

    def kept_versions(self) -> set[str]:
        return set(os.listdir(self.versions)) if self.versions.exists() else set()

    def recorded(self) -> Mapping[str, tuple[str, int]]:
        """Return what the record says: by key the digest and the inode."""
        record = Record(str(self.workshop / "users" / self.user / "active" / "record"))
        return {key: (placed.digest, placed.inode) for key, placed in record.read().items()}

    def expect_mended(self) -> None:
        """Sync once, and find all as it should be: copies, record, staging and, after the upkeep, versions."""
        report = self.sync()
        assert report.skipped == ()
        self.expect_exact()
        self.let_a_day_pass()
        assert not self.sync().changed
        assert self.retired() == []
        digests = {digest for digest, _ in self.recorded().values()}
        assert self.kept_versions() == digests

    def expect_exact(self) -> None:
        """Find the copies to be the skills, the record and the versions to be true, and nothing left on the way."""
        assert self.copies() == self.wanted()
        assert {key: inode for key, (_, inode) in self.recorded().items()} == {
            path.name: path.lstat().st_ino for path in self.active.iterdir()
        }
        assert self.staged() == []
        for key, (digest, _) in self.recorded().items():
            assert read_contents(self.versions / digest) == read_contents(self.active / key)


@dataclass(slots=True)
class Scene:
    """A place where one skill was changed, one removed, one added, one kept, one made a program, and junk thrown in."""

    place: Place
    before: Mapping[str, Contents] = field(default_factory=dict[str, Contents])
    after: Mapping[str, Contents] = field(default_factory=dict[str, Contents])
    untouchable: Mapping[str, object] = field(default_factory=dict[str, object])

    def prepare(self) -> None:
        """Sync a first state, then change the skills."""
        skills = self.place.skills
        _write_pair(skills, "changed", "one")
        _write_pair(skills, "removed", "one")
        _write_pair(skills, "kept", "one")
        run = write_skill(skills, "moded", files={"scripts/run": "echo\n"}) / "scripts" / "run"
        os.symlink("data/left.txt", skills / "kept" / "alias")
        write_skill(self.place.personal, "mine", files={"notes.txt": "my own"})
        self.place.sync()
        self.before = self.place.copies()
        assert self.before == self.place.wanted()
        _write_pair(skills, "changed", "two")
        (skills / "changed" / "more.txt").write_text("two")
        shutil.rmtree(skills / "removed")
        _write_pair(skills, "added", "two")
        run.chmod(0o755)
        (self.place.active / "junk" / "inner").mkdir(parents=True)
        (self.place.active / "stray").write_text("junk")
        os.symlink(self.place.personal, self.place.active / "lure")
        self.after = self.place.wanted()
        self.untouchable = self._outside()

    def _outside(self) -> Mapping[str, object]:
        return {"personal": snapshot(self.place.personal), "skills": snapshot(self.place.skills)}

    def expect_whole(self) -> None:
        """Find every copy to be one whole version, old or new, and all that is not Prowess' own to be untouched."""
        now = self.place.copies()
        for key in self.before.keys() | self.after.keys():
            allowed = [self.before.get(key), self.after.get(key)]
            assert now.get(key) in allowed, f"{key} is neither the old nor the new version"
        assert now.keys() <= self.before.keys() | self.after.keys() | {"junk", "stray", "lure"}
        assert self._outside() == self.untouchable

    def expect_mended(self) -> None:
        """Find that one sync puts everything right."""
        self.place.expect_mended()
        assert self.place.copies() == self.after
        assert self._outside() == self.untouchable


def _write_pair(skills: Path, name: str, content: str) -> Path:
    """Write a skill whose files must match."""
    files = {"data/left.txt": content, "data/right.txt": content, "scripts/run.sh": f"#!/bin/sh\necho {content}\n"}
    return write_skill(skills, name, body=f"{content}\n", files=files)
