"""Every file of a skill is listed and hashed; nothing outside it ever is."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prowess.skill.digest import FileKind, SkillFile, digest_files
from prowess.sources.skill_files import MAX_DEPTH, MAX_FILES, MAX_TOTAL_BYTES, list_skill_files, read_skill_files
from tests.sources.building import ask_child, codes, make_socket, without_rights, write_skill


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path / "skill")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text("print()\n")
    (folder / "scripts" / "run.py").chmod(0o755)
    (folder / "empty").mkdir()
    (folder / "latest").symlink_to("scripts/run.py")
    return folder


def _digest(folder: Path) -> str:
    found = read_skill_files(str(folder))
    assert found.problems == ()
    return found.digest


def _paths(folder: Path) -> list[bytes]:
    return [file.path for file in read_skill_files(str(folder)).files]


def test_every_file_is_listed_with_its_kind_size_and_hash(skill: Path) -> None:
    found = read_skill_files(str(skill))
    assert [(file.path, file.kind, file.size) for file in found.files] == [
        (b"SKILL.md", FileKind.FILE, (skill / "SKILL.md").stat().st_size),
        (b"latest", FileKind.LINK, len("scripts/run.py")),
        (b"scripts/run.py", FileKind.EXECUTABLE, 8),
    ]
    assert found.digest == digest_files(found.files)
    assert [path for path, _ in found.stamps] == ["", "SKILL.md", "empty", "latest", "scripts", "scripts/run.py"]


def test_listing_gives_the_same_files_without_opening_any(skill: Path) -> None:
    listed, read = list_skill_files(str(skill)), read_skill_files(str(skill))
    assert [(file.path, file.kind, file.size) for file in listed.files] == [
        (file.path, file.kind, file.size) for file in read.files
    ]
    assert (listed.digest, listed.problems) == ("", ())


def test_digest_is_the_same_for_copies_of_any_date_and_owner(skill: Path, tmp_path: Path) -> None:
    copy = tmp_path / "far" / "away"
    shutil.copytree(skill, copy, symlinks=True)
    for path in copy.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)
    (copy / "SKILL.md").chmod(0o600)
    (copy / "another-empty-folder").mkdir()
    assert _digest(copy) == _digest(skill)


def test_exec_bit_counts(skill: Path) -> None:
    before = _digest(skill)
    (skill / "scripts" / "run.py").chmod(0o644)
    without = _digest(skill)
    (skill / "scripts" / "run.py").chmod(0o700)
    assert before != without
    assert _digest(skill) == before


def test_every_byte_and_every_path_counts(skill: Path) -> None:
    digests = [_digest(skill)]
    (skill / "scripts" / "run.py").write_text("print( )\n")
    digests.append(_digest(skill))
    (skill / "scripts" / "run.py").rename(skill / "scripts" / "go.py")
    digests.append(_digest(skill))
    (skill / "latest").unlink()
    (skill / "latest").symlink_to("scripts/go.py")
    digests.append(_digest(skill))
    (skill / "nothing.txt").touch()
    digests.append(_digest(skill))
    assert len(set(digests)) == 5


@pytest.mark.parametrize("where", ["", "scripts/"])
def test_git_and_leftovers_of_network_file_systems_are_no_part_of_a_skill(where: str, skill: Path) -> None:
    before = _digest(skill)
    (skill / ".git").mkdir()
    (skill / ".git" / "config").write_text("x")
    os.mkfifo(skill / ".git" / "pipe")
    (skill / where / ".nfs000000000123").write_text("x")
    assert _digest(skill) == before
    for name in (".gitignore", ".nfs", ".nfsrc", ".git2"):
        (skill / where / name).write_text("x")
        assert _digest(skill) != before
        (skill / where / name).unlink()


def test_git_folder_further_down_is_a_part_like_any_other(skill: Path) -> None:
    before = _digest(skill)
    (skill / "scripts" / ".git").mkdir()
    (skill / "scripts" / ".git" / "config").write_text("x")
    assert _digest(skill) != before


def test_git_file_of_a_worktree_is_no_part_of_a_skill(skill: Path) -> None:
    before = _digest(skill)
    (skill / ".git").write_text("gitdir: /elsewhere\n")
    assert _digest(skill) == before


# Links


@pytest.mark.requirement("J5")
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("l", "SKILL.md"),
        ("l", "./SKILL.md"),
        ("l", "missing"),
        ("l", "scripts"),
        ("l", "."),
        ("l", "l"),
        ("l", "..name"),
        ("scripts/l", "../SKILL.md"),
        ("scripts/l", ".."),
        ("scripts/l", "./../SKILL.md"),
        ("scripts/deep/l", "../../SKILL.md"),
        ("scripts/deep/l", "..//..//empty"),
    ],
)
def test_link_that_stays_inside_is_kept_as_it_is(link: str, target: str, skill: Path) -> None:
    (skill / "scripts" / "deep").mkdir()
    (skill / link).symlink_to(target)
    found = read_skill_files(str(skill))
    assert found.problems == ()
    assert (link.encode(), FileKind.LINK, len(target)) in [(file.path, file.kind, file.size) for file in found.files]


@pytest.mark.requirement("J5")
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("l", "/etc/hostname"),
        ("l", "/"),
        ("l", "//etc"),
        ("l", ".."),
        ("l", "../skill/SKILL.md"),
        ("l", "./../x"),
        ("scripts/l", "../../x"),
        ("scripts/l", "../.."),
        ("a/b/l", "../../../x"),
        ("a/b/l", "d/../y"),
        ("l", "a/../SKILL.md"),
        ("l", "a/b/d/../y"),
        ("l", "a/.."),
        ("scripts/l", "../scripts/../SKILL.md"),
    ],
)
def test_link_that_may_lead_out_is_refused(link: str, target: str, skill: Path) -> None:
    """A `..` after a name may follow another link: with `a/b/d -> ../..`, `a/b/d/../y` is outside."""
    (skill / "a" / "b").mkdir(parents=True)
    (skill / "a" / "b" / "d").symlink_to("../..")
    (skill / link).symlink_to(target)
    for found in (read_skill_files(str(skill)), list_skill_files(str(skill))):
        assert [(problem.code, problem.path) for problem in found.problems] == [("link-escape", link)]
        assert found.digest == ""
        assert link.encode() not in [file.path for file in found.files]


@pytest.mark.requirement("J5")
def test_folder_behind_a_link_is_not_walked(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (skill / "way-out").symlink_to("../outside")
    (skill / "scripts" / "up").symlink_to("..")
    assert not any(b"secret" in path or path.startswith(b"scripts/up/") for path in _paths(skill))


@pytest.mark.requirement("J5")
def test_skill_folder_that_has_become_a_link_is_not_walked(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to("skill")
    for read in (read_skill_files, list_skill_files):
        found = read(str(tmp_path / "way"))
        assert ([problem.code for problem in found.problems], found.files, found.digest) == (
            ["file-unreadable"],
            (),
            "",
        )


# What is no file


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("what", ["fifo", "socket", "device"])
def test_what_is_no_file_is_a_problem_and_never_opened(what: str, skill: Path) -> None:
    path = skill / "scripts" / "odd"
    match what:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            make_socket(path)
        case _:
            try:
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
            except PermissionError:
                os.mkfifo(path)
    for found in (read_skill_files(str(skill)), list_skill_files(str(skill))):
        assert [(one.code, one.path) for one in found.problems] == [("not-a-file", "scripts/odd")]
        assert (found.digest, len(found.files)) == ("", 3)


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("what", ["missing", "file", "fifo"])
def test_skill_that_is_no_folder_is_a_problem(what: str, tmp_path: Path) -> None:
    path = tmp_path / "skill"
    if what == "file":
        path.write_text("x")
    elif what == "fifo":
        os.mkfifo(path)
    found = read_skill_files(str(path))
    assert (found.files, codes(found.problems), found.digest) == ((), ["file-unreadable"], "")


def test_names_that_are_no_text_are_kept_as_bytes(skill: Path) -> None:
    odd = [b"caf\xe9", b"line\nbreak", b"\xff\xfe", "é".encode(), b" ", b"-rf"]
    for name in odd:
        Path(os.fsdecode(os.fsencode(skill) + b"/" + name)).write_text("x")
    assert set(odd) < set(_paths(skill))
    os.mkfifo(os.fsdecode(os.fsencode(skill) + b"/pipe\xff"))
    assert [problem.path for problem in read_skill_files(str(skill)).problems] == ["pipe\\xff"]


_AS_NOBODY = without_rights("""
import json, sys
from prowess.sources.skill_files import read_skill_files

