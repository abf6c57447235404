"""Questions of consent that wait for their answers: each about one call, and answered once."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prowess.activation.consent import Answer, Confirmation
from prowess.errors import Refused
from prowess.execution.stopping import check_stopped

__all__ = ["Call", "PendingQuestions"]

_PAUSE_SECONDS = 0.1
"""After which whoever waits for another's answer looks whether that is still wanted."""
_MAX_PENDING = 1_000
"""Questions that may wait for their answers; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Call:
    """The one call that a question, and so its answer, is about."""

    session: str
    tool: str
    skill: str
    arguments: str
    digest: str


@dataclass(slots=True)
class _Asking:
    """A question that is being put to a person."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: int = 0
    """Which asks."""
    waiting: int = 0
    """How many callers ask, or wait for the answer."""


@dataclass(slots=True)
class PendingQuestions:
    """Questions that wait for their answers, for all sessions of a runtime."""

    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    """What those are about that were handed out."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    asked: dict[tuple[str, str], "_Asking"] = field(default_factory=dict[tuple[str, str], "_Asking"])
    """By session and digest, about which somebody is being asked."""

    @contextmanager
    def asking(self, session: str, digest: str) -> Generator[None]:
        """Let one caller at a time ask about a digest in a session; the others may find the answer given.

        Whoever is being asked cannot use the skill in order to answer. Raise `Stopped` if a caller who waits is not
        wanted any more.
        """
        key = (session, digest)
        with self.lock:
            one = self.asked.setdefault(key, _Asking())
            if one.thread == threading.get_ident():
                raise Refused(
                    "the user is being asked about this skill", hint="wait for the answer", code="being-asked"
                )
            one.waiting += 1
        try:
            _await_turn(one.lock)
            try:
                one.thread = threading.get_ident()
                yield
            finally:
                one.thread = 0
                one.lock.release()
        finally:
            with self.lock:
                one.waiting -= 1
                if not one.waiting:
                    del self.asked[key]

    def add(self, question: str, call: Call) -> None:
        """Remember what a question is about."""
        with self.lock:
            self.calls[question] = call
            while len(self.calls) > _MAX_PENDING:
                self.calls.pop(next(iter(self.calls)))

    def redeem(self, confirmation: Confirmation, call: Call) -> Answer:
        """Return the answer if its question was about this very call; a question can be answered once."""
        with self.lock:
            about = self.calls.pop(confirmation.question, None)
        if about != call:
            raise Refused(
                "the confirmation is not for this call",
                hint="ask for the question anew; an answer counts once, for one call and the files it was about",
                code="confirmation-mismatch",
            )
        return confirmation.answer


def _await_turn(lock: threading.Lock) -> None:
    """Take the lock, or raise `Stopped`: a person may think for as long as nobody wants to wait."""
    while not lock.acquire(timeout=_PAUSE_SECONDS):
        check_stopped()
