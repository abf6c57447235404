"""`prowess sessions` and `prowess usage`: what is remembered of activations, and that it is names and numbers only."""

import re
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.receipts import AskedBy, RunReceipt
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_RECEIPT = {
    "id",
    "user",
    "session",
    "skill",
    "name",
    "digest",
    "asked_by",
    "agent",
    "trigger",
    "arguments",
    "consent",
    "size_bytes",
    "tokens",
    "at",
    "in_context",
    "ended_at",
}
_SILENT = {"title": None, "model": None, "turns": 0}
"""What there is to say of the conversation in a session that has none."""


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    write_skill(folder, "a", body="The body of a, 4d1f.\n")
    write_skill(folder, "b", body="The body of b, 4d1f.\n")
    return folder


def _activate(root: Path, name: str, *arguments: str) -> Outcome:
    return call("--skills", str(root), "activate", name, "--json", *arguments)


def _sessions() -> list[dict[str, Any]]:
    return call("sessions", "--json").json["sessions"]


# sessions


def test_no_session_is_no_row(home: Home) -> None:
    assert call("sessions", "--json").json == {"sessions": []}
    outcome = call("sessions")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "No sessions yet.\n")


@pytest.mark.requirement("R92", "K6")
def test_session_is_listed_with_the_names_of_what_is_active(root: Path) -> None:
    _activate(root, "b", "--session", "monday")
    _activate(root, "a", "--session", "monday")
    _activate(root, "a", "--session", "tuesday", "--agent", "reviewer")
    rows = {row["id"]: row for row in _sessions()}
    for row in rows.values():
        assert _MOMENT.fullmatch(row.pop("created_at"))
        assert _MOMENT.fullmatch(row.pop("used_at"))
    assert rows == {
        "monday": {"id": "monday", "agent": None, "active": ["b", "a"], **_SILENT},
        "tuesday": {"id": "tuesday", "agent": "reviewer", "active": ["a"], **_SILENT},
    }


@pytest.mark.requirement("R92")
def test_session_without_an_id_is_not_remembered(root: Path) -> None:
    _activate(root, "a")
    assert _sessions() == []


@pytest.mark.requirement("R91")
def test_task_of_a_profile_is_over_with_its_process(root: Path) -> None:
    call("--skills", str(root), "--profile", "workspace", "activate", "a", "--session", "task-1")
    assert _sessions() == []


@pytest.mark.requirement("K6")
def test_receipts_of_a_session_are_shown_newest_first(root: Path) -> None:
    receipts = [_activate(root, name, "--session", "monday").json["receipt"] for name in ("a", "b")]
    found = call("sessions", "monday", "--json").json
    assert (list(found), found["id"]) == (["id", "receipts", "runs", "turns"], "monday")
    assert (found["runs"], found["turns"]) == ([], [])
    assert sorted(found["receipts"], key=lambda receipt: receipt["name"]) == receipts
    assert all(set(receipt) == _RECEIPT for receipt in found["receipts"])


def _record_runs(root: Path, *runs: tuple[str, float | None, int | None, bool]) -> None:
    """Record a run in the session monday for each: its script, when it ended, with what status, at its time limit."""
    with Runtime(load_settings(), skills=[root]) as runtime, runtime.session("monday") as session:
        session.prompt()  # So that there is such a session.
        for number, (script, ended_at, status, timed_out) in enumerate(runs):
            runtime.store.record_run(
                RunReceipt(
                    f"{number:032x}",
                    runtime.settings.place.user,
                    "monday",
                    "project:a",
                    "a",
                    "d" * 64,
                    script,
                    "--form 'a b'",
                    AskedBy.MODEL,
                    consent="always",
                    backend="bubblewrap",
                    powers=("network", "secret:TOKEN"),
                    at=1_767_225_600.0 + number,
                    ended_at=ended_at,
                    exit_status=status,
                    timed_out=timed_out,
                    seconds=0.0 if ended_at is None else 1.25,
                    stdout_bytes=12,
                    stderr_bytes=3,
                    output_files=1,
                    output_bytes=99,
                )
            )


