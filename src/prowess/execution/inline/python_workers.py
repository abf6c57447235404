"""The processes that interpret snippets: a bounded pool, opened when first needed and closed with the runtime."""

import importlib.util
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from prowess.errors import SettingsError
from prowess.execution.inline.notebooks import Notebook, Notebooks
from prowess.execution.inline.outcomes import PythonOutcome, SnippetLimits
from prowess.execution.inline.snippets import Function, Snippet
from prowess.execution.stopping import Stopped, also_stoppable, check_stopped

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession, ResourceLimits

__all__ = ["MAX_WORKERS", "PythonWorkers", "require_interpreter"]

MAX_WORKERS = 32
"""Snippets at a time, those that wait for a function included. Where none runs, there is no worker."""
_WAIT_SECONDS = 30.0
"""For a worker, where all are busy."""
_TICK_SECONDS = 0.1
"""How often whoever waits asks whether the code is still wanted."""
_GRACE_SECONDS = 1.0
"""Beyond the time limit, for a worker to notice it itself; then it is killed."""
_OTHER_SECONDS = 15.0
"""For whatever else is asked of a worker, such as to write down its variables."""
_CLOSE_SECONDS = 5.0
"""For code that runs to come to its end, when nobody wants it any more."""
_SUSPENSIONS_PER_CALL = 20
"""How often code may wait for us, all in all, for each call that it may make: names and imports are asked for too."""

_LOST = "The variables of earlier code are gone: there was no room to keep them. Define again what is needed."
_AS_BEFORE = "Variables are as they were before this code."
_TOO_LARGE = "The variables take too much room to be kept: they are as they were before this code."
_BUSY = "Not run: too much other code is running. Try again later."
_GONE = "Not run: the variables of earlier code could not be brought back, and are gone. Try again without them."
_CLOSED = "Not run: the runtime was closed."
_ENDED = "Stopped: the runtime was closed."
_WITHIN = "Not run: code cannot be run from within code of the same session."


@cache
def require_interpreter() -> None:
    """Raise `SettingsError` if the interpreter for snippets is not installed; it is looked for until it is found."""
    try:
        found = importlib.util.find_spec("pydantic_monty")
    except ValueError:  # It was barred from being loaded.
        found = None
    if found is None:
        raise _missing()


def _missing() -> SettingsError:
    return SettingsError(
        "Python code cannot be run: the package pydantic-monty is not installed",
        hint="install prowess[python], or choose another activation.tools",
        code="no-python",
    )


