"""Measures how long it takes to find all skills below a folder, beside peers and the physical floor."""

import statistics
import sys
import tempfile
from pathlib import Path

from bench.generate import generate
from bench.report import describe_machine, render_comparison, render_machine
from bench.results import write_section
from bench.runners import Peers, floor_runners, peer_runners
from bench.timing import Comparison, Runner, interleave

OURS = Path(__file__).resolve().with_name("ours.py")
FLOOR = "floor: scandir + stat"
LARGE = 10_000
AT_LARGE = ("skills-ref-rs", "openai-agents", "hermes-agent", "langchain-skills-adapters", "google-adk", "skills-ref")


def our_runners() -> tuple[Runner, ...]:
    """Prowess in its three modes."""
    functions = {"prowess": "discover", "prowess, indexed": "discover_indexed", "prowess, watched": "discover_watched"}
    return tuple(
        Runner(name=name, python=Path(sys.executable), script=OURS, function=function, distribution="prowess")
        for name, function in functions.items()
    )


def compare(count: int, peers: Peers, *, rounds: int, repeats: int) -> Comparison:
    """Run everybody over the same generated skills."""
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        root = Path(folder) / "skills"
        generate(root, count=count)
        return interleave([*floor_runners(), *our_runners(), *peers.runners], root, rounds=rounds, repeats=repeats)


def summarise(comparison: Comparison) -> str:
    """Say in sentences what the goals ask."""
    medians = {result.name: result.spread.median for result in comparison.results}
    peers = {name: value for name, value in medians.items() if not name.startswith(("prowess", "floor"))}
    ours, indexed, watched = medians["prowess"], medians["prowess, indexed"], medians["prowess, watched"]
    validating = {name: value for name, value in peers.items() if not _only_lists(name, peers)}
    fastest, fastest_validating = min(peers, key=peers.__getitem__), min(validating, key=validating.__getitem__)
    listed = statistics.median(value for name, value in peers.items() if not name.endswith("validating"))
    return "\n".join(
        [
            f"- Without an index: {peers[fastest] / ours:.2f} times as fast as the fastest peer ({fastest}),",
            f"  {validating[fastest_validating] / ours:.2f} times as fast as the fastest that also judges what it",
            f"  reads ({fastest_validating}), {listed / ours:.1f} times as fast as the median peer.",
            f"- With an index from an earlier process: {indexed / medians[FLOOR]:.2f} times the floor.",
            f"- Watched and unchanged: {watched * 1000:.2f} ms, {watched / medians[FLOOR]:.3f} times the floor.",
        ]
    )


def _only_lists(name: str, peers: dict[str, float]) -> bool:
    """Whether the same peer has a second row in which it validates."""
    return f"{name}, validating" in peers


def main() -> None:
    """Write the section of the results."""
    peers = peer_runners()
    small = compare(1_000, peers, rounds=5, repeats=3)
    large = compare(LARGE, peer_runners(names=list(AT_LARGE)), rounds=2, repeats=1)
    missing = [f"- {failure.name} could not be installed: {failure.reason}" for failure in peers.missing]
    write_section(
        "Discovery",
        "\n".join(
            [
                f"`python -m bench.discovery` — {render_machine(describe_machine())}",
                "",
                "Every contestant finds all SKILL.md files below a folder and gives name and description of each, in",
                "a process of its own, after a warm-up. `ratio` is the median over that of the floor: one scandir, and",
                "one stat of each SKILL.md. Rows named 'validating' also check the rules, as Prowess always does.",
                "",
                "### 1,000 skills of three files",
                "",
                render_comparison(small, against=FLOOR),
                "",
                summarise(small),
                "",
                f"### {LARGE:,} skills",
                "",
                render_comparison(large, against=FLOOR),
                "",
                summarise(large),
                *missing,
            ]
        ),
    )


if __name__ == "__main__":
    main()
