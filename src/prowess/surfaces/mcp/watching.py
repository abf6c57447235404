"""Tell clients what has changed: which tools, prompts and resources there are, and the files that they look at."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from prowess.catalog.views import View
from prowess.errors import ProwessError
from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import make_file_uri
from prowess.surfaces.mcp.prompts import make_prompts
from prowess.surfaces.mcp.visits import Hall, Visit

__all__ = ["Watch", "tell_tools"]

_LOG = logging.getLogger("prowess")
_PAUSE_SECONDS = 0.5
_LEAST_SHARE = 20
"""How many times as long as a look takes is waited until the next."""

_Files = Mapping[bytes, str]
"""From the paths of a skill's files to their hashes."""


async def tell_tools(hall: Hall, visit: Visit) -> None:
    """Tell a client that has seen the tools if they are others now; those with a stream hear it all.

    What fails is logged: whatever changed the tools has been done, and must not be taken for failed.
    """
    await _attempt(partial(_tell_tools, hall, visit), otherwise="a client was not told of its tools")


async def _tell_tools(hall: Hall, visit: Visit) -> None:
    if visit.tools_told is None:
        return
    offered = await anyio.to_thread.run_sync(visit.session.offered, limiter=hall.threads)
    names = tuple(tool.name for tool in offered)
    if names == visit.tools_told:
        return
    visit.tools_told = names
    await _publish(hall, ToolsListChanged())
    await _notify(visit, types.ToolListChangedNotification())


@dataclass(frozen=True, slots=True)
class _Seen:
    """What clients could see at one moment."""

    view: View
    names: tuple[str, ...]
    """Of visible skills, which the tools enumerate."""
    prompts: tuple[types.Prompt, ...]
    resources: frozenset[tuple[str, str, str]]
    """The addresses of the skills' folders, with what their resources are called and described by."""
    files: Mapping[str, _Files]
    """By such an address, of those skills whose files somebody was told of; of one that is gone there are none."""


class Watch:
    """Looks twice a second whether something has changed since clients were told.

    `renew` is called in a thread when there are other skills, or others that people can call for.
    """

    def __init__(self, hall: Hall, renew: Callable[[], None] = lambda: None) -> None:
        self._hall = hall
        self._renew = renew
        self._seen: _Seen | None = None
        self._seeing = anyio.Lock()

    async def begin(self) -> None:
        """Look before somebody is there to be told, so that whatever changes after that is seen."""
        await _attempt(self._look, otherwise="changes of skills cannot be seen")

    async def run(self) -> None:
        """Go on until it is cancelled, while somebody is there to be told. What fails is logged, and tried again."""
        while True:
            begun = anyio.current_time()
            if self._hall.visits:
                await _attempt(self._look, otherwise="changes of skills cannot be seen")
            await _attempt(self._end_idle, otherwise="sessions that nobody uses cannot be ended")
            await anyio.sleep(max(_PAUSE_SECONDS, (anyio.current_time() - begun) * _LEAST_SHARE))

    async def _look(self) -> None:
        async with self._seeing:
            before = self._seen
            now = self._seen = await anyio.to_thread.run_sync(self._see, before, limiter=self._hall.threads)
        if before is None:
            return
        if (now.names, now.prompts) != (before.names, before.prompts):
            await anyio.to_thread.run_sync(self._renew, limiter=self._hall.threads)
        if now.names != before.names:
            await self._tell_all(ToolsListChanged(), types.ToolListChangedNotification())
        if now.prompts != before.prompts:
            await self._tell_all(PromptsListChanged(), types.PromptListChangedNotification())
        files = {root: before.files.get(root, self._hall.told[root]) for root in now.files}
        if now.resources != before.resources or _have_other_names(files, now.files):
            await self._tell_all(ResourcesListChanged(), types.ResourceListChangedNotification())
        await self._tell_updates(files, now.files)
        if now.view is not before.view and now.names == before.names:
            for visit in self._hall.visits:
                await tell_tools(self._hall, visit)

    async def _end_idle(self) -> None:
        for visit in self._hall.find_idle():
            await anyio.to_thread.run_sync(visit.end)

    def _see(self, before: _Seen | None) -> _Seen:
        """Return what there is now."""
        view = self._hall.runtime.view(self._hall.options.agent)
        published = self._hall.publish(view)
        files = {root: self._find_files(published.by_root.get(root)) for root in tuple(self._hall.told)}
        if before is not None and view is before.view:
            return replace(before, files=files)
        resources = frozenset((root, skill.name, skill.description) for root, skill in published.by_root.items())
        return _Seen(view, view.names(), make_prompts(view), resources, files)

    def _find_files(self, skill: Skill | None) -> _Files:
        found = self._hall.runtime.files(skill).files if skill is not None else ()
        return {file.path: file.sha256 for file in found}

    async def _tell_all(self, event: ServerEvent, notification: types.ServerNotification) -> None:
        await _publish(self._hall, event)
        for visit in self._hall.visits:
            await _notify(visit, notification)

    async def _tell_updates(self, before: Mapping[str, _Files], now: Mapping[str, _Files]) -> None:
        """Tell of files that are others, gone or back, to those who look at them."""
        wanted = {*self._hall.listened, *(uri for visit in self._hall.visits for uri in visit.subscribed)}
        if not wanted:
            return
        for root, files in before.items():
            after = now[root]
            changed = {path for path in {*files, *after} if after.get(path) != files.get(path)}
            for uri in (make_file_uri(root, path) for path in changed):
                if uri in wanted:
                    await self._tell_update(uri)

    async def _tell_update(self, uri: str) -> None:
        await _publish(self._hall, ResourceUpdated(uri))
        told = types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri))
        for visit in self._hall.visits:
            if uri in visit.subscribed:
                await _notify(visit, told)


async def _attempt(work: Callable[[], Awaitable[None]], *, otherwise: str) -> None:
    """Do something; if it fails, log what cannot be done."""
    try:
        await work()
    except ProwessError as error:
        _LOG.warning("%s: %s", otherwise, error.message)
    except Exception:  # noqa: BLE001 - whoever watches must not end the server
        _LOG.exception("%s", otherwise)


def _have_other_names(before: Mapping[str, _Files], now: Mapping[str, _Files]) -> bool:
    """Whether a skill has got files, or lost some."""
    return any(files.keys() != now[root].keys() for root, files in before.items())


async def _publish(hall: Hall, event: ServerEvent) -> None:
    await hall.bus.publish(event)


async def _notify(visit: Visit, notification: types.ServerNotification) -> None:
    """Tell a client that has not asked for a stream; one that is gone is not told."""
    if visit.peer is None:
        return
    try:
        await visit.peer.send_notification(notification)
    except (MCPError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        _LOG.debug("a client was not told of a change: it is gone")
