"""Skills for subagents: worked by the model of the settings, if there is one, or handed to the client."""

from typing import TYPE_CHECKING

from prowess.activation.receipts import AskedBy
from prowess.runtime.forking import decide_fork
from prowess.skill.skill import Skill
from prowess.surfaces.mcp.asking import InputWanted, about
from prowess.surfaces.mcp.faults import make_fault
from prowess.surfaces.mcp.requests import ClientRequest
from prowess.surfaces.mcp.visits import Visit

if TYPE_CHECKING:
    from prowess.agent.chat import TurnAnswer

__all__ = ["delegate", "hand_over", "is_for_fork"]

_MEANT = "This skill is meant for a subagent of its own"
_NO_MODEL = ", and Prowess has no model to make one of"
_ADVICE = "Follow the instructions yourself, or hand them to a subagent of yours with all that it needs to know."


def hand_over(instructions: str, visit: Visit) -> str:
    """Return the instructions of a skill for a subagent with what the client's model is to do with them."""
    return f"[{_MEANT}{'' if visit.chat is not None else _NO_MODEL}. {_ADVICE}]\n\n{instructions}"


def is_for_fork(skill: Skill, visit: Visit, *, prompt: str, asked: str = "") -> bool:
    """Whether a subagent of our own works a skill. `asked` is what the client's model wants."""
    if visit.chat is None or not prompt.strip():
        return False
    return decide_fork(visit.session.policy.turns.run_in, skill, asked=asked)


async def delegate(request: ClientRequest, skill: Skill, prompt: str, *, asked_by: AskedBy) -> "TurnAnswer":
    """Return what a subagent has answered. Raise why it has not.

    That is `InputWanted` if a person must be asked by way of another request.
    """
    visit = request.visit
    assert visit.chat is not None
    await _ask_before(request, skill, prompt, asked_by)
    request.is_repeatable = False  # What the subagent has done before a question would happen twice.
    async with visit.forking:
        # Others have had their time, and the skill may have changed in it.
        await _ask_before(request, skill, prompt, asked_by)
        try:
            answer = await request.attend(visit.chat.delegate(skill.id, prompt, asked_by=asked_by))
        finally:
            visit.chat.forget()  # Each subagent begins with its prompt alone, and a visit may never end.
    if answer.error is not None:
        raise make_fault(answer.error)
    return answer


async def _ask_before(request: ClientRequest, skill: Skill, prompt: str, asked_by: AskedBy) -> None:
    """End a request whose question must be put by way of another, unless it brings the answer to this very one."""
    if not request.is_stateless or not request.can_ask:
        return
    session = request.visit.session
    question = await request.look(lambda: session.question_delegate(skill.id, prompt, asked_by=asked_by))
    if question is not None and not request.has_answer(about(question)):
        raise InputWanted(question)
