"""Measures how long it takes to find all skills below a folder, beside peers and the physical floor, as they grow.

`python -m bench.discovery [FOLDER]`; with a folder of real skills, a section of its own tells of these as well.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bench.effort import choose
from bench.grown_skills import has_room, skills_of
from bench.peer_environments import pinned_versions
from bench.report import describe_machine, render_comparison, render_machine, render_picture
from bench.results import write_figures, write_section
from bench.runners import Peers, floor_runners, peer_runners
from bench.timing import Comparison, Runner, interleave

OURS = Path(__file__).resolve().with_name("ours.py")
FLOOR = "floor: scandir + stat"


@dataclass(frozen=True, slots=True)
class Effort:
    """How often everybody runs, and how often each run repeats the search."""

    rounds: int
    repeats: int


SIZES = choose(
    {100: Effort(1, 3), 1_000: Effort(3, 2), 10_000: Effort(2, 1), 100_000: Effort(2, 1)},
    quick={20: Effort(1, 1), 100: Effort(1, 1)},
)
REAL = choose(Effort(3, 1), quick=Effort(1, 1))
TABLES = choose((1_000, 10_000, 100_000), quick=(100,))
"""Sizes with a table; all are in the plot."""
PATIENCE_SECONDS = 6
"""A contestant that would take longer by what it took at the size before is not asked."""


def our_runners() -> tuple[Runner, ...]:
    """Prowess in its three modes."""
    functions = {"prowess": "discover", "prowess, indexed": "discover_indexed", "prowess, watched": "discover_watched"}
    return tuple(
        Runner(name=name, python=Path(sys.executable), script=OURS, function=function, distribution="prowess")
        for name, function in functions.items()
    )


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured at each size, and what of it was left out."""

    comparisons: dict[int, Comparison]
    notes: dict[int, list[str]]


def compare_all(runners: Sequence[Runner]) -> Found:
    """Every size in turn, without those for whom the next would take too long."""
    found = Found({}, {})
    before = 0
    for size, effort in SIZES.items():
        notes = found.notes.setdefault(size, [])
        if not has_room(size):
            notes.append(f"- {size:,} skills were left out: the disk has no room for them.")
            break
        if before:
            grown = size / before
            taken = {one.name: one.spread.median for one in found.comparisons[before].results}
            slow = sorted(name for name, seconds in taken.items() if seconds * grown > PATIENCE_SECONDS)
            if before not in TABLES:
                failures = found.comparisons[before].failures
                notes += [f"- {one.name} broke off at {before:,} skills: {one.reason}" for one in failures]
            notes += [f"- Not asked, for they would take over {PATIENCE_SECONDS} s: {', '.join(slow)}."] if slow else []
            runners = [runner for runner in runners if runner.name in taken and runner.name not in slow]
        with skills_of(size) as root:
            found.comparisons[size] = interleave(runners, root, rounds=effort.rounds, repeats=effort.repeats)
        before = size
    return found


def compare_real(folder: Path, runners: Sequence[Runner]) -> tuple[int, Comparison]:
    """Copies of the real skills, side by side in one folder that nobody knows, so that all can list them."""
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as place:
        root = Path(place).resolve() / "skills"
        count = copy_skills(folder, root)
        comparison = interleave(runners, root, rounds=REAL.rounds, repeats=REAL.repeats)
        told = tuple(replace(one, reason=one.reason.replace(place, "")) for one in comparison.failures)
        return count, replace(comparison, failures=told)


def copy_skills(folder: Path, root: Path) -> int:
    """Copy every folder with a SKILL.md, the first of each name; return how many."""
    root.mkdir()
    count = 0
    for path, folders, files in os.walk(folder):
        folders.sort()
        if "SKILL.md" not in files:
            continue
        folders.clear()
        copy = root / Path(path).name
        if not copy.exists():
            shutil.copytree(path, copy, symlinks=True)
            count += 1
    return count


