"""What a PostgreSQL server tells those who listen: that something was announced, or that others have gone on."""

import time
from dataclasses import dataclass
from typing import Any

import psycopg

__all__ = ["LISTEN", "SILENCE_SECONDS", "Notices"]

SILENCE_SECONDS = 0.5
"""How long silence counts as no news: a network may drop a connection, or a notice, without a word."""

LISTEN = b"LISTEN prowess; LISTEN prowess_live"
"""Two channels: of announcements, and of all else that others want to hear of."""
_ANNOUNCEMENTS = "prowess"


@dataclass(slots=True)
class Notices:
    """What was heard on one connection after the other."""

    is_news: bool = False
    """Whether something was announced since this was last set to False."""
    changes: int = 0
    """How often anything was heard, or silence has lasted."""
    _last_at: float = 0.0

    def follow(self, connection: psycopg.Connection[Any]) -> None:
        """Hear what comes with the answers on a new connection. What came before it was made is unknown, so news."""
        connection.add_notify_handler(lambda notice: self._hear(notice.channel))
        self._hear(_ANNOUNCEMENTS)

    def catch_up(self, connection: psycopg.Connection[Any]) -> None:
        """Hear what has come meanwhile, without asking the server."""
        connection.pgconn.consume_input()
        while (notice := connection.pgconn.notifies()) is not None:
            self._hear(notice.relname.decode())

    def count(self) -> int:
        """Return `changes`, one more if it was silent for so long that something may have been missed."""
        if time.monotonic() - self._last_at > SILENCE_SECONDS:
            self._hear("")
        return self.changes

    def _hear(self, channel: str) -> None:
        self.is_news = self.is_news or channel == _ANNOUNCEMENTS
        self.changes += 1
        self._last_at = time.monotonic()
