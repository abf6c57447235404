"""Draws the plots of the results, light and dark, from the figures of the last run.

Run by an interpreter that has matplotlib, which `bench.plots` sees to: `draw_plots.py figures.json folder`.
"""
# pyright: basic, reportMissingImports=false

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

THEMES = {
    "light": {
        "back": "#ffffff",
        "text": "#1f2328",
        "grid": "#d1d9e0",
        "peer": "#9aa4af",
        "prowess": "#d1242f",
        "prowess, indexed": "#bc4c00",
        "prowess, watched": "#8250df",
        "floor: scandir + stat": "#1a7f37",
    },
    "dark": {
        "back": "#0d1117",
        "text": "#f0f6fc",
        "grid": "#3d444d",
        "peer": "#6e7681",
        "prowess": "#ff7b72",
        "prowess, indexed": "#ffa657",
        "prowess, watched": "#d2a8ff",
        "floor: scandir + stat": "#7ee787",
    },
}
"""Colours on the grounds of the two themes of the page that shows them; contestants with one of their own stand out."""
NAMED = ("skills-ref-rs", "openai-agents", "skills-ref", "pydantic-ai-skills", "google-adk", "fastmcp", "hermes-agent")
"""Peers with their name at the end of the line; all have a line."""
DPI = 130
GROWTH = {
    "discovery, no cache": "discovery, no cache",
    "discovery, cache of another process": "discovery, cached",
    "catalog asked for, unwatched, nothing changed": "unwatched look",
    "catalog asked for, watched, nothing changed": "watched look",
    "plan with a query": "plan with a query",
    "search, p99": "search, p99",
    "sync, first user": "first sync",
    "`cp -a` and a sync, for comparison": "cp -a and a sync",
    "sync, nothing changed": "sync, nothing changed",
    "`prowess list`, again": "prowess list",
}


def main() -> None:
    figures = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for theme, colours in THEMES.items():
        if "discovery" in figures:
            draw_discovery(figures["discovery"]["seconds"], colours, folder / f"discovery-{theme}.png")
        if "growth" in figures:
            draw_growth(figures["growth"]["seconds"], colours, folder / f"growth-{theme}.png")


def draw_discovery(seconds, colours, path) -> None:
    """Peers in grey, so that there are few colours to tell apart; the names stand at the ends of the lines."""
    lines = {}
    for size, row in seconds.items():
        for name, value in row.items():
            lines.setdefault(name, []).append((int(size), value * 1_000))
    figure, axes = make_axes(colours, "Finding all skills, no cache unless said: ms", "skills")
    ends = []
    for name, points in lines.items():
        points.sort()
        colour, style = colours.get(name, colours["peer"]), "--" if name.startswith("floor") else "-"
        if name.startswith("floor: +"):
            continue
        width = 2.4 if name in colours else 1
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, style, color=colour, linewidth=width, marker="o", markersize=width + 1)
        if name in colours or name in NAMED:
            ends.append((xs[-1], ys[-1], name, colour if name in colours else colours["text"]))
    name_ends(axes, ends)
    figure.savefig(path, dpi=DPI, facecolor=colours["back"])
    plt.close(figure)


def draw_growth(seconds, colours, path) -> None:
    figure, axes = make_axes(colours, "What Prowess takes: ms", "skills")
    cycle = plt.get_cmap("tab10").colors
    ends = []
    for number, (key, name) in enumerate(GROWTH.items()):
        points = sorted((int(size), value * 1_000) for size, value in seconds.get(key, {}).items())
        if not points:
            continue
        xs, ys = zip(*points, strict=True)
        colour = cycle[number % len(cycle)]
        axes.plot(xs, ys, color=colour, linewidth=2, marker="o", markersize=4)
        ends.append((xs[-1], ys[-1], name, colours["text"]))
    draw_slope(axes, colours)
    name_ends(axes, ends)
    figure.savefig(path, dpi=DPI, facecolor=colours["back"])
    plt.close(figure)


def draw_slope(axes, colours) -> None:
    """A dotted line that grows as fast as the number of skills."""
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    middle = (bottom * top) ** 0.5
    centre = (low * high) ** 0.5
    axes.plot([low, high], [middle * low / centre, middle * high / centre], ":", color=colours["peer"], linewidth=1.2)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom, top)


def make_axes(colours, title, across):
    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(figsize=(8.6, 5.2), dpi=DPI)
    figure.subplots_adjust(left=0.08, right=0.74, top=0.92, bottom=0.1)
    axes.set_facecolor(colours["back"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, color=colours["text"], loc="left", fontsize=11)
    axes.set_xlabel(across, color=colours["text"])
    axes.tick_params(colors=colours["text"], which="both")
    axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.grid(visible=True, which="major", color=colours["grid"], linewidth=0.6)
    for side in axes.spines.values():
        side.set_color(colours["grid"])
    return figure, axes


def name_ends(axes, ends) -> None:
    """Each name beside the end of its line, moved up where two would overlap."""
    axes.figure.canvas.draw()
    least, last = 17, -1e9
    edge = axes.get_window_extent().x1
    for x, y, name, colour in sorted(ends, key=lambda end: end[1]):
        here = axes.transData.transform((x, y))
        height = max(here[1], last + least)
        last = height
        axes.annotate(
            name,
            xy=(x, y),
            xytext=(edge + 8, height),
            textcoords="figure pixels",
            color=colour,
            fontsize=9,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4},
            annotation_clip=False,
        )


if __name__ == "__main__":
    main()
