"""The catalog, written by the forms that there are and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.agent.offline.catalog_reading import Entry, parse_catalog, parse_gone
from prowess.disclosure.catalog_text import render_catalog
from prowess.policy import CatalogText, SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill

_SIGNS = "abc <>&\"'\\`*_[](){}:.,#|-é技"
_names = st.text(_SIGNS, min_size=1, max_size=12).map(str.strip).filter(bool)
_descriptions = st.none() | st.text(_SIGNS, max_size=40).map(lambda text: " ".join(text.split()))


def _skill(name: str) -> Skill:
    return Skill(f"user:{name}", SourceKind.USER, "/srv", "s", "/srv/s", Manifest(name, "Does it."))


@pytest.mark.parametrize("form", CatalogText)
@given(rows=st.lists(st.tuples(_names, _descriptions), max_size=4, unique_by=lambda row: row[0]))
def test_catalog_is_read_back_from_every_form(form: CatalogText, rows: list[tuple[str, str | None]]) -> None:
    text = render_catalog([(_skill(name), description) for name, description in rows], form)
    assert parse_catalog(f"Some words.\n\n{text}\n\nMore words.") == tuple(
        Entry(name, description or "") for name, description in rows
    )


@pytest.mark.parametrize("form", CatalogText)
def test_remark_on_the_whole_is_no_skill(form: CatalogText) -> None:
    text = render_catalog([(_skill("one"), "First.")], form, remark="7 more skills are not listed -- search for them")
    assert parse_catalog(text) == (Entry("one", "First."),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        '{"available_skills": 3}',
        '{"available_skills": [1, {"name": 2}, {"name": "a", "description": []}]}',
        '{"available_skills": [',
        '{"available_skills": ' + "[" * 100_000,
        "- **outside**: of a list",
        "<skill><name></name></skill>",
    ],
)
def test_what_is_no_catalog_gives_no_skills(text: str) -> None:
    assert parse_catalog(text) == ()


def test_half_of_a_character_is_made_whole() -> None:
    assert parse_catalog('{"available_skills": [{"name": "a\\ud800"}]}') == (Entry("a?"),)


def test_names_that_are_gone_are_read() -> None:
    assert parse_gone("The skills have changed.\n\nNo longer available: a, b&amp;c.\n") == ("a", "b&c")
    assert parse_gone("7 skills are no longer available.") == ()
