"""Ctrl-C in a conversation. In a turn the first cancels it, and another one later leaves if that does not help.

While a line is typed it is for the line, and in between for nobody: a conversation is not left by a key too many.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

__all__ = ["Interrupts", "heed_interrupts", "ignore_interrupts", "raise_interrupts"]

_PATIENCE_SECONDS = 1.0
"""A second Ctrl-C that comes sooner is the same wish once more."""
_STATUS = 130


@dataclass(slots=True)
class Interrupts:
    """Whether somebody wanted the turn to end."""

    first_at: float | None = None

    @property
    def happened(self) -> bool:
        return self.first_at is not None


@contextmanager
def heed_interrupts(cancel: Callable[[], object]) -> Generator[Interrupts]:
    """Call `cancel` on the event loop at the first Ctrl-C in the block. Entered by whoever runs in the loop."""
    interrupts = Interrupts()
    loop = asyncio.get_running_loop()

    def hear(_signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if interrupts.first_at is None:
            interrupts.first_at = now
            loop.call_soon_threadsafe(cancel)
        elif now - interrupts.first_at > _PATIENCE_SECONDS:
            _leave()

    with _handling(hear):
        yield interrupts


@contextmanager
def ignore_interrupts() -> Generator[None]:
    """Let nothing come of Ctrl-C in the block, where nothing else is said of it."""
    with _handling(lambda _signal, _frame: None):  # What is started meanwhile does not inherit that.
        yield


@contextmanager
def raise_interrupts() -> Generator[None]:
    """Have Ctrl-C raise `KeyboardInterrupt` in the block, at once."""
    with _handling(signal.default_int_handler):
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], Any]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():  # Signals come to the main thread only.
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def _leave() -> None:
    """End the process without waiting for what does not end; its scripts end with it."""
    with suppress(OSError, RuntimeError):  # It may have come in the midst of writing.
        sys.stdout.flush()
    os._exit(_STATUS)
