"""`prowess sync`: the copies that sandboxes see."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import SettingsError, WorldError
from tests.copies.owned import small_disk
from tests.copies.parts import contents, names
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, call, run, run_on_terminal


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings("[copies]\ndurable = false\n")
    folder = home.project / "skills"
    write_skill(folder, "a", files={"scripts/run.sh": "#!/bin/sh\n"})
    write_skill(folder, "b")
    return folder


@pytest.fixture
def active(home: Home) -> Path:
    return home.prowess / "users" / "local" / "skills" / "active"


def _sync(root: Path, *arguments: str) -> dict[str, Any]:
    """Return the report, with the time that nobody knows taken out."""
    report: dict[str, Any] = call("--skills", str(root), "sync", "--json", *arguments).json
    assert isinstance(report.pop("seconds"), float)
    return report


@pytest.mark.requirement("R73", "R89")
def test_report_is_as_the_contract_says(root: Path, active: Path) -> None:
    same: dict[str, Any] = {"active_root": str(active), "skipped": []}
    copied = ["project:a", "project:b"]
    assert _sync(root) == {**same, "copied": copied, "unchanged": 0, "removed": []}
    assert _sync(root) == {**same, "copied": [], "unchanged": 2, "removed": []}
    shutil.rmtree(root / "b")
    (active / "junk").mkdir()
    assert _sync(root) == {**same, "copied": [], "unchanged": 1, "removed": ["project:b", "junk"]}
    assert contents(active / "project--a") == contents(root / "a")


@pytest.mark.requirement("R81")
def test_skipped_skill_comes_with_its_problem(root: Path) -> None:
    (root / "a" / "out").symlink_to("/etc")
    (skipped,) = _sync(root)["skipped"]
    assert skipped == {
        "id": "project:a",
        "problem": {
            "code": "link-escape",
            "severity": "error",
            "message": "the link out leads out of the skill",
            "line": None,
            "column": None,
            "remedy": skipped["problem"]["remedy"],
            "path": "out",
        },
    }
    assert skipped["problem"]["remedy"]


def test_people_read_what_changed_and_where(root: Path, active: Path) -> None:
    os.mkfifo(root / "b" / "fifo")
    first = call("--skills", str(root), "sync")
    assert (first.status, first.stdout) == (0, "+ project:a\n")
    *warnings, last = first.stderr.splitlines()
    assert warnings == ["! project:b: fifo is neither a file nor a folder [not-a-file]"]
    assert last.startswith(f"{active}: 1 copied, 0 unchanged, 0 removed, 1 skipped, in ")
    shutil.rmtree(root / "a")
    assert call("--skills", str(root), "sync").stdout == "- project:a\n"


def test_copies_of_another_user_are_apart(root: Path, home: Home) -> None:
    _sync(root)
    report = _sync(root, "--user", "anna")
    assert report["active_root"] == str(home.prowess / "users" / "anna" / "skills" / "active")
    assert report["copied"] == ["project:a", "project:b"]
    assert names(home.prowess / "users") == {"local", "anna"}


@pytest.mark.parametrize("user", ["", "..", "../x", "a/b", ".x", "a b", "x" * 65])
@pytest.mark.requirement("R75")
def test_bad_name_of_a_user_is_a_wrong_setting(root: Path, home: Home, user: str) -> None:
    with pytest.raises(SettingsError) as caught:
        call("--skills", str(root), "sync", "--user", user)
    assert caught.value.code == "bad-user"
    assert names(home.prowess) == {"prowess.toml"}


@pytest.mark.requirement("K5")
def test_damaged_copies_are_mended_when_asked(root: Path, active: Path) -> None:
    _sync(root)
    script = active / "project--a" / "scripts" / "run.sh"
    script.chmod(0o755)
    script.write_text("#!/bin/sh\nrm -rf /\n")
    assert _sync(root)["copied"] == []
    assert _sync(root, "--verify")["copied"] == ["project:a"]
    assert contents(active / "project--a") == contents(root / "a")
    assert _sync(root, "--verify")["unchanged"] == 2


@pytest.mark.parametrize("profile", ["workspace", "agent-base", "remcochat"])
def test_profile_without_shared_copies_says_so(root: Path, home: Home, profile: str) -> None:
    outcome = call("--profile", profile, "--skills", str(root), "sync", "--json", "--verify")
    assert outcome.json == {
        "active_root": "",
        "copied": [],
        "unchanged": 0,
        "removed": [],
        "skipped": [],
        "seconds": outcome.json["seconds"],
    }
    assert "The profile shares no folder of copies" in outcome.stderr
    assert "users" not in names(home.prowess)


@pytest.mark.requirement("R72")
def test_active_that_is_a_link_is_an_error(root: Path, active: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    active.parent.mkdir(parents=True)
    active.symlink_to(tmp_path / "mine")
    with pytest.raises(WorldError) as caught:
        call("--skills", str(root), "sync")
    assert caught.value.code == "not-a-folder"
    assert names(tmp_path / "mine") == set()


# In a process of its own


@pytest.mark.slow
def test_status_tells_who_can_mend_it(root: Path, active: Path, tmp_path: Path) -> None:
    assert run("--skills", str(root), "sync").status == 0
    assert run("--skills", str(root), "sync", "--user", "../x").status == 2
    assert run("--skills", str(root), "sync", "--interval", "0").status == 2
    shutil.rmtree(active.parent)
    active.parent.write_text("in the way")
    failed = run("--skills", str(root), "sync", "--json")
    assert (failed.status, failed.json["error"]["code"]) == (3, "not-a-folder")
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_terminal_shows_the_same(root: Path) -> None:
    outcome = run_on_terminal(["--skills", str(root), "sync"])
    assert (outcome.status, outcome.stdout.split()) == (0, ["+", "project:a", "+", "project:b"])
    assert "2 copied" in outcome.stderr


@pytest.fixture
def watching(root: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A sync that goes on."""
    with _watch(root, *request.param) as process:
        yield process


