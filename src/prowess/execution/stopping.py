"""Stop what is under way: whoever waits for a call in another thread can end the script that it runs."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from prowess.errors import Refused

__all__ = ["StopSign", "Stopped", "also_stoppable", "check_stopped", "stoppable"]


class Stopped(Refused):
    """What was under way is not wanted any more."""

    default_code = "stopped"


class StopSign:
    """Says whether to stop: when it was raised, when something else says so, or the sign above it."""

    def __init__(self, *, above: "StopSign | None" = None, also: Callable[[], bool] = lambda: False) -> None:
        self._above = above
        self._also = also
        self._is_raised = False

    def raise_(self) -> None:
        """Have everything stop that goes by it."""
        self._is_raised = True

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._is_raised or self._also() or (self._above is not None and self._above())


_is_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("is_stopped", default=None)


@contextmanager
def stoppable(is_stopped: Callable[[], bool]) -> Generator[None]:
    """End what is run in the block, in this thread, soon after `is_stopped` says so: it raises `Stopped`.

    The question is asked many times a second, by any thread, and must be cheap.
    """
    token = _is_stopped.set(is_stopped)
    try:
        yield
    finally:
        _is_stopped.reset(token)


@contextmanager
def also_stoppable(is_stopped: Callable[[], bool]) -> Generator[None]:
    """End what is run in the block when `is_stopped` says so too, or what ends it anyway."""
    around = _is_stopped.get()
    with stoppable(is_stopped if around is None else lambda: is_stopped() or around()):
        yield


def check_stopped() -> None:
    """Raise `Stopped` if what this thread does is not wanted any more."""
    is_stopped = _is_stopped.get()
    if is_stopped is not None and is_stopped():
        raise Stopped("it was stopped", hint="nothing more is done")
