"""Feeds: what happens in a conversation, for programs that follow it event by event."""

import asyncio

from prowess.agent.events import Happening

__all__ = ["Feed", "Feeds"]

_MAX_WAITING = 10_000
"""Events that wait for a slow reader; then it is sent away, and can come back with the number of the last it has."""


class Feed:
    """What one reader has not read yet."""

    def __init__(self, bell: asyncio.Event) -> None:
        self.bell = bell
        self._waiting: list[Happening] = []
        self.is_late = False
        """Whether some of it was lost, since its reader is too slow."""

    def give(self, happening: Happening) -> None:
        """Add what has happened."""
        if len(self._waiting) >= _MAX_WAITING:
            self.is_late = True
        else:
            self._waiting.append(happening)
        self.bell.set()

    def take(self) -> list[Happening]:
        """Return what has happened since, each once."""
        taken, self._waiting = self._waiting, []
        return taken


class Feeds:
    """All who follow one conversation."""

    def __init__(self) -> None:
        self._feeds: set[Feed] = set()

    def follow(self, bell: asyncio.Event) -> Feed:
        """Return a feed that is filled until it is left."""
        feed = Feed(bell)
        self._feeds.add(feed)
        return feed

    def leave(self, feed: Feed) -> None:
        """Fill a feed no more."""
        self._feeds.discard(feed)

    def give(self, happening: Happening) -> None:
        """Tell them all."""
        for feed in self._feeds:
            feed.give(happening)
