"""The skills that come with Prowess: good examples, and good fixtures."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess.catalog.validation import check_skill
from prowess.policy import PROFILES, STRICT_READING, Limits
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.sources.places import BUNDLED_SKILLS
from tests.skills_on_disk import Home

_BUNDLED = Path(BUNDLED_SKILLS)
_NAMES = ["repo-survey", "safe-edit", "scheduling", "skill-creator", "skills-system-validation", "test-first-fix"]
_VALIDATION = _BUNDLED / "skills-system-validation"
_MARKERS = {
    "PROWESS_VALIDATION_BODY_4D1F": "SKILL.md",
    "PROWESS_VALIDATION_REFERENCE_7B2E": "references/REFERENCE.md",
    "PROWESS_VALIDATION_ASSET_C093": "assets/fixture.json",
    "PROWESS_VALIDATION_SCRIPT_55A8": "scripts/echo.sh",
}
_SURVEY = _BUNDLED / "repo-survey" / "scripts" / "survey.py"
_NEXT_DATES = _BUNDLED / "scheduling" / "scripts" / "next_dates.py"


def _files() -> list[Path]:
    return [path for path in sorted(_BUNDLED.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def _run(script: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.requirement("R17", "R112", "R113")
def test_bundled_skills_are_these() -> None:
    assert sorted(path.name for path in _BUNDLED.iterdir() if path.is_dir()) == _NAMES


@pytest.mark.requirement("R109", "R112", "R113")
@pytest.mark.parametrize("name", _NAMES)
def test_bundled_skill_is_faultless_under_the_strict_standard(name: str) -> None:
    assert check_skill(str(_BUNDLED / name), reading=STRICT_READING, limits=Limits()).problems == ()


@pytest.mark.requirement("R109", "R112", "R113")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", _NAMES)
def test_bundled_skill_is_faultless_under_every_profile(name: str, profile: str) -> None:
    policy = PROFILES[profile]
    assert check_skill(str(_BUNDLED / name), reading=policy.reading, limits=policy.limits).problems == ()


@pytest.mark.requirement("R17")
@pytest.mark.parametrize("profile", ["standard", "daycare", "agent-base"])
def test_bundled_skills_are_the_core_source(home: Home, profile: str) -> None:
    with Runtime(load_settings(profile=profile)) as runtime:
        assert [skill.id for skill in runtime.catalog().skills] == [f"core:{name}" for name in _NAMES]
        assert runtime.view().names() == tuple(_NAMES)


def test_scripts_are_executable_and_nothing_else_is() -> None:
    executable = [path.parent.name for path in _files() if os.access(path, os.X_OK)]
    assert executable == ["scripts"] * len([path for path in _files() if path.parent.name == "scripts"])
    assert all(path.read_bytes().startswith(b"#!") for path in _files() if path.parent.name == "scripts")


@pytest.mark.requirement("R109")
@pytest.mark.parametrize(("marker", "file"), _MARKERS.items())
def test_marker_stands_in_its_own_file_only(marker: str, file: str) -> None:
    holders = [path for path in _files() if marker in path.read_text("utf-8")]
    assert holders == [_VALIDATION / file]
    assert holders[0].read_text("utf-8").count(marker) == 1


@pytest.mark.requirement("R109")
def test_asset_of_the_validation_skill_is_as_it_says() -> None:
    text = (_VALIDATION / "assets" / "fixture.json").read_text("utf-8")
    asset = json.loads(text)
    assert asset["unicode"] == "Grüße, 技能, 🧭"
    assert asset["lines"] == len(text.splitlines())


@pytest.mark.requirement("R109")
def test_validation_script_prints_its_marker_and_arguments() -> None:
    script = str(_VALIDATION / "scripts" / "echo.sh")
    done = subprocess.run([script, "word", "two words"], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "MARKER: PROWESS_VALIDATION_SCRIPT_55A8\nARGUMENTS: 2\nARGUMENT: word\nARGUMENT: two words\n"
    )


@pytest.mark.requirement("R112")
def test_survey_of_a_folder_counts_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_main.py").write_text("assert True\n")
    (tmp_path / "main.py").write_text("print()\nprint()\n")
    (tmp_path / "Makefile").write_text("build:\n\ttrue\n")
    (tmp_path / "out").symlink_to("/")
    done = _run(_SURVEY, str(tmp_path), "--format", "json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["complete"] is True
    assert found["counts"]["links_not_followed"] == 1
    assert found["commands"]["items"] == ["make build (Makefile)"]
    assert found["test_folders"]["items"] == ["tests"]
    assert {row["language"]: row["lines"] for row in found["languages"]}["Python"] == 3


@pytest.mark.requirement("R112")
def test_survey_without_a_folder_says_so(tmp_path: Path) -> None:
    done = _run(_SURVEY, str(tmp_path / "nope"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot open folder" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("R113")
def test_next_dates_keep_the_hour_across_a_clock_change() -> None:
    done = _run(
        _NEXT_DATES, "2026-03-27T09:00", "--zone", "Europe/Berlin", "--rule", "FREQ=WEEKLY;BYDAY=MO,FR", "--limit", "2"
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert [date["local"] for date in found["dates"]] == ["2026-03-27T09:00:00+01:00", "2026-03-30T09:00:00+02:00"]
    assert (found["more"], found["warnings"]) == (True, [])


@pytest.mark.requirement("R113")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["2026-13-27", "--zone", "UTC"], "is not a date"),
        (["2026-03-27", "--zone", "Europe/Berlim"], "Europe/Berlin"),
        (["2026-03-27", "--zone", "UTC", "--rule", "FREQ=HOURLY"], "FREQ must be one of"),
        (["2026-03-27", "--zone", "UTC", "--limit", "0"], "--limit"),
    ],
)
def test_next_dates_says_how_to_write_what_was_wrong(arguments: list[str], complaint: str) -> None:
    done = _run(_NEXT_DATES, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
