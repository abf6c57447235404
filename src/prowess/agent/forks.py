"""Forks: subagents that work skills, each in a session of its own, within bounds that they share with their turn."""

import concurrent.futures
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from prowess.activation.consent import ConsentAsker
from prowess.agent.asking import ObservedAsker
from prowess.agent.conversation import Audience, Conversation, ForkClock
from prowess.agent.events import Done, ForkBegun, ForkEnded
from prowess.agent.from_threads import run_in_loop
from prowess.agent.transcript import Transcript
from prowess.errors import Refused
from prowess.execution.stopping import Stopped, StopSign
from prowess.runtime.forking import ForkResult, ForkWish
from prowess.runtime.session import Session
from prowess.skill.skill import Skill
from prowess.state.conversations import Outcome, TurnReceipt

if TYPE_CHECKING:
    from prowess.agent.turn import Turn

__all__ = ["ForkCount", "Forks"]

_MAX_ANSWER_CHARACTERS = 100_000
"""Of what a fork has said, as its caller gets it."""


@dataclass(slots=True)
class ForkCount:
    """Forks that a turn has begun, those of its forks included."""

    begun: int = 0


class Forks:
    """Has subagents work the skills of one conversation. Bound to a turn while that goes on."""

    def __init__(self, asker: ConsentAsker, *, ancestry: tuple[str, ...] = ()) -> None:
        self._asker = asker
        self._ancestry = ancestry
        """Ids of the skills that are being worked around this conversation, the outermost first."""
        self._turn: Turn | None = None
        self._count = ForkCount()

    def bind(self, turn: "Turn", count: ForkCount | None = None) -> None:
        """Begin with the forks of a turn; those of a fork count with its parent's."""
        self._turn = turn
        self._count = count or ForkCount()

    def unbind(self) -> None:
        """Have no more forks: the turn is over."""
        self._turn = None

    def check(self, skill: Skill) -> None:
        """Refuse what would go too deep, in circles, or on and on."""
        bounds = self._bound_turn(skill).conversation.turns
        if skill.id in self._ancestry:
            raise Refused(
                f"skill '{skill.name}' is being worked by this very subagent",
                hint="go on with it yourself",
                code="fork-in-circles",
            )
        if len(self._ancestry) >= bounds.fork_depth:
            raise Refused(
                f"subagents may go {bounds.fork_depth} deep, and skill '{skill.name}' would be one more",
                hint="do it without a subagent, or set turns.fork_depth in the settings",
                code="fork-too-deep",
            )
        if self._count.begun >= bounds.max_forks:
            raise Refused(
                f"this turn has had its {bounds.max_forks} subagents",
                hint="go on without, or set turns.max_forks in the settings",
                code="too-many-forks",
            )

    def fork(self, wish: ForkWish) -> ForkResult:
        """Have a subagent work a skill. Called in a thread of the turn, which waits."""
        self.check(wish.skill)
        self._count.begun += 1
        try:
            return run_in_loop(self._work, wish, self._bound_turn(wish.skill))
        except concurrent.futures.CancelledError:
            raise Stopped(f"the subagent of skill '{wish.skill.name}' was stopped") from None

    def _bound_turn(self, skill: Skill) -> "Turn":
        if self._turn is None:
            raise Refused(
                f"skill '{skill.name}' can be worked by a subagent only while a message is being answered",
                hint="say it in the conversation, or use Chat.delegate",
                code="no-forks",
            )
        return self._turn

    async def _work(self, wish: ForkWish, turn: "Turn") -> ForkResult:
        asker = ObservedAsker(self._asker, on_behalf_of=wish.granted_by)
        inner = Forks(self._asker, ancestry=(*self._ancestry, wish.skill.id))
        session = await turn.work(lambda: turn.conversation.session.open_fork(wish, asker=asker, forker=inner))
        try:
            return await self._work_in(session, wish, turn, asker, inner)
        finally:
            inner.unbind()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(session.end)  # With all that was handed over to it.

    async def _work_in(
        self, session: Session, wish: ForkWish, turn: "Turn", asker: ObservedAsker, inner: "Forks"
    ) -> ForkResult:
        call = turn.conversation.asker.call
        begun_at = time.monotonic()
        turn.tell(
            ForkBegun(
                call=call,
                fork=session.id,
                skill=wish.skill.id,
                name=wish.skill.name,
                digest=wish.digest,
                permissions=tuple(map(str, wish.permissions)),
                granted_by=wish.granted_by,
                depth=len(self._ancestry) + 1,
            )
        )
        scope = anyio.CancelScope(deadline=anyio.current_time() + turn.conversation.turns.fork_seconds)
        child = self._make_turn(wish, turn, session, asker, scope)
        inner.bind(child, self._count)
        done: Done | None = None
        try:
            with scope:
                done = await child.run(wish.prompt, wish=wish)
        finally:
            done = self._join(turn, child, call, done, seconds=time.monotonic() - begun_at)
        return _conclude(wish, child, done)

    def _make_turn(
        self, wish: ForkWish, turn: "Turn", session: Session, asker: ObservedAsker, scope: anyio.CancelScope
    ) -> "Turn":
        from prowess.agent.turn import Turn

        parent = turn.conversation
        conversation = Conversation(
            session,
            parent.model,
            Transcript(session.count_tokens),
            asker,
            parent.clock,
            instructions=parent.instructions,
            audience=Audience.NOBODY,
        )
        receipt = TurnReceipt(
            os.urandom(16).hex(),
            session.key.user,
            session.key.session,
            parent.model.name,
            agent=session.agent,
            at=parent.clock(),
            parent=turn.receipt.id,
            skill=wish.skill.id,
            name=wish.skill.name,
            digest=wish.digest,
            permissions=tuple(map(str, wish.permissions)),
            granted_by=wish.granted_by,
        )
        stop = StopSign(above=turn.stop, also=lambda: scope.cancel_called)
        child = Turn(conversation, turn.stage.inside(session.id), receipt, stop=stop)
        child.clock = ForkClock(scope, above=turn.clock)
        return child

    def _join(self, turn: "Turn", child: "Turn", call: str, done: Done | None, *, seconds: float) -> Done:
        """Tell how a fork has ended, and count what it has used; one that was ended has told so itself."""
        use = child.receipt.use + child.forked_use
        turn.forked_use += use
        ended = done or Done(text="", outcome=child.receipt.outcome or Outcome.CANCELLED)
        turn.tell(
            ForkEnded(
                call=call,
                fork=child.stage.within,
                outcome=ended.outcome,
                text=ended.text,
                use=use,
                steps=child.receipt.steps,
                seconds=round(seconds, 6),
            )
        )
        return ended


def _conclude(wish: ForkWish, child: "Turn", done: Done) -> ForkResult:
    """Return the answer of a fork that gave one."""
    name = wish.skill.name
    answer = done.text[:_MAX_ANSWER_CHARACTERS]
    if len(done.text) > len(answer):
        answer += f"\n[… {len(done.text) - len(answer):,} more characters of the answer cut …]"
    match done.outcome:
        case Outcome.ANSWERED:
            return ForkResult(answer, child.receipt)
        case Outcome.STOPPED:
            text = f"{answer}\n\n[The subagent was stopped after {done.steps} steps, before it was done.]".lstrip()
            return ForkResult(text, child.receipt)
        case Outcome.CANCELLED:
            seconds = child.conversation.turns.fork_seconds
            raise Refused(
                f"the subagent of skill '{name}' was ended after {seconds:,} seconds",
                hint="ask for less, or set turns.fork_seconds in the settings",
                code="fork-timed-out",
            )
        case Outcome.FAILED:
            why = child.failure.message if child.failure else "it gave no reason"
            raise Refused(f"the subagent of skill '{name}' failed: {why}", hint="go on without it", code="fork-failed")
