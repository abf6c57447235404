"""Views: what one agent may see of a catalog, and why not the rest."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prowess.catalog.catalog import Catalog
from prowess.catalog.eligibility import Probe, decide_eligibility
from prowess.catalog.switches import EVERY_AGENT, Switch, Switches
from prowess.errors import SettingsError, ToolInputError
from prowess.skill.deception import make_printable
from prowess.skill.skill import Skill

__all__ = ["EVERYTHING", "Reason", "View", "make_view"]

EVERYTHING = "*"
_MAX_NAMED = 20
_MAX_CALLED = 200
"""Characters of a wrong name that are said back."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a skill is not to be seen, or is."""

    code: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """The skills that an agent may see and use, in the catalog's order; for the others, the reasons."""

    agent: str
    visible: tuple[Skill, ...] = ()
    name_only: frozenset[str] = frozenset()
    """Ids of the visible skills that are shown without their description."""
    hidden: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict[str, tuple[Reason, ...]])
    """From the id of a skill that the model does not see to the reasons."""
    for_people: tuple[Skill, ...] = ()
    """Skills that only a person can call for, by name."""
    _names: dict[str, Skill] = field(default_factory=dict[str, Skill], init=False, repr=False, compare=False)
    _places: dict[str, int] = field(default_factory=dict[str, int], init=False, repr=False, compare=False)
    """From ids to places among the visible. Both are made when they are first asked, and read with every message."""

    @property
    def invocable(self) -> tuple[Skill, ...]:
        """The skills that a person can call for by name, in the catalog's order and those for people only last."""
        return tuple(skill for skill in (*self.visible, *self.for_people) if skill.manifest.behaviour.user_invocable)

    @property
    def by_name(self) -> Mapping[str, Skill]:
        """From each name to the visible skill that has won it."""
        if not self._names and self.visible:
            # In one step: another thread sees all of it or nothing.
            self._names.update({skill.name: skill for skill in reversed(self.visible)})
        return self._names

    @property
    def places(self) -> Mapping[str, int]:
        """From the id of each visible skill to its place among them."""
        if not self._places and self.visible:
            self._places.update({skill.id: place for place, skill in enumerate(self.visible)})
        return self._places

    def find(self, name: str) -> Skill | None:
        """Return the visible skill with this id, or the one that has won this name."""
        place = self.places.get(name)
        return self.by_name.get(name) if place is None else self.visible[place]

    def get(self, name: str) -> Skill:
        """Return the visible skill with this id or name; raise with some of what is visible."""
        skill = self.find(name)
        if skill is None:
            known = self.names()
            names, more = known[:_MAX_NAMED], max(0, len(known) - _MAX_NAMED)
            listed = (", ".join(names) or "none") + (f" and {more:,} more" if more else "")
            called = make_printable(name[:_MAX_CALLED])
            message = f"Unknown or unavailable skill: {called}"
            raise ToolInputError(message, hint=f"available skills: {listed}", code="unknown-skill")
        return skill

    def names(self) -> tuple[str, ...]:
        """Return the names of the visible skills, each once, in order."""
        return tuple(dict.fromkeys(skill.name for skill in self.visible))


def make_view(
    catalog: Catalog,
    *,
    probe: Probe,
    switches: Switches | None = None,
    allowlist: Sequence[str] | None = None,
    agent: str = EVERY_AGENT,
) -> View:
    """Return what the agent may see.

    The allowlist holds names or ids: None and `["*"]` allow all, an empty one allows nothing.
    """
    if isinstance(allowlist, str):  # Its letters would be taken for names.
        message = f"the skills that an agent may see are one text, '{allowlist[:_MAX_CALLED]}'"
        raise SettingsError(message, hint="give a list of names", code="bad-setting")
    switches = switches or Switches()
    allowed = None if allowlist is None or EVERYTHING in allowlist else frozenset(allowlist)
    visible: list[Skill] = []
    for_people: list[Skill] = []
    name_only: set[str] = set()
    hidden: dict[str, tuple[Reason, ...]] = {}
    for skill in catalog.skills:
        position = switches.position(skill, agent=agent) if switches else Switch.ON
        reasons = _reasons_to_hide(skill, catalog, position=position, allowed=allowed, agent=agent, probe=probe)
        if reasons:
            hidden[skill.id] = reasons
            if len(reasons) == _count_reasons_for_people(skill, position):
                for_people.append(skill)
            continue
        visible.append(skill)
        if position is Switch.NAME_ONLY:
            name_only.add(skill.id)
    return View(agent, tuple(visible), frozenset(name_only), hidden, tuple(for_people))


def _count_reasons_for_people(skill: Skill, position: Switch) -> int:
    """Return how many of the reasons to hide a skill leave it to people."""
    return (position is Switch.USER_ONLY) + (not skill.manifest.behaviour.model_invocable)


def _reasons_to_hide(
    skill: Skill, catalog: Catalog, *, position: Switch, allowed: frozenset[str] | None, agent: str, probe: Probe
) -> tuple[Reason, ...]:
    reasons: list[Reason] = []
    winner = catalog.shadowed.get(skill.id)
    if winner is not None:
        reasons.append(
            Reason("shadowed", f"{winner} has the same name and takes precedence", "rename one of them, or use its id")
        )
    if position is Switch.OFF:
        reasons.append(Reason("disabled", "it is switched off", _how_to_enable(skill, agent)))
    if position is Switch.USER_ONLY:
        remedy = f"{_how_to_enable(skill, agent)}, or invoke it by /{skill.name}"
        reasons.append(Reason("hidden", "it is switched to people only", remedy))
    additions = skill.manifest.additions
    if additions is not None and not additions.model_invocable:
        reasons.append(
            Reason(
                "hidden", "its author lets only people invoke it", f"invoke it by /{skill.name}, or change its manifest"
            )
        )
    if allowed is not None and skill.name not in allowed and skill.id not in allowed:
        who = f"the agent '{agent}'" if agent else "this agent"
        reasons.append(Reason("hidden", f"{who} may not see it", "add it to the agent's list of skills"))
    if not skill.trusted:
        reasons.append(Reason("untrusted", "its project is not trusted", "prowess trust, after a look at the skill"))
    if additions is not None:
        reasons += [
            Reason("ineligible", missing, "provide what is missing")
            for missing in decide_eligibility(additions.requires, probe)
        ]
    return tuple(reasons)


def _how_to_enable(skill: Skill, agent: str) -> str:
    """An agent's own switch counts before the general one, so that it is the one which surely helps."""
    return f"prowess enable {shlex.quote(skill.name)}" + (f" --agent {shlex.quote(agent)}" if agent else "")
