"""Visits: the sessions of the clients of one server, and what all handlers of it hold."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp.server.session import ServerSession
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from prowess.activation.consent import Answer, Question
from prowess.activation.tool_dialects import DIALECTS, wire_name
from prowess.activation.tools import Role, make_python_tool, make_tools
from prowess.catalog.views import View
from prowess.errors import ProwessError, SettingsError
from prowess.policy import ToolSet
from prowess.runtime import Runtime
from prowess.runtime.session import Session
from prowess.sources.skill_files import FileSet
from prowess.surfaces.mcp.asking import ClientAsker, about, make_form, read_answer
from prowess.surfaces.mcp.faults import telling_faults
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.published import Publication, make_publication
from prowess.surfaces.mcp.requests import ClientContext, ClientRequest

if TYPE_CHECKING:  # Where no model is configured, nothing of the agent is loaded.
    from prowess.agent.agent import Agent
    from prowess.agent.chat import Chat

__all__ = ["Hall", "Visit"]

_LOG = logging.getLogger("prowess")
_CONSENT = "consent"
"""The name of a question among those that a request is answered with."""
_OFFLINE = "offline"
_THREADS = 8


@dataclass(slots=True, eq=False)
class Visit:
    """One client, with its session. A client that says all with every request has the one of the whole server."""

    hall: "Hall"
    session: Session
    calls: asyncio.Semaphore
    """The share of the threads that its calls have."""
    chat: "Chat | None" = None
    """Whose model works skills apart from the client; None if there is none."""
    forking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever has it work one: a conversation takes one message after the other, whichever clients have it."""
    peer: ServerSession | None = None
    """By which the client is told of changes, where it has not asked for a stream of them."""
    subscribed: set[str] = field(default_factory=set[str])
    """Addresses of which it wants to hear."""
    tools_told: tuple[str, ...] | None = None
    """Names of the tools that it has seen last."""
    used_at: float = field(default_factory=time.monotonic)
    requests: int = 0
    """Under way."""
    questions: int = 0
    """Forms that its user has not filled in."""

    def end(self) -> None:
        """End its session, unless that was named and so outlives it. Blocks."""
        try:
            if self.chat is not None:
                self.chat.close()
            else:
                self.session.close()
        except ProwessError as error:
            _LOG.warning("a session was not ended: %s", error.message)
        except Exception:  # noqa: BLE001 - whoever ends sessions has others to end
            _LOG.exception("a session was not ended")