def summarise(comparison: Comparison) -> str:
    """Say in sentences what the goals ask, as far as those who ran allow."""
    medians = {result.name: result.spread.median for result in comparison.results}
    peers = {name: value for name, value in medians.items() if not name.startswith(("prowess", "floor"))}
    ours, floor = medians.get("prowess"), medians.get(FLOOR)
    lines: list[str] = []
    groups = {
        "the fastest peer": peers,
        "the fastest that is asked to check the rules": _only(peers, validating="yes"),
    }
    for what, group in groups.items():
        if ours and group:
            fastest = min(group, key=group.__getitem__)
            lines.append(f"- Without an index: {group[fastest] / ours:.2f} times as fast as {what} ({fastest}).")
    listing = _only(peers, validating="no")
    if ours and listing:
        middle = statistics.median(listing.values())
        lines.append(f"- Without an index: {middle / ours:.1f} times as fast as the median peer of this table.")
    told = {"prowess, indexed": "With an index from an earlier process", "prowess, watched": "Watched and unchanged"}
    for name, what in told.items():
        if floor and name in medians:
            lines.append(f"- {what}: {medians[name] * 1_000:.2f} ms, {medians[name] / floor:.3f} times the floor.")
    return "\n".join(lines)


def _only(peers: dict[str, float], *, validating: Literal["yes", "no"]) -> dict[str, float]:
    return {name: value for name, value in peers.items() if name.endswith("validating") == (validating == "yes")}


ABOUT = f"""Every contestant finds all SKILL.md files below a folder and gives name and description of each, in a
process of its own, after a warm-up. `ratio` is the median over that of the floor: one scandir, and one stat of each
SKILL.md. Rows named 'validating' also check the rules, as Prowess always does. Whoever would take over
{PATIENCE_SECONDS} seconds, by what it took at the size before, is named below the table."""
ABOUT_REAL = """The same on copies of {count:,} real skills of many authors, side by side in one folder. Whoever
does not take one of them finds fewer, or breaks off."""


def write(found: Found, peers: Peers) -> None:
    tables: list[str] = []
    for size in TABLES:
        if size in found.comparisons:
            comparison = found.comparisons[size]
            table = render_comparison(comparison, against=FLOOR)
            tables += [f"### {size:,} skills of three files", table, summarise(comparison)]
        tables.append("\n".join(found.notes.get(size, [])))
    missing = [f"- {failure.name} could not be installed: {failure.reason}" for failure in peers.missing]
    picture = render_picture("discovery", alt="Milliseconds to find all skills, by their number: Prowess and its peers")
    head = f"`python -m bench.discovery` — {render_machine(describe_machine())}"
    versions = pinned_versions(runner.name for runner in peers.runners)
    parts = [head, ABOUT, picture, *tables, "\n".join(missing)]
    write_section("Discovery", "\n\n".join(part for part in parts if part), versions)
    measured = found.comparisons.items()
    figures = {
        "seconds": {size: {one.name: one.spread.median for one in comparison.results} for size, comparison in measured},
        "peak_rss_kb": {
            size: {one.name: one.peak_rss_kb for one in comparison.results} for size, comparison in measured
        },
        "import_seconds": {
            size: {one.name: one.median_import_seconds for one in comparison.results} for size, comparison in measured
        },
    }
    write_figures("discovery", figures, versions)


def write_real(count: int, comparison: Comparison, peers: Peers) -> None:
    versions = pinned_versions(runner.name for runner in peers.runners)
    parts = [
        f"`python -m bench.discovery FOLDER` — {render_machine(describe_machine())}",
        ABOUT_REAL.format(count=count),
        render_comparison(comparison, against=FLOOR),
        summarise(comparison),
    ]
    write_section("Discovery of real skills", "\n\n".join(parts), versions)
    seconds = {one.name: one.spread.median for one in comparison.results}
    write_figures("discovery of real skills", {"skills": count, "seconds": seconds}, versions)


def main() -> None:
    peers = peer_runners()
    runners = [*floor_runners(), *our_runners(), *peers.runners]
    if len(sys.argv) > 1:
        write_real(*compare_real(Path(sys.argv[1]), runners), peers)
    write(compare_all(runners), peers)


if __name__ == "__main__":
    main()
