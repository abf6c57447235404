"""Measures what copies cost: the first sync, a second user, nothing changed, one changed, all gone.

Beside it, in turn on the same disk: `cp -a`, `rsync -a --delete`, and a bare stat of the same files and folders.
`python -m bench.sync` writes the section; the folder for it can be given, to choose the disk.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.effort import choose
from bench.generate import generate
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.timing import measure_spread
from prowess.copies.sync import SyncReport
from prowess.policy import Refresh
from prowess.runtime import Runtime
from prowess.settings import load_settings

SIZES = choose({100: 5, 1_000: 3}, quick={100: 2})
"""How often each size is measured from the beginning; `bench.growth` has the larger ones."""
LOOKS = choose(15, quick=3)
"""How often each round looks when nothing has changed."""
SETTLING_SECONDS = 0.3
"""Files as young as the disk's clock can tell are never taken as known."""


@dataclass(slots=True)
class Times:
    """Milliseconds by what was done."""

    found: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def take(self, what: str, work: Callable[[], object]) -> None:
        begun = time.perf_counter()
        work()
        self.found.setdefault(what, []).append((time.perf_counter() - begun) * 1_000)

    def median(self, what: str) -> float:
        return statistics.median(self.found[what])

    def render(self, what: str) -> str:
        """The median, and the quartiles where there are any."""
        spread = measure_spread(self.found[what])
        middle = f"{spread.median:,.2f}"
        if len(self.found[what]) == 1:
            return f"{middle} (once)"
        return f"{middle} ({spread.first_quartile:,.2f}-{spread.third_quartile:,.2f})"


@dataclass(frozen=True, slots=True)
class Arena:
    """A folder of skills, and room for copies beside it."""

    source: Path
    room: Path

    def known(self) -> list[str]:
        """Return every file and folder of every skill."""
        found: list[str] = []
        for folder, _, files in os.walk(self.source):
            found += [folder, *(f"{folder}/{file}" for file in files)]
        return found[1:]

    def open(self, home: str, *, user: str = "one", durable: bool = True, watched: bool = True) -> Runtime:
        settings = load_settings(environ={"HOME": str(self.room), "PROWESS_HOME": str(self.room / home)})
        refresh = Refresh.WATCHED if watched else Refresh.EACH_TURN
        settings = replace(settings, durable_copies=durable, policy=replace(settings.policy, refresh=refresh))
        return Runtime(settings.for_user(user), skills=[self.source])

    def clear(self) -> None:
        shutil.rmtree(self.room, ignore_errors=True)
        self.room.mkdir()
        os.sync()  # What earlier rounds have left to write is not this round's to pay.


def measure(size: int, folder: str | None) -> Times:
    """Return the times of all rounds."""
    times = Times()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        arena = Arena(Path(place) / "skills", Path(place) / "room")
        generate(arena.source, count=size)
        arena.room.mkdir()
        time.sleep(SETTLING_SECONDS)
        with arena.open("warm-up") as runtime:  # Libraries load when they are first used.
            runtime.sync()
        works = [lambda: _measure_tools(arena, times), lambda: _measure_ours(arena, times, size)]
        for number in range(SIZES[size]):
            for work in works[:: -1 if number % 2 else 1]:
                work()
    return times


def _measure_tools(arena: Arena, times: Times) -> None:
    arena.clear()
    copy, mirror, source = str(arena.room / "copy"), str(arena.room / "mirror"), str(arena.source)
    times.take("cp -a", lambda: _run("cp", "-a", source, copy))
    arena.clear()
    times.take("cp -a, sync", lambda: (_run("cp", "-a", source, copy), _run("sync", "-f", copy)))
    arena.clear()
    rsync = ("rsync", "-a", "--delete")
    times.take("rsync, first", lambda: _run(*rsync, f"{source}/", mirror))
    times.take("rsync, nothing changed", lambda: _run(*rsync, f"{source}/", mirror))
    with changed(arena):
        times.take("rsync, one changed", lambda: _run(*rsync, f"{source}/", mirror))
    empty = arena.room / "empty"
    empty.mkdir()
    times.take("rsync, all removed", lambda: _run(*rsync, f"{empty}/", mirror))


def _measure_ours(arena: Arena, times: Times, size: int) -> None:
    arena.clear()
    with arena.open("fast", durable=False) as runtime:
        times.take("first, not durable", lambda: _check(runtime.sync(), copied=size))
    arena.clear()
    with arena.open("home") as runtime:
        times.take("first, durable", lambda: _check(runtime.sync(), copied=size))
    with arena.open("home", user="two") as runtime:
        times.take("second user", lambda: _check(runtime.sync(), copied=size))
    known = arena.known()
    with arena.open("home", watched=False) as runtime:
        _settle(runtime)
        for _ in range(LOOKS):
            times.take("bare stat", lambda: _stat_all(known))
            times.take("nothing changed, unwatched", lambda: _check(runtime.sync(), unchanged=size))
        with changed(arena):
            times.take("one changed, unwatched", lambda: _check(runtime.sync(), copied=1))
    with arena.open("home") as runtime:
        _settle(runtime)
        for _ in range(LOOKS):
            times.take("nothing changed, watched", lambda: _check(runtime.sync(), unchanged=size))
        with changed(arena):
            times.take("one changed, watched", lambda: _check(runtime.sync(), copied=1))
        time.sleep(SETTLING_SECONDS)
        _settle(runtime)
        _measure_removal(arena, runtime, times)
        aside = arena.room / "aside"
        arena.source.rename(aside)
        arena.source.mkdir()
        times.take("all removed", lambda: _check(runtime.sync(), removed=size))
        arena.source.rmdir()
        aside.rename(arena.source)


