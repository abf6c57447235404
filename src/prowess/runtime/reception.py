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
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, ToolInputError
from prowess.policy import Policy, TriggerUse
from prowess.runtime.activator import Activation, Activator
from prowess.runtime.planning import SIGNS, Planning
from prowess.skill.skill import Skill

__all__ = ["Reception", "Refusal", "ToolUse", "receive"]

_MAX_TRIGGERED = 3
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


@dataclass(frozen=True, slots=True)
class Reception:
    """A message as the model should get it, and what came of the skills that it calls for."""

    text: str
    """The message without the mentions at its start."""
    activations: tuple[Activation, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    triggered: tuple[Triggered, ...] = ()
    """What in the message speaks for skills, activated or not."""
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
) -> Reception:
    """Return what becomes of a message. A skill that is refused or broken does not stop the others.

    `announce` adds to an activation what else it brings, where the model can call tools.
    """
    called = {skill.name: skill for skill in reversed(view.invocable)}
    parsed = parse_message(message, names=called, signs=SIGNS[policy.mentions])
    wanted = [_Wanted(called[mention.name], AskedBy.USER, mention=mention) for mention in parsed.mentions]
    triggered = () if policy.triggers is TriggerUse.OFF else planning.triggers(view.visible).match(message)
    if policy.triggers is TriggerUse.ACTIVATE:
        wanted += _find_triggered(view, triggered, wanted)
    activations: list[Activation] = []
    refusals: list[Refusal] = []
    for one in wanted:
        try:
            activation = one.activate(activator)
            activations.append(announce(activation) if tools is ToolUse.ON else activation)
        except (Refused, BrokenSkill, NotFound, ToolInputError, SkillChanged) as error:
            refusals.append(Refusal(one.skill.name, error))
    reception = Reception(parsed.text, tuple(activations), tuple(refusals), triggered)
    texts = _recall(activator, activations, tools)
    return Reception(
        reception.text,
        reception.activations,
        reception.refusals,
        triggered,
        content="\n\n".join(texts) if tools is ToolUse.ON else "",
        system=render_fallback(texts) if tools is ToolUse.OFF else "",
        reply=_reply(activations, refusals) if parsed.bare else "",
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


def _find_triggered(view: View, triggered: Sequence[Triggered], wanted: Sequence[_Wanted]) -> list[_Wanted]:
    known = {one.skill.id for one in wanted}
    found: dict[str, _Wanted] = {}
    for one in triggered:
        skill = view.find(one.skill_id)
        if skill is not None and skill.id not in known and skill.id not in found and len(found) < _MAX_TRIGGERED:
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
