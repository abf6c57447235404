"""Whether a server lives, whether it can answer, and what it has measured."""

import math
import time
from collections.abc import Callable
from functools import partial

import anyio
import anyio.to_thread
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from prowess.errors import ProwessError
from prowess.surfaces.web.api.operations import json_response
from prowess.surfaces.web.site import Site

__all__ = ["METRICS", "PROBES", "Readiness", "make_health_routes"]

METRICS = "/metrics"
PROBES = frozenset({"/healthz", "/readyz"})
"""What those who look after processes ask for: by any name, without a login."""
_KEPT_SECONDS = 1.0
_LOG = structlog.get_logger("prowess.web")


class Readiness:
    """What checks have found, looked at anew after a while: anybody may ask, as often as they like."""

    def __init__(self, check: Callable[[], dict[str, bool]], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._found: dict[str, bool] = {}
        self._until = -math.inf
        self._lock = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)  # However many ask, all other threads are for the work itself.

    async def look(self) -> dict[str, bool]:
        """Return what was found a moment ago, or look now. Of many who ask at once, one looks."""
        async with self._lock:
            if self._clock() >= self._until:
                self._found = await anyio.to_thread.run_sync(self._check, limiter=self._thread)
                self._until = self._clock() + _KEPT_SECONDS
            return self._found


def make_health_routes(site: Site) -> list[BaseRoute]:
    """Return the routes for those who run the server."""
    readiness = Readiness(partial(_check, site))

    async def live(_: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(_: Request) -> Response:
        checks = {"desk": site.desk.is_open, **await readiness.look()}
        is_ready = all(checks.values())
        answer = {"status": "ready" if is_ready else "not ready", "checks": checks}
        return json_response(answer, status=200 if is_ready else 503)

    async def measured(_: Request) -> Response:
        text, media_type = await anyio.to_thread.run_sync(site.metrics.render, limiter=site.threads)
        return Response(text, media_type=media_type)

    return [Route("/healthz", live), Route("/readyz", ready), Route(METRICS, measured)]


def _check(site: Site) -> dict[str, bool]:
    return {
        "store": _works(site.runtime.store.version),
        "catalog": _works(site.runtime.catalog),
    }


def _works(look: Callable[[], object]) -> bool:
    try:
        look()
    except (ProwessError, OSError) as error:
        _LOG.warning("not ready", reason=str(error))
        return False
    return True
