"""Faults of sessions with copies that were found once, each with its smallest example, so that none comes back."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.catalog.digests import Digests
from prowess.containers.mounts import Mount
from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import BrokenSkill, WorldError
from prowess.runtime import Runtime
from prowess.runtime.copying import Copying, Look
from prowess.settings import load_settings
from prowess.sources.locks import Hold, release_lock, try_lock
from tests.copies.forks import do_in_fork, idle_fork
from tests.copies.parts import codes, contents, digest_of, mounted_elsewhere, names, public_folder
from tests.copies.test_mended_copies import make_long_path
from tests.runtime.opening import start_python
from tests.skills_on_disk import Home, write_skill
from tests.sources.building import ask_child, without_rights
from tests.surfaces.command import PROWESS, call, run

_SETTINGS = """
[sources]
directories = ["~/.agents/skills"]
[activation]
consent = "never"
{activation}
[copies]
durable = false
"""


@pytest.fixture
def skills(home: Home) -> Path:
    """The user's skills, of which there are none yet; the settings name no other place."""
    home.write_settings(_SETTINGS.format(activation=""))
    folder = home.path / ".agents" / "skills"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def private(home: Home, skills: Path) -> Path:
    """Where tasks have their skills, under settings by which only tasks have any."""
    home.write_settings(_SETTINGS.format(activation='base_directory = "task-private"\nsessions = "task"'))
    return home.prowess / "tasks"


@pytest.fixture
def active(home: Home) -> Path:
    return home.prowess / "users" / "local" / "skills" / "active"


@pytest.fixture
def workshop(home: Home) -> Path:
    return home.prowess / "copies"


# Runtimes with other sources


@pytest.fixture
def sources(home: Home) -> tuple[Path, Path]:
    """Two projects, each with a skill of the same id."""
    home.write_settings(_SETTINGS.format(activation=""))
    folders = (home.path / "A", home.path / "B")
    for folder in folders:
        write_skill(
            folder, "foo", body=f"Body of {folder.name}.\n", files={"references/a.md": f"File of {folder.name}."}
        )
    write_skill(folders[0], "only-a")
    return folders


@pytest.fixture
def first(sources: tuple[Path, Path]) -> Iterator[Runtime]:
    with Runtime.open(skills=[sources[0]]) as runtime:
        yield runtime


@pytest.mark.requirement("R73", "R82")
def test_runtime_with_other_sources_fills_a_root_of_its_own(
    first: Runtime, sources: tuple[Path, Path], active: Path
) -> None:
    assert first.sync().active_root == str(active)
    before = {name: os.stat(active / name) for name in names(active)}
    with Runtime.open(skills=[sources[1]]) as second:
        session = second.session("chat")
        own = Path(session.sync().active_root)
        assert own != active
        assert session.mounts() == second.mounts() == (Mount(str(own), inside="/shared/skills"),)
        assert names(own) == {"project--foo"}
        assert contents(own / "project--foo") == contents(sources[1] / "foo")
        assert {name: os.stat(active / name) for name in names(active)} == before
        assert [one.sync().changed for one in (first, second, first)] == [False] * 3
    assert contents(active / "project--foo") == contents(sources[0] / "foo")


@pytest.mark.requirement("R82", "R84")
@pytest.mark.parametrize("synced", [(), (0,), (1,), (0, 1), (1, 0)])
def test_session_is_never_served_the_skill_of_another_project(
    sources: tuple[Path, Path], synced: tuple[int, ...]
) -> None:
    with Runtime.open(skills=[sources[0]]) as first, Runtime.open(skills=[sources[1]]) as second:
        runtimes = (first, second)
        for number in synced:
            runtimes[number].sync()
        for name, runtime in zip("AB", runtimes, strict=True):
            session = runtime.session(f"chat-{name}")
            activation = session.activate("foo")
            assert activation.instructions.body.strip() == f"Body of {name}."
            assert session.read("foo", "references/a.md").content == f"File of {name}."
            assert activation.base_directory == "/shared/skills/project--foo"
            host = Path(session.mounts()[0].host, "project--foo/references/a.md")
            assert host.read_text() == f"File of {name}."
            with session.pin("foo") as pin:
                assert Path(pin.folder, "references/a.md").read_text() == f"File of {name}."


