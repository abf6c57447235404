"""The files of a skill are handed on as they are hashed, and a failing disk is told from a faulty skill."""

import errno
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from prowess.skill.digest import FileKind
from prowess.sources.disk_errors import is_passing
from prowess.sources.skill_files import copy_skill_files, is_unchanged, list_skill_files, read_skill_files
from tests.sources.building import codes, write_skill


@dataclass
class _Paper:
    """Writes down what it is handed. A `FileSink`."""

    files: dict[bytes, tuple[FileKind, bytes]] = field(default_factory=dict[bytes, tuple[FileKind, bytes]])
    links: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    open: list[bytes] = field(default_factory=list[bytes])

    def begin_file(self, path: bytes, kind: FileKind) -> None:
        self.open.append(path)
        self.files[path] = (kind, b"")

    def write(self, part: bytes) -> None:
        kind, before = self.files[self.open[-1]]
        self.files[self.open[-1]] = (kind, before + part)

    def end_file(self) -> None:
        self.open.pop()

    def make_link(self, path: bytes, target: bytes) -> None:
        self.links[path] = target


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path / "skill")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "big.bin").write_bytes(os.urandom(700_000))
    (folder / "empty").touch()
    (folder / "latest").symlink_to("scripts/run.sh")
    return folder


@pytest.mark.requirement("R78", "K5")
def test_what_is_handed_on_is_what_is_hashed(skill: Path) -> None:
    paper = _Paper()
    assert copy_skill_files(str(skill), paper) == read_skill_files(str(skill))
    assert paper == _Paper(
        {
            b"SKILL.md": (FileKind.FILE, (skill / "SKILL.md").read_bytes()),
            b"big.bin": (FileKind.FILE, (skill / "big.bin").read_bytes()),
            b"empty": (FileKind.FILE, b""),
            b"scripts/run.sh": (FileKind.EXECUTABLE, b"#!/bin/sh\n"),
        },
        {b"latest": b"scripts/run.sh"},
    )


@pytest.mark.requirement("R81", "K5")
def test_what_must_not_be_read_is_not_handed_on(skill: Path) -> None:
    (skill / "out").symlink_to("/etc/passwd")
    (skill / "up").symlink_to("../secret")
    os.mkfifo(skill / "fifo")
    (skill / ".git").mkdir()
    (skill / ".git" / "config").touch()
    (skill / ".nfs12").touch()
    paper = _Paper()
    found = copy_skill_files(str(skill), paper)
    assert (codes(found.problems), found.digest) == (["not-a-file", "link-escape", "link-escape"], "")
    assert (set(paper.files), set(paper.links)) == (
        {b"SKILL.md", b"big.bin", b"empty", b"scripts/run.sh"},
        {b"latest"},
    )


def test_error_of_the_sink_is_not_the_skills(skill: Path) -> None:
    class Full(_Paper):
        def write(self, part: bytes) -> None:  # noqa: ARG002 - it takes none
            raise RuntimeError("no room")

    full = Full()
    with pytest.raises(RuntimeError, match="no room"):
        copy_skill_files(str(skill), full)
    assert full.open == []  # The file that was begun was ended.


@pytest.mark.requirement("R88")
def test_neighbours_of_a_skill_in_the_root_are_not_part_of_it(skill: Path) -> None:
    write_skill(skill / "neighbour")
    (skill / "neighbour" / "out").symlink_to("/etc")  # Its fault is its own.
    (skill / "scripts" / "inner").mkdir()
    write_skill(skill / "scripts" / "inner")  # No skill of its own: only children of the root are.
    alone, whole = (read_skill_files(str(skill), apart=apart) for apart in (True, False))
    assert [file.path for file in alone.files] == [
        b"SKILL.md",
        b"big.bin",
        b"empty",
        b"latest",
        b"scripts/inner/SKILL.md",
        b"scripts/run.sh",
    ]
    assert (codes(alone.problems), codes(whole.problems)) == ([], ["link-escape"])
    listed = list_skill_files(str(skill), apart=True)
    assert [file.path for file in listed.files] == [file.path for file in alone.files]
    paper = _Paper()
    assert copy_skill_files(str(skill), paper, apart=True) == alone
    assert b"neighbour/SKILL.md" not in paper.files


@pytest.mark.requirement("R88")
def test_folder_that_becomes_a_neighbour_changes_the_skill(skill: Path) -> None:
    (skill / "notes").mkdir()
    (skill / "notes" / "a.md").touch()
    before = read_skill_files(str(skill), apart=True)
    assert is_unchanged(str(skill), before)
    write_skill(skill / "notes")
    assert not is_unchanged(str(skill), before)
    after = read_skill_files(str(skill), apart=True)
    assert b"notes/a.md" in [file.path for file in before.files]
    assert b"notes/a.md" not in [file.path for file in after.files]


# A failing disk


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ETIMEDOUT])
def test_failing_world_says_nothing_of_the_file(code: int) -> None:
    assert is_passing(OSError(code, os.strerror(code)))


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.ENXIO])
def test_what_is_wrong_with_the_file_itself_stays_wrong(code: int) -> None:
    assert not is_passing(OSError(code, os.strerror(code)))


_READ = """
import sys, msgspec
from prowess.sources.skill_files import read_skill_files
found = read_skill_files(sys.argv[1])
sys.stdout.buffer.write(msgspec.json.encode([[[one.code, one.path] for one in found.problems], found.digest]))
"""


@pytest.mark.slow
@pytest.mark.requirement("R81", "K5")
@pytest.mark.parametrize(
    ("calls", "error", "code"),
    [
        ("read", "EIO", "disk-error"),
        ("openat", "EMFILE", "disk-error"),
        ("openat", "ESTALE", "disk-error"),
        ("openat", "EACCES", "file-unreadable"),
    ],
)
def test_disk_that_fails_on_a_file_is_told_from_a_faulty_skill(skill: Path, calls: str, error: str, code: str) -> None:
    """strace (apt-get install strace) makes the kernel say so, for one file only."""
    file = skill / "scripts" / "run.sh"
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(file), "-e", f"inject={calls}:error={error}"]
    if calls == "openat":  # Which names the file in its folder, by a handle: only the folder can be told by a path.
        command[6] = str(file.parent)
    done = subprocess.run(
        [*command, sys.executable, "-c", _READ, str(skill)], capture_output=True, check=True, timeout=60
    )
    problems, digest = msgspec.json.decode(done.stdout)
    assert digest == ""
    assert {one[0] for one in problems} == {code}
    assert all(one[1].startswith("scripts") for one in problems)
