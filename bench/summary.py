"""Writes the summary at the top of the results: each goal, what was measured, and whether it was reached.

`python -m bench.summary` makes it from the figures of the last runs, and the comparison in the README too. What has no
figures yet says so, and so does what is of another run than the rest.
"""

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.comparison import write_comparison
from bench.effort import QUICK
from bench.losses import discovery_at, render_losses
from bench.report import render_table
from bench.results import ORDER, RUN, RUN_VARIABLE, SECTIONS, read_figures, write_section

__all__ = ["GOALS", "Goal", "Measured"]

Figures = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure, in words, and whether it is good enough."""

    words: str
    reached: bool


@dataclass(frozen=True, slots=True)
class Goal:
    """One row of the design's section 7."""

    what: str
    wanted: str
    source: str
    """The benchmark whose figures it is told from."""
    measure: Callable[[Figures], Measured]


def _sync(figures: Figures, what: str) -> float:
    return figures["sync"]["ms"]["1000"][what]


def _discovery(figures: Figures) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds at 1,000 skills: of all, and of the peers."""
    return discovery_at(figures, 1_000, "seconds", factor=1_000)


def _watched(figures: Figures) -> Measured:
    taken = _sync(figures, "nothing changed, watched")
    return Measured(f"{taken:.2f} ms", taken <= 1)


def _unwatched(figures: Figures) -> Measured:
    ratio = _sync(figures, "nothing changed, unwatched") / _sync(figures, "bare stat")
    return Measured(f"{ratio:.2f} times", ratio <= 1.5)


DAYCARE_FIRST_SYNC_MS = 3_277


def _first_sync(figures: Figures) -> Measured:
    taken, copied = _sync(figures, "first, durable"), _sync(figures, "cp -a, sync")
    words = (
        f"{taken:,.0f} ms, {taken / copied:.1f} times the {copied:,.0f} ms of `cp -a` with a sync in the same run;"
        f" Daycare's {DAYCARE_FIRST_SYNC_MS:,} ms are of another machine"
    )
    return Measured(words, taken <= DAYCARE_FIRST_SYNC_MS / 3)


def _second_user(figures: Figures) -> Measured:
    taken = _sync(figures, "second user")
    words = f"{taken:,.0f} ms, {taken / _sync(figures, 'first, durable'):.2f} of our own first sync"
    return Measured(words, taken <= DAYCARE_FIRST_SYNC_MS / 10)


def _fastest(figures: Figures) -> Measured:
    found, peers = _discovery(figures)
    fastest = min(peers, key=peers.__getitem__)
    ratio = peers[fastest] / found["prowess"]
    return Measured(f"{ratio:.2f} times as fast as {fastest}", ratio > 1)


def _fastest_judging(figures: Figures) -> Measured:
    found, peers = _discovery(figures)
    judging = {name: value for name, value in peers.items() if name.endswith("validating")}
    fastest = min(judging, key=judging.__getitem__)
    ratio = judging[fastest] / found["prowess"]
    return Measured(f"{ratio:.2f} times as fast as {fastest}", ratio > 1)


def _median_peer(figures: Figures) -> Measured:
    found, peers = _discovery(figures)
    ratio = statistics.median(value for name, value in peers.items() if "validating" not in name) / found["prowess"]
    return Measured(f"{ratio:.1f} times as fast", ratio >= 15)


def _indexed(figures: Figures) -> Measured:
    found, _ = _discovery(figures)
    ratio = found["prowess, indexed"] / found["floor: scandir + stat"]
    return Measured(f"{ratio:.2f} times", ratio <= 2)


def _plan(figures: Figures) -> Measured:
    taken = figures["disclosure"]["plan_ms"]["10,000, yes"]
    return Measured(f"{taken:.1f} ms", taken <= 20)


def _search(figures: Figures) -> Measured:
    taken = figures["search"]["p99_ms"]["prowess, by words, 100,000"]
    return Measured(f"{taken:.1f} ms", taken <= 20)


def _import(figures: Figures) -> Measured:
    ratio = figures["startup"]["import"]
    return Measured(f"{ratio:.2f} times", ratio <= 1)


def _version(figures: Figures) -> Measured:
    ratio = figures["startup"]["version"]
    return Measured(f"{ratio:.2f} times", ratio <= 2)


def _sandbox(figures: Figures) -> Measured:
    ratio = figures["execution"]["ratio"]["prowess, the sandbox"]
    return Measured(f"{ratio:.2f} times", ratio <= 1.5)


GOALS = (
    Goal("list and sync when nothing changed, 1,000 skills, watched", "1 ms", "sync", _watched),
    Goal("the same, unwatched", "1.5 times a bare stat of the known files", "sync", _unwatched),
    Goal("first sync of 1,000 skills, durable", "a third of Daycare's 3,277 ms: 1,092 ms", "sync", _first_sync),
    Goal("a second user on the same disk", "a tenth of that: 328 ms", "sync", _second_user),
    Goal("cold discovery of 1,000, no cache", "faster than the fastest peer", "discovery", _fastest),
    Goal(
        "the same, among those that are asked to check the rules", "(no goal of its own)", "discovery", _fastest_judging
    ),
    Goal("the same, against the median peer", "15 times as fast", "discovery", _median_peer),
    Goal("cold discovery of 1,000, with cache", "2 times a bare scandir and stat", "discovery", _indexed),
    Goal("prompt plan, 10,000 skills, with a query", "20 ms", "disclosure", _plan),
    Goal("search, 100,000 skills, p99", "20 ms", "search", _search),
    Goal("`import prowess`", "no more than `import asyncio`", "startup", _import),
    Goal("`prowess --version`", "2 times a bare click command", "startup", _version),
    Goal("script start in the default sandbox", "1.5 times bubblewrap alone", "execution", _sandbox),
)


def render_goals(figures: Figures) -> str:
    rows = [(goal.what, goal.wanted, *_render_measured(goal, figures)) for goal in GOALS]
    return render_table(("what", "goal", "measured", "reached"), rows)


def _render_measured(goal: Goal, figures: Figures) -> tuple[str, str]:
    try:
        found = goal.measure(figures)
    except (KeyError, ValueError):  # Nothing was run, or nobody beside us.
        return "not measured", "-"
    age = render_age(figures[goal.source].get("about", {}), find_run(figures))
    return f"{found.words}{age}", "yes" if found.reached else "**no**"


def find_run(figures: Figures) -> str:
    """Return the run that this summary is of: its own, else the last that any section is of."""
    if RUN_VARIABLE in os.environ:
        return RUN
    return max((stamp.get("run", "") for stamp in _stamps(figures).values()), default="")


def _stamps(figures: Figures) -> dict[str, dict[str, Any]]:
    return {title: stamp for title, stamp in figures.get("sections", {}).items() if title != "Summary"}


def render_age(stamp: dict[str, Any], run: str) -> str:
    """Say of what is not of this run that it is stale, and of when it is."""
    if stamp.get("failed", "") == run != "":
        return " (**failed in this run**)"
    return "" if stamp.get("run", "") == run != "" else f" (**stale**: of {stamp.get('date', 'an unknown day')})"


def render_runs(figures: Figures) -> list[str]:
    """Say of which run each section is, as far as they differ."""
    run, stamps = find_run(figures), _stamps(figures)
    lines: list[str] = []
    if run:
        machines = sorted({stamp["machine"] for stamp in stamps.values() if stamp.get("run") == run})
        versions = sorted({stamp["prowess"] for stamp in stamps.values() if stamp.get("run") == run})
        lines.append(f"- The run {run}: Prowess {', '.join(versions)}; {'; '.join(machines)}.")
    titles = [title for title in ORDER if title in stamps or any(title in made for made in SECTIONS.values())]
    old = {title: render_age(stamps.get(title, {}), run) for title in titles if title != "Summary"}
    differing = [f"{title}{age}" for title, age in old.items() if age]
    lines.append(f"- Not of this run: {'; '.join(differing)}." if differing else "- All sections are of this run.")
    return lines


def render_compatibility(figures: Figures) -> list[str]:
    if "prowess" not in figures.get("compatibility", {}).get("readers", {}):
        return []
    kinds, readers = figures["compatibility"]["kinds"], figures["compatibility"]["readers"]
    peers = {name: row["good"] for name, row in readers.items() if name != "prowess"}
    best = max(peers, key=peers.__getitem__, default="")
    shown = (
        f"; the best peer, {best}, {peers[best]}, the median one {statistics.median(peers.values()):.0f}"
        if best
        else ""
    )
    return [f"- Of {kinds} kinds of nasty skills, Prowess treats {readers['prowess']['good']} as it should{shown}."]


def main() -> None:
    figures = read_figures()
    parts = [
        "`python -m bench.summary`, from the figures of the sections below.",
        "\n".join(render_runs(figures)),
        "The goals are those of the design; what is not reached is marked. Peers' versions are in the tables.",
        render_goals(figures),
        "\n".join(
            [
                "Where peers are faster or smaller, and what they make of nasty skills:",
                "",
                *render_losses(figures),
                *render_compatibility(figures),
            ]
        ),
    ]
    write_section("Summary", "\n\n".join(parts))
    if not QUICK:
        write_comparison(figures)


if __name__ == "__main__":
    main()
