"""Rank documents by the words that they share with a query.

BM25 in whole numbers, so that the order of adding makes no difference. Rare words choose the candidates, common ones
only put them in order: the work is bounded however common the words of a query are.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest

from prowess.catalog.search.documents import MAX_WEIGHT
from prowess.catalog.search.index import Postings, SearchIndex
from prowess.catalog.search.spelling import Vocabulary
from prowess.catalog.search.words import FUNCTION_WORDS, is_solid, split_words

__all__ = ["Match", "rank_by_words"]

MAX_QUERY_LENGTH = 8_192
MAX_QUERY_WORDS = 128
"""How many different words of a query are looked up."""
MAX_TERMS = 24
"""How many of them count: the rarest."""
MAX_MENDED = 4
"""How many unknown words are taken for typing errors."""
MAX_VISITED = 20_000
"""How many entries of postings choose candidates. The rarest word does so however common it is."""
MAX_COMPLETED = 10_000
"""How many entries may come from what an unfinished word may become."""
MIN_CANDIDATES = 200
"""How many candidates the other words put in order."""
MAX_ORDERING = 8
"""How many other words do so."""
_MAX_COMPLETIONS = 24

_EXACT, _FORM, _COMPLETED, _COMPLETED_TOO, _MENDED = 100, 90, 70, 25, 60
"""How alike two words are, in hundredths. The lower value for completions is for what is a word already."""
_SCALE = 64
_FUNCTION_WORD_SHARE = 6
"""What a word counts that says little: the sixth part."""


@dataclass(frozen=True, slots=True)
class Match:
    """A document that has words of the query."""

    position: int
    score: float
    """From 0 to 1, which is a document that could not fit better."""


@dataclass(frozen=True, slots=True)
class _Term:
    """What one word of the query looks for."""

    choices: tuple[tuple[Postings, int], ...]
    """The postings of each word that it may stand for, and how alike they are; none if nobody knows the word."""
    rarity: int
    cost: int


def rank_by_words(query: str, *, index: SearchIndex, vocabulary: Vocabulary, limit: int) -> list[Match]:
    """Return the best matches, best first; among equals, in the order of the skills."""
    query = query[:MAX_QUERY_LENGTH]
    words = split_words(query)
    named = index.find_named(" ".join(words))[:limit] if words else []
    typing = words[-1] if words and query[-1].isalnum() else ""
    asked = list(_find_terms(_drop_last_letters(words), typing=typing, index=index, vocabulary=vocabulary))
    terms = sorted((term for term in asked if term.choices), key=lambda term: term.cost)[:MAX_TERMS]
    unmet = [term for term in asked if not term.choices]
    ideal = _EXACT * (MAX_WEIGHT + 1) * sum(term.rarity for term in (*terms, *unmet))
    best = [Match(position, score / ideal) for score, position in _score(terms, index=index, limit=limit)]
    taken = frozenset(named)
    return [*(Match(position, 1.0) for position in named), *(match for match in best if match.position not in taken)]


def _drop_last_letters(words: Sequence[str]) -> list[str]:
    """Leave out the last letter of a run without blanks: the pair that ends with it says more."""
    pairs = zip(("", *words), words, strict=False)
    return [
        word
        for before, word in pairs
        if not (len(word) == 1 and len(before) == 2 and before[1] == word and is_solid(before))
    ]


def _find_terms(words: Sequence[str], *, typing: str, index: SearchIndex, vocabulary: Vocabulary) -> Iterator[_Term]:
    known = index.postings
    mended = 0
    for word in list(dict.fromkeys(words))[:MAX_QUERY_WORDS]:
        likeness = {form: _EXACT if form == word else _FORM for form in vocabulary.find_forms(word, among=known)}
        rarity = _rarity(likeness, index) if likeness else 0
        if (word == typing and len(word) > 1) or (len(word) == 1 and is_solid(word)):
            value = _COMPLETED_TOO if likeness else _COMPLETED
            for longer in _complete(word, index=index, vocabulary=vocabulary):
                likeness.setdefault(longer, value)
        if not likeness and mended < MAX_MENDED and word not in FUNCTION_WORDS:
            mended += 1
            near = vocabulary.find_near(word, among=known)
            likeness = {form: _MENDED for meant in near for form in vocabulary.find_forms(meant, among=known)}
        rarity = rarity or _rarity(likeness, index)
        yield _Term(
            tuple((known[form], value) for form, value in sorted(likeness.items())),
            max(1, rarity // _FUNCTION_WORD_SHARE) if word in FUNCTION_WORDS else rarity,
            sum(len(known[form]) for form in likeness),
        )


def _complete(word: str, *, index: SearchIndex, vocabulary: Vocabulary) -> Iterator[str]:
    """Return the most common words that begin like this, up to a bound."""
    known = index.postings
    longer = vocabulary.find_beginnings(word, among=known)
    cost = 0
    for completion in nsmallest(_MAX_COMPLETIONS, longer, key=lambda longer: (-len(known[longer]), longer)):
        cost += len(known[completion])
        if cost > MAX_COMPLETED and cost > len(known[completion]):
            return
        yield completion


def _rarity(forms: Iterable[str], index: SearchIndex) -> int:
    """Return how much a word tells, by how few documents have one of its forms."""
    having = min(index.size, sum(len(index.postings[form]) for form in forms))
    return max(1, round(_SCALE * math.log(1 + (index.size - having + 0.5) / (having + 0.5))))


def _score(terms: Sequence[_Term], *, index: SearchIndex, limit: int) -> list[tuple[int, int]]:
    """Return the best scores with their positions."""
    scores: dict[int, int] = {}
    visited = 0
    waiting: list[_Term] = []
    for term in terms:
        visited += term.cost
        if not scores or visited <= MAX_VISITED:
            _visit(term, scores)
        elif len(waiting) < MAX_ORDERING:
            waiting.append(term)
    wanted = max(limit, MIN_CANDIDATES) if waiting else limit
    least = min(nlargest(wanted, scores.values()), default=0)
    positions = index.positions
    ranked = sorted((-score, positions[number], number) for number, score in scores.items() if score >= least)
    final = [
        (score - sum(_look_up(term, number) for term in waiting), position)
        for score, position, number in ranked[:wanted]
    ]
    return [(-score, position) for score, position in sorted(final)[:limit]]


def _visit(term: _Term, scores: dict[int, int]) -> None:
    """Add what the term gives to every document that has it: its best form counts, not all of them."""
    gains: dict[int, int] = {}
    for postings, likeness in term.choices:
        values = [likeness * term.rarity * weight for weight in range(MAX_WEIGHT + 1)]
        if not gains:
            gains = {entry >> 8: values[entry & 255] for entry in postings}
            continue
        known = gains.get
        for entry in postings:
            number, value = entry >> 8, values[entry & 255]
            if value > known(number, 0):
                gains[number] = value
    if not scores:
        scores.update(gains)
        return
    known = scores.get
    for number, gain in gains.items():
        scores[number] = known(number, 0) + gain


def _look_up(term: _Term, number: int) -> int:
    """Return what the term gives to one document."""
    best = 0
    for postings, likeness in term.choices:
        at = bisect_left(postings, number << 8)
        if at < len(postings) and postings[at] >> 8 == number:
            best = max(best, likeness * term.rarity * (postings[at] & 255))
    return best
