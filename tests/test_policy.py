"""The profiles: the design's table, as data."""

from dataclasses import FrozenInstanceError, fields
from enum import StrEnum

import pytest

from prowess import policy
from prowess.policy import (
    DEFAULT_PROFILE,
    PROFILES,
    STRICT_READING,
    AllowedTools,
    Execution,
    Limits,
    Policy,
    Prompting,
    RunLimits,
    Turns,
)

_SOURCES = {
    "standard": [
        "project project .prowess/skills",
        "project project .agents/skills",
        "project project .claude/skills",
        "user user-folder personal",
        "user prowess-home skills",
        "agents home .agents/skills",
        "user home .claude/skills",
        "plugin plugins ",
        "core bundled ",
    ],
    "daycare": [
        "core bundled ",
        "config prowess-home skills",
        "user user-folder personal",
        "plugin plugins ",
        "agents home .agents/skills",
    ],
    "workspace": ["workspace working-folder skills"],
    "agent-base": [
        "project working-folder .agent/skills",
        "project working-folder .claude/skills",
        "user home .agent/skills",
        "core bundled ",
    ],
    "remcochat": [
        "project working-folder .skills",
        "project project .agents/skills",
        "agents home .agents/skills",
        "user home .remcochat/skills",
    ],
}
_VALUES = {
    "enabled": [True, True, True, True, False],
    "scan": ["recursive", "recursive", "root-and-children", "children", "children"],
    "reading.parse": ["repair", "plain", "fallback", "strict", "strict"],
    "reading.unknown_keys": ["dialects", "ignore", "ignore", "refuse", "warn"],
    "reading.name_rule": ["warn", "folder-default", "sanitise", "must-match", "must-match"],
    "reading.missing_description": ["refuse", "allow", "refuse", "refuse", "refuse"],
    "same_name": ["first-wins", "keep-all", "last-wins", "later-source-wins", "first-wins"],
    "catalog_text": ["xml", "xml", "markdown", "xml-with-location", "json"],
    "refresh": ["watched", "each-turn", "start", "start", "start"],
    "project_trust": ["ask", "always", "always", "always", "always"],
    "links": ["known-roots", "skip", "skip", "skip", "skip"],
    "tools": ["standard", "daycare", "workspace", "none", "remcochat"],
    "consent": ["ask", "never", "each-session", "never", "never"],
    "trusted_kinds": [("core", "plugin")] * 5,
    "sessions": ["chat", "task", "task", "task", "chat"],
    "ranking": ["lexical"] * 5,
    "mentions": ["slash-and-dollar", "off", "off", "off", "slash"],
    "triggers": ["suggest", "off", "off", "suggest", "off"],
    "binary": ["base64", "base64", "base64", "base64", "refuse"],
    "base_directory": ["shared", "shared", "task-private", "none", "none"],
    "prompting.budget": [2_000] * 5,
    "execution.enabled": [True] * 5,
    "execution.backend": ["auto"] * 5,
    "execution.consent": ["ask"] * 5,
    "execution.work_folder": ["skill"] * 5,
    "execution.workspace": ["none"] * 5,
    "execution.network": ["none"] * 5,
    "execution.allowed_tools": ["advise", "advise", "advise", "advise", "log"],
    "execution.tools": [("*",)] * 5,
    "execution.packages": ["ask"] * 5,
    "execution.secrets": ["file"] * 5,
    "execution.host_variables": [()] * 5,
    "execution.programs": [()] * 5,
    "execution.image": [""] * 5,
    "execution.spare_containers": [False] * 5,
    "execution.keep_outputs_days": [7] * 5,
    "execution.limits": [RunLimits()] * 5,
    "turns": [Turns()] * 5,
    "limits.max_skills": [1_000_000, 1_000_000, 1_000_000, 1_000_000, 200],
    "limits.max_skill_md_bytes": [200_000] * 5,
    "limits.max_resource_bytes": [2_000_000] * 5,
}
_ENUMERATIONS = [kind for kind in vars(policy).values() if isinstance(kind, type) and issubclass(kind, StrEnum)]


