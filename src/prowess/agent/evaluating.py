"""Ask a model which skill it would use for a query, with the prompt and the tools of a session. Nothing is done."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import anyio
import anyio.to_thread

from prowess.activation.consent import HeadlessAsker
from prowess.activation.mentions import parse_message
from prowess.activation.tool_dialects import find_tool
from prowess.activation.tools import Role, Tool
from prowess.agent.asking import ObservedAsker
from prowess.agent.chat_model import ModelFailure, ModelRequest
from prowess.agent.conversation import Audience, Conversation
from prowess.agent.events import Answered, Asked, CallEnded
from prowess.agent.forks import Forks
from prowess.agent.hearing import Hearing
from prowess.agent.messages import ToolCall
from prowess.agent.opening import tell_news
from prowess.agent.transcript import Transcript
from prowess.errors import SettingsError, ToolInputError
from prowess.policy import TriggerUse
from prowess.runtime.evaluation import Evaluation, ModelRuns, SkillEvaluation, Trial
from prowess.runtime.planning import SIGNS, Planning
from prowess.runtime.reception import MAX_TRIGGERED, Reception
from prowess.runtime.session import Session
from prowess.state.conversations import TokenUse

if TYPE_CHECKING:
    from prowess.agent.agent import Agent

__all__ = ["ask_model"]

_AT_ONCE = 4
"""Conversations that go on at the same time."""
_MAX_REQUESTS = 3
"""In one conversation: a search may come before the choice, and another one after it."""
_SKILL_ARGUMENT = "name"


async def ask_model(
    agent: "Agent", evaluation: Evaluation, *, runs: int, progress: Callable[[int, int], None]
) -> Evaluation:
    """Return the evaluation with what the agent's model chose for each query, in so many conversations each.

    Nothing is activated, read or run; only searches are made for the model. Raise `ModelFailure` when it fails once,
    however many conversations are left.
    """
    if evaluation.trials:
        await anyio.to_thread.run_sync(_check, agent)
    asking = _Asking(agent, [trial for trial in evaluation.trials for _ in range(runs)], progress)
    await asking.run()
    chosen = iter(asking.chosen)

    def add_choices(one: SkillEvaluation) -> SkillEvaluation:
        trials = (replace(trial, chosen=tuple(next(chosen) for _ in range(runs))) for trial in one.trials)
        return replace(one, trials=tuple(trials))

    skills = tuple(add_choices(one) for one in evaluation.skills)
    return replace(evaluation, skills=skills, model=ModelRuns(agent.model.name, runs, asking.use))


def _check(agent: "Agent") -> None:
    """Raise if no model could activate anything here."""
    with _open(agent) as session:
        offered = session.offered()
    if not agent.model.calls_tools or not any(tool.role is Role.ACTIVATE for tool in offered):
        raise SettingsError(
            f"{agent.model.name} has no tool here by which it would activate a skill, so its choice cannot be seen",
            hint="take a model that calls tools, under a profile with such a tool; or measure the planner alone",
            code="no-activation-tool",
        )


def _open(agent: "Agent") -> Session:
    asker = ObservedAsker(HeadlessAsker())
    return agent.runtime.session(
        agent=agent.agent,
        skills=agent.skills,
        asker=asker,
        rights=agent.rights,
        tools=agent.tools,
        forker=Forks(asker),  # Tools are offered as in a chat; none that begins a fork is called.
    )


@dataclass(slots=True)
class _Asking:
    """Many conversations, a few at a time."""

    agent: "Agent"
    trials: Sequence[Trial]
    progress: Callable[[int, int], None]
    chosen: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """What came of each, in the order of the trials."""
    use: TokenUse = field(default_factory=TokenUse)
    _done: int = 0
    _failure: ModelFailure | None = None

    async def run(self) -> None:
        self.chosen = [()] * len(self.trials)
        waiting = iter(enumerate(self.trials))
        async with anyio.create_task_group() as group:
            for _ in range(_AT_ONCE):
                group.start_soon(self._work, waiting, group.cancel_scope)
        if self._failure is not None:
            raise self._failure

    async def _work(self, waiting: Iterator[tuple[int, Trial]], scope: anyio.CancelScope) -> None:
        for number, trial in waiting:
            try:
                self.chosen[number] = await self._ask(trial.query.text)
            except ModelFailure as failure:
                self._failure = self._failure or failure
                scope.cancel()
                return
            self._done += 1
            self.progress(self._done, len(self.trials))

    async def _ask(self, query: str) -> tuple[str, ...]:
        """Return the ids of the skills that the model would activate."""
        session = await anyio.to_thread.run_sync(lambda: _open(self.agent))
        try:
            conversation = self._converse(session)
            called = await anyio.to_thread.run_sync(lambda: _begin(conversation, self.agent.runtime.planning, query))
            return called or await self._choose(conversation)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(session.close)

    def _converse(self, session: Session) -> Conversation:
        agent = self.agent
        return Conversation(
            session,
            agent.model,
            Transcript(session.count_tokens),
            ObservedAsker(HeadlessAsker()),
            agent.runtime.clock,
            instructions=agent.instructions,
            audience=Audience.NOBODY,
        )

    async def _choose(self, conversation: Conversation) -> tuple[str, ...]:
        session, transcript = conversation.session, conversation.transcript
        tools = await anyio.to_thread.run_sync(session.offered)
        for _ in range(_MAX_REQUESTS):
            answered = await self._request(conversation, tools)
            chosen = await anyio.to_thread.run_sync(partial(_find_chosen, session, tools, answered.calls))
            searches = [call for call in answered.calls if _role_of(tools, call) is Role.SEARCH]
            if chosen or len(searches) < max(len(answered.calls), 1):
                return chosen
            transcript.take(answered)
            for call in searches:
                result = await anyio.to_thread.run_sync(session.call, call.tool, call.arguments)
                state = "failed" if result.is_error else "done"
                transcript.take(CallEnded(call=call.id, tool=call.tool, content=result.content, state=state))
        return ()

    async def _request(self, conversation: Conversation, tools: tuple[Tool, ...]) -> Answered:
        transcript, turns = conversation.transcript, conversation.turns
        request = ModelRequest(transcript.system, transcript.messages, tools, turns.request_seconds, turns.attempts)
        hearing = Hearing()
        async with aclosing(conversation.model.stream(request)) as pieces:
            async for piece in pieces:
                hearing.hear(piece)
        answered = hearing.conclude(transcript.call_ids)
        self.use += answered.use + hearing.failed
        return answered


def _begin(conversation: Conversation, planning: Planning, query: str) -> tuple[str, ...]:
    """Tell the model all that a turn would; return what the message activates by itself, so that no model is asked."""
    session = conversation.session
    view, policy = session.view(), session.policy
    names = {skill.name: skill.id for skill in reversed(view.invocable)}
    parsed = parse_message(query, names=names, signs=SIGNS[policy.mentions])
    triggered = () if policy.triggers is TriggerUse.OFF else planning.triggers(view.visible).match(query)
    called = [names[mention.name] for mention in parsed.mentions]
    called += [one.skill_id for one in triggered[:MAX_TRIGGERED]] if policy.triggers is TriggerUse.ACTIVATE else []
    if called:
        return tuple(dict.fromkeys(called))
    tell = conversation.transcript.take
    context, suggested = tell_news(conversation, Reception(query, triggered=triggered), "", tell)
    tell(Asked(text=query, context=context, suggested=suggested))
    return ()


def _find_chosen(session: Session, tools: Sequence[Tool], calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Return the ids of the skills that are called for. Blocks."""
    found: list[str] = []
    for call in calls:
        if _role_of(tools, call) is Role.ACTIVATE:
            try:
                arguments: object = json.loads(call.arguments or "{}")
                name = cast("dict[str, object]", arguments)[_SKILL_ARGUMENT] if isinstance(arguments, dict) else ""
                found.append(session.find_usable(str(name)).id)
            except (ValueError, KeyError, RecursionError, ToolInputError):  # It means no skill that there is.
                continue
    return tuple(found)


def _role_of(tools: Sequence[Tool], call: ToolCall) -> Role | None:
    try:
        return find_tool(tools, call.tool).role
    except ToolInputError:
        return None
