"""Grants: consent to the exact files of a skill, or the refusal of it."""

from dataclasses import dataclass
from enum import StrEnum

from prowess.catalog.switches import SwitchKey
from prowess.skill.digest import SkillFile

__all__ = ["Decision", "Grant", "Scope"]


class Decision(StrEnum):
    """What a person said."""

    ALLOW = "allow"
    REFUSE = "refuse"


class Scope(StrEnum):
    """How far a decision reaches."""

    ONCE = "once"
    """This one call, and nothing is remembered."""
    SESSION = "session"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Grant:
    """A decision on one digest. A later one on the same digest, user and session replaces it.

    A refusal for all sessions also ends what single ones were allowed before.
    """

    user: str
    skill: SwitchKey
    """Which skill it was given for; other skills with the very same files are covered too."""
    name: str
    digest: str
    decision: Decision
    session: str = ""
    """The session that it holds for; empty: for all, until it is revoked."""
    given_by: str = ""
    """How the answer came: `terminal`, `callback`, `command`."""
    at: float = 0.0
    """Seconds since 1970."""
    files: tuple[SkillFile, ...] = ()
    """What was agreed to, so that a later question can say what has changed."""

    @property
    def scope(self) -> Scope:
        """How far it reaches."""
        return Scope.SESSION if self.session else Scope.ALWAYS
