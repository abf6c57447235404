"""The planner: what of the catalog goes into the prompt, within a budget, and why the rest does not.

If everything fits, everything is shown in full. Else skills that were called for (pinned, mentioned, triggered) come
first, then the likely ones (relevant to the query, recently used), then the others. There is no cliff: long
descriptions are cut before short ones; then the last skills keep their names only; then the last names go, and search
finds them.

It looks at the skills that are favoured and at no more others than the budget can hold, so that a plan for 100,000
takes no longer than one for 1,000.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prowess.catalog.views import View
from prowess.disclosure.catalog_text import FORMS, Form, render_catalog
from prowess.disclosure.tokens import PARTS_PER_TOKEN, TokenCounter
from prowess.policy import CatalogText
from prowess.skill.names import MAX_NAME_LENGTH
from prowess.skill.skill import Skill

__all__ = ["OVER_BUDGET", "Favour", "Level", "Placement", "Plan", "describe", "plan_catalog", "plan_whole"]

_LEAST_DESCRIPTION = 12 * PARTS_PER_TOKEN
"""What a cut description must be allowed to cost, or it is not shown at all."""
_FAVOURED_SHARE = 0.75
"""Of the budget, that favoured skills may take for descriptions before the others have room for their names."""
_CLOSE = 4 * PARTS_PER_TOKEN
"""A cut that leaves less than this is near enough to the best."""
_LONGEST_WORD = 24
"""A cut drops the word that it has halved, unless that is longer, or in a script without blanks between words."""
_HEAD_START = 0.5
"""Of what is left for the descriptions of favoured skills, that goes to the first of them instead of to all alike."""
_ATTEMPTS = 8
"""How often a plan is made again because the counter found the whole dearer than its parts."""
_ELLIPSIS = "…"
_FITS, _SWITCHED = "fits", "switched"
OVER_BUDGET = "over-budget"
"""The reason for showing less of a skill than there is."""
_HALVED_WORD = re.compile(rf"\s+[^\s\u2e80-\U0010ffff]{{0,{_LONGEST_WORD}}}\Z")


class Level(StrEnum):
    """How much of a skill is shown."""

    FULL = "full"
    SHORTENED = "shortened"
    NAME_ONLY = "name_only"
    LEFT_OUT = "left_out"


class Favour(StrEnum):
    """Why a skill is placed before others, the strongest reason first."""

    PINNED = "pinned"
    MENTIONED = "mentioned"
    TRIGGERED = "triggered"
    RELEVANT = "relevant"
    RECENT = "recent"


_CALLED_FOR = (Favour.PINNED, Favour.MENTIONED, Favour.TRIGGERED)


@dataclass(frozen=True, slots=True)
class Placement:
    """What is shown of one skill, and why that much."""

    skill: Skill
    level: Level
    reason: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes into the prompt, and why the rest doesn't."""

    text: str
    tokens: int
    budget: int
    shown: tuple[Placement, ...] = ()
    """In the catalog's order."""
    skills: tuple[Skill, ...] = ()
    """All that were to be placed, in the same order."""
    least: int = 0
    """Where nothing is shown: what the remark alone would cost that there are skills; the budget is less."""
    _left_out: list[tuple[Skill, ...]] = field(
        default_factory=list[tuple[Skill, ...]], init=False, repr=False, compare=False
    )
    """Once it was asked for: most prompts are made without."""

    @property
    def left_out(self) -> tuple[Skill, ...]:
        """Skills for which there was no room; `search_skills` finds them."""
        if len(self.shown) == len(self.skills):
            return ()
        if not self._left_out:
            ids = {placement.skill.id for placement in self.shown}
            self._left_out.append(tuple(skill for skill in self.skills if skill.id not in ids))
        return self._left_out[0]

    @property
    def is_whole(self) -> bool:
        """Whether the budget had room for everything."""
        everything = len(self.shown) == len(self.skills)
        return everything and all(placement.reason != OVER_BUDGET for placement in self.shown)

    def at(self, level: Level) -> tuple[Skill, ...]:
        """Return the skills that are shown this much."""
        if level is Level.LEFT_OUT:
            return self.left_out
        return tuple(placement.skill for placement in self.shown if placement.level is level)

    def find(self, skill_id: str) -> Placement | None:
        """Return what became of a skill, or None if the plan is not about it."""
        for placement in self.shown:
            if placement.skill.id == skill_id:
                return placement
        for skill in self.skills:
            if skill.id == skill_id:
                return Placement(skill, Level.LEFT_OUT, OVER_BUDGET)
        return None


