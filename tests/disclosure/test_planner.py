"""The planner: what of the catalog goes into the prompt, and why the rest does not."""

import json
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.catalog.views import View
from prowess.disclosure.catalog_text import FORMS, render_catalog
from prowess.disclosure.planner import OVER_BUDGET, Favour, Level, Placement, Plan, describe, plan_catalog
from prowess.disclosure.tokens import EstimatedTokens, TokenCounter, make_counter
from prowess.policy import CatalogText, TokenCounting
from prowess.skill.manifest import Behaviour
from tests.disclosure.catalogs import any_favours, any_view, make_skill, make_view

_LEVELS = list(Level)
_SEARCH = "search_skills"
_AMPLE = 10_000_000
_COUNTER = EstimatedTokens()
_LONG = (
    "Fills in the forms of a long and tedious document, one field after the other, until nothing is left to fill in."
)

forms = st.sampled_from(CatalogText)
countings = st.sampled_from(TokenCounting)
budgets = st.integers(0, 5_000) | st.integers(0, 400)


@cache
def _counter(counting: TokenCounting) -> TokenCounter:
    return make_counter(counting)


def _plan(
    view: View,
    budget: int,
    *,
    form: CatalogText = CatalogText.XML,
    counting: TokenCounting = TokenCounting.ESTIMATE,
    favoured: dict[str, Favour] | None = None,
    search_tool: str = _SEARCH,
) -> Plan:
    return plan_catalog(
        view, form=form, budget=budget, counter=_counter(counting), favoured=favoured, search_tool=search_tool
    )


def _ids(plan: Plan, level: Level) -> list[str]:
    return [skill.id for skill in plan.at(level)]


def _parse_xml(text: str) -> list[dict[str, str]]:
    return [{part.tag: part.text or "" for part in skill} for skill in ET.fromstring(text)]


def _written(placement: Placement) -> dict[str, str]:
    row = {"name": placement.skill.name}
    return row if placement.description is None else row | {"description": placement.description}


# Laws: any catalog, any budget, any form, any counter


