"""`--skills`: a folder that is not there is told by every command, and costs no copies."""

import os
from pathlib import Path

import pytest

from tests.copies.parts import names
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call, run


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings("[copies]\ndurable = false\n")
    return write_skill(home.project / "skills", "alpha").parent


@pytest.mark.requirement("R27", "R81")
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("why", "alpha"),
        ("prompt",),
        ("search", "alpha"),
        ("mounts",),
        ("sync",),
        ("doctor",),
        ("list", "--json"),
        ("sync", "--json"),
    ],
    ids=" ".join,
)
def test_missing_folder_is_told_once_whatever_is_asked(home: Home, root: Path, command: tuple[str, ...]) -> None:
    outcome = call("--skills", "typo", *command)
    message = f"warning: no such folder: {home.project}/typo [source-missing]"
    assert outcome.stderr.count(message) == 1


@pytest.mark.requirement("R81")
def test_mistyped_folder_costs_no_copies(home: Home, root: Path) -> None:
    active = home.prowess / "users" / "local" / "skills" / "active"
    call("--skills", str(root), "sync")
    report = call("--skills", "typo", "sync", "--json").json
    assert (report["copied"], report["removed"]) == ([], [])
    assert [(one["id"], one["problem"]["code"]) for one in report["skipped"]] == [("project:alpha", "source-missing")]
    assert names(active) == {"project--alpha"}


def test_why_of_an_unknown_skill_names_the_missing_folder(home: Home, root: Path) -> None:
    reasons = call("--skills", "typo", "why", "alpha", "--json").json["reasons"]
    assert [reason["code"] for reason in reasons] == ["not-found", "source-missing"]


def test_doctor_names_the_missing_folder(home: Home, root: Path) -> None:
    rows = call("--skills", "typo", "--skills", str(root), "doctor", "--json").json
    told = [(row["works"], row["detail"]) for row in rows["checks"] if row["check"] == "source project"]
    assert told == [(False, f"no such folder: {home.project}/typo"), (True, f"{root}: 1 skills")]


def test_folder_that_is_an_empty_text_is_wrong_usage(home: Home, root: Path) -> None:
    """As of a variable that is not set: it would be the working folder."""
    for command in (("list",), ("sync",), ("--json", "activate", "alpha")):
        outcome = run("--skills", "", *command)
        assert outcome.status == 2
        assert "a folder of skills is given as an empty text" in outcome.stderr


def test_file_in_place_of_a_folder_is_told_as_one(home: Home, root: Path) -> None:
    file = root / "alpha" / "SKILL.md"
    outcome = call("--skills", str(file), "list", "--json")
    (problem,) = outcome.json["problems"]
    assert problem["code"] == "source-unreadable"
    assert problem["message"] == f"{file} is a file, and no folder"
    assert problem["remedy"] == "give the folder that the skills are in"
    assert problem["message"] in outcome.stderr


@pytest.mark.requirement("K7", "J5")
@pytest.mark.parametrize(("fault", "code"), [("link", "link-escape"), ("pipe", "not-a-file")])
def test_what_keeps_a_skill_from_being_copied_is_told_wherever_somebody_asks(
    home: Home, root: Path, fault: str, code: str
) -> None:
    odd = root / "alpha" / "odd"
    _ = odd.symlink_to("/etc/passwd") if fault == "link" else os.mkfifo(odd)
    (skipped,) = call("--skills", str(root), "sync", "--json").json["skipped"]
    assert skipped["problem"]["code"] == code
    reasons = call("--skills", str(root), "why", "alpha", "--json").json["reasons"]
    assert reasons[0]["code"] == "visible"
    assert {"code": code, "message": skipped["problem"]["message"], "remedy": skipped["problem"]["remedy"]} in reasons
    assert code in [
        problem["code"] for problem in call("--skills", str(root), "show", "alpha", "--json").json["problems"]
    ]
    activated = call("--skills", str(root), "activate", "alpha", "--json")
    assert (activated.json["digest"], activated.json["base_directory"]) == (None, None)
    assert f"[{code}]" in activated.stderr