become_nobody()
found = read_skill_files(sys.argv[1])
print(json.dumps([[one.code, one.path] for one in found.problems] + [found.digest]))
""")


@pytest.mark.requirement("R15")
def test_file_or_folder_without_rights_is_a_problem_and_leaves_no_digest(public_folder: Path) -> None:
    folder = write_skill(public_folder / "skill")
    (folder / "a").write_text("x")
    (folder / "a").chmod(0)
    (folder / "b").mkdir(mode=0)
    (folder / "c").mkdir()
    (folder / "c" / "inner").write_text("x")
    (folder / "c").chmod(0o744)
    refused = [["file-unreadable", path] for path in ("a", "b", "c/inner")]
    assert ask_child(_AS_NOBODY, folder) == [*refused, ""]
    folder.chmod(0)
    assert ask_child(_AS_NOBODY, folder) == [["file-unreadable", None], ""]


# Bounds


@pytest.mark.requirement("R106")
@pytest.mark.parametrize(("depth", "expected"), [(MAX_DEPTH, []), (MAX_DEPTH + 1, ["too-many-files"])])
def test_depth_is_bounded(depth: int, expected: list[str], skill: Path) -> None:
    deepest = skill.joinpath(*["d"] * depth)
    deepest.mkdir(parents=True)
    (deepest / "file").write_text("x")
    found = read_skill_files(str(skill))
    assert codes(found.problems) == expected
    assert (b"d/" * depth + b"file" in [file.path for file in found.files]) is not bool(expected)
    assert bool(found.digest) is not bool(expected)


@pytest.mark.slow
@pytest.mark.requirement("R106")
def test_number_of_files_is_bounded(skill: Path) -> None:
    here = len(list(skill.rglob("*")))
    (skill / "many").mkdir()
    for number in range(MAX_FILES - here - 1):
        (skill / "many" / str(number)).touch()
    assert codes(list_skill_files(str(skill)).problems) == []
    (skill / "many" / "one-more").touch()
    found = list_skill_files(str(skill))
    assert (codes(found.problems), len(found.files) < MAX_FILES) == (["too-many-files"], True)


@pytest.mark.requirement("R106")
def test_total_size_is_bounded_without_reading_it_all(skill: Path) -> None:
    """A file that is all hole costs nothing on disk."""
    with (skill / "hole").open("wb") as file:
        file.truncate(MAX_TOTAL_BYTES + 1)
    found = read_skill_files(str(skill))
    assert (codes(found.problems), found.digest) == (["files-too-large"], "")


# A race

_SWAP = """
import os, sys

folder, outside = sys.argv[1:]
print(flush=True)
while True:
    os.rename(folder, folder + "-aside")
    os.symlink(outside, folder)
    os.unlink(folder)
    os.rename(folder + "-aside", folder)
"""


@pytest.mark.slow
@pytest.mark.requirement("J5")
def test_folder_swapped_for_a_link_while_it_is_read_never_gives_a_file_from_outside(
    skill: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("passwd", "run.py"):
        (outside / name).write_text("secret")
    honest = {file for file in read_skill_files(str(skill)).files if file.path.startswith(b"scripts")}
    swapper = subprocess.Popen(
        [sys.executable, "-c", _SWAP, str(skill / "scripts"), str(outside)], stdout=subprocess.PIPE
    )
    try:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        seen: set[SkillFile] = set()
        end = time.monotonic() + 1.5
        whole, disturbed = 0, 0
        while time.monotonic() < end:
            files = {file for file in read_skill_files(str(skill)).files if file.path.startswith(b"scripts/")}
            seen |= files
            whole, disturbed = whole + (files == honest), disturbed + (files != honest)
        assert swapper.poll() is None
    finally:
        swapper.kill()
        swapper.communicate()
    assert seen == honest
    assert min(whole, disturbed) > 10
