"""Names every peer that is faster or smaller than Prowess, from the figures of the last runs."""

from collections.abc import Mapping
from typing import Any

__all__ = ["discovery_at", "render_losses"]

Figures = dict[str, dict[str, Any]]
_USE = {
    "open": "Opening the folder",
    "first prompt": "The first text of the catalog",
    "prompt": "A later text of the catalog",
    "activate": "Activation",
    "read": "Reading a file",
}
_PLAIN = "FTS5, plain BM25"
_OURS = "prowess, by words"
_MANY = "100,000"


def discovery_at(
    figures: Figures, size: int, what: str, *, factor: float = 1
) -> tuple[dict[str, float], dict[str, float]]:
    """Return a figure of discovery at a number of skills: of all, and of the peers; empty if it was not measured."""
    row = figures.get("discovery", {}).get(what, {}).get(str(size), {})
    found = {name: value * factor for name, value in row.items()}
    return found, _peers_of(found)


def _peers_of(found: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if not name.startswith(("prowess", "floor"))}


def render_losses(figures: Figures) -> list[str]:
    """Say where a peer takes less, who it is, and of how many."""
    lines: list[str] = []
    for size in (1_000, 10_000, 100_000):
        what = f"Discovery without a cache, {size:,} skills"
        lines += _name_better(what, *discovery_at(figures, size, "seconds"), word="faster")
    lines += _name_better(
        "Peak memory of discovery, 1,000 skills", *discovery_at(figures, 1_000, "peak_rss_kb"), word="smaller"
    )
    lines += _name_better(
        "Import of all that discovery needs", *discovery_at(figures, 1_000, "import_seconds"), word="faster"
    )
    use = figures.get("use", {})
    for kind, what in _USE.items():
        found = {name: row[kind] for name, row in use.get("seconds", {}).items() if row.get(kind) is not None}
        lines += _name_better(what, found, _peers_of(found), word="faster")
    memory = use.get("peak_rss_kb", {})
    lines += _name_better("Peak memory of use", memory, _peers_of(memory), word="smaller")
    return lines + _render_search(figures.get("search", {}))


def _name_better(what: str, found: Mapping[str, float], peers: Mapping[str, float], *, word: str) -> list[str]:
    """One line; none where we, or all others, were not measured."""
    ours = found.get("prowess")
    if ours is None or not peers:
        return []
    better = sorted((name for name, value in peers.items() if value < ours), key=peers.__getitem__)
    told = ", ".join(f"{name} ({peers[name] / ours:.2g} of ours)" for name in better)
    return [f"- {what}: {told or 'no peer'} {'is' if len(better) < 2 else 'are'} {word}, of {len(peers)}."]


def _render_search(search: dict[str, Any]) -> list[str]:
    """Set the index beside that of plain FTS5, which is made sooner and stays on the disk."""
    lines: list[str] = []
    told = {"index_seconds": ("Making the search index", "s"), "memory_mb": ("Memory of the search", "MB")}
    for key, (what, unit) in told.items():
        row = search.get(key, {})
        ours, theirs = row.get(f"{_OURS}, {_MANY}"), row.get(f"{_PLAIN}, {_MANY}")
        if ours is not None and theirs is not None:
            verdict = "takes less" if theirs < ours else "takes no less"
            lines.append(
                f"- {what}, {_MANY} skills: {_PLAIN} {verdict}: {theirs:,.1f} {unit}, ours {ours:,.1f} {unit}."
            )
    return lines
