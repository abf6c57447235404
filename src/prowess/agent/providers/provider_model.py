"""A model of any provider, asked over the network: piece by piece, and again when it fails."""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from prowess.agent.chat_model import ModelRequest, Piece, RetryPiece
from prowess.agent.providers.bounding import USUAL_BOUNDS, AnswerBounds
from prowess.agent.providers.usability import check_model

if TYPE_CHECKING:
    from prowess.agent.providers.building import BuiltModel

__all__ = ["ProviderModel"]


class ProviderModel:
    """A chat model that is reached through pydantic-ai, which is loaded when it is first needed.

    It may be used in several event loops; in each it has connections of its own, which `close` gives back there.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str = "",
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        draw: Callable[[], float] = random.random,
        bounds: AnswerBounds = USUAL_BOUNDS,
    ) -> None:
        """Raise `SettingsError` if the provider is not known, or its library or its key is missing here.

        `sleep` waits between attempts, for a time that `draw`, a number from 0 to 1, has a part in. An answer beyond
        `bounds` is a failure, and not asked for again.
        """
        self._usable = check_model(name, url=url)
        self._sleep = sleep
        self._draw = draw
        self._bounds = bounds
        self._here: RunVar[BuiltModel | None] = RunVar(name, None)

    @property
    def name(self) -> str:
        """As in the settings."""
        return self._usable.name

    @property
    def summarises(self) -> bool:
        """Whether it can sum up a conversation: they all can."""
        return True

    @property
    def calls_tools(self) -> bool:
        """Whether it can call tools, as far as the library knows."""
        return self._described.calls_tools

    @property
    def context_window(self) -> int | None:
        """How many tokens it takes, if the library knows."""
        return self._described.context_window

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Return the answer piece by piece. A provider that fails is asked again where that may help."""
        built = await self._open()
        from prowess.agent.providers.answering import Asking
        from prowess.agent.providers.failing import decide_wait, describe_failure

        asking = Asking(built, request, bounds=self._bounds)
        attempt = 1
        while True:
            heard = False
            try:
                async with aclosing(asking.stream()) as pieces:
                    async for piece in pieces:
                        heard = True
                        yield piece
            except Exception as error:  # A foreign library: whatever it raises is told as it is meant.
                failing = describe_failure(
                    error, model=self._usable, heard=heard, timeout_seconds=request.timeout_seconds
                )
                if not failing.may_ask_again or attempt >= request.attempts:
                    raise failing.as_error(attempt) from error
            else:
                return
            seconds = decide_wait(failing, attempt=attempt, draw=self._draw)
            attempt += 1
            yield RetryPiece(failing.message, attempt, seconds)
            await self._sleep(seconds)

    async def close(self) -> None:
        """Give back the connections of this event loop. The model can be used again afterwards."""
        built = self._here.get()
        self._here.set(None)
        if built is not None:
            await built.model.__aexit__(None, None, None)

    async def _open(self) -> "BuiltModel":
        built = self._here.get()
        if built is None:
            # In a thread, since the library takes a second to load and others are waiting for this loop.
            made = await anyio.to_thread.run_sync(self._build, abandon_on_cancel=True)
            built = self._here.get()
            if built is None:
                self._here.set(built := made)
                await built.model.__aenter__()
        return built

    @cached_property
    def _described(self) -> "BuiltModel":
        """By this one, questions about the model are answered; it never asks anybody."""
        return self._build()

    def _build(self) -> "BuiltModel":
        from prowess.agent.providers.building import build_model

        return build_model(self._usable)
