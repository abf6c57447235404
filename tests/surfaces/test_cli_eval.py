"""`prowess eval`: trigger tests as a table, as JSON and as annotations, with a status that CI can go by."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.agent.openai_server import Reply, ScriptedServer, say
from tests.agent.openai_server import call as choose
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run, run_on_terminal

_PDF = "should: [Fill in this PDF, zebra]\nshould_not: [draw a form]\n"


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    write_skill(
        folder,
        "pdf-fill",
        description="Fills in PDF forms. Use when a form is to be completed.",
        files={"evals/triggers.yaml": _PDF},
    )
    write_skill(
        folder,
        "calendar",
        description="Plans appointments and meetings.",
        files={"evals/eval_queries.json": '[{"query": "plan a meeting", "should_trigger": true}]'},
    )
    write_skill(folder, "translate", description="Translates texts between languages.")
    return folder


def _eval(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "eval", *arguments)


@pytest.mark.requirement("K12")
def test_people_get_a_row_for_each_skill_and_one_for_all(root: Path) -> None:
    outcome = _eval(root)
    assert outcome.status == 0
    assert outcome.stdout.splitlines() == [
        "calendar\t1\t1.00\t1.00\t1.00\t1.00\t0\t-",
        "pdf-fill\t2\t0.50\t0.50\t0.50\t1.00\t1\t1.00",
        "all\t3\t0.67\t0.67\t0.67\t1.00\t1\t1.00",
    ]
    assert outcome.stderr.splitlines() == [
        "missed: pdf-fill: 'zebra' (not found by the search)",
        "false alarm: pdf-fill: 'draw a form' (first in the search)",
        "2 skills, 4 queries; 1 without tests",
    ]


@pytest.mark.requirement("K12")
def test_json_is_one_document_with_all_of_it(root: Path) -> None:
    outcome = _eval(root, "--json", "--min-recall", "0.8")
    assert (outcome.status, outcome.stderr) == (1, "")
    document = outcome.json
    assert list(document) == ["skills", "catalog", "left_out", "goals", "model", "passed"]
    assert (document["passed"], document["model"], document["left_out"]) == (False, None, [])
    assert document["goals"] == {"min_recall": 0.8, "max_false_alarms": None, "at": 5, "min_planned": None}
    pdf = document["skills"][1]
    assert (pdf["id"], pdf["name"], pdf["passed"]) == ("project:pdf-fill", "pdf-fill", False)
    assert pdf["should"] == {
        "queries": 2,
        "recall": {"1": 0.5, "5": 0.5, "10": 0.5},
        "planner_recall": 1.0,
        "shown": {"full": 2, "shortened": 0, "name_only": 0, "left_out": 0},
        "model_recall": None,
    }
    assert pdf["should_not"] == {
        "queries": 1,
        "false_alarms": 1.0,
        "ranked_first": 1,
        "called": 0,
        "model_false_alarms": None,
    }
    assert pdf["misses"] == [
        {"query": "zebra", "rank": None, "first": None, "shown": "full", "called": False, "chosen": []}
    ]
    assert [one["query"] for one in pdf["false_alarms"]] == ["draw a form"]
    assert [one["code"] for one in pdf["problems"]] == ["trigger-recall-low"]
    assert (document["catalog"]["skills"], document["catalog"]["untested"]) == (2, 1)
    assert document["catalog"]["should"]["recall"]["5"] == 0.6667


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--min-recall", "0.5"], 0),
        (["--min-recall", "0.51"], 1),
        (["--min-planned", "1"], 0),
        (["--min-planned", "1", "--budget", "40"], 1),
        (["--max-false-alarms", "1"], 0),
        (["--max-false-alarms", "0.99"], 1),
        (["calendar", "--min-recall", "1", "--max-false-alarms", "0"], 0),
    ],
)
def test_status_says_whether_every_skill_reaches_the_goals(root: Path, arguments: list[str], status: int) -> None:
    outcome = _eval(root, *arguments)
    assert outcome.status == status
    assert ("[trigger-" in outcome.stdout) == bool(status)


def test_annotations_stand_beside_the_description(root: Path) -> None:
    outcome = _eval(root, "--format", "github", "--min-recall", "1")
    assert outcome.status == 1
    assert outcome.stdout.startswith(f"::warning file={root}/pdf-fill/SKILL.md,line=1,col=1,title=trigger-recall-low::")
    assert len(outcome.stdout.splitlines()) == 1
    assert _eval(root, "--format", "github").stdout == ""
    assert _eval(root, "--format", "json").json == _eval(root, "--json").json


def test_order_of_names_makes_no_difference(root: Path) -> None:
    assert _eval(root, "--json", "pdf-fill", "calendar").json == _eval(root, "--json", "calendar", "pdf-fill").json


def test_depth_that_is_asked_for_has_a_column(root: Path) -> None:
    assert list(_eval(root, "--json", "--at", "3").json["catalog"]["should"]["recall"]) == ["1", "3", "5", "10"]


def test_small_budget_shows_in_what_is_shown(root: Path) -> None:
    shown = _eval(root, "--json", "--budget", "40").json["catalog"]["should"]["shown"]
    assert sum(shown.values()) == 3
    assert shown["full"] < 3


def test_faulty_file_is_told_with_its_place_and_is_a_no(root: Path) -> None:
    (root / "calendar" / "evals" / "eval_queries.json").write_text('[\n{"query": "plan"}]')
    outcome = _eval(root, "calendar")
    assert outcome.status == 1
    assert f"{root}/calendar/evals/eval_queries.json:2:" in outcome.stdout
    assert "[evals-query-invalid]" in outcome.stdout


def test_validate_tells_of_faulty_tests_and_the_skill_stays_valid(root: Path) -> None:
    (root / "pdf-fill" / "evals" / "triggers.yaml").write_text("should: [a]\nshould_not: [a]\n")
    outcome = call("validate", "--strict", "--json", str(root / "pdf-fill"))
    (skill,) = outcome.json["skills"]
    assert (outcome.status, [problem["code"] for problem in skill["problems"]]) == (0, ["evals-contradiction"])


def test_without_any_tests_the_answer_is_no(home: Home) -> None:
    write_skill(home.project / "skills", "translate")
    outcome = _eval(home.project / "skills")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "prowess new NAME --with evals" in outcome.stderr
    assert _eval(home.project / "skills", "--json").json["passed"] is False


def test_hidden_skills_are_named(home: Home, root: Path) -> None:
    call("--skills", str(root), "disable", "calendar")
    assert "project:calendar is left out: it is switched off" in _eval(root).stderr
    assert _eval(root, "--json").json["left_out"] == [{"id": "project:calendar", "reason": "it is switched off"}]


def test_offline_model_can_be_asked(root: Path) -> None:
    outcome = _eval(root, "--model", "offline", "--runs", "2")
    assert outcome.status == 0
    assert outcome.stdout.splitlines()[0].split("\t")[-2:] == ["1.00", "-"]
    assert "Asking offline about 4 queries, 2 times each." in outcome.stderr
    document = _eval(root, "--model", "offline", "--runs", "2", "--json").json
    assert (document["model"]["name"], document["model"]["runs"], document["model"]["cost_usd"]) == ("offline", 2, 0.0)
    assert document["model"]["requests"] >= 8
    assert document["skills"][0]["should"]["model_recall"] == 1.0


@pytest.mark.requirement("K12")
def test_skill_that_the_plan_leaves_out_is_missed_even_if_the_search_finds_it(root: Path) -> None:
    outcome = _eval(root, "--budget", "0", "--min-planned", "0.5", "calendar")
    assert outcome.stdout.splitlines()[0] == "calendar\t1\t1.00\t1.00\t1.00\t0.00\t0\t-"
    assert "planner recall is 0.00, below 0.50; not told with: 'plan a meeting' [trigger-plan-low]" in outcome.stdout
    assert "missed: calendar: 'plan a meeting' (left out of the prompt, first in the search)" in outcome.stderr
    (skill,) = _eval(root, "--json", "--budget", "0", "--min-recall", "1", "calendar").json["skills"]
    assert (skill["should"]["planner_recall"], skill["passed"]) == (0.0, True)
    assert [one["shown"] for one in skill["misses"]] == ["left_out"]


@pytest.mark.requirement("K12")
def test_model_of_the_settings_is_asked_unless_that_is_unwanted(home: Home, root: Path) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        wants = "meeting" in body["messages"][-1]["content"]
        return choose("activate_skill", {"name": "calendar"}) if wants else say("No.")

    with ScriptedServer(answer) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        silent = _eval(root, "--no-model", "--json")
        assert (silent.json["model"], silent.stderr, server.requests) == (None, "", [])
        asked = _eval(root, "--runs", "1", "--json")
    assert asked.stderr.splitlines()[0] == (
        "The settings name the model openai-chat:scripted, so it is asked as well; --no-model leaves it out."
    )
    assert (asked.json["model"]["name"], asked.json["model"]["requests"]) == ("openai-chat:scripted", 4)
    assert [one["should"]["model_recall"] for one in asked.json["skills"]] == [1.0, 0.0]


@pytest.mark.slow
def test_model_of_the_settings_that_cannot_be_asked_is_refused_before_anything_is_measured(
    home: Home, root: Path
) -> None:
    home.write_settings('model = "nobody:nothing"\n')
    outcome = run("--skills", str(root), "eval")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert f"`prowess --skills {root} eval --no-model`" in outcome.stderr
    assert run("--skills", str(root), "eval", "--no-model").status == 0


@pytest.mark.slow
def test_new_makes_an_example_that_passes(home: Home) -> None:
    about = "Fills in PDF forms: all of them. Use when a form is to be completed."
    assert run("new", "pdf-fill", "--dir", "skills", "--with", "evals", "--description", about).status == 0
    assert run("validate", "--strict", "skills").status == 0
    outcome = run("--skills", "skills", "eval", "--min-recall", "1", "--max-false-alarms", "0")
    assert (outcome.status, outcome.stdout.splitlines()[0]) == (0, "pdf-fill\t1\t1.00\t1.00\t1.00\t1.00\t1\t0.00")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nope"], 1, "no skill 'nope'"),
        (["translate"], 1, "ships no trigger tests"),
        (["--min-recall", "2"], 2, "--min-recall"),
        (["--min-recall", "nan"], 2, "give a number from 0 to 1"),
        (["--at", "0"], 2, "--at"),
        (["--runs", "0"], 2, "--runs"),
        (["--model", "nope"], 2, "nope"),
        (["--model", "offline", "--no-model"], 2, "exclude each other"),
        (["--min-planned", "-1"], 2, "--min-planned"),
    ],
)
def test_wrong_usage_says_what_is_wrong(root: Path, arguments: list[str], status: int, said: str) -> None:
    outcome = run("--skills", str(root), "eval", *arguments)
    assert (outcome.status, outcome.stdout) == (status, "")
    assert said in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow
def test_table_on_a_terminal_has_headings(root: Path) -> None:
    outcome = run_on_terminal(["--skills", str(root), "eval"])
    assert "RECALL@5" in outcome.stdout
    assert "FALSE ALARMS" in outcome.stdout


def test_hostile_query_is_printed_harmlessly(root: Path) -> None:
    (root / "calendar" / "evals" / "eval_queries.json").write_text(
        '[{"query": "\\u001b[31mred \\ud800", "should_trigger": true}]'
    )
    outcome = _eval(root, "calendar")
    assert "\x1b" not in outcome.stdout + outcome.stderr
    assert "red" in outcome.stderr
    assert os.linesep in outcome.stderr
