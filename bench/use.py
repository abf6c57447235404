"""Measures what a conversation asks of a catalog that is open: its text, one skill's instructions, one file of a skill.

Every contestant opens the same folder in a process of its own and answers the same calls; `python -m bench.use` writes
the section.
"""

import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.effort import choose
from bench.generate import generate
from bench.peer_environments import peer_script, pinned_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.runners import peer_runners
from bench.timing import Failure, Runner, UseSample, measure_spread, render_reason

OURS = Path(__file__).resolve().with_name("ours_in_use.py")
SKILLS = choose(1_000, quick=50)
ROUNDS = choose(3, quick=1)
CALLS = choose(50, quick=5)
KINDS = ("open", "first prompt", "prompt", "activate", "read")


@dataclass(slots=True)
class Taken:
    """All rounds of one contestant."""

    version: str = ""
    characters: int = 0
    peak_rss_kb: int = 0
    fresh: bool | None = None
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def add(self, sample: UseSample) -> None:
        self.version, self.characters, self.fresh = sample["version"], sample["characters"], sample["fresh"]
        self.peak_rss_kb = max(self.peak_rss_kb, sample["peak_rss_kb"])
        for kind, seconds in sample["times"].items():
            self.seconds.setdefault(kind, []).extend(seconds)

    def median(self, kind: str) -> float | None:
        found = self.seconds.get(kind)
        return statistics.median(found) if found else None


def contestants() -> tuple[list[Runner], list[Failure]]:
    """Prowess twice, and every peer that has more than a listing."""
    ours = Runner(name="prowess", python=Path(sys.executable), script=OURS, function="Use", distribution="prowess")
    peers = peer_runners()
    useful = [
        replace(runner, function="Use")
        for runner in peers.runners
        if runner.function == "discover" and "class Use" in peer_script(runner.name).read_text(encoding="utf-8")
    ]
    return [ours, replace(ours, name="prowess, no budget", function="UseWhole"), *useful], list(peers.missing)


def measure(runners: Sequence[Runner], root: Path) -> tuple[dict[str, Taken], list[Failure]]:
    """Have all take turns; whoever breaks off is out."""
    taken = {runner.name: Taken() for runner in runners}
    failures: list[Failure] = []
    for number in range(ROUNDS):
        order = [runner for runner in runners if runner.name in taken]
        random.Random(number).shuffle(order)
        for runner in order:
            try:
                taken[runner.name].add(runner.use(root, calls=CALLS))
            except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
                del taken[runner.name]
                failures.append(Failure(name=runner.name, reason=render_reason(error)))
    return taken, failures


def render_rows(taken: dict[str, Taken]) -> list[tuple[str, ...]]:
    """Return a row for each contestant, in the order of the time until a first skill is active."""
    first = ("open", "first prompt", "activate")
    ordered = sorted(taken.items(), key=lambda item: sum(item[1].median(kind) or 0 for kind in first))
    return [
        (
            name,
            one.version or "-",
            *(_render_spread(one.seconds.get(kind)) for kind in KINDS),
            f"{one.characters:,}" if one.characters else "-",
            {True: "yes", False: "no", None: "-"}[one.fresh],
            f"{one.peak_rss_kb / 1024:.0f}",
        )
        for name, one in ordered
    ]


def _render_spread(seconds: Sequence[float] | None) -> str:
    if not seconds:
        return "-"
    spread = measure_spread(seconds)
    return f"{_ms(spread.median)} ({_ms(spread.first_quartile)}-{_ms(spread.third_quartile)})"


def _ms(seconds: float) -> str:
    milliseconds = seconds * 1_000
    if milliseconds < 1:
        return f"{milliseconds:.2g}"
    return f"{milliseconds:.1f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def render_findings(taken: dict[str, Taken]) -> list[str]:
    """Say for each kind of call who is fastest, and where Prowess stands."""
    lines: list[str] = []
    for kind, what in zip(
        KINDS, ("Opening", "The first prompt", "A later prompt", "Activation", "Reading a file"), strict=True
    ):
        ours = taken["prowess"].median(kind) if "prowess" in taken else None
        peers = {name: one.median(kind) for name, one in taken.items() if not name.startswith("prowess")}
        known = {name: value for name, value in peers.items() if value is not None}
        if ours is None or not known:
            continue
        best, faster = min(known, key=known.__getitem__), sum(value < ours for value in known.values())
        verdict = "no peer is faster" if not faster else f"{faster} of {len(known)} peers are faster"
        lines.append(
            f"- {what}: {_ms(ours)} ms; {verdict}. The fastest peer, {best}, takes {_ms(known[best])} ms, the median"
            f" one {_ms(statistics.median(known.values()))} ms."
        )
    return lines


ABOUT = f"""{SKILLS:,} skills of three files, opened once in a process of its own; medians and quartiles in milliseconds
of {ROUNDS} rounds in which all take turns, {CALLS} skills a round spread over the catalog. `-`: it has no such call,
and leaves it to the model's general tools or to its host. `first prompt` is made once a process, `prompt` five times
after it while nothing has changed: Prowess looks whether that is so and gives the text it has, most peers make theirs
anew, and some keep it too. `sees edits`: whether a skill that was edited after the
opening is given as it is now; whoever says no answers from texts in memory. Prowess asks each time whether anything has
changed, decides on consent, places a verified copy of the files and commits a receipt, both durable. Its prompt is kept
within 2,000 tokens; `no budget` describes all skills, as the peers do."""

HEADINGS = ("contestant", "version", *KINDS, "characters of the prompt", "sees edits", "peak MB")


def main() -> None:
    runners, missing = contestants()
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        root = Path(folder) / "skills"
        generate(root, count=SKILLS)
        taken, failures = measure(runners, root)
    out = [f"- {failure.name} broke off: {failure.reason}" for failure in (*failures, *missing)]
    parts = [
        f"`python -m bench.use` — {render_machine(describe_machine())}",
        ABOUT,
        render_table(HEADINGS, render_rows(taken)),
        "\n".join([*render_findings(taken), *out]),
    ]
    versions = pinned_versions(taken)
    write_section("Prompt, activation and reading", "\n\n".join(parts), versions)
    figures = {name: {kind: one.median(kind) for kind in KINDS} for name, one in taken.items()}
    memory = {name: one.peak_rss_kb for name, one in taken.items()}
    write_figures("use", {"skills": SKILLS, "seconds": figures, "peak_rss_kb": memory}, versions)


if __name__ == "__main__":
    main()