@pytest.mark.slow
@pytest.mark.requirement("K4", "R50")
@settings(max_examples=300)
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_budget_is_never_exceeded(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    plan = _plan(view, budget, form=form, counting=counting, favoured=data.draw(any_favours(view)))
    assert plan.tokens == _counter(counting).count(plan.text) <= budget
    assert plan.budget == budget


@pytest.mark.slow
@pytest.mark.requirement("K4")
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_every_visible_skill_is_in_exactly_one_group(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    plan = _plan(view, budget, form=form, counting=counting, favoured=data.draw(any_favours(view)))
    placed = [skill_id for level in Level for skill_id in _ids(plan, level)]
    assert sorted(placed) == sorted(skill.id for skill in view.visible)
    order = {skill.id: number for number, skill in enumerate(view.visible)}
    for level in Level:
        assert _ids(plan, level) == sorted(_ids(plan, level), key=order.__getitem__)
    assert [one.skill.id for one in plan.shown] == sorted((one.skill.id for one in plan.shown), key=order.__getitem__)
    for skill in view.visible:
        found = plan.find(skill.id)
        assert found is not None
        assert skill in plan.at(found.level)
    assert plan.find("project:gone") is None


@pytest.mark.slow
@pytest.mark.requirement("K4", "K11")
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_same_input_gives_the_same_bytes(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    favoured = data.draw(any_favours(view))
    first = _plan(view, budget, form=form, counting=counting, favoured=favoured)
    assert _plan(view, budget, form=form, counting=counting, favoured=dict(favoured)) == first


@pytest.mark.slow
@pytest.mark.requirement("K4", "R43", "R44", "R45")
@given(data=st.data(), view=any_view(), budget=budgets, counting=countings)
def test_xml_parses_back_to_exactly_the_skills_that_are_shown(
    data: st.DataObject, view: View, budget: int, counting: TokenCounting
) -> None:
    plan = _plan(view, budget, counting=counting, favoured=data.draw(any_favours(view)))
    parsed = _parse_xml(plan.text) if plan.text else []
    assert parsed == [_written(one) for one in plan.shown]
    for one in plan.shown:
        if one.level is Level.FULL:
            assert one.description == one.skill.description


@pytest.mark.slow
@pytest.mark.requirement("K4", "R43", "R46")
@given(data=st.data(), view=any_view(), budget=budgets, counting=countings)
def test_json_parses_back_to_exactly_the_skills_that_are_shown(
    data: st.DataObject, view: View, budget: int, counting: TokenCounting
) -> None:
    plan = _plan(view, budget, form=CatalogText.JSON, counting=counting, favoured=data.draw(any_favours(view)))
    parsed: dict[str, Any] = json.loads(plan.text) if plan.text else {"available_skills": []}
    assert parsed["available_skills"] == [_written(one) for one in plan.shown]
    assert ("more" in parsed) == bool(plan.text and plan.left_out)


@pytest.mark.slow
@pytest.mark.requirement("K4", "R47")
@given(view=any_view(), budget=budgets)
def test_markdown_has_one_line_for_each_skill_that_is_shown(view: View, budget: int) -> None:
    plan = _plan(view, budget, form=CatalogText.MARKDOWN)
    assert plan.text.count("\n- **") == len(plan.shown)


@pytest.mark.slow
@pytest.mark.requirement("K4")
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_level_and_reason_say_what_the_description_is(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    favoured = data.draw(any_favours(view))
    plan = _plan(view, budget, form=form, counting=counting, favoured=favoured)
    for one in plan.shown:
        full = None if one.skill.id in view.name_only else one.skill.description
        match one.level:
            case Level.FULL:
                assert one.description == full
                assert one.reason == ("fits" if plan.is_whole else favoured.get(one.skill.id, "fits"))
            case Level.SHORTENED:
                assert full is not None
                assert one.description is not None
                assert one.description.endswith("…")
                assert full.startswith(one.description.removesuffix("…"))
                assert len(one.description) > 1
                assert one.reason == OVER_BUDGET
            case Level.NAME_ONLY:
                assert one.description is None
                assert one.reason == ("switched" if full is None else OVER_BUDGET)
            case Level.LEFT_OUT:
                pytest.fail("what is left out is not shown")


@pytest.mark.slow
@pytest.mark.requirement("K4")
@given(data=st.data(), view=any_view(), form=forms, counting=countings)
def test_if_everything_fits_favours_change_nothing(
    data: st.DataObject, view: View, form: CatalogText, counting: TokenCounting
) -> None:
    plain = _plan(view, _AMPLE, form=form, counting=counting, favoured={})
    assert _plan(view, _AMPLE, form=form, counting=counting, favoured=data.draw(any_favours(view))) == plain
    assert plain.is_whole
    assert {one.reason for one in plain.shown} <= {"fits", "switched"}
    entries = [(skill, None if skill.id in view.name_only else skill.description) for skill in view.visible]
    assert plain.text == render_catalog(entries, form)
    again = _plan(view, plain.tokens, form=form, counting=counting)
    assert again.tokens <= plain.tokens


@pytest.mark.slow
@pytest.mark.requirement("K4")
@settings(max_examples=200)
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_pinned_skill_is_never_worse_off_than_unpinned(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    if not view.visible:
        return
    skill = data.draw(st.sampled_from(view.visible))
    others = {key: why for key, why in data.draw(any_favours(view)).items() if key != skill.id}
    before = _plan(view, budget, form=form, counting=counting, favoured=others).find(skill.id)
    after = _plan(view, budget, form=form, counting=counting, favoured={skill.id: Favour.PINNED, **others})
    pinned = after.find(skill.id)
    assert before is not None
    assert pinned is not None
    assert _LEVELS.index(pinned.level) <= _LEVELS.index(before.level)


# Never a cliff


def _loose_change(view: View, form: CatalogText, counting: TokenCounting) -> int:
    """Return what a plan may leave of its budget while something is cut: it does not grow with the budget.

    It is what stands around the entries, one name that no longer fitted, and one description of the least length.
    """
    counter, rules = _counter(counting), FORMS[form]
    remark = f"{len(view.visible):,} more skills are not listed here; {_SEARCH} finds them."
    around = counter.count(rules.opening) + counter.count(rules.note(remark))
    return around + max(counter.count(rules.entry(skill, None) + rules.separator) for skill in view.visible) + 12


@pytest.mark.slow
@pytest.mark.requirement("K4")
@settings(max_examples=300)
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_while_something_is_cut_the_budget_is_used(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    plan = _plan(view, budget, form=form, counting=counting, favoured=data.draw(any_favours(view)))
    if not plan.is_whole:
        assert plan.tokens >= budget - _loose_change(view, form, counting)


@pytest.mark.slow
@pytest.mark.requirement("K4")
@settings(max_examples=300)
@given(view=any_view(), budget=budgets, form=forms)
def test_one_token_more_shows_no_skill_less(view: View, budget: int, form: CatalogText) -> None:
    """Without favours, and by a counter that adds up, each skill is shown at least as much."""
    less, more = _plan(view, budget, form=form), _plan(view, budget + 1, form=form)
    assert len(more.shown) >= len(less.shown)
    for one in less.shown:
        found = more.find(one.skill.id)
        assert found is not None
        assert found.level is not Level.LEFT_OUT


@pytest.mark.slow
@pytest.mark.requirement("K4")
@settings(max_examples=300)
@given(data=st.data(), view=any_view(), budget=budgets, form=forms, counting=countings)
def test_one_token_more_costs_at_most_a_name_or_two(
    data: st.DataObject, view: View, budget: int, form: CatalogText, counting: TokenCounting
) -> None:
    """A favoured skill that has just found room may take that of names which cost as much."""
    favoured = data.draw(any_favours(view))
    less = _plan(view, budget, form=form, counting=counting, favoured=favoured)
    more = _plan(view, budget + 1, form=form, counting=counting, favoured=favoured)
    if less.shown:
        cheapest = min(_counter(counting).count(FORMS[form].entry(skill, None)) for skill in view.visible)
        assert len(more.shown) >= len(less.shown) - _loose_change(view, form, counting) // cheapest


@pytest.mark.slow
@pytest.mark.requirement("K4")
@settings(max_examples=300)
@given(data=st.data(), view=any_view(), budget=budgets, form=forms)
def test_one_skill_fewer_leaves_the_others_no_less(
    data: st.DataObject, view: View, budget: int, form: CatalogText
) -> None:
    if not view.visible:
        return
    gone = data.draw(st.sampled_from(view.visible))
    fewer = View("", tuple(skill for skill in view.visible if skill is not gone), view.name_only)
    before, after = _plan(view, budget, form=form), _plan(fewer, budget, form=form)
    shown = {one.skill.id for one in before.shown} - {gone.id}
    assert shown <= {one.skill.id for one in after.shown}


def test_budget_that_shrinks_by_steps_shows_less_by_steps() -> None:
    """Descriptions shorten together, then go from the end, then names go from the end; nothing is lost at once."""
    view = make_view(*(make_skill(f"skill-{number:02}", f"{_LONG} Number {number}.") for number in range(20)))
    plans = [_plan(view, budget) for budget in range(1_100, 0, -100)]
    assert [tuple(len(plan.at(level)) for level in Level) for plan in plans] == [
        (20, 0, 0, 0),
        (9, 11, 0, 0),
        (0, 20, 0, 0),
        (0, 20, 0, 0),
        (0, 20, 0, 0),
        (0, 20, 0, 0),
        (0, 20, 0, 0),
        (0, 13, 7, 0),
        (0, 4, 16, 0),
        (0, 0, 16, 4),
        (0, 0, 6, 14),
    ]


# What is shown first


@pytest.mark.requirement("K4")
def test_favoured_skills_keep_their_descriptions_when_the_others_lose_theirs() -> None:
    view = make_view(*(make_skill(f"skill-{number:02}", _LONG) for number in range(40)))
    favoured = {"project:skill-33": Favour.PINNED, "project:skill-07": Favour.RELEVANT}
    plan = _plan(view, 700, favoured=favoured)
    assert [(one.skill.name, one.reason) for one in plan.shown if one.level is Level.FULL] == [
        ("skill-07", "relevant"),
        ("skill-33", "pinned"),
    ]
    assert len(plan.at(Level.NAME_ONLY)) > 20


@pytest.mark.requirement("K4")
def test_favoured_skills_are_served_in_their_order() -> None:
    view = make_view(*(make_skill(f"skill-{number:02}", _LONG) for number in range(40)))
    favoured = {"project:skill-39": Favour.MENTIONED, "project:skill-38": Favour.RECENT}
    plan = _plan(view, 46, favoured=favoured)
    assert _ids(plan, Level.NAME_ONLY) == ["project:skill-39"]
    assert len(plan.left_out) == 39


@pytest.mark.requirement("K4")
def test_long_descriptions_are_cut_before_short_ones() -> None:
    view = make_view(
        make_skill("long", _LONG * 4), make_skill("short", "Reads a table."), make_skill("other", _LONG * 3)
    )
    plan = _plan(view, 160)
    assert _ids(plan, Level.FULL) == ["project:short"]
    shortened = [one.description or "" for one in plan.shown if one.level is Level.SHORTENED]
    assert len(shortened) == 2
    assert abs(len(shortened[0]) - len(shortened[1])) < 30


@pytest.mark.requirement("K4")
@pytest.mark.parametrize(
    ("description", "shown"),
    [
        (_LONG, "Fills in the forms of a…"),
        ("PDF 表单填写工具适用于各种文件并且可以读取和检查表格的内容然后写入新的文件", "PDF 表单填写工…"),
        ("a" * 200, "a" * 29 + "…"),
        ("Fills " + "a" * 200, "Fills " + "a" * 26 + "…"),
        ("- " * 100, None),
    ],
)
def test_cut_is_between_words_where_there_are_words(description: str, shown: str | None) -> None:
    plan = _plan(make_view(make_skill("forms", description)), 56)
    assert [one.description for one in plan.shown] == [shown]


@pytest.mark.requirement("K4")
@pytest.mark.parametrize(
    ("search_tool", "remark"),
    [
        ("search_skills", "<!-- 8 more skills are not listed here; search_skills finds them. -->"),
        ("", "<!-- 7 more skills are not listed here. -->"),
    ],
)
def test_remark_says_how_many_are_left_out_and_how_to_find_them(search_tool: str, remark: str) -> None:
    view = make_view(*(make_skill(f"skill-{number}", _LONG) for number in range(10)))
    plan = _plan(view, 60, search_tool=search_tool)
    assert plan.text.splitlines()[-2:] == [remark, "</available_skills>"]


@pytest.mark.requirement("K4")
@given(view=any_view(), budget=budgets, form=forms)
def test_remark_counts_what_is_left_out(view: View, budget: int, form: CatalogText) -> None:
    plan = _plan(view, budget, form=form)
    count = len(plan.left_out)
    skills, them = ("1 more skill is", "it") if count == 1 else (f"{count:,} more skills are", "them")
    assert (f"{skills} not listed here; search_skills finds {them}." in plan.text) == bool(plan.text and count)


# Particular cases


@pytest.mark.requirement("J6")
@pytest.mark.parametrize("form", CatalogText)
def test_nothing_visible_is_an_empty_plan(form: CatalogText) -> None:
    plan = _plan(make_view(), 2_000, form=form)
    assert plan == Plan("", 0, 2_000)
    assert plan.is_whole


def test_no_budget_shows_nothing_and_says_so() -> None:
    view = make_view(make_skill("a"), make_skill("b"))
    plan = _plan(view, 0)
    assert plan == Plan("", 0, 0, (), view.visible, least=plan.least)
    assert plan.least > 0
    assert not plan.is_whole
    assert plan.find("project:a") == Placement(view.visible[0], Level.LEFT_OUT, OVER_BUDGET)


@pytest.mark.requirement("R37")
def test_switched_skill_is_shown_by_name_whatever_the_budget() -> None:
    view = make_view(make_skill("a"), make_skill("b"), name_only=["project:b"])
    plan = _plan(view, _AMPLE)
    assert plan.shown == (
        Placement(view.visible[0], Level.FULL, "fits", "Does it."),
        Placement(view.visible[1], Level.NAME_ONLY, "switched"),
    )
    assert plan.is_whole


def test_when_to_use_is_told_with_the_description() -> None:
    skill = make_skill("a", "Does it.")
    added = skill._replace(manifest=skill.manifest._replace(additions=Behaviour(when_to_use="Use it on Mondays.")))
    assert describe(skill) == "Does it."
    assert describe(added) == "Does it. Use it on Mondays."
    repeated = added._replace(manifest=added.manifest._replace(description="Does it. Use it on Mondays."))
    assert describe(repeated) == "Does it. Use it on Mondays."


@pytest.mark.requirement("R50")
def test_description_of_usual_length_takes_about_a_hundred_tokens() -> None:
    skill = make_skill("pdf-fill", _LONG * 3)
    entry = FORMS[CatalogText.XML].entry(skill, skill.description)
    assert _COUNTER.count(entry) <= 110
