"""Who takes part: the floors, and every peer that could be installed."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.peer_environments import make_peer_environment, peer_names, peer_script
from bench.timing import Failure, Runner, render_reason

# Peers whose quickest listing validates hardly anything; they run a second time, validating.
VALIDATING = frozenset({"skills-ref", "skills-ref-rs"})
FLOOR = Path(__file__).resolve().with_name("floor.py")


@dataclass(frozen=True, slots=True)
class Peers:
    """Those that can run, and those that cannot."""

    runners: tuple[Runner, ...]
    missing: tuple[Failure, ...]


def floor_runners() -> tuple[Runner, ...]:
    """Both floors, in this interpreter."""
    functions = {"floor: scandir + stat": "stat_each", "floor: + read of 8 kB": "read_each"}
    return tuple(
        Runner(name=name, python=Path(sys.executable), script=FLOOR, function=function)
        for name, function in functions.items()
    )


def peer_runners(*, names: list[str] | None = None) -> Peers:
    """Every named peer (all by default) is installed, or is in `missing` with the reason."""
    runners: list[Runner] = []
    missing: list[Failure] = []
    for name in peer_names() if names is None else names:
        try:
            python = make_peer_environment(name)
        except (OSError, subprocess.SubprocessError) as error:
            missing.append(Failure(name=name, reason=render_reason(error)))
        else:
            runners.extend(_make_runners(name, python=python))
    return Peers(runners=tuple(runners), missing=tuple(missing))


def _make_runners(name: str, *, python: Path) -> list[Runner]:
    quickest = Runner(name=name, python=python, script=peer_script(name), distribution=name)
    if name not in VALIDATING:
        return [quickest]
    return [quickest, replace(quickest, name=f"{name}, validating", function="discover_validated")]
