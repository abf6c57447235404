"""Which lines a text means, and what a reader is told of a cut."""

import pytest

from prowess.disclosure.line_ranges import ALL_LINES, Excerpt, LineRange, cut_text, parse_lines
from prowess.errors import ToolInputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10-20", LineRange(10, 20)),
        ("10-", LineRange(10, None)),
        ("-20", LineRange(1, 20)),
        ("7", LineRange(7, 7)),
        (" 3 - 4 ", LineRange(3, 4)),
        ("1-1", LineRange(1, 1)),
    ],
)
def test_range_is_read(text: str, expected: LineRange) -> None:
    assert parse_lines(text) == expected


@pytest.mark.parametrize(
    "text", ["", "-", "0", "0-3", "5-4", "-0", "a", "1-b", "1-2-3", "1 2", "+3", "1.5", "١", "1" * 10, "--3", "1\0"]
)
def test_what_is_no_range_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        parse_lines(text)
    assert caught.value.code == "invalid-lines"
    assert "'10-20', '10-', '-20' or '7'" in caught.value.hint


def _cut(raw: bytes, lines: LineRange = ALL_LINES, *, limit: int = 100, size: int | None = None) -> Excerpt:
    return cut_text(raw, size_bytes=len(raw) if size is None else size, lines=lines, limit_bytes=limit)


@pytest.mark.parametrize(
    ("raw", "lines", "limit", "expected"),
    [
        (b"a\nb\nc", ALL_LINES, 100, Excerpt("a\nb\nc", 1, 3, 3)),
        (b"a\nb\nc\n", ALL_LINES, 100, Excerpt("a\nb\nc\n", 1, 3, 3)),
        (b"\n", ALL_LINES, 100, Excerpt("\n", 1, 1, 1)),
        (b"", ALL_LINES, 100, Excerpt("", 1, 0, 0)),
        (b"a\nb\nc\n", LineRange(2, 9), 100, Excerpt("b\nc\n", 2, 3, 3)),
        (
            b"aaaa\nbbbb\n",
            ALL_LINES,
            5,
            Excerpt("aaaa\n", 1, 1, 2, "Cut: 5 of 10 bytes are shown, line 1. Read on with lines '2-'."),
        ),
        (
            b"aaaa\nbbbb\ncccc\n",
            LineRange(1, 2),
            7,
            Excerpt("aaaa\nbb", 1, 2, 3, "Cut: 7 of 10 bytes are shown, lines 1-2. Read on with lines '2-'."),
        ),
        (
            b"a\nbbbb\nc\n",
            LineRange(2),
            2,
            Excerpt(
                "bb",
                2,
                2,
                3,
                "Cut: 2 of 7 bytes are shown, line 2. "
                "This line alone is longer than the limit; read on after it with lines '3-'.",
            ),
        ),
        (
            b"aaaa",
            ALL_LINES,
            2,
            Excerpt(
                "aa",
                1,
                1,
                1,
                "Cut: 2 of 4 bytes are shown, line 1. "
                "This line alone is longer than the limit, and the rest of it cannot be read.",
            ),
        ),
    ],
)
def test_excerpt_says_where_it_stands_and_what_is_missing(
    raw: bytes, lines: LineRange, limit: int, expected: Excerpt
) -> None:
    assert _cut(raw, lines, limit=limit) == expected


def test_text_that_goes_on_beyond_what_was_read_has_no_known_number_of_lines() -> None:
    found = _cut(b"a\nb\n", size=10)
    assert found.total_lines is None
    assert found.notice == "Cut: 4 of 10 bytes are shown, lines 1-2. A resource cannot be read further than this."
    assert _cut(b"a\nb\n", LineRange(1, 1), size=10) == Excerpt("a\n", 1, 1, None)
    with pytest.raises(ToolInputError, match="not within the first 4 bytes"):
        _cut(b"a\nb\n", LineRange(3), size=10)


def test_line_that_is_not_there_is_refused_with_the_number_of_lines() -> None:
    with pytest.raises(ToolInputError) as caught:
        _cut(b"a\nb\n", LineRange(3))
    assert caught.value.message == "there is no line 3; the resource has 2 lines"
    assert caught.value.hint == "ask for lines between 1 and 2"
    with pytest.raises(ToolInputError, match="the resource has 0 lines"):
        _cut(b"", LineRange(1, 2))


def test_line_is_found_in_a_text_of_millions_of_lines() -> None:
    raw = b"\n" * (16 << 20)
    found = _cut(raw, LineRange(len(raw) - 5, len(raw) - 4))
    assert (found.text, found.first_line, found.last_line) == ("\n\n", len(raw) - 5, len(raw) - 4)
