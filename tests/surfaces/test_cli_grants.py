"""`prowess grants`: what was agreed to and refused, and how that is changed."""

import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from prowess.errors import NotFound, SettingsError
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call, run, run_on_terminal

pytestmark = pytest.mark.slow

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.path / ".agents" / "skills"
    write_skill(folder, "alpha", files={"a.txt": "x"})
    write_skill(folder, "a-skill-with-quite-a-long-name")
    return folder


def _rows() -> list[dict[str, Any]]:
    return call("grants", "--json").json["grants"]


def test_nothing_is_decided_at_first(home: Home) -> None:
    assert call("grants", "--json").json == {"grants": []}
    outcome = call("grants")
    assert (outcome.status, outcome.stdout) == (0, "")
    assert outcome.stderr == "Nothing was agreed to or refused yet.\n"


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(("option", "decision"), [("--allow", "allow"), ("--refuse", "refuse")])
@pytest.mark.parametrize("session", [None, "monday"])
def test_decision_is_answered_and_listed_as_one_row(
    root: Path, option: str, decision: str, session: str | None
) -> None:
    more = ["--session", session] if session else []
    answer = call("grants", option, "alpha", *more, "--json").json
    assert list(answer) == ["grant"]
    assert [answer["grant"]] == _rows()
    row = answer["grant"]
    assert _MOMENT.fullmatch(row.pop("at"))
    assert row == {
        "name": "alpha",
        "skill": "agents:alpha",
        "digest": call("show", "alpha", "--json").json["digest"],
        "decision": decision,
        "act": "use",
        "powers": [],
        "scope": "session" if session else "always",
        "session": session,
        "given_by": "command",
        "files": 2,
        "current": True,
    }


@pytest.mark.requirement("K1", "R97")
@pytest.mark.parametrize(("option", "decision"), [("--allow", "allow"), ("--refuse", "refuse")])
@pytest.mark.parametrize("session", [None, "monday"])
def test_decision_on_running_is_a_row_of_its_own(root: Path, option: str, decision: str, session: str | None) -> None:
    more = ["--session", session] if session else []
    answer = call("grants", option, "alpha", "--run", *more, "--json").json
    assert [answer["grant"]] == _rows()
    row = answer["grant"]
    assert _MOMENT.fullmatch(row.pop("at"))
    assert row == {
        "name": "alpha",
        "skill": "agents:alpha",
        "digest": call("show", "alpha", "--json").json["digest"],
        "decision": decision,
        "act": "run",
        "powers": [],
        "scope": "session" if session else "always",
        "session": session,
        "given_by": "command",
        "files": 2,
        "current": True,
    }


@pytest.mark.requirement("K1")
def test_decision_that_was_taken_back_on_a_skill_that_is_gone_is_not_taken_for_a_slip(root: Path) -> None:
    write_skill(root, "usr")
    write_skill(root, "u")
    call("grants", "--allow", "usr")
    shutil.rmtree(root / "usr")
    assert call("grants", "--revoke", "agents:usr", "--json").json == {"revoked": 1}
    with pytest.raises(NotFound) as caught:
        call("grants", "--revoke", "agents:usr")
    error = caught.value
    assert error.code == "unknown-skill"
    assert error.message == "nothing was decided on 'agents:usr', and there is no skill of this name"
    assert error.hint.endswith("`prowess grants` shows what was decided")


@pytest.mark.requirement("K7")
def test_name_in_large_letters_is_recognised(root: Path) -> None:
    (reason,) = call("why", "ALPHA", "--json").json["reasons"]
    assert reason["remedy"].startswith("did you mean 'alpha'")


@pytest.mark.requirement("K1", "R97")
def test_to_use_a_skill_and_to_run_it_are_decided_apart(root: Path) -> None:
    call("grants", "--allow", "alpha", "--run")
    call("grants", "--refuse", "alpha")
    assert sorted((row["act"], row["decision"]) for row in _rows()) == [("run", "allow"), ("use", "refuse")]
    call("grants", "--allow", "alpha")
    call("grants", "--refuse", "alpha", "--run")
    assert sorted((row["act"], row["decision"]) for row in _rows()) == [("run", "refuse"), ("use", "allow")]
    assert call("grants", "--revoke", "alpha", "--json").json == {"revoked": 2}


@pytest.mark.requirement("K2")
def test_powers_are_kept_sorted_and_each_once(root: Path) -> None:
    powers = ["--power", "secret:TOKEN", "--power", "network", "--power", "network"]
    answer = call("grants", "--allow", "alpha", "--run", *powers, "--json").json
    assert answer["grant"]["powers"] == ["network", "secret:TOKEN"]
    assert _rows() == [answer["grant"]]


