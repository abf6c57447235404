"""Which known words a typed word may stand for: its other forms, what it begins, what it was meant to be."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator

from prowess.catalog.search.words import is_solid, stem

__all__ = ["Vocabulary", "measure_distance"]

_SHORTEST_MENDED, _LONGEST_MENDED = 3, 40
_LONG_WORD = 6
"""From this length on, two mistakes are mended instead of one."""
_MAX_COMPARED = 200
"""How many words are compared letter by letter with one that nobody knows."""
_BORDER = "\0"


class Vocabulary:
    """Every word that was ever seen. Callers pass the words that count for them, and get no others.

    It only grows, by one thread at a time; what is read is replaced as a whole. When most of it is of no more use, its
    owner makes another.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._sorted: list[str] = []
        self._families: dict[str, tuple[str, ...]] = {}
        self._pairs: dict[tuple[str, int], list[str]] = {}
        """From two letters that stand together, and the length of a word, to the words."""

    @property
    def size(self) -> int:
        """How many words there are."""
        return len(self._seen)

    def add(self, words: Iterable[str]) -> None:
        """Learn words."""
        new = [word for word in words if word not in self._seen]
        if not new:
            return
        self._seen.update(new)
        for word in new:
            root = stem(word)
            self._families[root] = (*self._families.get(root, ()), word)
            if _can_be_mended(word):
                for pair in _pairs_of(word):
                    self._pairs.setdefault((pair, len(word)), []).append(word)
        self._sorted = sorted(self._sorted + new)

    def find_forms(self, word: str, *, among: Container[str]) -> list[str]:
        """Return the words with the same stem, the word itself included, sorted."""
        return sorted(form for form in self._families.get(stem(word), ()) if form in among)

    def find_beginnings(self, start: str, *, among: Container[str]) -> Iterator[str]:
        """Return the longer words that begin like this, sorted."""
        words = self._sorted
        for at in range(bisect_left(words, start), len(words)):
            if not words[at].startswith(start):
                return
            if words[at] != start and words[at] in among:
                yield words[at]

    def find_near(self, word: str, *, among: Container[str]) -> list[str]:
        """Return the words that differ by the fewest mistakes, sorted; none if there are too many mistakes."""
        if not _can_be_mended(word):
            return []
        most = 2 if len(word) >= _LONG_WORD else 1
        pairs = _pairs_of(word)
        shared: Counter[str] = Counter()
        for length in range(len(word) - most, len(word) + most + 1):
            for pair in pairs:
                shared.update(tuple(self._pairs.get((pair, length), ())))
        # A swap of two letters breaks three pairs, any other mistake two.
        least = max(1, len(pairs) - (3 if most == 1 else 4))
        likely = sorted((-count, near) for near, count in shared.items() if count >= least and near in among)
        distances = {near: measure_distance(word, near, most=most) for _, near in likely[:_MAX_COMPARED]}
        smallest = min(distances.values(), default=most + 1)
        return sorted(near for near, distance in distances.items() if distance == smallest <= most)


def measure_distance(one: str, other: str, *, most: int) -> int:
    """Return how many letters to add, drop, replace or swap with their neighbour; `most + 1` stands for any more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        before, last, row = row, before, [at]
        for to, target in enumerate(other, start=1):
            cost = min(row[to - 1] + 1, before[to] + 1, before[to - 1] + (letter != target))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == target:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _can_be_mended(word: str) -> bool:
    """Whether a mistake in a word can be seen: a number with another digit is just another number."""
    return _SHORTEST_MENDED <= len(word) <= _LONGEST_MENDED and not word.isdigit() and not is_solid(word)


def _pairs_of(word: str) -> set[str]:
    whole = f"{_BORDER}{word}{_BORDER}"
    return {whole[at : at + 2] for at in range(len(whole) - 1)}
