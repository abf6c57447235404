"""The Site: what every handler of the web app holds."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from jinja2 import Environment

from prowess.runtime import Runtime
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.scene.rendering import BlockRenderer

if TYPE_CHECKING:
    from prowess.surfaces.web.conversations.desk import Desk
    from prowess.surfaces.web.guards.stream_slots import StreamSlots
    from prowess.surfaces.web.skill_table import SkillTable
    from prowess.surfaces.web.telemetry.metrics import Metrics
    from prowess.surfaces.web.telemetry.traces import Traces

__all__ = ["Site"]

_THREADS = 32


def _make_limiter() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(_THREADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One server's parts. Made once, in the event loop that serves it."""

    runtime: Runtime
    options: HttpOptions
    desk: "Desk"
    """The conversations that are open in this process."""
    table: "SkillTable"
    """All skills as rows, made anew when something has changed."""
    metrics: "Metrics"
    templates: Environment
    traces: "Traces | None" = None
    """None where nobody receives them."""
    renderer: BlockRenderer
    """For who sits at this machine."""
    distant_renderer: BlockRenderer
    """For everybody else: without the folders of this machine."""
    slots: "StreamSlots"
    """For streams, of which there is a bounded number."""
    threads: anyio.CapacityLimiter = field(default_factory=_make_limiter)
    """For what blocks in answering a request."""

    def choose_renderer(self, *, is_local: bool) -> BlockRenderer:
        """Return what makes the blocks that somebody is shown; it may be used in threads."""
        return self.renderer if is_local else self.distant_renderer