def plan_whole(view: View, *, form: CatalogText, budget: int, counter: TokenCounter) -> Plan | None:
    """Return the plan that shows everything in full, or None if there is not room for that."""
    if not view.visible:
        return Plan("", 0, budget)
    shown = _Layout(view, FORMS[form], counter, {}, "").place_all(budget * PARTS_PER_TOKEN)
    if shown is None:
        return None
    text = render_catalog(((one.skill, one.description) for one in shown), form)
    tokens = counter.count(text)
    return Plan(text, tokens, budget, tuple(shown), view.visible) if tokens <= budget else None


def plan_catalog(
    view: View,
    *,
    form: CatalogText,
    budget: int,
    counter: TokenCounter,
    favoured: Mapping[str, Favour] | None = None,
    search_tool: str = "",
) -> Plan:
    """Return the plan for a view. `favoured` maps ids to reasons, in the order in which they are to be served.

    `search_tool` is what finds the skills that are left out, if the model has such a tool. The text never costs more
    than the budget, by the counter's own count.
    """
    if not view.visible:
        return Plan("", 0, budget)
    favours = favoured or {}
    allowance = budget * PARTS_PER_TOKEN
    for _ in range(_ATTEMPTS):
        shown = _Layout(view, FORMS[form], counter, favours, search_tool).place(allowance)
        remark = _remark(len(view.visible) - len(shown), search_tool)
        text = render_catalog(((one.skill, one.description) for one in shown), form, remark=remark)
        tokens = counter.count(text)
        if tokens <= budget:
            return Plan(text, tokens, budget, tuple(shown), view.visible)
        if not shown:
            break
        allowance -= max((tokens - budget) * PARTS_PER_TOKEN, PARTS_PER_TOKEN)
    text = render_catalog((), form, remark=_remark(len(view.visible), search_tool))
    tokens = counter.count(text)
    if tokens <= budget:
        return Plan(text, tokens, budget, (), view.visible)
    return Plan("", 0, budget, (), view.visible, least=tokens)


def _remark(left_out: int, search_tool: str) -> str:
    if not left_out:
        return ""
    skills, them = ("1 more skill is", "it") if left_out == 1 else (f"{left_out:,} more skills are", "them")
    return f"{skills} not listed here" + (f"; {search_tool} finds {them}." if search_tool else ".")


