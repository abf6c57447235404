"""Fill the prompt: which skills are favoured now, and the plan that follows from it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prowess.activation.mentions import parse_message
from prowess.activation.triggers import TriggerIndex
from prowess.catalog.search import SkillSearch
from prowess.catalog.views import Reason, View
from prowess.disclosure.deltas import CatalogDelta, render_delta
from prowess.disclosure.planner import OVER_BUDGET, Favour, Level, Plan, describe, plan_catalog, plan_whole
from prowess.disclosure.tokens import TokenCounter, make_counter
from prowess.policy import CatalogText, Mentions, ToolSet, TriggerUse
from prowess.runtime.prompt_basis import mark_view
from prowess.settings import Settings
from prowess.skill.manifest import Triggers
from prowess.skill.skill import Skill
from prowess.state.store import StateStore

__all__ = ["SIGNS", "Found", "Planning"]

SIGNS = {Mentions.SLASH_AND_DOLLAR: "/$", Mentions.SLASH: "/", Mentions.OFF: ""}
"""What a mention begins with."""

_RELEVANT = 50
"""Skills that a query may favour."""
_RECENT = 20
_LEAST_FOR_FOUND = 2_000
"""Tokens for the result of a search, however little the catalog may take."""
_RECENT_SECONDS = 30 * 86_400
_NO_TRIGGERS = Triggers()
_SHOWN = {
    Level.SHORTENED: ("shortened", "a part of its description only"),
    Level.NAME_ONLY: ("name-only", "its name only"),
    Level.LEFT_OUT: ("left-out", "nothing of it"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A skill that a search has found; the score tells within one answer how well it fits."""

    skill: Skill
    score: float
    description: str = ""
    """As much as the model may see of it."""


