"""What a worker is told to do with a mirror, and what it says came of it."""

from dataclasses import dataclass
from enum import StrEnum

from prowess.skill.problems import Problem
from prowess.sources.mcp.listed import Listed
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.wire import MAX_RESOURCES, MAX_SKILL_BYTES

__all__ = ["LONGEST_FETCH_SECONDS", "Act", "Order", "Outcome", "find_fetch_seconds"]

_FILE_SECONDS = 0.25
_BYTES_PER_SECOND = 128 << 10
LONGEST_FETCH_SECONDS = MAX_RESOURCES * _FILE_SECONDS + MAX_SKILL_BYTES / _BYTES_PER_SECOND
"""Of a skill that is as large as one may be."""


class Act(StrEnum):
    """What is to be done."""

    LIST = "list"
    """Bring the mirror in line with the server's list."""
    FETCH = "fetch"
    """Fetch the files of one skill."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is told."""

    act: Act
    server: McpServer
    folder: str
    """Of the mirror."""
    seconds: float
    """How long all of it may take; to wait for another process that is at work, as long again."""
    shelf: str = ""
    path: str = ""
    """With the shelf, which skill is to be fetched."""
    more_seconds: float = 0.0
    """How much longer it may take if files are read."""

    @property
    def longest_seconds(self) -> float:
        """How long it takes at most."""
        return 2 * self.seconds + self.more_seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order."""

    problem: Problem | None = None
    """Why nothing came of it."""
    is_busy: bool = False
    """Whether that is only since another process was at work, so that nothing is known of the server."""


def find_fetch_seconds(one: Listed) -> float:
    """Return how much longer than its list the files of a skill may take: of one as large as allowed, four minutes."""
    return len(one.files) * _FILE_SECONDS + one.size / _BYTES_PER_SECOND
