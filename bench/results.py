"""Keeps `bench/RESULTS.md`: one section a benchmark, replaced when it is run again, and the figures behind it.

The figures are kept as well, in `figures.json`: the summary and the plots are made from them, and need no new run. Each
section and each benchmark's figures carry a stamp: of which run they are, when and where it was, and of which versions.
"""

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from bench.effort import PLACE
from bench.report import describe_machine, render_machine
from prowess import __version__

__all__ = [
    "ORDER",
    "RESULTS",
    "RUN",
    "RUN_VARIABLE",
    "SECTIONS",
    "mark_failed",
    "name_run",
    "read_figures",
    "write_figures",
    "write_section",
]

RESULTS = PLACE / "RESULTS.md"
_FIGURES = PLACE / "figures.json"
_HEAD = """# Results

Ratios matter, not the times. What stands in one section was measured in one run on one machine, which its first line
names, with contestants taking turns. `make bench` makes all sections in one run; the summary names those that are of
another, or that failed.
"""
ORDER = (
    "Summary",
    "Compatibility",
    "Discovery",
    "Discovery of real skills",
    "Prompt, activation and reading",
    "Growth",
    "Copies",
    "What a turn costs",
    "Search",
    "Search of real skills",
    "Scripts in a sandbox",
    "Turns of a conversation",
    "MCP server",
    "Web app",
    "Start-up",
    "Hostile documents",
)
"""Of the sections; others follow by name."""
SECTIONS: dict[str, tuple[str, ...]] = {
    "startup": ("Start-up",),
    "hostile": ("Hostile documents",),
    "compatibility": ("Compatibility",),
    "discovery": ("Discovery",),
    "use": ("Prompt, activation and reading",),
    "disclosure": ("What a turn costs",),
    "sync": ("Copies",),
    "execution": ("Scripts in a sandbox",),
    "turn": ("Turns of a conversation",),
    "mcp": ("MCP server",),
    "web": ("Web app",),
    "recall": ("Search",),
    "growth": ("Growth",),
    "summary": ("Summary",),
}
"""What each benchmark writes; those of real skills besides, where a folder of these is given."""
RUN_VARIABLE = "BENCH_RUN"


def name_run() -> str:
    """Return a name for a run that begins now; names sort by time."""
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


RUN = os.environ.get(RUN_VARIABLE, "") or name_run()
"""All that `python -m bench` starts has one in common; a benchmark that is started on its own has its own."""


def write_section(title: str, text: str, versions: Mapping[str, str] | None = None) -> None:
    """Put the text under its title, in place of what stood there; the versions are those of whoever stood beside us."""
    sections = _read_sections()
    sections[title] = text.strip("\n")
    _write_sections(sections)
    kept = read_figures()
    kept.setdefault("sections", {})[title] = _make_stamp(versions)
    _write_figures(kept)
    print(f"## {title}\n\n{text}")


def _read_sections() -> dict[str, str]:
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = re.split(r"^## ", old, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in parts}


def _write_sections(sections: Mapping[str, str]) -> None:
    body = "\n".join(f"## {name}\n\n{sections[name]}\n" for name in sorted(sections, key=_place))
    PLACE.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f"{_HEAD}\n{body}", encoding="utf-8")


def _place(title: str) -> tuple[int, str]:
    return (ORDER.index(title) if title in ORDER else len(ORDER), title)


_FAILED = "> **Failed**"


def mark_failed(benchmark: str, *, reason: str) -> None:
    """Say above the sections of a benchmark that it failed in this run, whatever they still hold."""
    sections, kept = _read_sections(), read_figures()
    for title in SECTIONS.get(benchmark, ()):
        text = sections.get(title, "")
        if text.startswith(_FAILED):
            text = text.partition("\n\n")[2]
        below = "what stands below is of an earlier run or incomplete." if text else "there are no results."
        sections[title] = f"{_FAILED} in the run {RUN} ({reason}); {below}\n\n{text}".rstrip()
        stamps = kept.setdefault("sections", {})
        stamps[title] = {**stamps.get(title, {}), "failed": RUN}
    if "about" in kept.get(benchmark, {}):
        kept[benchmark]["about"]["failed"] = RUN
    _write_sections(sections)
    _write_figures(kept)


def write_figures(name: str, figures: dict[str, Any], versions: Mapping[str, str] | None = None) -> None:
    """Keep a benchmark's figures, in place of those of its last run."""
    kept = read_figures()
    kept[name] = {**figures, "about": _make_stamp(versions)}
    _write_figures(kept)


def _make_stamp(versions: Mapping[str, str] | None) -> dict[str, Any]:
    """Of which run it is; when and where it was made; whose versions took part."""
    machine = describe_machine()
    return {
        "run": RUN,
        "date": machine.date,
        "machine": render_machine(machine),
        "prowess": __version__,
        "versions": dict(versions or {}),
    }


def _write_figures(kept: Mapping[str, Any]) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    _FIGURES.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_figures() -> dict[str, dict[str, Any]]:
    """Return the figures of the last run of every benchmark, by its name, and under `sections` the stamps of these."""
    if not _FIGURES.exists():
        return {}
    return cast("dict[str, dict[str, Any]]", json.loads(_FIGURES.read_text(encoding="utf-8")))