def test_root_of_its_own_goes_with_the_runtime_and_the_next_one_has_the_usual_root(
    first: Runtime, sources: tuple[Path, Path], active: Path, home: Home
) -> None:
    first.sync()
    with Runtime.open(skills=[sources[1]]) as second:
        own = Path(second.sync().active_root)
        first.close()
        assert second.sync().active_root == str(own)  # A sandbox may have it mounted.
    assert not own.exists()
    assert names(home.prowess / "users/local/views") == names(home.prowess / "copies/users/local/views") == set()
    with Runtime.open(skills=[sources[1]]) as third:
        assert third.sync().active_root == str(active)
    assert contents(active / "project--foo") == contents(sources[1] / "foo")
    assert names(active) == {"project--foo"}


@pytest.mark.slow
def test_root_of_its_own_that_is_mounted_outlives_the_runtime(
    first: Runtime, sources: tuple[Path, Path], tmp_path: Path
) -> None:
    """This needs the right to mount."""
    first.sync()
    with Runtime.open(skills=[sources[1]]) as second:
        own = Path(second.sync().active_root)
        with mounted_elsewhere(own, tmp_path / "inside"):
            second.close()
            assert contents(own / "project--foo") == contents(sources[1] / "foo")


def test_runtimes_with_the_same_sources_share_a_root(
    first: Runtime, sources: tuple[Path, Path], active: Path, home: Home
) -> None:
    with Runtime.open(skills=[sources[0]]) as second:
        for runtime in (first, second):
            assert runtime.sync().active_root == runtime.session("chat").mounts()[0].host == str(active)
    assert first.sync().active_root == str(active)
    assert names(home.prowess / "users/local/views") == set()


_SYNCING = """
with Runtime.open(skills=[sys.argv[1]]) as runtime:
    print(runtime.sync().active_root, flush=True)
    sys.stdin.readline()
"""


@contextmanager
def _syncing_elsewhere(skills: Path) -> Generator[tuple[str, Callable[[], None]]]:
    """Let another process keep copies; give its root, and a way to kill it."""
    child = start_python(_SYNCING, str(skills))

    def kill() -> None:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(30)

    with child:
        try:
            assert child.stdout is not None
            yield child.stdout.readline().rstrip("\n"), kill
        finally:
            child.kill()


@pytest.mark.slow
@pytest.mark.requirement("R73", "R82")
def test_other_sources_of_another_process_are_kept_apart_until_it_is_killed(
    sources: tuple[Path, Path], active: Path
) -> None:
    with _syncing_elsewhere(sources[0]) as (root, kill):
        assert root == str(active)
        before = contents(active)
        with Runtime.open(skills=[sources[1]]) as runtime:
            own = runtime.sync().active_root
            assert own != root
            assert runtime.session("chat").activate("foo").instructions.body.strip() == "Body of B."
            with _syncing_elsewhere(sources[1]) as (same, _):
                assert same == own  # It has the same sources, and finds the usual root taken too.
        assert contents(active) == before
        kill()
        with Runtime.open(skills=[sources[1]]) as runtime:
            assert runtime.sync().active_root == root
    assert contents(active / "project--foo") == contents(sources[1] / "foo")


# Views


def test_sessions_with_lists_of_skills_leave_no_roots_behind(skills: Path, home: Home) -> None:
    for number in range(4):
        write_skill(skills, f"s{number}")
    with Runtime.open() as runtime:
        runtime.sync()
        for number in range(4):
            with runtime.session(skills=[f"s{number}"]) as session:
                assert names(Path(session.sync().active_root)) == {f"agents--s{number}"}
                session.activate(f"s{number}")
    assert names(home.prowess / "users/local/views") == names(home.prowess / "copies/users/local/views") == set()
    assert len(names(home.prowess / "versions")) == 4