class Hall:
    """What every handler of one server holds. Made in the event loop that serves it."""

    def __init__(self, runtime: Runtime, options: McpOptions) -> None:
        self.runtime = runtime
        self.options = options
        self.bus = InMemorySubscriptionBus()
        self.pool = ThreadPoolExecutor(options.limits.calls, thread_name_prefix="mcp")
        """Carries out requests that may wait for a person."""
        self.readers = ThreadPoolExecutor(options.limits.lists, thread_name_prefix="mcp-list")
        """Carries out all others."""
        self.threads = anyio.CapacityLimiter(_THREADS)
        """For whatever else blocks."""
        self.roles = _find_roles(runtime.policy.tools)
        self.asker = ClientAsker(runtime)
        self.listened: dict[str, int] = {}
        """How many streams want to hear of an address."""
        self.told: dict[str, Mapping[bytes, str]] = {}
        """Of the skills of whose files somebody was told, by the addresses of their folders: the files' hashes then."""
        self.prepare: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """Called before anybody is told anything, so that changes since are seen."""
        self._agent: Agent | None = None
        self._forking = asyncio.Lock()
        """Of the one session of all clients, if there is such."""
        self._visits: dict[str, Visit] = {}
        self._present: Counter[str] = Counter()
        """How many exchanges over HTTP each client has open, a stream on which it only listens among them."""
        self._opening = anyio.Lock()
        self._questions: OrderedDict[str, str] = OrderedDict()
        """By id, what each question is about that ended a request."""
        self._published: tuple[View, Publication] | None = None

    @property
    def visits(self) -> tuple[Visit, ...]:
        """All that are open."""
        return tuple(self._visits.values())

    async def visit(self, ctx: ClientContext) -> Visit:
        """Return whose request this is; a new client's session begins."""
        key = _find_key(ctx)
        with telling_faults():
            visit = self._visits.get(key) or await self._welcome(key)
        visit.used_at = time.monotonic()
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            visit.peer = ctx.session
        return visit

    async def _welcome(self, key: str) -> Visit:
        """Return the visit of a new client; that of the first of its requests, if several come at once."""
        async with self._opening:
            known = self._visits.get(key)
            if known is not None:
                return known
            if not self._visits:
                await self.prepare()
            with anyio.CancelScope(shield=True):  # A session that is begun is known, so that it can be ended.
                self._visits[key] = await anyio.to_thread.run_sync(self._open, limiter=self.threads)
            return self._visits[key]

    def _open(self) -> Visit:
        """Begin a session. Blocks: the agent takes long to load."""
        options, runtime = self.options, self.runtime
        session_id, calls = options.session or None, asyncio.Semaphore(options.limits.calls_per_client)
        agent = self._find_agent()
        if agent is None:
            return Visit(self, runtime.session(session_id, agent=options.agent, asker=self.asker), calls)
        chat = agent.chat(session_id)
        return Visit(self, chat.session, calls, chat, self._forking if session_id else asyncio.Lock())

    def _find_agent(self) -> "Agent | None":
        """Return whose model works skills for subagents; None if the settings name none that can be used."""
        if self._agent is None and self.runtime.settings.model != _OFFLINE:
            from prowess.agent.agent import Agent

            try:
                self._agent = Agent(self.runtime, agent=self.options.agent, asker=self.asker)
            except SettingsError as error:  # Clients start servers without the variables that hold keys.
                message = f"skills for subagents are handed to clients: {error.message}; {error.hint}"
                self.runtime.warn_once((self.runtime.settings.model, "mcp"), message)
        return self._agent

    @contextmanager
    def present(self, session_id: str) -> Generator[None]:
        """Take a client for present in the block, whether it says anything or only listens."""
        self._present[session_id] += 1
        try:
            yield
        finally:
            self._present[session_id] -= 1
            if not self._present[session_id]:
                del self._present[session_id]
            if (visit := self._visits.get(session_id)) is not None:
                visit.used_at = time.monotonic()

    def leave(self, session_id: str) -> Visit | None:
        """Forget a client that is gone; whoever calls ends its session."""
        return self._visits.pop(session_id, None)

    def find_idle(self) -> tuple[Visit, ...]:
        """Forget the clients over HTTP that were away for too long, and return them to be ended."""
        now, patience = time.monotonic(), self.options.limits.idle_seconds
        away = [(key, one) for key, one in self._visits.items() if key and key not in self._present]
        idle = [key for key, one in away if not one.requests and now - one.used_at > patience * 1.1]
        return tuple(self._visits.pop(key) for key in idle)

    async def close(self) -> None:
        """End all sessions."""
        visits, self._visits = self.visits, {}
        for visit in visits:
            await anyio.to_thread.run_sync(visit.end)
        if self._agent is not None:
            await self._agent.close()
        self.pool.shutdown(wait=False)
        self.readers.shutdown(wait=False)

    def publication(self, visit: Visit) -> Publication:
        """Return the addresses of what a client may see. Blocks."""
        return self.publish(visit.session.view())

    def publish(self, view: View) -> Publication:
        """Return the addresses of the skills of a view."""
        known = self._published
        if known is None or known[0] is not view:
            known = self._published = (view, make_publication(view.visible))
        return known[1]

    def note_told(self, root: str, files: FileSet) -> None:
        """Remember the files of a skill as they are when somebody is told of them first."""
        self.told.setdefault(root, {file.path: file.sha256 for file in files.files})

    # Questions that end a request

    async def begin(
        self, ctx: ClientContext, *, responses: InputResponses | None = None, state: str | None = None
    ) -> ClientRequest:
        """Return a request to be carried out, with the answer that it brings, if its question is still open."""
        visit = await self.visit(ctx)
        asked = self._questions.pop(state, None) if state else None
        reply = (responses or {}).get(_CONSENT)
        answers: dict[str, Answer] = {}
        if asked is not None and isinstance(reply, ElicitResult):
            answer = read_answer(reply.action, reply.content)
            answers = {asked: answer} if answer is not None else {}
        return ClientRequest(ctx, visit, answers=answers)

    async def suspend(self, request: ClientRequest, question: Question) -> InputRequiredResult:
        """Return the question, with which the client sends its request again. The answer counts once, for that."""
        self._questions[question.id] = about(question)
        while len(self._questions) > self.options.limits.questions:
            self._questions.popitem(last=False)
        with telling_faults():
            text = await request.look(lambda: self.asker.render(question))
        form = ElicitRequestFormParams(message=text, requested_schema=make_form(request.protocol_version))
        return InputRequiredResult(input_requests={_CONSENT: ElicitRequest(params=form)}, request_state=question.id)


def _find_roles(tool_set: ToolSet) -> dict[str, Role]:
    """Return what the tools of a profile do, by their names; any other is one that a skill brings."""
    tools = (*make_tools(tool_set, names=("any",), forks=True), make_python_tool())
    return {wire_name(tool.name, dialect): tool.role for tool in tools for dialect in DIALECTS}


def _find_key(ctx: ClientContext) -> str:
    """Return by what a client is known; empty where there is one, or where requests stand for themselves."""
    if ctx.request is None or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    get: Callable[[str], str | None] = ctx.request.headers.get
    return get(MCP_SESSION_ID_HEADER) or ""
