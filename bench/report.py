"""Renders a comparison as Markdown, with the machine it was measured on."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.timing import Comparison, Result

HEADINGS = ("contestant", "version", "found", "median ms", "quartiles ms", "min ms", "ratio", "import ms", "peak MB")
# Below it a tenth of a millisecond is worth showing.
FINE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when."""

    cpu: str
    cores: int
    python: str
    kernel: str
    date: str


def describe_machine() -> Machine:
    """The machine this process runs on, now."""
    return Machine(
        cpu=_read_cpu_model(),
        cores=os.cpu_count() or 1,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        kernel=f"{platform.system()} {platform.release()}",
        date=datetime.now(tz=UTC).strftime("%Y-%m-%d"),
    )


def _read_cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def render_machine(machine: Machine) -> str:
    return f"{machine.cpu}, {machine.cores} cores, {machine.python}, {machine.kernel}, {machine.date}"


def render_comparison(comparison: Comparison, *, against: str) -> str:
    """A table whose ratios say how many times longer than `against` each one took, then who broke off."""
    base = next((result.spread.median for result in comparison.results if result.name == against), None)
    table = render_table(HEADINGS, [_render_row(result, base=base) for result in comparison.results])
    failed = [f"- {failure.name} broke off: {failure.reason}" for failure in comparison.failures]
    return "\n".join([table, "", *failed]) if failed else table


def _render_row(result: Result, *, base: float | None) -> tuple[str, ...]:
    spread = result.spread
    return (
        result.name,
        result.version or "-",
        str(result.count),
        _render_ms(spread.median),
        f"{_render_ms(spread.first_quartile)}-{_render_ms(spread.third_quartile)}",
        _render_ms(spread.minimum),
        f"{spread.median / base:.2f}" if base else "-",
        _render_ms(result.median_import_seconds),
        f"{result.peak_rss_kb / 1024:.0f}",
    )


def _render_ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}" if seconds < FINE_SECONDS else f"{seconds * 1000:,.0f}"


def render_picture(name: str, *, alt: str) -> str:
    """A plot, in the colours of the reader's theme."""
    return "\n".join(
        [
            "<picture>",
            f'  <source media="(prefers-color-scheme: dark)" srcset="plots/{name}-dark.png">',
            f'  <img alt="{alt}" src="plots/{name}-light.png">',
            "</picture>",
        ]
    )


def render_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column to the left, the rest to the right."""
    rule = ["---", *("---:" for _ in headings[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))
