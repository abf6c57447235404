"""The opening of a turn: skills brought up to date, the user's message taken, and the model told what is new."""

from collections.abc import Callable, Sequence

from prowess.activation.receipts import Receipt
from prowess.activation.triggers import Triggered
from prowess.agent.conversation import Audience, Conversation
from prowess.agent.events import Asked, Event, Noticed, SkillLoaded, Told
from prowess.disclosure.names import show_name
from prowess.errors import Refused, WorldError
from prowess.runtime.forking import ForkWish
from prowess.runtime.reception import Reception, ToolUse, tell_refusals

__all__ = [
    "announce_skill",
    "drop_unheard",
    "open_fork",
    "open_turn",
    "sync_skills",
    "tell_news",
    "tell_system",
]

Tell = Callable[[Event], None]

_SUBAGENT = (
    "You are a subagent: another agent has you work the skill {name}, whose instructions come with the message. Do "
    "what the message asks, by these instructions, and end with your answer: it is all that the other agent gets. You "
    "cannot ask back."
)


def open_turn(conversation: Conversation, message: str, tell: Tell) -> Reception:
    """Take a user's message, and tell the model what it needs besides. Blocks: people may be asked."""
    session = conversation.session
    sync_skills(conversation, tell)
    can_call = conversation.model.calls_tools
    reception = session.receive(message, tools=ToolUse.ON if can_call else ToolUse.OFF)
    for one in reception.activations:
        if not one.already_active:
            announce_skill(conversation, one.receipt, tell, truncated=one.instructions.truncated)
    for refusal in reception.refusals:
        tell(Noticed(text=f"{refusal.name} is not active: {refusal.error.message}", refused=refusal.name))
    if not can_call and not conversation.warned_of_tools and session.view().visible:
        conversation.warned_of_tools = True
        what = f"{conversation.model.name} cannot call tools, so it uses skills only when you call one, as /name"
        tell(Noticed(text=what))
    if not can_call:
        tell_system(conversation, tell, "")
        tell(Asked(text=reception.text, system=reception.system))
        return reception
    receipts = tuple(one.receipt.id for one in reception.activations if not one.already_active)
    missing, others = _give_missing(conversation, receipts)
    context, suggested = tell_news(conversation, reception, missing, tell)
    tell(Asked(text=reception.text, context=context, suggested=suggested, receipts=(*others, *receipts)))
    return reception


def _give_missing(conversation: Conversation, given: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the instructions of active skills that the conversation should hold and does not, and their receipts.

    Such a skill was switched on elsewhere, or in a turn that could not be kept.
    """
    session = conversation.session
    held = {*conversation.transcript.receipts, *given}
    if all(one.id in held for one in session.active() if one.in_context):
        return "", ()
    planned = session.reattach(held=held)
    return planned.text, tuple(receipt.id for receipt in planned.kept)


def drop_unheard(conversation: Conversation) -> None:
    """Have skills whose instructions the conversation should hold and does not give them when they are called again.

    The call that has switched such a skill on was broken off before anybody read its result.
    """
    session = conversation.session
    held = conversation.transcript.receipts
    if any(one.in_context and one.id not in held for one in session.active()):
        session.reattach(held=held, most_tokens=1)  # For which there is room in no conversation: nothing is given now.


def open_fork(conversation: Conversation, wish: ForkWish, tell: Tell) -> None:
    """Give a subagent its skill and its prompt."""
    session = conversation.session
    conversation.role = _SUBAGENT.format(name=show_name(wish.skill.name))
    activation = session.activate(wish.skill.id, arguments=wish.prompt, asked_by=wish.asked_by)
    if activation.digest != wish.digest:
        raise Refused(
            f"skill '{wish.skill.name}' was changed after it was agreed to", hint="try again", code="skill-changed"
        )
    tell_system(conversation, tell, session.standing_prompt(wish.prompt, dialect="openai"))
    conversation.is_primed = True
    tell(Asked(text=wish.prompt, context=activation.text, receipts=(activation.receipt.id,)))


def sync_skills(conversation: Conversation, tell: Tell) -> None:
    """Bring the copies of skills up to date. A disk that fails is told, and no reason to end a conversation."""
    try:
        conversation.session.sync()
    except WorldError as error:
        tell(Noticed(text=f"the copies of skills are not up to date: {error.message}"))


def tell_system(conversation: Conversation, tell: Tell, standing: str) -> None:
    """Tell the model its system prompt, unless it has that very one."""
    system = "\n\n".join(part for part in (conversation.instructions, conversation.role, standing) if part)
    if system != conversation.transcript.system:
        tell(Told(system=system))


def announce_skill(
    conversation: Conversation, receipt: Receipt, tell: Tell, *, call: str = "", truncated: bool = False
) -> None:
    """Tell the user of a skill that a message or a call has switched on."""
    if conversation.audience is Audience.NOBODY:
        return
    tell(
        SkillLoaded(
            name=receipt.name,
            skill=receipt.skill,
            digest=receipt.digest,
            receipt=receipt.id,
            asked_by=receipt.asked_by.value,
            text=f"⚡ Skill loaded: {receipt.name}",
            truncated=truncated,
            tokens=receipt.tokens,
            call=call,
        )
    )


def tell_news(
    conversation: Conversation, reception: Reception, missing: str, tell: Tell
) -> tuple[str, tuple[str, ...]]:
    """Return what goes with the message, and which skills may fit it.

    The system prompt stays as it was: what has changed since it was told comes with the message. Another process cannot
    say what has changed, and tells the catalog anew if it differs.
    """
    session = conversation.session
    if not conversation.is_primed:
        tell_system(conversation, tell, session.standing_prompt(reception.text, dialect="openai"))
        conversation.is_primed = True
    delta = session.catalog_delta(reception.text)
    active = session.active_text()
    news = active if active != conversation.told_active else ""
    conversation.told_active = active
    triggered, hint = _find_triggered(conversation, reception.triggered)
    refused = {one.name for one in reception.refusals}
    suggested = dict.fromkeys((*triggered, *(skill.name for skill in delta.relevant)))
    parts = (delta.text, missing, news, hint, tell_refusals(reception.refusals), reception.content)
    return "\n\n".join(part for part in parts if part), tuple(name for name in suggested if name not in refused)


def _find_triggered(conversation: Conversation, triggered: Sequence[Triggered]) -> tuple[list[str], str]:
    """Return the names of skills that the message triggers and that are not active, and a sentence on them."""
    if not triggered:
        return [], ""
    view = conversation.session.view()
    active = {receipt.skill for receipt in conversation.session.active()}
    found = [view.find(one.skill_id) for one in triggered if one.skill_id not in active]
    names = list(dict.fromkeys(skill.name for skill in found if skill is not None))
    return names, f"Triggers in the message speak for: {', '.join(map(show_name, names))}." if names else ""