def test_view_of_an_agent_stays_for_the_next_runtime(skills: Path, home: Home) -> None:
    write_skill(skills, "foo")
    roots: list[str] = []
    for _ in range(2):
        with Runtime.open() as runtime:
            roots.append(runtime.session("chat", agent="cook").sync().active_root)
            assert names(Path(roots[0])) == {"agents--foo"}
    assert roots[0] == roots[1]
    assert names(Path(roots[0])) == {"agents--foo"}


# Tasks


_CRASHING = """
import os
runtime = Runtime.open()
runtime.session("task-1").activate("foo")
print("active", flush=True)
os._exit(9)
"""


def _sync(runtime: Runtime) -> None:
    runtime.sync()


def _sync_a_session(runtime: Runtime) -> None:
    runtime.session("task-2").sync()


def _begin_another_task(runtime: Runtime) -> None:
    with runtime.session("task-2") as session:
        session.activate("bar")


@pytest.mark.slow
@pytest.mark.requirement("R88")
@pytest.mark.parametrize("deed", [_sync, _sync_a_session, _begin_another_task])
def test_copies_of_a_task_that_crashed_go_with_the_next_work(
    private: Path, skills: Path, home: Home, workshop: Path, deed: Callable[[Runtime], None]
) -> None:
    write_skill(skills, "foo")
    write_skill(skills, "bar")
    child = start_python(_CRASHING)
    assert child.communicate(timeout=60)[0] == "active\n"
    assert names(private / "task-1/private/.skills") == {"foo"}
    with Runtime.open() as runtime:
        deed(runtime)
        assert "task-1" not in names(private) | names(workshop / "tasks")
    assert (names(private), names(workshop / "tasks")) == (set(), set())


@pytest.mark.requirement("R88", "K5")
def test_versions_and_retired_copies_of_a_task_go_when_nobody_needs_them(
    private: Path, skills: Path, home: Home, workshop: Path
) -> None:
    versions, retired = home.prowess / "versions", workshop / "retired"
    with Runtime.open() as runtime, runtime.session("task-1") as session:
        digests: list[str] = []
        for number in range(3):
            write_skill(skills, "foo", body=f"{number}\n")
            digests.append(session.activate("foo").digest)
            assert names(versions) == set(digests[-2:])  # The former one is in use until its successor is active.
        assert len(names(retired)) == 2
        for name in names(retired):
            (retired / name).rename(retired / f"1000-{name.partition('-')[2]}")
        write_skill(skills, "bar")
        session.activate("bar")
        assert names(retired) == set()
        assert names(versions) == {digest_of(skills / name) for name in ("foo", "bar")}
    assert (names(versions), names(private)) == (set(), set())


@pytest.mark.requirement("R88")
def test_task_of_one_id_is_another_for_another_user(private: Path, home: Home) -> None:
    for user in ("ann", "bob"):
        write_skill(home.path / user, "foo", body=f"Of {user}.\n")
    write_skill(home.path / "ann", "secret")
    settings = load_settings()
    with (
        Runtime(settings.for_user("ann"), skills=[home.path / "ann"]) as ann,
        Runtime(settings.for_user("bob"), skills=[home.path / "bob"]) as bob,
    ):
        hers, his = ann.session("task-1"), bob.session("task-1")
        hers.activate("foo")
        hers.activate("secret")
        his.activate("foo")
        folders = [Path(session.mounts()[0].host) for session in (hers, his)]
        assert [names(folder) for folder in folders] == [{"foo", "secret"}, {"foo"}]
        for user, folder in zip(("ann", "bob"), folders, strict=True):
            assert contents(folder / "foo") == contents(home.path / user / "foo")
        his.end()
        assert [names(folder) for folder in folders] == [{"foo", "secret"}, set()]


# Names that no copy can have