@pytest.mark.requirement("K2")
def test_later_consent_adds_powers_and_a_refusal_takes_all_of_them(root: Path) -> None:
    call("grants", "--allow", "alpha", "--run", "--power", "network")
    call("grants", "--allow", "alpha", "--run", "--power", "secret:TOKEN")
    assert [row["powers"] for row in _rows()] == [["network", "secret:TOKEN"]]
    call("grants", "--refuse", "alpha", "--run")
    assert [(row["decision"], row["powers"]) for row in _rows()] == [("refuse", [])]
    call("grants", "--allow", "alpha", "--run")
    assert [(row["decision"], row["powers"]) for row in _rows()] == [("allow", [])]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--run"], "--session and --run go with --allow or --refuse"),
        (["--revoke", "alpha", "--run"], "--session and --run go with --allow or --refuse"),
        (["--allow", "alpha", "--power", "network"], "--power goes with --allow and --run"),
        (["--power", "network"], "--power goes with --allow and --run"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_wrong_usage(root: Path, arguments: list[str], complaint: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        call("grants", *arguments)
    assert caught.value.message == complaint
    assert _rows() == []


@pytest.mark.requirement("K1")
def test_rows_say_whether_the_skill_is_still_as_it_was(root: Path) -> None:
    call("grants", "--allow", "alpha")
    (root / "alpha" / "a.txt").write_text("y")
    assert [row["current"] for row in _rows()] == [False]
    call("grants", "--refuse", "alpha")
    assert [(row["decision"], row["current"]) for row in _rows()] == [("refuse", True), ("allow", False)]
    (root / "alpha" / "SKILL.md").unlink()
    assert [row["current"] for row in _rows()] == [None, None]
    assert "\tnot found here\t" in call("grants").stdout


def test_empty_name_is_no_skill(root: Path) -> None:
    for option in ("--allow", "--refuse", "--revoke"):
        with pytest.raises(NotFound):
            call("grants", option, "")


def test_decision_for_a_task_is_refused(root: Path) -> None:
    """It would be gone with this process."""
    with pytest.raises(SettingsError, match="cannot be kept for a task"):
        call("--profile", "daycare", "grants", "--allow", "scheduling", "--session", "monday")


def test_people_read_what_was_decided(root: Path) -> None:
    digest = call("show", "alpha", "--json").json["digest"][:12]
    assert call("grants", "--allow", "alpha").stdout == f"alpha is agreed to, as it is now ({digest})\n"
    refused = call("grants", "--refuse", "alpha", "--session", "monday").stdout
    assert refused == f"alpha is refused in session monday, as it is now ({digest})\n"
    assert call("grants", "--revoke", "alpha").stdout == "2 decisions forgotten\n"
    assert call("grants", "--revoke", "alpha").stdout == "0 decisions forgotten\n"
    call("grants", "--allow", "alpha")
    assert call("grants", "--revoke-all").stdout == "1 decision forgotten\n"


def test_people_read_what_was_decided_on_running(root: Path) -> None:
    digest = call("show", "alpha", "--json").json["digest"][:12]
    plain = call("grants", "--allow", "alpha", "--run").stdout
    assert plain == f"alpha is agreed to for running its scripts, as it is now ({digest})\n"
    powers = ["--power", "secret:TOKEN", "--power", "network"]
    more = call("grants", "--allow", "alpha", "--run", *powers, "--session", "monday").stdout
    with_powers = "for running its scripts with network, secret:TOKEN in session monday"
    assert more == f"alpha is agreed to {with_powers}, as it is now ({digest})\n"
    refused = call("grants", "--refuse", "alpha", "--run").stdout
    assert refused == f"alpha is refused for running its scripts, as it is now ({digest})\n"


def test_people_get_a_line_with_tabs_for_each(root: Path) -> None:
    call("grants", "--allow", "a-skill-with-quite-a-long-name")
    call("grants", "--refuse", "alpha", "--session", "monday")
    call("grants", "--allow", "alpha", "--run", "--power", "secret:TOKEN", "--power", "network")
    (root / "alpha" / "a.txt").unlink()
    rows = [line.split("\t") for line in call("grants").stdout.splitlines()]
    assert sorted(row[:5] for row in rows) == [
        ["a-skill-with-quite-a-long-name", "allow", "use", "always", "as it is now"],
        ["alpha", "allow", "run network secret:TOKEN", "always", "changed since"],
        ["alpha", "refuse", "use", "session monday", "changed since"],
    ]
    assert all(_MOMENT.fullmatch(row[5]) and re.fullmatch(r"[0-9a-f]{12}", row[6]) for row in rows)


@pytest.mark.slow
def test_people_get_a_table_on_a_terminal(root: Path) -> None:
    call("grants", "--allow", "alpha")
    heading = re.sub(r"\x1b\[[0-9;]*m", "", run_on_terminal(["grants"]).stdout).splitlines()[0]
    assert heading.split() == ["NAME", "DECISION", "TO", "SCOPE", "FILES", "WHEN", "DIGEST"]


def test_decision_on_a_skill_that_is_gone_can_be_revoked(root: Path) -> None:
    call("grants", "--allow", "alpha")
    (root / "alpha" / "SKILL.md").unlink()
    assert call("grants", "--revoke", "alpha", "--json").json == {"revoked": 1}


def test_revoking_leaves_other_skills_alone(root: Path) -> None:
    call("grants", "--allow", "alpha")
    call("grants", "--allow", "a-skill-with-quite-a-long-name")
    call("grants", "--revoke", "alpha")
    assert [row["name"] for row in _rows()] == ["a-skill-with-quite-a-long-name"]


@pytest.mark.parametrize("option", ["--allow", "--refuse", "--revoke"])
def test_unknown_skill_is_refused_with_what_was_meant(root: Path, option: str) -> None:
    with pytest.raises(NotFound) as caught:
        call("grants", option, "alpah")
    assert caught.value.code == "unknown-skill"
    assert caught.value.hint.startswith("did you mean 'alpha'?")
    assert _rows() == []


def test_decisions_belong_to_one_user(home: Home, root: Path) -> None:
    call("grants", "--allow", "alpha")
    home.write_settings('user = "anna"\n')
    assert _rows() == []


def test_power_that_does_not_exist_is_not_granted(home: Home) -> None:
    outcome = run("--json", "grants", "--allow", "repo-survey", "--run", "--power", "newtork")
    assert (outcome.status, outcome.json["error"]["code"]) == (2, "bad-power")
    assert "network, workspace:read:FOLDER" in outcome.json["error"]["hint"]
    assert call("--json", "grants").json == {"grants": []}
