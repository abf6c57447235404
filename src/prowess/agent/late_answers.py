"""Answers that came after the process which had asked was gone: they count as far as they reach."""

from dataclasses import replace

from prowess.activation.consent import Answer
from prowess.activation.grants import Act, Scope
from prowess.agent.asking import ANSWERS
from prowess.agent.conversation import Conversation
from prowess.agent.events import ConsentAnswered, ConsentAsked
from prowess.agent.resumption import Closing, Resumption

__all__ = ["hear_late_answers"]


def hear_late_answers(conversation: Conversation, resumption: Resumption) -> Resumption:
    """Return the resumption with what was answered to the questions that it ends; nobody can answer these any more.

    What reaches beyond one call is kept before the log tells of it. Blocks.
    """
    return replace(resumption, closings=tuple(_hear(conversation, closing) for closing in resumption.closings))


def _hear(conversation: Conversation, closing: Closing) -> Closing:
    asked = closing.asked
    answer = conversation.asker.withdraw(asked.question) if asked is not None else None
    if asked is None or answer is None:
        return closing
    if not closing.within:
        conversation.asker.take_late(asked, answer)
    if not closing.within or answer.scope is Scope.ALWAYS:  # The session of a fork has ended with it.
        _keep(conversation, asked, answer)
    told = ConsentAnswered(call=asked.call, question=asked.question, answer=ANSWERS[answer])
    return replace(closing, event=told)


def _keep(conversation: Conversation, asked: ConsentAsked, answer: Answer) -> None:
    record = asked.record
    conversation.session.keep_answer(
        record["skill"], record["digest"], answer, act=Act(record["act"]), powers=tuple(record["powers"])
    )
