"""Measures how costs grow with the number of skills and of users: each should grow no faster than the work.

Each step runs in a process of its own. `python -m bench.growth` writes the section; the folder for its copies can be
given, to choose the disk. The largest size needs 20 GB and some million inodes for a while.
"""

import itertools
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bench.effort import choose
from bench.grown_skills import has_room, has_room_for, remove_later, skills_of
from bench.growth_steps import COSTLY, STEPS, USERS, USERS_BYTES, Found, measure_users, take
from bench.report import describe_machine, render_machine, render_picture, render_table
from bench.results import write_figures, write_section
from bench.timing import measure_spread

SIZES = choose((1_000, 10_000, 100_000), quick=(100, 1_000))
REPEATS = choose({1_000: 3, 10_000: 3}, quick=dict[int, int]())
"""How often each step is taken in a process of its own; else once."""
COSTLY_REPEATS = choose({1_000: 3}, quick=dict[int, int]())
"""The same, of steps that take minutes."""
COPIES = choose(100_000, quick=1_000)
"""At most so many skills are copied for all users together."""
BYTES_A_SKILL, INODES_A_SKILL = 200_000, 60
STEEP = 1.15
"""A slope above it, in a log-log plot, is steeper than noise explains."""
T = TypeVar("T")

Costs = dict[str, dict[int, list[float]]]
"""Seconds, of each time that it was measured, by what was measured and the number of skills."""


@dataclass(slots=True)
class Grown:
    """All that was measured."""

    costs: Costs = field(default_factory=Costs)
    memory: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    """Megabytes of each step."""
    users: dict[tuple[int, int], Found] = field(default_factory=dict[tuple[int, int], Found])
    """By the numbers of skills and of users."""
    notes: list[str] = field(default_factory=list[str])
    """What was left out."""


