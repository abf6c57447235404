"""Versions, roots and wishes with little typing, and what is in a folder, to be compared."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from prowess.copies.layout import Layout
from prowess.copies.plan import Skipped, Wanted
from prowess.copies.roots import CopyRoot
from prowess.copies.sync import SyncReport, Wishes, sync_root
from prowess.copies.versions import Versions
from prowess.policy import SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet, read_skill_files

__all__ = [
    "Workplace",
    "codes",
    "contents",
    "digest_of",
    "make_skill",
    "modes",
    "mounted_elsewhere",
    "names",
    "public_folder",
    "skill_of",
]


def make_skill(skill_id: str, folder: Path | str = "/nowhere", *, apart: bool = False) -> Skill:
    """Return a skill with this id; nobody looks at its manifest."""
    relative = skill_id.partition(":")[2]
    return Skill(skill_id, SourceKind.USER, "/", relative, str(folder), Manifest(relative, "d"), apart=apart)


def skill_of(folder: Path, *, apart: bool = False) -> Skill:
    """Return the skill in a folder."""
    return make_skill(f"user:{folder.name}", folder, apart=apart)


def digest_of(folder: Path) -> str:
    """Return the digest that a folder has now."""
    return read_skill_files(str(folder)).digest


class Workplace:
    """A home with versions and roots, and the skills that are wanted in it. A `WishSource`."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.layout = Layout(os.path.realpath(home))
        self.versions = Versions(self.layout, durable=False)
        self.wanted: list[Skill] = []
        self.problems: dict[str, tuple[Problem, ...]] = {}
        self.failures: list[tuple[str, Problem]] = []
        self.needed: frozenset[str] = frozenset()
        self.knows_digests = False
        """Whether it tells what the skills' files are, as one does who has read them before."""

    def root(self, user: str = "ann") -> CopyRoot:
        return CopyRoot(self.layout.active(user), self.versions)

    def sync(self, *folders: Path, user: str = "ann") -> SyncReport:
        """Sync the skills in these folders, as a process of its own would: nothing is remembered."""
        self.wanted = [skill_of(folder) for folder in folders]
        root = self.root(user)
        mark = root.mark()
        root.make()
        return sync_root(root, self.versions, self, mark=mark)

    def active(self, user: str = "ann") -> Path:
        return Path(self.layout.active(user).folder)

    def version(self, digest: str) -> Path:
        return Path(self.versions.folder(digest))

    @property
    def version_names(self) -> set[str]:
        return names(Path(self.layout.versions))

    @property
    def workshop(self) -> Path:
        return Path(self.layout.workshop)

    def age_retired(self, seconds: int) -> None:
        """Make all retired copies so much older."""
        retired = self.workshop / "retired"
        for name in names(retired):
            moment, _, rest = name.partition("-")
            (retired / name).rename(retired / f"{int(moment) - seconds * 1_000}-{rest}")

    # As a source of wishes

    def wishes(self) -> Wishes:
        known = {skill.id: read_skill_files(skill.real).digest for skill in self.wanted if self.knows_digests}
        wanted = [Wanted(skill, known.get(skill.id, ""), self.problems.get(skill.id, ())) for skill in self.wanted]
        return Wishes(wanted, self.failures)

    def digest(self, skill: Skill) -> str:  # noqa: ARG002 - nothing is remembered
        return ""

    def learn(self, skill: Skill, files: FileSet, taken: int) -> None:
        """Nothing is remembered."""

    def held(self) -> frozenset[str]:
        return self.needed


_MOUNTING = """
import subprocess, sys
subprocess.run(["mount", "--bind", *sys.argv[1:]], check=True)
print("mounted", flush=True)
sys.stdin.read()
"""


@contextmanager
def mounted_elsewhere(source: Path, target: Path) -> Generator[None]:
    """Let another process see a folder at a second place, as a container does; nobody else sees it there."""
    target.mkdir(exist_ok=True)
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", _MOUNTING]
    with subprocess.Popen(
        [*command, str(source), str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "mounted\n", "unshare and mount must be there, and the right to use them"
            yield
        finally:
            child.kill()
        child.wait(30)


@contextmanager
def public_folder() -> Generator[Path]:
    """Give a folder that every user may enter; pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="prowess-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def names(folder: Path) -> set[str]:
    """Return what is directly in a folder; nothing if there is none."""
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def contents(folder: Path) -> dict[bytes, tuple[str, bytes]]:
    """Return every file and link below a folder with its bytes; folders show by what is in them."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for path, status in _walk(os.fsencode(folder)):
        inner = os.path.relpath(path, os.fsencode(folder))
        if stat.S_ISLNK(status.st_mode):
            found[inner] = ("link", os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            kind = "script" if status.st_mode & stat.S_IXUSR else "file"
            found[inner] = (kind, Path(os.fsdecode(path)).read_bytes())
        elif not stat.S_ISDIR(status.st_mode):
            found[inner] = ("other", b"")
    return found


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of a folder and of everything below it but links."""
    found = {".": _mode(os.lstat(folder))}
    for path, status in _walk(os.fsencode(folder)):
        if not stat.S_ISLNK(status.st_mode):
            found[os.fsdecode(os.path.relpath(path, os.fsencode(folder)))] = _mode(status)
    return found


def _mode(status: os.stat_result) -> str:
    return f"{stat.S_IMODE(status.st_mode):04o}"


def _walk(folder: bytes) -> Iterable[tuple[bytes, os.stat_result]]:
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(path)


def codes(skipped: Iterable[Skipped]) -> dict[str, str]:
    """Return the code of what is wrong with each skill that was skipped."""
    return {one.id: one.problem.code for one in skipped}
