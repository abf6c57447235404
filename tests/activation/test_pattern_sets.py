"""Many patterns at once find what each of them finds alone."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.activation.pattern_sets import OwnedPattern, PatternSet
from prowess.skill.manifest import Triggers
from prowess.skill.triggers import judge_patterns

_atoms = st.sampled_from(["a", "b", "ab", "k", "é", "ß", ".", r"\w", "^", "$", "[ab]", r"\s", "[^a]", "K"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
).filter(lambda pattern: bool(judge_patterns(Triggers(patterns=(pattern,))).usable))


_VAGUE = [rf"[a-z ]{{0,100}}[b-y ]{{0,90}}[a-x ]{{0,80}}{number}?\d" for number in range(4)]
"""Large, and without a word that a filter could look for."""
_NO_PLACE = frozenset[int]().__contains__


def _own(patterns: list[str], owner: int = 0) -> list[OwnedPattern]:
    usable = [judge_patterns(Triggers(patterns=(pattern,))).usable[0] for pattern in patterns]
    return [OwnedPattern(owner, text, size) for text, size in usable]


def _search(patterns: list[str], text: str) -> list[tuple[int, str]]:
    return list(PatternSet(_own(patterns)).search(text, unless=_NO_PLACE))


@pytest.mark.slow
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
    patterns = [f"{number:03}" + chr(0x4E00 + number) * 120 for number in range(999)]
    assert _search(patterns, f"x {patterns[5]} {patterns[990]}") == [(5, patterns[5]), (990, patterns[990])]


def test_places_are_those_of_the_whole_sequence_and_may_be_passed_over() -> None:
    patterns = [f"word{number}x" for number in range(2_500)]
    text = " ".join(f"word{number}x" for number in (3, 999, 1_000, 2_499))
    assert [place for place, _ in _search(patterns, text)] == [3, 999, 1_000, 2_499]
    kept = PatternSet(_own(patterns)).search(text, unless=lambda place: place < 1_000)
    assert [place for place, _ in kept] == [1_000, 2_499]


def test_match_of_no_characters_is_one_too() -> None:
    assert _search([r"\b"], "a") == [(0, "")]


def test_text_that_cannot_be_encoded_is_searched() -> None:
    assert _search(["pdf"], "\ud800 PDF") == [(0, "PDF")]
    assert _search([], "anything") == []


# What a search may cost


def test_all_of_a_long_text_is_searched_for_ordinary_patterns() -> None:
    patterns = PatternSet([one for owner in range(20) for one in _own(["fill (?:a|the) form", "sign"], owner)])
    text = "filling " * 1_000 + "sign a form, fill the form"
    assert patterns.find_cut(text, unless=_NO_PLACE) == []
    assert len(list(patterns.search(text, unless=_NO_PLACE))) == 40


def test_large_patterns_see_the_beginning_of_a_long_text_and_others_all_of_it() -> None:
    patterns = PatternSet([*_own(_VAGUE), *_own(["form"], 1)])
    text = f"a{'b' * 8_000} 7 form"
    assert patterns.find_cut(text, unless=_NO_PLACE) == [0, 1, 2, 3]
    assert [place for place, _ in patterns.search(text, unless=_NO_PLACE)] == [4]
    early = f"a 7 {'b' * 8_000} form"
    assert [place for place, _ in patterns.search(early, unless=_NO_PLACE)] == [0, 1, 2, 3, 4]
    assert patterns.find_cut("a 7 form", unless=_NO_PLACE) == []


def test_end_of_what_is_seen_is_not_taken_for_the_end_of_the_text() -> None:
    patterns = PatternSet([*_own([f"(?:{one}|b$)" for one in _VAGUE]), *_own(_VAGUE, 1)])
    assert list(patterns.search("b" * 8_000 + "!", unless=_NO_PLACE)) == []
    assert patterns.find_cut("b" * 8_000 + "!", unless=_NO_PLACE)[:3] == [0, 1, 2]


@pytest.mark.slow
@given(st.integers(1, 30), st.integers(0, 8_192))
@settings(max_examples=30, deadline=None)
def test_pattern_is_never_cut_short_by_others_who_want_more(owners: int, length: int) -> None:
    greedy = [one for owner in range(owners) for one in _own(["(?:bbb)+[a-z ]{0,100}[b-y ]{0,90}[0-9]"] * 8, owner)]
    patterns = PatternSet([*greedy, *_own(["modest"], owners)])
    assert len(greedy) not in patterns.find_cut(f"{'b' * length} modest", unless=_NO_PLACE)


def test_patterns_without_a_word_are_left_out_if_there_are_too_many_and_the_first_of_each_owner_last() -> None:
    many = [one for owner in range(3) for one in _own(_VAGUE * 4, owner)]
    patterns = PatternSet([*many, *_own([r"\d#", "form"], 3)])
    tried = set(range(len(many) + 2)) - patterns.left_out
    assert patterns.left_out
    assert {0, 16, 32, len(many), len(many) + 1} <= tried
    assert sorted(patterns.left_out) == sorted(set(range(len(many))) - tried)