@pytest.mark.requirement("R81")
def test_skill_with_a_path_that_is_too_long_is_used_without_a_copy(skills: Path, active: Path) -> None:
    write_skill(skills, "good")
    make_long_path(write_skill(skills, "deep"))
    with Runtime.open() as runtime:
        report = runtime.sync()
        assert (codes(report.skipped), report.copied) == ({"agents:deep": "name-unfit"}, ("agents:good",))
        activation = runtime.session("chat").activate("deep")
        assert (activation.base_directory, activation.instructions.body.strip()) == ("", "Do the thing.")


@pytest.mark.requirement("R81")
def test_skill_with_a_path_that_is_too_long_cannot_be_added(home: Home) -> None:
    make_long_path(write_skill(home.path, "deep"))
    with pytest.raises(BrokenSkill) as caught:
        call("add", str(home.path / "deep"))
    assert caught.value.message.endswith("cannot be copied: its path is too long")
    assert len(caught.value.message) < 500
    assert [path for path in home.prowess.rglob("*") if "deep" in path.name] == []


@pytest.mark.slow
def test_command_says_no_to_a_skill_that_cannot_be_added(home: Home) -> None:
    make_long_path(write_skill(home.path, "deep"))
    done = run("add", str(home.path / "deep"))
    assert (done.status, "its path is too long" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


# Forks


@pytest.mark.requirement("R73")
def test_fork_during_a_sync_keeps_no_lock(skills: Path, workshop: Path) -> None:
    """As a server does that starts workers while a thread syncs."""
    forks: list[Any] = []

    def fork(done: int, _total: int) -> None:
        if done == 2:
            forks.append(idle_fork())
            forks[0].__enter__()

    for number in range(4):
        write_skill(skills, f"s{number}")
    with Runtime.open() as runtime:
        runtime.sync(progress=fork)
        try:
            for lock in ("versions.lock", "in-use.lock", "users/local/active/lock"):
                assert (workshop / lock).exists()
                taken = try_lock(str(workshop / lock), Hold.ALONE)
                assert taken is not None, lock
                release_lock(taken)
        finally:
            forks[0].__exit__(None, None, None)


@pytest.mark.requirement("R73", "K5")
def test_fork_that_closes_a_runtime_takes_nothing_from_its_parent(
    first: Runtime, sources: tuple[Path, Path], home: Home
) -> None:
    first.sync()
    runtime = Runtime.open(skills=[sources[1]])
    session = runtime.session("chat", skills=["foo"])
    roots = [Path(one.sync().active_root) for one in (session, runtime)]
    pin = session.pin("foo")
    for deed in (pin.close, runtime.close):
        do_in_fork(deed)
    assert [names(root) for root in roots] == [{"project--foo"}] * 2
    with Runtime.open(skills=[sources[1]]) as other:
        other.sync(verify=True)
    assert [names(root) for root in roots] == [{"project--foo"}] * 2
    shutil.rmtree(sources[1] / "foo")
    assert [one.sync().removed for one in (session, runtime)] == [("project:foo",)] * 2
    assert os.path.isdir(pin.folder)
    pin.close()
    runtime.close()
    assert not any(root.exists() for root in roots)


@pytest.mark.requirement("R88")
def test_fork_that_closes_a_runtime_ends_no_task_of_its_parent(private: Path, skills: Path) -> None:
    write_skill(skills, "foo")
    with Runtime.open() as runtime, runtime.session("task-1") as session:
        session.activate("foo")
        do_in_fork(runtime.close)
        assert names(private / "task-1/private/.skills") == {"foo"}
        assert [receipt.skill for receipt in session.active()] == ["agents:foo"]
        assert session.activate("foo").already_active
    assert names(private) == set()


# Damage


@pytest.mark.requirement("K5")
@pytest.mark.parametrize("damage", ["byte", "missing", "added"])
def test_damaged_version_reaches_no_second_user(skills: Path, home: Home, damage: str) -> None:
    write_skill(skills, "foo", files={"a.txt": "good"})
    with Runtime.open() as runtime:
        runtime.sync()
    version = home.prowess / "versions" / digest_of(skills / "foo")
    version.chmod(0o755)
    if damage == "byte":
        (version / "a.txt").chmod(0o644)
        (version / "a.txt").write_text("goad")
    elif damage == "missing":
        (version / "a.txt").unlink()
    else:
        (version / "b.txt").touch()
    with Runtime(load_settings().for_user("ann")) as runtime:
        session = runtime.session("chat")
        with session.pin("foo") as pin:
            assert contents(Path(pin.folder)) == contents(skills / "foo")
        copy = Path(session.sync().active_root, "agents--foo")
    assert contents(copy) == contents(version) == contents(skills / "foo")


def _damage(record: Path) -> None:
    record.write_bytes(b"\0" * 300)


def _cut(record: Path) -> None:
    record.write_bytes(record.read_bytes()[:-9])


def _make_a_folder(record: Path) -> None:
    record.unlink()
    (record / "inner").mkdir(parents=True)


def _make_a_link(record: Path) -> None:
    record.unlink()
    record.symlink_to(record)


@pytest.mark.requirement("R84", "K5")
@pytest.mark.parametrize("synced", ["synced", "new"])
@pytest.mark.parametrize(
    ("damage", "is_mended"), [(_damage, True), (_cut, True), (_make_a_folder, False), (_make_a_link, False)]
)
def test_record_that_cannot_be_used_keeps_no_instructions_from_the_model(
    skills: Path, active: Path, workshop: Path, damage: Callable[[Path], None], synced: str, *, is_mended: bool
) -> None:
    write_skill(skills, "foo", body="Do it.\n")
    with Runtime.open() as runtime:
        runtime.sync()
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        if synced == "synced":
            session.sync()
        damage(workshop / "users/local/active/record")
        activation = session.activate("foo")
        assert activation.instructions.body.strip() == "Do it."
        assert session.read("foo", "SKILL.md").content == (skills / "foo" / "SKILL.md").read_text()
        assert session.activate("foo").already_active
        assert session.prompt()
        for _ in range(2):
            if is_mended:
                assert (session.sync().skipped, runtime.sync(verify=True).skipped) == ((), ())
            else:
                for sync in (session.sync, lambda: runtime.sync(verify=True)):
                    with pytest.raises(WorldError) as caught:
                        sync()
                    assert "record" in caught.value.message
    assert contents(active / "agents--foo") == contents(skills / "foo")


_UNREADABLE = without_rights("""
import json, sys
from pathlib import Path
from prowess.errors import WorldError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.skills_on_disk import write_skill


def live(top, mode):
    os.environ["PROWESS_HOME"] = str(top / "home")
    write_skill(top / "skills", "foo", body="Do it.")
    with Runtime(load_settings(), skills=[top / "skills"]) as runtime:
        runtime.sync()
    record = top / "home/copies/users/local/active/record"
    record.chmod(mode)
    said = ""
    with Runtime(load_settings(), skills=[top / "skills"]) as runtime:
        session = runtime.session("chat")
        body = session.activate("foo").instructions.body.strip()
        try:
            session.sync()
        except WorldError as error:
            said = error.message
    return [body, "Permission denied" in said and "record" in said]


live(Path(sys.argv[1], "before"), 0o600)  # What is imported on the way may lie where others cannot read.
become_nobody()
print(json.dumps(live(Path(sys.argv[1]), 0)))
""")


@pytest.mark.slow
@pytest.mark.requirement("R84")
def test_record_that_must_not_be_read_keeps_no_instructions_from_the_model(home: Home) -> None:
    with public_folder() as top:
        top.chmod(0o777)
        environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
        assert ask_child(_UNREADABLE, top, environ=environ) == ["Do it.", True]


@pytest.mark.parametrize("folder", ["tasks", "users", "users/local", "users/local/views", "users/local/active"])
@pytest.mark.parametrize("name", [".DS_Store", "stray"])
def test_stray_file_in_the_workshop_does_no_harm(skills: Path, workshop: Path, folder: str, name: str) -> None:
    write_skill(skills, "foo")
    (workshop / folder).mkdir(parents=True)
    (workshop / folder / name).touch()
    with Runtime.open() as runtime:
        session = runtime.session("chat", skills=["foo"])
        assert [one.sync().copied for one in (session, runtime)] == [("agents:foo",)] * 2
        assert runtime.sync(verify=True).unchanged == 1
        assert session.activate("foo").base_directory == "/shared/skills/agents--foo"
    assert (workshop / folder / name).exists()


# Where the model's code finds a skill


def _sync_again(runtime: Runtime) -> None:
    runtime.sync()


def _activate_elsewhere(runtime: Runtime) -> None:
    runtime.session("other").activate("foo")


@pytest.mark.requirement("R84")
@pytest.mark.parametrize("mend", [_sync_again, _activate_elsewhere])
@pytest.mark.parametrize("synced", ["synced", "new"])
def test_base_directory_of_a_copy_that_was_removed_is_told_when_it_is_there_again(
    skills: Path, active: Path, mend: Callable[[Runtime], None], synced: str
) -> None:
    write_skill(skills, "foo")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        if synced == "synced":
            session.sync()
        seen = [session.activate("foo")]
        shutil.rmtree(active / "agents--foo")
        seen.append(session.activate("foo"))
        mend(runtime)
        seen.append(session.activate("foo"))
    folder = "/shared/skills/agents--foo"
    assert [(one.base_directory, one.already_active) for one in seen] == [(folder, False), ("", True), (folder, True)]
    assert contents(active / "agents--foo") == contents(skills / "foo")


def test_folder_that_differs_from_active_in_case_only_changes_nothing(skills: Path, active: Path) -> None:
    """The disk tells case."""
    for name in ("foo", "Foo"):
        write_skill(skills, name)
    (active.parent / "ACTIVE").mkdir(parents=True)
    with Runtime.open() as runtime:
        reports = [runtime.sync(), runtime.sync()]
    assert [(len(report.copied), report.unchanged, report.skipped) for report in reports] == [(2, 0, ()), (0, 2, ())]
    assert (names(active), names(active.parent / "ACTIVE")) == ({"agents--foo", "agents--Foo"}, set())


@pytest.mark.requirement("R73")
@pytest.mark.parametrize("name", [".prowess", "store"])
@pytest.mark.parametrize("base", ["shared", "task-private"])
def test_copies_in_a_folder_of_skills_are_no_skills(
    home: Home, skills: Path, monkeypatch: pytest.MonkeyPatch, name: str, base: str
) -> None:
    inside = skills / name
    monkeypatch.setenv("PROWESS_HOME", str(inside))
    inside.mkdir()
    text = _SETTINGS.format(activation=f'base_directory = "{base}"')
    (inside / "prowess.toml").write_text(text)
    write_skill(skills, "foo")
    for _ in range(3):
        with Runtime.open(skills=[skills]) as runtime:
            session = runtime.session("chat", skills=["foo"])
            for one in (session, runtime):
                one.sync()
            session.activate("foo")
            runtime.rescan()
            catalog = runtime.catalog()
            assert [skill.id for skill in catalog.skills] == ["project:foo"]
            assert (catalog.rejected, runtime.sync().changed) == ((), False)


# Clocks


@pytest.mark.requirement("R77")
def test_sync_with_a_clock_that_was_set_back_reads_and_writes_nothing(
    skills: Path, home: Home, active: Path, workshop: Path
) -> None:
    for name in ("foo", "bar"):
        write_skill(skills, name, files={"a/b": "x"})
    with Runtime.open() as runtime:
        runtime.sync()
        before = _draw(home.prowess)
        digests = Digests(clock=lambda: time.time_ns() - 86_400 * 10**9)
        copying = Copying(runtime.settings, runtime.store, digests, sources=runtime.sources)
        for _ in range(2):
            report = copying.sync(lambda _: Look(runtime.view(), runtime.catalog(), None))
            assert (report.changed, report.unchanged, report.skipped) == (False, 2, ())
        assert _draw(home.prowess) == before
        copying.close()


def _draw(home: Path) -> dict[str, tuple[int, ...]]:
    """Return everything that has to do with copies, with all that changes when it is written."""
    found: dict[str, tuple[int, ...]] = {}
    for top in ("versions", "users", "copies/staging", "copies/users/local/active/record"):
        for path in (home / top, *(home / top).rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


@pytest.mark.slow
@pytest.mark.requirement("R77")
def test_sync_in_a_process_whose_clock_is_behind_writes_nothing(skills: Path, home: Home, workshop: Path) -> None:
    """This needs faketime (apt-get install faketime)."""
    for name in ("foo", "bar"):
        write_skill(skills, name, files={"a/b": "x"})
    with Runtime.open() as runtime:
        runtime.sync()
    before = _draw(home.prowess)
    for _ in range(2):
        command = ["faketime", "-f", "-1d", sys.executable, PROWESS, "sync", "--json"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        assert b'"unchanged": 2' in done.stdout
    assert _draw(home.prowess) == before


# Skills that change all the time


def _write_in_place(file: Path, number: int) -> None:
    file.write_text(f"{number}\n" * 1_000)


def _replace(file: Path, number: int) -> None:
    new = file.parent.parent / "new"
    _write_in_place(new, number)
    os.replace(new, file)


def _remove_and_write(file: Path, number: int) -> None:
    file.unlink()
    _write_in_place(file, number)


@pytest.mark.slow
@pytest.mark.requirement("K5")
@pytest.mark.parametrize("change", [_write_in_place, _replace, _remove_and_write])
@pytest.mark.parametrize("synced", ["synced", "new"])
def test_pin_of_a_skill_that_changes_all_the_time_is_a_whole_version(
    skills: Path, change: Callable[[Path, int], None], synced: str
) -> None:
    file = write_skill(skills, "foo", files={"a.txt": "0"}) / "a.txt"
    done = threading.Event()
    changes = 0

    def restless() -> None:
        nonlocal changes
        while not done.is_set():
            change(file, changes := changes + 1)
            time.sleep(0.005 if changes % 20 == 0 else 0)  # Now and then there is time for a whole version.

    thread = threading.Thread(target=restless)
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        thread.start()
        pinned = 0
        try:
            while changes < 2_000 or not pinned:
                assert changes < 100_000
                if synced == "synced":
                    session.sync()
                with suppress(SkillChanged), session.pin("foo") as pin:
                    assert digest_of(Path(pin.folder)) == pin.digest
                    pinned += 1
        finally:
            done.set()
            thread.join()
        session.sync()
        with session.pin("foo") as pin:
            assert contents(Path(pin.folder)) == contents(skills / "foo")


@pytest.mark.requirement("K5")
def test_skill_with_a_fault_among_its_files_cannot_be_pinned(skills: Path) -> None:
    os.mkfifo(write_skill(skills, "foo") / "fifo")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        for _ in range(2):
            with pytest.raises(BrokenSkill) as caught:
                session.pin("foo")
            assert caught.value.message == "skill 'foo' cannot be copied: fifo is neither a file nor a folder"
            session.sync()


@pytest.mark.slow
@pytest.mark.requirement("R79", "K5")
def test_skill_that_is_saved_over_and_over_does_not_leave(skills: Path, active: Path) -> None:
    """As some editors save: the old file is removed before the new one is there."""
    file = write_skill(skills, "foo", files={"a.txt": "0"}) / "a.txt"
    done = threading.Event()
    changes = 0

    def save() -> None:
        nonlocal changes
        while not done.is_set():
            _remove_and_write(file, changes := changes + 1)

    thread = threading.Thread(target=save)
    seen: set[str] = set()
    with Runtime.open() as runtime:
        runtime.sync()
        thread.start()
        try:
            while changes < 5_000:
                report = runtime.sync()
                assert report.removed == ()
                seen |= set(codes(report.skipped).values())
                assert names(active) == {"agents--foo"}
        finally:
            done.set()
            thread.join()
        assert seen <= {"keeps-changing"}
        runtime.sync()
        assert contents(active / "agents--foo") == contents(skills / "foo")
