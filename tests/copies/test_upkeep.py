"""What nobody will ask for again is cleared away, and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from prowess.copies.plan import Place, SyncPlan
from prowess.copies.roots import CopyRoot
from prowess.copies.upkeep import tidy_copies
from tests.copies.parts import Workplace, contents, digest_of, names, skill_of
from tests.skills_on_disk import write_skill

_DAY = 86_400


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "home")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "skills", "one", files={"a/b": "x"})


def _tidy(place: Workplace) -> None:
    """Tidy up as on another day."""
    stamp = place.workshop / "tidied"
    if stamp.exists():
        _age(stamp, 2 * _DAY)
    tidy_copies(place.versions, held=place.held)


def _age(path: Path, seconds: int) -> None:
    status = path.stat()
    os.utime(path, (status.st_mtime - seconds, status.st_mtime - seconds))


def _seal(place: Workplace, skill: Path) -> None:
    with place.versions.in_use():
        place.versions.seal([place.versions.draft(skill_of(skill))])


@pytest.mark.requirement("K5")
def test_version_without_a_copy_goes_and_one_with_a_copy_stays(place: Workplace, skill: Path, tmp_path: Path) -> None:
    place.sync(skill)
    _seal(place, write_skill(tmp_path, "other"))
    _tidy(place)
    assert place.version_names == {digest_of(skill)}


def test_version_that_a_session_holds_stays(place: Workplace, skill: Path) -> None:
    _seal(place, skill)
    place.needed = frozenset({digest_of(skill)})
    _tidy(place)
    assert place.version_names == {digest_of(skill)}
    place.needed = frozenset()
    _tidy(place)
    assert place.version_names == set()


@pytest.mark.parametrize("shift", [0, _DAY // 2])
def test_upkeep_is_done_once_a_day(place: Workplace, skill: Path, shift: int) -> None:
    _tidy(place)
    _age(place.workshop / "tidied", shift)
    _seal(place, skill)
    tidy_copies(place.versions, held=place.held)
    assert place.version_names == {digest_of(skill)}


@pytest.mark.parametrize("shift", [_DAY + 1, -3 * _DAY])
def test_upkeep_is_done_again_after_a_day_and_after_the_clock_was_set_back(
    place: Workplace, skill: Path, shift: int
) -> None:
    _tidy(place)
    _age(place.workshop / "tidied", shift)
    _seal(place, skill)
    tidy_copies(place.versions, held=place.held)
    assert place.version_names == set()


def test_view_that_nobody_uses_goes_after_a_month(place: Workplace, skill: Path) -> None:
    view = place.layout.active("ann", view="cook")
    root = CopyRoot(view, place.versions)
    with root.locked(), place.versions.in_use():
        root.apply(SyncPlan(places=(Place("user--one", skill_of(skill)),)), digest_of=lambda _: "")
    record = Path(view.book, "record")
    _age(record, 29 * _DAY)
    _tidy(place)
    assert names(Path(view.folder)) == {"user--one"}
    _age(record, 2 * _DAY)
    _tidy(place)
    assert (os.path.lexists(view.folder), os.path.lexists(view.book), place.version_names) == (False, False, set())


def test_odd_files_in_the_workshop_are_no_trouble(place: Workplace, skill: Path) -> None:
    place.sync(skill)
    (place.workshop / "users" / "odd").touch()
    (place.workshop / "tasks").mkdir()
    (place.workshop / "users" / "bob" / "views").mkdir(parents=True)
    _tidy(place)
    assert place.version_names == {digest_of(skill)}


@pytest.mark.slow
@pytest.mark.requirement("K5", "R78")
def test_copies_on_another_disk_are_whole_and_their_versions_stay(place: Workplace, skill: Path) -> None:
    """This needs the right to mount."""
    folder = Path(place.layout.user_folder("ann"))
    folder.mkdir(parents=True)
    (skill / "run.sh").write_text("#!/bin/sh\n")
    (skill / "run.sh").chmod(0o755)
    (skill / "link").symlink_to("a/b")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    try:
        copy = place.active() / "user--one"
        assert place.sync(skill).copied == ("user:one",)
        assert contents(copy) == contents(skill)
        assert copy.stat().st_dev != place.version(digest_of(skill)).stat().st_dev
        assert [oct(path.stat().st_mode & 0o777) for path in (copy, copy / "a/b", copy / "run.sh")] == [
            "0o555",
            "0o444",
            "0o555",
        ]
        _tidy(place)
        assert place.version_names == {digest_of(skill)}
        assert place.sync(skill).unchanged == 1
        (skill / "a/b").write_text("y")
        swap = place.active().parent / ".copies" / "staging" / "swap-left-by-a-crash"
        swap.mkdir(parents=True)
        assert place.sync(skill).copied == ("user:one",)
        assert (contents(copy), place.version_names) == (contents(skill), {digest_of(skill)})
        assert not swap.exists()
        assert place.sync().removed == ("user:one",)
        assert names(place.active()) == place.version_names == set()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_sync_that_changes_nothing_leaves_the_staging_of_another_alone(place: Workplace, skill: Path) -> None:
    """On another disk, too, where only the lock of the root says who is at work. This needs the right to mount."""
    folder = Path(place.layout.user_folder("ann"))
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    try:
        place.sync(skill)
        place.knows_digests = True
        staged = place.active().parent / ".copies" / "staging" / "swap-of-another"
        staged.mkdir(parents=True)
        with place.root().locked():
            assert place.sync(skill).unchanged == 1
            assert staged.is_dir()
    finally:
        subprocess.run(["umount", str(folder)], check=True)
