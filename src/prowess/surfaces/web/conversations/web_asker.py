"""Questions of consent that a page puts to a person: kept in the store, so that any process can take the answer."""

import threading
import time
from collections.abc import Callable

import msgspec
import structlog

from prowess.activation.consent import Answer, Question
from prowess.agent.asking import ANSWERS, NOBODY, question_record
from prowess.errors import WorldError
from prowess.execution.stopping import Stopped, check_stopped
from prowess.runtime import Runtime
from prowess.runtime.keeper import SessionKey
from prowess.state.live_turns import OpenQuestion
from prowess.surfaces.web.scene.diffs import make_diffs

__all__ = ["WebAsker"]

_LOG = structlog.get_logger("prowess.web")
_MEANINGS = {name: answer for answer, name in ANSWERS.items()}
"""What a page sends, and what it means."""
_PAUSE_SECONDS = 0.25
"""Between two looks for an answer that another process may have taken."""


class WebAsker:
    """Asks in the pages that show a conversation, and waits. Made for one, whose questions come one by one."""

    name = "web"

    def __init__(self, runtime: Runtime, *, patience_seconds: float, tell: Callable[[], None]) -> None:
        self._runtime = runtime
        self._patience_seconds = patience_seconds
        self._tell = tell
        self._answered = threading.Event()
        self.key = SessionKey("", "", "")
        """Of the conversation; set when that is open."""
        self.turn = ""
        """The turn that is under way."""

    def ask(self, question: Question) -> Answer | None:
        """Return the answer of whoever gives one first; None if nobody does in time. Blocks."""
        self._runtime.store.ask_question(
            OpenQuestion(
                self.key.user,
                self.key.session,
                question.id,
                self.turn,
                msgspec.json.encode(self._describe(question)).decode(),
                self._runtime.clock(),
            )
        )
        self._tell()
        try:
            return _MEANINGS.get(self._wait(question.id))
        except Stopped:
            self._settle(question.id)
            raise

    def withdraw(self, question: str) -> Answer | None:
        return _MEANINGS.get(self._settle(question))

    def look(self) -> None:
        """Look for an answer at once: one was given here."""
        self._answered.set()

    def _describe(self, question: Question) -> dict[str, object]:
        texts = self._runtime.changed_texts(question)
        return {**question_record(question), "diffs": make_diffs(texts)}

    def _wait(self, question: str) -> str:
        deadline = time.monotonic() + self._patience_seconds
        while True:
            check_stopped()
            self._answered.clear()
            answer = self._find_answer(question)
            if answer:
                return answer
            if time.monotonic() > deadline:
                return self._settle(question)
            self._answered.wait(_PAUSE_SECONDS)

    def _find_answer(self, question: str) -> str:
        """Return the answer to a question; empty while there is none."""
        try:
            found = self._runtime.store.find_question(user=self.key.user, session=self.key.session, question=question)
        except WorldError as error:  # A store that is away for a while must not answer for a person.
            _LOG.warning("the answer to a question cannot be read", code=error.code, message=error.message)
            return ""
        return found.answer if found else NOBODY  # Without it, the conversation was deleted meanwhile.

    def _settle(self, question: str) -> str:
        """Say that nobody has answered, unless somebody just did."""
        settled = self._runtime.store.answer_question(
            user=self.key.user,
            session=self.key.session,
            question=question,
            answer=NOBODY,
            answered_by=self.name,
            at=self._runtime.clock(),
        )
        return settled.answer if settled else NOBODY
