"""Questions of consent that come up in a turn: those who watch see them, and the answers."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from prowess.activation.consent import Answer, ConsentAsker, LastingAsker, Question
from prowess.activation.grants import Decision
from prowess.agent.events import ConsentAnswered, ConsentAsked
from prowess.sources.source import show_path

if TYPE_CHECKING:
    from prowess.agent.turn import Turn

__all__ = ["ANSWERS", "NOBODY", "ObservedAsker", "question_record", "working_for"]

ANSWERS = {answer: answer.name.lower().replace("_", "-") for answer in Answer}
"""As events name them."""
NOBODY = "nobody"
"""The answer, if there was none."""
_MAX_FILES = 200
"""Of a skill, of what changed in it, and of arguments, that an event lists."""
_MAX_CHARACTERS = 20_000
"""Of one argument, and of the input, there."""
_worked_for: ContextVar["Turn | None"] = ContextVar("worked_for", default=None)


@contextmanager
def working_for(turn: "Turn") -> Generator[None]:
    """Have questions that come up in the block be those of a turn."""
    token = _worked_for.set(turn)
    try:
        yield
    finally:
        _worked_for.reset(token)


class ObservedAsker:
    """Puts questions as another asker does, and tells of those of a turn. Made for one session.

    Bound to a turn while that goes on. What was not agreed to in a turn is not asked again in it: a model that tries
    over and over gets the same answer, and the person is left in peace. Who uses the session besides is asked anew.
    """

    def __init__(self, asker: ConsentAsker, *, on_behalf_of: str = "") -> None:
        self._asker = asker
        self._on_behalf_of = on_behalf_of
        self.name = f"{asker.name}, for {on_behalf_of}" if on_behalf_of else asker.name
        self.call = ""
        """The call that is under way; empty for what a message itself calls for."""
        self._turn: Turn | None = None
        self._declined: dict[tuple[str, str, tuple[str, ...]], Answer | None] = {}
        self._unheard: list[tuple[dict[str, Any], Answer]] = []
        """What was allowed to calls that never heard it, by the records of their questions."""

    def bind(self, turn: "Turn") -> None:
        """Begin with the questions of a turn."""
        self._turn = turn
        self._declined = {}
        self._unheard = []

    def recall(self, asked: ConsentAsked, answer: str) -> None:
        """Take what was answered before in this turn, as the events of another process say."""
        said = next((one for one, name in ANSWERS.items() if name == answer), None)
        if said is None or said.decision is not Decision.REFUSE:
            return
        record = asked.record
        self._declined[record["digest"], record["act"], tuple(record["powers"])] = said

    def withdraw(self, question: str) -> Answer | None:
        """Return what was answered to a question of a process that has ended; nobody can answer it any more."""
        return self._asker.withdraw(question) if isinstance(self._asker, LastingAsker) else None

    def take_late(self, asked: ConsentAsked, answer: Answer) -> None:
        """Take what was answered to a question whose call never heard it: it is for the next that is the very same."""
        if answer.decision is Decision.REFUSE:
            self.recall(asked, ANSWERS[answer])
        else:
            self._unheard.append((asked.record, answer))

    def unbind(self) -> None:
        """Tell nobody any more: the turn is over."""
        self._turn = None

    def ask(self, question: Question) -> Answer | None:
        question = replace(question, on_behalf_of=question.on_behalf_of or self._on_behalf_of)
        turn, call = self._turn, self.call
        if turn is None or _worked_for.get() is not turn:
            return self._asker.ask(question)
        about = (question.digest, question.act.value, question.powers)
        if about in self._declined:
            return self._declined[about]
        record = question_record(question)
        unheard = self._find_unheard(question, record)
        if unheard is not None:
            return unheard
        turn.keep(ConsentAsked(call=call, question=question.id, title=question.title, record=record))
        answer: Answer | None = None
        try:
            with turn.waiting():
                answer = self._asker.ask(question)
        finally:
            said = ANSWERS[answer] if answer is not None else NOBODY
            turn.keep(ConsentAnswered(call=call, question=question.id, answer=said))
        if answer is None or answer.decision is Decision.REFUSE:
            self._declined[about] = answer
        return answer

    def _find_unheard(self, question: Question, record: dict[str, Any]) -> Answer | None:
        """Return what was allowed to the very same call, and forget it; None if there is no such answer."""
        texts = (question.input, *question.arguments)
        if len(texts) > _MAX_FILES or any(_shorten(text) != text for text in texts):  # What is cut may differ.
            return None
        for one in self._unheard:
            if {**one[0], "id": question.id} == record:
                self._unheard.remove(one)
                return one[1]
        return None


def _shorten(text: str) -> str:
    """Return a text as an event keeps it; the person who is asked sees it by the question itself."""
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} … and more"


def question_record(question: Question) -> dict[str, Any]:
    """Return a question as plain data."""
    record = asdict(question)
    record["title"] = question.title
    record["input"] = _shorten(question.input)
    record["arguments"] = [_shorten(argument) for argument in question.arguments[:_MAX_FILES]]
    record["act"] = question.act.value
    record["files"] = [
        {
            "path": show_path(os.fsdecode(file.path)),
            "kind": file.kind.value,
            "size": file.size,
            "sha256": file.sha256,
        }
        for file in question.files[:_MAX_FILES]
    ]
    record["more_files"] = max(0, len(question.files) - _MAX_FILES)
    changes = question.changes[:_MAX_FILES]
    record["changes"] = [{**asdict(change), "change": change.change.value} for change in changes]
    record["more_changes"] = max(0, len(question.changes) - _MAX_FILES)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in record.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
