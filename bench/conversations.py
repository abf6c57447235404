"""The conversations whose turns are measured: ours, at one number of skills, and pydantic-ai's."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.effort import choose
from bench.generate import generate
from bench.instant_model import ANSWER, LOOK_IT_UP, InstantModel, InstantPeer, make_messages, open_peer
from bench.mirrored_database import Mirror, MirroredDatabase
from prowess import Runtime, load_settings
from prowess.agent.agent import Agent
from prowess.agent.chat import Chat
from prowess.state.sql_store import SqlStore

__all__ = ["KINDS", "LATE", "LATE_TURNS", "TEXT", "Ours", "Peer", "Times"]

OLD_TURNS = choose(100, quick=5)
LATE_TURNS = choose(200, quick=10)
RESUMED = 10
"""Conversations that are taken up again, one after the other, so that none grows long by it."""
SETTLING_SECONDS = 2.0
"""Files as young as the disk's clock can tell are never taken as known; and what was copied must reach the disk."""

TEXT = "answered with text"
TOOL = "one tool call, then text"
FIRST = "the first of a conversation"
LATE = f"after {LATE_TURNS} turns"
RELOAD = f"a conversation of {OLD_TURNS} turns read"
RESUME = f"a conversation of {OLD_TURNS} turns read, and a turn"
KINDS = (TEXT, TOOL, LATE, FIRST, RELOAD, RESUME)

Work = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Times:
    """Seconds of one kind of turn, each list in the order of the rounds."""

    whole: list[float] = field(default_factory=list[float])
    commits: list[int] = field(default_factory=list[int])
    committing: list[float] = field(default_factory=list[float])
    """Of the whole: in transactions."""
    floor: list[float] = field(default_factory=list[float])
    """The same transactions on a bare connection."""

    @property
    def own(self) -> list[float]:
        """Without the transactions."""
        return [whole - part for whole, part in zip(self.whole, self.committing, strict=True)]


class Ours:
    """An agent with so many skills, in one runtime that lives as long as the benchmark."""

    def __init__(self, size: int, folder: Path, stack: ExitStack) -> None:
        self.times = {kind: Times() for kind in KINDS}
        self._works: dict[str, Work] = {
            TEXT: lambda: self._say(self._text),
            TOOL: lambda: self._say(self._tool, begin=LOOK_IT_UP),
            LATE: lambda: self._say(self._late),
            FIRST: self._begin,
            RELOAD: self._reload,
            RESUME: self._resume,
        }
        generate(folder / "skills", count=size)
        time.sleep(SETTLING_SECONDS)
        self._database = MirroredDatabase(folder / "home" / "state.db")
        self._mirror = Mirror(folder / "mirror.db")
        stack.callback(self._mirror.close)
        settings = load_settings(environ={"HOME": str(folder), "PROWESS_HOME": str(folder / "home")})
        runtime = Runtime(settings, skills=[folder / "skills"], store=SqlStore(self._database))
        self._agent = Agent(stack.enter_context(runtime), model=InstantModel())
        self._begun = self._resumed = 0
        self._text, self._tool, self._late = self._open(), self._open(), self._open()
        self._messages = {begin: make_messages(begin=begin) for begin in ("", LOOK_IT_UP)}

    async def prepare(self) -> None:
        """Have the long conversations behind us, and everything on the disk."""
        old = [self._agent.chat(f"old {number}") for number in range(RESUMED + 1)]
        for chat, turns in ((self._late, LATE_TURNS), *((chat, OLD_TURNS) for chat in old)):
            for _ in range(turns):
                await self._say(chat)
        self._mirror.replay(self._database.take()[0])
        os.sync()
        await asyncio.sleep(SETTLING_SECONDS)

    async def renew(self) -> None:
        """Begin the short conversations anew."""
        self._text.close()
        self._tool.close()
        self._text, self._tool = self._open(), self._open()
        await self._say(self._text)
        await self._say(self._tool)

    async def take(self, kind: str) -> None:
        """Do one turn and note what it took."""
        self._mirror.replay(self._database.take()[0])
        times = self.times[kind]
        begun = time.perf_counter()
        await self._works[kind]()
        times.whole.append(time.perf_counter() - begun)
        transactions, seconds = self._database.take()
        times.commits.append(len(transactions))
        times.committing.append(seconds)
        times.floor.append(self._mirror.replay(transactions))

    async def _say(self, chat: Chat, *, begin: str = "") -> None:
        answer = await chat.say(next(self._messages[begin]))
        assert answer.text == ANSWER, answer

    def _open(self) -> Chat:
        self._begun += 1
        return self._agent.chat(f"conversation {self._begun}")

    async def _begin(self) -> None:
        chat = self._open()
        await self._say(chat)
        chat.close()

    async def _reload(self) -> None:
        chat = self._agent.chat("old 0")
        assert len(chat.messages()) == 2 * OLD_TURNS
        chat.close()

    async def _resume(self) -> None:
        self._resumed += 1
        chat = self._agent.chat(f"old {self._resumed % RESUMED + 1}")
        await self._say(chat)
        chat.close()


class Peer:
    """The same conversations with pydantic-ai."""

    def __init__(self) -> None:
        self.times = {kind: Times() for kind in KINDS}
        self._agent = open_peer()
        self._text, self._tool, self._late = (InstantPeer(self._agent) for _ in range(3))
        self._old = b""
        self._messages = {begin: make_messages(begin=begin) for begin in ("", LOOK_IT_UP)}
        self._works: dict[str, Work] = {
            TEXT: lambda: self._say(self._text),
            TOOL: lambda: self._say(self._tool, begin=LOOK_IT_UP),
            LATE: lambda: self._say(self._late),
            FIRST: lambda: self._say(InstantPeer(self._agent)),
            RELOAD: self._reload,
            RESUME: self._resume,
        }

    async def prepare(self) -> None:
        for number in range(LATE_TURNS):
            await self._say(self._late)
            if number + 1 == OLD_TURNS:
                self._old = self._late.dump()

    async def renew(self) -> None:
        self._text, self._tool = InstantPeer(self._agent), InstantPeer(self._agent)
        await self._say(self._text)
        await self._say(self._tool)

    async def take(self, kind: str) -> None:
        begun = time.perf_counter()
        await self._works[kind]()
        self.times[kind].whole.append(time.perf_counter() - begun)

    async def _say(self, chat: InstantPeer, *, begin: str = "") -> None:
        assert await chat.say(next(self._messages[begin])) == ANSWER

    async def _reload(self) -> None:
        InstantPeer(self._agent).load(self._old)

    async def _resume(self) -> None:
        chat = InstantPeer(self._agent)
        chat.load(self._old)
        await self._say(chat)
