"""All skills as rows: found by key, filtered, sorted and cut into pages, without reading a file.

Rows are made once for a catalog and a view, which are the very same objects while nothing changes. What takes reading
files (digests) is left to whoever shows the few rows of one page; how much skills were used is asked every few seconds.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prowess.activation.receipts import Usage
from prowess.catalog.catalog import Catalog
from prowess.catalog.switches import EVERY_AGENT, Switch, Switches
from prowess.catalog.views import View
from prowess.disclosure.catalog_text import FORMS
from prowess.disclosure.planner import describe
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.deception import make_printable
from prowess.skill.skill import Skill
from prowess.surfaces.skill_choice import (
    STATES,
    Page,
    count_problems,
    cut_page,
    find_distance,
    find_states,
    find_text,
    has_state,
    has_words,
)

__all__ = ["SORTS", "SkillRow", "SkillTable", "Snapshot", "Wanted"]

_USAGE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SkillRow:
    """One skill, with what is known of it without reading its files."""

    skill: Skill
    key: str
    states: tuple[str, ...]
    """`visible`, or the code of each reason why models do not see it, the first the most telling."""
    switch: Switch
    shadowed_by: str
    problems: int
    """Errors and warnings."""

    @property
    def is_visible(self) -> bool:
        return self.states == ("visible",)

    @property
    def state(self) -> str:
        return self.states[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows are wanted, and in which order."""

    query: str = ""
    """Words that must all be in the name, the id or the description."""
    source: str = ""
    state: str = ""
    sort: str = ""
    """One of SORTS, with `-` before it for the other way round; empty for the best matches first, then by name."""
    page: int = 1
    limit: int = 50


@dataclass(slots=True)
class Snapshot:
    """All rows of one moment."""

    catalog: Catalog
    view: View
    switches: Switches
    rows: tuple[SkillRow, ...]
    """By name, those that lost theirs to another last."""
    by_key: Mapping[str, SkillRow]
    usage: Mapping[str, Usage]
    measure: Callable[[Skill], int]
    agent: str = EVERY_AGENT
    """Whose view it is."""
    _tokens: dict[str, int] = field(default_factory=dict[str, int])
    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _counts: Counter[str] | None = None

    def find(self, name: str) -> SkillRow | None:
        """Return the row of a skill by its key, its id or its name."""
        found = self.by_key.get(name)
        if found is not None:
            return found
        skill = self.catalog.find(name)
        return self.by_key[make_activation_key(skill.id)] if skill else None

    def get(self, name: str) -> SkillRow:
        """Return the row of a skill by its key, its id or its name; raise NotFound if there is none."""
        row = self.find(name)
        if row is None:
            hint = self.catalog.suggest(name)
            raise NotFound(f"no skill '{make_printable(name[:200])}'", hint=hint, code="unknown-skill")
        return row

    def tokens(self, row: SkillRow) -> int:
        """Return what its entry in a prompt costs, if all of its description is shown."""
        known = self._tokens.get(row.skill.id)
        if known is None:
            known = self._tokens[row.skill.id] = self.measure(row.skill)
        return known

    def uses(self, row: SkillRow) -> int:
        """Return how often it was activated or a script of it was run."""
        usage = self.usage.get(row.skill.id)
        return usage.activations + usage.runs if usage else 0

    def used_at(self, row: SkillRow) -> float:
        """Return when it was last used; 0 if never."""
        usage = self.usage.get(row.skill.id)
        return usage.last_used_at if usage else 0.0

    def choose(self, wanted: Wanted) -> Page[SkillRow]:
        """Return one page of the rows that are wanted; the last one if there are not so many."""
        rows = self._sort(self._filter(wanted), wanted)
        found = cut_page(rows, limit=wanted.limit, number=wanted.page)
        return found if found.number <= found.pages else cut_page(rows, limit=wanted.limit, number=found.pages)

    def count(self, state: str) -> int:
        """Return how many skills are in a state, or how many folders were rejected."""
        if self._counts is None:
            self._counts = Counter(
                state for row in self.rows for state in STATES if has_state(row.states, state, problems=row.problems)
            )
        return len(self.catalog.rejected) if state == "rejected" else self._counts[state]

    def _filter(self, wanted: Wanted) -> Sequence[SkillRow]:
        words = wanted.query.casefold().split()
        if not (words or wanted.source or wanted.state):
            return self.rows
        return [
            row
            for row in self.rows
            if (not wanted.source or row.skill.kind.value == wanted.source)
            and has_state(row.states, wanted.state, problems=row.problems)
            and (not words or has_words(self._find_text(row.skill), words))
        ]

    def _find_text(self, skill: Skill) -> str:
        text = self._texts.get(skill.id)
        if text is None:
            text = self._texts[skill.id] = find_text(skill)
        return text

    def _sort(self, rows: Sequence[SkillRow], wanted: Wanted) -> Sequence[SkillRow]:
        if wanted.sort:
            value, is_falling = SORTS[wanted.sort.removeprefix("-")], wanted.sort.startswith("-")
            return sorted(rows, key=lambda row: value(self, row), reverse=is_falling)
        query = wanted.query.casefold().strip()
        return sorted(rows, key=lambda row: find_distance(row.skill, query)) if query else rows


