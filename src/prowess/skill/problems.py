"""A Problem: one fault found in a skill or its source, as a value."""

from dataclasses import dataclass

from prowess.skill.deception import make_printable
from prowess.skill.problem_kinds import KINDS, Kind, Severity

__all__ = ["KINDS", "Kind", "Problem", "Severity", "make_problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: what (code, message), how bad, where, and what to do about it."""

    code: str
    severity: Severity
    message: str
    line: int | None = None
    column: int | None = None
    remedy: str = ""
    path: str | None = None
    """The file or folder meant, relative to the skill or absolute for a source; None is SKILL.md itself."""


def make_problem(
    code: str,
    message: str,
    *,
    strict: bool = False,
    severity: Severity | None = None,
    line: int | None = None,
    column: int | None = None,
    remedy: str = "",
    path: str | None = None,
) -> Problem:
    """Return the Problem with the severity and the remedy of its kind, unless others are given."""
    kind = KINDS[code]
    default = kind.strict if strict else kind.lenient
    return Problem(code, severity or default, make_printable(message), line, column, remedy or kind.remedy, path)
