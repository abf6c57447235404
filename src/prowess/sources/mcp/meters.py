"""How much a server may send. A stream that never ends must end here."""

from dataclasses import dataclass

from prowess.sources.mcp.wire import MAX_SKILL_BYTES

__all__ = ["LONGEST_MESSAGE_BYTES", "MAX_MESSAGE_BYTES", "Meter", "TooMuch"]

MAX_MESSAGE_BYTES = 32 << 20
"""Of one message, unless it may be a file that takes more."""
MAX_TOTAL_BYTES = 256 << 20
"""Of all that a server sends while one order is carried out, files besides."""
_ESCAPED = 6
"""Bytes that one byte of a text takes at most, as `\\u0001`."""
_ENVELOPE_BYTES = 64 << 10
"""Around a file: its address, and whatever else the protocol says of it."""
LONGEST_MESSAGE_BYTES = MAX_SKILL_BYTES * _ESCAPED + _ENVELOPE_BYTES
"""Of any message: a file as large as one may be, each byte of it escaped."""
MAX_NOISE = 1_000
"""Lines that are no messages; some servers print a greeting."""


class TooMuch(Exception):
    """Raised when a server sends more than it may; says what."""


@dataclass(slots=True)
class Meter:
    """Counts what a server sends."""

    total: int = 0
    noise: int = 0
    fault: str = ""
    """Why the connection was given up; empty while nothing is wrong."""
    most_message: int = MAX_MESSAGE_BYTES
    most_total: int = MAX_TOTAL_BYTES

    def expect(self, size_bytes: int) -> None:
        """Make room for a file of this size, however it is written."""
        room = size_bytes * _ESCAPED + _ENVELOPE_BYTES
        self.most_message = max(self.most_message, room)
        self.most_total += room

    def take(self, size: int, *, message: int) -> None:
        """Count bytes that came in; `message` is how long the present message is with them."""
        self.total += size
        if message > self.most_message:
            self.give_up(f"a message of more than {self.most_message:,} bytes")
        if self.total > self.most_total:
            self.give_up(f"more than {self.most_total:,} bytes in all")

    def note_noise(self) -> None:
        """Count a line that is no message."""
        self.noise += 1
        if self.noise > MAX_NOISE:
            self.give_up(f"more than {MAX_NOISE:,} lines that are no messages")

    def give_up(self, what: str) -> None:
        """Remember what was too much, and raise it."""
        self.fault = self.fault or f"it sent {what}"
        raise TooMuch(self.fault)
