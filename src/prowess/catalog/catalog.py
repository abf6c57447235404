"""The Catalog: an immutable snapshot of which skills there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prowess.catalog.near_names import find_near_names
from prowess.errors import NotFound
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill

__all__ = ["Catalog", "RejectedSkill"]


@dataclass(frozen=True, slots=True)
class RejectedSkill:
    """A folder that has a SKILL.md but gave no skill."""

    path: str
    """On the host, written so that it can be printed."""
    root: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every skill that was loaded, in order of precedence; who shadows whom; what was rejected, and why."""

    skills: tuple[Skill, ...] = ()
    shadowed: Mapping[str, str] = field(default_factory=dict[str, str])
    """From the id of a skill that lost its name to the id of the winner."""
    rejected: tuple[RejectedSkill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of the sources themselves."""
    by_name: Mapping[str, Skill] = field(default_factory=dict[str, Skill], repr=False)
    by_id: Mapping[str, Skill] = field(default_factory=dict[str, Skill], repr=False)
    generation: int = 0
    """Grows by one whenever something in the catalog changes."""

    def find(self, name: str) -> Skill | None:
        """Return the skill with this id, or the one that has won this name."""
        return self.by_id.get(name) or self.by_name.get(name)

    def get(self, name: str) -> Skill:
        """Return the skill with this id or name; raise NotFound with the nearest names if there is none."""
        skill = self.find(name)
        if skill is None:
            raise NotFound(f"no skill '{name}'", hint=self.suggest(name), code="unknown-skill")
        return skill

    def names(self) -> tuple[str, ...]:
        """Return every name once, sorted."""
        return tuple(sorted(self.by_name))

    def suggest(self, name: str) -> str:
        """Return a hint that names what was probably meant."""
        near = find_near_names(name, names=self.by_name, ids=self.by_id)
        return f"did you mean {_join(near)}?" if near else "`prowess list` shows all skills"


def _join(words: Iterable[str]) -> str:
    return " or ".join(f"'{word}'" for word in words)