class Planning:
    """Holds what planning needs and is dear to make: the search index, the counter, and the triggers of a view."""

    def __init__(self, settings: Settings, store: StateStore, *, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._store = store
        self.clock = clock
        self._search = SkillSearch(os.path.join(settings.cache_folder, "search-1"), ranking=settings.policy.ranking)
        self._counter: TokenCounter | None = None
        self._triggers: tuple[tuple[Skill, ...], TriggerIndex] | None = None
        self._mark: tuple[View, str] | None = None

    @property
    def form(self) -> CatalogText:
        """How the catalog is written."""
        return self._settings.policy.catalog_text

    @property
    def counter(self) -> TokenCounter:
        """What counts tokens."""
        if self._counter is None:
            self._counter = make_counter(self._settings.policy.prompting.counting)
        return self._counter

    def close(self) -> None:
        """Keep the index for other processes."""
        self._search.close()

    def search(self, view: View, query: str, *, limit: int) -> tuple[Found, ...]:
        """Return the visible skills that fit a query, best first."""
        hits = self._search.find(query, skills=view.visible, limit=limit)
        return tuple(self._found(view, view.visible[view.places[hit.skill_id]], hit.score) for hit in hits)

    def _found(self, view: View, skill: Skill, score: float) -> Found:
        return Found(skill, score, "" if skill.id in view.name_only else describe(skill))

    def render_found(self, view: View, found: Sequence[Found]) -> str:
        """Return what a model reads of skills that were found, within the budget of a catalog."""
        part = View(view.agent, tuple(one.skill for one in found), view.name_only)
        budget = max(self._settings.policy.prompting.budget, _LEAST_FOR_FOUND)
        return plan_catalog(part, form=self.form, budget=budget, counter=self.counter).text

    def triggers(self, skills: tuple[Skill, ...]) -> TriggerIndex:
        """Return the triggers of these skills, made once while they stay the same."""
        known = self._triggers
        if known is None or known[0] is not skills:
            known = self._triggers = (skills, TriggerIndex(skills))
        return known[1]

    def mark(self, view: View) -> str:
        """Return what tells this view from another, made once while it stays the same."""
        known = self._mark
        if known is None or known[0] is not view:
            known = self._mark = (view, mark_view(view, form=self.form))
        return known[1]

    def plan(
        self,
        view: View,
        *,
        query: str = "",
        form: CatalogText | None = None,
        budget: int | None = None,
        favours: Callable[[], Mapping[str, Favour]] | None = None,
    ) -> Plan:
        """Return what of the view goes into the prompt.

        `favours` says which skills come first, if there is not room for all; without it, the query and the past do.
        """
        policy = self._settings.policy
        search_tool = "search_skills" if policy.tools in (ToolSet.STANDARD, ToolSet.PYTHON) else ""
        form = form or self.form
        budget = policy.prompting.budget if budget is None else budget
        whole = plan_whole(view, form=form, budget=budget, counter=self.counter)
        if whole is not None:
            return whole
        favoured = favours() if favours else self.favour(view, query)
        return plan_catalog(
            view, form=form, budget=budget, counter=self.counter, favoured=favoured, search_tool=search_tool
        )

    def render_delta(self, delta: CatalogDelta, view: View) -> CatalogDelta:
        """Return the delta with its text, within the budget of a catalog."""
        budget = self._settings.policy.prompting.budget
        return render_delta(delta, view, form=self.form, budget=budget, counter=self.counter)

    def explain(self, view: View, skill: Skill, query: str) -> tuple[Reason, ...]:
        """Return why a visible skill is not shown in full, if so, and whether a query triggers it."""
        reasons: list[Reason] = []
        plan = self.plan(view, query=query)
        placement = plan.find(skill.id)
        if placement is not None and placement.reason == OVER_BUDGET:
            code, what = _SHOWN[placement.level]
            message = f"the catalog's {plan.budget:,} tokens have room for {what}"
            reasons.append(Reason(code, message, "add it to prompt.pins, or raise prompt.budget_tokens"))
        if query and skill.manifest.behaviour.triggers != _NO_TRIGGERS:
            triggers = self.triggers(view.visible)
            found = [one for one in triggers.match(query) if one.skill_id == skill.id]
            if found:
                reasons.append(Reason("triggered", f"the {found[0].kind} '{found[0].what}' matches the query"))
            else:
                reasons.append(
                    Reason(
                        "not-triggered", "none of its triggers matches the query", "add what people say to its triggers"
                    )
                )
                if skill.id in triggers.cut_short(query):
                    message = "the query is too long for its trigger patterns: they see only the beginning"
                    reasons.append(Reason("triggers-cut-short", message, "give it keywords instead of patterns"))
        return tuple(reasons)

    def favour(self, view: View, query: str) -> dict[str, Favour]:
        """Return which skills come first, and why, in the order in which they are to be served."""
        policy = self._settings.policy
        found: dict[str, Favour] = {}
        for pin in policy.prompting.pins:
            skill = view.find(pin)
            if skill is not None:
                found.setdefault(skill.id, Favour.PINNED)
        for skill_id, favour in self.favour_for(view, query).items():
            found.setdefault(skill_id, favour)
        since = self.clock() - _RECENT_SECONDS
        for skill_id in self._store.recent_skills(user=self._settings.place.user, since=since, limit=_RECENT):
            found.setdefault(skill_id, Favour.RECENT)
        return found

    def favour_for(self, view: View, query: str) -> dict[str, Favour]:
        """Return the skills that a query speaks for: mentioned, triggered, and relevant to its words."""
        policy = self._settings.policy
        found: dict[str, Favour] = {}
        if not query:
            return found
        names = view.by_name
        for mention in parse_message(query, names=names, signs=SIGNS[policy.mentions]).mentions:
            found.setdefault(names[mention.name].id, Favour.MENTIONED)
        if policy.triggers is not TriggerUse.OFF:
            for triggered in self.triggers(view.visible).match(query):
                found.setdefault(triggered.skill_id, Favour.TRIGGERED)
        for hit in self._search.find(query, skills=view.visible, limit=_RELEVANT):
            found.setdefault(hit.skill_id, Favour.RELEVANT)
        return found
