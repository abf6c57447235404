"""Skills of a task alone: copied when they are activated, under their names, and gone with the task."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer, CallbackAsker
from prowess.containers.mounts import Mount
from prowess.runtime import Runtime, Session
from prowess.sources.skill_files import read_skill_files
from tests.copies.parts import contents, names
from tests.runtime.opening import start_python
from tests.skills_on_disk import Home, write_skill

_YES = CallbackAsker(lambda _: Answer.ALLOW_ONCE)


@pytest.fixture
def skills(home: Home) -> Path:
    """A skill in the root and one beside it."""
    home.write_settings("[copies]\ndurable = false\n")
    root = write_skill(home.project, "skills", files={"notes/root.md": "Of the root.\n"})
    text = "---\nname: root-skill\ndescription: The one in the root.\n---\nRoot.\n"
    (root / "SKILL.md").write_text(text)
    write_skill(root, "survey", files={"scripts/run.sh": "#!/bin/sh\n", "references/list.md": "- look\n"})
    (root / "loose.txt").write_text("loose")
    return root


@pytest.fixture
def runtime(skills: Path) -> Iterator[Runtime]:
    with Runtime.open(profile="workspace", asker=_YES) as opened:
        yield opened


@pytest.fixture
def tasks(home: Home) -> Path:
    return home.prowess / "tasks"


@pytest.mark.requirement("R88", "R84")
def test_activated_skill_is_in_the_folder_of_its_task(runtime: Runtime, skills: Path, tasks: Path) -> None:
    """S11, S13."""
    session = runtime.session("task-1")
    assert session.sync().active_root == ""
    assert names(tasks) == set()
    result = session.call("activateSkill", {"name": "survey"})
    assert (result.data["mountPath"], result.data["alreadyActivated"]) == ("private:/.skills/survey", False)
    private = tasks / "task-1" / "private" / ".skills"
    assert names(private) == {"survey"}
    assert contents(private / "survey") == contents(skills / "survey")
    assert session.mounts() == (Mount(str(private), inside="private:/.skills"),)
    assert session.permissions().read_only_dirs == (str(private),)
    again = session.call("activateSkill", {"name": "survey"})
    assert (again.data["alreadyActivated"], again.data["mountPath"]) == (True, "private:/.skills/survey")


@pytest.mark.requirement("R88")
def test_skill_in_the_root_has_its_own_files_and_not_its_neighbours(
    runtime: Runtime, skills: Path, tasks: Path
) -> None:
    activation = runtime.session("task-1").activate("root-skill")
    copy = tasks / "task-1/private/.skills/root-skill"
    assert set(contents(copy)) == {b"SKILL.md", b"notes/root.md", b"loose.txt"}
    assert activation.digest == read_skill_files(str(skills), apart=True).digest
    assert "survey" not in activation.folder_structure


def _close(runtime: Runtime, session: Session) -> None:
    session.close()


def _end(runtime: Runtime, session: Session) -> None:
    session.end()


def _end_by_id(runtime: Runtime, session: Session) -> None:
    runtime.end_session("task-1")


def _close_the_runtime(runtime: Runtime, session: Session) -> None:
    runtime.close()


@pytest.mark.requirement("R88", "R91")
@pytest.mark.parametrize("end", [_close, _end, _end_by_id, _close_the_runtime])
def test_folder_is_gone_when_the_task_ends(
    skills: Path, tasks: Path, home: Home, end: Callable[[Runtime, Session], None]
) -> None:
    with Runtime.open(profile="workspace", asker=_YES) as runtime:
        session = runtime.session("task-1")
        session.activate("survey")
        assert names(tasks) == {"task-1"}
        end(runtime, session)
        assert (names(tasks), names(home.prowess / "copies" / "tasks")) == (set(), set())


def test_tasks_do_not_see_each_other(runtime: Runtime, tasks: Path) -> None:
    first, second = runtime.session("one"), runtime.session("two")
    first.activate("survey")
    second.activate("root-skill")
    assert {name: names(tasks / name / "private/.skills") for name in names(tasks)} == {
        "one": {"survey"},
        "two": {"root-skill"},
    }
    first.end()
    assert names(tasks) == {"two"}


@pytest.mark.requirement("R75", "R88")
@pytest.mark.parametrize("task", ["..", ".", "a/b", "../../../x", "-", "a b", "~", "…", "x" * 200])
def test_no_id_of_a_task_leads_anywhere_else(runtime: Runtime, home: Home, tasks: Path, task: str) -> None:
    before = names(home.path) | names(home.prowess.parent)
    session = runtime.session(task)
    activation = session.activate("survey")
    assert activation.base_directory == "private:/.skills/survey"
    (folder,) = names(tasks)
    assert names(tasks / folder / "private/.skills") == {"survey"}
    assert session.mounts()[0].host == str(tasks / folder / "private/.skills")
    session.end()
    assert names(tasks) == set()
    assert names(home.path) | names(home.prowess.parent) == before


@pytest.mark.requirement("R75", "R88")
@pytest.mark.parametrize("folder", ["..x", "a b", "...", "Ünï"])
def test_no_name_of_a_skill_leads_anywhere_else(home: Home, skills: Path, tasks: Path, folder: str) -> None:
    for name in ("..", "../../pwn", "/etc", ".skills"):
        write_skill(skills, folder, text=f"---\nname: {name}\ndescription: d\n---\nOdd.\n")
        with Runtime.open(profile="workspace", asker=_YES) as runtime:
            session = runtime.session("task-1")
            assert len(session.view().visible) == (2 if name == ".." else 3)  # Nothing is left of that name to show.
            for skill in session.view().visible:
                base = session.activate(skill.id).base_directory
                assert base.startswith("private:/.skills/")
                assert base.count("/") == 2
                assert base.rpartition("/")[2] in names(tasks / "task-1/private/.skills")
            assert names(tasks / "task-1") == {"private"}
            assert names(tasks / "task-1/private") == {".skills"}
    assert not (home.prowess / "pwn").exists()


def test_changed_skill_is_placed_anew_when_it_is_activated_again(runtime: Runtime, skills: Path, tasks: Path) -> None:
    session = runtime.session("task-1")
    session.activate("survey")
    (skills / "survey" / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    assert session.activate("survey").already_active is False
    assert contents(tasks / "task-1/private/.skills/survey") == contents(skills / "survey")


_WORKING = """
with Runtime.open(profile="workspace", asker=CallbackAsker(lambda _: Answer.ALLOW_ONCE)) as runtime:
    runtime.session("task-1").activate(sys.argv[1])
    print("active", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.requirement("R88")
def test_task_of_a_process_that_was_killed_is_removed_by_a_later_sync(skills: Path, home: Home, tasks: Path) -> None:
    child = start_python(_WORKING, "survey")
    assert child.stdout is not None
    assert child.stdout.readline() == "active\n"
    with Runtime.open(skills=[skills]) as runtime:
        runtime.sync()
    assert names(tasks / "task-1/private/.skills") == {"survey"}
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=30)
    with Runtime.open(skills=[skills]) as runtime:
        runtime.sync()
    assert (names(tasks), names(home.prowess / "copies" / "tasks")) == (set(), set())


@pytest.mark.slow
@pytest.mark.requirement("R88")
def test_end_of_a_task_takes_nothing_from_another_process_with_the_same_id(skills: Path, tasks: Path) -> None:
    child = start_python(_WORKING, "survey")
    assert child.stdout is not None
    assert child.stdout.readline() == "active\n"
    with Runtime.open(profile="workspace", asker=_YES) as runtime, runtime.session("task-1") as session:
        session.activate("root-skill")
    assert contents(tasks / "task-1/private/.skills/survey") == contents(skills / "survey")
    _, complaints = child.communicate("\n", timeout=30)
    assert (complaints, names(tasks)) == ("", set())
