"""The Desk: the conversations that are open in this process, and a watch on all that changes elsewhere."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import anyio.to_thread
import structlog

from prowess.agent.chat_model import ChatModel
from prowess.agent.model_choice import open_model as choose_model
from prowess.agent.providers.usability import OFFLINE
from prowess.agent.stage import Watcher
from prowess.errors import ProwessError, Refused, SettingsError, ToolInputError, WorldError
from prowess.policy import SessionMemory
from prowess.runtime import Runtime
from prowess.state.conversations import ConversationRecord
from prowess.state.live_turns import LiveTurn
from prowess.state.titles import lower_ascii, make_title
from prowess.surfaces.chat_ids import is_chat_id, make_chat_id
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.conversations.listening import Bells
from prowess.surfaces.web.conversations.live_conversation import Holder, LiveConversation

__all__ = ["LISTED", "MAX_LISTED", "Desk", "Revisions"]

_LOG = structlog.get_logger("prowess.web")
_LOOK_SECONDS = 0.15
_IDLE_LOOK_SECONDS = 1.0
"""While nobody watches."""
_CATALOG_SECONDS = 0.5
_KEEP_SECONDS = 600.0
"""A conversation that nobody watches is left after so long."""
LISTED = 200
"""Conversations that are listed unless somebody wants more; the search finds the others."""
MAX_LISTED = 1_000
_MAX_OPEN = 500
_MAX_MODELS = 20


@dataclass(frozen=True, slots=True)
class Revisions:
    """Numbers that change when the pages should look again."""

    catalog: int = 0
    conversations: int = 0
    decisions: int = 0


class Desk:
    """Opens conversations, and knows what is new in them. All of it happens in one event loop."""

    def __init__(
        self,
        runtime: Runtime,
        options: HttpOptions,
        *,
        watchers: Sequence[Watcher] = (),
        open_model: Callable[[str], ChatModel] | None = None,
    ) -> None:
        self.runtime = runtime
        self._open_model = open_model or partial(choose_model, url=runtime.settings.model_url)
        self._options = options
        self._holder = Holder(
            runtime,
            os.urandom(8).hex(),
            agent=options.agent,
            limits=options.limits,
            watchers=tuple(watchers),
            open_model=self.model,
        )
        self._open: dict[str, LiveConversation] = {}
        self._opening = asyncio.Lock()
        self._models: dict[str, ChatModel] = {}
        self._closing: set[asyncio.Task[None]] = set()
        """Models that are being given up."""
        self.bells = Bells()
        """Of those who want to hear of `revisions`."""
        self.revisions = Revisions()
        self.closing = asyncio.Event()
        """Set when the streams are to end."""
        self._watching: asyncio.Task[None] | None = None
        self._changes = -1
        """What the store said when it was last asked."""
        self._seen = (-1, -1)
        """The generation of the catalog and the version of decisions."""
        self._listed: object = None
        self._catalog_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether it takes conversations on."""
        return self._watching is not None and not self.closing.is_set()

    @property
    def keeps(self) -> bool:
        """Whether conversations outlive the server."""
        return self.runtime.policy.sessions is SessionMemory.CHAT

    async def open(self) -> None:
        """Begin to watch."""
        with suppress(ProwessError):  # Else the first page would be told that the list which it has just got is new.
            self._listed = await anyio.to_thread.run_sync(self._read_conversations)
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """End the streams, let go of the turns that are under way, and leave all conversations."""
        self.closing.set()
        self.ring_all()
        await asyncio.gather(*(one.turns.let_go() for one in self._open.values()))
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for one in self._open.values():
            await anyio.to_thread.run_sync(one.close)
        for model in self._models.values():
            await model.close()

    def ring_all(self) -> None:
        """Have everybody look again."""
        self.bells.ring()
        for one in self._open.values():
            one.bells.ring()

    # Conversations

    async def conversation(self, chat_id: str) -> LiveConversation:
        """Return the conversation of this id, new or old, with all that happened in it."""
        if self.closing.is_set():
            raise WorldError("the server is being stopped", hint="try again in a moment", code="stopping")
        if not is_chat_id(chat_id):
            hint = "it is a line of at most 200 characters, without blanks around it"
            raise ToolInputError("that cannot be the id of a conversation", hint=hint, code="bad-conversation")
        found = await self._find(chat_id)
        if not found.is_own:
            await found.refresh()
        return await self._find(chat_id) if found.is_gone else found

    async def _find(self, chat_id: str) -> LiveConversation:
        """Return a conversation that is open, or open it; one that was deleted begins anew."""
        found = self._find_open(chat_id)
        if found is None:
            async with self._opening:  # One after the other: nobody opens what another just has.
                found = self._find_open(chat_id) or await self._begin(chat_id)
        return found

    def _find_open(self, chat_id: str) -> LiveConversation | None:
        found = self._open.get(chat_id)
        return None if found is None or found.is_gone else found

    async def _begin(self, chat_id: str) -> LiveConversation:
        await self._make_room()
        make = partial(LiveConversation, self._holder, chat_id, self._first_model(), loop=asyncio.get_running_loop())
        found = await anyio.to_thread.run_sync(make)
        self._open[chat_id] = found
        return found

    async def _make_room(self) -> None:
        """Leave the conversation that nobody has watched for longest, if there are too many.

        Those that would be missed come last: what is not kept is forgotten with it.
        """
        if len(self._open) < _MAX_OPEN:
            return
        spare = [one for one in self._open.values() if one.is_idle or (one.is_alone and not one.is_busy)]
        if not spare:
            raise Refused(
                f"{_MAX_OPEN} conversations are open here", hint="try again later", code="too-many-conversations"
            )
        chosen = min(spare, key=lambda one: (not one.is_idle, one.used_at))
        if chosen.is_idle:
            await self._leave(chosen)
        else:
            await self.forget(chosen.id)

    async def _leave(self, one: LiveConversation) -> None:
        if self._open.get(one.id) is one:
            del self._open[one.id]
        await anyio.to_thread.run_sync(one.close)

    def new_id(self) -> str:
        """Return an id for a new conversation."""
        return make_chat_id(self.runtime.clock())

    async def say(self, one: LiveConversation, text: str, *, model: str) -> str:
        """Have a message answered by the model of this name; return the turn's id."""
        under_way = sum(other.is_own for other in self._open.values())
        if under_way >= self._options.limits.turns:
            raise Refused(
                f"{under_way} messages are being answered at once",
                hint="wait until one of them is",
                code="too-many-turns",
            )
        turn = await one.turns.say(text, model=self.model(model))
        self._revise(conversations=1)
        return turn

    def listed(self, query: str = "", *, limit: int = LISTED) -> list[tuple[ConversationRecord, bool]]:
        """Return so many conversations, the one used last first, each with whether it is busy. Blocks."""
        user = self.runtime.settings.place.user
        if not self.keeps:
            here = [one for one in list(self._open.values()) if one.title and query.casefold() in one.title.casefold()]
            return [
                (ConversationRecord(user, one.id, one.title, "", one.begun_at, one.said_at), one.is_busy)
                for one in sorted(here, key=lambda one: one.said_at, reverse=True)[:limit]
            ]
        runtime, is_search = self.runtime, bool(query.strip())
        live = {one.session: one for one in runtime.store.live_turns(user=user)}
        found = runtime.search_conversations(query, limit=limit) if is_search else runtime.conversations(limit=limit)
        known = [(one, one.id in live) for one in found]
        return [*self._list_first_turns(live, {one.id for one in found}, query.strip()), *known][:limit]

    def _list_first_turns(
        self, live: Mapping[str, LiveTurn], listed: Set[str], query: str
    ) -> Iterator[tuple[ConversationRecord, bool]]:
        """Yield the conversations whose first message was taken, but is not in their log yet."""
        for one in live.values():
            title = make_title(one.message)
            if one.session in listed or lower_ascii(query) not in lower_ascii(title):
                continue
            if self.runtime.store.find_conversation(user=one.user, session=one.session) is None:
                yield ConversationRecord(one.user, one.session, title, one.model, one.begun_at, one.begun_at), True

    async def forget(self, chat_id: str) -> bool:
        """Delete a conversation, and end what is under way in it."""
        one = self._open.get(chat_id)
        if one is not None:
            await one.turns.cancel()
            await one.turns.settle()
        known = await anyio.to_thread.run_sync(self.runtime.forget_conversation, chat_id)
        if one is not None:
            if self._open.get(chat_id) is one:  # Else it was begun anew meanwhile.
                del self._open[chat_id]
            one.leave_for_good()
        self._revise(conversations=1)
        return known or one is not None

    async def rename(self, chat_id: str, title: str) -> bool:
        """Give a conversation a title."""
        if self.keeps:
            known = await anyio.to_thread.run_sync(self.runtime.name_conversation, chat_id, title)
        else:
            one = self._find_open(chat_id)
            known = one is not None and one.rename(title)
        self._revise(conversations=1)
        return known

    # Models

    @property
    def default_model(self) -> str:
        """The name of the model that answers unless another is named."""
        return self._options.model or self.runtime.settings.model

    def _first_model(self) -> ChatModel:
        """Return a model to open a conversation with, so that it can be read even if the usual one has no key."""
        try:
            return self.model("")
        except SettingsError:
            return self.model(OFFLINE)

    def model(self, name: str) -> ChatModel:
        """Return the model of this name, or without one the usual; raise if it cannot be used."""
        chosen = name.strip() or self.default_model
        found = self._models.pop(chosen, None) or self._open_model(chosen)
        self._models[chosen] = found  # The one that was used last is the last.
        self._drop_models()
        return found

    def _drop_models(self) -> None:
        """Give up the models that were used longest ago and that no conversation has, if there are too many."""
        used = {one.model for one in self._open.values()} | {one.chat.model.name for one in self._open.values()}
        spare = [name for name in self._models if name not in used][:-1]
        for name in spare[: max(0, len(self._models) - _MAX_MODELS)]:
            self._closing.add(asyncio.create_task(self._models.pop(name).close()))
        self._closing = {task for task in self._closing if not task.done()}

    # What changes elsewhere

    def _revise(self, *, catalog: int = 0, conversations: int = 0, decisions: int = 0) -> None:
        now = self.revisions
        self.revisions = Revisions(now.catalog + catalog, now.conversations + conversations, now.decisions + decisions)
        self.ring_all()

    async def _watch(self) -> None:
        while True:
            is_watched = len(self.bells) or any(len(one.bells) or one.is_busy for one in self._open.values())
            await asyncio.sleep(_LOOK_SECONDS if is_watched else _IDLE_LOOK_SECONDS)
            try:
                await self._look()
            except ProwessError as error:
                _LOG.warning("what has changed cannot be read", code=error.code, message=error.message)
                await asyncio.sleep(_IDLE_LOOK_SECONDS)
            except Exception:  # noqa: BLE001 - whatever it is, the pages must go on hearing of what changes
                _LOG.exception("a look at what has changed failed")
                await asyncio.sleep(_IDLE_LOOK_SECONDS)

    async def _look(self) -> None:
        if time.monotonic() - self._catalog_at > _CATALOG_SECONDS:
            self._catalog_at = time.monotonic()
            await self._look_at_catalog()
            await self._leave_idle()
        changes = await anyio.to_thread.run_sync(self.runtime.store.changes)
        if changes != self._changes:
            await self._refresh_watched()
            self._changes = changes
        for one in list(self._open.values()):
            if not one.is_alone:
                one.used_at = time.monotonic()
            try:
                await one.turns.mind_others()
            except ProwessError as error:  # One conversation must not keep others waiting.
                _LOG.warning("a turn cannot be minded", conversation=one.id, code=error.code, message=error.message)

    async def _refresh_watched(self) -> None:
        for one in list(self._open.values()):
            if (len(one.bells) or one.live) and not one.is_own:
                await one.refresh_quietly()
                if one.is_gone:
                    await self._leave(one)
        if len(self.bells):
            listed = await anyio.to_thread.run_sync(self._read_conversations)
            if listed != self._listed:
                self._listed = listed
                self._revise(conversations=1)

    def _read_conversations(self) -> object:
        return [(one.id, one.title, one.turns, busy) for one, busy in self.listed(limit=100)]

    async def _look_at_catalog(self) -> None:
        if not len(self.bells):
            return
        before = self._seen
        self._seen = catalog, decisions = await anyio.to_thread.run_sync(
            lambda: (self.runtime.catalog().generation, self.runtime.store.version())
        )
        if before != self._seen:
            self._revise(catalog=int(before[0] != catalog), decisions=int(before[1] != decisions))

    async def _leave_idle(self) -> None:
        for one in list(self._open.values()):
            if one.is_idle and time.monotonic() - one.used_at > _KEEP_SECONDS:
                await self._leave(one)
