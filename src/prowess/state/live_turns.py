"""Turns under way and the questions they wait with, as several processes share them."""

from dataclasses import dataclass

__all__ = ["WITHDRAWN", "LiveTurn", "OpenQuestion"]

WITHDRAWN = "nobody"
"""The answer to a question whose turn has ended."""


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """A turn that has begun and not ended. A session has one at most."""

    user: str
    session: str
    turn: str
    """The turn's id."""
    message: str
    """What the user typed, so that nothing is lost if the holder dies before the log has it."""
    model: str = ""
    holder: str = ""
    """The id of the process that works on it; empty if it was let go of."""
    beats: int = 0
    """Grows with every sign of life of the holder."""
    begun_at: float = 0.0
    """In seconds since 1970."""
    beat_at: float = 0.0
    """When the holder gave its last sign of life, by its own clock."""
    draft: str = ""
    """What was heard of the unfinished answer, as JSON, for those who watch elsewhere."""
    wish: str = ""
    """What somebody wants of the holder: nothing, or `cancel`."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question of consent, which any process can show and answer."""

    user: str
    session: str
    id: str
    turn: str
    """The id of the turn that waits."""
    record: str
    """The question as JSON."""
    asked_at: float
    answer: str = ""
    """Empty while it waits; then `allow-once`, `allow-for-session`, `allow-always`, `refuse`, `refuse-once`, or
    `nobody` if it was withdrawn."""
    answered_by: str = ""
    """The id of the request whose answer counts."""
    answered_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it still waits."""
        return not self.answer
