"""Carry out one snippet in a worker: answer its calls, gather what it prints, and say what came of it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from prowess.execution.inline.outcomes import PythonOutcome, SnippetLimits, cut_middle
from prowess.execution.inline.values import bind_arguments, show_value
from prowess.execution.stopping import Stopped, check_stopped
from prowess.skill.deception import make_encodable

if TYPE_CHECKING:
    from pydantic_monty import (
        ExternalResult,
        ExternalSettledResult,
        FunctionSnapshot,
        FutureSnapshot,
        MontyComplete,
        MontySession,
        NameLookupSnapshot,
        SyncSnapshot,
    )

__all__ = ["CallFailed", "Function", "Snippet"]

_OUT_OF_TIME = (
    "Stopped at the time limit: the code ran for more than {seconds:g} s, not counting the functions that it called."
)
_TICK_SECONDS = 0.1
"""How often it is asked whether code is still wanted."""
_UNCONVERTIBLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What values raise that cannot leave the interpreter, such as dicts whose keys are objects of classes of its own."""
_CRASHED = "The interpreter crashed, and the code with it."


class CallFailed(Exception):
    """A function could not do what it was called for; in the code it is a RuntimeError with the same message."""


@dataclass(frozen=True, slots=True)
class Function:
    """What code can call. Its result is a text."""

    parameters: tuple[str, ...]
    """Their names, in the order in which they are given without one."""
    call: Callable[[dict[str, Any]], str]
    """Takes the arguments by name, as plain data. What it raises, but for `CallFailed`, ends the snippet and goes on to
    whoever has started it."""


@dataclass(slots=True)
class _Printed:
    """What a snippet has printed, as far as there is room for it."""

    room: int
    parts: list[str] = field(default_factory=list[str])
    lost_bytes: int = 0

    def hear(self, _stream: Literal["stdout", "stderr"], text: str) -> None:
        raw = text.encode("utf-8", "replace")
        kept = raw[: self.room]
        self.room -= len(kept)
        self.lost_bytes += len(raw) - len(kept)
        if kept:
            self.parts.append(kept.decode("utf-8", "ignore"))

    @property
    def text(self) -> str:
        notice = f"\n[… {self.lost_bytes:,} more bytes cut …]" if self.lost_bytes else ""
        return "".join(self.parts) + notice


