"""`prowess prompt` and `prowess why`: what of the catalog fits into the budget, and why not the rest."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from prowess.disclosure.guidance import GUIDANCE
from prowess.policy import PROFILES, ToolSet
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run

_LEVELS = ["full", "shortened", "name_only", "left_out"]
_NAMES = [
    *("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"),
    *("kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango"),
]


@pytest.fixture
def root(home: Home) -> Path:
    """Twenty skills with long descriptions, one of which is about zebras."""
    folder = home.project / "skills"
    for name in _NAMES:
        about = "Feeds zebras" if name == "romeo" else "Does a thing"
        description = f"{about}. " + "Use it when this and that is wanted, as often as you like. " * 4
        write_skill(folder, name, description=description.strip())
    return folder


def _prompt(root: Path, *arguments: str) -> dict[str, Any]:
    outcome = call("--skills", str(root), "prompt", "--json", *arguments)
    assert (outcome.status, outcome.stderr) == (0, "")
    return outcome.json


def _why(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "why", "--json", *arguments)


def _codes(outcome: Outcome) -> list[str]:
    assert all(set(reason) == {"code", "message", "remedy"} for reason in outcome.json["reasons"])
    return [reason["code"] for reason in outcome.json["reasons"]]


# prompt


@pytest.mark.requirement("K4")
def test_prompt_has_text_tokens_and_a_report_with_reasons(root: Path) -> None:
    found = _prompt(root, "--budget", "20000")
    assert list(found) == ["text", "tokens", "report"]
    assert found["report"] == {
        "full": _NAMES,
        "shortened": [],
        "name_only": [],
        "left_out": [],
        "reasons": {f"project:{name}": "fits" for name in _NAMES},
        "budget": 20_000,
    }


@pytest.mark.requirement("K4")
@pytest.mark.parametrize("form", ["xml", "json", "markdown"])
@pytest.mark.parametrize("budget", [0, 40, 100, 150, 300, 500, 1_000, 1_500])
def test_prompt_stays_within_the_budget_and_accounts_for_every_skill(root: Path, form: str, budget: int) -> None:
    found = _prompt(root, "--budget", str(budget), "--format", form)
    report = found["report"]
    assert found["tokens"] <= budget == report["budget"]
    assert (found["tokens"] == 0) == (found["text"] == "")
    assert sorted(name for level in _LEVELS for name in report[level]) == _NAMES
    assert sorted(report["reasons"]) == [f"project:{name}" for name in _NAMES]
    for level in ("shortened", "name_only", "left_out"):
        assert {report["reasons"][f"project:{name}"] for name in report[level]} <= {"over-budget"}
    shown = [name for name in _NAMES if name in found["text"]]
    assert shown == sorted({*report["full"], *report["shortened"], *report["name_only"]})


@pytest.mark.requirement("K4")
def test_less_room_shortens_then_names_then_leaves_out(root: Path) -> None:
    levels = {
        budget: [level for level in _LEVELS if _prompt(root, "--budget", budget)["report"][level]]
        for budget in ("1000", "150")
    }
    assert levels == {"1000": ["shortened"], "150": ["name_only", "left_out"]}


@pytest.mark.requirement("K4")
def test_query_brings_the_skill_that_fits_to_the_front(root: Path) -> None:
    without, found = _prompt(root, "--budget", "250"), _prompt(root, "--budget", "250", "--query", "feed the zebras")
    assert "romeo" in without["report"]["left_out"] + without["report"]["name_only"]
    assert found["report"]["full"] == ["romeo"]
    assert found["report"]["reasons"]["project:romeo"] == "relevant"
    assert "Feeds zebras" in found["text"]


@pytest.mark.requirement("K4")
@pytest.mark.parametrize("way", ["pin", "mention", "use"])
def test_pins_mentions_and_use_bring_a_skill_to_the_front(home: Home, root: Path, way: str) -> None:
    query: list[str] = []
    if way == "pin":
        home.write_settings('[prompt]\npins = ["romeo"]\n')
    elif way == "mention":
        query = ["--query", "/romeo now"]
    else:
        call("--skills", str(root), "activate", "romeo")
    reasons = {"pin": "pinned", "mention": "mentioned", "use": "recent"}
    report = _prompt(root, "--budget", "250", *query)["report"]
    assert (report["full"], report["reasons"]["project:romeo"]) == (["romeo"], reasons[way])


@pytest.mark.requirement("K4")
def test_budget_of_the_settings_holds_where_none_is_given(home: Home, root: Path) -> None:
    assert _prompt(root)["report"]["budget"] == 2_000
    home.write_settings("[prompt]\ncontext_window = 1000000\n")
    assert _prompt(root)["report"]["budget"] == 10_000
    home.write_settings("[prompt]\nbudget_tokens = 300\n")
    assert _prompt(root)["report"]["budget"] == 300


@pytest.mark.requirement("K4")
def test_tokens_can_be_counted_exactly(home: Home, root: Path) -> None:
    estimated = _prompt(root, "--budget", "300")["tokens"]
    home.write_settings('[prompt]\ncounting = "tiktoken"\n')
    counted = _prompt(root, "--budget", "300")
    assert counted["tokens"] <= 300
    assert estimated <= 300
    assert counted == _prompt(root, "--budget", "300")


@pytest.mark.requirement("R48", "R49")
@pytest.mark.parametrize("profile", ["standard", "daycare", "workspace", "remcochat"])
def test_full_prompt_has_the_guidance_of_the_profile_before_the_catalog(root: Path, profile: str) -> None:
    options = ["--skills", str(root), "--profile", profile, "--config", "on.toml", "prompt", "--budget", "900"]
    Path("on.toml").write_text("enabled = true\n")
    full, plain = call(*options, "--full").stdout, call(*options).stdout
    whole = GUIDANCE[PROFILES[profile].tools]
    guidance = "\n".join(line for line in whole.split("\n") if "run_skill_script" not in line)
    assert guidance
    assert full == f"{guidance}\n\n{plain}"
    write_skill(root, "alpha", files={"scripts/a.py": "x"})
    full, plain = call(*options, "--full").stdout, call(*options).stdout
    assert full == f"{whole}\n\n{plain}"


def test_full_prompt_of_nothing_is_nothing(home: Home) -> None:
    Path("none").mkdir()
    outcome = call("--skills", "none", "prompt", "--full")
    assert outcome.stdout == ""
    assert outcome.stderr == "No skill is visible, so a model is told nothing. `prowess why NAME` says why.\n"
    assert GUIDANCE[ToolSet.NONE] == ""


def test_people_are_told_what_did_not_fit(root: Path) -> None:
    outcome = call("--skills", str(root), "prompt", "--budget", "150")
    report = _prompt(root, "--budget", "150")
    named, left = (len(report["report"][level]) for level in ("name_only", "left_out"))
    assert outcome.stderr == (
        f"{report['tokens']} of 150 tokens: {named} name only, {left} left out. --json says why.\n"
    )
    assert outcome.stdout == report["text"] + "\n"
    assert len(ET.fromstring(outcome.stdout)) == named


def test_people_are_told_that_there_is_no_room_at_all(root: Path) -> None:
    outcome = call("--skills", str(root), "prompt", "--budget", "0")
    assert outcome.stdout == ""
    assert outcome.stderr == "0 of 0 tokens: 20 left out. --json says why.\n"


@pytest.mark.requirement("K4")
@pytest.mark.parametrize("full", [[], ["--full"]])
def test_budget_without_room_for_the_remark_is_kept_and_the_least_named(root: Path, full: list[str]) -> None:
    outcome = run("--skills", str(root), "--json", "prompt", "--budget", "1", *full)
    assert (outcome.status, outcome.json["text"], outcome.json["tokens"]) == (0, "", 0)
    assert len(outcome.json["report"]["left_out"]) == 20
    (least,) = re.findall(r"skills are left out takes (\d+)", outcome.stderr)
    assert call("--skills", str(root), "prompt", "--budget", least).stdout.count("20 more skills are not listed") == 1
    assert run("--skills", str(root), "prompt", "--budget", str(int(least) - 1)).stdout == ""


@pytest.mark.requirement("K11")
def test_prompt_is_the_same_bytes_each_time(root: Path) -> None:
    for arguments in ([], ["--budget", "300"], ["--budget", "300", "--query", "zebra"]):
        assert _prompt(root, *arguments) == _prompt(root, *arguments)


# why


@pytest.mark.requirement("K7")
def test_why_says_how_much_the_prompt_has_room_for(home: Home, root: Path) -> None:
    for budget, level, code in ((1_000, "shortened", "shortened"), (150, "name_only", "name-only")):
        home.write_settings(f"[prompt]\nbudget_tokens = {budget}\n")
        name = _prompt(root)["report"][level][0]
        outcome = _why(root, name)
        assert (outcome.status, outcome.json["visible"], _codes(outcome)) == (0, True, ["visible", code])
        assert f"the catalog's {budget:,} tokens have room for" in outcome.json["reasons"][1]["message"]
        assert outcome.json["reasons"][1]["remedy"] == "add it to prompt.pins, or raise prompt.budget_tokens"


@pytest.mark.requirement("K7")
def test_why_says_that_a_skill_is_left_out_and_that_a_query_would_bring_it_in(home: Home, root: Path) -> None:
    home.write_settings("[prompt]\nbudget_tokens = 180\n")
    assert _codes(_why(root, "romeo")) == ["visible", "left-out"]
    assert _codes(_why(root, "romeo", "--query", "feed the zebras")) == ["visible"]


@pytest.mark.requirement("K7")
@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("please merge these", "triggered", "the keyword 'merge' matches the query"),
        ("combining them", "triggered", "the verb 'combine' matches the query"),
        ("see a.pdf", "triggered", r"the pattern '\.pdf\b' matches the query"),
        ("something else", "not-triggered", "none of its triggers matches the query"),
    ],
)
def test_why_says_whether_a_query_triggers_the_skill(home: Home, query: str, code: str, message: str) -> None:
    triggers = {"keywords": ["merge"], "verbs": ["combine"], "patterns": [r"\.pdf\b"]}
    write_skill(home.project / "skills", "pdf", extra=f"triggers: {json.dumps(triggers)}\n")
    outcome = _why(home.project / "skills", "pdf", "--query", query)
    assert _codes(outcome) == ["visible", code]
    assert outcome.json["reasons"][1]["message"] == message
    assert _codes(_why(home.project / "skills", "pdf")) == ["visible"]


@pytest.mark.requirement("K7")
def test_why_says_that_a_query_is_too_long_for_the_patterns(home: Home) -> None:
    vague = [rf"[a-z ]{{0,100}}[b-y ]{{0,90}}[a-x ]{{0,80}}{number}?\d" for number in range(4)]
    for number in range(40):
        write_skill(home.project / "skills", f"vague-{number}", extra=f"triggers: {json.dumps({'patterns': vague})}\n")
    codes = [_codes(_why(home.project / "skills", "vague-0", "--query", query)) for query in ("b c" * 2_700, "b c")]
    assert codes == [["visible", "not-triggered", "triggers-cut-short"], ["visible", "not-triggered"]]


@pytest.mark.requirement("K7")
def test_why_says_nothing_of_triggers_where_there_are_none(root: Path) -> None:
    assert _codes(_why(root, "alpha", "--query", "anything")) == ["visible"]


@pytest.mark.requirement("K7")
def test_people_read_the_reasons(home: Home, root: Path) -> None:
    home.write_settings("[prompt]\nbudget_tokens = 150\n")
    name = _prompt(root)["report"]["name_only"][0]
    assert call("--skills", str(root), "why", name).stdout == (
        f"{name}: visible to the model\n"
        f"  visible: project:{name} is visible to the model\n"
        "  name-only: the catalog's 150 tokens have room for its name only\n"
        "    add it to prompt.pins, or raise prompt.budget_tokens\n"
    )
