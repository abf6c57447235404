"""People who are asked for consent, and what a session says of their answers."""

from collections.abc import Callable

from prowess.activation.consent import Answer, Question
from prowess.errors import Refused
from prowess.runtime import Session

__all__ = ["Person", "try_activate"]


class Person:
    """Gives the answers that it was told to, one a question, and remembers the questions. None: nobody answers."""

    name = "person"

    def __init__(self, *answers: Answer | None, before: Callable[[], object] | None = None) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)
        self._before = before
        """What happens while the person thinks."""

    def ask(self, question: Question) -> Answer | None:
        self.questions.append(question)
        assert self._answers, f"nobody was to be asked about {question.name}"
        if self._before is not None:
            self._before()
        return self._answers.pop(0)

    @property
    def count(self) -> int:
        """How often it was asked."""
        return len(self.questions)


def try_activate(session: Session, name: str) -> str:
    """Activate a skill; return why it was allowed, or the code of the refusal."""
    try:
        activation = session.activate(name)
    except Refused as error:
        return error.code
    return "active" if activation.already_active else activation.receipt.consent
