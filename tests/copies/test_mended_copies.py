"""Faults of copies that were found once, each with its smallest example, so that none comes back."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prowess.copies.layout import Layout, RootPlace
from prowess.copies.mounted import is_mounted
from prowess.copies.occupancy import Occupancy
from prowess.copies.plan import Place, SyncPlan
from prowess.copies.roots import CopyRoot
from prowess.copies.task_copies import TaskCopies, remove_dead_tasks
from prowess.copies.trees import TreeWriter
from prowess.copies.upkeep import remove_view, tidy_copies
from prowess.errors import WorldError
from prowess.sources.locks import Hold, hold_lock, try_lock
from prowess.sources.places import LOCAL_USER
from prowess.sources.skill_files import copy_skill_files
from tests.copies.forks import do_in_fork, idle_fork
from tests.copies.parts import (
    Workplace,
    codes,
    contents,
    digest_of,
    modes,
    mounted_elsewhere,
    names,
    public_folder,
    skill_of,
)
from tests.skills_on_disk import write_skill
from tests.sources.building import ask_child, without_rights

_DAY = 86_400


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "home")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "skills", "one", files={"scripts/run.sh": "#!/bin/sh\n", "data/a.bin": b"\0\xff"})


@pytest.fixture
def view(place: Workplace, skill: Path) -> RootPlace:
    """A view with a copy in it, that nobody uses."""
    view = place.layout.active("ann", view="cook")
    _put(place, CopyRoot(view, place.versions), skill)
    return view


def _put(place: Workplace, root: CopyRoot, skill: Path) -> None:
    with root.locked(), place.versions.in_use():
        root.apply(SyncPlan(places=(Place(f"user--{skill.name}", skill_of(skill)),)), digest_of=lambda _: "")


def _age(path: Path, seconds: int) -> None:
    status = path.stat()
    os.utime(path, (status.st_mtime - seconds, status.st_mtime - seconds))


def _tidy(place: Workplace) -> None:
    """Tidy up as on another day."""
    (place.workshop / "tidied").unlink(missing_ok=True)
    tidy_copies(place.versions, held=place.held)


# Views


def test_old_view_that_nobody_uses_goes_with_all_its_folders(place: Workplace, view: RootPlace) -> None:
    _age(Path(view.book, "record"), 31 * _DAY)
    _tidy(place)
    assert (names(Path(view.folder).parent.parent), names(Path(view.book).parent)) == (set(), set())
    assert place.version_names == set()


def test_old_view_that_is_in_use_stays_the_very_same_folder(place: Workplace, view: RootPlace) -> None:
    _age(Path(view.book, "record"), 31 * _DAY)
    before = os.stat(view.folder)
    occupancy = Occupancy(place.layout, view)
    _tidy(place)
    assert (os.stat(view.folder), names(Path(view.folder))) == (before, {"user--one"})
    occupancy.close()
    _tidy(place)
    assert not os.path.lexists(view.folder)


@pytest.mark.parametrize("seconds", [5, 400 * _DAY])
def test_view_whose_record_is_from_the_future_stays(place: Workplace, view: RootPlace, seconds: int) -> None:
    """The clock was set back since."""
    _age(Path(view.book, "record"), -seconds)
    _tidy(place)
    assert names(Path(view.folder)) == {"user--one"}


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["", "user--one", "user--one/scripts"])
def test_view_that_is_mounted_anywhere_stays(place: Workplace, view: RootPlace, tmp_path: Path, inner: str) -> None:
    """A container may have outlived its caller. This needs the right to mount."""
    _age(Path(view.book, "record"), 31 * _DAY)
    with mounted_elsewhere(Path(view.folder, inner), tmp_path / "inside"):
        assert is_mounted(view.folder)
        assert remove_view(place.versions, view) == ()
        _tidy(place)
        assert names(Path(view.folder)) == {"user--one"}
    assert not is_mounted(view.folder)
    _tidy(place)
    assert not os.path.lexists(view.folder)


@pytest.mark.parametrize("folder", ["tasks", "users", "users/ann/views", "users/ann", "pins", "waiting", "retired", ""])
def test_stray_file_in_the_workshop_does_no_harm(place: Workplace, skill: Path, folder: str) -> None:
    place.sync(skill)
    stray = place.workshop / folder / ".DS_Store"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("stray")
    _tidy(place)
    remove_dead_tasks(place.versions)
    assert (place.sync(skill).unchanged, place.version_names) == (1, {digest_of(skill)})
    task = TaskCopies(place.versions, "task-1", user="local")
    _put(place, task.root, skill)
    assert (len(task.close()), place.layout.views("ann")) == (1, [])


# Names that no copy can have


def make_long_path(skill: Path) -> None:
    """Make a file whose path is longer than the system takes; only who goes step by step comes there."""
    here = os.open(skill, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.requirement("R81")
def test_skill_whose_path_is_too_long_keeps_no_other_from_being_copied(
    place: Workplace, skill: Path, tmp_path: Path
) -> None:
    other = write_skill(tmp_path / "skills", "two")
    place.sync(skill, other)
    make_long_path(skill)
    (other / "more").touch()
    report = place.sync(skill, other)
    assert (codes(report.skipped), report.copied, report.removed) == (
        {"user:one": "name-unfit"},
        ("user:two",),
        ("user:one",),
    )
    assert (names(place.active()), names(place.workshop / "staging")) == ({"user--two"}, set())
    assert len(report.skipped[0].problem.message) < 400


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_two_names_that_a_disk_takes_for_one_are_a_fault_of_the_skill(tmp_path: Path, kind: str) -> None:
    """As on a disk that does not tell case: there is something of that name already."""
    skill = write_skill(tmp_path, "skill", files={"deep/er/file": "x", "A": "1"})
    (skill / "link").symlink_to("A")
    name = {"file": "A", "link": "link", "folder": "deep"}[kind]
    target = tmp_path / "target"
    target.mkdir()
    (target / name).write_text("the other's")
    found = copy_skill_files(str(skill), TreeWriter(os.fsencode(target)))
    assert [(problem.code, problem.path) for problem in found.problems] == [
        ("name-unfit", "deep/er/file" if kind == "folder" else name)
    ]
    assert (found.digest, (target / name).read_text()) == ("", "the other's")


@pytest.mark.requirement("R78")
@pytest.mark.parametrize("name", [".nfs", ".nfs-notes", ".nfsx", "x.nfs12"])
def test_file_that_is_only_named_like_a_leftover_is_content(
    place: Workplace, skill: Path, tmp_path: Path, name: str
) -> None:
    (skill / name).write_text("old")
    place.sync(skill)
    assert contents(place.active() / "user--one") == contents(skill)
    write_skill(skill.parent, "one", body="New.\n", files={name: "new"})
    assert place.sync(skill).copied == ("user:one",)
    assert contents(place.active() / "user--one") == contents(skill)
    assert place.sync().removed == ("user:one",)
    assert names(place.active()) == set()
    (place.active() / name).touch()
    assert (place.sync().removed, names(place.active())) == ((name,), set())


# Damage


@pytest.mark.requirement("K5")
@pytest.mark.parametrize("damage", ["byte", "missing", "added", "mode", "emptied"])
def test_damaged_version_is_made_anew_for_a_second_user(place: Workplace, skill: Path, damage: str) -> None:
    place.sync(skill)
    version = place.version(digest_of(skill))
    for folder in (version, version / "data"):
        folder.chmod(0o755)
    if damage == "byte":
        (version / "data/a.bin").chmod(0o644)
        (version / "data/a.bin").write_bytes(b"\0\xfe")
    elif damage == "missing":
        (version / "data/a.bin").unlink()
    elif damage == "added":
        (version / "evil.sh").touch()
    elif damage == "mode":
        (version / "data/a.bin").chmod(0o755)
    else:
        subprocess.run(["rm", "-rf", str(version)], check=True)
        version.mkdir()
    other = Workplace(Path(place.layout.home))  # As another process has it, which has read nothing yet.
    assert other.sync(skill, user="bob").copied == ("user:one",)
    assert contents(place.active("bob") / "user--one") == contents(version) == contents(skill)
    assert modes(version)["."] == "0555"
    assert (other.sync(skill, user="bob").unchanged, names(place.workshop / "staging")) == (1, set())


# Forks


@pytest.mark.parametrize("hold", list(Hold))
def test_lock_that_was_released_is_not_kept_by_a_fork(tmp_path: Path, hold: Hold) -> None:
    lock = str(tmp_path / "lock")
    with contextmanager(_hold_over_a_fork)(lock, hold):
        again = try_lock(lock, Hold.ALONE)
        assert again is not None
        os.close(again)


def _hold_over_a_fork(lock: str, hold: Hold) -> Generator[None]:
    """Take a lock, fork, and let it go, while the fork lives."""
    holding = hold_lock(lock, hold)
    holding.__enter__()
    with idle_fork():
        assert try_lock(lock, Hold.ALONE) is None
        holding.__exit__(None, None, None)
        yield


def test_fork_that_lets_go_of_a_pin_lets_go_of_nothing(place: Workplace, skill: Path) -> None:
    place.sync(skill)
    pin = place.versions.pin(digest_of(skill))
    place.sync()
    do_in_fork(pin.close)
    place.versions.collect_all(held=frozenset)
    assert place.version_names == {digest_of(skill)}
    with idle_fork():
        pin.close()
        place.versions.collect_all(held=frozenset)
    assert place.version_names == set()


def test_fork_that_ends_a_task_takes_nothing_away(place: Workplace, skill: Path) -> None:
    task = TaskCopies(place.versions, "task-1", user="local")
    _put(place, task.root, skill)
    do_in_fork(task.close)
    do_in_fork(lambda: remove_dead_tasks(place.versions))
    remove_dead_tasks(place.versions)
    assert names(Path(task.root.folder)) == {"user--one"}
    with idle_fork():
        task.close()
        assert (names(Path(place.layout.tasks)), names(place.workshop / "tasks")) == (set(), set())


# Users


@pytest.mark.requirement("R88")
def test_two_users_with_one_task_have_folders_of_their_own(place: Workplace, skill: Path) -> None:
    users = (LOCAL_USER, "ann", "bob")
    tasks = [TaskCopies(place.versions, "task-1", user=user) for user in users]
    folders = [Path(task.root.folder) for task in tasks]
    for task in tasks[:2]:
        _put(place, task.root, skill)
    assert [names(folder) for folder in folders] == [{"user--one"}, {"user--one"}, set()]
    tasks[1].close()
    assert [names(folder) for folder in folders] == [{"user--one"}, set(), set()]
    for task in tasks:
        task.close()
    assert names(Path(place.layout.tasks)) == set()


_USERS = st.sampled_from([LOCAL_USER, "ann", "bob", "a", "b"])
_TASKS = st.text("ab/-.", max_size=6) | st.sampled_from(["ann/b", "local/a", "bob/ann/a", "a/b"]) | st.text()


@pytest.mark.requirement("R88")
@given(st.tuples(_USERS, _TASKS), st.tuples(_USERS, _TASKS))
@example((LOCAL_USER, "ann/b"), ("ann", "b"))
@example((LOCAL_USER, "local/b"), (LOCAL_USER, "b"))
def test_two_tasks_never_share_a_folder(first: tuple[str, str], second: tuple[str, str]) -> None:
    folders = [Layout("/home").task(task, user=user) for user, task in (first, second)]
    assert (folders[0] == folders[1]) == (first == second)


_LIFE = without_rights("""
import json, sys
from pathlib import Path
from tests.copies.parts import Workplace, digest_of
from tests.skills_on_disk import write_skill


