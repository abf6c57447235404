"""Bar charts as values: where each bar stands, for a template to draw."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Bar", "Chart", "Segment", "draw_bars", "draw_segments"]

_STEPS = (1, 2, 5)
_LINES = 4
"""Lines across a chart, at most."""
_TICKS = 6
"""Labels below it, at most."""
_LENGTH = 1_000
"""Of one long bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One column: two parts upon each other, in the units of the drawing."""

    label: str
    x: float
    width: float
    lower: int
    upper: int
    lower_y: float
    lower_height: float
    upper_y: float
    upper_height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of so many units, with its bars, the lines across it, and where labels stand below it."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    lines: tuple[tuple[float, int], ...]
    """Where each stands, and what it means."""
    ticks: tuple[tuple[float, str], ...]

    @property
    def total(self) -> int:
        return sum(bar.lower + bar.upper for bar in self.bars)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of one long bar."""

    kind: str
    x: float
    width: float
    amount: int


def draw_bars(values: Sequence[tuple[str, int, int]], *, width: int = 720, height: int = 160) -> Chart:
    """Return a chart of columns, each with a label, a lower and an upper part."""
    most = max((lower + upper for _, lower, upper in values), default=0)
    step = _choose_step(most)
    top = max(step, -(-most // step) * step)
    room = width / max(1, len(values))
    bars: list[Bar] = []
    for number, (label, lower, upper) in enumerate(values):
        below, above = lower / top * height, upper / top * height
        bars.append(
            Bar(
                label,
                round(number * room + room * 0.12, 2),
                round(room * 0.76, 2),
                lower,
                upper,
                round(height - below, 2),
                round(below, 2),
                round(height - below - above, 2),
                round(above, 2),
            )
        )
    lines = tuple((round(height - value / top * height, 2), value) for value in range(0, top + 1, step))
    every = max(1, -(-len(values) // _TICKS))
    named = tuple((round((number + 0.5) * room, 2), values[number][0]) for number in range(0, len(values), every))
    return Chart(width, height, tuple(bars), lines, named)


def draw_segments(amounts: Sequence[tuple[str, int]], *, total: int) -> tuple[Segment, ...]:
    """Return the parts of one bar, from left to right; parts of nothing are left out."""
    segments: list[Segment] = []
    x = 0.0
    for kind, amount in amounts:
        if amount > 0 and total > 0:
            part = min(amount / total * _LENGTH, _LENGTH - x)
            segments.append(Segment(kind, round(x, 2), round(part, 2), amount))
            x += part
    return tuple(segments)


def _choose_step(most: int) -> int:
    size = 1
    while True:
        for step in _STEPS:
            if most <= step * size * _LINES:
                return step * size
        size *= 10