def test_profiles_are_these_and_standard_is_the_default() -> None:
    assert list(PROFILES) == ["standard", "daycare", "workspace", "agent-base", "remcochat"]
    assert DEFAULT_PROFILE == "standard"


@pytest.mark.requirement("R17", "R18", "R20", "R21", "R22", "R23", "R123", "J2")
@pytest.mark.parametrize("profile", PROFILES)
def test_profile_searches_the_sources_of_its_document_in_order(profile: str) -> None:
    rules = [f"{rule.kind} {rule.anchor} {rule.path}" for rule in PROFILES[profile].sources]
    assert rules == _SOURCES[profile]


@pytest.mark.requirement("R9", "R10", "R13", "R14", "R16", "R25", "R29", "R32", "R33", "R36")
@pytest.mark.parametrize("value", _VALUES)
def test_profiles_have_the_values_of_their_documents(value: str) -> None:
    found: list[object] = []
    for profile in PROFILES.values():
        part: object = profile
        for name in value.split("."):
            part = getattr(part, name)
        found.append(part)
    assert found == _VALUES[value]


def test_table_of_these_tests_knows_everything_that_profiles_can_differ_in() -> None:
    assert {value.partition(".")[0] for value in _VALUES} | {"sources"} == {field.name for field in fields(Policy)}
    in_execution = [value.removeprefix("execution.") for value in _VALUES if value.startswith("execution.")]
    assert in_execution == [field.name for field in fields(Execution)]


def test_profiles_differ_in_nothing_but_what_the_table_has() -> None:
    """What a profile does not say is as in the standard one."""
    assert {profile.prompting for profile in PROFILES.values()} == {Prompting()}
    assert [profile.execution for profile in PROFILES.values()] == [
        *[Execution()] * 4,
        Execution(allowed_tools=AllowedTools.LOG),
    ]
    assert [profile.limits for profile in PROFILES.values()] == [*[Limits()] * 4, Limits(max_skills=200)]


@pytest.mark.requirement("K4")
@pytest.mark.parametrize(
    ("prompting", "budget"),
    [
        pytest.param(Prompting(), 2_000, id="one percent of 200,000"),
        pytest.param(Prompting(context_window=1_000_000), 10_000, id="one percent of a large window"),
        pytest.param(Prompting(context_window=8_000), 2_000, id="never less than 2,000 of a small one"),
        pytest.param(Prompting(budget_tokens=300), 300, id="what is said counts"),
        pytest.param(Prompting(budget_tokens=50_000, context_window=8_000), 50_000, id="also beyond the window"),
    ],
)
def test_budget_follows_from_the_window_unless_it_is_said(prompting: Prompting, budget: int) -> None:
    assert prompting.budget == budget


@pytest.mark.requirement("J5")
def test_limits_have_the_defaults_of_the_documents() -> None:
    assert Limits() == Limits(
        max_depth=6,
        max_folders=100_000,
        max_skills=1_000_000,
        max_skill_md_bytes=200_000,
        max_resource_bytes=2_000_000,
    )


@pytest.mark.requirement("R96")
def test_runs_have_these_bounds_unless_it_is_said() -> None:
    assert RunLimits() == RunLimits(
        timeout_seconds=60.0,
        output_bytes=1_000_000,
        memory_bytes=512 * 1024 * 1024,
        processes=128,
        cpu_seconds=120,
        file_bytes=64 * 1024 * 1024,
        folder_bytes=64 * 1024 * 1024,
        output_files=1_000,
        scratch_bytes=64 * 1024 * 1024,
    )
    assert {profile.execution.limits for profile in PROFILES.values()} == {RunLimits()}


def test_strict_reading_is_strict_and_the_standard_is_not() -> None:
    assert STRICT_READING.strict
    assert [name for name, profile in PROFILES.items() if profile.reading.strict] == ["agent-base", "remcochat"]


def test_policy_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Policy().enabled = False  # type: ignore[misc]


@pytest.mark.parametrize("kind", _ENUMERATIONS, ids=lambda kind: kind.__name__)
def test_values_in_a_settings_file_are_kebab_case(kind: type[StrEnum]) -> None:
    assert all(choice.value == choice.name.lower().replace("_", "-") for choice in kind)
