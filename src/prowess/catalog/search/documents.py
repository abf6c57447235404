"""What of a skill is searched: its words, each with the weight that it has in this skill."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple

from prowess.catalog.search.words import split_words
from prowess.skill.frontmatter import Frontmatter, split_frontmatter
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.heads import read_start

__all__ = ["MAX_WEIGHT", "Document", "SearchedText", "find_headings", "make_document", "read_text"]

MAX_WEIGHT = 255
MAX_BODY_BYTES = 65_536
MAX_HEADINGS = 100
_MAX_FIELD_LENGTH = 8_192
"""A skill that says more is found by the beginning."""

_NAME, _LABEL, _HEADING = 3.0, 2.0, 0.7
"""How much a word counts by where it stands; tags and triggers are labels, and in plain text a word counts 1."""
_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_USUAL_LENGTH = 60.0
"""BM25's k1 and b. The usual length is fixed, so that a weight depends on nothing but its own skill."""

_MARK = re.compile(r"^ {0,3}(?:(`{3,}|~{3,})([^\n]*)|#{1,6}[ \t]+([^\n]+))", re.MULTILINE)


class SearchedText(NamedTuple):
    """All that is searched of a skill, as it is written."""

    name: str
    plain: str
    """The description, and when to use the skill."""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    category: str = ""
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A skill as the search knows it. Compared by identity: what changes gets a new one."""

    name: str
    """The name as words with blanks between them: hyphens, capitals and accents make no difference."""
    words: tuple[str, ...]
    """Every word once."""
    weights: bytes
    """Of the words in their order, from 1 to 255."""
    meaning: bytes = b""
    """A vector of 16-bit floats; empty where only words are compared."""


def read_text(skill: Skill) -> SearchedText:
    """Return the skill's text, with the headings of its instructions if they can be read."""
    manifest = skill.manifest
    plain = manifest.description
    triggers: tuple[str, ...] = ()
    if manifest.additions is not None:
        plain = f"{plain}\n{manifest.additions.when_to_use}"
        triggers = (*manifest.additions.triggers.keywords, *manifest.additions.triggers.verbs)
    # Most have no tags, and need not be parsed again to know it.
    tags = manifest.tags if "tags" in manifest.text or "keywords" in manifest.text else ()
    return SearchedText(manifest.name, plain, tags, triggers, skill.category, tuple(_read_headings(skill.folder)))


def _read_headings(folder: str) -> Iterable[str]:
    try:
        start = read_start(folder, limit=MAX_BODY_BYTES)
    except ValueError:  # No folder can have such a name.
        return ()
    if isinstance(start, Problem):
        return ()
    found = split_frontmatter(start)
    body = start[found.body_offset :] if isinstance(found, Frontmatter) else start
    return find_headings(body.decode("utf-8", "replace"))


def find_headings(text: str) -> Iterator[str]:
    """Return the headings of a Markdown text, outside of code, up to a bound."""
    fence = ""
    count = 0
    for mark in _MARK.finditer(text):
        opening, rest, heading = mark.groups()
        if opening and not fence:
            fence = opening
        elif opening and opening.startswith(fence) and not rest.strip():
            fence = ""
        elif heading and not fence and count < MAX_HEADINGS:
            count += 1
            yield heading


def make_document(text: SearchedText, *, meaning: bytes = b"") -> Document:
    """Return the document of a skill's text."""
    plain = split_words(f"{text.category} {text.plain}"[:_MAX_FIELD_LENGTH])
    length = float(len(plain))
    counts: dict[str, float] = dict(Counter(plain))
    labels = "\n".join((*text.tags, *text.triggers))
    for boost, part in ((_NAME, text.name), (_LABEL, labels), (_HEADING, "\n".join(text.headings))):
        words = split_words(part[:_MAX_FIELD_LENGTH])
        length += min(boost, 1.0) * len(words)
        for word in words:
            counts[word] = counts.get(word, 0.0) + boost
    pivot = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / _USUAL_LENGTH)
    weight_of = {count: max(1, int(MAX_WEIGHT * count / (count + pivot))) for count in set(counts.values())}
    weights = bytes(map(weight_of.__getitem__, counts.values()))
    return Document(" ".join(split_words(text.name)), tuple(map(intern, counts)), weights, meaning)
