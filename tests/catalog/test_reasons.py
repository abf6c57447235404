"""One question answers why a skill is seen, or why not."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.catalog.catalog import Catalog
from prowess.catalog.reasons import Explanation, explain
from prowess.catalog.switches import Switch, Switches
from prowess.catalog.views import Reason, make_view
from prowess.policy import Limits, SourceKind
from prowess.sources.source import Source
from tests.catalog.machine import STANDARD, discover, user_source
from tests.catalog.probes import PaperProbe
from tests.sources.building import draw, write_skill


def _why(
    name: str,
    catalog: Catalog,
    *,
    switches: dict[tuple[str, str], Switch] | None = None,
    allowlist: Sequence[str] | None = None,
) -> Explanation:
    view = make_view(catalog, probe=PaperProbe(), switches=Switches(switches or {}), allowlist=allowlist)
    return explain(name, catalog, view)


def _codes(explanation: Explanation) -> list[str]:
    return [reason.code for reason in explanation.reasons]


@pytest.mark.requirement("K7")
def test_visible_skill_is_said_to_be_visible(tmp_path: Path) -> None:
    found = discover([user_source(draw(tmp_path, "x"))])
    expected = Explanation("x", visible=True, reasons=(Reason("visible", "user:x is visible to the model"),))
    assert _why("x", found) == expected
    assert _why("user:x", found) == replace(expected, name="user:x")
    assert expected.found


@pytest.mark.requirement("K7")
def test_skill_shown_by_its_name_only_is_said_to_be(tmp_path: Path) -> None:
    found = discover([user_source(draw(tmp_path, "x"))])
    why = _why("x", found, switches={("", "x"): Switch.NAME_ONLY})
    assert (why.visible, why.reasons[0].message) == (True, "user:x is visible to the model by its name only")


@pytest.mark.requirement("K7")
@pytest.mark.parametrize(("asked", "hint"), [("pdf-fil", "did you mean 'pdf-fill'"), ("zzz", "`prowess list` shows")])
def test_unknown_name_is_not_found_and_the_nearest_is_named(asked: str, hint: str, tmp_path: Path) -> None:
    why = _why(asked, discover([user_source(draw(tmp_path, "pdf-fill"))]))
    assert (why.visible, why.found, _codes(why)) == (False, False, ["not-found"])
    assert why.reasons[0].remedy.startswith(hint)


@pytest.mark.requirement("K7", "R15")
def test_invalid_skill_is_explained_by_its_errors_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").write_text("---\nname: x\ndescription: [\ncolour: red\n---\n")
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "SKILL.md")
    found = discover([user_source(tmp_path)])
    why = _why("x", found)
    assert (why.visible, why.found, _codes(why)) == (False, True, ["invalid"])
    assert why.reasons[0].message.startswith(f"{tmp_path}/x/SKILL.md:")
    assert why.reasons[0].remedy
    assert _codes(_why(str(tmp_path / "x"), found)) == ["invalid"]
    assert _why("fifo", found).reasons[0].message == f"{tmp_path}/fifo/SKILL.md: SKILL.md is not a file"


@pytest.mark.requirement("K7", "J2")
def test_shadowed_skill_is_explained_by_name_and_by_id(tmp_path: Path) -> None:
    draw(tmp_path / "one", "x")
    draw(tmp_path / "other", "x")
    found = discover([user_source(tmp_path / "one"), Source(SourceKind.CORE, str(tmp_path / "other"))])
    by_name, by_id = _why("x", found), _why("core:x", found)
    assert (by_name.visible, _codes(by_name)) == (True, ["visible", "shadowed"])
    assert (by_id.visible, _codes(by_id)) == (False, ["shadowed"])
    assert by_id.reasons[0].message == "core:x: user:x has the same name and takes precedence"


@pytest.mark.requirement("K7")
def test_good_and_broken_skill_of_one_name_are_both_explained(tmp_path: Path) -> None:
    draw(tmp_path, "good/x")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").write_text("broken")
    why = _why("x", discover([user_source(tmp_path)]))
    assert (why.visible, _codes(why)) == (True, ["visible", "invalid"])


@pytest.mark.requirement("K7", "R37", "R39", "R121")
@pytest.mark.parametrize(
    ("extra", "switches", "allowlist", "trusted", "code"),
    [
        pytest.param("", {("", "x"): Switch.OFF}, None, True, "disabled", id="disabled"),
        pytest.param("", {("", "x"): Switch.USER_ONLY}, None, True, "hidden", id="switched to people"),
        pytest.param("", {}, ["other"], True, "hidden", id="not on the agent's list"),
        pytest.param("disable-model-invocation: true\n", {}, None, True, "hidden", id="for people only"),
        pytest.param("", {}, None, False, "untrusted", id="untrusted"),
        pytest.param("requires: nothing-like-this\n", {}, None, True, "ineligible", id="ineligible"),
    ],
)
def test_hidden_skill_is_explained(
    extra: str,
    switches: dict[tuple[str, str], Switch],
    allowlist: list[str] | None,
    code: str,
    tmp_path: Path,
    *,
    trusted: bool,
) -> None:
    write_skill(tmp_path / "x", extra=extra)
    found = discover([Source(SourceKind.PROJECT, str(tmp_path), trusted=trusted)])
    why = _why("x", found, switches=switches, allowlist=allowlist)
    assert (why.visible, why.found, _codes(why)) == (False, True, [code])
    assert why.reasons[0].message.startswith("project:x: ")
    assert why.reasons[0].remedy


@pytest.mark.requirement("K7", "J5")
@pytest.mark.parametrize("what", ["misnamed", "link", "beyond the limit", "reached twice"])
def test_nothing_that_was_left_out_is_not_found_in_silence(what: str, tmp_path: Path) -> None:
    """Whatever is skipped has a reason that the question "why" answers with."""
    policy = replace(STANDARD, limits=Limits(max_skills=1)) if what == "beyond the limit" else STANDARD
    draw(tmp_path, "a")
    match what:
        case "misnamed":
            (tmp_path / "x").mkdir()
            (tmp_path / "x" / "skill.md").write_text("---\nname: x\ndescription: d\n---\n")
        case "link":
            (tmp_path / "x").symlink_to("/nonexistent")
        case "reached twice":
            (tmp_path / "x").symlink_to("a")
        case _:
            draw(tmp_path, "x")
    why = _why("x", discover([user_source(tmp_path)], policy))
    assert (why.visible, why.found) == (False, True)


@pytest.mark.requirement("K7")
def test_broken_skill_is_explained_under_the_name_that_it_gives_itself(tmp_path: Path) -> None:
    (tmp_path / "foo").mkdir()
    (tmp_path / "foo" / "SKILL.md").write_text("---\nname: bar\n---\n")
    draw(tmp_path, "good")
    found = discover([user_source(tmp_path)])
    assert _why("bar", found).reasons == _why("foo", found).reasons
    assert _codes(_why("bar", found)) == ["invalid"]


@pytest.mark.requirement("K7")
@pytest.mark.parametrize("name", ["inn", "inner-name"])
def test_skill_inside_another_is_said_to_be_part_of_that(name: str, tmp_path: Path) -> None:
    draw(tmp_path, "outer")
    inner = write_skill(tmp_path / "outer" / "parts" / "inn", name="inner-name")
    (tmp_path / "outer" / "round").symlink_to(".")
    why = _why(name, discover([user_source(tmp_path)]))
    assert (why.visible, why.found, _codes(why)) == (False, True, ["nested-skill"])
    assert why.reasons[0].message == f"{inner} lies inside the skill user:outer, and is part of it"
    assert "beside the outer skill" in why.reasons[0].remedy


@pytest.mark.requirement("K7", "R81")
def test_unknown_name_leads_to_the_folder_that_is_missing(tmp_path: Path) -> None:
    found = discover([Source(SourceKind.USER, str(tmp_path / "typo"), expected=True)])
    assert _codes(_why("x", found)) == ["not-found", "source-missing"]
