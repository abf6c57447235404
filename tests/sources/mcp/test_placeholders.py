"""A placeholder says what the list says, and is told from the skill by its last line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.policy import Reading
from prowess.skill.deception import clean_text
from prowess.skill.reading import parse_skill
from prowess.sources.mcp.placeholders import MARK, PLACEHOLDER_END, render_placeholder
from prowess.sources.mcp.wire_frontmatter import matches_frontmatter

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXT, _VALUES, max_size=5))
def test_placeholder_has_the_frontmatter_that_was_listed(extra: dict[str, Any]) -> None:
    frontmatter = {"name": "refunds", "description": "Does it.", **extra}
    text = render_placeholder(frontmatter)
    assert text is not None
    assert matches_frontmatter(json.loads(json.dumps(frontmatter)), text)
    assert text.endswith(PLACEHOLDER_END)


@given(_TEXT.filter(str.strip))
def test_description_is_read_back_as_it_was_listed(description: str) -> None:
    text = render_placeholder({"name": "refunds", "description": description})
    assert text is not None
    judged = parse_skill(text, folder="refunds", reading=Reading())
    clean = clean_text(description).text
    assert (judged.manifest.description if judged.manifest else "") == clean
    assert (judged.manifest is not None) is bool(clean)
    assert judged.manifest is None or judged.manifest.text.rstrip("\n").endswith(MARK)


@pytest.mark.parametrize("value", ["\ud800", float("nan"), "x" * 70_000])
def test_what_yaml_cannot_hold_has_no_placeholder(value: object) -> None:
    assert render_placeholder({"name": "refunds", "description": "Does it.", "note": value}) is None


def test_key_that_is_too_long_has_no_placeholder() -> None:
    assert render_placeholder({"name": "refunds", "description": "Does it.", "k" * 201: 1}) is None
