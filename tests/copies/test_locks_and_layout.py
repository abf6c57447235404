"""Where things lie in a home, and the locks that lie there."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.copies.layout import Layout, RootPlace, folder_name
from prowess.errors import SettingsError
from prowess.sources.locks import Hold, hold_lock, take_lock, try_lock
from tests.sources.building import ask_child

_LAYOUT = Layout("/home")


@pytest.mark.requirement("R72")
def test_active_and_personal_lie_side_by_side_and_the_book_elsewhere() -> None:
    assert _LAYOUT.active("ann") == RootPlace("/home/users/ann/skills/active", "/home/copies/users/ann/active")
    assert _LAYOUT.personal("ann") == "/home/users/ann/skills/personal"
    assert _LAYOUT.versions == "/home/versions"


def test_narrower_view_has_a_place_of_its_own() -> None:
    place = _LAYOUT.active("ann", view="cook")
    assert place == RootPlace("/home/users/ann/views/cook/active", "/home/copies/users/ann/views/cook")
    assert _LAYOUT.view_of_folder("ann", "cook") == place


@pytest.mark.requirement("R88")
def test_task_has_a_place_of_its_own() -> None:
    place = _LAYOUT.task("task-1", user="local")
    assert place == RootPlace("/home/tasks/task-1/private/.skills", "/home/copies/tasks/task-1")
    assert _LAYOUT.task_of_folder("task-1") == place


@pytest.mark.requirement("R75")
@pytest.mark.parametrize("user", ["", "..", ".", "a/b", "../x", "a\0b", ".hidden", "x" * 65, "ä", "a\n"])
def test_name_that_no_folder_can_have_is_no_user(user: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _LAYOUT.active(user)
    assert caught.value.code == "bad-user"


@pytest.mark.requirement("R75", "R88")
@given(st.text())
def test_no_task_and_no_view_leads_out(name: str) -> None:
    task, view = _LAYOUT.task(name, user="local"), _LAYOUT.active("ann", view=f"v{name}")
    assert os.path.normpath(task.folder).split("/")[:3] == ["", "home", "tasks"]
    assert len(os.path.normpath(task.folder).split("/")) == 6
    assert os.path.dirname(os.path.normpath(task.book)) == "/home/copies/tasks"
    assert os.path.dirname(os.path.dirname(os.path.normpath(view.folder))) == "/home/users/ann/views"
    assert not {"\0"} & set(task.folder + task.book + view.folder + view.book)


@given(st.text(), st.text())
def test_two_names_never_share_a_folder(first: str, second: str) -> None:
    assert (folder_name(first) == folder_name(second)) == (first == second)


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/b", "---", "a---b", "x" * 500, "\ud800"])
def test_odd_name_is_a_plain_folder(name: str) -> None:
    found = folder_name(name)
    assert "/" not in found
    assert not found.startswith(".")
    assert len(os.fsencode(found)) <= 255


# Locks


@pytest.fixture
def lock(tmp_path: Path) -> str:
    return str(tmp_path / "books" / "lock")


def test_lock_is_made_in_a_folder_for_the_owner_alone(lock: str) -> None:
    with hold_lock(lock, Hold.ALONE):
        assert os.stat(lock).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(lock)).st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (Hold.ALONE, Hold.ALONE, False),
        (Hold.ALONE, Hold.SHARED, False),
        (Hold.SHARED, Hold.ALONE, False),
        (Hold.SHARED, Hold.SHARED, True),
    ],
)
def test_lock_is_shared_only_by_those_who_want_to(lock: str, first: Hold, second: Hold, *, shared: bool) -> None:
    with hold_lock(lock, first):
        other = try_lock(lock, second)
        assert (other is not None) == shared
        if other is not None:
            os.close(other)
    again = try_lock(lock, Hold.ALONE)
    assert again is not None
    os.close(again)


def test_lock_is_let_go_when_something_goes_wrong(lock: str) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(lock, Hold.ALONE):
        _ = 1 / 0
    os.close(take_lock(lock, Hold.ALONE))


def test_link_in_the_place_of_a_lock_is_not_followed(lock: str, tmp_path: Path) -> None:
    os.makedirs(os.path.dirname(lock))
    os.symlink(tmp_path / "target", lock)
    with pytest.raises(OSError, match="symbolic"):
        try_lock(lock, Hold.ALONE)
    assert not (tmp_path / "target").exists()


@pytest.mark.slow
def test_lock_holds_between_processes_and_is_not_inherited(lock: str) -> None:
    script = """
import json, subprocess, sys
from prowess.sources.locks import Hold, try_lock
print(json.dumps(try_lock(sys.argv[1], Hold.SHARED) is None))
"""
    with hold_lock(lock, Hold.ALONE):
        assert ask_child(script, lock) is True
    assert ask_child(script, lock) is False
    handle = take_lock(lock, Hold.ALONE)
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        os.close(handle)  # As at the end of a process: nobody lets go of the lock by name.
        assert ask_child(script, lock) is False
        child.kill()
