"""The log of a conversation: its events and the receipts of its turns, on their way to the store and back."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.agent.events import Event, Happening, Resumed, make_storable, parse_event
from prowess.errors import Refused, WorldError
from prowess.policy import SessionMemory
from prowess.state.conversations import LoggedEvent, TurnReceipt
from prowess.state.store import StateStore

__all__ = ["Log", "News", "read_happenings"]

_RESUMED = Resumed.__struct_config__.tag


@dataclass(frozen=True, slots=True)
class News:
    """What stands in a log and was not told here."""

    happenings: Sequence[Happening] = ()
    is_whole: bool = False
    """Whether that is all there is, in the place of whatever was told here."""


class Log:
    """The log of one conversation: in the store, so that any process can go on with it, or in memory for a task.

    What is added is written together, when `flush` is called, with the receipts of turns. If the store fails then, all
    of it waits for the next time.
    """

    def __init__(self, store: StateStore, *, user: str, session: str, memory: SessionMemory) -> None:
        self._store = store
        self._is_kept = memory is SessionMemory.CHAT
        self._user = user
        self._session = session
        self._lock = threading.Lock()
        self._kept: list[LoggedEvent] = []
        """Only for a task."""
        self._waiting: list[LoggedEvent] = []
        self._receipts: dict[str, TurnReceipt] = {}
        """That wait too, by id: of each turn, the latest."""
        self._last = 0
        self._is_lost = False
        """Whether somebody else has gone on with the conversation, so that what is told here is no part of it."""
        self._taken: set[str] = set()
        """Turns that somebody else has gone on with then: their receipts are no longer ours."""

    def read_new(self) -> News:
        """Return what was added since by others; all of it, if what was told here has not become part of it."""
        if not self._is_kept:
            return News()
        with self._lock:
            if not self._is_lost and not self._write(""):  # What a failing store has not taken.
                self._lose()
            last = self._store.last_event(user=self._user, session=self._session)
            if last < self._last:  # It was forgotten meanwhile.
                self._drop()
            before, self._is_lost, self._taken = self._last, False, set()
            logged = self._read(before, last)
            happenings = [_unpack(one) for one in logged]
            self._last = logged[-1].number if logged else before
        return News(happenings, is_whole=not before)

    def _read(self, after: int, last: int) -> list[LoggedEvent]:
        """Return what stands in the store from one number to another, which it gives in parts."""
        found: list[LoggedEvent] = []
        while after < last and (part := self._store.events(user=self._user, session=self._session, after=after)):
            found += part
            after = part[-1].number
        return found

    def read_all(self) -> Sequence[Happening]:
        """Return everything that is in the log."""
        with self._lock:
            kept = self._kept
            if self._is_kept:
                kept = self._read(0, self._store.last_event(user=self._user, session=self._session))
            return [_unpack(one) for one in (*kept, *self._waiting)]

    def add(self, event: Event, *, turn: str, within: str, at: float) -> Happening:
        """Add an event, made storable, and return it with its number."""
        event, data = make_storable(event)
        with self._lock:
            if self._is_lost:
                return Happening(event=event, turn=turn, within=within, at=at)
            self._last += 1
            kind = event.__struct_config__.tag
            logged = LoggedEvent(self._last, turn, str(kind), data, at, within)
            self._waiting.append(logged)
        return Happening(event=event, turn=turn, number=logged.number, within=within, at=at)

    def record(self, receipt: TurnReceipt) -> None:
        """Have the receipt of a turn written, as it is now."""
        with self._lock:
            self._receipts[receipt.id] = receipt

    def flush(self, *, model: str = "") -> None:
        """Write what waits; raise `Refused` if somebody else has gone on with the conversation meanwhile.

        Receipts are written in any case, but for those of turns that were resumed there.
        """
        with self._lock:
            if not self._write(model):
                self._lose()
            if self._is_lost:
                raise Refused(
                    "this conversation was continued elsewhere at the same time",
                    hint="say it again: what was said there is read first",
                    code="conversation-moved",
                )

    def _write(self, model: str) -> bool:
        """Write what waits; say whether it has become part of the conversation."""
        receipts = tuple(receipt for receipt in self._receipts.values() if receipt.id not in self._taken)
        if self._is_kept:
            done = self._store.append_events(
                user=self._user, session=self._session, events=self._waiting, model=model, turns=receipts
            )
        else:
            self._kept += self._waiting
            self._waiting = []
            for receipt in receipts:
                self._store.record_turn(receipt)
            done = True
        self._receipts = {}
        self._waiting = [] if done else self._waiting
        return done

    @property
    def written(self) -> int:
        """The number of the last event that is in the store, as far as this log knows."""
        with self._lock:
            return self._last - len(self._waiting)

    def forget(self) -> bool:
        """Let go of what was told of a task; what stands in the store stays. Say whether it was a task."""
        with self._lock:
            self._kept = []
        return not self._is_kept

    def give_up(self) -> None:
        """Write nothing of what waits, ever, and have everything read again."""
        with self._lock:
            self._drop()

    def abandon(self, turn: str) -> None:
        """Write what waits, and then no more of a turn: another process is to go on with it."""
        with self._lock:
            try:
                if not self._is_lost:
                    self._write("")
            finally:
                self._drop()
                self._taken = {turn}

    def _lose(self) -> None:
        """Take note that somebody else has gone on with the conversation."""
        last = self._store.last_event(user=self._user, session=self._session)
        others = self._read(self._waiting[0].number - 1, last)
        self._taken = {one.turn for one in others if one.kind == _RESUMED}
        self._drop()

    def _drop(self) -> None:
        """Give up what waits, and have everything read again."""
        self._waiting = []
        self._last = 0
        self._is_lost = True


def read_happenings(store: StateStore, *, user: str, session: str, after: int = 0) -> Sequence[Happening]:
    """Return what stands in the log of a conversation after a number, whoever has written it."""
    found: list[Happening] = []
    while part := store.events(user=user, session=session, after=after):
        found += map(_unpack, part)
        after = part[-1].number
    return found


def _unpack(logged: LoggedEvent) -> Happening:
    try:
        event = parse_event(logged.data)
    except ValueError as error:
        raise WorldError(
            f"event {logged.number} of this conversation cannot be read: {error}",
            hint="a newer Prowess may have written it: update this one, or begin another conversation",
            code="log-unreadable",
        ) from error
    return Happening(event=event, turn=logged.turn, number=logged.number, within=logged.within, at=logged.at)