@dataclass(slots=True)
class _Layout:
    """The costs of entries, and the filling of a budget with them."""

    view: View
    form: Form
    counter: TokenCounter
    favours: Mapping[str, Favour]
    search_tool: str

    def place_all(self, allowance: int) -> list[Placement] | None:
        """Return everything in full if that costs at most so much; stop looking as soon as it does not."""
        left = allowance - self.counter.measure(self.form.opening) - self.counter.measure(self.form.closing)
        placed: list[Placement] = []
        for skill in self.view.visible:
            description = self._description(skill)
            left -= self._cost(skill, description)
            if left < 0:
                return None
            level = Level.NAME_ONLY if description is None else Level.FULL
            placed.append(Placement(skill, level, _SWITCHED if description is None else _FITS, description))
        return placed

    def place(self, allowance: int) -> list[Placement]:
        """Return what is shown, in the catalog's order, for at most this cost."""
        everything = self.place_all(allowance)
        if everything is not None:
            return everything
        remark = self.form.note(_remark(len(self.view.visible), self.search_tool))
        left = allowance - self.counter.measure(self.form.opening) - self.counter.measure(remark)
        called, favoured = self._favoured()
        room = max(int(left * _FAVOURED_SHARE), left - self._cost_of_names(stop_at=left))
        placed = self._fill(called, left, room=room, head_start=1)
        spent = sum(cost for _, cost in placed)
        placed += self._fill(favoured, left - spent, room=room - spent, head_start=_HEAD_START)
        left -= sum(cost for _, cost in placed)
        placed += self._fill(self._others(), left, room=left, head_start=0)
        places = self.view.places
        return sorted((one for one, _ in placed), key=lambda one: places[one.skill.id])

    def _favoured(self) -> tuple[list[Skill], list[Skill]]:
        """Return the skills that were called for, and those that are merely likely, each in the order to be served."""
        visible, places = self.view.visible, self.view.places
        served = [
            (visible[places[skill_id]], favour) for skill_id, favour in self.favours.items() if skill_id in places
        ]
        called = [skill for skill, favour in served if favour in _CALLED_FOR]
        return called, [skill for skill, favour in served if favour not in _CALLED_FOR]

    def _others(self) -> Iterator[Skill]:
        """Return the rest, those with names that are too long last: one of them would keep many others out."""
        late: list[Skill] = []
        for skill in self.view.visible:
            if skill.id in self.favours:
                continue
            if len(skill.name) > MAX_NAME_LENGTH:
                late.append(skill)
            else:
                yield skill
        yield from late

    def _cost_of_names(self, *, stop_at: int) -> int:
        total = 0
        for skill in self._others():
            total += self._cost(skill, None)
            if total >= stop_at:
                return stop_at
        return total

    def _fill(self, skills: Iterable[Skill], left: int, *, room: int, head_start: float) -> list[tuple[Placement, int]]:
        """Place skills in their order: names first, then descriptions as far as there is room for both."""
        named: list[tuple[Skill, int]] = []
        for skill in skills:
            cost = self._cost(skill, None)
            if cost > left:
                return [(self._placement(one, None), paid) for one, paid in named]
            left -= cost
            room -= cost
            named.append((skill, cost))
        return list(self._describe(named, min(left, room), head_start))

    def _describe(
        self, named: Sequence[tuple[Skill, int]], left: int, head_start: float
    ) -> Iterator[tuple[Placement, int]]:
        """Give descriptions to as many skills as there is room for, all cut to one cost where they are longer.

        Of what the shortest cut leaves, a part goes to the first in full, and then to the next, in their order; so does
        what a cut between words leaves over.
        """
        wanted = [self._extra(skill, self._description(skill), paid) for skill, paid in named]
        served, reserve = 0, left
        for cost in wanted:
            if reserve < min(cost, _LEAST_DESCRIPTION):
                break
            reserve -= min(cost, _LEAST_DESCRIPTION)
            served += 1
        spare = int(reserve * head_start)
        level = _water_level(wanted[:served], left - spare)
        for number, (skill, paid) in enumerate(named):
            description = self._description(skill) if number < served else None
            if description is not None and wanted[number] > level + spare:
                description = self._shorten(skill, description, paid=paid, most=level + spare)
            extra = self._extra(skill, description, paid)
            if number < served and wanted[number] > level:
                spare += level - extra
            yield self._placement(skill, description), paid + extra

    def _shorten(self, skill: Skill, text: str, *, paid: int, most: int) -> str | None:
        """Return the beginning of a description that costs no more, cut between words where that is possible."""
        found, fits, too_long = None, 0, len(text)
        keep = len(text) * most // max(self._extra(skill, text, paid), 1)
        while fits < too_long - 1:
            keep = min(max(keep, fits + 1), too_long - 1)
            short = _cut(text, keep)
            spare = most - self._extra(skill, short, paid)
            if spare < 0:
                too_long = keep
            else:
                found, fits = short, keep
            if 0 <= spare <= _CLOSE:
                break
            keep = (fits + too_long) // 2
        return None if found == _ELLIPSIS else found

    def _placement(self, skill: Skill, description: str | None) -> Placement:
        favour = self.favours.get(skill.id)
        full = self._description(skill)
        if description is None:
            reason = _SWITCHED if full is None else OVER_BUDGET
            return Placement(skill, Level.NAME_ONLY, reason)
        if description != full:
            return Placement(skill, Level.SHORTENED, OVER_BUDGET, description)
        return Placement(skill, Level.FULL, favour.value if favour else _FITS, description)

    def _description(self, skill: Skill) -> str | None:
        return None if skill.id in self.view.name_only else describe(skill)

    def _cost(self, skill: Skill, description: str | None) -> int:
        return self.counter.measure(self.form.entry(skill, description) + self.form.separator)

    def _extra(self, skill: Skill, description: str | None, paid: int) -> int:
        """Return what a description costs besides the name, for which so much was paid."""
        return 0 if description is None else self._cost(skill, description) - paid


def describe(skill: Skill) -> str:
    """Return what a model is told of a skill: its description, and when to use it if that is said apart."""
    additions = skill.manifest.additions
    if additions is None or not additions.when_to_use or additions.when_to_use in skill.description:
        return skill.description
    return f"{skill.description} {additions.when_to_use}".strip()


def _cut(text: str, keep: int) -> str:
    """Return the first so many characters of a text, without a word that this would halve."""
    cut = text[:keep]
    if not text[keep : keep + 1].isspace():
        cut = _HALVED_WORD.sub("", cut)
    return cut.rstrip(" ,;:.-") + _ELLIPSIS


def _water_level(costs: Sequence[int], left: int) -> int:
    """Return the highest common bound under which the costs, each cut to it, fit into what is left."""
    if sum(costs) <= left:
        return max(costs, default=0)
    remaining = left
    rising = sorted(costs)
    for number, cost in enumerate(rising):
        share = remaining // (len(rising) - number)
        if cost > share:
            return share
        remaining -= cost
    return 0
