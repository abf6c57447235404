"""Copies for one task alone are gone with the task, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.copies.plan import Place, SyncPlan
from prowess.copies.task_copies import TaskCopies, remove_dead_tasks
from tests.copies.owned import small_disk
from tests.copies.parts import Workplace, contents, make_skill, names, skill_of
from tests.skills_on_disk import write_skill


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "home")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "skills", "one", files={"scripts/run.sh": "#!/bin/sh\n"})


def _put(place: Workplace, task: TaskCopies, skill: Path) -> Path:
    step = Place(task.name(skill_of(skill)), skill_of(skill))
    with task.root.locked(), place.versions.in_use():
        task.root.apply(SyncPlan(places=(step,)), digest_of=lambda _: "")
    return Path(task.root.folder, step.key)


def _left(place: Workplace) -> tuple[set[str], set[str]]:
    return names(Path(place.layout.tasks)), names(place.workshop / "tasks")


@pytest.mark.requirement("R88")
def test_copies_are_gone_when_the_task_is_closed(place: Workplace, skill: Path) -> None:
    task = TaskCopies(place.versions, "task-1", user="local")
    copy = _put(place, task, skill)
    assert str(copy) == f"{place.layout.home}/tasks/task-1/private/.skills/one"
    assert contents(copy) == contents(skill)
    task.close()
    task.close()
    assert _left(place) == (set(), set())


def test_what_others_put_into_the_task_stays(place: Workplace, skill: Path) -> None:
    task = TaskCopies(place.versions, "task-1", user="local")
    (_put(place, task, skill).parent.parent / "notes.txt").write_text("mine")
    task.close()
    assert contents(Path(place.layout.tasks)) == {b"task-1/private/notes.txt": ("file", b"mine")}


@pytest.mark.requirement("R75", "R88")
@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../x", "", "A B", "é", "a\nb", "x" * 300])
def test_odd_names_of_tasks_and_skills_lead_nowhere_else(place: Workplace, tmp_path: Path, name: str) -> None:
    before = contents(tmp_path)
    task = TaskCopies(place.versions, name, user="local")
    odd = make_skill(f"workspace:{name}x")._replace(manifest=make_skill(f"user:{name}").manifest)
    assert "/" not in task.name(odd)
    assert task.name(odd) not in ("", ".", "..")
    task.root.make()
    assert Path(task.root.folder).is_relative_to(place.layout.tasks)
    assert ".." not in task.root.folder.split("/")
    task.close()
    after = {path: found for path, found in contents(tmp_path).items() if path != b"home/copies/in-use.lock"}
    assert (_left(place), after) == ((set(), set()), before)


def test_two_skills_of_one_name_have_folders_of_their_own(place: Workplace, skill: Path, tmp_path: Path) -> None:
    task = TaskCopies(place.versions, "task-1", user="local")
    _put(place, task, skill)
    other = make_skill("user:elsewhere/one", tmp_path)._replace(manifest=skill_of(skill).manifest)
    assert (task.name(skill_of(skill)), task.name(other)) == ("one", "user--elsewhere--one")
    task.close()


def test_task_of_one_id_ends_when_its_last_holder_does(place: Workplace, skill: Path) -> None:
    first, second = (
        TaskCopies(place.versions, "task-1", user="local"),
        TaskCopies(place.versions, "task-1", user="local"),
    )
    copy = _put(place, first, skill)
    first.close()
    remove_dead_tasks(place.versions)
    assert copy.is_dir()
    second.close()
    assert _left(place) == (set(), set())


def test_no_tasks_are_no_error(place: Workplace) -> None:
    remove_dead_tasks(place.versions)
    assert _left(place) == (set(), set())


def test_task_can_begin_again(place: Workplace, skill: Path) -> None:
    for _ in range(3):
        task = TaskCopies(place.versions, "task-1", user="local")
        assert contents(_put(place, task, skill)) == contents(skill)
        task.close()


_HOLDING = """
import sys
from prowess.copies.layout import Layout
from prowess.copies.task_copies import TaskCopies
from prowess.copies.versions import Versions
task = TaskCopies(Versions(Layout(sys.argv[1]), durable=False), "task-1", user="local")
task.root.make()
print("here", flush=True)
sys.stdin.read()
task.close()
"""


@pytest.mark.slow
@pytest.mark.requirement("R88")
@pytest.mark.parametrize("end", [signal.SIGKILL, None])
def test_task_of_another_process_stays_until_that_ends(
    place: Workplace, skill: Path, end: signal.Signals | None
) -> None:
    command = [sys.executable, "-c", _HOLDING, place.layout.home]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdin is not None
            assert child.stdout.readline() == "here\n"
            mine = TaskCopies(place.versions, "task-1", user="local")
            copy = _put(place, mine, skill)
            mine.close()
            remove_dead_tasks(place.versions)
            assert contents(copy) == contents(skill)
            if end is None:
                child.stdin.close()
            else:
                os.kill(child.pid, end)
            child.wait(30)
        finally:
            child.kill()
    if end is not None:
        remove_dead_tasks(place.versions)
    assert _left(place) == (set(), set())


@pytest.mark.slow
def test_task_whose_copies_cannot_be_removed_is_logged_and_hinders_no_other(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-c", _HOLDING, place.layout.home]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
        child.kill()
    folder = Path(place.layout.task("task-1", user="local").folder)
    folder.rmdir()
    with small_disk(folder, size="1m"):
        assert remove_dead_tasks(place.versions) == ()
    assert "is a disk of its own" in caplog.text
