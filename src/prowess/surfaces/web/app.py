"""The web app put together: the routes, and the guards that stand before them."""

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp

from prowess.surfaces.web.api.openapi_route import make_openapi_route
from prowess.surfaces.web.api.operations import make_route
from prowess.surfaces.web.api.table import OPERATIONS
from prowess.surfaces.web.guards.failures import FailureGuard
from prowess.surfaces.web.guards.headers import HeaderGuard
from prowess.surfaces.web.guards.hosts import HostGuard
from prowess.surfaces.web.guards.limits import LimitGuard
from prowess.surfaces.web.guards.login import LoginGuard
from prowess.surfaces.web.pages.routes import PAGES
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.static_files import make_static_routes
from prowess.surfaces.web.telemetry.health import make_health_routes
from prowess.surfaces.web.telemetry.observing import Observer

__all__ = ["guard", "make_app"]


_GUARDS = (LoginGuard, LimitGuard, HostGuard, FailureGuard, HeaderGuard, Observer)
"""From the innermost to the outermost."""


def make_app(site: Site) -> ASGIApp:
    """Return the app of a site. Whoever starts it opens the desk, and closes it."""
    return guard(Router(_make_routes(site), redirect_slashes=False), site)


def guard(app: ASGIApp, site: Site) -> ASGIApp:
    """Return an app with all guards around it.

    It must be a bare router: a `Starlette` answers for errors by itself.
    """
    for one in _GUARDS:
        app = one(app, site)
    return app


def _make_routes(site: Site) -> list[BaseRoute]:
    operations = [make_route(operation, site) for operation in OPERATIONS]
    pages = [page.make_route(site) for page in PAGES]
    return [*operations, make_openapi_route(OPERATIONS), *make_health_routes(site), *make_static_routes(), *pages]
