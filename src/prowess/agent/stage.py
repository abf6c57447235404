"""Where the events of a turn go: into the log of its conversation, and to all who watch."""

import logging
from collections.abc import Callable, Sequence

from prowess.agent.events import Event, Happening, make_storable
from prowess.agent.log import Log
from prowess.errors import ProwessError
from prowess.state.conversations import TurnReceipt

__all__ = ["Stage", "Watcher"]

_LOG = logging.getLogger("prowess")

Watcher = Callable[[Happening], None]
"""Is told what happens, in whichever thread it does; must not wait."""


class Stage:
    """Tells the events of one turn, of the conversation itself or of a fork in it."""

    def __init__(
        self, log: Log, turn: str, *, watchers: Sequence[Watcher], clock: Callable[[], float], within: str = ""
    ) -> None:
        self.turn = turn
        self.within = within
        self._log = log
        self._watchers = watchers
        self._clock = clock

    def tell(self, event: Event) -> None:
        """Add an event to the log, if it is one to be kept, and tell all who watch."""
        self.announce(self.note(event))

    def note(self, event: Event) -> Happening:
        """Add an event to the log, if it is one to be kept, and tell nobody yet."""
        if event.kept:
            return self._log.add(event, turn=self.turn, within=self.within, at=self._clock())
        return self.mention(event)

    def mention(self, event: Event) -> Happening:
        """Return an event that is for those who watch and no part of the log."""
        return Happening(event=make_storable(event)[0], turn=self.turn, within=self.within, at=self._clock())

    def announce(self, happening: Happening) -> None:
        """Tell all who watch. One who fails at it is no reason to end a conversation, nor to tell nobody else."""
        for watcher in self._watchers:
            try:
                watcher(happening)
            except Exception:  # noqa: BLE001 - what others do with it is not ours
                _LOG.exception("a watcher of conversation events failed")

    def record(self, receipt: TurnReceipt) -> None:
        """Have the receipt of a turn written with what was told."""
        self._log.record(receipt)

    def flush(self, *, model: str = "") -> None:
        """Write to the log what was told."""
        self._log.flush(model=model)

    def claim(self, *events: Event, model: str = "") -> None:
        """Write events at once and tell them then. Raise, with nothing told nor left to be written, if that fails."""
        noted = [self.note(event) for event in events]
        try:
            self.flush(model=model)
        except ProwessError:
            self._log.give_up()
            raise
        for happening in noted:
            self.announce(happening)

    def inside(self, fork: str) -> "Stage":
        """Return the stage of a fork of this turn."""
        return Stage(self._log, self.turn, watchers=self._watchers, clock=self._clock, within=fork)
