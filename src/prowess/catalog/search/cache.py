"""The documents of skills, kept while the skills stay the same, in this process and across processes."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple

from prowess.catalog.cache_file import read_cache, write_cache
from prowess.catalog.search.documents import Document, SearchedText, make_document, read_text
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD
from prowess.sources.source import is_text
from prowess.sources.stamps import is_reliable, stamp_file
from prowess.version import __version__

__all__ = ["DocumentCache", "Embed"]

Embed = Callable[[Sequence[SearchedText]], Sequence[bytes]]
"""From texts to their meanings."""

_HEADER = b"prowess-search-1\n"
_SPARE = 1_000
"""How many documents that nobody asked for are kept in any case."""
_UNSETTLED = b""
"""Stands for a basis that cannot be relied on: the file was changed just now and may change again unseen."""


class KeptDocument(NamedTuple):
    """A document, and a hash of all that it was made from."""

    basis: bytes
    name: str
    words: str
    """With blanks between them, which is read faster than a list."""
    weights: bytes
    meaning: bytes


class _Known(NamedTuple):
    """A document in this process."""

    basis: bytes
    document: Document
    skill: Skill | None
    """The very object that it was made from; discovery makes another one when the SKILL.md changes."""


@dataclass(slots=True)
class _Root:
    """What is known of the skills below one root, by their ids."""

    known: dict[str, _Known]
    most: int = 0
    """How many were asked for at once."""
    changed: bool = False


class DocumentCache:
    """Answers with the document of each skill, made anew only if the skill has changed. For one thread at a time."""

    def __init__(self, folder: str | None, *, kind: str, embed: Embed | None = None) -> None:
        """Documents of another kind are kept apart."""
        self._folder = folder
        self._kind = kind
        self._embed = embed
        self._roots: dict[str, _Root] = {}

    def get_all(self, skills: Sequence[Skill]) -> list[Document]:
        """Return the documents of the skills, in their order."""
        found: list[Document | None] = []
        missing: list[tuple[int, bytes]] = []
        for position, skill in enumerate(skills):
            root = self._roots.get(skill.root) or self._load(skill.root)
            known = root.known.get(skill.id)
            if known is not None and known.skill is skill:
                found.append(known.document)
                continue
            basis = _read_basis(skill)
            if known is not None and known.basis == basis != _UNSETTLED:
                root.known[skill.id] = known._replace(skill=skill)
                found.append(known.document)
                continue
            found.append(None)
            missing.append((position, basis))
        for position, document in self._make(skills, missing):
            found[position] = document
        self._trim(skills)
        return [document for document in found if document is not None]

    def save(self) -> None:
        """Keep what was learned for other processes."""
        for path, root in self._roots.items():
            if root.changed and self._folder is not None and is_text(path):
                kept = {
                    identity: _keep(basis, document)
                    for identity, (basis, document, _) in root.known.items()
                    if basis != _UNSETTLED and is_text(identity)
                }
                write_cache(self._file(self._folder, path), header=_HEADER, value=kept)
            root.changed = False

    def _make(self, skills: Sequence[Skill], missing: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, Document]]:
        texts = [read_text(skills[position]) for position, _ in missing]
        meanings = self._embed(texts) if self._embed and texts else [b""] * len(texts)
        for (position, basis), text, meaning in zip(missing, texts, meanings, strict=True):
            skill = skills[position]
            document = make_document(text, meaning=meaning)
            root = self._roots[skill.root]
            root.known[skill.id] = _Known(basis, document, skill)
            root.changed = True
            yield position, document

    def _load(self, path: str) -> _Root:
        kept = None
        if self._folder is not None and is_text(path):
            kept = read_cache(self._file(self._folder, path), header=_HEADER, kind=dict[str, KeptDocument])
        root = self._roots[path] = _Root(
            {identity: _Known(document.basis, _restore(document), None) for identity, document in (kept or {}).items()}
        )
        return root

    def _trim(self, skills: Sequence[Skill]) -> None:
        """Forget what is probably gone, where far more is known of a root than was ever asked for at once."""
        asked: dict[str, set[str]] = {}
        for skill in skills:
            asked.setdefault(skill.root, set()).add(skill.id)
        for path, identities in asked.items():
            root = self._roots[path]
            root.most = max(root.most, len(identities))
            if len(root.known) > 2 * root.most + _SPARE:
                root.known = {identity: root.known[identity] for identity in sorted(identities)}
                root.changed = True

    def _file(self, folder: str, root: str) -> str:
        return os.path.join(folder, hashlib.sha256(f"{self._kind}\0{root}".encode()).hexdigest()[:32])


def _keep(basis: bytes, document: Document) -> KeptDocument:
    return KeptDocument(basis, document.name, " ".join(document.words), document.weights, document.meaning)


def _restore(kept: KeptDocument) -> Document:
    return Document(kept.name, tuple(map(intern, kept.words.split())), kept.weights, kept.meaning)


def _read_basis(skill: Skill) -> bytes:
    """Return a hash of all that the document is made from; instead of the instructions, of their file's stamp."""
    taken = time.time_ns()
    try:
        stamp = stamp_file(os.stat(f"{skill.folder}/{SKILL_MD}"))
    except (OSError, ValueError):  # There is no such file, or no file can have such a name.
        stamp = None
    if stamp is not None and not is_reliable(stamp, taken=taken):
        return _UNSETTLED
    name, description, _, _, _, additions, frontmatter = skill.manifest
    asks = (additions.when_to_use, additions.triggers) if additions else None
    # Tags are in the frontmatter, and reading them takes longer than all the rest.
    whole = repr((__version__, stamp, skill.category, name, description, asks, frontmatter))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()
