"""One conversation as this process holds it: what is shown of it, and who watches."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio.to_thread
import msgspec
import structlog

from prowess.activation.receipts import Receipt
from prowess.agent.agent import Agent
from prowess.agent.chat import Chat
from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Begun, ConsentAsked, Happening
from prowess.agent.log import read_happenings
from prowess.agent.model_choice import open_model
from prowess.agent.stage import Watcher
from prowess.errors import ProwessError
from prowess.policy import SessionMemory
from prowess.runtime import Runtime
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.skill import Skill
from prowess.state.conversations import ConversationRecord
from prowess.state.live_turns import LiveTurn, OpenQuestion
from prowess.state.titles import make_title
from prowess.surfaces.http.options import HttpLimits
from prowess.surfaces.web.conversations.feeds import Feeds
from prowess.surfaces.web.conversations.listening import Bells
from prowess.surfaces.web.conversations.turn_keeping import TurnKeeper
from prowess.surfaces.web.conversations.web_asker import WebAsker
from prowess.surfaces.web.scene.scene import Scene

__all__ = ["ActiveSkill", "Holder", "LiveConversation"]

_LOG = structlog.get_logger("prowess.web")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Holder:
    """What all conversations of a process have in common."""

    runtime: Runtime
    id: str
    """Of this process, among those that share a store."""
    limits: HttpLimits
    agent: str = ""
    watchers: tuple[Watcher, ...] = ()
    """Told all that happens."""
    open_model: Callable[[str], ChatModel] = open_model
    """How a name becomes a model."""

    @property
    def beat_seconds(self) -> float:
        """How often a sign of life is given: more often where other processes show the unfinished answer too."""
        is_shared = self.runtime.settings.database.startswith(("postgres://", "postgresql://"))
        return self.limits.beat_seconds / 3 if is_shared else self.limits.beat_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSkill:
    """A skill that is on in a conversation."""

    name: str
    id: str
    key: str
    digest: str
    description: str
    asked_by: str
    tokens: int

    @classmethod
    def of(cls, receipt: Receipt, skill: Skill | None) -> "ActiveSkill":
        """Return what a page shows of an activation; of a skill that is hidden meanwhile, its name alone."""
        return cls(
            name=receipt.name,
            id=receipt.skill,
            key=make_activation_key(receipt.skill),
            digest=receipt.digest,
            description=skill.description if skill else "",
            asked_by=receipt.asked_by.value,
            tokens=receipt.tokens,
        )


@dataclass(frozen=True, slots=True)
class _News:
    """What the store says of a conversation."""

    record: ConversationRecord | None
    scene: Scene | None
    """What was shown when it was read; None if this process worked on a turn, and the log lags behind the scene."""
    last: int
    happenings: Sequence[Happening]
    live: LiveTurn | None
    questions: tuple[OpenQuestion, ...]
    """Those that wait, and those that were asked in these events."""
    active: tuple[ActiveSkill, ...]


class LiveConversation:
    """One conversation. All of it happens in one event loop; what blocks is done in threads."""

    def __init__(self, holder: Holder, chat_id: str, model: ChatModel, *, loop: asyncio.AbstractEventLoop) -> None:
        """Blocks, as long as the runtime is busy; `loop` is where all else happens."""
        self.holder = holder
        self.id = chat_id
        self.runtime = holder.runtime
        self.bells = Bells()
        self.feeds = Feeds()
        self._loop = loop
        self.asker = WebAsker(
            self.runtime, patience_seconds=holder.limits.question_seconds, tell=self._refresh_from_thread
        )
        agent = Agent(self.runtime, model=model, agent=holder.agent, asker=self.asker, watchers=holder.watchers)
        self.chat: Chat = agent.chat(chat_id)
        self.key = self.asker.key = self.chat.session.key
        self.title = ""
        """What people call it, or else what its first message says."""
        self._first_words = ""
        self.model = model.name
        """The model that answered last, or will."""
        self.scene = Scene()
        self.live: LiveTurn | None = None
        """The turn that some process works on, as the store last said."""
        self.is_recorded = False
        """Whether the store is known to have held it."""
        self.is_gone = False
        """Whether it was deleted, so that those who watch must open it anew."""
        self.active: tuple[ActiveSkill, ...] = ()
        self.used_at = time.monotonic()
        """When somebody last had it open."""
        self.begun_at = self.said_at = self.runtime.clock()
        """When it was opened here, and when something last happened in it."""
        self.turns = TurnKeeper(self)
        self._reading = asyncio.Lock()
        self._refreshing: set[asyncio.Task[None]] = set()
        """Held, since the loop holds its tasks weakly."""

    @property
    def is_kept(self) -> bool:
        """Whether the conversation outlives this process."""
        return self.runtime.policy.sessions is SessionMemory.CHAT

    @property
    def is_busy(self) -> bool:
        """Whether a message is being answered, here or elsewhere."""
        return self.is_own or self.live is not None

    @property
    def is_own(self) -> bool:
        """Whether this process works on a turn of it."""
        return self.turns.own is not None

    def is_written(self, number: int) -> bool:
        """Whether an event that is shown is in the log, where nothing changes it any more."""
        return not self.is_own or number <= self.chat.written

    @property
    def is_idle(self) -> bool:
        """Whether nobody would miss it here."""
        return (self.is_kept or not self.title) and self.is_alone

    @property
    def is_alone(self) -> bool:
        """Whether nobody watches it and nothing is done in it here."""
        return not (len(self.bells) or self.is_own)

    async def work(self, function: Callable[[], _T]) -> _T:
        """Do what blocks in a thread."""
        return await anyio.to_thread.run_sync(function)

    # What is shown

    def show(self, happening: Happening) -> None:
        """Show what has happened to all who watch."""
        if not self._first_words and isinstance(happening.event, Begun):
            self._first_words = make_title(happening.event.message)
            self.title = self.title or self._first_words
        self.said_at = max(self.said_at, happening.at)
        self.scene.take(happening)
        self.feeds.give(happening)
        self.bells.ring()

    async def refresh(self) -> None:
        """Read what happened elsewhere: events, the unfinished answer, questions that wait."""
        async with self._reading:
            self.used_at = time.monotonic()
            self._take(await self.work(self._read))
        self.bells.ring()

    async def refresh_quietly(self) -> None:
        """Do so, and if it cannot be done, leave it to the next time."""
        try:
            await self.refresh()
        except ProwessError as error:
            _LOG.warning("a conversation cannot be read", code=error.code, message=error.message)

    def _refresh_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._begin_refresh)

    def _begin_refresh(self) -> None:
        task = self._loop.create_task(self.refresh_quietly())
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)

    def _read(self) -> _News:
        store, key, scene = self.runtime.store, self.key, self.scene
        last, happenings = scene.last, ()
        is_read = self.is_kept and not self.is_own
        if is_read:
            last = store.last_event(user=key.user, session=key.session)
            after = scene.last if scene.last <= last else 0  # Else it was forgotten, and perhaps begun again.
            happenings = read_happenings(store, user=key.user, session=key.session, after=after)
        asked = [one.event.question for one in happenings if isinstance(one.event, ConsentAsked)]
        found = [store.find_question(user=key.user, session=key.session, question=question) for question in asked]
        waiting = store.open_questions(user=key.user, session=key.session)
        return _News(
            store.find_conversation(user=key.user, session=key.session) if self.is_kept else None,
            None if self.is_own else scene,
            last,
            happenings,
            store.live_turn(user=key.user, session=key.session),
            (*waiting, *(question for question in found if question)),
            self.read_active(),
        )

    def read_active(self) -> tuple[ActiveSkill, ...]:
        """Return the skills that are on. Blocks."""
        session = self.chat.session
        view = session.view()
        return tuple(ActiveSkill.of(receipt, view.find(receipt.skill)) for receipt in session.active())

    def _take(self, news: _News) -> None:
        self.active = news.active
        if news.record is not None:
            self.is_recorded = True
            self.title, self.model = news.record.title, news.record.model
        elif self.is_kept and self.is_recorded and not self.is_own:  # It was deleted elsewhere.
            self.leave_for_good()
            return
        if news.scene is self.scene and not self.is_own:
            if news.last < self.scene.last:
                self.scene = Scene()
            for happening in news.happenings:
                self.show(happening)
            self.live = news.live
            if news.live is not None:
                self.scene.take_draft(news.live.turn, news.live.draft)
        for question in news.questions:
            self.scene.set_question(question.id, msgspec.json.decode(question.record))

    # What people decide

    def rename(self, title: str) -> bool:
        """Call one that is not kept so, as the store would; say whether anything was said in it."""
        if self._first_words:
            self.title = make_title(title) or self._first_words
        return bool(self._first_words)

    async def open_questions(self) -> tuple[OpenQuestion, ...]:
        """Return the questions that wait for an answer."""
        return await self.work(partial(self.runtime.store.open_questions, user=self.key.user, session=self.key.session))

    async def answer(self, question: str, answer: str) -> tuple[OpenQuestion | None, bool]:
        """Take the answer to a question. Return the question as it is then, and whether this answer counts.

        Only the first does.
        """
        answered_by = os.urandom(8).hex()
        settled = await self.work(
            partial(
                self.runtime.store.answer_question,
                user=self.key.user,
                session=self.key.session,
                question=question,
                answer=answer,
                answered_by=answered_by,
                at=self.runtime.clock(),
            )
        )
        is_mine = settled is not None and settled.answered_by == answered_by
        if is_mine:
            self.asker.look()
        return settled, is_mine

    async def deactivate(self, name: str) -> Receipt | None:
        """Switch a skill off in it."""
        receipt = await self.work(partial(self.chat.session.deactivate, name))
        await self.refresh()
        return receipt

    def leave_for_good(self) -> None:
        """Have all who watch know that it was deleted."""
        self.is_gone = True
        self.bells.ring()

    def close(self) -> None:
        """Leave it; one that is kept can be opened again. Blocks."""
        if self.is_kept:
            self.chat.close()
