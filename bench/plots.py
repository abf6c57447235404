"""Draws the plots of the results; `python -m bench.plots` needs no new run.

matplotlib has an environment of its own, which is made when a plot is first drawn.
"""

import subprocess

from bench.effort import PLACE
from bench.peer_environments import PROJECT_ROOT, make_environment

DRAW = PROJECT_ROOT / "bench" / "draw_plots.py"
REQUIREMENTS = PROJECT_ROOT / "requirements" / "bench.txt"


def main() -> None:
    python = make_environment(PROJECT_ROOT / ".bench" / "plots", REQUIREMENTS)
    subprocess.run((str(python), "-I", str(DRAW), str(PLACE / "figures.json"), str(PLACE / "plots")), check=True)


if __name__ == "__main__":
    main()
