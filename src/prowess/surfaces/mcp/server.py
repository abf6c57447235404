"""The MCP server put together: which handler answers what, and what lives as long as it does."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler

from prowess.errors import ProwessError
from prowess.runtime import Runtime
from prowess.sources.mcp.wire import DIRECTORY_METHOD, EXTENSION, GET_METHOD, LIST_METHOD
from prowess.surfaces.mcp.faults import telling_faults
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.prompts import PromptDesk
from prowess.surfaces.mcp.requests import ClientContext
from prowess.surfaces.mcp.resources import ResourceDesk
from prowess.surfaces.mcp.skills_extension import DirectoryParams, GetSkillParams, SkillsExtension
from prowess.surfaces.mcp.tools import ToolDesk
from prowess.surfaces.mcp.visits import Hall, Visit
from prowess.surfaces.mcp.watching import Watch
from prowess.version import __version__

__all__ = ["SkillServer", "make_server"]

_NAME = "prowess"


class SkillServer(Server[Hall]):
    """The SDK's server, which tells every client that lists may change, over whatever it is reached."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what a client is told at the start.

        The handshake of older protocols has no place for extensions; there they are told as experiments.
        """
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities or dict(self.extensions), extensions
        )


def make_server(runtime: Runtime, options: McpOptions) -> tuple[SkillServer, Hall]:
    """Return a server for the skills of a runtime, and what its handlers hold. Called in the loop that serves it."""
    hall = Hall(runtime, options)
    tools, resources, prompts = ToolDesk(hall), ResourceDesk(hall), PromptDesk(hall)
    server = SkillServer(
        _NAME,
        version=__version__,
        title="Prowess",
        description="Skills for agents: found, checked, and run with consent.",
        instructions=None if _would_wait(runtime) else _instruct(runtime, options),
        lifespan=_make_lifespan(hall, lambda server: _renew(server, runtime, options)),
        get_tool_input_schema=lambda _: None,  # No argument of ours travels in a header.
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe,
        on_subscriptions_listen=_make_listener(hall),
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_completion=prompts.complete,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=_NAME))
    extension = SkillsExtension(hall)
    server.extensions = {EXTENSION: {"directoryRead": True}}
    server.add_request_handler(LIST_METHOD, types.PaginatedRequestParams, extension.list)
    server.add_request_handler(GET_METHOD, GetSkillParams, extension.get)
    server.add_request_handler(DIRECTORY_METHOD, DirectoryParams, extension.read_directory)
    return server, hall


def _would_wait(runtime: Runtime) -> bool:
    """Whether skills are known only once servers of others have answered; clients that come then are told of them."""
    hosting = runtime.hosting
    return hosting is not None and any(not hosting.record(server).tried_at for server in hosting.servers)


def _instruct(runtime: Runtime, options: McpOptions) -> str | None:
    """Return what a client's model is told of the skills at the start: as much as a prompt would have of them."""
    try:
        return runtime.session(agent=options.agent).standing_prompt(dialect="mcp") or None
    except ProwessError:
        return None  # Whoever lists the tools is told why.


def _renew(server: Server[Hall], runtime: Runtime, options: McpOptions) -> None:
    """Have clients that come from now on told of the skills that there are now."""
    server.instructions = _instruct(runtime, options)


def _make_lifespan(hall: Hall, renew: Callable[[Server[Hall]], None]) -> Any:
    async def inform(server: Server[Hall]) -> None:
        await anyio.to_thread.run_sync(renew, server, limiter=hall.threads, abandon_on_cancel=True)

    @asynccontextmanager
    async def live(server: Server[Hall]) -> AsyncGenerator[Hall]:
        try:
            async with anyio.create_task_group() as tasks:
                watch = Watch(hall, lambda: renew(server))
                hall.prepare = watch.begin
                tasks.start_soon(watch.run)
                if server.instructions is None:
                    tasks.start_soon(inform, server)
                try:
                    yield hall
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await hall.close()

    return live


def _make_listener(hall: Hall) -> Any:
    """Return the handler of streams of changes, which knows which addresses somebody looks at."""
    handler = ListenHandler(hall.bus, max_subscriptions=hall.options.limits.subscriptions)

    def note_told(visit: Visit, uris: Iterable[str]) -> None:
        published = hall.publication(visit)
        skills = {found[0].id: found[0] for uri in uris if (found := published.find(uri))}
        for skill in skills.values():
            hall.note_told(published.root(skill), visit.session.files(skill))

    async def listen(
        ctx: ClientContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        visit = await hall.visit(ctx)
        uris = Counter(params.notifications.resource_subscriptions or ())
        with telling_faults():
            await anyio.to_thread.run_sync(note_told, visit, uris, limiter=hall.threads)
        for uri in uris:
            hall.listened[uri] = hall.listened.get(uri, 0) + 1
        try:
            return await handler(ctx, params)
        finally:
            for uri in uris:
                hall.listened[uri] -= 1
                if not hall.listened[uri]:
                    del hall.listened[uri]

    return listen
