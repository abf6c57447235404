"""Many patterns at once find what each of them finds alone."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.activation.pattern_sets import PatternSet
from prowess.skill.triggers import find_pattern_fault

_atoms = st.sampled_from(["a", "b", "ab", "k", "é", "ß", ".", r"\w", "^", "$", "[ab]", r"\s", "[^a]", "K"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
).filter(lambda pattern: not find_pattern_fault(pattern))


def _search(patterns: list[str], text: str) -> list[tuple[int, str]]:
    return list(PatternSet(patterns).search(text, unless=frozenset[int]().__contains__))


@given(st.lists(_patterns, min_size=1, max_size=8), st.text(st.sampled_from("abAkKéÉß \n"), max_size=12))
@settings(max_examples=300)
def test_patterns_together_find_what_each_finds_alone(patterns: list[str], text: str) -> None:
    together = _search(patterns, text)
    alone = [(place, found) for place, one in enumerate(patterns) for _, found in _search([one], text)]
    assert together == alone


@given(st.lists(st.sampled_from(["pdf", "form", "fill", "sign"]), max_size=6).map(" ".join))
def test_literal_patterns_find_what_python_finds(text: str) -> None:
    patterns = ["pdf form", r"\bfill\b", "(?:sign|form) pdf", "l s"]
    assert _search(patterns, text) == [
        (n, found[0]) for n, one in enumerate(patterns) if (found := re.search(one, text))
    ]


def test_group_whose_filter_is_too_large_for_its_memory_still_finds() -> None:
    patterns = [chr(0x4E00 + number) * 480 for number in range(100)]
    assert _search(patterns, f"x {patterns[5]} {patterns[90]}") == [(5, patterns[5]), (90, patterns[90])]


def test_places_are_those_of_the_whole_sequence_and_may_be_passed_over() -> None:
    patterns = [f"word{number}x" for number in range(2_500)]
    text = " ".join(f"word{number}x" for number in (3, 999, 1_000, 2_499))
    assert [place for place, _ in _search(patterns, text)] == [3, 999, 1_000, 2_499]
    kept = PatternSet(patterns).search(text, unless=lambda place: place < 1_000)
    assert [place for place, _ in kept] == [1_000, 2_499]


def test_text_that_cannot_be_encoded_is_searched() -> None:
    assert _search(["pdf"], "\ud800 PDF") == [(0, "PDF")]
    assert _search([], "anything") == []
