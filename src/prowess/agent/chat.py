"""A Chat: one conversation of an agent, which takes one message at a time."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from prowess.activation.receipts import AskedBy
from prowess.agent.asking import ObservedAsker
from prowess.agent.chat_model import ChatModel
from prowess.agent.conversation import Conversation
from prowess.agent.events import Done, Failed, Happening
from prowess.agent.forks import ForkCount, Forks
from prowess.agent.log import Log
from prowess.agent.messages import Message
from prowess.agent.resumption import decide_resumption
from prowess.agent.stage import Stage, Watcher
from prowess.agent.transcript import Transcript
from prowess.agent.turn import Turn
from prowess.errors import Refused
from prowess.execution.stopping import StopSign
from prowess.policy import SessionMemory
from prowess.runtime.session import Session
from prowess.state.conversations import Outcome, TokenUse, TurnReceipt

if TYPE_CHECKING:
    from prowess.agent.agent import Agent

__all__ = ["Chat", "TurnAnswer"]

_Work = Callable[[Watcher, StopSign], Awaitable[None]]
"""What is done in a turn, watched and stopped by these."""


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """What came of a message."""

    text: str
    outcome: Outcome
    use: TokenUse
    error: Failed | None = None
    """Why there is no answer, if there is none."""


class Chat:
    """One conversation. It takes one message at a time, from one event loop; `cancel` may be called by any thread."""

    def __init__(self, agent: "Agent", chat_id: str | None) -> None:
        runtime = agent.runtime
        self._agent = agent
        self._asker = ObservedAsker(agent.asker)
        self._forks = Forks(agent.asker)
        self.session: Session = runtime.session(
            chat_id,
            agent=agent.agent,
            skills=agent.skills,
            asker=self._asker,
            rights=agent.rights,
            tools=agent.tools,
            forker=self._forks,
        )
        self.id = self.session.id
        memory = SessionMemory.TASK if chat_id is None else runtime.policy.sessions
        key = self.session.key
        self._log = Log(runtime.store, user=key.user, session=key.session, memory=memory)
        self._conversation = Conversation(
            self.session,
            agent.model,
            Transcript(self.session.count_tokens),
            self._asker,
            runtime.clock,
            instructions=agent.instructions,
            audience=agent.audience,
        )
        self._turn_id = ""
        """Of the turn that was begun last."""
        self._busy = threading.Lock()
        self._cancel_lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, anyio.CancelScope, StopSign] | None = None

    def close(self) -> None:
        """Leave the conversation; one that has an id can be opened again by it."""
        self.session.close()

    # What was said

    def happenings(self) -> Sequence[Happening]:
        """Return all that happened in the conversation and is kept."""
        return self._log.read_all()

    @property
    def written(self) -> int:
        """The number of the last event of this conversation that is written, so that nothing can change it."""
        return self._log.written

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation as the model gets it."""
        if not self._busy.locked():
            self._catch_up()
        return self._conversation.transcript.messages

    def forget(self) -> None:
        """Forget what was said, unless it is kept, so that it takes no room. Not while a message is answered."""
        if self._log.forget():
            self._conversation.begin_again()

    def use_model(self, model: ChatModel) -> None:
        """Have another model answer from the next message on."""
        self._conversation.model = model
        self._conversation.reported_tokens = self._conversation.least_tokens = 0

    @property
    def model(self) -> ChatModel:
        """The model that answers."""
        return self._conversation.model

    def _catch_up(self) -> None:
        """Read what this or another process has said before."""
        news = self._log.read_new()
        if news.is_whole:
            self._conversation.begin_again()
        for happening in news.happenings:
            if not happening.within:
                self._conversation.transcript.take(happening.event)
                self._conversation.is_primed = False

    # Turns

    async def say(self, message: str) -> TurnAnswer:
        """Answer a message."""
        return await _conclude(self.stream(message))

    async def delegate(self, name: str, prompt: str, *, asked_by: AskedBy = AskedBy.USER) -> TurnAnswer:
        """Have a subagent work a skill; the prompt and its answer become part of the conversation."""
        return await _conclude(self.stream(prompt, delegate_to=name, asked_by=asked_by))

    def stream(
        self, message: str, *, delegate_to: str = "", asked_by: AskedBy = AskedBy.USER, turn_id: str = ""
    ) -> AsyncGenerator[Happening, None]:
        """Answer a message, and yield what happens until it is answered: `Begun` first, `Done` last.

        Whoever closes the stream before that cancels the turn, and the conversation stays in order; a loop that may be
        left early belongs into `contextlib.aclosing`, so that it is closed at once. With `delegate_to`, a subagent
        answers that works the skill of this name, as somebody has asked for it. `turn_id` is an id for the turn that no
        other has, to resume it by.
        """

        async def answer(watch: Watcher, stop: StopSign) -> None:
            turn = self._make_turn(turn_id or os.urandom(16).hex(), watch, stop)
            turn.asked_by = asked_by
            await turn.run(message, delegate_to=delegate_to)

        return self._lead(answer)

    def resume(
        self, turn_id: str, message: str, *, delegate_to: str = "", by: str = ""
    ) -> AsyncGenerator[Happening, None]:
        """Go on with a turn whose process has ended, and yield what happens until the message is answered.

        Calls that were under way get a result that says so, and the model is asked from there; of a turn that is done,
        only `Done` is told. `message` is for the case that nothing of the turn was kept: then it begins. `by` says in
        the log who goes on. Whoever had the turn before cannot write to it any more. If somebody else writes to the
        conversation at the same time, raise `Refused` with the code `conversation-moved`, and nothing has happened.
        """

        async def go_on(watch: Watcher, stop: StopSign) -> None:
            happenings: Sequence[Happening] = ()
            with anyio.CancelScope(shield=True):
                happenings = await anyio.to_thread.run_sync(self._log.read_all)
            resumption = decide_resumption(happenings, turn_id)
            if resumption.done is not None:
                watch(resumption.done)
                return
            turn = self._make_turn(turn_id, watch, stop, forks=resumption.forks)
            await turn.resume(resumption, message, delegate_to=delegate_to, by=by)

        return self._lead(go_on)

    async def _lead(self, work: _Work) -> AsyncGenerator[Happening, None]:
        """Do a turn's work, and yield what happens; refuse it while there is another."""
        if not self._busy.acquire(blocking=False):
            raise Refused(
                "this conversation is busy with another message", hint="wait for it, or cancel it", code="chat-busy"
            )
        try:
            async with aclosing(self._stream(work)) as happenings:
                async for happening in happenings:
                    yield happening
        finally:
            self._busy.release()

    async def _stream(self, work: _Work) -> AsyncGenerator[Happening, None]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Happening | None] = asyncio.Queue()
        scope, stop = anyio.CancelScope(), StopSign()

        def watch(happening: Happening) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, happening)

        with self._cancel_lock:
            self._running = (loop, scope, stop)
        task = asyncio.create_task(self._run(work, watch, scope, stop))
        task.add_done_callback(lambda _: loop.call_soon(queue.put_nowait, None))
        try:
            while (happening := await queue.get()) is not None:
                yield happening
            await task  # What went wrong in it is raised here.
        finally:
            with self._cancel_lock:
                self._running = None
            stop.raise_()
            scope.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
            self._forks.unbind()
            if not task.cancelled():
                task.exception()  # So that nobody complains of one that was not looked at.

    async def _run(self, work: _Work, watch: Watcher, scope: anyio.CancelScope, stop: StopSign) -> None:
        await anyio.to_thread.run_sync(self._catch_up)
        with scope:
            await work(watch, stop)

    def _make_turn(self, turn_id: str, watch: Watcher, stop: StopSign, *, forks: int = 0) -> Turn:
        agent = self._agent
        runtime = agent.runtime
        receipt = TurnReceipt(
            turn_id,
            self.session.key.user,
            self.session.key.session,
            self._conversation.model.name,
            agent=self.session.agent,
            at=runtime.clock(),
        )
        self._turn_id = turn_id
        stage = Stage(self._log, receipt.id, watchers=(*agent.watchers, watch), clock=runtime.clock)
        turn = Turn(self._conversation, stage, receipt, stop=stop)
        self._forks.bind(turn, ForkCount(forks))
        return turn

    def abandon(self) -> None:
        """End the turn that is under way and leave it to another process, which can `resume` it. Blocks.

        Its scripts and forks end, and what has happened up to now is kept; that it has ended here is not.
        """
        try:
            self._log.abandon(self._turn_id)
        finally:
            self.cancel()

    def cancel(self) -> bool:
        """Cancel the turn that is under way, with its scripts and its forks; say whether there was one."""
        with self._cancel_lock:
            if self._running is None:
                return False
            loop, scope, stop = self._running
            stop.raise_()
            loop.call_soon_threadsafe(scope.cancel)
            return True


async def _conclude(happenings: AsyncGenerator[Happening, None]) -> TurnAnswer:
    """Return what comes of a turn, when all of it has happened."""
    done: Done | None = None
    error: Failed | None = None
    async with aclosing(happenings) as stream:
        async for happening in stream:
            if happening.within:
                continue
            match happening.event:
                case Failed():
                    error = happening.event
                case Done():
                    done = happening.event
                case _:
                    pass
    assert done is not None
    return TurnAnswer(done.text, done.outcome, done.use, error)
