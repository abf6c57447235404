"""Search a text for many patterns at once, by RE2, at a bounded price.

A filter first finds which patterns could match at all, by the literal texts in them; only those are tried. What trying
them may cost is bounded too: where many could match a long text, each owner of patterns has a fair share of the steps,
and patterns that would need more see the beginning of the text only. No clock is asked, so the answer is always the
same.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prowess.skill.triggers import make_pattern_options

__all__ = ["OwnedPattern", "PatternSet"]

_MAX_STEPS = 10_000_000
"""Of one search: a step is one instruction of a small pattern at one byte, and takes up to 5 nanoseconds."""
_STEPS_TO_BEGIN = 1_500
_SMALL = 128
"""Instructions; each one more counts thrice, since the tables of a large pattern do not fit its memory."""
_LEAST_BYTES = 64
"""A pattern is tried on so much of a text, or not at all."""
_BYTES_FOR_ALL = 256
"""So much of it can be searched for all the patterns that must be tried on every text; further ones are left out."""
_MAX_BYTES_TOGETHER = 80_000
"""Nearly what the filter of one group has memory for; each group takes time for itself."""
_WITNESS = b"\nprowess-filter-witness"
"""Added to what the filter sees. If it does not find even this, it has failed, and everything is tried."""


class OwnedPattern(NamedTuple):
    """A pattern that RE2 accepts, the size of its program, and a number for whose it is."""

    owner: int
    text: str
    size: int


class PatternSet:
    """Patterns, known by their place in the sequence; those of one owner stand together."""

    def __init__(self, patterns: Sequence[OwnedPattern]) -> None:
        self._patterns = patterns
        self._groups = [group for start, texts in _divide(patterns) for group in _make_groups(start, texts)]
        unguarded = [place for group in self._groups for place in group.possible(b"")]
        self.left_out = frozenset(_choose_left_out(patterns, unguarded))
        """Places of patterns without literal texts that are never tried, since there are too many of their kind."""

    def search(self, text: str, *, unless: Callable[[int], bool]) -> Iterator[tuple[int, str]]:
        """Return the places of the patterns that match, in order, each with the text it found first.

        `unless` says of a place whether to pass it over, and is asked when its turn comes.
        """
        raw = text.encode("utf-8", "replace")
        groups = iter(self._groups)
        group = next(groups, None)
        for place, end in self._plan(raw, unless):
            while group is not None and place >= group.end:
                group = next(groups, None)
            found = group.search(place, raw, end) if group is not None and end and not unless(place) else None
            if found is not None:
                yield place, found

    def find_cut(self, text: str, *, unless: Callable[[int], bool]) -> list[int]:
        """Return the places of the patterns that could match, but are not tried on all of the text."""
        raw = text.encode("utf-8", "replace")
        return [place for place, end in self._plan(raw, unless) if end < len(raw)]

    def _plan(self, raw: bytes, unless: Callable[[int], bool]) -> list[tuple[int, int]]:
        """Return the places of the patterns to try, each with how many bytes of the text it may see."""
        possible = [place for group in self._groups for place in group.possible(raw) if place not in self.left_out]
        places = [place for place in possible if not unless(place)]
        prices = [_price(self._patterns[place].size, len(raw)) for place in places]
        if sum(prices) <= _MAX_STEPS:
            return [(place, len(raw)) for place in places]
        of_owners: dict[int, list[int]] = {}
        wanted: Counter[int] = Counter()
        for place, price in zip(places, prices, strict=True):
            owner = self._patterns[place].owner
            of_owners.setdefault(owner, []).append(place)
            wanted[owner] += price
        shares = _share(wanted, _MAX_STEPS)
        return [end for owner, own in of_owners.items() for end in self._allot(own, shares[owner], len(raw))]

    def _allot(self, places: Sequence[int], steps: int, length: int) -> Iterator[tuple[int, int]]:
        """Return for the patterns of one owner how many bytes each may see: some, and a fair part of what is left."""
        sizes = {place: self._patterns[place].size for place in places}
        least = {place: _price(size, min(length, _LEAST_BYTES)) for place, size in sizes.items()}
        while sum(least.values()) > steps:
            least.popitem()
        more = {place: _price(sizes[place], length) - price for place, price in least.items()}
        more = _share(more, steps - sum(least.values()))
        for place, size in sizes.items():
            yield place, min(length, _LEAST_BYTES) + more[place] // _weigh(size) if place in least else 0


class _Group:
    """Patterns that share a filter."""

    def __init__(self, start: int, patterns: Sequence[OwnedPattern]) -> None:
        re2: Any = importlib.import_module("re2")
        self._start = start
        self.end = start + len(patterns)
        self._filter: Any = re2.Filter()
        for _, text, size in patterns:
            self._filter.Add(text.encode(), make_pattern_options(size))
        self._filter.Add(_WITNESS, make_pattern_options(0))
        try:
            self._filter.Compile()
            self.works = self._find(b"") is not None
        except re2.error:
            self.works = False

    def search(self, place: int, raw: bytes, end: int) -> str | None:
        found = self._filter.re(place - self._start).search(raw, 0, end)
        return found.group().decode("utf-8", "replace") if found else None

    def possible(self, raw: bytes) -> Sequence[int]:
        """Return the places of the patterns that could match."""
        found = self._find(raw) if self.works else None
        return range(self._start, self.end) if found is None else found

    def _find(self, raw: bytes) -> list[int] | None:
        possible: list[int] = self._filter.Match(raw + _WITNESS, potential=True) or []
        witness = self.end - self._start
        if witness not in possible:
            return None
        return sorted(self._start + index for index in possible if index != witness)


def _divide(patterns: Sequence[OwnedPattern]) -> Iterator[tuple[int, Sequence[OwnedPattern]]]:
    start = size_bytes = 0
    for place, pattern in enumerate(patterns):
        size_bytes += len(pattern.text.encode())
        if size_bytes > _MAX_BYTES_TOGETHER:
            yield start, patterns[start:place]
            start, size_bytes = place, len(pattern.text.encode())
    if start < len(patterns):
        yield start, patterns[start:]


def _make_groups(start: int, patterns: Sequence[OwnedPattern]) -> Iterator[_Group]:
    """Return the patterns as one group, or as more if one filter is too small for them."""
    group = _Group(start, patterns)
    if group.works or len(patterns) == 1:
        yield group
        return
    half = len(patterns) // 2
    yield from _make_groups(start, patterns[:half])
    yield from _make_groups(start + half, patterns[half:])


def _choose_left_out(patterns: Sequence[OwnedPattern], unguarded: Sequence[int]) -> Iterator[int]:
    """Return which of the patterns that every text must be searched for are too many.

    Owners take turns, and in each turn small patterns come first.
    """
    turns: Counter[int] = Counter()
    order: list[tuple[int, int, int]] = []
    for place in unguarded:
        owner, _, size = patterns[place]
        order.append((turns[owner], _price(size, _BYTES_FOR_ALL), place))
        turns[owner] += 1
    room = _MAX_STEPS
    for _, price, place in sorted(order):
        if price > room:
            yield place
        else:
            room -= price


def _price(size: int, length: int) -> int:
    """Return the most steps that a pattern of this size takes for so many bytes."""
    return _STEPS_TO_BEGIN + _weigh(size) * (length + 1)


def _weigh(size: int) -> int:
    return size + 2 * max(0, size - _SMALL)


def _share(wanted: Mapping[int, int], steps: int) -> dict[int, int]:
    """Share out the steps: who wants few has all of them, and the others have equal parts of the rest."""
    shares: dict[int, int] = {}
    for served, (who, many) in enumerate(sorted(wanted.items(), key=lambda item: (item[1], item[0]))):
        shares[who] = min(many, steps // (len(wanted) - served))
        steps -= shares[who]
    return shares
