"""Patterns with stars: what they match, by a slow and obvious reading of them."""

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prowess.execution.rules.globs import matches_glob

_PATTERNS = st.text("ab/*?[.\n", max_size=12)
_TEXTS = st.text("ab/?[.\n", max_size=12)


def _matches_slowly(pattern: str, text: str, before: str = "/") -> bool:
    """Whether the text matches, by trying everything; `before` is the character of the pattern that came last."""
    if not pattern:
        return not text
    if before == "/" and pattern.startswith("**/"):
        rest = pattern[3:]
        folders = [place + 1 for place, char in enumerate(text) if char == "/"]
        return any(_matches_slowly(rest, text[place:]) for place in (0, *folders))
    if pattern.startswith("*"):
        rest = pattern.lstrip("*")
        deep = len(pattern) - len(rest) > 1
        most = len(text) if deep or "/" not in text else text.index("/")
        return any(_matches_slowly(rest, text[place:], "*") for place in range(most + 1))
    return text[:1] == pattern[0] and _matches_slowly(pattern[1:], text[1:], pattern[0])


@given(_PATTERNS, _TEXTS)
@example("**/**/a", "b/a")
@example("a/**/b", "a/b")
@example("a**/b", "a/x/b")
@example("***/a", "x/y/a")
@example("**/*", "")
@example("**", "a/b\n")
def test_pattern_matches_what_its_words_say(pattern: str, text: str) -> None:
    assert matches_glob(pattern, text) == _matches_slowly(pattern, text)


@given(st.text("ab*?[]!x.\n", max_size=12), st.text("ab?[]!x.\n", max_size=12))
def test_pattern_without_slashes_matches_as_in_a_shell(pattern: str, text: str) -> None:
    escaped = re.sub(r"[?\[]", r"[\g<0>]", pattern)
    assert matches_glob(pattern, text) == fnmatchcase(text, escaped)


@given(_TEXTS)
def test_text_matches_itself_and_two_stars(text: str) -> None:
    assert (matches_glob(text, text), matches_glob("**", text), matches_glob("**/" + text, text)) == (True, True, True)


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("src/**", ["src/a", "src/a/b", "src/"], ["src", "source/a"]),
        ("**/test", ["test", "a/test", "a/b/test"], ["atest", "a/test/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab"]),
        ("", [""], ["a"]),
        ("[a]?", ["[a]?"], ["a", "ab"]),
    ],
)
def test_table_of_patterns(pattern: str, matched: list[str], not_matched: list[str]) -> None:
    found = [text for text in (*matched, *not_matched) if matches_glob(pattern, text)]
    assert found == matched


def test_pattern_that_hangs_other_matchers_is_soon_done() -> None:
    pattern = "*a" * 200 + "b"
    assert not matches_glob(pattern, "a" * 20_000)  # Others would not come to an end.
    assert not matches_glob("**/" + "**/a/" * 100 + "b", "a/" * 10_000)
