"""Measures whether search finds what was meant, and how fast, beside BM25 in SQLite.

Run as `python -m bench.recall [FOLDER]`: on generated skills, and with a folder of real ones also on these, in a
section of its own.
"""

import multiprocessing
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.effort import choose
from bench.generate import generate
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.search import CONTESTANTS, Speed, measure_speed
from bench.timing import measure_spread
from prowess.catalog.discovery import Discovery
from prowess.catalog.search.documents import read_text
from prowess.catalog.search.words import split_words, stem
from prowess.catalog.views import View
from prowess.policy import PROFILES, SourceKind
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.skill.skill import Skill
from prowess.sources.source import Source

GENERATED = choose(1_000, quick=100)
DEPTHS = (1, 10, 50)
SIZES = choose((1_000, 10_000, 100_000), quick=(1_000,))
REPEATS = choose({1_000: 3, 10_000: 2}, quick={1_000: 2})
"""How often each number of skills is measured; else once."""
LEAST_WORDS = 3
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Label:
    """A query, and the skill that it was taken from."""

    query: str
    skill_id: str


@dataclass(frozen=True, slots=True)
class Examination:
    """Skills without the sentences that were held back, and these as queries."""

    skills: tuple[Skill, ...]
    labels: tuple[Label, ...]
    strange: tuple[Label, ...]
    """The same, without every word that the skill still has: what is left can only be found by its meaning."""


def find_skills(folder: Path) -> list[Skill]:
    """Return the skills below a folder, each description once."""
    source = Source(SourceKind.PROJECT, str(folder))
    discovery = Discovery(PROFILES["standard"])
    found = discovery.assemble([(source, discovery.scan(source))], generation=1).skills
    return list({skill.description: skill for skill in reversed(found)}.values())[::-1]


