"""On a terminal: tables, colours, and a bar for long work; none of it where a program reads."""

import json
import os
import re

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import run, run_on_terminal

pytestmark = pytest.mark.slow  # Most tests start processes, or wait for the clock.

_ESCAPE = "\x1b["


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


def test_list_is_a_table_on_a_terminal(home: Home) -> None:
    write_skill(home.project / "skills", "good", description="Does [bold]this[/bold].")
    outcome = run_on_terminal(["--skills", "skills", "list"])
    heading, row = _plain(outcome.stdout).splitlines()
    assert heading.split() == ["NAME", "ID", "STATE", "DESCRIPTION"]
    assert row.split() == ["good", "project:good", "ok", "Does", "[bold]this[/bold]."]
    assert "\t" not in row
    assert _ESCAPE in outcome.stdout
    assert (outcome.status, outcome.stderr) == (0, "")


def test_list_has_tabs_and_no_colour_where_a_program_reads(home: Home) -> None:
    write_skill(home.project / "skills", "good")
    for outcome in (
        run("--skills", "skills", "list"),
        run_on_terminal(["--skills", "skills", "list"], streams="stderr"),
    ):
        assert outcome.stdout.count("\t") == 3
        assert _ESCAPE not in outcome.stdout + outcome.stderr


def test_problems_are_coloured_on_a_terminal_only(home: Home) -> None:
    write_skill(home.project / "skills", "broken", text="x")
    shown, piped = run_on_terminal(["validate", "skills"]), run("validate", "skills")
    assert shown.status == piped.status == 1
    assert _ESCAPE in shown.stdout
    assert _ESCAPE not in piped.stdout + piped.stderr
    assert _plain(shown.stdout) == piped.stdout


def test_errors_are_coloured_on_a_terminal_only(home: Home) -> None:
    shown = run_on_terminal(["show", "nope"], streams="stderr")
    assert shown.stderr.startswith(_ESCAPE)
    assert _plain(shown.stderr) == run("show", "nope").stderr


def test_json_is_json_on_a_terminal_too(home: Home) -> None:
    outcome = run_on_terminal(["list", "--json"])
    assert _ESCAPE not in outcome.stdout
    assert json.loads(outcome.stdout)["skills"]
    assert outcome.stderr == ""


@pytest.mark.slow
def test_long_work_has_a_bar_on_the_terminal_beside_the_result(home: Home) -> None:
    root = home.project / "skills"
    for number in range(64):
        folder = write_skill(root, f"big-{number}")
        with open(folder / "data", "wb") as file:
            os.truncate(file.fileno(), 48 << 20)  # A hole takes no room, but is hashed like anything else.
    outcome = run_on_terminal(["--skills", "skills", "list", "--json"], streams="stderr")
    assert len(json.loads(outcome.stdout)["skills"]) == 64
    assert "hashing files" in _plain(outcome.stderr)
