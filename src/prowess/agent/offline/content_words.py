"""Which words of a text say what it is about, and how well two texts fit by them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prowess.catalog.search.words import FUNCTION_WORDS, split_words, stem

__all__ = ["Fit", "find_plain_words", "find_words", "measure_fits"]

_MAX_CHARACTERS = 20_000
"""Of a text; what is longer is known by its beginning."""
_MAX_ASKED = 40
"""Words of a message that count."""
_IDLE = frozenset(
    (
        *("about", "again", "all", "also", "any", "anything", "ask", "been", "both", "could", "did", "done", "each"),
        *(
            "else",
            "every",
            "get",
            "give",
            "go",
            "got",
            "had",
            "he",
            "help",
            "her",
            "here",
            "him",
            "his",
            "just",
            "know",
        ),
        *("let", "like", "may", "maybe", "might", "more", "most", "much", "must", "need", "now", "off", "one", "only"),
        *("other", "out", "over", "own", "really", "said", "same", "say", "says", "see", "she", "should", "show"),
        *("some", "something", "tell", "than", "thing", "things", "too", "up", "use", "used", "user", "uses", "using"),
        *("very", "way", "were", "while", "whole", "d", "don", "ll", "m", "re", "s", "t", "ve", "run", "skill"),
    )
)
"""Words of requests and descriptions that speak for no skill in particular."""
_IDLE_STEMS = frozenset(map(stem, _IDLE))
_SHARE_OF_MANY = 0.2
_SHARE_OF_ONE = 0.5
"""How much of what is asked for must be met: by two words or more, and by a single one."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a text fits a request."""

    score: float
    """To be compared within one request."""
    share: float
    """Of what was asked for, from 0 to 1."""
    shared: tuple[str, ...]
    """The stems that both have, in the order of the request."""

    @property
    def is_good(self) -> bool:
        """Whether it fits well enough to be acted on."""
        return self.share >= (_SHARE_OF_MANY if len(self.shared) > 1 else _SHARE_OF_ONE)


def find_plain_words(text: str) -> tuple[str, ...]:
    """Return the words that say something, as they are written but in small letters, each once, in their order."""
    words = split_words(text[:_MAX_CHARACTERS])
    return tuple(dict.fromkeys(word for word in words if word not in FUNCTION_WORDS and stem(word) not in _IDLE_STEMS))


def find_words(text: str) -> tuple[str, ...]:
    """Return the stems of the words that say something, each once, in their order."""
    return tuple(dict.fromkeys(map(stem, find_plain_words(text))))


def measure_fits(asked: Sequence[str], texts: Iterable[tuple[str, str]]) -> tuple[Fit, ...]:
    """Return how well each text, a title and a body, fits the stems that are asked for. Rare words count more."""
    asked = asked[:_MAX_ASKED]
    pairs = [(frozenset(find_words(title)), frozenset(find_words(body))) for title, body in texts]
    counts = Counter(word for title, body in pairs for word in title | body)
    weight = {word: math.log(1 + len(pairs) / counts.get(word, 1)) for word in asked}
    total = sum(weight[word] for word in asked)
    return tuple(_measure(asked, title, body, weight, total) for title, body in pairs)


def _measure(
    asked: Sequence[str], title: frozenset[str], body: frozenset[str], weight: dict[str, float], total: float
) -> Fit:
    shared = tuple(word for word in asked if word in title or word in body)
    score = sum(weight[word] * (2 if word in title else 1) for word in shared)
    share = sum(weight[word] for word in shared) / total if total else 0.0
    return Fit(score, share, shared)
