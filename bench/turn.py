"""Measures what a turn of a conversation costs beside its model: all that Prowess does, state on the disk included.

Beside it, taking turns in the same run: the same transactions on a bare connection to SQLite, which is the least that a
turn that outlives a crash must take, and pydantic-ai's own Agent, which keeps nothing. `python -m bench.turn` writes
the section; the folder for it can be given, to choose the disk.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.conversations import KINDS, LATE, LATE_TURNS, TEXT, Ours, Peer, Times
from bench.effort import choose
from bench.peer_environments import installed_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_section
from bench.timing import measure_spread

SIZES = choose((100, 1_000), quick=(20, 100))
GOAL_MS = 5
ROUNDS = choose(100, quick=5)
WARM_UP = choose(5, quick=1)
RENEWED = 10
"""Rounds after which the short conversations are begun anew."""


async def measure(folder: str | None) -> tuple[dict[int, Ours], Peer, list[float]]:
    """Return the times of all rounds: every kind of turn at every size once a round, in a new order each time.

    With it, what a bare sync of this disk takes, once a round.
    """
    syncs: list[float] = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        ours = {size: Ours(size, place / str(size), stack) for size in SIZES}
        peer = Peer()
        contestants = (*ours.values(), peer)
        for one in contestants:
            await one.prepare()
        for number in range(-WARM_UP, ROUNDS):
            if number == -WARM_UP or number % RENEWED == 0:
                for one in contestants:
                    await one.renew()
            works = [(one, kind) for one in contestants for kind in KINDS]
            random.Random(number).shuffle(works)
            for one, kind in works:
                await one.take(kind)
            syncs.append(time_sync(place / "synced"))
            if number == -1:  # All before this was to warm up.
                for one in contestants:
                    one.times.update({kind: Times() for kind in KINDS})
        return ours, peer, syncs


def time_sync(path: Path) -> float:
    """Return the seconds until the disk says that it has two pages of a file."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(file, os.urandom(8_192), 0)
        begun = time.perf_counter()
        os.fsync(file)
        return time.perf_counter() - begun
    finally:
        os.close(file)


HEADINGS = (
    "turn",
    "skills",
    "median ms",
    "quartiles ms",
    "commits",
    "besides commits ms",
    "the commits alone ms",
    "times these",
    "pydantic-ai ms",
    "times it",
)


def render_rows(ours: dict[int, Ours], peer: Peer) -> list[tuple[str, ...]]:
    """Return a row for each kind and size."""
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        theirs = statistics.median(peer.times[kind].whole)
        for size, one in ours.items():
            times = one.times[kind]
            whole, floor = measure_spread(times.whole), statistics.median(times.floor)
            commits = statistics.median(times.commits)
            rows.append(
                (
                    kind,
                    f"{size:,}",
                    _ms(whole.median),
                    f"{_ms(whole.first_quartile)} to {_ms(whole.third_quartile)}",
                    f"{commits:.0f}",
                    _ms(statistics.median(times.own)),
                    _ms(floor) if commits else "-",
                    f"{whole.median / floor:.1f}" if commits else "-",
                    _ms(theirs),
                    f"{whole.median / theirs:.2f}",
                )
            )
    return rows


def _ms(seconds: float) -> str:
    return f"{seconds * 1_000:.2f}"


def render_findings(ours: dict[int, Ours], syncs: list[float]) -> list[str]:
    """Return what the numbers say of the goal, of long conversations, and of this machine."""
    text, late = (ours[SIZES[-1]].times[kind] for kind in (TEXT, LATE))
    whole, own = statistics.median(text.whole), statistics.median(text.own)
    share = sum(second * 1_000 <= GOAL_MS for second in text.whole) / len(text.whole)
    growth = statistics.median(late.own) / own
    floors = sorted(second for one in ours.values() for second in one.times[TEXT].floor)
    most = floors[len(floors) * 9 // 10]
    return [
        f"- The goal of {GOAL_MS} ms for a text at {SIZES[-1]:,} skills: {_ms(whole)} ms; without its durable",
        f"  commits {_ms(own)} ms. {share:.0%} of the turns are within the goal.",
        f"- After {LATE_TURNS} turns, a turn takes {growth:.2f} times the work of an early one, commits aside.",
        f"- This disk says after {_ms(statistics.median(syncs))} ms that it has two pages. Where that takes longer,",
        "  so does each commit of a turn.",
        f"- Noise: the commits of a text alone took {_ms(floors[0])} to {_ms(floors[-1])} ms, nine in ten at most",
        f"  {_ms(most)} ms; the load average was {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores.",
    ]


ABOUT = f"""Milliseconds from a message to the end of its turn, with a model that answers at once; medians of {ROUNDS}
rounds, in which all take turns. One runtime that watches its skills of three files, state in SQLite on the disk, each
commit durable. `The commits alone` are the very statements of the turn, done once more on a bare connection to a file
of the same schema on the same disk. pydantic-ai's own Agent gives the same answers in memory and without skills; where
a conversation is read, it reads its own JSON from memory."""


def main() -> None:
    ours, peer, syncs = asyncio.run(measure(sys.argv[1] if len(sys.argv) > 1 else None))
    parts = [
        f"`python -m bench.turn` — {render_machine(describe_machine())}",
        ABOUT,
        render_table(HEADINGS, render_rows(ours, peer)),
        "\n".join(render_findings(ours, syncs)),
    ]
    write_section("Turns of a conversation", "\n\n".join(parts), installed_versions("pydantic-ai-slim"))


if __name__ == "__main__":
    main()