def live(top, body):
    skill = write_skill(top / "skills", "one", body=body)
    place = Workplace(top / "home")
    place.sync(skill)
    return " ".join(sorted(place.version_names))


live(Path(sys.argv[1], "before"), "x")  # What is imported on the way may lie where others cannot read.
become_nobody()
print(json.dumps(live(Path(sys.argv[1]), sys.argv[2])))
""")


@pytest.mark.slow
@pytest.mark.requirement("K5")
def test_user_without_rights_keeps_what_another_user_has_mounted() -> None:
    """As a sandbox has it that root has started. This needs the right to mount."""
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with public_folder() as top:
        top.chmod(0o777)
        first = str(ask_child(_LIFE, top, "1", environ=environ))
        with mounted_elsewhere(top / "home/versions" / first, top / "inside"):
            meanwhile = str(ask_child(_LIFE, top, "2", environ=environ)).split()
        assert (len(meanwhile), first in meanwhile) == (2, True)
        assert str(ask_child(_LIFE, top, "2", environ=environ)).split() == [one for one in meanwhile if one != first]


# Mounts in the way


@contextmanager
def _mounted(folder: Path) -> Generator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_active_that_is_a_disk_of_its_own_is_an_error_that_says_what_to_do(place: Workplace, skill: Path) -> None:
    """This needs the right to mount."""
    for _ in range(2):  # Before there were copies, and after.
        with _mounted(place.active()):
            with pytest.raises(WorldError) as caught:
                place.sync(skill)
            assert (caught.value.code, "one level higher" in caught.value.hint) == ("not-a-folder", True)
            assert (names(place.active()), names(place.workshop / "staging")) == (set(), set())
        place.sync(skill)
        assert contents(place.active() / "user--one") == contents(skill)


@pytest.mark.slow
@pytest.mark.requirement("R79", "R81")
@pytest.mark.parametrize("name", ["odd", "user--two"])
def test_mount_in_active_is_reported_and_all_else_is_synced(
    place: Workplace, skill: Path, tmp_path: Path, name: str
) -> None:
    """Also if it has the place of a copy. This needs the right to mount."""
    two, three = (write_skill(tmp_path / "skills", name) for name in ("two", "three"))
    place.sync(skill, two)
    (skill / "more").touch()
    with _mounted(place.active() / name):
        (place.active() / name / "theirs").write_text("theirs")
        for wanted in ([skill, three], [skill, three]):
            report = place.sync(*wanted)
            assert codes(report.skipped) == {name: "not-removable"}
            assert contents(place.active() / name) == {b"theirs": ("file", b"theirs")}
            assert names(place.active()) == {"user--one", "user--three", name}
            assert contents(place.active() / "user--one") == contents(skill)
    assert place.sync(skill, two, three).skipped == ()
    assert names(place.active()) == {"user--one", "user--two", "user--three"}
    assert contents(place.active() / "user--two") == contents(two)


@pytest.mark.slow
@pytest.mark.requirement("R81")
def test_skill_whose_place_is_a_mount_is_skipped_and_the_others_are_synced(
    place: Workplace, skill: Path, tmp_path: Path
) -> None:
    """This needs the right to mount."""
    skills = [skill, *(write_skill(tmp_path / "skills", name) for name in ("two", "three"))]
    place.sync(*skills[:2])
    (skill / "more").touch()
    with _mounted(place.active() / "user--two"):
        report = place.sync(*skills)
        assert (codes(report.skipped), report.copied) == ({"user:two": "not-removable"}, ("user:one", "user:three"))
    assert place.sync(*skills).skipped == ()
    assert contents(place.active() / "user--two") == contents(skills[1])


@pytest.mark.slow
def test_nothing_is_left_of_a_task_or_a_view_on_another_disk(place: Workplace, skill: Path) -> None:
    """This needs the right to mount."""
    view = place.layout.active("ann", view="cook")
    with _mounted(Path(place.layout.tasks)), _mounted(Path(place.layout.user_folder("ann"))):
        task = TaskCopies(place.versions, "task-1", user="local")
        for root in (task.root, CopyRoot(view, place.versions)):
            for text in ("one", "two"):
                (skill / "text").write_text(text)
                _put(place, root, skill)
            assert contents(Path(root.folder, "user--one")) == contents(skill)
        task.close()
        remove_view(place.versions, view)
        assert names(Path(place.layout.tasks)) == names(Path(place.layout.user_folder("ann"), "views")) == set()


def test_folder_that_differs_in_case_only_changes_nothing(place: Workplace, tmp_path: Path) -> None:
    """The disk tells case, whatever else is beside `active`."""
    skills = [write_skill(tmp_path / "skills", name) for name in ("one", "One")]
    (place.active().parent / "ACTIVE").mkdir(parents=True)
    for copied, unchanged in ((("user:one", "user:One"), 0), ((), 2)):
        report = place.sync(*skills)
        assert (report.copied, report.unchanged, report.removed, report.skipped) == (copied, unchanged, (), ())
    assert names(place.active()) == {"user--one", "user--One"}
    assert names(place.active().parent) == {"active", "ACTIVE"}
