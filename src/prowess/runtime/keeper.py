"""What the parts of a session know of the runtime, and of whose session it is."""

from dataclasses import dataclass
from typing import Protocol

from prowess.policy import Policy
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet

__all__ = ["SessionKey", "SkillKeeper"]


class SkillKeeper(Protocol):
    """What an activator asks of the runtime."""

    @property
    def policy(self) -> Policy: ...

    def files(self, skill: Skill) -> FileSet:
        """Return every file of the skill."""
        ...

    def is_vouched(self, skill: Skill) -> bool:
        """Whether the caller named the skill's folder itself."""
        ...

    def warn_once(self, key: tuple[str, str], message: str) -> None:
        """Log a warning, once in the life of the process."""
        ...

    def tidy(self) -> None:
        """Forget what is older than the settings want it kept."""
        ...


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose session it is, and under which name its state is kept."""

    user: str
    session: str
    agent: str = ""
