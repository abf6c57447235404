"""What changed in a catalog since a model was told of it, so that the old prompt can stay as it is."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prowess.catalog.views import View
from prowess.disclosure.catalog_text import FORMS
from prowess.disclosure.names import show_names
from prowess.disclosure.planner import Level, describe, plan_catalog
from prowess.disclosure.tokens import TokenCounter
from prowess.policy import CatalogText
from prowess.skill.skill import Skill

__all__ = ["MAX_NAMED_GONE", "CatalogDelta", "Told", "compare_views", "render_delta", "tell"]

MAX_NAMED_GONE = 100
"""Names that a delta's text gives as no longer available."""

Told = Mapping[str, tuple[str, str | None, str]]
"""From a skill's id to its name, the description that may be shown (None where only the name may), and its location
where that is shown."""


@dataclass(frozen=True, slots=True)
class CatalogDelta:
    """What a model should know beyond what it was told before. Empty if there is nothing."""

    added: tuple[Skill, ...] = ()
    changed: tuple[Skill, ...] = ()
    removed: tuple[str, ...] = ()
    """Names that no visible skill has any more."""
    relevant: tuple[Skill, ...] = ()
    """Skills that fit the query, but of which the prompt does not show the description in full."""
    text: str = ""
    described: frozenset[str] = frozenset()
    """Ids of the skills that the text describes in full."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.relevant)


def tell(view: View, *, form: CatalogText) -> Told:
    """Return what the whole of a view says in this form."""
    locate = FORMS[form].locate
    return {
        skill.id: (skill.name, None if skill.id in view.name_only else describe(skill), locate(skill))
        for skill in view.visible
    }


def compare_views(before: View, view: View, *, form: CatalogText) -> CatalogDelta:
    """Return how a view differs from the one that a model was told of."""
    told, now = tell(before, form=form), tell(view, form=form)
    added = tuple(skill for skill in view.visible if skill.id not in told)
    changed = tuple(skill for skill in view.visible if skill.id in told and told[skill.id] != now[skill.id])
    names = {name for name, _, _ in now.values()}
    gone = dict.fromkeys(name for name, _, _ in told.values() if name not in names)
    return CatalogDelta(added, changed, tuple(gone))


def render_delta(
    delta: CatalogDelta, view: View, *, form: CatalogText, budget: int, counter: TokenCounter
) -> CatalogDelta:
    """Return the delta with the text that tells a model of it, its lists within the budget."""
    parts = ["The skills have changed."] if delta.added or delta.changed or delta.removed else []
    gone = f"No longer available: {show_names(delta.removed, most=MAX_NAMED_GONE)}." if delta.removed else ""
    if counter.count(gone) > budget // 2:
        gone = f"{len(delta.removed):,} skills are no longer available."
    budget -= counter.count(gone)
    described: set[str] = set()
    for title, skills in (
        ("New or changed:", (*delta.added, *delta.changed)),
        ("These skills may fit the request:", delta.relevant),
    ):
        part = View(view.agent, skills, view.name_only)
        plan = plan_catalog(part, form=form, budget=budget, counter=counter)
        parts += [f"{title}\n{plan.text}"] if plan.text else []
        described |= {skill.id for skill in plan.at(Level.FULL)}
        budget -= plan.tokens
    parts += [gone] if gone else []
    return replace(delta, text="\n\n".join(parts), described=frozenset(described))
