"""Take a user's message: the skills that it calls for by name or by trigger are activated with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prowess.activation.mentions import Mention, parse_message
from prowess.activation.receipts import AskedBy
from prowess.activation.triggers import Triggered
from prowess.catalog.views import View
from prowess.disclosure.agreed_files import SkillChanged
from prowess.disclosure.guidance import render_fallback
from prowess.disclosure.instructions import render_answer
from prowess.disclosure.names import show_name
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, ToolInputError
from prowess.execution.stopping import Stopped
from prowess.policy import Policy, TriggerUse
from prowess.runtime.activator import Activation, Activator
from prowess.runtime.delegation import Delegation
from prowess.runtime.forking import ForkResult
from prowess.runtime.planning import SIGNS, Planning
from prowess.skill.skill import Skill

__all__ = ["MAX_TRIGGERED", "ForkAnswer", "Reception", "Refusal", "ToolUse", "receive", "tell_refusals"]

MAX_TRIGGERED = 3
"""Skills that one message may activate by triggers."""


class ToolUse(StrEnum):
    """Whether the model can call tools in this request."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A skill that was called for and is not active, and why."""

    name: str
    error: ProwessError


def tell_refusals(refusals: Sequence[Refusal]) -> str:
    """Say which skills the user has called for in vain, so that the model does not ask for them once more."""
    return "\n".join(
        f"The user called for {show_name(one.name)}, which is not active: {one.error.message}. Go on without it."
        for one in refusals
    )


@dataclass(frozen=True, slots=True)
class ForkAnswer:
    """A skill that was called for and worked by a subagent, and what that has answered."""

    skill: Skill
    result: ForkResult


@dataclass(frozen=True, slots=True)
class Reception:
    """A message as the model should get it, and what came of the skills that it calls for."""

    text: str
    """The message without the mentions at its start."""
    activations: tuple[Activation, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    triggered: tuple[Triggered, ...] = ()
    """What in the message speaks for skills, activated or not."""
    answers: tuple[ForkAnswer, ...] = ()
    """Of the subagents that have worked skills which the message mentions."""
    content: str = ""
    """The instructions that go into the conversation with the message."""
    system: str = ""
    """Where no tool can be called: what goes into the system prompt of this one request."""
    reply: str = ""
    """The answer to a message that only calls for skills, so that no model need be asked."""

    @property
    def bare(self) -> bool:
        """Whether the message only called for skills."""
        return bool(self.reply)


def receive(
    message: str,
    *,
    view: View,
    activator: Activator,
    announce: Callable[[Activation], Activation],
    policy: Policy,
    planning: Planning,
    tools: ToolUse,
    delegation: Delegation,
) -> Reception:
    """Return what becomes of a message. A skill that is refused or broken does not stop the others.

    Skills that are for a subagent are worked by one, which takes its time. `announce` adds to an activation what else
    it brings, where the model can call tools.
    """
    called = {skill.name: skill for skill in reversed(view.invocable)}
    parsed = parse_message(message, names=called, signs=SIGNS[policy.mentions])
    wanted = [_Wanted(called[mention.name], AskedBy.USER, mention=mention) for mention in parsed.mentions]
    triggered = () if policy.triggers is TriggerUse.OFF else planning.triggers(view.visible).match(message)
    if policy.triggers is TriggerUse.ACTIVATE:
        wanted += _find_triggered(view, triggered, wanted)
    activations: list[Activation] = []
    answers: list[ForkAnswer] = []
    refusals: list[Refusal] = []
    for one in wanted:
        try:
            if tools is ToolUse.ON and delegation.decides(one.skill):
                if one.mention:  # A trigger begins no subagent, nor brings its work here: the model may call for one.
                    answers.append(one.delegate(delegation, parsed.text))
                continue
            activation = one.activate(activator)
            activations.append(announce(activation) if tools is ToolUse.ON else activation)
        except (Refused, BrokenSkill, NotFound, ToolInputError, SkillChanged) as error:
            refusals.append(Refusal(one.skill.name, error))
            if isinstance(error, Stopped):  # Nobody is asked about the others any more.
                break
    texts = _recall(activator, activations, tools)
    told = [*texts, *(render_answer(one.skill.name, one.result.text) for one in answers)]
    return Reception(
        parsed.text,
        tuple(activations),
        tuple(refusals),
        triggered,
        tuple(answers),
        content="\n\n".join(told) if tools is ToolUse.ON else "",
        system=render_fallback(texts) if tools is ToolUse.OFF else "",
        reply=_reply(activations, refusals) if parsed.bare and not answers else "",
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    skill: Skill
    asked_by: AskedBy
    mention: Mention | None = None
    trigger: str = ""

    def activate(self, activator: Activator) -> Activation:
        arguments = self.mention.arguments if self.mention else None
        return activator.activate(
            self.skill, tool="message", asked_by=self.asked_by, arguments=arguments, trigger=self.trigger
        )

    def delegate(self, delegation: Delegation, text: str) -> ForkAnswer:
        result = delegation.delegate(self.skill, text, tool="message", asked_by=self.asked_by)
        return ForkAnswer(self.skill, result)


def _find_triggered(view: View, triggered: Sequence[Triggered], wanted: Sequence[_Wanted]) -> list[_Wanted]:
    known = {one.skill.id for one in wanted}
    found: dict[str, _Wanted] = {}
    for one in triggered:
        skill = view.find(one.skill_id)
        if skill is not None and skill.id not in known and skill.id not in found and len(found) < MAX_TRIGGERED:
            found[skill.id] = _Wanted(skill, AskedBy.TRIGGER, trigger=f"{one.kind}: {one.what}")
    return list(found.values())


def _recall(activator: Activator, activations: Sequence[Activation], tools: ToolUse) -> list[str]:
    """Return the instructions that the model must be given.

    What goes into the system prompt of one request is not in the conversation afterwards, so it is given each time.
    """
    if tools is ToolUse.ON:
        return [activation.text for activation in activations]
    texts = [
        activator.recall(activation.receipt, activation.skill) if activation.already_active else activation.text
        for activation in activations
    ]
    passing = {activation.receipt.id for activation in activations if not activation.already_active}
    activator.mark_context(frozenset(one.id for one in activator.active() if one.in_context and one.id not in passing))
    return [text for text in texts if text is not None]


def _reply(activations: Sequence[Activation], refusals: Sequence[Refusal]) -> str:
    names = ", ".join(activation.skill.name for activation in activations)
    verb = "is" if len(activations) == 1 else "are"
    lines = [f"{names} {verb} active. What should be done with it?"] if activations else []
    return "\n".join([*lines, *(f"{one.name} is not active: {one.error.message}." for one in refusals)])
