"""Receipts: the record of each activation and each run. What is active in a session is what its open receipts say."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "MAX_KEPT_ARGUMENTS",
    "AskedBy",
    "DayUsage",
    "Receipt",
    "RunReceipt",
    "SessionRecord",
    "Usage",
    "UsageReport",
    "keep_arguments",
]

MAX_KEPT_ARGUMENTS = 10_000
"""Characters of the arguments that a receipt keeps."""


def keep_arguments(arguments: str) -> str:
    """Return arguments as a receipt keeps them: the beginning of very long ones, with a sign of the cut."""
    if len(arguments) <= MAX_KEPT_ARGUMENTS:
        return arguments
    return arguments[: MAX_KEPT_ARGUMENTS - 1] + "…"


class AskedBy(StrEnum):
    """Who wanted the skill."""

    USER = "user"
    MODEL = "model"
    TRIGGER = "trigger"


@dataclass(frozen=True, slots=True)
class Receipt:
    """One activation of a skill in a session. Names and numbers only, never instructions."""

    id: str
    user: str
    session: str
    skill: str
    """The skill's id."""
    name: str
    digest: str
    asked_by: AskedBy
    agent: str = ""
    trigger: str = ""
    """What in the message triggered it."""
    arguments: str = ""
    consent: str = ""
    """Why it was allowed: `trusted`, `once`, `session`, `always`, `not-asked`, or `active` if it was on already."""
    size_bytes: int = 0
    tokens: int = 0
    at: float = 0.0
    """When, in seconds since 1970."""
    in_context: bool = True
    """Whether the conversation still holds the instructions; compaction may have dropped them."""
    ended_at: float | None = None
    """When it was switched off; None while it is active."""

    @property
    def is_open(self) -> bool:
        """Whether the skill is active by this receipt."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True)
class RunReceipt:
    """One run of a skill's script. Names and numbers only, never what the script has read or written."""

    id: str
    user: str
    session: str
    skill: str
    """The skill's id."""
    name: str
    digest: str
    script: str
    """Its path in the skill's folder, or the tool that it serves."""
    arguments: str
    """As `keep_arguments` leaves them."""
    asked_by: AskedBy
    agent: str = ""
    consent: str = ""
    """Why it was allowed: `once`, `session`, `always`, `not-asked`, or why the skill was."""
    backend: str = ""
    """The sandbox that it ran in."""
    powers: tuple[str, ...] = ()
    """What it had beyond a plain sandbox, sorted, each once."""
    at: float = 0.0
    """When it began, in seconds since 1970."""
    ended_at: float | None = None
    """When it ended; None while it runs, and for ever if its runtime died meanwhile."""
    exit_status: int | None = None
    """None while it runs, and if there was none."""
    timed_out: bool = False
    seconds: float = 0.0
    stdout_bytes: int = 0
    """Of all that it has written there, kept or not; `stderr_bytes` likewise."""
    stderr_bytes: int = 0
    output_files: int = 0
    """How many files it has left behind, and of how many bytes."""
    output_bytes: int = 0

    @property
    def is_open(self) -> bool:
        """Whether its end is not known yet."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One chat or task, as it is remembered."""

    user: str
    id: str
    agent: str = ""
    created_at: float = 0.0
    used_at: float = 0.0
    active: tuple[str, ...] = ()
    """Names of the skills that are switched on, in the order of their activation."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How much one skill was used."""

    skill: str
    """The skill's id."""
    name: str
    activations: int
    sessions: int
    """That have activated it."""
    tokens: int
    last_used_at: float
    """When it was last activated or a script of it last began to run."""
    runs: int = 0
    """Of its scripts."""


@dataclass(frozen=True, slots=True)
class DayUsage:
    """How much one skill was used on one day."""

    day: int
    """Days since 1970, in UTC."""
    skill: str
    """The skill's id."""
    name: str
    """Its last one on that day."""
    activations: int
    runs: int
    """Of its scripts that began on that day."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """How much skills were used."""

    sessions: int
    """That have activated at least one skill."""
    skills: tuple[Usage, ...]
    """The most used first."""
