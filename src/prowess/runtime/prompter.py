"""The prompt of one session: planned once, kept while nothing visible changes, with changes told apart."""

import threading
from collections.abc import Mapping
from dataclasses import replace

from prowess.activation.receipts import SessionRecord
from prowess.catalog.views import View
from prowess.disclosure.deltas import CatalogDelta, compare_views, tell
from prowess.disclosure.planner import Favour, Level, Plan
from prowess.policy import SessionMemory
from prowess.runtime.keeper import SessionKey
from prowess.runtime.planning import Planning
from prowess.runtime.prompt_basis import parse_basis, render_basis
from prowess.skill.skill import Skill
from prowess.state.store import StateStore

__all__ = ["Prompter"]

_SUGGESTIONS = 5
"""Skills that a delta points out for one query."""


class Prompter:
    """Remembers what the model of a session was told of the catalog."""

    def __init__(self, planning: Planning, store: StateStore, key: SessionKey, *, memory: SessionMemory) -> None:
        self._planning = planning
        self._store = store
        self._key = key
        self._memory = memory
        self._lock = threading.RLock()
        self._plan: tuple[View, Plan] | None = None
        self._told: View | None = None
        self._described: frozenset[str] = frozenset()
        """Ids of the skills that the model was told of in full, by the prompt and by what came after it."""

    def plan(self, view: View, query: str) -> Plan:
        """Return the plan of the prompt: the former one, while the view says the same."""
        form = self._planning.form
        with self._lock:
            known = self._plan
            if known is None or known[0] is not view:
                if known is not None and tell(known[0], form=form) == tell(view, form=form):
                    plan = known[1]
                else:
                    plan = self._planning.plan(view, favours=lambda: self._favour(view, query))
                known = self._plan = (view, plan)
            return known[1]

    def tell(self, view: View, query: str) -> Plan:
        """Return the plan, and take it that the model is told so now."""
        with self._lock:
            plan = self.plan(view, query)
            self._told = view
            self._described = frozenset(skill.id for skill in plan.at(Level.FULL))
            return plan

    def tell_changes(self, view: View, query: str) -> CatalogDelta:
        """Return what the model should know beyond what it was told, and take it that it is told now."""
        with self._lock:
            if self._told is None:
                self.tell(view, query)
            before, self._told = self._told or view, view
            delta = CatalogDelta() if before is view else compare_views(before, view, form=self._planning.form)
            anew = {skill.id for skill in (*delta.added, *delta.changed)}
            self._described -= anew
            if query:
                delta = replace(delta, relevant=self._suggest(view, query, self._described | anew))
            if delta:
                delta = self._planning.render_delta(delta, view)
                self._described |= delta.described
            return delta

    def _suggest(self, view: View, query: str, known: frozenset[str]) -> tuple[Skill, ...]:
        wanted = [skill_id for skill_id in self._planning.favour_for(view, query) if skill_id not in known]
        found = (view.find(skill_id) for skill_id in wanted[:_SUGGESTIONS])
        return tuple(skill for skill in found if skill is not None)

    def _favour(self, view: View, query: str) -> Mapping[str, Favour]:
        """Return which skills come first: in a chat, the same as long as nothing visible changes, in any process."""
        if self._memory is SessionMemory.TASK:
            return self._planning.favour(view, query)
        mark = self._planning.mark(view)
        kept = parse_basis(self._store.prompt_basis(user=self._key.user, session=self._key.session), mark=mark)
        if kept is not None:
            return kept
        favours = self._planning.favour(view, query)
        now = self._planning.clock()
        record = SessionRecord(self._key.user, self._key.session, self._key.agent, now, now)
        self._store.keep_prompt_basis(record, render_basis(favours, mark=mark))
        return favours
