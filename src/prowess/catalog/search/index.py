"""The index over one tuple of skills: for every word, the documents that have it.

The statistics of a ranking come from these documents alone. Skills that an agent may not see, or that were there once,
change nothing in its answers.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prowess.catalog.search.documents import Document

__all__ = ["Postings", "SearchIndex", "build_index", "derive_index"]

Postings: TypeAlias = "array[int]"
"""The documents that have a word, by number: `number << 8 | weight`, rising."""

_TYPE = "I"
_MAX_NUMBER = 1 << 24


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """Where each word stands. Never changed, so that any thread may read it."""

    postings: Mapping[str, Postings]
    numbers: Mapping[Document, int]
    positions: Mapping[int, int] | range
    """From a document's number to its place among the skills."""
    names: Mapping[str, int]
    """From a name to the place of a skill that has it."""
    twins: Mapping[str, Sequence[int]]
    """From a name to the places of the other skills that have it."""
    next_number: int

    @property
    def size(self) -> int:
        """How many documents there are."""
        return len(self.numbers)

    def find_named(self, name: str) -> list[int]:
        """Return the places of the skills with just this name, in their order."""
        return sorted((self.names[name], *self.twins.get(name, ()))) if name in self.names else []


def build_index(documents: Sequence[Document]) -> SearchIndex:
    """Return the index of these documents, made from nothing."""
    postings: defaultdict[str, Postings] = defaultdict(lambda: array(_TYPE))
    numbers: dict[Document, int] = {}
    find = postings.__getitem__
    for number, document in enumerate(documents):
        if numbers.setdefault(document, number) != number:
            continue
        # Millions of rounds: all that can be left to the interpreter's own loops is.
        entries = map((number << 8).__or__, document.weights)
        for having, entry in zip(map(find, document.words), entries, strict=False):
            having.append(entry)
    return _assemble(dict(postings), numbers, range(len(documents)), next_number=len(documents))


def derive_index(known: SearchIndex, documents: Sequence[Document]) -> SearchIndex | None:
    """Return the index of these documents, made from one of nearly the same; None if too much differs."""
    wanted = dict.fromkeys(documents)
    added = [document for document in wanted if document not in known.numbers]
    removed = [document for document in known.numbers if document not in wanted]
    is_worth_it = (len(added) + len(removed)) * 8 <= len(documents)
    if not is_worth_it or known.next_number + len(added) > min(_MAX_NUMBER, 2 * len(documents) + 64):
        return None
    postings = _Edits(known.postings)
    numbers = dict(known.numbers)
    for document in removed:
        postings.remove(document, numbers.pop(document))
    number = known.next_number
    for document in added:
        postings.add(document, number)
        numbers[document] = number
        number += 1
    positions: dict[int, int] = {}
    for position, document in enumerate(documents):
        positions.setdefault(numbers[document], position)
    return _assemble(postings.finish(), numbers, positions, next_number=number)


class _Edits:
    """Changes to postings that others are reading: a list is copied before it is changed."""

    def __init__(self, known: Mapping[str, Postings]) -> None:
        self._postings = dict(known)
        self._copied: set[str] = set()

    def add(self, document: Document, number: int) -> None:
        for word, weight in zip(document.words, document.weights, strict=False):
            self._own(word).append(number << 8 | weight)

    def remove(self, document: Document, number: int) -> None:
        for word, _ in zip(document.words, document.weights, strict=False):
            entries = self._own(word)
            del entries[bisect_left(entries, number << 8)]

    def finish(self) -> Mapping[str, Postings]:
        for word in self._copied:
            if not self._postings[word]:
                del self._postings[word]
        return self._postings

    def _own(self, word: str) -> Postings:
        if word not in self._copied:
            self._copied.add(word)
            self._postings[word] = self._postings.get(word, array(_TYPE))[:]
        return self._postings[word]


def _assemble(
    postings: Mapping[str, Postings],
    numbers: Mapping[Document, int],
    positions: Mapping[int, int] | range,
    *,
    next_number: int,
) -> SearchIndex:
    names: dict[str, int] = {}
    twins: dict[str, list[int]] = {}
    for document, number in numbers.items():
        position = positions[number]
        if names.setdefault(document.name, position) != position:
            twins.setdefault(document.name, []).append(position)
    return SearchIndex(postings, numbers, positions, names, twins, next_number)