@contextmanager
def _watch(root: Path, *arguments: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [PROWESS, "--skills", str(root), "sync", "--watch", "--interval", "0.05", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _next(watching: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next line for programs, however long it is in coming."""
    assert watching.stdout is not None
    return json.loads(watching.stdout.readline())


def _next_for_people(watching: subprocess.Popen[str]) -> str:
    """Return the next line that is no result."""
    assert watching.stderr is not None
    return watching.stderr.readline()


def _end(watching: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C; return the status, and what was said that nobody has read yet."""
    watching.send_signal(signal.SIGINT)
    rest, complaints = watching.communicate(timeout=60)
    return watching.returncode, rest, complaints


def _replace(file: Path, text: str) -> None:
    """Write a file in one step, so that nobody sees half of it."""
    aside = Path.cwd() / "aside"
    aside.write_text(text)
    aside.replace(file)


_BEGUN = "Watching. Ctrl-C ends it.\n"


@pytest.mark.slow
@pytest.mark.requirement("R73", "R36")
@pytest.mark.parametrize("watching", [["--json"]], indirect=True)
def test_watching_tells_of_each_change_in_a_line(watching: subprocess.Popen[str], root: Path, active: Path) -> None:
    assert _next(watching)["copied"] == ["project:a", "project:b"]
    _replace(root / "a" / "scripts" / "run.sh", "#!/bin/sh\nexit 1\n")
    assert _next(watching)["copied"] == ["project:a"]
    assert contents(active / "project--a") == contents(root / "a")
    shutil.rmtree(root / "b")
    assert _next(watching)["removed"] == ["project:b"]
    assert _end(watching) == (0, "", _BEGUN)


@pytest.mark.slow
@pytest.mark.requirement("R81")
@pytest.mark.parametrize("watching", [["--json"]], indirect=True)
def test_watching_tells_of_each_skill_that_is_skipped_and_of_each_other_reason(
    watching: subprocess.Popen[str], root: Path
) -> None:
    assert _next(watching)["copied"] == ["project:a", "project:b"]
    aside = write_skill(root.parent, "c")
    (aside / "odd").symlink_to("/etc")
    os.mkfifo(root.parent / "pipe")
    aside.rename(root / "c")
    assert _told(_next(watching)) == ([], 2, [], [("project:c", "link-escape")])
    (root.parent / "pipe").rename(root / "c" / "odd")
    assert _told(_next(watching)) == ([], 2, [], [("project:c", "not-a-file")])
    (root / "c").rename(aside)
    assert _told(_next(watching)) == ([], 2, [], [])
    assert _end(watching) == (0, "", _BEGUN)


def _told(report: dict[str, Any]) -> tuple[list[str], int, list[str], list[tuple[str, str]]]:
    skipped = [(one["id"], one["problem"]["code"]) for one in report["skipped"]]
    return report["copied"], report["unchanged"], report["removed"], skipped


@pytest.mark.slow
@pytest.mark.parametrize("watching", [[]], indirect=True)
def test_watching_tells_people_at_once(watching: subprocess.Popen[str], root: Path) -> None:
    assert watching.stdout is not None
    assert [watching.stdout.readline() for _ in range(2)] == ["+ project:a\n", "+ project:b\n"]
    write_skill(root.parent, "c").rename(root / "c")
    assert watching.stdout.readline() == "+ project:c\n"
    assert _end(watching)[:2] == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("watching", [[]], indirect=True)
def test_watching_tells_people_once_what_is_skipped(watching: subprocess.Popen[str], root: Path, active: Path) -> None:
    assert _next_for_people(watching).startswith(f"{active}: 2 copied, 0 unchanged, 0 removed, 0 skipped, in ")
    assert _next_for_people(watching) == _BEGUN
    for name in ("c", "d"):
        aside = write_skill(root.parent, name)
        (aside / "odd").symlink_to("/etc")
        aside.rename(root / name)
        assert _next_for_people(watching) == f"! project:{name}: the link odd leads out of the skill [link-escape]\n"
        assert _next_for_people(watching).startswith(f"{active}: 0 copied, 2 unchanged, 0 removed, ")
    status, _, rest = _end(watching)
    assert (status, rest) == (0, "")


@pytest.mark.slow
@pytest.mark.requirement("R73", "K5")
def test_watching_goes_on_after_a_failure_and_tells_it_once(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "a", files={"guide.md": "Do it.\n"})
    with small_disk(home.prowess, size="4m") as disk, _watch(root, "--json") as watching:
        assert _next(watching)["copied"] == ["project:a"]
        said = _BEGUN
        for text in ("Do more.\n", "Do even more.\n"):  # When it comes again, it is told again.
            _remount(disk, f"nr_inodes={_used_inodes(disk)}")
            _replace(root / "a" / "guide.md", text)
            error = _next(watching)["error"]
            assert error["code"] == "disk-failed"
            assert "No space left on device" in error["message"]
            said += f"error: {error['message']}\nhint: {error['hint']}\n"
            _wait_for_more_rounds(watching)
            _remount(disk, "nr_inodes=1000")
            assert _next(watching)["copied"] == ["project:a"]
        assert _end(watching) == (0, "", said)


@pytest.mark.slow
def test_watching_begins_although_the_first_sync_fails(root: Path, active: Path) -> None:
    active.parent.mkdir(parents=True)
    active.symlink_to(root)
    with _watch(root) as watching:
        assert _next_for_people(watching).startswith("error: ")
        assert _next_for_people(watching).startswith("hint: ")
        assert _next_for_people(watching) == _BEGUN
        active.unlink()
        assert _next_for_people(watching).startswith(f"{active}: 2 copied, ")
        assert _end(watching) == (0, "+ project:a\n+ project:b\n", "")


def _used_inodes(disk: Path) -> int:
    status = os.statvfs(disk)
    return status.f_files - status.f_ffree


def _remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)


def _wait_for_more_rounds(watching: subprocess.Popen[str]) -> None:
    """Wait until the process has gone to sleep some more times, as it does after each try."""

    def count() -> int:
        lines = Path(f"/proc/{watching.pid}/status").read_text().splitlines()
        return int(dict(line.split(":", 1) for line in lines)["voluntary_ctxt_switches"])

    enough = count() + 20
    while count() < enough:
        time.sleep(0.01)
