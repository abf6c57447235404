"""How much work a run does: a full one, or a small one that shows within minutes that everything still runs.

`BENCH_QUICK=1` makes it small. A small run writes beside the others into `.bench/quick`, never over full results.
"""

import os
from pathlib import Path
from typing import TypeVar

__all__ = ["PLACE", "QUICK", "choose"]

QUICK = os.environ.get("BENCH_QUICK", "") not in ("", "0")
_HERE = Path(__file__).resolve().parent
PLACE = _HERE.parent / ".bench" / "quick" if QUICK else _HERE
"""The folder that results, figures and plots are written to."""

T = TypeVar("T")


def choose(full: T, *, quick: T) -> T:
    """Return what fits the run."""
    return quick if QUICK else full
