"""What is written is on the disk, and what is mounted is seen."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.copies.disk_sync import sync_trees
from prowess.copies.mounted import find_mounted
from tests.copies.parts import mounted_elsewhere
from tests.skills_on_disk import write_skill


@pytest.mark.slow
def test_every_file_and_folder_is_synced(tmp_path: Path) -> None:
    """A few folders file by file, many by the whole file system at once; links by the folder that they are in."""
    folders = [write_skill(tmp_path, f"s{number}", files={"a/b/c": "x", "a/d": "y"}) for number in range(5)]
    (folders[0] / "link").symlink_to("/etc/passwd")
    expected = {("fsync", str(path)) for path in (folders[0], *folders[0].rglob("*")) if not path.is_symlink()}
    assert _synced(tmp_path, folders[:1]) == expected
    assert _synced(tmp_path, folders) == {("syncfs", str(folders[0]))}


@pytest.mark.slow
def test_nothing_that_is_open_to_be_read_is_synced_where_the_system_refuses_it(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", files={"a": "x"})
    assert _synced(tmp_path, [folder], system="nt") == set()


def _synced(tmp_path: Path, folders: list[Path], *, system: str = "posix") -> set[tuple[str, str]]:
    """Return the calls by which a child has synced, and their paths, as the kernel saw them."""
    log = tmp_path / "calls"
    script = "import os, sys; from prowess.copies.disk_sync import sync_trees; "
    script += f"os.name = {system!r}; sync_trees(sys.argv[1:])"
    command = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=fsync,syncfs"]
    subprocess.run([*command, sys.executable, "-c", script, *map(str, folders)], check=True, timeout=60)
    return set(re.findall(r"\b(fsync|syncfs)\(\d+<(.*)>\) = 0", log.read_text()))


def test_nothing_to_sync_is_no_error(tmp_path: Path) -> None:
    sync_trees([])
    sync_trees([str(tmp_path)])


def test_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_trees([str(tmp_path / "missing")])


def test_nothing_of_a_new_home_is_mounted(tmp_path: Path) -> None:
    assert find_mounted(str(tmp_path / "versions-of-nobody")) == frozenset()


@pytest.mark.slow
def test_mounted_version_is_found_by_any_path_below_it(tmp_path: Path) -> None:
    """This needs the right to mount."""
    inner = tmp_path / "versions-of-a-test" / "d1" / "sub folder"
    inner.mkdir(parents=True)
    versions = str(tmp_path / "versions-of-a-test")
    with mounted_elsewhere(inner, tmp_path / "inside"):
        assert find_mounted(versions) == {"d1"}
    assert find_mounted(versions) == frozenset()
    assert os.listdir(tmp_path / "inside") == []
