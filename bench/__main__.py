"""Runs every benchmark, one after the other, and writes the results, the summary and the plots.

`python -m bench [FOLDER]`, as `make bench` does; with a folder of real skills, discovery and search are measured on
these as well, in sections of their own. With `BENCH_QUICK=1` all of it is small, and goes to `.bench/quick`. One that
fails does not keep the others from running, and its sections say so.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.grown_skills import FOLDER_VARIABLE, remove_later
from bench.peer_environments import PROJECT_ROOT
from bench.results import RUN, RUN_VARIABLE, mark_failed

ORDER = (
    "startup",
    "hostile",
    "compatibility",
    "discovery",
    "use",
    "disclosure",
    "sync",
    "execution",
    "turn",
    "mcp",
    "web",
    "recall",
    "growth",
    "plots",
    "summary",
)
"""The heaviest late, so that a run that is broken off has most; the last two are made from all the others."""
TAKE_FOLDER = ("discovery", "recall")
"""Those that also measure real skills, where a folder of these is given."""
PATIENCE_SECONDS = 2_400
"""Longer than any takes on a slow machine; whoever hangs must not take the whole run with it."""


def main() -> int:
    """Return 1 if one of them failed."""
    failed: list[str] = []
    skills = Path(tempfile.mkdtemp(prefix="prowess-bench-skills-"))
    environment = {**os.environ, FOLDER_VARIABLE: str(skills), RUN_VARIABLE: RUN}
    try:
        for name in ORDER:
            print(f"bench.{name} …", file=sys.stderr, flush=True)
            begun = time.monotonic()
            reason = _run(name, sys.argv[1:] if name in TAKE_FOLDER else [], environment)
            print(f"bench.{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
            if reason:
                failed.append(name)
                mark_failed(name, reason=reason)
    finally:
        remove_later(skills)
    if failed:
        print(f"failed: {', '.join(failed)}; `python -m bench.{failed[0]}` shows why", file=sys.stderr)
    return 1 if failed else 0


def _run(name: str, arguments: list[str], environment: dict[str, str]) -> str:
    """Run one benchmark to its end; return why it failed, if it did."""
    command = (sys.executable, "-m", f"bench.{name}", *arguments)
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=PROJECT_ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {PATIENCE_SECONDS} s"
    return f"status {done.returncode}" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
