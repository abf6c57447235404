"""`prowess search`: visible skills by what they do, best first."""

from pathlib import Path

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    write_skill(folder, "pdf-fill", description="Fills in PDF forms. Use when a form is to be completed.")
    write_skill(folder, "calendar", description="Plans appointments and meetings.", body="# Recurring events\n")
    write_skill(folder, "translate", description="Translates texts between languages.")
    return folder


def _search(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "search", *arguments)


def test_json_has_rows_with_a_score_best_first(root: Path) -> None:
    outcome = _search(root, "--json", "fill in a PDF form")
    assert (outcome.status, outcome.stderr, list(outcome.json)) == (0, "", ["results"])
    first = outcome.json["results"][0]
    assert first == {
        "name": "pdf-fill",
        "id": "project:pdf-fill",
        "score": first["score"],
        "description": "Fills in PDF forms. Use when a form is to be completed.",
    }
    scores = [row["score"] for row in outcome.json["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    "query",
    [
        ["appointments"],
        ["apointments"],
        ["appoint"],
        ["plan", "a", "meeting"],
        ["recurring"],
        ["calendar"],
        ["CALENDAR"],
    ],
    ids=" ".join,
)
def test_words_beginnings_and_misspellings_are_understood(root: Path, query: list[str]) -> None:
    assert _search(root, "--json", *query).json["results"][0]["name"] == "calendar"


def test_words_may_be_given_one_by_one_or_as_one_text(root: Path) -> None:
    assert _search(root, "--json", "fill", "forms").json == _search(root, "--json", "fill forms").json


def test_no_more_are_shown_than_asked_for(root: Path) -> None:
    for number in range(20):
        write_skill(root, f"form-{number}", description="Fills in forms.")
    assert len(_search(root, "--json", "forms").json["results"]) == 10
    assert len(_search(root, "--json", "--limit", "3", "forms").json["results"]) == 3


@pytest.mark.requirement("R38", "R41")
def test_hidden_skills_are_not_found(home: Home, root: Path) -> None:
    home.write_settings('[agents.one]\nskills = ["translate"]\n')
    assert _search(root, "--json", "--agent", "one", "pdf forms").json == {"results": []}
    call("--skills", str(root), "disable", "pdf-fill")
    assert "pdf-fill" not in _search(root, "--json", "pdf forms").stdout


@pytest.mark.parametrize("query", ["zebra", "", " ", "?!", "\x01", "x" * 10_000])
def test_nothing_found_is_a_no_that_says_what_to_do(root: Path, query: str) -> None:
    outcome = _search(root, query)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr == "No visible skill fits. Try other words; `prowess list` shows all skills.\n"
    as_json = _search(root, "--json", query)
    assert (as_json.status, as_json.json, as_json.stderr) == (1, {"results": []}, "")


def test_people_get_a_line_for_each(root: Path) -> None:
    row = _search(root, "pdf-fill").stdout.splitlines()[0].split("\t")
    assert row == ["pdf-fill", "1.00", "Fills in PDF forms. Use when a form is to be completed."]


@pytest.mark.slow
def test_search_finds_what_was_written_since(root: Path) -> None:
    assert run("--skills", str(root), "search", "sourdough").status == 1
    write_skill(root, "bread", description="Bakes sourdough.")
    assert run("--skills", str(root), "search", "sourdough").stdout.startswith("bread\t")
