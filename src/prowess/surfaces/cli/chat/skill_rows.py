"""Skills as rows: what a conversation may use, what is on, and what fits some words."""

from collections.abc import Iterator, Sequence

from prowess.activation.receipts import Receipt
from prowess.runtime import Session
from prowess.skill.skill import Skill
from prowess.surfaces.tones import Line, Row, Tone

__all__ = ["render_active", "render_skills"]

_MAX_ROWS = 100
_MAX_NAME = 32
_MAX_FOUND = 20
_ON, _OFF = "●", " "


def render_skills(session: Session, words: str) -> Iterator[Line]:
    """Return a row for each skill, with its source and its state; with words, for those that fit them, best first."""
    view = session.view()
    people = {skill.id for skill in view.for_people}
    skills: Sequence[Skill] = (*view.visible, *view.for_people)
    if words:
        skills = [found.skill for found in session.search(words, limit=_MAX_FOUND)]
    active = {receipt.skill for receipt in session.active()}
    if not skills:
        yield Line("no skill fits; try other words" if words else "no skills; `prowess list` says more", Tone.DOUBTFUL)
    states = ["on" if one.id in active else "for you only" if one.id in people else "ok" for one in skills]
    for skill, cells in zip(skills, _align(skills, states), strict=False):
        is_on = skill.id in active
        row = f"{_ON if is_on else _OFF} {cells}  {' '.join(skill.description.split())}"
        yield Row(row, Tone.STRONG if is_on else Tone.PLAIN)
    if len(skills) > _MAX_ROWS:
        yield Line(f"  … and {len(skills) - _MAX_ROWS:,} more; /skills WORDS searches", Tone.DIM)
    if not words and view.hidden:
        hidden = len(view.hidden) - len(people & view.hidden.keys())
        yield from [Line(f"  {hidden:,} more are hidden; /why NAME says why", Tone.DIM)] if hidden else []


def _align(skills: Sequence[Skill], states: Sequence[str]) -> Iterator[str]:
    """Return names, sources and states as columns."""
    cells = [(skill.name, skill.kind.value, state) for skill, state in zip(skills, states, strict=True)][:_MAX_ROWS]
    widths = [min(max(map(len, column)), _MAX_NAME) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))


def render_active(receipts: Sequence[Receipt]) -> Iterator[Line]:
    """Return a row for each skill that is on."""
    if not receipts:
        yield Line("no skill is on")
    for receipt in receipts:
        held = "" if receipt.in_context else " · its instructions have left the conversation"
        who = f"by the {receipt.asked_by.value}" if receipt.asked_by.value != "trigger" else f"by {receipt.trigger}"
        yield Row(f"{_ON} {receipt.name} · switched on {who} · {receipt.tokens:,} tokens{held}")
