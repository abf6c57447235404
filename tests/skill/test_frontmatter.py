"""Where frontmatter begins and ends, and what is said when there is none to read."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.frontmatter import (
    HEAD_BYTES,
    MAX_FRONTMATTER_BYTES,
    Frontmatter,
    is_closed,
    split_frontmatter,
    split_plain_frontmatter,
)
from prowess.skill.problems import Problem, Severity
from tests.skill.writing import Place, places

_TEXT = "name: a\ndescription: b\n"
_E, _W = Severity.ERROR, Severity.WARNING


@pytest.mark.requirement("R1", "R12", "J4")
@pytest.mark.parametrize(
    ("head", "text", "body"),
    [
        pytest.param(b"---\nname: a\ndescription: b\n---\nBody\n", _TEXT, b"Body\n", id="plain"),
        pytest.param(b"---\nname: a\ndescription: b\n---", _TEXT, b"", id="ends at the fence"),
        pytest.param(b"---\nname: a\ndescription: b\n---\n", _TEXT, b"", id="empty body"),
        pytest.param(b"---\nname: a\ndescription: b\n---\nBody", _TEXT, b"Body", id="no final newline"),
        pytest.param(b"---\r\nname: a\r\ndescription: b\r\n---\r\nB\r\n", _TEXT, b"B\r\n", id="CRLF"),
        pytest.param(b"---\r\nname: a\r\ndescription: b\r\n---", _TEXT, b"", id="CRLF to the end"),
        pytest.param(b"---\nname: a\r\ndescription: b\n---\r\nB", _TEXT, b"B", id="mixed line breaks"),
        pytest.param(codecs.BOM_UTF8 + b"---\nname: a\ndescription: b\n---\nB", _TEXT, b"B", id="BOM"),
        pytest.param(codecs.BOM_UTF8 + b"---\r\nname: a\r\ndescription: b\r\n---\r\n", _TEXT, b"", id="BOM and CRLF"),
        pytest.param(b"---\n---\nBody", "", b"Body", id="nothing between the fences"),
        pytest.param(b"---\n---", "", b"", id="fences only"),
        pytest.param(b"---\na: x---y\n---\n", "a: x---y\n", b"", id="hyphens inside a value"),
        pytest.param(b"---\na: |\n  ---\n  b\n---\nB", "a: |\n  ---\n  b\n", b"B", id="indented fence"),
        pytest.param(b"---\na: b\n----\n---\nB", "a: b\n----\n", b"B", id="four hyphens"),
        pytest.param(b"---\na: b\n--- x\n---\nB", "a: b\n--- x\n", b"B", id="text after hyphens"),
        pytest.param(
            b"---\na: b\n---\nB\n\n---\nc: d\n---\n", "a: b\n", b"B\n\n---\nc: d\n---\n", id="rules in the body"
        ),
        pytest.param(b"---\na: b\n---\n\xff\xfe\0body", "a: b\n", b"\xff\xfe\0body", id="body in no encoding"),
        pytest.param("---\na: é😀\n---\né".encode(), "a: é😀\n", "é".encode(), id="beyond ASCII"),
    ],
)
def test_frontmatter_is_what_stands_between_the_fences(head: bytes, text: str, body: bytes) -> None:
    expected = Frontmatter(text, 2, len(head) - len(body))
    assert split_frontmatter(head) == expected
    assert split_frontmatter(head, strict=True) == expected


@pytest.mark.requirement("R12", "J3", "J4")
@pytest.mark.parametrize(
    ("head", "first_line", "offset", "expected"),
    [
        pytest.param(b"\n---\na: b\n---\n", 3, 14, [("blank-lines-first", _W, 1, 1)], id="one blank line"),
        pytest.param(b"\r\n \t\n---\na: b\n---\n", 4, 18, [("blank-lines-first", _W, 1, 1)], id="blank lines"),
        pytest.param(b"--- \na: b\n---\n", 2, 14, [("fence-not-exact", _W, 1, 4)], id="opening"),
        pytest.param(b"---\na: b\n---\t \r\nB", 2, 16, [("fence-not-exact", _W, 3, 4)], id="closing"),
        pytest.param(
            b"\n---  \na: b\n--- ",
            3,
            16,
            [("blank-lines-first", _W, 1, 1), ("fence-not-exact", _W, 2, 4), ("fence-not-exact", _W, 4, 4)],
            id="all at once",
        ),
    ],
)
def test_inexact_frontmatter_is_read_with_a_warning(
    head: bytes, first_line: int, offset: int, expected: list[Place]
) -> None:
    found = split_frontmatter(head)
    assert isinstance(found, Frontmatter)
    assert (found.text, found.first_line, found.body_offset) == ("a: b\n", first_line, offset)
    assert places(found.problems) == expected


@pytest.mark.requirement("J4")
def test_strict_reading_takes_an_inexact_fence_for_an_error() -> None:
    found = split_frontmatter(b"--- \na: b\n---\t\n", strict=True)
    assert isinstance(found, Frontmatter)
    assert places(found.problems) == [("fence-not-exact", _E, 1, 4), ("fence-not-exact", _E, 3, 4)]


_LARGE = b"a: " + b"x" * MAX_FRONTMATTER_BYTES + b"\n"


@pytest.mark.requirement("R12", "J4")
@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(b"", ("no-frontmatter", 1, 1), id="empty file"),
        pytest.param(b"# Title\n", ("no-frontmatter", 1, 1), id="no fence"),
        pytest.param(b" ---\nname: a\n ---\n", ("no-frontmatter", 1, 1), id="indented fences"),
        pytest.param(b"----\nname: a\n----\n", ("no-frontmatter", 1, 1), id="four hyphens"),
        pytest.param(b"---\rname: a\r---\r", ("no-frontmatter", 1, 1), id="CR only"),
        pytest.param(b"Rules\n---\nnot: keys\n---\n", ("no-frontmatter", 1, 1), id="rules around no known key"),
        pytest.param(b"# T\n---\nname: a\n---\n", ("text-before-frontmatter", 1, 1), id="text before"),
        pytest.param(
            b"\n<!-- c -->\n---\ndescription: a\n---\n", ("text-before-frontmatter", 1, 1), id="comment before"
        ),
        pytest.param(b"---\nname: a\n", ("frontmatter-unclosed", 1, 1), id="unclosed"),
        pytest.param(b"---", ("frontmatter-unclosed", 1, 1), id="one fence"),
        pytest.param(b"\n\n---\nname: a\n", ("frontmatter-unclosed", 3, 1), id="unclosed after blank lines"),
        pytest.param(b"---\nname: a\n...\n", ("frontmatter-unclosed", 1, 1), id="dots"),
        pytest.param(b"---\nname: a\n --- \n", ("frontmatter-unclosed", 1, 1), id="indented closing fence"),
        pytest.param(b"---\n" + _LARGE + b"---\n", ("frontmatter-too-large", 2, 1), id="too large"),
        pytest.param(b"---\n" + _LARGE, ("frontmatter-too-large", 1, 1), id="too large to see its end"),
        pytest.param(codecs.BOM_UTF16_LE + "---\n".encode("utf-16-le"), ("utf-16", 1, 1), id="UTF-16 LE"),
        pytest.param(codecs.BOM_UTF16_BE + "---\n".encode("utf-16-be"), ("utf-16", 1, 1), id="UTF-16 BE"),
        pytest.param(b"---\na: b\nc: d\0e\n---\n", ("nul-byte", 3, 5), id="NUL"),
        pytest.param(b"---\na: caf\xe9\n---\n", ("not-utf-8", 2, 7), id="Latin-1 in the first line"),
        pytest.param(b"---\na: b\nc: d\ne: \xfcber\n---\n", ("not-utf-8", 4, 4), id="Latin-1 further down"),
        pytest.param(b"\n\n---\r\na: b\r\n\xe9: d\r\n---\r\n", ("not-utf-8", 5, 1), id="Latin-1 after CRLF"),
        pytest.param(b"---\na: \xed\xa0\x80\n---\n", ("not-utf-8", 2, 4), id="a surrogate"),
    ],
)
def test_file_without_readable_frontmatter_gives_one_error_with_its_place(
    head: bytes, expected: tuple[str, int, int]
) -> None:
    code, line, column = expected
    for strict in (False, True):
        found = split_frontmatter(head, strict=strict)
        assert isinstance(found, Problem)
        assert places([found]) == [(code, _E, line, column)]


def test_problem_says_on_which_line_misplaced_frontmatter_begins() -> None:
    found = split_frontmatter(b"# Title\n\nSome text.\n\n---\nname: a\n---\n")
    assert found == Problem(
        "text-before-frontmatter",
        _E,
        "text before the frontmatter, which begins in line 5",
        line=1,
        column=1,
        remedy="move the frontmatter to the first line",
    )


@pytest.mark.requirement("J4")
def test_frontmatter_of_just_the_largest_size_is_read() -> None:
    text = "a: " + "x" * (MAX_FRONTMATTER_BYTES - 4) + "\n"
    assert split_frontmatter(f"---\n{text}---\nB".encode()) == Frontmatter(text, 2, MAX_FRONTMATTER_BYTES + 8)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(b"---\na: b\n---\nBody", True, id="closed"),
        pytest.param(b"---\r\na: b\r\n---\r\nBody", True, id="closed with CRLF"),
        pytest.param(b"\n---\na: b\n--- \nBody", True, id="closed inexactly"),
        pytest.param(b"# No frontmatter\n", True, id="none to close"),
        pytest.param(b"---\na: b\n", False, id="open"),
        pytest.param(b"---\na: b\n --- \n----\n...\n", False, id="nothing that is a fence"),
        pytest.param(codecs.BOM_UTF8 + b"---\r\na: b\r\n", False, id="open after a BOM"),
        pytest.param(b"---\n" + b"a" * HEAD_BYTES, False, id="longer than a head"),
        *(
            pytest.param(b"---\na: b\n" + end, False, id=f"may go on after {end!r}")
            for end in (b"---", b"--- ", b"---\r", b"---\t")
        ),
        pytest.param(b"\n" * 8_192, False, id="blank lines only"),
    ],
)
def test_head_is_closed_when_more_of_the_file_cannot_matter(head: bytes, *, expected: bool) -> None:
    assert is_closed(head) is expected


@pytest.mark.requirement("J4")
@pytest.mark.parametrize("closing", [b"--- \n", b"---\r\n", b"---\t\n"])
def test_a_rule_in_the_body_is_not_taken_for_the_closing_fence(closing: bytes) -> None:
    head = b"---\nname: a\n" + closing
    body = b"# Title\n\n---\n\nMore.\n"
    short, whole = split_frontmatter(head), split_frontmatter(head + body)
    assert isinstance(whole, Frontmatter)
    assert (whole, whole.text, whole.body_offset) == (short, "name: a\n", len(head))
    assert split_plain_frontmatter(head + body) is None


_LINES = st.sampled_from(
    ["---", "--- ", "---\r", "----", " ---", "name: a", "description: b", "", "# T", "\ufeff---", "...", "é"]
)


@pytest.mark.requirement("R12", "J4")
@given(lines=st.lists(_LINES, max_size=9), line_break=st.sampled_from(["\n", "\r\n"]), more=st.binary(max_size=12))
def test_what_follows_a_closed_head_never_changes_its_frontmatter(
    lines: list[str], line_break: str, more: bytes
) -> None:
    head = "".join(f"{line}{line_break}" for line in lines).encode()
    found = split_frontmatter(head)
    if isinstance(found, Frontmatter):
        assert is_closed(head)
        assert split_frontmatter(head + more) == found


@given(head=st.binary(max_size=200) | st.binary(max_size=60).map(lambda inner: b"---\n" + inner + b"\n---\n"))
def test_any_bytes_give_frontmatter_or_an_error(head: bytes) -> None:
    found = split_frontmatter(head)
    assert isinstance(found, Frontmatter) or found.severity is _E
