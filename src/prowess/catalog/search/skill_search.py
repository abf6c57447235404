"""The search that the rest of the program uses: it keeps what is dear to make, and puts the answers together."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prowess.catalog.search.cache import DocumentCache
from prowess.catalog.search.documents import Document
from prowess.catalog.search.index import SearchIndex, build_index, derive_index
from prowess.catalog.search.lexical import Match, rank_by_words
from prowess.catalog.search.spelling import Vocabulary
from prowess.catalog.search.vectors import embed_documents, identify_model, rank_by_meaning, stack_meanings
from prowess.policy import Ranking
from prowess.skill.skill import Skill

if TYPE_CHECKING:
    from prowess.catalog.search.vectors import Vectors

__all__ = ["Hit", "SkillSearch"]

_MAX_VIEWS = 4
"""How many tuples of skills are kept ready."""
_FUSED_DEPTH = 100
_RANK_OFFSET = 5
"""Of reciprocal rank fusion. Small, since the first few hits of either ranking are worth far more than the rest."""
_WORDS_SHARE, _MEANING_SHARE = 0.6, 0.4


@dataclass(frozen=True, slots=True)
class Hit:
    """A skill that was found."""

    skill_id: str
    score: float
    """Above 0 and at most 1, higher is better; to be compared within one answer only."""


@dataclass(frozen=True, slots=True)
class _View:
    """What is kept ready for one tuple of skills."""

    skills: tuple[Skill, ...]
    index: SearchIndex
    vocabulary: Vocabulary
    vectors: "Vectors | None"


class SkillSearch:
    """Finds skills among those that the caller may see, and tells nothing about any other. Any thread may ask.

    Of a skill count its name, description, tags, triggers, category and the headings of its instructions. A change of
    nothing but headings shows when the catalog changes next.
    """

    def __init__(self, folder: str | None = None, *, ranking: Ranking = Ranking.LEXICAL) -> None:
        """`folder` is a cache that is always safe to delete; None keeps everything in memory.

        Fused ranking needs the extra `semantic`, whose vectors follow the licence of Llama 2.
        """
        self._ranking = ranking
        # With fused ranking, what is missing is said here and not at the first question.
        self._cache = (
            DocumentCache(folder, kind="words")
            if ranking is Ranking.LEXICAL
            else DocumentCache(folder, kind=f"meanings {identify_model()}", embed=embed_documents)
        )
        self._vocabulary = Vocabulary()
        self._views: tuple[_View, ...] = ()
        self._lock = threading.Lock()

    def find(self, query: str, *, skills: Sequence[Skill], limit: int = 10) -> tuple[Hit, ...]:
        """Return the skills that fit best, best first, equals in the given order; a skill of just this name is first.

        Much is kept ready for a tuple that comes again.
        """
        skills = tuple(skills)
        if limit <= 0 or not skills:
            return ()
        view = self._find_view(skills) or self._make_view(skills)
        depth = limit if view.vectors is None else max(limit, _FUSED_DEPTH)
        found = rank_by_words(query, index=view.index, vocabulary=view.vocabulary, limit=depth)
        if view.vectors is not None:
            nearest = rank_by_meaning(query, vectors=view.vectors, limit=depth)
            found = _fuse(found, nearest)
        return tuple(Hit(skills[match.position].id, match.score) for match in found[:limit])

    def close(self) -> None:
        """Keep what was learned for other processes."""
        with self._lock:
            self._cache.save()
            self._views = ()

    def _find_view(self, skills: tuple[Skill, ...]) -> _View | None:
        return next((view for view in self._views if view.skills is skills), None)

    def _make_view(self, skills: tuple[Skill, ...]) -> _View:
        with self._lock:
            view = self._find_view(skills)
            if view is not None:  # Another thread was quicker.
                return view
            documents = self._cache.get_all(skills)
            index = self._make_index(documents)
            self._vocabulary.add(index.postings)
            vectors = None if self._ranking is Ranking.LEXICAL else stack_meanings(documents)
            view = _View(skills, index, self._vocabulary, vectors)
            self._views = (view, *self._views)[:_MAX_VIEWS]
            self._forget_words()
            return view

    def _forget_words(self) -> None:
        """Make the vocabulary anew from the views that are kept, if they have less than half of its words."""
        if self._vocabulary.size <= 2 * max(len(view.index.postings) for view in self._views):
            return
        words = {word: None for view in self._views for word in view.index.postings}
        if self._vocabulary.size > 2 * len(words):
            self._vocabulary = Vocabulary()
            self._vocabulary.add(words)
            self._views = tuple(replace(view, vocabulary=self._vocabulary) for view in self._views)

    def _make_index(self, documents: Sequence[Document]) -> SearchIndex:
        for view in self._views:
            derived = derive_index(view.index, documents)
            if derived is not None:
                return derived
        return build_index(documents)


def _fuse(by_words: Sequence[Match], by_meaning: Sequence[int]) -> list[Match]:
    """Return both rankings as one: every place in one of them counts by its reciprocal, whatever the scores were.

    What has just the name that was asked for stays first.
    """
    named = [match for match in by_words if match.score == 1]
    points: dict[int, float] = {}
    for share, ranked in ((_WORDS_SHARE, [match.position for match in by_words]), (_MEANING_SHARE, by_meaning)):
        for rank, position in enumerate(ranked):
            points[position] = points.get(position, 0.0) + share * _RANK_OFFSET / (_RANK_OFFSET + rank)
    for match in named:
        del points[match.position]
    rest = sorted(points.items(), key=lambda item: (-item[1], item[0]))
    return [*named, *(Match(position, min(score, 1.0)) for position, score in rest)]
