"""What changed in a catalog since a model was told of it."""

import pytest
from hypothesis import given

from prowess.catalog.views import View
from prowess.disclosure.deltas import MAX_NAMED_GONE, CatalogDelta, compare_views, render_delta, tell
from prowess.disclosure.tokens import EstimatedTokens
from prowess.policy import CatalogText
from tests.disclosure.catalogs import any_view, make_skill, make_view

_COUNTER = EstimatedTokens()
_FORM = CatalogText.XML
_A, _B, _C = make_skill("a", "Does a."), make_skill("b", "Does b."), make_skill("c", "Does c.")


def _render(delta: CatalogDelta, view: View, *, budget: int = 2_000) -> str:
    return render_delta(delta, view, form=_FORM, budget=budget, counter=_COUNTER).text


@pytest.mark.slow
@pytest.mark.requirement("K11")
@given(view=any_view(at_most=10))
def test_nothing_changed_is_an_empty_delta(view: View) -> None:
    delta = compare_views(view, View("other agent", view.visible, view.name_only), form=_FORM)
    assert delta == CatalogDelta()
    assert not delta
    assert render_delta(delta, view, form=_FORM, budget=2_000, counter=_COUNTER) == CatalogDelta()


@pytest.mark.slow
@pytest.mark.requirement("K11")
@given(before=any_view(at_most=10), after=any_view(at_most=10))
def test_every_difference_is_told_and_nothing_else(before: View, after: View) -> None:
    told, now = tell(before, form=_FORM), tell(after, form=_FORM)
    delta = compare_views(before, after, form=_FORM)
    assert {skill.id for skill in delta.added} == now.keys() - told.keys()
    assert {skill.id for skill in delta.changed} == {one for one in now.keys() & told.keys() if told[one] != now[one]}
    assert set(delta.removed) == {one[0] for one in told.values()} - {one[0] for one in now.values()}
    assert not compare_views(after, after, form=_FORM)


@pytest.mark.requirement("K11")
def test_added_changed_and_removed_skills_are_told() -> None:
    view = make_view(_A, make_skill("b", "Does b & more."), _C)
    delta = compare_views(make_view(_A, _B, make_skill("gone")), view, form=_FORM)
    assert delta == CatalogDelta(added=(_C,), changed=(view.visible[1],), removed=("gone",))
    assert _render(delta, view).splitlines() == [
        "The skills have changed.",
        "",
        "New or changed:",
        "<available_skills>",
        "<skill>",
        "<name>c</name>",
        "<description>Does c.</description>",
        "</skill>",
        "<skill>",
        "<name>b</name>",
        "<description>Does b &amp; more.</description>",
        "</skill>",
        "</available_skills>",
        "",
        "No longer available: gone.",
    ]


@pytest.mark.requirement("K11")
def test_name_that_another_skill_still_has_is_not_gone() -> None:
    twin = make_skill("a", "Does a otherwise.", skill_id="user:a")
    delta = compare_views(make_view(_A, twin), make_view(twin), form=_FORM)
    assert delta == CatalogDelta()


@pytest.mark.requirement("K11")
def test_former_name_of_a_renamed_skill_is_gone() -> None:
    renamed = make_skill("new", "Does a.", skill_id=_A.id)
    delta = compare_views(make_view(_A), make_view(renamed), form=_FORM)
    assert delta == CatalogDelta(changed=(renamed,), removed=("a",))


@pytest.mark.requirement("K11", "R37")
def test_skill_that_is_switched_to_its_name_has_changed() -> None:
    view = make_view(_A, _B, name_only=[_B.id])
    delta = compare_views(make_view(_A, _B), view, form=_FORM)
    assert delta == CatalogDelta(changed=(_B,))
    assert "Does b." not in _render(delta, view)


@pytest.mark.requirement("K11")
def test_relevant_skills_are_told_apart_from_changes() -> None:
    view = make_view(_A, _B)
    text = _render(CatalogDelta(relevant=(_B,)), view)
    assert text.splitlines()[:2] == ["These skills may fit the request:", "<available_skills>"]
    assert "<name>b</name>" in text
    assert "changed" not in text


@pytest.mark.requirement("K11", "K4")
def test_lists_are_within_the_budget_together() -> None:
    skills = [make_skill(f"skill-{number}", "Does a thing that takes many words to say. " * 5) for number in range(300)]
    view = make_view(*skills)
    text = _render(CatalogDelta(added=tuple(skills[:4]), relevant=tuple(skills[4:])), view, budget=500)
    first, second = text.split("These skills may fit the request:\n")
    lists = (first.split("New or changed:\n")[1].strip(), second)
    assert sum(map(_COUNTER.count, lists)) <= 500
    assert "more skills are not listed here." in second


def test_many_names_that_are_gone_are_counted() -> None:
    before = make_view(*(make_skill(f"skill-{number}") for number in range(MAX_NAMED_GONE + 1_000)))
    view = make_view()
    text = _render(compare_views(before, view, form=_FORM), view)
    assert text.endswith(f"skill-{MAX_NAMED_GONE - 1} and 1,000 more.")


@pytest.mark.requirement("K11")
def test_place_of_a_skill_counts_only_where_it_is_shown() -> None:
    moved = _A._replace(folder="/elsewhere/a")
    before, after = make_view(_A), make_view(moved)
    assert not compare_views(before, after, form=CatalogText.XML)
    assert compare_views(before, after, form=CatalogText.MARKDOWN).changed == (moved,)
