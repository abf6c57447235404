"""Quotations: which lines, and always as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.agent.offline.content_words import find_words
from prowess.agent.offline.quoting import MAX_LINE, Quotation, quote, quote_all, render_quotation

_TEXT = """\
# Baking

Bread takes time.
Do not hurry.

MARKER: LOAF

## Cakes

Cakes are quick.

- eggs and flour
"""


def _lines(words: str, *, hints: tuple[str, ...] = (), most: int = 8) -> tuple[str, ...]:
    return quote(_TEXT, words=find_words(words), hints=hints, is_markdown=True, most=most).lines


def test_labelled_lines_come_first_then_what_matches_in_the_order_of_the_text() -> None:
    assert _lines("quick cakes") == ("MARKER: LOAF", "## Cakes", "Cakes are quick.")
    assert _lines("quick cakes", most=1) == ("MARKER: LOAF",)
    assert _lines("flour") == ("MARKER: LOAF", "- eggs and flour")


def test_paragraph_is_quoted_whole() -> None:
    assert _lines("hurry") == ("Bread takes time.", "Do not hurry.", "MARKER: LOAF")


def test_what_stands_beside_the_file_is_looked_for() -> None:
    found = quote('{\n  "key": 1,\n  "keys": 2,\n  "x": "key"\n}', words=(), hints=("key",), is_markdown=False, most=6)
    assert found == Quotation(('  "key": 1,', '  "x": "key"'), 3)


def test_where_nothing_matches_it_is_the_beginning() -> None:
    plain = _TEXT.replace("MARKER: ", "")
    found = quote(plain, words=find_words("poems"), is_markdown=True, most=3)
    assert found == Quotation(("# Baking", "Bread takes time.", "Do not hurry."), 4)


def test_output_is_quoted_from_its_beginning_with_later_labels() -> None:
    text = "\n".join([*map(str, range(10)), "", "NOTE: late", "end"])
    assert quote_all(text, most=3) == Quotation(("0", "1", "2", "NOTE: late"), 8)
    assert quote_all("", most=3) == Quotation()


@pytest.mark.parametrize(
    ("quotation", "text"),
    [
        (Quotation(("a", "  b")), "> a  \n>   b"),
        (Quotation(("a",), 1), "> a\n\n(1 more line is not quoted.)"),
        (Quotation(("a",), 1_200), "> a\n\n(1,200 more lines are not quoted.)"),
        (Quotation(("x" * 400,)), f"> {'x' * MAX_LINE} […]"),
    ],
)
def test_quotation_says_what_is_left_out(quotation: Quotation, text: str) -> None:
    assert render_quotation(quotation) == text


@given(
    text=st.text(alphabet="ab#-|`*: \nN", max_size=300),
    words=st.lists(st.sampled_from(["a", "b", "ab", "ba"]), max_size=3),
    is_markdown=st.booleans(),
    most=st.integers(1, 10),
)
def test_every_line_stands_in_the_text_as_it_is(text: str, words: list[str], is_markdown: bool, most: int) -> None:
    found = quote(text, words=words, hints=("b",), is_markdown=is_markdown, most=most)
    written = [line.rstrip() for line in text.split("\n")]
    assert [line for line in found.lines if line not in written] == []
    assert len(found.lines) <= max(most, 5)
    assert found.left_out >= 0
