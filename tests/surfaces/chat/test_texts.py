"""Texts on their way to a terminal: nothing in them is obeyed, and nothing is wider than the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.deception import make_printable
from prowess.surfaces.cli.chat.columns import cut_to_width, measure, split_at_width, wrap_to_width
from prowess.surfaces.cli.harmless_text import HarmlessStream, make_harmless

_LINES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")))
_WIDTHS = st.integers(1, 120)


@given(st.text())
def test_harmless_text_has_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = make_harmless(text)
    assert [char for char in shown if not char.isprintable() and char not in "\n\t\u200c\u200d"] == []


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs", "Mn")) | st.sampled_from("\n\t")))
def test_text_without_harm_stays_as_it_is(text: str) -> None:
    if all(make_printable(char) == char or char in "\n\t" for char in text):
        assert make_harmless(text) == text


def test_joiners_and_selectors_of_emoji_stay_and_fillers_do_not() -> None:
    assert make_harmless("👩‍💻 ❤️ 1️⃣\n") == "👩‍💻 ❤️ 1️⃣\n"
    stream = HarmlessStream()
    assert stream.feed("❤") + stream.feed("\ufe0f") == "❤️"
    assert make_harmless("\u3164\u2800") == "\\u3164\\u2800"


@given(st.lists(st.text(st.sampled_from("a\r\n\x1b\t"))))
def test_pieces_become_the_same_text_as_the_whole(pieces: list[str]) -> None:
    stream, whole = HarmlessStream(), HarmlessStream()
    shown = "".join(stream.feed(piece) for piece in pieces) + stream.finish()
    assert shown == whole.feed("".join(pieces)) + whole.finish()


def test_end_of_line_may_lie_in_two_pieces() -> None:
    stream = HarmlessStream()
    assert [stream.feed("a\r"), stream.feed("\nb\r"), stream.feed("c"), stream.finish()] == ["a", "\nb", "\\rc", ""]


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("abc", 3), ("技能", 4), ("e\u0301", 1), ("👩‍💻", 4), ("é…", 2)]
)
def test_columns_are_those_that_a_terminal_takes(text: str, columns: int) -> None:
    assert measure(text) == columns


@given(_LINES, _WIDTHS)
def test_cut_line_fits_and_says_that_it_is_cut(line: str, width: int) -> None:
    shown = cut_to_width(line, width)
    assert measure(shown) <= width
    assert shown == line or shown.endswith("…")


@given(_LINES, _WIDTHS)
def test_split_line_is_whole_in_two_parts(line: str, width: int) -> None:
    head, rest = split_at_width(line, width)
    assert head + rest == line
    assert measure(head) <= width


@given(_LINES, st.integers(12, 120))
def test_wrapped_line_loses_single_blanks_only(line: str, width: int) -> None:
    first, *others = wrap_to_width(line, width)
    assert all(measure(one) <= width for one in (first, *others))
    margin = min(len(line) - len(line.lstrip(" ")) + 2, width - 8)
    assert all(one.startswith(" " * margin) for one in others)
    whole = first
    for one in others:
        joint = "" if line.startswith(whole + one[margin:]) else " "
        assert not joint or not (whole.endswith(" ") or one[margin:].startswith(" "))
        whole += joint + one[margin:]
    assert whole == line


def test_blanks_in_a_row_are_not_lost_where_a_line_is_wrapped() -> None:
    assert wrap_to_width("  rm 'a     b' c", 12) == ["  rm 'a    ", "     b' c"]


def test_line_is_wrapped_between_words_where_there_are_some() -> None:
    assert wrap_to_width("  wants to reach the network", 16) == ["  wants to reach", "    the network"]
    assert wrap_to_width("x" * 24, 12) == ["x" * 12, "  " + "x" * 10, "  " + "x" * 2]
