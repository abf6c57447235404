"""What an export has written, what the other tool would lose, and what was left out."""

from dataclasses import dataclass
from enum import StrEnum

from prowess.skill.targets import Loss

__all__ = ["Change", "ExportReport", "LeftOut", "SkillLoss", "Written"]


class Change(StrEnum):
    """What became of a place."""

    NEW = "new"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Written:
    """A folder or a file that holds what was exported."""

    path: str
    skills: tuple[str, ...]
    """The ids of those that it holds."""
    digest: str
    """Of a skill's folder its digest, of a file the SHA-256 of its bytes."""
    change: Change


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A skill that was not exported, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class SkillLoss:
    """What the other tool does not do as one skill asks."""

    skill: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What came of an export."""

    written: tuple[Written, ...] = ()
    losses: tuple[SkillLoss, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __add__(self, other: "ExportReport") -> "ExportReport":
        return ExportReport(self.written + other.written, self.losses + other.losses, self.left_out + other.left_out)
