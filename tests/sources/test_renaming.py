"""One folder takes the place of another."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prowess.sources.renaming import (
    _exchange_in_steps,  # pyright: ignore[reportPrivateUsage] - no disk here needs it
    can_exchange,
    exchange,
)

_Swap = Callable[[str, str], None]


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with something in each, in folders of their own."""
    folders = tmp_path / "x" / "first", tmp_path / "y" / "second"
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "file").write_text(folder.name)
    return folders


def _texts(*folders: Path) -> list[str]:
    return [(folder / "file").read_text() for folder in folders]


@pytest.mark.requirement("K5")
@pytest.mark.parametrize("swap", [exchange, _exchange_in_steps])
def test_folders_change_places_and_nothing_else_is_left(two: tuple[Path, Path], swap: _Swap) -> None:
    swap(str(two[0]), str(two[1]))
    assert _texts(*two) == ["second", "first"]
    assert [sorted(os.listdir(folder.parent)) for folder in two] == [["first"], ["second"]]


@pytest.mark.parametrize("swap", [exchange, _exchange_in_steps])
@pytest.mark.parametrize("kind", ["file", "link", "fifo"])
def test_folder_changes_places_with_anything(two: tuple[Path, Path], swap: _Swap, kind: str) -> None:
    odd = two[1].parent / "odd"
    {"file": odd.touch, "link": lambda: odd.symlink_to("/etc"), "fifo": lambda: os.mkfifo(odd)}[kind]()
    before = os.lstat(odd).st_ino
    swap(str(two[0]), str(odd))
    assert _texts(odd) == ["first"]
    assert os.lstat(two[0]).st_ino == before


@pytest.mark.requirement("K5")
def test_reader_of_the_old_folder_keeps_it_whole(two: tuple[Path, Path]) -> None:
    handle = os.open(two[1], os.O_RDONLY)
    try:
        _exchange_in_steps(str(two[0]), str(two[1]))
        file = os.open("file", os.O_RDONLY, dir_fd=handle)
        assert os.read(file, 100) == b"second"
        os.close(file)
    finally:
        os.close(handle)


def test_swap_in_steps_that_cannot_be_finished_is_taken_back(two: tuple[Path, Path]) -> None:
    with pytest.raises(FileNotFoundError):
        _exchange_in_steps(str(two[0].with_name("missing")), str(two[1]))
    assert _texts(*two) == ["first", "second"]
    assert os.listdir(two[1].parent) == ["second"]


def test_whatever_else_goes_wrong_is_an_error(two: tuple[Path, Path]) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        exchange(str(two[0]), str(two[1].with_name("missing")))
    assert caught.value.errno == errno.ENOENT
    assert _texts(*two) == ["first", "second"]


def test_trying_leaves_everything_as_it_was(two: tuple[Path, Path]) -> None:
    assert can_exchange(*map(str, two))
    assert _texts(*two) == ["first", "second"]
    assert not can_exchange(str(two[0]), str(two[1].with_name("missing")))


@pytest.mark.slow
def test_system_without_the_call_swaps_in_steps(two: tuple[Path, Path]) -> None:
    """The kernel says ENOSYS or EINVAL where it, or the file system, cannot swap; strace makes it say so."""
    script = "import sys; from prowess.sources.renaming import exchange; exchange(*sys.argv[1:])"
    for code in ("ENOSYS", "EINVAL", "EOPNOTSUPP"):
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=renameat2:error={code}"]
        before = _texts(*two)
        subprocess.run([*command, sys.executable, "-c", script, *map(str, two)], check=True, timeout=60)
        assert _texts(*two) == before[::-1]


@pytest.mark.slow
def test_interrupted_call_is_made_again(two: tuple[Path, Path]) -> None:
    script = "import sys; from prowess.sources.renaming import exchange; exchange(*sys.argv[1:])"
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat2:error=EINTR:when=1..3"]
    subprocess.run([*command, sys.executable, "-c", script, *map(str, two)], check=True, timeout=60)
    assert _texts(*two) == ["second", "first"]
