"""Renders the comparison for the README, from the figures of the last runs, and puts it between its marks there."""

import statistics
from typing import Any

from bench.peer_environments import PROJECT_ROOT
from bench.report import render_table

__all__ = ["README", "place_comparison", "render_comparison_block", "write_comparison"]

Figures = dict[str, dict[str, Any]]
README = PROJECT_ROOT / "README.md"
BEGIN, END = "<!-- comparison: made by bench.summary -->", "<!-- /comparison -->"
BEST, QUICKEST = 4, 4
"""How many peers at the top of each order have a row; those with nasty skills, and those that list them."""
SKILLS = "1000"
_RESULTS = "bench/RESULTS.md"
_CALLS = {"first prompt": "first catalog text, ms", "prompt": "a later one, ms", "activate": "activate, ms"}
"""What a conversation asks for, by the name that it has in the figures."""


def render_comparison_block(figures: Figures) -> str:
    """Return a table of Prowess, the best peers and the median one, with who is shown and what was measured.

    Empty where the nasty skills or discovery were not measured: half a comparison is none.
    """
    readers = figures.get("compatibility", {}).get("readers", {})
    if "prowess" not in readers or SKILLS not in figures.get("discovery", {}).get("seconds", {}):
        return ""
    columns = _measure_columns(figures)
    names = sorted((name for name in readers if name != "prowess"), key=lambda name: (-readers[name]["good"], name))
    good = {name: row["good"] for name, row in readers.items()}
    shown = ["prowess", *_choose(names, good, columns)]
    rows = [
        (_name(name, figures), *(_render(column.get(name), columns, key) for key, column in columns.items()))
        for name in shown
    ]
    middles = {
        key: statistics.median(known) if (known := [column[name] for name in names if name in column]) else None
        for key, column in columns.items()
    }
    rows.append((f"median of {len(names)} peers", *(_render(middle, columns, key) for key, middle in middles.items())))
    dates = sorted(
        {figures[one]["about"]["date"] for one in ("compatibility", "discovery", "use") if _is_stamped(figures, one)}
    )
    day = f", {' and '.join(dates)}" if dates else ""
    told = (
        f"`-`: it has no such call that could be measured. Of {len(names)} peers the {BEST} are shown that treat most"
        f" nasty skills well, with all that equal the last of them, and the {QUICKEST} that list skills the quickest;"
        " the last row is of all that were measured. The first catalog text is made once in a process, a later one"
        " while nothing has changed.\n\n"
        f"Measured by `make bench`{day}: the [nasty skills]({_RESULTS}#compatibility),"
        f" [discovery]({_RESULTS}#discovery), [what a conversation asks"
        f" for]({_RESULTS}#prompt-activation-and-reading), and [all the rest]({_RESULTS})."
    )
    return f"{render_table(('', *columns), rows)}\n\n{told}"


def _is_stamped(figures: Figures, name: str) -> bool:
    return "about" in figures.get(name, {})


def _measure_columns(figures: Figures) -> dict[str, dict[str, float]]:
    """Each column's figures, by contestant; what nobody was measured for has none."""
    compatibility, discovery, use = (figures.get(name, {}) for name in ("compatibility", "discovery", "use"))
    seconds = discovery.get("seconds", {}).get(SKILLS, {})
    memory = discovery.get("peak_rss_kb", {}).get(SKILLS, {})
    calls = use.get("seconds", {})
    columns: dict[str, dict[str, float]] = {
        f"nasty skills treated well, of {compatibility['kinds']}": {
            name: row["good"] for name, row in compatibility["readers"].items()
        },
        "list 1,000 skills cold, ms": {name: value * 1_000 for name, value in seconds.items()},
        "peak MB": {name: value / 1_024 for name, value in memory.items()},
    }
    for kind, title in _CALLS.items():
        columns[title] = {name: row[kind] * 1_000 for name, row in calls.items() if row.get(kind) is not None}
    return {title: column for title, column in columns.items() if column}


def _choose(names: list[str], good: dict[str, int], columns: dict[str, dict[str, float]]) -> list[str]:
    """The best with nasty skills, with all that equal the last of them, and the quickest; in the order of `names`."""
    quick = columns.get("list 1,000 skills cold, ms", {})
    by_speed = sorted((name for name in names if name in quick), key=quick.__getitem__)
    enough = min((good[name] for name in names[:BEST]), default=0)
    return [name for name in names if good[name] >= enough or name in by_speed[:QUICKEST]]


def _name(name: str, figures: Figures) -> str:
    versions = {
        key: value
        for one in ("compatibility", "discovery", "use")
        for key, value in figures.get(one, {}).get("about", {}).get("versions", {}).items()
    }
    if name == "prowess":
        version = figures["compatibility"].get("about", {}).get("prowess", "")
        return f"**Prowess** {version}".rstrip()
    return f"{name} {versions.get(name, '')}".rstrip()


def _render(value: float | None, columns: dict[str, dict[str, float]], key: str) -> str:
    """A figure; that of the listing also as a ratio to ours."""
    if value is None:
        return "-"
    if key.startswith(("nasty", "peak")):
        return f"{value:,.0f}"
    told = f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    ours = columns[key].get("prowess")
    return f"{told} ({value / ours:.1f}x)" if key.startswith("list") and ours else told


def place_comparison(text: str, block: str) -> str:
    """Return the text with the block between the marks; as it is, without marks."""
    if BEGIN not in text or END not in text or not block:
        return text
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{head}{BEGIN}\n\n{block}\n\n{END}{tail}"


def write_comparison(figures: Figures) -> None:
    """Put the comparison into the README, where that has a place for it."""
    old = README.read_text(encoding="utf-8")
    new = place_comparison(old, render_comparison_block(figures))
    if new != old:
        README.write_text(new, encoding="utf-8")
