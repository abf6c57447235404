"""A page: an address, and what makes its HTML."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from prowess.surfaces.web.exact_routes import ExactRoute
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.visitor import Visitor

__all__ = ["Page", "Visit"]


@dataclass(frozen=True, slots=True)
class Visit(Visitor):
    """One request for a page."""

    def render(self, template: str, values: Mapping[str, Any], *, page: str = "", status: int = 200) -> Response:
        """Return a page made from a template."""
        known = {"page": page, "is_local": self.is_local}
        text = self.site.templates.get_template(template).render({**known, **values})
        return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table of pages."""

    path: str
    name: str
    handler: Callable[[Visit], object]
    """Returns a response. What blocks is a plain function, which runs in a thread."""
    methods: tuple[str, ...] = ("GET",)

    def make_route(self, site: Site) -> ExactRoute:
        """Return the route that shows the page."""
        is_async = inspect.iscoroutinefunction(self.handler)

        async def endpoint(request: Request) -> Response:
            visit = Visit(site, request)
            if is_async:
                return await cast("Any", self.handler)(visit)
            return cast("Response", await anyio.to_thread.run_sync(partial(self.handler, visit), limiter=site.threads))

        return ExactRoute(self.path, endpoint, methods=list(self.methods), name=self.name)
