"""Switches: what a person has set for single skills, for everybody or for one agent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from prowess.policy import SourceKind
from prowess.skill.skill import Skill

__all__ = ["EVERY_AGENT", "Switch", "SwitchKey", "Switches", "switch_key"]

EVERY_AGENT = ""


class Switch(StrEnum):
    """How much of a skill is offered."""

    ON = "on"
    NAME_ONLY = "name-only"
    """The model sees the name without the description."""
    USER_ONLY = "user-only"
    """Only a person can invoke it."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class SwitchKey:
    """Which skill is meant. Projects use the same ids, so a project's skill is known by its root as well."""

    skill: str
    root: str = ""


def switch_key(skill: Skill) -> SwitchKey:
    """Return the key under which the switch of this skill is kept."""
    is_local = skill.kind in (SourceKind.PROJECT, SourceKind.WORKSPACE)
    return SwitchKey(skill.id, skill.root if is_local else "")


@dataclass(frozen=True, slots=True)
class Switches:
    """All switches: those in the settings go by name, those that a person set while using Prowess go by skill."""

    by_name: Mapping[tuple[str, str], Switch] = field(default_factory=dict[tuple[str, str], Switch])
    """From agent and name or id."""
    by_key: Mapping[tuple[str, SwitchKey], Switch] = field(default_factory=dict[tuple[str, SwitchKey], Switch])
    """From agent and key."""

    def position(self, skill: Skill, *, agent: str = EVERY_AGENT) -> Switch:
        """Return the switch that counts: an agent's own before the general one, a person's before the settings'."""
        key = switch_key(skill)
        for who in _scopes(agent):
            found = self.by_key.get((who, key)) or self.by_name.get((who, skill.id))
            found = found or self.by_name.get((who, skill.manifest.name))
            if found is not None:
                return found
        return Switch.ON

    def __bool__(self) -> bool:
        return bool(self.by_name or self.by_key)


def _scopes(agent: str) -> Iterable[str]:
    return (agent, EVERY_AGENT) if agent else (EVERY_AGENT,)
