"""A turn: a message of the user, the requests to the model and the calls of tools that it takes, and the answer."""

import os
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from prowess.activation.receipts import AskedBy
from prowess.activation.tools import Tool
from prowess.agent.asking import working_for
from prowess.agent.chat_model import (
    CallPiece,
    FinishPiece,
    ModelFailure,
    ModelRequest,
    Piece,
    RetryPiece,
    TextPiece,
    ThinkingPiece,
)
from prowess.agent.compacting import compact
from prowess.agent.conversation import Conversation, ForkClock
from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    Done,
    Event,
    Noticed,
    Resumed,
    Retried,
    TextHeard,
    ThinkingHeard,
    make_failed,
)
from prowess.agent.hearing import MAX_CALLS, Hearing, make_sound
from prowess.agent.late_answers import hear_late_answers
from prowess.agent.messages import Message, ToolCall
from prowess.agent.opening import drop_unheard, open_fork, open_turn, sync_skills
from prowess.agent.resumption import Resumption, Standing
from prowess.agent.stage import Stage
from prowess.agent.tool_calls import carry_out
from prowess.errors import ProwessError, Refused
from prowess.execution.stopping import StopSign, stoppable
from prowess.runtime.forking import ForkWish
from prowess.state.conversations import Outcome, TokenUse, TurnReceipt

__all__ = ["Turn"]

_T = TypeVar("_T")
_THREADS = 64