def hold_back(skills: Sequence[Skill]) -> Examination:
    """Take one sentence from every description that has two or more; words of the skill's own name do not count."""
    remaining: list[Skill] = []
    labels: list[Label] = []
    strange: list[Label] = []
    for skill in skills:
        sentences = split_sentences(skill.description)
        held = random.Random(skill.id).randrange(len(sentences))
        rest = skill._replace(manifest=skill.manifest._replace(description=" ".join(_without(sentences, held))))
        query = _drop_words(sentences[held], split_words(skill.name))
        if len(sentences) < 2 or len(split_words(query)) < LEAST_WORDS:
            remaining.append(skill)
            continue
        remaining.append(rest)
        labels.append(Label(query, skill.id))
        text = read_text(rest)
        known = split_words(" ".join((text.name, text.plain, *text.tags, *text.triggers, *text.headings)))
        unknown = _drop_words(query, known)
        if len(split_words(unknown)) >= LEAST_WORDS:
            strange.append(Label(unknown, skill.id))
    return Examination(tuple(remaining), tuple(labels), tuple(strange))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; at least one."""
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence] or [text]


def _without(sentences: Sequence[str], held: int) -> list[str]:
    return [sentence for at, sentence in enumerate(sentences) if at != held]


def _drop_words(text: str, words: Sequence[str]) -> str:
    """Return the text without these words, whatever form they have; a full stop says that nothing is being typed."""
    stems = {stem(word) for word in words}
    kept = [part for part in text.split() if not stems.intersection(map(stem, split_words(part)))]
    return f"{' '.join(kept)}."


class PlannedPrompt:
    """The planner: what a prompt of 2,000 tokens describes for a query, in the order in which it was served."""

    def __init__(self, skills: tuple[Skill, ...], folder: str) -> None:
        self._runtime = Runtime.open(load_settings(environ={"HOME": folder}), skills=[folder])
        self._view = View("", skills)

    def find(self, query: str, limit: int) -> list[str]:
        planning = self._runtime.planning
        served = planning.favour(self._view, query)
        plan = planning.plan(self._view, favours=lambda: served)
        described = {one.skill.id for one in plan.shown if one.description is not None}
        return [skill_id for skill_id in served if skill_id in described][:limit]

    def close(self) -> None:
        self._runtime.close()


def measure_recall(examination: Examination) -> list[tuple[str, ...]]:
    """Return a row for each contestant: the share of queries whose skill is among the first hits."""
    rows: list[tuple[str, ...]] = []
    for name, make in {"prowess' planner": PlannedPrompt, **CONTESTANTS}.items():
        with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
            contestant = make(examination.skills, folder)
            shares: list[str] = []
            for labels in (examination.labels, examination.strange):
                found = [contestant.find(label.query, max(DEPTHS)) for label in labels]
                hits = [
                    sum(label.skill_id in ids[:depth] for label, ids in zip(labels, found, strict=True))
                    for depth in DEPTHS
                ]
                shares += [f"{count / max(1, len(labels)):.1%}" for count in hits]
            contestant.close()
        rows.append((name, *shares))
    return rows


def measure_speeds(sentences: Sequence[str], sizes: Sequence[int]) -> dict[tuple[str, int], list[Speed]]:
    """Return the speeds of each contestant at each number of skills, each measured in a process of its own."""
    found: dict[tuple[str, int], list[Speed]] = {}
    spawning = multiprocessing.get_context("spawn")
    for size in sizes:
        for number in range(REPEATS.get(size, 1)):
            order = list(CONTESTANTS)
            random.Random(number).shuffle(order)
            for name in order:
                with ProcessPoolExecutor(1, mp_context=spawning) as pool:
                    speed = pool.submit(measure_speed, name, size, sentences).result()
                found.setdefault((name, size), []).append(speed)
    return {(name, size): found[name, size] for size in sizes for name in CONTESTANTS}


def _render_speed(name: str, size: int, speeds: Sequence[Speed]) -> tuple[str, ...]:
    return (
        name,
        f"{size:,}",
        _render_spread([one.median_ms for one in speeds], digits=1),
        _render_spread([one.p99_ms for one in speeds], digits=1),
        _render_spread([one.index_seconds for one in speeds], digits=2),
        _render_spread([one.reopen_seconds for one in speeds], digits=2) if name.startswith("prowess") else "-",
        f"{statistics.median(one.memory_mb for one in speeds):.0f}",
        f"{statistics.median(one.disk_mb for one in speeds):.1f}",
    )


def _render_spread(values: Sequence[float], *, digits: int) -> str:
    spread = measure_spread(values)
    middle = f"{spread.median:.{digits}f}"
    if len(values) == 1:
        return f"{middle} (once)"
    return f"{middle} ({spread.first_quartile:.{digits}f}-{spread.third_quartile:.{digits}f})"


def main() -> None:
    """Write the section of generated skills, and that of real ones where there are any."""
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]), kind="real", sizes=SIZES[:1])
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as made:
        generate(Path(made), count=GENERATED)
        measure(Path(made), kind="generated", sizes=SIZES)


def measure(folder: Path, *, kind: Literal["real", "generated"], sizes: Sequence[int]) -> None:
    """Measure with the skills of a folder, and write what came of it."""
    skills = find_skills(folder)
    examination = hold_back(skills)
    recall = measure_recall(examination)
    sentences = sorted({sentence for skill in skills for sentence in split_sentences(skill.description)})
    speeds = measure_speeds(sentences, sizes)
    ending = " of real skills" if kind == "real" else ""
    figures: dict[str, Any] = {
        key: {
            f"{name}, {size:,}": statistics.median(getattr(one, key) for one in found)
            for (name, size), found in speeds.items()
        }
        for key in ("p99_ms", "median_ms", "index_seconds", "memory_mb")
    }
    write_figures(f"search{ending}", {**figures, "skills": len(skills)})
    headings = [f"{what} @{depth}" for what in ("recall", "strange") for depth in DEPTHS]
    rows = [_render_speed(name, size, found) for (name, size), found in speeds.items()]
    write_section(f"Search{ending}", _render(kind, examination, headings, recall, rows))


def _render(
    kind: str,
    examination: Examination,
    headings: Sequence[str],
    recall: list[tuple[str, ...]],
    speed: list[tuple[str, ...]],
) -> str:
    asked = " FOLDER" if kind == "real" else ""
    return "\n".join(
        [
            f"`python -m bench.recall{asked}` — {render_machine(describe_machine())}",
            "",
            f"{len(examination.skills):,} {kind} skills. From {len(examination.labels):,} descriptions one sentence",
            "was held back; without the words of the skill's name it is a query, and `recall @10` says how often its",
            f"skill is among the first ten hits. `strange` is for {len(examination.strange):,} queries without every",
            "word that the skill still has anywhere, in whatever form. The planner's row counts the skills that a",
            "prompt of 2,000 tokens describes for the query, in the order in which they were served. Plain BM25 sees",
            "name and description, as FTS5 indexes them by default, and takes any word of the query.",
            "",
            render_table(("contestant", *headings), recall),
            "",
            f"Speed, over skills made of four sentences of {kind} descriptions each, 300 queries of all kinds, in",
            "processes of their own; medians and quartiles of several, `once` where it is one. `reopen` is the time",
            "until a new search has its index from the cache, `memory` what the process has grown by.",
            "",
            render_table(
                ("contestant", "skills", "median ms", "p99 ms", "index s", "reopen s", "memory MB", "disk MB"), speed
            ),
        ]
    )


if __name__ == "__main__":
    main()
