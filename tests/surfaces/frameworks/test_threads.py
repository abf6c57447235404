"""Work in threads, as frameworks have it done."""

import threading

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from prowess.errors import NotFound
from prowess.execution.stopping import Stopped, check_stopped
from prowess.surfaces.frameworks.threads import run_in_thread

pytestmark = pytest.mark.slow


def test_value_comes_back() -> None:
    async def lead() -> tuple[int, bool]:
        here = threading.get_ident()
        return await run_in_thread(lambda: 5), await run_in_thread(lambda: threading.get_ident() != here)

    assert anyio.run(lead) == (5, True)


def test_error_comes_back() -> None:
    def fail() -> None:
        raise NotFound("no such thing")

    with pytest.raises(NotFound, match="no such thing"):
        anyio.run(run_in_thread, fail)


def test_work_is_told_to_stop_and_is_waited_for() -> None:
    begun, seen = threading.Event(), list[str]()

    def work() -> None:
        begun.set()
        pause = threading.Event()
        try:
            while not pause.wait(0.01):
                check_stopped()
        except Stopped:
            seen.append("stopped")
            raise

    async def lead() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run_in_thread, work)
            await anyio.to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()
        assert seen == ["stopped"]

    anyio.run(lead)


def test_work_that_nobody_wants_any_more_does_not_begin() -> None:
    done = list[str]()

    async def lead() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run_in_thread(lambda: done.append("done"))
        await anyio.sleep(0.05)

    anyio.run(lead)
    assert done == []


def test_many_people_who_are_asked_keep_nobody_else_waiting() -> None:
    answered = threading.Event()

    async def lead() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(run_in_thread, answered.wait)
            await anyio.lowlevel.checkpoint()
            assert await run_in_thread(lambda: "at once") == "at once"
            answered.set()

    anyio.run(lead)
