"""The board: all blocks in their order, and which of them have changed since somebody last looked."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from prowess.surfaces.web.scene.blocks import Block

__all__ = ["Board", "Patch", "Patches"]

_MAX_GONE = 1_000
"""Ids of blocks that are no more which are remembered; who has missed older ones gets everything anew."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One block as it is now."""

    id: str
    parent: str
    """The block that it lies within; empty for the conversation itself."""
    block: Block | None
    """None: it is gone."""


@dataclass(frozen=True, slots=True)
class Patches:
    """What has changed since a cursor: first what is gone, then the rest in the order of the page."""

    cursor: str
    reset: bool
    """Whether these are all blocks, and nothing of what was shown before counts."""
    patches: tuple[Patch, ...]


@dataclass(slots=True)
class _Entry:
    parent: str
    order: int
    tick: int
    is_last: bool
    """Whether it stands behind all others in its parent, however new they are."""
    block: Block | None = None
    make: Callable[[], Block] | None = None
    """Makes what is shown when somebody looks: of what grows by the letter, most states are seen by nobody."""
    made: Block | None = None

    def look(self) -> Block | None:
        if self.make is None:
            return self.block
        if self.made is None:
            self.made = self.make()
        return self.made


class Board:
    """Holds blocks; `tick` grows with every change."""

    def __init__(self) -> None:
        self.epoch = os.urandom(8).hex()
        self._tick = 0
        self._orders = 0
        self._entries: dict[str, _Entry] = {}
        """By id, what has changed last at the end."""
        self._gone: dict[str, tuple[int, str]] = {}
        self._forgotten = 0
        """The tick up to which it is not known any more what is gone."""

    @property
    def cursor(self) -> str:
        """A name for the state of now."""
        return f"{self.epoch}-{self._tick}"

    def put(self, block: Block, *, parent: str = "") -> None:
        """Show a block: in its place if there is one of its id, else behind all others."""
        entry = self._touch(block.id, parent, is_last=False)
        entry.block, entry.make, entry.made = block, None, None

    def put_growing(self, block_id: str, make: Callable[[], Block], *, parent: str = "") -> None:
        """Show a block that is still growing, made when somebody looks, behind all that come meanwhile."""
        entry = self._touch(block_id, parent, is_last=True)
        entry.make, entry.made = make, None

    def grow(self, block_id: str, make: Callable[[], Block]) -> None:
        """Show more of a block than was put, made when somebody looks, until it is put anew."""
        found = self._entries.get(block_id)
        if found is not None:
            entry = self._touch(block_id, found.parent, is_last=found.is_last)
            entry.make, entry.made = make, None

    def remove(self, block_id: str) -> None:
        """Show a block no more."""
        entry = self._entries.pop(block_id, None)
        if entry is None:
            return
        self._tick += 1
        self._gone[block_id] = (self._tick, entry.parent)
        if len(self._gone) > _MAX_GONE:
            oldest = next(iter(self._gone))
            self._forgotten = self._gone.pop(oldest)[0]

    def find(self, block_id: str) -> Block | None:
        """Return a block as it was put, without what has grown since."""
        entry = self._entries.get(block_id)
        return entry.block if entry else None

    def patches(self, cursor: str) -> Patches:
        """Return what has changed since a cursor; everything, if that is not known."""
        since = self._parse(cursor)
        if since is None:
            return Patches(self.cursor, reset=True, patches=tuple(self._collect(0)))
        gone = [(tick, Patch(one, parent, None)) for one, (tick, parent) in self._gone.items() if tick > since]
        return Patches(
            self.cursor,
            reset=False,
            patches=(*(patch for _, patch in sorted(gone, key=lambda pair: pair[0])), *self._collect(since)),
        )

    def _collect(self, since: int) -> list[Patch]:
        found: list[tuple[bool, int, Patch]] = []
        for block_id, entry in reversed(self._entries.items()):
            if entry.tick <= since:
                break
            found.append((entry.is_last, entry.order, Patch(block_id, entry.parent, entry.look())))
        return [patch for _, _, patch in sorted(found, key=lambda one: one[:2])]

    def _parse(self, cursor: str) -> int | None:
        epoch, dash, tick = cursor.partition("-")
        if epoch != self.epoch or not dash or not (tick.isascii() and tick.isdecimal()) or len(tick) > 18:
            return None
        since = int(tick)
        return since if self._forgotten <= since <= self._tick else None

    def _touch(self, block_id: str, parent: str, *, is_last: bool) -> _Entry:
        self._tick += 1
        self._gone.pop(block_id, None)
        entry = self._entries.pop(block_id, None)
        if entry is None or (entry.is_last and not is_last):  # What was growing takes its place now that it is whole.
            self._orders += 1
            entry = _Entry(parent, self._orders, self._tick, is_last)
        entry.tick = self._tick
        self._entries[block_id] = entry
        return entry
