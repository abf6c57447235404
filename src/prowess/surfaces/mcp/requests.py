"""One request of a client while it is carried out: in a thread that ends when the client does not want it any more."""

import asyncio
import codecs
import concurrent.futures
import contextvars
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from prowess.activation.consent import Answer, Question
from prowess.activation.grants import Act
from prowess.errors import Refused
from prowess.execution.jobs import Stream
from prowess.execution.stopping import StopSign, check_stopped, stoppable

if TYPE_CHECKING:
    from prowess.surfaces.mcp.visits import Visit

__all__ = ["ClientContext", "ClientRequest", "current_request"]

ClientContext = ServerRequestContext[Any, Any]
_T = TypeVar("_T")
_MAX_MESSAGE = 2_000
"""Characters of one notice of progress: the end of what was written since the last."""
_PAUSE_SECONDS = 0.1
"""Between two notices."""
_current: ContextVar["ClientRequest | None"] = ContextVar("mcp_request", default=None)


def current_request() -> "ClientRequest | None":
    """Return the request that this thread or task carries out."""
    return _current.get()


class ClientRequest:
    """Carries out the blocking part of one request.

    Answers of a person that came with it count once, for the question that they are about.
    """

    def __init__(self, ctx: ClientContext, visit: "Visit", *, answers: dict[str, Answer] | None = None) -> None:
        self.visit = visit
        self.runs_scripts = False
        """Whether a question about a run is what the request itself asks for, and no part of something else."""
        self.is_repeatable = True
        """Whether nothing has happened yet when a question comes up, so that the request can come again."""
        self._ctx = ctx
        self._answers = answers or {}
        self._stop = StopSign()
        self._loop = asyncio.get_running_loop()
        self._asking: set[concurrent.futures.Future[ElicitResult | None]] = set()
        self._heard = _Heard()
        self._reporting: asyncio.Task[None] | None = None

    @property
    def protocol_version(self) -> str:
        """The version that the client speaks."""
        return self._ctx.protocol_version

    @property
    def is_stateless(self) -> bool:
        """Whether only the client can begin something, so that a question ends the request, which then comes again."""
        return self._ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """Whether the client shows forms to a person."""
        capabilities = self._ctx.session.client_capabilities
        form = capabilities.elicitation if capabilities else None
        return form is not None and (form.form is not None or form.url is None)

    def may_be_repeated(self, question: Question) -> bool:
        """Whether the request may end with this question and come again with the answer."""
        return self.is_repeatable and (question.act is Act.USE or self.runs_scripts) and not question.on_behalf_of

    def has_answer(self, about: str) -> bool:
        """Whether the answer to a question came with the request."""
        return about in self._answers

    def take_answer(self, about: str) -> Answer | None:
        """Return the answer to a question that came with the request."""
        return self._answers.pop(about, None)

    # In the thread

    def hear(self, _: Stream, content: bytes) -> None:
        """Hear what a script writes."""
        self._loop.call_soon_threadsafe(self._take_in, content)

    def elicit(self, message: str, form: dict[str, Any]) -> ElicitResult | None:
        """Have the client's user fill in a form; None if the client fails to, or nobody does in time. Blocks.

        Raise `Refused` if too many forms wait for that user already.
        """
        asking = asyncio.run_coroutine_threadsafe(self._elicit(message, form), self._loop)
        self._asking.add(asking)
        if self._stop():  # Whoever raised it knew nothing of this question.
            asking.cancel()
        try:
            return asking.result()
        except concurrent.futures.CancelledError:
            return None
        finally:
            self._asking.discard(asking)
            check_stopped()

    async def _elicit(self, message: str, form: dict[str, Any]) -> ElicitResult | None:
        limits = self.visit.hall.options.limits
        if self.visit.questions >= limits.questions_per_client:
            raise Refused(
                f"the user has {self.visit.questions} questions to answer already",
                hint="wait until some are answered, then try again",
                code="too-many-questions",
            )
        self.visit.questions += 1
        try:
            with anyio.move_on_after(limits.question_seconds):
                return await self._ctx.session.elicit_form(message, form, related_request_id=self._ctx.request_id)
        except (MCPError, ValidationError):
            pass
        finally:
            self.visit.questions -= 1
        return None

    # In the event loop

    async def run(self, function: Callable[[], _T]) -> _T:
        """Return what a function returns that blocks, and may wait for a person.

        If the request is cancelled, it is ended, and waited for; what has not begun never does. A client that is asked
        in between has a share of the threads, and no more, so that one whose user is away stops no other.
        """
        if self.is_stateless:
            return await self._carry(function, self.visit.hall.pool)
        async with self.visit.calls:
            return await self._carry(function, self.visit.hall.pool)

    async def look(self, function: Callable[[], _T]) -> _T:
        """Return what a function returns that blocks, but asks nobody."""
        return await self._carry(function, self.visit.hall.readers)

    async def _carry(self, function: Callable[[], _T], pool: concurrent.futures.Executor) -> _T:
        def call() -> _T:
            with stoppable(self._stop):
                return function()

        with self.current():
            context = contextvars.copy_context()
        work = pool.submit(context.run, call)

        def end() -> None:
            if not work.cancel():  # It has begun.
                self._end()

        return await self._see_through(asyncio.wrap_future(work), end=end)

    async def attend(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what comes of work in the loop, which may ask a person from threads of its own.

        If the request is cancelled, the work is too, with its questions, and is waited for.
        """
        with self.current():
            task = self._loop.create_task(work)

        def end() -> None:
            task.cancel()
            self._end()

        return await self._see_through(task, end=end)

    async def _see_through(self, future: "asyncio.Future[_T]", *, end: Callable[[], None]) -> _T:
        self.visit.requests += 1
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            end()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([future])
            if not future.cancelled():
                future.exception()  # So that nobody complains of one that was not looked at.
            raise
        finally:
            self.visit.requests -= 1
            if self._reporting is not None:
                self._reporting.cancel()
                await self._tell()

    @contextmanager
    def current(self) -> Generator[None]:
        """Have questions in the block put by way of this request."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def _end(self) -> None:
        """End the script that runs, and the question that is open."""
        self._stop.raise_()
        for asking in tuple(self._asking):
            asking.cancel()

    def _take_in(self, content: bytes) -> None:
        self._heard.add(content)
        if self._reporting is None:
            self._reporting = self._loop.create_task(self._report())

    async def _report(self) -> None:
        """Tell the client what is heard, now and then."""
        while True:
            await self._tell()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _tell(self) -> None:
        text, size = self._heard.take()
        if text:
            await self._ctx.session.report_progress(size, None, text)


class _Heard:
    """What a script has written and nobody was told yet: the end of it, and how much it was."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._size = 0

    def add(self, content: bytes) -> None:
        """Add a piece."""
        self._size += len(content)
        self._text = (self._text + self._decoder.decode(content))[-_MAX_MESSAGE:]

    def take(self) -> tuple[str, int]:
        """Return what is new, and how many bytes there were in all."""
        text, self._text = self._text, ""
        return text, self._size
