"""Measures what it costs to import the library and to start the command, beside bare equivalents."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.effort import choose
from bench.peer_environments import installed_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.timing import Spread, measure_spread

ROUNDS = choose(25, quick=3)
CLICK = """
import click

@click.group()
@click.version_option("1.0", prog_name="bare")
def cli() -> None:
    pass

cli()
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """What is started, by what it is called in the table."""
    bare = folder / "bare.py"
    bare.write_text(CLICK, encoding="utf-8")
    python = sys.executable
    return {
        "python -c pass": [python, "-c", "pass"],
        "import asyncio": [python, "-c", "import asyncio"],
        "import prowess": [python, "-c", "import prowess"],
        "import prowess, Runtime": [python, "-c", "from prowess import Runtime"],
        "a bare click command --version": [python, str(bare), "--version"],
        "prowess --version": [str(Path(python).with_name("prowess")), "--version"],
    }


def measure(named: dict[str, list[str]]) -> dict[str, Spread]:
    """Start each many times, in a new order each time, and return the seconds."""
    times: dict[str, list[float]] = {name: [] for name in named}
    for number in range(-1, ROUNDS):  # What is read for the first time is not counted.
        order = list(named)
        random.Random(number).shuffle(order)
        for name in order:
            begun = time.perf_counter()
            subprocess.run(named[name], check=True, capture_output=True)
            times[name].extend([time.perf_counter() - begun] if number >= 0 else [])
    return {name: measure_spread(values) for name, values in times.items()}


def _render_row(name: str, spread: Spread, *, bare: float) -> tuple[str, ...]:
    quartiles = f"{spread.first_quartile * 1000:.1f} to {spread.third_quartile * 1000:.1f}"
    return (name, f"{spread.median * 1000:.1f}", quartiles, f"{(spread.median - bare) * 1000:.1f}")


def main() -> None:
    """Write the section of the results."""
    with tempfile.TemporaryDirectory() as folder:
        spreads = measure(commands(Path(folder)))
    medians = {name: spread.median for name, spread in spreads.items()}
    bare = medians["python -c pass"]
    rows = [_render_row(name, spread, bare=bare) for name, spread in spreads.items()]
    over = {name: max(value - bare, 1e-6) for name, value in medians.items()}
    imported = over["import prowess"] / over["import asyncio"]
    started = medians["prowess --version"] / medians["a bare click command --version"]
    versions = installed_versions("click")
    write_figures("startup", {"import": imported, "version": started, "seconds": medians}, versions)
    write_section(
        "Start-up",
        "\n".join(
            [
                f"`python -m bench.startup` — {render_machine(describe_machine())}",
                "",
                f"{ROUNDS} starts of each, in a new order each round.",
                "",
                render_table(("command", "median ms", "quartiles ms", "over bare Python, ms"), rows),
                "",
                f"- `import prowess` costs {imported:.2f} times `import asyncio`.",
                f"- `prowess --version` takes {started:.2f} times a bare click command.",
            ]
        ),
        versions,
    )


if __name__ == "__main__":
    main()
