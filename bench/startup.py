"""Measures what it costs to import the library and to start the command, beside bare equivalents."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import describe_machine, render_machine, render_table
from bench.results import write_section

ROUNDS = 25
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


def measure(named: dict[str, list[str]]) -> dict[str, float]:
    """Start each in turn, many times, and return the medians in seconds."""
    times: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(ROUNDS):
        for name, command in named.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Write the section of the results."""
    with tempfile.TemporaryDirectory() as folder:
        medians = measure(commands(Path(folder)))
    bare = medians["python -c pass"]
    rows = [(name, f"{value * 1000:.1f}", f"{(value - bare) * 1000:.1f}") for name, value in medians.items()]
    over = {name: max(value - bare, 1e-6) for name, value in medians.items()}
    imported = over["import prowess"] / over["import asyncio"]
    started = medians["prowess --version"] / medians["a bare click command --version"]
    write_section(
        "Start-up",
        "\n".join(
            [
                f"`python -m bench.startup` — {render_machine(describe_machine())}",
                "",
                render_table(("command", "median ms", "over bare Python, ms"), rows),
                "",
                f"- `import prowess` costs {imported:.2f} times `import asyncio`.",
                f"- `prowess --version` takes {started:.2f} times a bare click command.",
            ]
        ),
    )


if __name__ == "__main__":
    main()
