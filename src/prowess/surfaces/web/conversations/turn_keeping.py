"""The turns of one conversation: worked here, ended here, or taken over from a process that has died.

A turn is worked by one process, its holder, which gives signs of life in the store. Others show what the log says and
what the holder has written of the unfinished answer, and one of them goes on with it when there are no more signs.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog

from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Begun, Done, Happening, Noticed, SkillLoaded, make_failed
from prowess.agent.log import read_happenings
from prowess.errors import ProwessError, Refused, WorldError
from prowess.state.conversations import Outcome
from prowess.state.live_turns import LiveTurn
from prowess.surfaces.web.scene.scene import Scene

if TYPE_CHECKING:
    from prowess.surfaces.web.conversations.live_conversation import LiveConversation

__all__ = ["TurnKeeper"]

_LOG = structlog.get_logger("prowess.web")


@dataclass(slots=True)
class _Own:
    """A turn that this process works on."""

    live: LiveTurn
    is_stale: bool = False
    """Whether it is only to be brought to an end: nobody waits for its answer any more."""
    task: "asyncio.Task[None] | None" = None
    is_let_go: bool = False
    """Whether another process goes on with it."""
    draft: str = ""
    """What the store has of the unfinished answer."""


@dataclass(slots=True)
class _Sign:
    """A sign of life of a holder elsewhere, and when it was seen by the clock of this process."""

    turn: str = ""
    beats: int = -1
    seen_at: float = field(default_factory=time.monotonic)


class TurnKeeper:
    """Works on the turns of one conversation."""

    def __init__(self, one: "LiveConversation") -> None:
        self._one = one
        self._store = one.runtime.store
        self._clock = one.runtime.clock
        self.own: _Own | None = None
        """The turn that is worked here."""
        self._sign = _Sign()

    # Begun here

    async def say(self, text: str, *, model: ChatModel) -> str:
        """Begin to answer a message; return the turn's id. Whoever hears of it can rely on it: it is in the store."""
        if self.own is not None:
            raise _busy()
        one = self._one
        live = LiveTurn(
            one.key.user,
            one.key.session,
            os.urandom(16).hex(),
            text,
            model.name,
            one.holder.id,
            begun_at=self._clock(),
            beat_at=self._clock(),
        )
        if not await self._claim(live, partial(self._store.claim_turn, live)):
            await one.refresh()
            await self.mind_others()  # What stands in the way may be dead, and nobody else may watch.
            raise _busy()
        if model is not one.chat.model:
            one.chat.use_model(model)
        one.model = model.name
        self._start(one.chat.stream(text, turn_id=live.turn))
        return live.turn

    async def _claim(self, live: LiveTurn, claim: "partial[bool]") -> bool:
        """Make a turn this process's own, and show all that was said before it; say whether it is."""
        one = self._one
        self.own = _Own(live)
        is_own = is_ready = False
        try:
            is_own = await one.work(claim)
            if is_own and one.is_kept:
                read = partial(read_happenings, self._store, user=live.user, session=live.session, after=one.scene.last)
                for happening in await one.work(read):
                    one.show(happening)
            is_ready = is_own
        finally:
            if not is_ready:
                self.own = None
            if is_own and not is_ready:
                await self._end(live)
        return is_ready

    def _start(self, happenings: AsyncGenerator[Happening, None]) -> None:
        own, one = self.own, self._one
        assert own is not None
        one.asker.turn = own.live.turn
        one.live = own.live
        own.task = asyncio.create_task(self._work_on(own, happenings))
        one.bells.ring()

    async def _work_on(self, own: _Own, happenings: AsyncGenerator[Happening, None]) -> None:
        one = self._one
        beating = asyncio.create_task(self._beat(own))
        try:
            async with aclosing(happenings) as stream:
                async for happening in stream:
                    if not own.is_let_go:
                        one.show(happening)
                    if own.is_stale:
                        one.chat.cancel()
                    if isinstance(happening.event, SkillLoaded):
                        await self._show_active()
        except ProwessError as error:
            self._tell_failure(own, error)
        except Exception:  # noqa: BLE001 - a bug of ours must not leave a conversation that is busy for ever
            _LOG.exception("a turn ended in an unforeseen way", conversation=one.id)
            self._tell_failure(own, WorldError("the answer could not be made", code="internal-error"))
        finally:
            beating.cancel()
            await self._finish(own)

    async def _show_active(self) -> None:
        try:
            self._one.active = await self._one.work(self._one.read_active)
        except ProwessError as error:  # No reason to end a turn.
            _LOG.warning("the active skills cannot be read", code=error.code, message=error.message)

    def _tell_failure(self, own: _Own, error: ProwessError) -> None:
        """Show that a turn could not be led, with its message if that was not shown: nothing of it is in the log."""
        if own.is_let_go or error.code == "conversation-moved":
            return
        live = own.live
        begun = () if self._one.scene.turn == live.turn else (Begun(message=live.message, model=live.model),)
        for event in (*begun, make_failed(error), Done(text="", outcome=Outcome.FAILED)):
            self._one.show(Happening(event=event, turn=live.turn, at=self._clock()))

    async def _finish(self, own: _Own) -> None:
        one, live = self._one, own.live
        if not own.is_let_go:
            await self._end(live)
            one.live = None
        self.own = None
        one.bells.ring()  # Even if nothing can be read now.
        await one.refresh_quietly()

    async def _end(self, live: LiveTurn) -> None:
        """Note that nobody works on a turn any more."""
        end = partial(
            self._store.end_turn,
            user=live.user,
            session=live.session,
            turn=live.turn,
            holder=self._one.holder.id,
            at=self._clock(),
        )
        try:
            await self._one.work(end)
        except ProwessError as error:  # Its row stays, and is taken for dead in time.
            _LOG.warning("the end of a turn cannot be noted", code=error.code, message=error.message)

    async def _beat(self, own: _Own) -> None:
        """Give signs of life, with what was heard so far; obey what others wish."""
        one = self._one
        while True:
            await asyncio.sleep(one.holder.beat_seconds)
            draft = one.scene.draft()
            try:
                row = await one.work(partial(self._give_sign, own, draft))
            except ProwessError as error:  # The store may be away for a while.
                _LOG.warning("a sign of life cannot be given", code=error.code, message=error.message)
                continue
            own.draft = draft
            if row is None:  # Another process takes this one for dead, and has gone on; or has deleted all of it.
                own.is_let_go = one.is_recorded = True
                one.scene = Scene()
                await one.work(one.chat.abandon)
                return
            if row.wish == "cancel":
                one.chat.cancel()

    def _give_sign(self, own: _Own, draft: str) -> LiveTurn | None:
        live = own.live
        return self._store.beat_turn(
            user=live.user,
            session=live.session,
            turn=live.turn,
            holder=self._one.holder.id,
            at=self._clock(),
            draft=None if draft == own.draft else draft,
        )

    # Ended here

    async def cancel(self) -> bool:
        """End the turn that is under way, here or elsewhere; say whether there was one."""
        if self.own is not None:
            return self._one.chat.cancel()
        live = self._one.live
        if live is None:
            return False
        wish = partial(self._store.wish_turn, user=live.user, session=live.session, turn=live.turn, wish="cancel")
        return await self._one.work(wish)

    def has_ended(self, turn: str) -> bool:
        """Whether a turn is no longer worked on here, and its row is gone."""
        return self.own is None or self.own.live.turn != turn

    async def settle(self) -> None:
        """Wait until no turn is under way here."""
        if self.own is not None and self.own.task is not None:
            await asyncio.wait([self.own.task])

    async def let_go(self) -> None:
        """Have another process go on with the turn that is under way here."""
        own, one = self.own, self._one
        if own is None or own.task is None:
            return
        own.is_let_go = True
        live = own.live
        release = partial(
            self._store.release_turn,
            user=live.user,
            session=live.session,
            turn=live.turn,
            holder=one.holder.id,
        )
        try:
            await one.work(one.chat.abandon)
            await one.work(release)
        except ProwessError as error:
            _LOG.warning("a turn cannot be let go", code=error.code, message=error.message)
        await asyncio.wait([own.task])

    # Taken over

    async def mind_others(self) -> None:
        """Go on with a turn whose holder gives no more signs of life."""
        live = self._one.live
        if live is None or self.own is not None:
            return
        if (live.turn, live.beats) != (self._sign.turn, self._sign.beats):
            self._sign = _Sign(live.turn, live.beats)
        if live.holder and time.monotonic() - self._sign.seen_at < self._one.holder.limits.silence_seconds:
            return
        await self._take_over(live)

    async def _take_over(self, live: LiveTurn) -> None:
        one = self._one
        is_stale = self._clock() - live.beat_at > one.holder.limits.stale_seconds
        mine = replace(live, holder=one.holder.id)
        take = partial(
            self._store.take_turn,
            user=live.user,
            session=live.session,
            turn=live.turn,
            beats=live.beats,
            holder=one.holder.id,
        )
        if not await self._claim(mine, take) or self.own is None:
            return
        _LOG.info("a turn is taken over", conversation=one.id, turn=live.turn, stale=is_stale)
        self.own.is_stale = is_stale
        self._choose_model(live)
        self._start(one.chat.resume(live.turn, live.message, by=one.holder.id))

    def _choose_model(self, live: LiveTurn) -> None:
        """Have the model go on that the message was sent to, if this process can use it."""
        one = self._one
        try:
            model = one.holder.open_model(live.model)
        except ProwessError as error:
            said = f"{live.model} cannot be used here, so {one.chat.model.name} goes on: {error.message}"
            one.show(Happening(event=Noticed(text=said), turn=live.turn, at=self._clock()))
            return
        if model is not one.chat.model:
            one.chat.use_model(model)
        one.model = model.name


def _busy() -> Refused:
    return Refused(
        "this conversation is busy with another message", hint="wait for its answer, or stop it", code="chat-busy"
    )
