"""Forks of the test's own process, which has everything open that the test has."""

import os
import signal
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["do_in_fork", "idle_fork"]


def do_in_fork(deed: Callable[[], object]) -> None:
    """Have a fork do something and end at once; what it complains of fails the test."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            deed()
            status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, it must not go on as a second test run
            traceback.print_exc()
        finally:
            os._exit(status)  # Nothing that is the parent's is closed on the way.
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def idle_fork() -> Generator[None]:
    """Let a fork live meanwhile, which keeps all that the test has open now."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # It must not outlive a test that was killed.
        while True:
            signal.pause()
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