def in_process(work: Callable[..., T], *arguments: object) -> T:
    """Run in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def measure(place: Path, write: Callable[[Grown], None]) -> None:
    """Take every step at every size that the disks have room for; write what is known after each."""
    grown = Grown()
    for size in SIZES:
        if not (has_room(size) and _has_room(place, size)):
            grown.notes.append(f"- {size:,} skills were left out: the disk has no room for them.")
            write(grown)
            break
        with skills_of(size) as root:
            for name in STEPS:
                _take_step(grown, name, root, place, size)
            for count in USERS:
                if count * size > COPIES:
                    grown.notes.append(f"- {count} users of {size:,} skills were left out: over {COPIES:,} copies.")
                    continue
                with _home(place, "users") as home:
                    grown.users[size, count] = in_process(measure_users, root, home, count)
        write(grown)


def _take_step(grown: Grown, name: str, root: Path, place: Path, size: int) -> None:
    for _ in range((COSTLY_REPEATS if name in COSTLY else REPEATS).get(size, 1)):
        with _home(place, name) as home:
            found, peak = in_process(take, name, root, home)
        if USERS_BYTES in found:
            alone: Found = {"first": found["sync, first user"], "later": [], USERS_BYTES: found.pop(USERS_BYTES)}
            grown.users.setdefault((size, 1), alone)
        for what, seconds in found.items():
            grown.costs.setdefault(what, {}).setdefault(size, []).extend(seconds)
        row = grown.memory.setdefault(name, {})
        row[size] = max(row.get(size, 0), peak / 1_024)
        print(f"{size:,} {name}: {found}, {peak / 1_024:.0f} MB", file=sys.stderr)


_NUMBERS = itertools.count()


class _home:  # noqa: N801 - it reads as a word in a with statement
    """A folder for a step, which is put aside; the two steps of discovery share theirs, however often they run."""

    def __init__(self, place: Path, name: str) -> None:
        self._path = place / name.partition(",")[0]
        self._last = not name.startswith("discovery")

    def __enter__(self) -> Path:
        self._path.mkdir(exist_ok=True)
        os.sync()  # What earlier steps have left to write is not this step's to pay.
        return self._path

    def __exit__(self, *_: object) -> None:
        if self._last:
            self._path.rename(self._path.with_name(f"gone-{next(_NUMBERS)}"))


def _has_room(place: Path, size: int) -> bool:
    return has_room_for(place, size_bytes=size * BYTES_A_SKILL, inodes=size * INODES_A_SKILL)


def slopes(row: dict[int, float]) -> list[float]:
    """The slope between each size and the next, on logarithmic scales: 1 is as fast as the work."""
    points = sorted(row.items())
    return [
        math.log(max(after, 1e-9) / max(before, 1e-9)) / math.log(larger / smaller)
        for (smaller, before), (larger, after) in itertools.pairwise(points)
    ]


def render_costs(costs: Costs) -> str:
    rows: list[Sequence[str]] = []
    for what, row in costs.items():
        cells = [_render_spread(row[size]) if size in row else "-" for size in SIZES]
        told = [f"**{slope:.2f}**" if slope > STEEP else f"{slope:.2f}" for slope in slopes(_medians(row))]
        rows.append((what, *cells, ", ".join(told) or "-"))
    return render_table(("what", *(f"{size:,}: ms" for size in SIZES), "slopes"), rows)


def _medians(row: dict[int, list[float]]) -> dict[int, float]:
    return {size: statistics.median(times) for size, times in row.items()}


def _render_spread(times: list[float]) -> str:
    if len(times) == 1:
        return f"{_ms(times[0])} (once)"
    spread = measure_spread(times)
    return f"{_ms(spread.median)} ({_ms(spread.first_quartile)}-{_ms(spread.third_quartile)})"


def _ms(seconds: float) -> str:
    milliseconds = seconds * 1_000
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:,.0f}"


def render_memory(memory: dict[str, dict[int, float]]) -> str:
    rows = [(name, *(f"{row[size]:,.0f}" if size in row else "-" for size in SIZES)) for name, row in memory.items()]
    return render_table(("step", *(f"{size:,}: peak MB" for size in SIZES)), rows)


def render_users(users: dict[tuple[int, int], Found]) -> str:
    rows: list[Sequence[str]] = []
    for (size, count), found in sorted(users.items()):
        megabytes, alone = found[USERS_BYTES][0] / 1e6, users[size, 1][USERS_BYTES][0] / 1e6
        rows.append(
            (
                f"{size:,}",
                str(count),
                f"{statistics.median(found['first']) + sum(found['later']):,.1f}",
                _render_spread(found["first"]),
                _render_spread(found["later"]) if found["later"] else "-",
                f"{megabytes:,.0f}",
                f"{megabytes / (alone * count):.2f}",
            )
        )
    headings = ("skills", "users", "all, s", "first, ms", "a later one, ms", "disk MB", "share of separate copies")
    return render_table(headings, rows)


def render_findings(costs: Costs) -> list[str]:
    """Name what grows faster than the work."""
    most = {what: max(slopes(_medians(row)), default=0) for what, row in costs.items()}
    steep = [f"{what} ({slope:.2f})" for what, slope in most.items() if slope > STEEP]
    if not steep:
        return [f"- No cost has a slope above {STEEP}: none grows faster than the number of skills."]
    return [f"- Steeper than {STEEP} between two sizes: {'; '.join(steep)}."]


ABOUT = """Folders of skills of three files; each step is taken in processes of its own. Medians, and quartiles in
brackets; what is marked `once` is a single sample. The p99 is that of 100 searches. `slopes` are those of
the cost on logarithmic scales, from each size to the next: 1 is as fast as the number of skills, 0 not at all. Where
the kernel allows fewer watches than there are folders, a watched catalog is searched like an unwatched one. The dotted
line of the plot grows as fast as the number of skills."""

ABOUT_USERS = """Users of one host, each with the copies of all skills, one after the other; the disk is that of all
their copies, versions and caches."""


def write(grown: Grown) -> None:
    """Write the section, and the figures."""
    parts = [
        f"`python -m bench.growth` — {render_machine(describe_machine())}",
        ABOUT,
        render_picture("growth", alt="Milliseconds of each operation of Prowess, by the number of skills"),
        render_costs(grown.costs),
        "\n".join(render_findings(grown.costs)),
        render_memory(grown.memory),
        ABOUT_USERS,
        render_users(grown.users),
        "\n".join(grown.notes),
    ]
    write_section("Growth", "\n\n".join(part for part in parts if part))
    medians = {what: _medians(row) for what, row in grown.costs.items()}
    write_figures("growth", {"seconds": medians, "memory": grown.memory})


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="prowess-growth-", dir=sys.argv[1] if len(sys.argv) > 1 else None))
    try:
        measure(place, write)
    finally:
        remove_later(place)


if __name__ == "__main__":
    main()
