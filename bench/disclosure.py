"""Measures what a turn costs before the model is asked: the plan of the prompt, and the activation of one skill.

`python -m bench.disclosure` writes both; `bench.recall` measures how well the right skills are found, and how fast.
"""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.effort import choose
from bench.generate import generate
from bench.memory_skills import make_skills
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from prowess.catalog.views import View
from prowess.disclosure.catalog_text import render_catalog
from prowess.disclosure.planner import Level
from prowess.policy import CatalogText
from prowess.runtime import Runtime
from prowess.settings import load_settings

SIZES = choose((1_000, 10_000, 100_000), quick=(100, 1_000))
QUERY = "please review the invoices of last month and extract what accounting needs"
ROUNDS = choose(50, quick=5)


def time_each(work: Callable[[], object], *, rounds: int) -> list[float]:
    """Return milliseconds, in rising order, after one call that does not count."""
    work()
    found: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        found.append((time.perf_counter() - begun) * 1000)
    return sorted(found)


def measure_plans() -> list[tuple[str, ...]]:
    """Return a row for each size, with and without a query."""
    rows: list[tuple[str, ...]] = []
    for size in SIZES:
        view = View("", make_skills(size))
        with (
            tempfile.TemporaryDirectory() as home,
            Runtime.open(load_settings(environ={"HOME": home}), skills=[home]) as runtime,
        ):
            rows += [(f"{size:,}", *_measure_plan(runtime, view, query)) for query in ("", QUERY)]
    return rows


def _measure_plan(runtime: Runtime, view: View, query: str) -> tuple[str, ...]:
    begun = time.perf_counter()
    plan = runtime.planning.plan(view, query=query)
    first = (time.perf_counter() - begun) * 1000
    shown = [(one.skill, one.description) for one in plan.shown]
    floor = statistics.median(time_each(lambda: render_catalog(shown, CatalogText.XML), rounds=ROUNDS))
    times = time_each(lambda: runtime.planning.plan(view, query=query), rounds=ROUNDS)
    middle = statistics.median(times)
    return (
        "yes" if query else "no",
        f"{first:,.1f}",
        f"{middle:.2f}",
        f"{times[-1]:.2f}",
        f"{middle / floor:.0f}",
        f"{plan.tokens:,}",
        "/".join(f"{len(plan.at(level)):,}" for level in Level),
    )


def measure_activation() -> list[tuple[str, ...]]:
    """Return what an activation takes beside a bare read of the file and a bare commit of one row."""
    with tempfile.TemporaryDirectory() as home:
        root = Path(home) / "skills"
        generated = generate(root, count=200)
        names = [skill.name for skill in generated]
        with Runtime.open(load_settings(environ={"HOME": home}), skills=[root]) as runtime:
            runtime.view()
            for skill in runtime.catalog().skills:
                runtime.digest(skill)
            time.sleep(0.2)  # Files as young as this clock can tell are never taken as known.
            for skill in runtime.catalog().skills:
                runtime.digest(skill)
            sessions = {name: runtime.session(f"bench {name}") for name in names}
            sessions[names[0]].activate(names[0])
            prompting = sessions[names[0]]

            def activate(name: str) -> object:
                return sessions[name].activate(name)

            calls = {
                "activate a skill": _in_turn(names[1:151], activate),
                "activate it again": _in_turn(names[1:151], activate),
                "read a resource": _in_turn(
                    names[1:151], lambda name: sessions[name].read(name, "references/REFERENCE.md")
                ),
                "prompt, nothing changed": time_each(prompting.prompt, rounds=150),
            }
        bare = _bare_read_and_commit(root, names[1:151], Path(home) / "bare.db")
    base = statistics.median(bare)
    rows = [("read SKILL.md, commit one row of SQLite", bare), *calls.items()]
    return [
        (
            name,
            f"{statistics.median(times):.3f}",
            f"{times[int(len(times) * 0.99)]:.3f}",
            f"{statistics.median(times) / base:.1f}",
        )
        for name, times in rows
    ]


def _in_turn(names: list[str], work: Callable[[str], object]) -> list[float]:
    found: list[float] = []
    for name in names:
        begun = time.perf_counter()
        work(name)
        found.append((time.perf_counter() - begun) * 1000)
    return sorted(found)


def _bare_read_and_commit(root: Path, names: list[str], database: Path) -> list[float]:
    """The least that an activation must do: read the file, and put one row on the disk."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE receipts (name TEXT, size INTEGER)")

    def work(name: str) -> None:
        file = os.open(root / name / "SKILL.md", os.O_RDONLY)
        raw = os.read(file, 1 << 20)
        os.close(file)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO receipts VALUES (?, ?)", (name, len(raw)))
        connection.execute("COMMIT")

    found = _in_turn(names, work)
    connection.close()
    return found


def main() -> None:
    """Write the section of the results."""
    plans, activation = measure_plans(), measure_activation()
    medians = {f"{row[0]}, {row[1]}": float(row[3].replace(",", "")) for row in plans}
    write_figures("disclosure", {"plan_ms": medians, "activate_ms": float(activation[1][1])})
    plan_headings = (
        "skills",
        "query",
        "first ms",
        "median ms",
        "max ms",
        "times the text's rendering",
        "tokens",
        "f/s/n/l",
    )
    write_section(
        "What a turn costs",
        "\n".join(
            [
                f"`python -m bench.disclosure` — {render_machine(describe_machine())}",
                "",
                "The plan of a catalog within 2,000 tokens, from skills in memory; `first` includes making the search",
                "index. `f/s/n/l`: skills in full, shortened, by name, left out. The goal: 20 ms for 10,000 skills.",
                "",
                render_table(plan_headings, plans),
                "",
                "One session on SQLite, skills of three files on disk, one after the other. An activation takes the",
                "list of files, decides on consent, reads and hashes SKILL.md, and commits a receipt. The goal: 1 ms",
                "plus the read.",
                "",
                render_table(("call", "median ms", "p99 ms", "ratio"), activation),
            ]
        ),
    )


if __name__ == "__main__":
    main()
