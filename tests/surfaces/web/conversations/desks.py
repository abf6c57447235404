"""Desks over one store, which stand for the processes that share it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Happening
from prowess.agent.log import read_happenings
from prowess.errors import SettingsError
from prowess.runtime import Runtime
from prowess.state.live_turns import OpenQuestion
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.conversations.desk import Desk
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from prowess.surfaces.web.scene.environment import make_environment
from prowess.surfaces.web.scene.rendering import BlockRenderer

__all__ = ["at_desk", "log_of", "question_in", "shown", "until", "watched"]


@asynccontextmanager
async def at_desk(runtime: Runtime, *models: ChatModel, options: HttpOptions | None = None) -> AsyncGenerator[Desk]:
    """Return an open desk whose models are these, by name; the first answers unless another is named."""
    known = {model.name: model for model in models}

    def open_model(name: str) -> ChatModel:
        if name not in known:
            raise SettingsError(f"no model '{name}'", code="bad-model")
        return known[name]

    desk = Desk(runtime, options or HttpOptions(model=models[0].name), open_model=open_model)
    await desk.open()
    try:
        yield desk
    finally:
        await desk.close()


@asynccontextmanager
async def watched(desk: Desk, chat_id: str = "chat") -> AsyncGenerator[LiveConversation]:
    """Return a conversation that somebody watches."""
    one = await desk.conversation(chat_id)
    async with AsyncExitStack() as stack:
        stack.enter_context(one.bells.hung(asyncio.Event()))
        yield one


async def until(condition: Callable[[], bool], *, seconds: float = 20.0) -> None:
    """Wait until something is so, whatever makes it so."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - other processes ring no bell here
            await asyncio.sleep(0.02)


async def question_in(one: LiveConversation, *, seconds: float = 20.0) -> OpenQuestion:
    """Wait for the question that a turn asks."""
    async with asyncio.timeout(seconds):
        while not (questions := await one.open_questions()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    (question,) = questions
    return question


def log_of(one: LiveConversation) -> list[Happening]:
    """Return what stands in the log of a conversation."""
    return list(read_happenings(one.runtime.store, user=one.key.user, session=one.key.session))


def shown(one: LiveConversation) -> str:
    """Return the HTML that a page shows of a conversation."""
    renderer = BlockRenderer(make_environment())
    return "\n".join(renderer.html(patch.block) for patch in one.scene.patches("").patches if patch.block)
