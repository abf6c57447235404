"""Questions of consent that come up in a turn: those who watch see them, and the answers."""

import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from prowess.activation.consent import Answer, ConsentAsker, Question
from prowess.activation.grants import Decision
from prowess.agent.events import ConsentAnswered, ConsentAsked
from prowess.sources.source import show_path

if TYPE_CHECKING:
    from prowess.agent.turn import Turn

__all__ = ["NOBODY", "ObservedAsker", "question_record"]

_ANSWERS = {answer: answer.name.lower().replace("_", "-") for answer in Answer}
NOBODY = "nobody"
"""The answer, if there was none."""
_MAX_FILES = 200
"""Of a skill, of what changed in it, and of arguments, that an event lists."""
_MAX_CHARACTERS = 20_000
"""Of one argument, and of the input, there."""


class ObservedAsker:
    """Puts questions as another asker does, and tells of them. Made for one session, whose calls come one by one.

    Bound to a turn while that goes on. What was not agreed to in a turn is not asked again in it: a model that tries
    over and over gets the same answer, and the person is left in peace.
    """

    def __init__(self, asker: ConsentAsker, *, on_behalf_of: str = "") -> None:
        self._asker = asker
        self._on_behalf_of = on_behalf_of
        self.name = f"{asker.name}, for {on_behalf_of}" if on_behalf_of else asker.name
        self.call = ""
        """The call that is under way; empty for what a message itself calls for."""
        self._turn: Turn | None = None
        self._declined: dict[tuple[str, str, tuple[str, ...]], Answer | None] = {}

    def bind(self, turn: "Turn") -> None:
        """Begin with the questions of a turn."""
        self._turn = turn
        self._declined = {}

    def recall(self, asked: ConsentAsked, answer: str) -> None:
        """Take what was answered before in this turn, as the events of another process say."""
        said = next((one for one, name in _ANSWERS.items() if name == answer), None)
        if said is None or said.decision is not Decision.REFUSE:
            return
        record = asked.record
        self._declined[record["digest"], record["act"], tuple(record["powers"])] = said

    def unbind(self) -> None:
        """Tell nobody any more: the turn is over."""
        self._turn = None

    def ask(self, question: Question) -> Answer | None:
        about = (question.digest, question.act.value, question.powers)
        if about in self._declined:
            return self._declined[about]
        question = replace(question, on_behalf_of=question.on_behalf_of or self._on_behalf_of)
        turn, call = self._turn, self.call
        if turn is None:
            return self._asker.ask(question)
        record = question_record(question)
        turn.keep(ConsentAsked(call=call, question=question.id, title=question.title, record=record))
        answer: Answer | None = None
        try:
            with turn.waiting():
                answer = self._asker.ask(question)
        finally:
            said = _ANSWERS[answer] if answer is not None else NOBODY
            turn.keep(ConsentAnswered(call=call, question=question.id, answer=said))
        if answer is None or answer.decision is Decision.REFUSE:
            self._declined[about] = answer
        return answer


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