@pytest.mark.requirement("K6")
def test_runs_of_a_session_are_shown_with_all_that_is_known_of_them(root: Path) -> None:
    _record_runs(root, ("scripts/a.py", 1_767_225_602.0, 3, False))
    found = call("sessions", "monday", "--json").json
    assert (found["id"], found["receipts"]) == ("monday", [])
    assert found["runs"] == [
        {
            "id": f"{0:032x}",
            "user": "local",
            "session": "monday",
            "skill": "project:a",
            "name": "a",
            "digest": "d" * 64,
            "script": "scripts/a.py",
            "arguments": "--form 'a b'",
            "asked_by": "model",
            "agent": "",
            "consent": "always",
            "backend": "bubblewrap",
            "powers": ["network", "secret:TOKEN"],
            "at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T00:00:02Z",
            "exit_status": 3,
            "timed_out": False,
            "seconds": 1.25,
            "stdout_bytes": 12,
            "stderr_bytes": 3,
            "output_files": 1,
            "output_bytes": 99,
        }
    ]


@pytest.mark.requirement("K6")
def test_people_get_a_line_for_each_run_newest_first(root: Path) -> None:
    _record_runs(
        root,
        ("scripts/good.py", 1_767_225_602.0, 0, False),
        ("scripts/bad.py", 1_767_225_602.0, 3, False),
        ("scripts/slow.py", 1_767_225_602.0, 137, True),
        ("scripts/never.py", 1_767_225_602.0, None, False),
        ("scripts/now.py", None, None, False),
    )
    lines = [line.split("\t") for line in call("sessions", "monday").stdout.splitlines()]
    assert lines == [
        ["2026-01-01T00:00:04Z", "a", "scripts/now.py", "always", "running", "0.00 s"],
        ["2026-01-01T00:00:03Z", "a", "scripts/never.py", "always", "not started", "1.25 s"],
        ["2026-01-01T00:00:02Z", "a", "scripts/slow.py", "always", "timed out", "1.25 s"],
        ["2026-01-01T00:00:01Z", "a", "scripts/bad.py", "always", "3", "1.25 s"],
        ["2026-01-01T00:00:00Z", "a", "scripts/good.py", "always", "0", "1.25 s"],
    ]


@pytest.mark.requirement("K6")
def test_activations_come_before_runs(root: Path) -> None:
    _record_runs(root, ("scripts/a.py", 1_767_225_602.0, 0, False))
    _activate(root, "b", "--session", "monday")
    assert [line.split("\t")[1] for line in call("sessions", "monday").stdout.splitlines()] == ["b", "a"]


@pytest.mark.requirement("K6", "R92")
def test_ended_session_is_forgotten_and_its_receipts_stay(root: Path) -> None:
    _activate(root, "a", "--session", "monday")
    _activate(root, "a", "--session", "tuesday")
    assert call("sessions", "--end", "monday", "--json").json == {"id": "monday", "ended": True}
    assert [row["id"] for row in _sessions()] == ["tuesday"]
    (receipt,) = call("sessions", "monday", "--json").json["receipts"]
    assert _MOMENT.fullmatch(receipt["ended_at"])
    assert _activate(root, "a", "--session", "monday").json["already_active"] is False


@pytest.mark.slow
@pytest.mark.requirement("R92")
def test_other_process_can_end_a_session(root: Path) -> None:
    _activate(root, "a", "--session", "monday")
    outcome = run("sessions", "--end", "monday")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "session monday is ended\n", "")
    assert _sessions() == []


@pytest.mark.parametrize("arguments", [["nope"], ["--end", "nope"], ["--forget", "nope"]])
def test_unknown_session_is_a_no(home: Home, arguments: list[str]) -> None:
    with pytest.raises(NotFound) as caught:
        call("sessions", *arguments)
    assert (caught.value.code, caught.value.message) == ("unknown-session", "no session 'nope'")
    assert caught.value.hint == "`prowess sessions` shows all"


