"""Folders that somebody names: in which order they count, what they may link to, and what is said if one is missing."""

from pathlib import Path

import pytest

from prowess.errors import SettingsError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.skills_on_disk import Home, write_skill


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings("[copies]\ndurable = false\n")
    write_skill(home.project / "skills", "alpha")
    return home.project / "skills"


@pytest.mark.requirement("J5")
def test_named_folder_is_part_of_the_project_around_it(home: Home) -> None:
    """Installers put a skill into one folder and links to it into others."""
    write_skill(home.project / ".agents" / "skills", "x")
    write_skill(home.path / "elsewhere", "y")
    claude = home.project / ".claude" / "skills"
    claude.mkdir(parents=True)
    (claude / "x").symlink_to("../../.agents/skills/x")
    (claude / "y").symlink_to(home.path / "elsewhere" / "y")
    with Runtime.open(skills=[claude]) as runtime:
        catalog = runtime.catalog()
        assert [skill.id for skill in catalog.skills] == ["project:x"]
        assert [(one.code, one.path) for one in catalog.problems] == [("link-not-followed", str(claude / "y"))]
        assert runtime.is_vouched(catalog.get("x"))


def test_folder_without_a_name_is_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="empty text") as caught:
        Runtime.open(skills=["skills", ""])
    assert "variable that is not set" in caught.value.hint


@pytest.mark.requirement("R29")
@pytest.mark.parametrize(
    ("profile", "winner"),
    [("standard", "a"), ("daycare", "a"), ("remcochat", "a"), ("workspace", "b"), ("agent-base", "b")],
)
@pytest.mark.parametrize("way", ["for one call", "in the settings"])
def test_profile_says_which_of_the_named_folders_has_a_name(home: Home, profile: str, winner: str, way: str) -> None:
    for folder in ("a", "b"):
        write_skill(home.project / folder, "x", description=folder)
    named = [str(home.project / "a"), str(home.project / "b")]
    if way == "in the settings":
        home.write_settings(f"[sources]\ndirectories = {named}\n")
    with Runtime.open(profile=profile, skills=named if way == "for one call" else None) as runtime:
        found = runtime.catalog().find("x")
        assert found is not None
        assert found.description == winner


# A profile that waits until it is configured


@pytest.mark.requirement("R33")
def test_profile_that_is_off_until_configured_is_on_for_named_folders(root: Path) -> None:
    with Runtime.open(profile="remcochat", skills=[root]) as runtime:
        assert runtime.catalog().names() == ("alpha",)
        assert runtime.why("alpha").visible
        assert "alpha" in runtime.session("chat").prompt()


@pytest.mark.requirement("R33")
@pytest.mark.parametrize("text", ["enabled = false\n", "[app.skills]\nenabled = false\n"])
def test_what_the_settings_switch_off_stays_off_for_named_folders(home: Home, root: Path, text: str) -> None:
    home.write_settings(text)
    with Runtime.open(load_settings(profile="remcochat"), skills=[root]) as runtime:
        assert runtime.catalog().skills == ()
        assert [problem.code for problem in runtime.catalog().problems] == ["skills-off"]
        assert [reason.code for reason in runtime.why("alpha").reasons] == ["disabled"]


# What is missing


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("way", ["gone", "a file"])
def test_copies_of_a_folder_that_is_missing_stay(home: Home, root: Path, way: str) -> None:
    other = write_skill(home.project / "others", "beta").parent
    with Runtime.open(skills=[root, other]) as runtime:
        runtime.sync()
    root.rename(home.project / "moved")
    if way == "a file":
        root.write_text("x")
    write_skill(other, "gamma")
    with Runtime.open(skills=[root, other]) as runtime:
        report = runtime.sync()
        code = "source-missing" if way == "gone" else "source-unreadable"
        assert (report.copied, report.unchanged, report.removed) == (("project:gamma",), 1, ())
        assert [(one.id, one.problem.code) for one in report.skipped] == [("project:alpha", code)]
    if way == "a file":
        root.unlink()
    (home.project / "moved").rename(root)
    with Runtime.open(skills=[root, other]) as runtime:
        assert (runtime.sync().unchanged, runtime.sync().skipped) == (3, ())


@pytest.mark.requirement("R81")
def test_sync_from_folders_none_of_which_is_there_removes_nothing(home: Home, root: Path) -> None:
    """Who has mistyped the name of a folder would lose all copies."""
    with Runtime.open(skills=[root]) as runtime:
        runtime.sync()
    with Runtime.open(skills=[home.project / "typo"]) as runtime:
        report = runtime.sync()
        assert (report.copied, report.removed) == ((), ())
        assert [(one.id, one.problem.code) for one in report.skipped] == [("project:alpha", "source-missing")]
    with Runtime.open(skills=[root]) as runtime:
        assert runtime.sync().unchanged == 1


@pytest.mark.requirement("R73")
def test_copies_of_a_skill_that_is_gone_from_a_folder_that_is_there_go(home: Home, root: Path) -> None:
    write_skill(root, "beta")
    with Runtime.open(skills=[root]) as runtime:
        runtime.sync()
    (root / "beta" / "SKILL.md").unlink()
    with Runtime.open(skills=[root, "typo"]) as runtime:
        assert runtime.sync().removed == ("project:beta",)
