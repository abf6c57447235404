"""Whole folders are written, placed and removed, and no link is followed."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.copies.trees import TreeWriter, lock_folder, place_tree, remove_tree, unlock_folder
from prowess.errors import WorldError
from prowess.skill.digest import FileKind
from prowess.sources.skill_files import UnfitName, copy_skill_files
from tests.copies.parts import contents, modes, public_folder
from tests.skills_on_disk import write_skill
from tests.sources.building import ask_child, without_rights


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(
        tmp_path,
        "skill",
        files={"scripts/run.sh": "#!/bin/sh\n", "a/b/c/deep.bin": bytes(range(256)), "empty": b""},
    )
    (folder / "latest").symlink_to("scripts/run.sh")
    return folder


def _write(skill: Path, target: Path, *, writable: bool = False) -> Path:
    target.mkdir()
    writer = TreeWriter(os.fsencode(target), writable=writable)
    found = copy_skill_files(str(skill), writer)
    assert found.problems == ()
    writer.finish()
    return target


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


_READ_ONLY = {
    ".": "0755",
    "SKILL.md": "0444",
    "a": "0555",
    "a/b": "0555",
    "a/b/c": "0555",
    "a/b/c/deep.bin": "0444",
    "empty": "0444",
    "scripts": "0555",
    "scripts/run.sh": "0555",
}
"""The top must still be moved."""


@pytest.mark.requirement("R78", "R72", "K5")
def test_what_is_written_is_the_skill_and_read_only_whatever_the_umask(skill: Path, tmp_path: Path, umask: int) -> None:
    target = _write(skill, tmp_path / "target")
    assert contents(target) == contents(skill)
    assert {**modes(target), ".": "0755"} == _READ_ONLY


def test_what_is_written_to_be_edited_is_writable(skill: Path, tmp_path: Path) -> None:
    found = modes(_write(skill, tmp_path / "target", writable=True))
    assert (found["SKILL.md"], found["scripts/run.sh"], found["a/b"]) == ("0644", "0755", "0755")


@pytest.mark.requirement("R78", "K5")
def test_version_is_placed_by_hard_links_whatever_the_umask(skill: Path, tmp_path: Path, umask: int) -> None:
    version = _write(skill, tmp_path / "version")
    place_tree(str(version), str(tmp_path / "copy"))
    assert (contents(tmp_path / "copy"), modes(tmp_path / "copy")) == (contents(skill), _READ_ONLY)
    for path in ("SKILL.md", "a/b/c/deep.bin", "scripts/run.sh"):
        assert os.path.samefile(version / path, tmp_path / "copy" / path)


@pytest.mark.requirement("R78")
def test_names_may_be_of_any_bytes(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "skill")
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b" ", "ſkill".encode(), b"a\\b", b"x" * 255):
        Path(os.fsdecode(os.fsencode(skill) + b"/" + name)).write_bytes(name)
    version = _write(skill, tmp_path / "version")
    place_tree(str(version), str(tmp_path / "copy"))
    assert contents(tmp_path / "copy") == contents(version) == contents(skill)


def test_file_that_is_there_already_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("mine")
    with pytest.raises(UnfitName):
        TreeWriter(os.fsencode(tmp_path)).begin_file(b"SKILL.md", FileKind.FILE)
    assert (tmp_path / "SKILL.md").read_text() == "mine"


def test_folder_that_cannot_be_written_is_an_error_of_the_world(tmp_path: Path) -> None:
    writer = TreeWriter(os.fsencode(tmp_path / "missing"))
    for attempt in (
        lambda: writer.begin_file(b"a", FileKind.FILE),
        lambda: writer.begin_file(b"a/b", FileKind.FILE),
        lambda: writer.make_link(b"a", b"b"),
    ):
        with pytest.raises(WorldError) as caught:
            attempt()
        assert (caught.value.code, "No such file or directory" in caught.value.message) == ("disk-failed", True)


def test_locked_folder_can_be_unlocked_and_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(folder)
    lock_folder(str(folder))
    assert modes(folder) == {".": "0555"}
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        unlock_folder(str(tmp_path / "link"))
    assert modes(folder) == {".": "0555"}
    unlock_folder(str(folder))
    assert modes(folder) == {".": "0755"}


# Removing


@pytest.mark.requirement("R79")
def test_whole_folder_is_removed_and_nothing_that_it_links_to(skill: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    tree = tmp_path / "tree"
    place_tree(str(_write(skill, tmp_path / "version")), str(tree))
    (tree / "out").symlink_to(outside)
    (tree / "file").symlink_to(outside / "kept")
    os.mkfifo(tree / "fifo")
    lock_folder(str(tree))
    assert remove_tree(str(tree))
    assert not os.path.lexists(tree)
    assert contents(outside) == {b"kept": ("file", b"kept")}


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "nothing"])
def test_what_is_no_folder_is_removed_itself(tmp_path: Path, kind: str) -> None:
    (tmp_path / "target").mkdir()
    odd = tmp_path / "odd"
    {
        "file": odd.touch,
        "link": lambda: odd.symlink_to(tmp_path / "target"),
        "fifo": lambda: os.mkfifo(odd),
        "nothing": lambda: None,
    }[kind]()
    assert remove_tree(str(odd))
    assert os.listdir(tmp_path) == ["target"]


def make_deep_folder(top: Path, *, levels: int) -> None:
    """Make folders so deep that no path leads to the end."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.requirement("R79")
def test_folders_of_any_depth_are_removed_with_few_descriptors(tmp_path: Path) -> None:
    import resource

    (tmp_path / "deep").mkdir()
    make_deep_folder(tmp_path / "deep", levels=600)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(300, before[0]), before[1]))
    try:
        assert remove_tree(str(tmp_path / "deep"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["555", "000", "311"])
def test_owner_without_rights_removes_what_is_locked(mode: str) -> None:
    script = without_rights("""
import json, os, sys
from prowess.copies.trees import remove_tree
become_nobody()
top = sys.argv[1] + "/mine"
os.makedirs(top + "/a/b")
open(top + "/a/b/file", "w").close()
for path in ("/a/b", "/a", ""):
    os.chmod(top + path, int(sys.argv[2], 8))
print(json.dumps([remove_tree(top), os.path.lexists(top)]))
""")
    with public_folder() as folder:
        folder.chmod(0o777)
        assert ask_child(script, folder, mode) == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_what_is_mounted_below_is_not_removed(tmp_path: Path, kind: str) -> None:
    """As when a folder with a mount inside was moved out of a root."""
    precious, inner = tmp_path / "precious", tmp_path / "staging" / "tree" / "deep" / "inner"
    for folder in (precious, inner):
        folder.mkdir(parents=True)
    (precious / "file").write_text("precious")
    (inner.parent / "own").write_text("x")
    how = ["--bind", str(precious)] if kind == "bind" else ["-t", "tmpfs", "none"]
    subprocess.run(["mount", *how, str(inner)], check=True)
    try:
        (inner / "file").write_text("precious")
        tree = tmp_path / "staging" / "tree"
        assert not remove_tree(str(tree))
        assert (inner / "file").read_text() == "precious"
    finally:
        subprocess.run(["umount", str(inner)], check=True)
    assert remove_tree(str(tmp_path / "staging" / "tree"))
    assert (precious / "file").read_text() == "precious"