class Snippet:
    """One snippet on its way through a worker that is fresh, or has the variables of those before it."""

    def __init__(self, session: "MontySession", functions: Mapping[str, Function], *, limits: SnippetLimits) -> None:
        self._session = session
        self._functions = functions
        self._limits = limits
        self._printed = _Printed(limits.output_bytes)
        self._calls = 0
        self._result_room = limits.result_characters
        self.is_spoilt = False
        """Whether the variables in the worker are not to be relied on: it was cut off in the middle of something."""

    def run(self, code: str) -> PythonOutcome:
        """Run the code to its end, whatever that is."""
        from pydantic_monty import MontyComplete, MontyError

        started = time.monotonic()
        shown: str | None = None
        error = ""
        is_cut = False
        try:
            with _ended_when_stopped(self._session.worker_pid):
                shot = self._start(code)
                while not isinstance(shot, MontyComplete):
                    shot = self._answer(shot)
            shown, is_cut = self._show(shot)
        except MontyError as fault:
            check_stopped()  # Then it is no crash.
            error = self._explain(fault)
        return PythonOutcome(
            self._printed.text,
            shown,
            cut_middle(error, limit=self._limits.error_characters),
            truncated=is_cut or bool(self._printed.lost_bytes) or len(error) > self._limits.error_characters,
            seconds=time.monotonic() - started,
        )

    def _show(self, end: "MontyComplete") -> tuple[str | None, bool]:
        try:
            value: object = end.output
        except _UNCONVERTIBLE:
            return "<a value that cannot be shown>", False
        return (None, False) if value is None else show_value(value, limit=self._limits.output_bytes)

    def _start(self, code: str) -> "SyncSnapshot":
        # Given anew each time, so that code that has used one of the names for something else does no lasting harm.
        inputs = {name: _stand_in(name) for name in self._functions}
        return self._session.feed_start(code, inputs=inputs, print_callback=self._printed.hear)

    def _answer(self, shot: "FunctionSnapshot | NameLookupSnapshot | FutureSnapshot") -> "SyncSnapshot":
        """Return where the code is after it has got what it waits for."""
        from pydantic_monty import FunctionSnapshot, NameLookupSnapshot

        check_stopped()
        match shot:
            case NameLookupSnapshot():
                return shot.resume()
            case FunctionSnapshot():
                if shot.is_os_function:  # Files, variables of the environment, imports, sleep: there is nothing of it.
                    return shot.resume_not_handled()
                answer = self._call(shot)
                check_stopped()
                return shot.resume(answer)
            case _:
                refusal: ExternalSettledResult = {
                    "exc_type": "RuntimeError",
                    "message": "functions are not awaited here",
                }
                return shot.resume(dict.fromkeys(shot.pending_call_ids, refusal))

    def _call(self, shot: "FunctionSnapshot") -> "ExternalResult":
        """Return the answer to a call: what the function returns, or what is raised in the code."""
        name = str(shot.function_name)
        function = self._functions.get(name)
        if function is None or shot.object_id is not None:
            return {"exc_type": "NameError", "message": f"name '{make_encodable(name)}' is not defined"}
        self._calls += 1
        if self._calls > self._limits.calls:
            message = f"only {self._limits.calls} calls of functions in one run: do the rest in another"
            return {"exc_type": "RuntimeError", "message": message}
        try:
            given = bind_arguments(function.parameters, shot.args, shot.kwargs)
        except _UNCONVERTIBLE as error:
            return {"exc_type": "TypeError", "message": make_encodable(f"{name}(): {error}")}
        if self._result_room <= 0:
            return {"exc_type": "RuntimeError", "message": f"{name}(): not called: {self._too_much}"}
        try:
            result, has_failed = function.call(given), False
        except CallFailed as error:
            result, has_failed = str(error), True
        self._result_room -= len(result)
        if self._result_room < 0:
            return {"exc_type": "RuntimeError", "message": f"{name}(): was called, but {self._too_much}"}
        if has_failed:
            return {"exc_type": "RuntimeError", "message": make_encodable(result)}
        return {"return_value": make_encodable(result)}

    def _explain(self, fault: Exception) -> str:
        """Return what the author of the code is told of its end."""
        from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

        match fault:
            case MontyCrashedError():
                self.is_spoilt = True
                return self._out_of_time if fault.timed_out else _CRASHED
            case MontyRuntimeError():
                # What the interpreter itself has cut off has no place in the code, other than a raised TimeoutError.
                if isinstance(fault.exception(), TimeoutError) and not fault.traceback():
                    self.is_spoilt = True
                    return self._out_of_time
                return make_encodable(fault.display())
            case MontySyntaxError():
                return make_encodable(fault.display())
            case _:
                self.is_spoilt = True
                return f"{_CRASHED} {make_encodable(str(fault))}"

    @property
    def _too_much(self) -> str:
        return f"functions have returned more than {self._limits.result_characters:,} characters in one run"

    @property
    def _out_of_time(self) -> str:
        return _OUT_OF_TIME.format(seconds=self._limits.seconds)


@contextmanager
def _ended_when_stopped(pid: int | None) -> Generator[None]:
    """End the worker soon after what this thread does is not wanted any more: code that calls nothing hears nothing."""
    over = threading.Event()
    context = copy_context()

    def watch() -> None:
        while pid is not None and not over.wait(_TICK_SECONDS):
            try:
                context.run(check_stopped)
            except Stopped:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
                return

    watcher = threading.Thread(target=watch, name="python-watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _stand_in(name: str) -> Callable[..., None]:
    """Return what gives the interpreter a function's name; it is never called."""

    def function() -> None:
        """Stand for a function."""

    function.__name__ = name
    return function