class PythonWorkers:
    """Runs snippets, each in a process that serves no other, with the variables of the session's earlier ones.

    Any thread may use it. A snippet never raises: what it does wrong is in its outcome.
    """

    def __init__(
        self,
        limits: SnippetLimits | None = None,
        *,
        books: Notebooks | None = None,
        max_workers: int = MAX_WORKERS,
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self.limits = limits or SnippetLimits()
        self._max_workers = max_workers
        self._free = threading.BoundedSemaphore(max_workers)
        self._wait_seconds = wait_seconds
        self._books = books or Notebooks()
        self._lock = threading.Lock()
        self._is_less = threading.Condition(self._lock)
        self._running: list[int] = []
        """The threads that run snippets, once for each of them."""
        self._pool: Monty | None = None
        self._is_closed = False

    def run(self, code: str, *, session: str, functions: Mapping[str, Function]) -> PythonOutcome:
        """Run code that can call these functions; one session runs one snippet at a time."""
        if self._books.open(session).writer == threading.get_ident():
            return PythonOutcome(error=_WITHIN)
        with self._write_in(session) as book, self._counted():
            try:
                with also_stoppable(lambda: self._is_closed):
                    return self._run(code, book, functions)
            except Stopped:
                check_stopped()  # Then whoever wanted it wants it no more.
                if not self._is_closed:
                    raise
                return PythonOutcome(error=_ENDED)

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Have it known that this thread runs a snippet, until the end of the block."""
        thread = threading.get_ident()
        with self._lock:
            self._running.append(thread)
        try:
            yield
        finally:
            with self._is_less:
                self._running.remove(thread)
                self._is_less.notify_all()

    @contextmanager
    def _write_in(self, session: str) -> Generator[Notebook]:
        """Have the session's notebook for this thread alone, until the end of the block."""
        book = self._take(session)
        try:
            yield book
        finally:
            book.writer = None
            book.lock.release()

    def _take(self, session: str) -> Notebook:
        """Wait for the session's notebook."""
        while True:
            book = self._books.open(session)
            while not book.lock.acquire(timeout=_TICK_SECONDS):
                check_stopped()
            if self._books.open(session) is book:  # From now on it is not let go.
                book.writer = threading.get_ident()
                return book
            book.lock.release()

    def forget(self, session: str) -> None:
        """Let the variables of a session go."""
        self._books.drop(session)

    def close(self) -> None:
        """Stop the snippets that run, and end all workers; variables are gone.

        A snippet whose function does not come back is not waited for longer than a few seconds.
        """
        with self._is_less:
            pool, self._pool, self._is_closed = self._pool, None, True
            here = threading.get_ident()  # Code may call what closes the runtime that it runs in.
            self._is_less.wait_for(lambda: all(thread == here for thread in self._running), _CLOSE_SECONDS)
        if pool is not None:
            pool.__exit__(None, None, None)
        self._books.clear()

    def _run(self, code: str, book: Notebook, functions: Mapping[str, Function]) -> PythonOutcome:
        with ExitStack() as stack:
            worker = self._find_worker(stack)
            if isinstance(worker, str):
                return PythonOutcome(error=worker)
            if not _bring_back(worker, book):
                return PythonOutcome(error=_GONE)
            notices = (_LOST,) if book.is_lost else ()
            book.is_lost = False
            snippet = Snippet(worker, functions, limits=self.limits)
            outcome = snippet.run(code)
            kept = not snippet.is_spoilt and self._keep(worker, book)
            if not kept:
                notices = (*notices, _AS_BEFORE if outcome.error else _TOO_LARGE)
            return replace(outcome, notices=notices)

    def _find_worker(self, stack: ExitStack) -> "MontySession | str":
        """Return a worker that was nobody's, until the end of the block; or why there is none."""
        if not self._wait_for_room(stack):
            return _BUSY
        pool = self._open()
        if pool is None:
            return _CLOSED
        limits = self.limits
        resources: ResourceLimits = {
            "max_feed_duration_secs": limits.seconds,
            "max_memory": limits.memory_bytes,
            "max_recursion_depth": limits.recursion,
            "max_suspensions": limits.calls * _SUSPENSIONS_PER_CALL,
        }
        from pydantic_monty import MontyError

        try:
            return stack.enter_context(pool.checkout(limits=resources, os_policy={"sleep": "call_host"}))
        except TimeoutError:
            return _BUSY
        except (MontyError, OSError, RuntimeError) as error:  # The last is a pool that was closed meanwhile.
            return f"Not run: no interpreter could be started ({error})."

    def _wait_for_room(self, stack: ExitStack) -> bool:
        """Wait until one worker more may run, until the end of the block; say whether that came to be."""
        deadline = time.monotonic() + self._wait_seconds
        while not self._free.acquire(timeout=min(_TICK_SECONDS, self._wait_seconds)):
            check_stopped()
            if time.monotonic() >= deadline:
                return False
        stack.callback(self._free.release)
        return True

    def _keep(self, worker: "MontySession", book: Notebook) -> bool:
        """Keep the variables for the session's next snippet; say whether that can be done."""
        state = _write_down(worker)
        if state is None or len(state) > self.limits.state_bytes:
            return False
        self._books.keep(book, state)
        return True

    def _open(self) -> "Monty | None":
        """Return the pool; None if it was closed."""
        with self._lock:
            if self._pool is None and not self._is_closed:
                self._pool = self._make_pool()
            return self._pool

    def _make_pool(self) -> "Monty":
        try:
            from pydantic_monty import Monty

            return Monty(
                min_processes=0,
                max_processes=self._max_workers,
                checkout_timeout=self._wait_seconds,
                request_timeout=self.limits.seconds + _OTHER_SECONDS,
                max_checkouts_per_worker=1,
                feed_duration_limit_grace=_GRACE_SECONDS,
            ).__enter__()
        except (ImportError, FileNotFoundError) as error:
            raise _missing() from error


def _bring_back(worker: "MontySession", book: Notebook) -> bool:
    """Give a worker the variables of a session; say whether that went well. If not, they are gone."""
    from pydantic_monty import MontyError

    try:
        if book.state is not None:
            worker.load_session(book.state)
    except MontyError:
        book.state = None
        return False
    return True


def _write_down(worker: "MontySession") -> bytes | None:
    """Return the variables of a worker; None if it did not survive writing them down."""
    from pydantic_monty import MontyError

    with suppress(MontyError, RuntimeError):
        return worker.dump()
    return None
