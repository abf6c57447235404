"""`prowess sync`: the copies that sandboxes see."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import SettingsError, WorldError
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
    arguments = ["--skills", str(root), "sync", "--watch", "--interval", "0.05", *request.param]
    process = subprocess.Popen(
        [PROWESS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.requirement("R73", "R36")
@pytest.mark.parametrize("watching", [["--json"]], indirect=True)
def test_watching_tells_of_each_change_in_a_line(watching: subprocess.Popen[str], root: Path, active: Path) -> None:
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())
    assert first["copied"] == ["project:a", "project:b"]
    (root / "a" / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    assert json.loads(watching.stdout.readline())["copied"] == ["project:a"]
    assert contents(active / "project--a") == contents(root / "a")
    shutil.rmtree(root / "b")
    assert json.loads(watching.stdout.readline())["removed"] == ["project:b"]
    watching.send_signal(signal.SIGINT)
    rest, complaints = watching.communicate(timeout=30)
    assert (watching.returncode, rest, complaints) == (0, "", "Watching. Ctrl-C ends it.\n")


@pytest.mark.slow
@pytest.mark.parametrize("watching", [[]], indirect=True)
def test_watching_tells_people_at_once(watching: subprocess.Popen[str], root: Path) -> None:
    assert watching.stdout is not None
    assert [watching.stdout.readline() for _ in range(2)] == ["+ project:a\n", "+ project:b\n"]
    write_skill(root, "c")
    assert watching.stdout.readline() == "+ project:c\n"
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=30)
    assert watching.returncode == 0