def test_people_get_a_line_with_tabs_for_each(root: Path) -> None:
    _activate(root, "a", "--session", "monday", "--agent", "x")
    _activate(root, "b", "--session", "monday")
    (line,) = call("sessions").stdout.splitlines()
    cells = line.split("\t")
    assert (cells[0], cells[2:]) == ("monday", ["x", "a, b", "0", ""])
    lines = [line.split("\t") for line in call("sessions", "monday").stdout.splitlines()]
    assert sorted(row[1:4] + row[5:] for row in lines) == [
        ["a", "user", "trusted", "active"],
        ["b", "user", "trusted", "active"],
    ]
    assert all(int(row[4]) > 0 for row in lines)


@pytest.mark.requirement("R92")
def test_bodies_are_nowhere_in_what_is_remembered(root: Path, home: Home) -> None:
    _activate(root, "a", "--session", "monday")
    written = b"".join(file.read_bytes() for file in home.prowess.glob("state.db*"))
    assert b"project:a" in written
    assert b"4d1f" not in written


def test_sessions_belong_to_one_user(root: Path, home: Home) -> None:
    _activate(root, "a", "--session", "monday")
    home.write_settings('user = "anna"\n')
    assert _sessions() == []
    assert _activate(root, "a", "--session", "monday").json["already_active"] is False


# usage


def test_nothing_used_is_no_row(home: Home) -> None:
    assert call("usage", "--json").json == {"sessions": 0, "skills": [], "models": []}
    outcome = call("usage")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "No skill was used yet.\n")


@pytest.mark.requirement("K6", "R124")
def test_usage_counts_sessions_and_skills(root: Path) -> None:
    """RC21."""
    receipts = [_activate(root, *words).json["receipt"] for words in (["a", "--session", "1"], ["b", "--session", "1"])]
    _activate(root, "a", "--session", "2")
    _activate(root, "a", "--session", "2")
    found = call("usage", "--json").json
    assert found["sessions"] == 2
    assert all(_MOMENT.fullmatch(row.pop("last_used_at")) for row in found["skills"])
    assert found["skills"] == [
        {
            "name": "a",
            "id": "project:a",
            "activations": 2,
            "sessions": 2,
            "tokens": 2 * receipts[0]["tokens"],
            "runs": 0,
        },
        {"name": "b", "id": "project:b", "activations": 1, "sessions": 1, "tokens": receipts[1]["tokens"], "runs": 0},
    ]


@pytest.mark.requirement("K6")
def test_usage_outlives_its_sessions(root: Path) -> None:
    _activate(root, "a")
    _activate(root, "a", "--session", "1")
    call("sessions", "--end", "1")
    assert [(row["name"], row["activations"]) for row in call("usage", "--json").json["skills"]] == [("a", 2)]
    assert call("usage", "--days", "7", "--json").json == call("usage", "--json").json


def test_people_get_a_line_of_usage_for_each_skill(root: Path) -> None:
    tokens = _activate(root, "a", "--session", "1").json["receipt"]["tokens"]
    (line,) = call("usage").stdout.splitlines()
    cells = line.split("\t")
    assert cells[:5] == ["a", "1", "1", str(tokens), "0"]
    assert _MOMENT.fullmatch(cells[5])


@pytest.mark.requirement("K6")
def test_usage_counts_runs_too(root: Path) -> None:
    tokens = _activate(root, "a", "--session", "1").json["receipt"]["tokens"]
    with Runtime(load_settings()) as runtime:
        user = runtime.settings.place.user
        for number, name in enumerate("aab"):
            run = RunReceipt(f"x{number}", user, "1", f"project:{name}", name, "d", "run.sh", "", AskedBy.USER)
            runtime.store.record_run(run)
    keys = ("name", "activations", "sessions", "tokens", "runs")
    rows = [[row[key] for key in keys] for row in call("usage", "--json").json["skills"]]
    assert rows == [["a", 1, 1, tokens, 2], ["b", 0, 0, 0, 1]]
    cells = [line.split("\t")[:5] for line in call("usage").stdout.splitlines()]
    assert cells == [[str(cell) for cell in row] for row in rows]
