"""Work in the event loop on behalf of a thread, when the turn may be cancelled at any moment."""

import concurrent.futures
import time
from collections.abc import Callable

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from prowess.agent.from_threads import run_in_loop


def _run(in_thread: Callable[[anyio.CancelScope], None]) -> anyio.CancelScope:
    async def wait() -> anyio.CancelScope:
        with anyio.CancelScope() as scope:
            await anyio.to_thread.run_sync(in_thread, scope)
        return scope

    return anyio.run(wait)


def test_work_is_done_in_the_loop_and_its_result_comes_back() -> None:
    done: list[int] = []

    async def double(number: int) -> int:
        await anyio.lowlevel.checkpoint()
        return 2 * number

    _run(lambda _: done.append(run_in_loop(double, 21)))
    assert done == [42]


def test_work_that_comes_after_the_cancellation_does_not_begin() -> None:
    begun: list[str] = []

    async def work() -> None:
        begun.append("work")
        await anyio.lowlevel.checkpoint()

    def come_late(scope: anyio.CancelScope) -> None:
        anyio.from_thread.run_sync(scope.cancel)
        time.sleep(0.05)  # All that were there have been told.
        with pytest.raises(concurrent.futures.CancelledError):
            run_in_loop(work)

    assert _run(come_late).cancel_called
    assert begun == []


def test_work_is_cancelled_with_its_scope() -> None:
    ended: list[str] = []

    async def work(scope: anyio.CancelScope) -> None:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("work")

    def wait(scope: anyio.CancelScope) -> None:
        with pytest.raises(concurrent.futures.CancelledError):
            run_in_loop(work, scope)

    _run(wait)
    assert ended == ["work"]