def _measure_removal(arena: Arena, runtime: Runtime, times: Times) -> None:
    """Take one copy away: what the root itself costs, apart from the search that finds out."""
    skill = runtime.catalog().skills[0]
    root = runtime.copying.active()
    from prowess.copies.plan import Remove, SyncPlan
    from prowess.skill.activation_keys import make_activation_key

    plan = SyncPlan(removes=(Remove(make_activation_key(skill.id), skill.id),))

    def remove() -> None:
        with root.locked(), runtime.copying.versions.in_use():
            assert root.apply(plan, digest_of=runtime.copying.digests.certain).removed == [skill.id]

    times.take("one removed, the step itself", remove)
    _check(runtime.sync(), copied=1)
    aside = arena.room / "one"
    Path(skill.folder).rename(aside)
    times.take("one removed, watched", lambda: _check(runtime.sync(), removed=1))
    aside.rename(skill.folder)
    _check(runtime.sync(), copied=1)


class changed:  # noqa: N801 - it reads as a word in a with statement
    """One script is changed, and as it was afterwards."""

    def __init__(self, arena: Arena) -> None:
        self._script = next(arena.source.glob("*/scripts/run.py"))
        self._text = self._script.read_text(encoding="utf-8")

    def __enter__(self) -> None:
        self._script.write_text(f"{self._text}# changed\n", encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        self._script.write_text(self._text, encoding="utf-8")


def _settle(runtime: Runtime) -> None:
    for _ in range(4):
        runtime.sync()
        time.sleep(SETTLING_SECONDS)


def _stat_all(paths: list[str]) -> None:
    for path in paths:
        os.lstat(path)


def _check(
    report: SyncReport, *, copied: int | None = None, unchanged: int | None = None, removed: int | None = None
) -> None:
    """A contestant that did not do the work has no time."""
    assert copied is None or len(report.copied) == copied, report
    assert unchanged is None or (report.unchanged, report.changed) == (unchanged, False), report
    assert removed is None or len(report.removed) == removed, report


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


ROWS = (
    ("first, durable", "cp -a, sync"),
    ("first, not durable", "cp -a"),
    ("rsync, first", "cp -a"),
    ("second user", "first, durable"),
    ("nothing changed, unwatched", "bare stat"),
    ("nothing changed, watched", "bare stat"),
    ("rsync, nothing changed", "bare stat"),
    ("one changed, unwatched", "bare stat"),
    ("one changed, watched", "bare stat"),
    ("rsync, one changed", "bare stat"),
    ("one removed, watched", "bare stat"),
    ("one removed, the step itself", "bare stat"),
    ("all removed", "rsync, all removed"),
)
"""What is held against what."""


ROUNDS = ", ".join(f"{rounds} with {size:,}" for size, rounds in SIZES.items())
ABOUT = f"""Skills of three files in three folders. Medians, and quartiles in brackets, of interleaved rounds, whose
halves change places from round to round ({ROUNDS}); what is marked `once` is one sample. Ratios are to what stands in
the second column, of the same run. A first sync begins without any cache and includes the search for skills."""


def render(found: dict[int, Times]) -> str:
    """Return the section."""
    headings = ["what", "against", *(f"{size:,}: ms" for size in found), *(f"{size:,}: ratio" for size in found)]
    rows: list[list[str]] = []
    for what, against in ROWS:
        medians = [times.render(what) for times in found.values()]
        ratios = [f"{times.median(what) / times.median(against):.2f}" for times in found.values()]
        rows.append([what, against, *medians, *ratios])
    bases = [
        f"- {base}: " + ", ".join(f"{size:,} skills {times.render(base)} ms" for size, times in found.items())
        for base in ("cp -a", "cp -a, sync", "bare stat", "rsync, all removed")
    ]
    return "\n".join(
        [
            f"`python -m bench.sync` · {render_machine(describe_machine())}",
            "",
            ABOUT,
            "",
            render_table(headings, rows),
            "",
            *bases,
        ]
    )


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    found: dict[int, Times] = {}
    for size in SIZES:  # The largest takes minutes on a slow disk; what is known by then is written.
        found[size] = measure(size, folder)
        write_section("Copies", render(found))
        medians = {size: {what: times.median(what) for what in times.found} for size, times in found.items()}
        write_figures("sync", {"ms": medians})


if __name__ == "__main__":
    main()
