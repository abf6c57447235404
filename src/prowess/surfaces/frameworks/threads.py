"""Do what blocks in a thread, and end it when nobody waits for it any more."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from prowess.execution.stopping import Stopped, StopSign, stoppable

__all__ = ["run_in_thread"]

_T = TypeVar("_T")
_GRACE_SECONDS = 10.0
"""How long a thread that is to stop is waited for: scripts end at once, a person who is asked may not."""


async def run_in_thread(function: Callable[[], _T]) -> _T:
    """Return what the function returns. If the caller is cancelled, its script ends, and is waited for."""
    stop = StopSign()
    ended = Future[None]()

    def work() -> _T:
        if not ended.set_running_or_notify_cancel():
            raise Stopped("it was stopped before it began", hint="nothing was done")
        try:
            with stoppable(stop):
                return function()
        finally:
            ended.set_result(None)

    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_one())
    except anyio.get_cancelled_exc_class():
        stop.raise_()
        if not ended.cancel():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(wait, [ended], _GRACE_SECONDS), limiter=_one())
        raise


def _one() -> anyio.CapacityLimiter:
    """Return a place of its own: whoever waits for a person keeps nobody else waiting."""
    return anyio.CapacityLimiter(1)
