"""Grants: consent to the exact files of a skill, or the refusal of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from prowess.catalog.switches import SwitchKey
from prowess.skill.digest import SkillFile

__all__ = ["POWERS", "Act", "Decision", "Grant", "Scope", "find_unknown_power", "join_powers", "sort_powers"]

POWERS = ("network", "workspace:read:FOLDER", "workspace:write:FOLDER", "secret:NAME", "packages:HASH")
"""What a run can have beyond a plain sandbox."""
_WRITE, _READ = "workspace:write:", "workspace:read:"
"""Who has the one, for a folder, may also do the other there."""
_POWER = re.compile(
    r"network|workspace:(?:read|write):/[^\0]*|secret:[A-Za-z_][A-Za-z0-9_]{0,127}|packages:[0-9a-f]{16}"
)


class Act(StrEnum):
    """What a decision is about. Whoever agrees to the one has not agreed to the other."""

    USE = "use"
    """To activate the skill and read its files."""
    RUN = "run"
    """To run its scripts."""


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
    """A decision on one digest. A later one on the same digest, user, session and act replaces it.

    A refusal for all sessions also ends what single ones were allowed before. Consent to runs does not take back what
    was allowed before: its powers are added.
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
    act: Act = Act.USE
    powers: tuple[str, ...] = ()
    """What runs may have beyond a plain sandbox, sorted, each once: `network`, `secret:TOKEN`, `packages:<hash>`."""

    @property
    def scope(self) -> Scope:
        """How far it reaches."""
        return Scope.SESSION if self.session else Scope.ALWAYS

    def covers(self, powers: Iterable[str]) -> bool:
        """Whether it allows a run with these powers."""
        is_consent = (self.act, self.decision) == (Act.RUN, Decision.ALLOW)
        implied = {f"{_READ}{power.removeprefix(_WRITE)}" for power in self.powers if power.startswith(_WRITE)}
        return is_consent and set(powers) <= {*self.powers, *implied}


def find_unknown_power(powers: Iterable[str]) -> str | None:
    """Return the first text that is no power; None if all are."""
    return next((power for power in powers if not _POWER.fullmatch(power)), None)


def sort_powers(powers: Iterable[str]) -> tuple[str, ...]:
    """Return powers as a grant keeps them."""
    return tuple(sorted(set(powers)))


def join_powers(grant: Grant, other: Grant) -> Grant:
    """Return the grant with the powers of the other too, if both allow runs; else as it is."""
    if not (grant.covers(()) and other.covers(())):
        return grant
    return replace(grant, powers=sort_powers((*grant.powers, *other.powers)))