SORTS: dict[str, Callable[[Snapshot, SkillRow], str | float]] = {
    "name": lambda _, row: row.skill.name.casefold(),
    "source": lambda _, row: row.skill.kind.value,
    "state": lambda _, row: row.state,
    "problems": lambda _, row: row.problems,
    "uses": lambda snapshot, row: snapshot.uses(row),
    "used": lambda snapshot, row: snapshot.used_at(row),
    "tokens": lambda snapshot, row: snapshot.tokens(row),
}
"""What rows can be sorted by."""


class SkillTable:
    """Keeps the rows of all skills. Any thread may ask."""

    def __init__(
        self, runtime: Runtime, *, agent: str = EVERY_AGENT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runtime = runtime
        self._agent = agent
        self._clock = clock
        self._lock = threading.Lock()
        self._known: Snapshot | None = None
        self._counted_at = 0.0

    def current(self) -> Snapshot:
        """Return all rows as they are now. While nothing changes, it is the very same object."""
        catalog, view = self._runtime.catalog(), self._runtime.view(self._agent)
        with self._lock:
            known, now = self._known, self._clock()
            if known is None or known.catalog is not catalog or known.view is not view:
                known = self._known = self._make(catalog, view)
                self._counted_at = now
            elif now - self._counted_at > _USAGE_SECONDS:
                known.usage = self._count_uses()
                self._counted_at = now
            return known

    def get(self, name: str) -> SkillRow:
        """Return the row of a skill as it is now; raise NotFound if there is none."""
        return self.current().get(name)

    def _make(self, catalog: Catalog, view: View) -> Snapshot:
        switches = self._runtime.switches()
        made = _make_rows(catalog, view, switches, agent=self._agent)
        rows = tuple(sorted(made, key=lambda row: (row.skill.name.casefold(), bool(row.shadowed_by), row.skill.id)))
        planning = self._runtime.planning
        entry, counter = FORMS[planning.form].entry, planning.counter

        def measure(skill: Skill) -> int:
            return counter.count(entry(skill, None if skill.id in view.name_only else describe(skill)))

        by_key = {row.key: row for row in rows}
        return Snapshot(catalog, view, switches, rows, by_key, self._count_uses(), measure, self._agent)

    def _count_uses(self) -> dict[str, Usage]:
        return {one.skill: one for one in self._runtime.usage().skills}


def _make_rows(catalog: Catalog, view: View, switches: Switches, *, agent: str) -> Iterable[SkillRow]:
    for skill in catalog.skills:
        yield SkillRow(
            skill,
            make_activation_key(skill.id),
            find_states(skill, view),
            switches.position(skill, agent=agent) if switches else Switch.ON,
            catalog.shadowed.get(skill.id, ""),
            count_problems(skill),
        )