class Turn:
    """Answers one message. Its events begin with `Begun` and end with `Done`, whatever happens."""

    def __init__(self, conversation: Conversation, stage: Stage, receipt: TurnReceipt, *, stop: StopSign) -> None:
        self.conversation = conversation
        self.stage = stage
        self.receipt = receipt
        self.forked_use = TokenUse()
        """Of its forks."""
        self.failure: ProwessError | None = None
        self.stop = stop
        """For what works for it in other threads."""
        self.clock: ForkClock | None = None
        """Of the fork that it is the turn of."""
        self.asked_by = AskedBy.USER
        """Who wants the subagent that answers the message, if one does."""
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self._system = ""
        """What the system prompt says for this one request alone."""
        self._text = ""
        self._begun_at = time.monotonic()
        self._seconds = 0.0

    # Events

    def tell(self, event: Event) -> None:
        """Tell an event of this conversation."""
        happening = self.stage.note(event)
        self.conversation.transcript.take(happening.event)
        self.stage.announce(happening)

    async def work(self, function: Callable[[], _T]) -> _T:
        """Do what blocks in another thread. It is ended with the turn, and waited for."""

        def call() -> _T:
            with stoppable(self.stop), working_for(self):
                return function()

        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    # The turn

    async def run(self, message: str, *, wish: ForkWish | None = None, delegate_to: str = "") -> Done:
        """Answer a message, have a subagent answer it, or do what a fork is wanted for.

        What goes wrong is told. Raise only if it is cancelled, or by a bug.
        """
        self.tell(self._make_begun(message))
        return await self._see_through(lambda: self._choose(message, wish, delegate_to))

    async def resume(self, resumption: Resumption, message: str, *, delegate_to: str = "", by: str = "") -> Done:
        """Go on with a turn that is not done, as `run` does.

        Its first write keeps out whoever had the turn before. Raise, with nothing told, if it cannot be written:
        `Refused` if somebody else has gone on with the conversation.
        """
        resumed = Resumed(id=os.urandom(8).hex(), by=by)
        is_new = resumption.standing is Standing.UNKNOWN
        events = (self._make_begun(message), resumed) if is_new else (resumed,)
        with anyio.CancelScope(shield=True):  # Whoever cancels the turn has its end told as well.
            await self.work(lambda: self.stage.claim(*events, model=self.conversation.model.name))
        self._recall(resumption)
        return await self._see_through(lambda: self._take_up(resumption, resumption.message or message, delegate_to))

    def _make_begun(self, message: str) -> Begun:
        return Begun(message=message, model=self.conversation.model.name)

    async def _see_through(self, work: Callable[[], Awaitable[Outcome]]) -> Done:
        """Do the work of the turn, and tell how it has ended, whatever happens."""
        conversation = self.conversation
        conversation.asker.bind(self)
        outcome = Outcome.FAILED
        try:
            self.stage.record(self.receipt)
            outcome = await work()
        except anyio.get_cancelled_exc_class():
            outcome = Outcome.CANCELLED
            raise
        except ProwessError as error:
            self.failure = error
            self.tell(make_failed(error))
        finally:
            conversation.asker.unbind()
            done = await self._finish(outcome)
        return done

    async def _finish(self, outcome: Outcome) -> Done:
        """Write how the turn has ended, and tell it then: whoever hears of it can rely on it."""
        self._seconds = round(time.monotonic() - self._begun_at, 6)
        self.receipt = replace(self.receipt, ended_at=self.conversation.clock(), outcome=outcome)
        self.stage.record(self.receipt)
        happening = self.stage.note(self._make_done(outcome))
        try:
            with anyio.CancelScope(shield=True):  # In a thread: others must not wait for a store that is slow.
                await anyio.to_thread.run_sync(self._flush, limiter=self._limiter)
        except ProwessError as error:  # It may be written later, but now that is not so.
            if self.failure is None:
                self.failure = error
                self.stage.announce(self.stage.mention(make_failed(error)))
            outcome = Outcome.FAILED if outcome is Outcome.ANSWERED else outcome
            happening = self.stage.mention(self._make_done(outcome))
        self.stage.announce(happening)
        return self._make_done(outcome)

    def _make_done(self, outcome: Outcome) -> Done:
        return Done(
            text=self._text,
            outcome=outcome,
            use=self.receipt.use + self.forked_use,
            steps=self.receipt.steps,
            seconds=self._seconds,
        )

    def _flush(self) -> None:
        self.stage.flush(model=self.conversation.model.name)

    def keep(self, event: Event) -> None:
        """Tell an event, and write it at once with all that was told before. Blocks."""
        self.tell(event)
        self._flush()

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the clocks of forks while a person thinks. For threads that work for the turn."""
        if self.clock is None:
            yield
            return
        anyio.from_thread.run_sync(self.clock.pause)
        try:
            yield
        finally:
            anyio.from_thread.run_sync(self.clock.resume)

    async def _choose(self, message: str, wish: ForkWish | None, delegate_to: str) -> Outcome:
        if wish is not None:
            await self.work(lambda: open_fork(self.conversation, wish, self.tell))
            return await self._go_on()
        return await (self._delegate(delegate_to, message) if delegate_to else self._answer(message))

    async def _delegate(self, name: str, prompt: str) -> Outcome:
        await self.work(lambda: sync_skills(self.conversation, self.tell))
        self.tell(Asked(text=prompt))
        return await self._have_worked(name, prompt)

    async def _have_worked(self, name: str, prompt: str) -> Outcome:
        session, asked_by = self.conversation.session, self.asked_by
        result = await self.work(lambda: session.delegate(name, prompt, asked_by=asked_by))
        self._text = result.text
        self.tell(Answered(text=result.text))
        return Outcome.ANSWERED

    async def _answer(self, message: str) -> Outcome:
        reception = await self.work(lambda: open_turn(self.conversation, message, self.tell))
        if reception.reply:  # The message only calls for skills, so no model need be asked.
            self._text = reception.reply
            self.tell(Answered(text=reception.reply))
            return Outcome.ANSWERED
        self._system = reception.system
        return await self._go_on()

    async def _go_on(self, unbegun: Sequence[ToolCall] = ()) -> Outcome:
        """Ask the model, and carry out what it calls for or has called for before, until it has answered."""
        if unbegun:
            await self._carry_out(unbegun, await self.work(self._prepare))
        most = self.conversation.turns.max_steps
        while self.receipt.steps < most:
            tools = await self.work(self._prepare)
            answered = await self._request_shortened(tools)
            self._text = answered.text or self._text
            if not answered.calls:
                return Outcome.ANSWERED
            await self._carry_out(answered.calls, tools)
        self.tell(Noticed(text=f"stopped after {most} requests to the model; say what to do to go on"))
        return Outcome.STOPPED

    async def _carry_out(self, calls: Sequence[ToolCall], tools: tuple[Tool, ...]) -> None:
        for call in calls:
            self.receipt = replace(self.receipt, calls=self.receipt.calls + 1)
            await self.work(partial(carry_out, self.conversation, call, tools, self.tell, flush=self._flush))

    def _prepare(self) -> tuple[Tool, ...]:
        """Write down what was said, bring skills up to date, and return the tools that the model has now."""
        conversation = self.conversation
        self._flush()
        if self.receipt.steps:  # Else the turn was opened a moment ago.
            sync_skills(conversation, self.tell)
        return conversation.session.offered() if conversation.model.calls_tools else ()

    # A turn that was left

    def _recall(self, resumption: Resumption) -> None:
        """Begin with what the turn has come to so far."""
        at = self.receipt.at if resumption.begun_at is None else resumption.begun_at
        self._begun_at -= max(self.receipt.at - at, 0.0)
        self.receipt = replace(self.receipt, at=at, steps=resumption.steps, calls=resumption.calls, use=resumption.use)
        self.forked_use = resumption.forked_use
        self._system = resumption.system
        self._text = resumption.text

    async def _take_up(self, resumption: Resumption, message: str, delegate_to: str) -> Outcome:
        """Give all that was left open its end, and do what is still to be done."""
        hear = partial(hear_late_answers, self.conversation, resumption)
        with anyio.CancelScope(shield=True):  # Whoever cancels the turn has all of it closed as well.
            resumption = await anyio.to_thread.run_sync(hear, limiter=self._limiter)
        for closing in resumption.closings:
            tell = self.stage.inside(closing.within).tell if closing.within else self.tell
            tell(closing.event)
        for question, answer in resumption.consents:
            self.conversation.asker.recall(question, answer)
        match resumption.standing:
            case Standing.UNKNOWN | Standing.BEGUN:
                return await self._choose(message, None, delegate_to)
            case Standing.ASKED:
                await self.work(self._sync_anew)
                go_on = self._have_worked(delegate_to, message) if delegate_to else self._go_on(resumption.unbegun)
                return await go_on
            case Standing.ANSWERED | Standing.DONE:
                return resumption.outcome
            case Standing.OVERTAKEN:
                raise Refused(
                    "the conversation went on with another message before this one was answered",
                    hint="say it again",
                    code="turn-overtaken",
                )

    def _sync_anew(self) -> None:
        sync_skills(self.conversation, self.tell)
        drop_unheard(self.conversation)

    # The model

    async def _request_shortened(self, tools: tuple[Tool, ...]) -> Answered:
        """Ask the model; compact the conversation before that if it is long, and again if the provider says so."""
        conversation = self.conversation
        if conversation.length > conversation.compact_at:
            await compact(self)
        try:
            return await self._request(tools)
        except ModelFailure as failure:
            if failure.code != "model-too-long" or not await compact(self, refused_tokens=conversation.length):
                raise
        return await self._request(tools)

    async def _request(self, tools: tuple[Tool, ...]) -> Answered:
        conversation = self.conversation
        transcript = conversation.transcript
        self.receipt = replace(self.receipt, steps=self.receipt.steps + 1)
        request = self.make_request(
            "\n\n".join(part for part in (transcript.system, self._system) if part), transcript.messages, tools
        )
        hearing = Hearing()
        try:
            async with aclosing(conversation.model.stream(request)) as pieces:
                async for piece in pieces:
                    hearing.hear(piece)
                    self._pass_on(piece)
        except anyio.get_cancelled_exc_class():
            self._keep(hearing.break_off())
            raise
        except ModelFailure:
            self.count(TokenUse(requests=1))
            raise
        finally:
            self.count(hearing.failed)
        if hearing.wanted_calls > MAX_CALLS:
            wanted = f"the model wants {hearing.wanted_calls:,} calls at once"
            self.tell(Noticed(text=f"{wanted}; the first {MAX_CALLS} are made"))
        answered = self._keep(hearing.conclude(conversation.transcript.call_ids))
        if answered.cut:
            self.tell(Noticed(text="the answer was cut off at the length that the provider allows"))
        return answered

    def make_request(self, system: str, messages: tuple[Message, ...], tools: tuple[Tool, ...] = ()) -> ModelRequest:
        """Return a request within the bounds of a turn."""
        turns = self.conversation.turns
        return ModelRequest(system, messages, tools, turns.request_seconds, turns.attempts)

    def count(self, use: TokenUse) -> None:
        """Add what a request has used to the turn's receipt."""
        self.receipt = replace(self.receipt, use=self.receipt.use + make_sound(use))

    def _pass_on(self, piece: Piece) -> None:
        """Tell those who watch what was heard."""
        match piece:
            case TextPiece(text):
                self.stage.tell(TextHeard(text=text))
            case ThinkingPiece(text):
                self.stage.tell(ThinkingHeard(text=text))
            case RetryPiece():
                self.stage.tell(Retried(reason=piece.reason, attempt=piece.attempt, seconds=piece.seconds))
            case CallPiece() | FinishPiece():
                pass

    def _keep(self, answered: Answered) -> Answered:
        """Make an answer part of the conversation."""
        self.count(answered.use)
        self.conversation.hear_length(answered.use)
        self._text = answered.text or self._text
        if answered.text or answered.calls:
            self.tell(answered)
        elif not answered.cut:
            self.tell(Noticed(text="the model gave an empty answer"))
        return answered
