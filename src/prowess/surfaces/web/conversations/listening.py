"""Who watches: each stream has a bell that rings when there is something new for it."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["Bells"]


class Bells:
    """The bells of all who watch one thing. For one event loop."""

    def __init__(self) -> None:
        self._bells: set[asyncio.Event] = set()

    def __len__(self) -> int:
        return len(self._bells)

    @contextmanager
    def hung(self, bell: asyncio.Event) -> Generator[None]:
        """Have a bell ring while the block lasts."""
        self._bells.add(bell)
        try:
            yield
        finally:
            self._bells.discard(bell)

    def ring(self) -> None:
        """Ring them all."""
        for bell in self._bells:
            bell.set()
