"""Searches as contestants, and how fast each of them is: Prowess by words, by words and meaning, and BM25 in SQLite."""

import os
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from prowess.catalog.search import SkillSearch
from prowess.catalog.search.lexical import MAX_VISITED
from prowess.policy import Ranking, SourceKind
from prowess.skill.manifest import Behaviour, Manifest
from prowess.skill.skill import Skill

QUERIES = 300
_WORD = re.compile(r"\w+")
_LONG_WORD = re.compile(r"[a-z]{4,}")


class Contestant(Protocol):
    """A search over one tuple of skills."""

    def find(self, query: str, limit: int) -> list[str]:
        """Return the ids of the best, best first."""
        ...

    def close(self) -> None:
        """Write what is kept."""
        ...


class Prowess:
    """Our own search."""

    def __init__(self, skills: tuple[Skill, ...], folder: str, ranking: Ranking) -> None:
        self._search = SkillSearch(folder, ranking=ranking)
        self._skills = skills
        self._search.find("nothing", skills=skills)

    def find(self, query: str, limit: int) -> list[str]:
        return [hit.skill_id for hit in self._search.find(query, skills=self._skills, limit=limit)]

    def close(self) -> None:
        self._search.close()


class PlainBm25:
    """FTS5 over name and description: no stems, no weights, any word of the query."""

    def __init__(self, skills: tuple[Skill, ...], folder: str) -> None:
        self._skills = skills
        os.makedirs(folder, exist_ok=True)
        self._database = sqlite3.connect(os.path.join(folder, "fts.db"))
        self._database.execute("CREATE VIRTUAL TABLE texts USING fts5(name, description)")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'row')")
        rows = ((at, skill.name, render_plain(skill)) for at, skill in enumerate(skills))
        self._database.executemany("INSERT INTO texts (rowid, name, description) VALUES (?, ?, ?)", rows)
        self._database.commit()

    def find(self, query: str, limit: int) -> list[str]:
        words = self._choose(_WORD.findall(query.lower()))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", (match, limit)
        )
        return [self._skills[int(row[0])].id for row in rows.fetchall()]

    def _choose(self, words: Sequence[str]) -> Sequence[str]:
        return words

    def close(self) -> None:
        self._database.close()


class PrunedBm25(PlainBm25):
    """The same with the rarest words only, as many as visit no more entries than Prowess does."""

    def _choose(self, words: Sequence[str]) -> Sequence[str]:
        counted = sorted(
            (count, word)
            for word in set(words)
            for (count,) in self._database.execute("SELECT doc FROM words WHERE term = ?", (word,))
        )
        visited, chosen = 0, list[str]()
        for count, word in counted:
            visited += count
            if not chosen or visited <= MAX_VISITED:
                chosen.append(word)
        return chosen


CONTESTANTS: dict[str, Callable[[tuple[Skill, ...], str], Contestant]] = {
    "prowess, by words": partial(Prowess, ranking=Ranking.LEXICAL),
    "prowess, fused": partial(Prowess, ranking=Ranking.FUSED),
    "FTS5, plain BM25": PlainBm25,
    "FTS5, common words pruned": PrunedBm25,
}


@dataclass(frozen=True, slots=True)
class Speed:
    """What one contestant takes for one number of skills."""

    index_seconds: float
    median_ms: float
    p99_ms: float
    memory_mb: float
    disk_mb: float
    reopen_seconds: float


def measure_speed(name: str, size: int, sentences: Sequence[str]) -> Speed:
    """Run one contestant in this process, which should be a fresh one, over skills made of these sentences."""
    skills = make_skills(size, sentences)
    queries = make_queries(sentences)
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        memory = _read_rss_mb()
        begun = time.perf_counter()
        contestant = CONTESTANTS[name](skills, folder)
        indexed = time.perf_counter() - begun
        times: list[float] = []
        for query in queries:
            begun = time.perf_counter()
            contestant.find(query, 10)
            times.append((time.perf_counter() - begun) * 1000)
        memory = _read_rss_mb() - memory
        contestant.close()
        disk = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
        begun = time.perf_counter()
        if name.startswith("prowess"):
            CONTESTANTS[name](skills, folder).close()
        reopened = time.perf_counter() - begun
    return Speed(indexed, statistics.median(times), statistics.quantiles(times, n=100)[98], memory, disk, reopened)


def make_skills(count: int, sentences: Sequence[str]) -> tuple[Skill, ...]:
    """Skills of four sentences, about as many words as a real skill has with its headings; there are no files."""
    rng = random.Random(count)
    return tuple(_make_skill(rng, number, sentences) for number in range(count))


def _make_skill(rng: random.Random, number: int, sentences: Sequence[str]) -> Skill:
    words = _LONG_WORD.findall(rng.choice(sentences).lower())[:2]
    name = "-".join((*words, str(number)))
    first, second, third, fourth = rng.choices(sentences, k=4)
    manifest = Manifest(name, f"{first} {second}", additions=Behaviour(when_to_use=f"{third} {fourth}"))
    return Skill(f"user:{name}", SourceKind.USER, "/bench", name, f"/bench/{name}", manifest)


def make_queries(sentences: Sequence[str]) -> list[str]:
    """Whole sentences, a few words, words with a typing error, and words that are being typed, in turn."""
    rng = random.Random(len(sentences))
    words = [word for sentence in sentences for word in _LONG_WORD.findall(sentence.lower())]

    def swap(word: str) -> str:
        at = rng.randrange(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    kinds: tuple[Callable[[], str], ...] = (
        lambda: rng.choice(sentences),
        lambda: " ".join(rng.choices(words, k=3)) + ".",
        lambda: f"{rng.choice(words)} {swap(rng.choice(words))}.",
        lambda: f"{rng.choice(words)} {rng.choice(words)[:3]}",
    )
    return [kinds[number % len(kinds)]() for number in range(QUERIES)]


def render_plain(skill: Skill) -> str:
    """Return what plain BM25 sees besides the name."""
    return f"{skill.description}\n{skill.manifest.behaviour.when_to_use}"


def _read_rss_mb() -> float:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
