"""The JSON of every command: its keys are a contract with programs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.providers.known_providers import KNOWN_PROVIDERS
from prowess.policy import PROFILES
from prowess.skill.problems import KINDS
from prowess.surfaces.cli.extras import EXTRAS
from prowess.version import __version__
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run

pytestmark = pytest.mark.slow

_ROW = {
    "id",
    "name",
    "description",
    "source",
    "digest",
    "enabled",
    "eligible",
    "trusted",
    "shadowed_by",
    "problems",
}
_PROBLEM = {"code", "severity", "message", "line", "column", "remedy"}


@pytest.fixture
def root(home: Home) -> Path:
    """A folder with a good skill, one with a warning, one that needs something, and a broken one."""
    folder = home.project / "skills"
    write_skill(folder, "good", files={"scripts/go.sh": "#!/bin/sh\n"}, extra="license: MIT\n")
    write_skill(folder, "Odd", description="Odd: quoted.")
    write_skill(folder, "needy", extra="requires: [no-such-command-4d1f]\n")
    write_skill(folder, "broken", text="---\nname: broken\n---\n")
    return folder


def _call(root: Path, *arguments: str) -> Outcome:
    outcome = call("--skills", str(root), "--json", *arguments)
    assert outcome.stderr == ""
    return outcome


# list


@pytest.mark.requirement("R15", "R31")
def test_list_has_skills_rejected_and_problems(root: Path) -> None:
    found = _call(root, "list").json
    assert list(found) == ["skills", "rejected", "problems"]
    assert all(set(row) == _ROW for row in found["skills"])
    assert [row["id"] for row in found["skills"]] == ["project:Odd", "project:good", "project:needy"]
    assert found["problems"] == []


@pytest.mark.requirement("R31")
def test_list_has_a_whole_row_for_a_good_skill(root: Path) -> None:
    (good,) = (row for row in _call(root, "list").json["skills"] if row["name"] == "good")
    assert len(good.pop("digest")) == 64
    assert good == {
        "id": "project:good",
        "name": "good",
        "description": "Does a thing. Use when the thing is asked for.",
        "source": "project",
        "enabled": True,
        "eligible": True,
        "trusted": True,
        "shadowed_by": None,
        "problems": [],
    }


@pytest.mark.requirement("R10", "R15", "J3", "K3")
def test_list_says_what_is_wrong(root: Path) -> None:
    found = _call(root, "list").json
    rows = {row["name"]: row for row in found["skills"]}
    assert [problem["code"] for problem in rows["Odd"]["problems"]] == ["yaml-repaired", "name-invalid"]
    assert all(set(problem) == _PROBLEM for row in found["skills"] for problem in row["problems"])
    assert (rows["needy"]["eligible"], rows["good"]["eligible"]) == (False, True)
    (broken,) = found["rejected"]
    assert set(broken) == {"path", "problems"}
    assert broken["path"] == str(root / "broken")
    assert [problem["code"] for problem in broken["problems"]] == ["description-missing"]


@pytest.mark.requirement("R29", "J2")
def test_list_says_who_shadows_whom(root: Path, tmp_path: Path) -> None:
    write_skill(tmp_path / "more", "good")
    found = call("--skills", str(root), "--skills", str(tmp_path / "more"), "list", "--json").json
    shadowed = {row["id"]: row["shadowed_by"] for row in found["skills"] if row["shadowed_by"]}
    (loser,) = shadowed
    assert loser.startswith("project:good@")
    assert shadowed[loser] == "project:good"


@pytest.mark.requirement("R27")
def test_list_reports_a_missing_folder(home: Home) -> None:
    found = call("--skills", "nowhere", "--json", "list").json
    (problem,) = found["problems"]
    assert set(problem) == _PROBLEM | {"path"}
    assert (problem["code"], problem["severity"]) == ("source-missing", "warning")
    assert (found["skills"], found["rejected"]) == ([], [])


def test_list_has_no_digest_where_a_file_cannot_be_read(root: Path) -> None:
    (root / "good" / "out").symlink_to("/etc/passwd")
    (good,) = (row for row in _call(root, "list").json["skills"] if row["name"] == "good")
    assert good["digest"] is None


@pytest.mark.requirement("R33")
def test_list_is_empty_while_skills_are_switched_off(home: Home) -> None:
    found = call("--profile", "remcochat", "--json", "list").json
    (problem,) = found.pop("problems")
    assert (problem["code"], found) == ("skills-off", {"skills": [], "rejected": []})


@pytest.mark.requirement("R33")
def test_list_of_a_named_folder_is_not_empty_under_a_profile_that_waits_for_one(root: Path) -> None:
    found = call("--profile", "remcochat", "--skills", str(root), "--json", "list").json
    assert ([row["name"] for row in found["skills"]], found["problems"]) == (["good", "needy"], [])


# show


@pytest.mark.requirement("R34", "R1")
def test_show_has_the_whole_record(root: Path) -> None:
    found = _call(root, "show", "good").json
    assert set(found) == _ROW | {
        "category",
        "path",
        "root",
        "switch",
        "missing",
        "version",
        "manifest",
        "frontmatter",
        "files",
    }
    assert found["path"] == str(root / "good")
    assert found["frontmatter"]["license"] == found["manifest"]["license"] == "MIT"
    assert [(file["path"], file["kind"]) for file in found["files"]] == [
        ("SKILL.md", "file"),
        ("scripts/go.sh", "executable"),
    ]
    assert all(set(file) == {"path", "kind", "size", "sha256"} for file in found["files"])
    assert found["digest"] == _call(root, "list").json["skills"][1]["digest"]


@pytest.mark.requirement("R34")
def test_manifest_in_the_record_has_every_field(root: Path) -> None:
    manifest = _call(root, "show", "good").json["manifest"]
    assert {"name", "description", "license", "compatibility", "metadata", "allowed_tools"} <= set(manifest)
    assert {"model_invocable", "forks", "permissions", "requires", "secrets", "triggers"} <= set(manifest)


@pytest.mark.requirement("K3")
def test_show_says_what_is_missing(root: Path) -> None:
    assert _call(root, "show", "needy").json["missing"] == ["the command 'no-such-command-4d1f' is not installed"]


@pytest.mark.requirement("K10")
def test_show_for_another_agent_says_what_it_would_lose(root: Path) -> None:
    found = _call(root, "show", "needy", "--for", "hermes").json
    assert found["for"] == "hermes"
    assert {"kind", "field", "message"} == set(found["losses"][0])
    assert ("gating", "requires") in [(loss["kind"], loss["field"]) for loss in found["losses"]]
    assert "losses" not in _call(root, "show", "needy").json


# why


@pytest.mark.requirement("K7")
def test_why_has_name_visible_and_reasons(root: Path) -> None:
    assert _call(root, "why", "good").json == {
        "name": "good",
        "visible": True,
        "reasons": [{"code": "visible", "message": "project:good is visible to the model", "remedy": ""}],
    }


@pytest.mark.requirement("K7")
@pytest.mark.parametrize(
    ("name", "status", "code"), [("needy", 0, "ineligible"), ("broken", 0, "invalid"), ("nope", 1, "not-found")]
)
def test_why_says_no_only_if_there_is_no_such_skill(root: Path, name: str, status: int, code: str) -> None:
    outcome = _call(root, "why", name)
    assert (outcome.status, outcome.json["visible"]) == (status, False)
    assert [reason["code"] for reason in outcome.json["reasons"]] == [code]
    assert all(set(reason) == {"code", "message", "remedy"} for reason in outcome.json["reasons"])


# prompt


@pytest.mark.requirement("R43")
def test_prompt_has_text_tokens_and_report(root: Path) -> None:
    found = _call(root, "prompt").json
    assert list(found) == ["text", "tokens", "report"]
    assert found["report"] == {
        "full": ["Odd", "good"],
        "shortened": [],
        "name_only": [],
        "left_out": [],
        "reasons": {"project:Odd": "fits", "project:good": "fits"},
        "budget": 2_000,
    }
    assert found["text"] + "\n" == call("--skills", str(root), "prompt").stdout
    assert 0 < found["tokens"] <= len(found["text"])


@pytest.mark.requirement("R37")
def test_prompt_reports_what_is_shown_by_name_only(root: Path) -> None:
    _call(root, "disable", "good", "--to", "name-only")
    report = _call(root, "prompt").json["report"]
    assert (report["name_only"], report["reasons"]["project:good"]) == (["good"], "switched")


@pytest.mark.requirement("J6")
def test_prompt_of_nothing_is_empty(home: Home) -> None:
    (home.project / "none").mkdir()
    found = call("--skills", "none", "--json", "prompt").json
    assert (found["text"], found["tokens"]) == ("", 0)


@pytest.mark.requirement("R44", "R46", "R47")
@pytest.mark.parametrize(
    ("form", "start"), [("xml", "<available_skills>"), ("json", "{"), ("markdown", "## Available Skills")]
)
def test_prompt_is_written_in_the_form_asked_for(root: Path, form: str, start: str) -> None:
    assert _call(root, "prompt", "--format", form).json["text"].startswith(start)


@pytest.mark.requirement("R39")
def test_prompt_is_for_the_agent_asked_for(home: Home, root: Path) -> None:
    home.write_settings('[agents.one]\nskills = ["Odd"]\n')
    assert _call(root, "prompt", "--agent", "one").json["report"]["full"] == ["Odd"]


# validate


@pytest.mark.requirement("R15")
def test_validate_has_a_verdict_for_each_skill(root: Path) -> None:
    outcome = _call(root, "validate", str(root))
    assert outcome.status == 1
    assert list(outcome.json) == ["valid", "skills"]
    assert [(one["name"], one["valid"]) for one in outcome.json["skills"]] == [
        ("Odd", True),
        ("broken", False),
        ("good", True),
        ("needy", True),
    ]
    assert all(set(one) == {"path", "name", "valid", "problems"} for one in outcome.json["skills"])
    assert all(set(problem) == _PROBLEM for one in outcome.json["skills"] for problem in one["problems"])


@pytest.mark.requirement("R9", "J3")
def test_validate_strictly_refuses_what_is_merely_mended(root: Path) -> None:
    lenient = _call(root, "validate", str(root / "Odd"))
    strict = _call(root, "validate", "--strict", str(root / "Odd"))
    assert (lenient.status, lenient.json["valid"]) == (0, True)
    assert (strict.status, strict.json["valid"]) == (1, False)


@pytest.mark.parametrize("end", ["", "/", "/SKILL.md"])
def test_validate_takes_a_folder_or_its_file(root: Path, end: str) -> None:
    outcome = _call(root, "validate", f"{root}/good{end}")
    assert (outcome.status, outcome.json["skills"][0]["name"]) == (0, "good")


def test_validate_takes_several_paths_and_counts_each_skill_once(root: Path) -> None:
    outcome = _call(root, "validate", str(root / "good"), str(root / "needy"), str(root / "good"))
    assert [one["name"] for one in outcome.json["skills"]] == ["good", "needy"]


def test_validate_of_a_folder_without_a_skill_says_so(home: Home) -> None:
    (home.project / "empty").mkdir()
    outcome = call("validate", "--json", "empty")
    assert (outcome.status, outcome.json["valid"]) == (1, False)
    assert outcome.json["skills"][0]["problems"][0]["code"] == "skill-md-missing"


@pytest.mark.requirement("R15")
def test_validate_of_several_paths_has_a_verdict_on_each_that_leads_nowhere(root: Path) -> None:
    outcome = _call(root, "validate", "nope", str(root / "good"))
    assert (outcome.status, outcome.json["valid"]) == (1, False)
    verdicts = {one["path"]: one["problems"] for one in outcome.json["skills"]}
    assert verdicts[str(root / "good")] == []
    (problem,) = verdicts["nope"]
    assert (problem["code"], problem["message"]) == ("skill-md-missing", "nothing at nope")
    alone = run("--json", "validate", "nope")
    assert (alone.status, alone.json["error"]["code"]) == (1, "not-found")


@pytest.mark.requirement("J5", "R15")
def test_validate_asks_whether_the_standard_profile_would_follow_a_link(home: Home) -> None:
    write_skill(home.path / "elsewhere", "x")
    root = home.project / ".claude" / "skills"
    root.mkdir(parents=True)
    (root / "x").symlink_to(home.path / "elsewhere" / "x")
    outcome = call("--json", "validate", str(root))
    assert (outcome.status, [one["valid"] for one in outcome.json["skills"]]) == (1, [False])
    assert call("--json", "validate", str(home.path / "elsewhere")).json["valid"]


def test_validate_writes_its_json_as_a_format_too(root: Path) -> None:
    as_format = call("validate", "--format", "json", str(root))
    assert (as_format.json, as_format.stderr) == (_call(root, "validate", str(root)).json, "")


def test_validate_for_github_puts_each_problem_beside_its_line(root: Path) -> None:
    write_skill(root, "100%, really: x", text="---\nname: a\ndescription: b: c\n---\nBody\n")
    outcome = call("validate", "--format", "github", str(root / "100%, really: x"))
    lines = outcome.stdout.splitlines()
    file = f"{root}/100%25%2C really%3A x/SKILL.md"
    assert [line.partition(",")[0] for line in lines] == [f"::warning file={file}"] * 2
    assert f"::warning file={file},line=3,col=" in outcome.stdout
    assert all(line.count("::") == 2 for line in lines)


def test_validate_for_github_shows_errors_as_errors(root: Path) -> None:
    outcome = call("validate", "--format", "github", str(root / "broken"))
    assert outcome.status == 1
    assert outcome.stdout.startswith(f"::error file={root}/broken/SKILL.md,line=")
    assert ",title=description-missing::" in outcome.stdout


def test_validate_writes_sarif(root: Path) -> None:
    (root / "good" / "out").symlink_to("/etc/passwd")
    outcome = call("validate", "--format", "sarif", str(root))
    log: dict[str, Any] = outcome.json
    assert outcome.status == 1
    assert set(log) == {"version", "$schema", "runs"}
    assert log["version"] == "2.1.0"
    (run_,) = log["runs"]
    driver = run_["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("prowess", __version__)
    rules = [rule["id"] for rule in driver["rules"]]
    assert rules == sorted(set(rules))
    assert set(rules) <= KINDS.keys()
    assert all(
        rule[part]["text"] for rule in driver["rules"] for part in ("shortDescription", "fullDescription", "help")
    )
    assert {result["ruleId"] for result in run_["results"]} == set(rules)
    assert {result["level"] for result in run_["results"]} == {"error", "warning"}
    for result in run_["results"]:
        assert result["message"]["text"]
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        assert region["startLine"] >= 1
        assert region["startColumn"] >= 1
        assert place["physicalLocation"]["artifactLocation"]["uri"].startswith(str(root))
    files = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run_["results"]}
    assert f"{root}/good/out" in files


@pytest.mark.parametrize("profile", PROFILES)
def test_validate_judges_as_the_profile_asked_for(root: Path, profile: str) -> None:
    outcome = call("--profile", profile, "--json", "validate", str(root / "Odd"))
    expected = PROFILES[profile].reading.parse in ("repair", "fallback")
    assert outcome.json["valid"] is expected


# new, init


def test_new_makes_a_skill_that_is_valid_strictly(home: Home) -> None:
    outcome = call("new", "pdf-fill", "--json", "--description", 'Fills: "forms" # quickly', "--with", "scripts")
    path = home.project / ".agents" / "skills" / "pdf-fill"
    assert outcome.json == {"name": "pdf-fill", "path": str(path), "files": ["SKILL.md", "scripts/"]}
    assert (path / "scripts").is_dir()
    checked = call("validate", "--strict", "--json", str(path))
    assert (checked.status, checked.json["skills"][0]["problems"]) == (0, [])
    assert call("show", "pdf-fill", "--json").json["description"] == 'Fills: "forms" # quickly'


def test_new_goes_to_the_folder_that_is_named(home: Home) -> None:
    assert call("new", "one", "--dir", "a", "--json").json["path"] == str(home.project / "a" / "one")
    assert call("--skills", "b", "new", "two", "--json").json["path"] == str(home.project / "b" / "two")


def test_init_writes_the_settings_and_keeps_the_former_file(home: Home) -> None:
    file = home.prowess / "prowess.toml"
    assert call("init", "--json").json == {"path": str(file), "kept": None}
    template = file.read_text()
    file.write_text("# mine\n")
    assert call("init", "--force", "--json").json == {"path": str(file), "kept": f"{file}.bak"}
    assert (file.read_text(), Path(f"{file}.bak").read_text()) == (template, "# mine\n")


def test_init_goes_where_config_says(home: Home) -> None:
    assert call("--config", "sub/p.toml", "init", "--json").json["path"] == str(home.project / "sub" / "p.toml")
    assert call("--config", "sub/p.toml", "list", "--json").json["problems"] == []


# enable, disable


@pytest.mark.requirement("R37")
def test_disable_and_enable_say_what_is_true_now(root: Path) -> None:
    known = {"name": "good", "id": "project:good"}
    off, on = _call(root, "disable", "good"), _call(root, "enable", "good")
    assert off.json == known | {"switch": "off", "agent": None, "visible": False}
    assert on.json == known | {"switch": "on", "agent": None, "visible": True}


@pytest.mark.requirement("R37")
@pytest.mark.parametrize(("position", "visible"), [("off", False), ("user-only", False), ("name-only", True)])
def test_disable_goes_as_far_as_is_said(root: Path, position: str, visible: bool) -> None:
    found = _call(root, "disable", "good", "--to", position, "--agent", "one").json
    assert (found["switch"], found["agent"], found["visible"]) == (position, "one", visible)
    assert _call(root, "show", "good").json["switch"] == "on"


@pytest.mark.requirement("R37")
def test_disabled_skill_is_listed_as_such(root: Path) -> None:
    _call(root, "disable", "good")
    rows = {row["name"]: row["enabled"] for row in _call(root, "list").json["skills"]}
    assert rows == {"Odd": True, "good": False, "needy": True}


# trust


def test_trust_and_untrust_say_what_changed(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")
    known = {"project": str(home.project), "skills": ["project:mine"]}
    assert call("trust", "--json").json == known | {"trusted": True, "changed": True}
    assert call("trust", "--json").json == known | {"trusted": True, "changed": False}
    assert {row["trusted"] for row in call("list", "--json").json["skills"]} == {True}
    assert call("untrust", "--json", ".").json == known | {"trusted": False, "changed": True}
    assert call("untrust", "--json").json == known | {"trusted": False, "changed": False}


# doctor


def test_doctor_says_what_works_here(home: Home) -> None:
    outcome = call("doctor", "--json")
    checks = {check["check"]: check for check in outcome.json["checks"]}
    assert list(outcome.json) == ["checks"]
    assert all(set(check) == {"check", "works", "detail", "hint"} for check in checks.values())
    assert [name for name in checks if not name.startswith("provider ")] == [
        "prowess",
        "settings",
        "home",
        "source core",
        "watching",
        "database",
        "copies",
        *(f"extra {extra.name}" for extra in EXTRAS),
        "sandbox bubblewrap",
        "sandbox docker",
        "sandbox podman",
        "scripts",
        "model",
    ]
    assert all(check["hint"] for check in checks.values() if not check["works"])
    where = f"SQLite in {home.prowess}/state.db"
    assert checks["database"]["detail"] == f"{where}, 0 trusted projects, 0 sessions"
    active = home.prowess / "users" / "local" / "skills" / "active"
    assert checks["copies"]["detail"] == f"{active}: hard links, swapped in one step"
    assert not active.exists()


@pytest.mark.slow
@pytest.mark.requirement("R96", "R97")
@pytest.mark.parametrize(
    ("settings", "works", "detail", "hint"),
    [
        pytest.param(
            '[execution]\nbackend = "bubblewrap"\n',
            True,
            r"run by bubblewrap with python, .*\bsh\b.*; no network",
            "",
            id="without a network",
        ),
        pytest.param(
            '[execution]\nbackend = "bubblewrap"\nnetwork = "granted"\n',
            True,
            r"run by bubblewrap with python, .*\bsh\b.*; a network where it is granted",
            "",
            id="with a network",
        ),
        pytest.param(
            "[execution]\nenabled = false\n",
            False,
            "switched off",
            "set execution.enabled = true in the settings",
            id="switched off",
        ),
    ],
)
def test_doctor_says_where_scripts_run(home: Home, settings: str, works: bool, detail: str, hint: str) -> None:
    home.write_settings(settings)
    (scripts,) = (check for check in call("doctor", "--json").json["checks"] if check["check"] == "scripts")
    assert re.fullmatch(detail, scripts.pop("detail"))
    assert scripts == {"check": "scripts", "works": works, "hint": hint}


def test_doctor_counts_what_is_remembered(home: Home, root: Path) -> None:
    call("trust")
    for session in ("monday", "tuesday"):
        call("--skills", str(root), "activate", "good", "--session", session)
    (database,) = (check for check in call("doctor", "--json").json["checks"] if check["check"] == "database")
    assert database["detail"].endswith(", 1 trusted projects, 2 sessions")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "where"), [("memory", "SQLite in memory"), ("sqlite:///tmp/4d1f.db", "SQLite in /tmp/4d1f.db")]
)
def test_doctor_names_the_database_that_is_used(
    home: Home, monkeypatch: pytest.MonkeyPatch, address: str, where: str
) -> None:
    monkeypatch.setenv("PROWESS_DATABASE", address)
    (database,) = (check for check in call("doctor", "--json").json["checks"] if check["check"] == "database")
    assert (database["works"], database["detail"]) == (True, f"{where}, 0 trusted projects, 0 sessions")
    assert not Path("/tmp/4d1f.db").exists()


def test_doctor_says_that_the_database_cannot_be_used_and_goes_on(home: Home) -> None:
    home.prowess.mkdir()
    (home.prowess / "state.db").write_bytes(b"this is not a database" * 50)
    outcome = call("doctor", "--json")
    checks = {check["check"]: check for check in outcome.json["checks"]}
    assert (outcome.status, checks["database"]["works"], checks["prowess"]["works"]) == (0, False, True)
    assert checks["database"]["hint"]


def _find_models(outcome: Outcome) -> list[tuple[str, bool, str, str]]:
    return [
        (check["check"], check["works"], check["detail"], check["hint"])
        for check in outcome.json["checks"]
        if check["check"].startswith(("model", "provider "))
    ]


def _forget_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (key for provider in KNOWN_PROVIDERS.values() for key in provider.keys):
        monkeypatch.delenv(key, raising=False)


def test_doctor_says_that_the_offline_model_always_works(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _forget_keys(monkeypatch)
    detail = "offline: built in, without a key and without a network"
    assert _find_models(call("doctor", "--json")) == [("model", True, detail, "")]


def test_doctor_names_the_model_and_the_keys_and_never_shows_them(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _forget_keys(monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "secret-4d1f")
    monkeypatch.setenv("CO_API_KEY", "secret-4d1f")
    home.write_settings('model = "openai-chat:gpt"\nmodel_url = "http://me:secret-4d1f@127.0.0.1:9/v1"\n')
    outcome = call("doctor", "--json")
    assert _find_models(outcome) == [
        ("model", True, "openai-chat:gpt: http://127.0.0.1:9/v1, with the key in OPENAI_API_KEY", ""),
        ("provider openai", True, "OpenAI, with the key in OPENAI_API_KEY", ""),
        ("provider cohere", False, "Cohere, with the key in CO_API_KEY", "pip install 'pydantic-ai-slim[cohere]'"),
    ]
    assert "secret-4d1f" not in outcome.stdout + outcome.stderr


def test_doctor_says_what_the_model_of_the_settings_lacks(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _forget_keys(monkeypatch)
    home.write_settings('model = "anthropic:claude"\n')
    assert _find_models(call("doctor", "--json")) == [
        (
            "model",
            False,
            "model 'anthropic:claude': no key of Anthropic",
            "set ANTHROPIC_API_KEY, or use the model 'offline', which needs none",
        )
    ]


@pytest.mark.slow
def test_doctor_loads_no_library_of_models(home: Home) -> None:
    code = "import sys; from prowess.surfaces.cli.main import main; sys.argv = ['prowess', 'doctor']\n"
    code += "try: main()\nexcept SystemExit as leave: assert not leave.code\n"
    code += "print('LOADED', *({'pydantic_ai', 'openai'} & set(sys.modules)))"
    environment = {**os.environ, "OPENAI_API_KEY": "secret-4d1f", "PROWESS_MODEL": "openai:gpt"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "LOADED"


# All of them


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "good"],
        ["why", "good"],
        ["prompt"],
        ["search", "thing"],
        ["activate", "good"],
        ["read", "good", "SKILL.md"],
        ["run", "good", "scripts/go.sh", "--yes"],
        ["validate", "skills/good"],
        ["new", "fresh"],
        ["enable", "good"],
        ["disable", "good"],
        ["trust"],
        ["untrust"],
        ["grants"],
        ["grants", "--allow", "good"],
        ["grants", "--allow", "good", "--run"],
        ["secrets"],
        ["sessions"],
        ["usage"],
        ["init"],
        ["doctor"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_json_may_be_asked_for_before_or_after_the_command(root: Path, arguments: list[str]) -> None:
    command, *rest = arguments
    before = run("--json", "--skills", str(root), command, *rest)
    if command in ("new", "init"):
        _undo(before.json["path"])
    after = run("--skills", str(root), command, "--json", *rest)
    assert (before.status, after.status) == (0, 0)
    assert (before.stderr, after.stderr) == ("", "")
    assert before.stdout.isascii()
    assert set(before.json) == set(after.json)


def _undo(path: str) -> None:
    if os.path.isdir(path):
        os.unlink(f"{path}/SKILL.md")
        os.rmdir(path)
    else:
        os.unlink(path)
