"""Work in the event loop on behalf of a thread of a turn."""

import asyncio
import concurrent.futures
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.from_thread

__all__ = ["run_in_loop"]

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


def run_in_loop(function: Callable[[*_Ts], Awaitable[_T]], *args: *_Ts) -> _T:
    """Have the event loop run a function, and wait for it. What is cancelled already does not begin.

    anyio tells a cancellation to the tasks that are there, and to none that come later: those would wait for it, busily
    and for ever, at their first `await`. Raise `concurrent.futures.CancelledError` if it is cancelled.
    """

    async def begin() -> _T:
        if anyio.current_effective_deadline() == -math.inf:
            raise asyncio.CancelledError
        return await function(*args)

    try:
        return anyio.from_thread.run(begin)
    except asyncio.CancelledError:  # It comes as either, and means the same.
        raise concurrent.futures.CancelledError from None
