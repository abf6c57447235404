"""A site with the operations and pages about skills, around a real runtime, and a client of it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import msgspec
from starlette.routing import Router
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from prowess.catalog.switches import EVERY_AGENT
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.api.decisions import DECISION_OPERATIONS
from prowess.surfaces.web.api.operations import make_route
from prowess.surfaces.web.api.own_skills import OWN_SKILL_OPERATIONS
from prowess.surfaces.web.api.skills import SKILL_OPERATIONS
from prowess.surfaces.web.api.telling import TELLING_OPERATIONS
from prowess.surfaces.web.guards.failures import FailureGuard
from prowess.surfaces.web.guards.headers import HeaderGuard
from prowess.surfaces.web.pages.skill_pages import SKILL_PAGES
from prowess.surfaces.web.scene.environment import make_environment
from prowess.surfaces.web.scene.rendering import BlockRenderer
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.skill_table import SkillTable

__all__ = ["OPERATIONS", "Browser", "check_answer", "open_browser"]

OPERATIONS = (*SKILL_OPERATIONS, *OWN_SKILL_OPERATIONS, *DECISION_OPERATIONS, *TELLING_OPERATIONS)


class Browser:
    """A client, on this machine or from elsewhere."""

    def __init__(self, runtime: Runtime, client: TestClient) -> None:
        self.runtime = runtime
        self._client = client

    def ask(
        self, path: str, *, method: str = "GET", body: object = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Send a request and return the answer."""
        return self._client.request(method, path, json=body, headers=headers)

    def get(self, path: str, *, status: int = 200) -> Any:
        """Return the JSON at a path."""
        answer = self.ask(path)
        assert answer.status_code == status, answer.text
        return answer.json()

    def send(self, method: str, path: str, body: object = None, *, status: int = 200) -> Any:
        """Return the JSON that came of a change."""
        answer = self.ask(path, method=method, body=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def page(self, path: str, *, status: int = 200) -> str:
        """Return the HTML at a path."""
        answer = self.ask(path)
        assert answer.status_code == status, answer.text
        return answer.text


class _Standing:
    """Says whether requests come from this machine, as the guard of hosts does."""

    def __init__(self, app: ASGIApp, *, is_local: bool) -> None:
        self._app = app
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["prowess.local"] = self._is_local
        await self._app(scope, receive, send)


@contextmanager
def open_browser(
    skills: Sequence[str] | None = None, *, local: bool = True, agent: str = EVERY_AGENT
) -> Generator[Browser]:
    """Open a site with the settings of this place, for all agents or for one, and a browser that sees it."""
    with Runtime(load_settings(), skills=skills) as runtime:
        options, templates = HttpOptions(agent=agent), make_environment()
        nobody = cast("Any", None)
        site = Site(
            runtime=runtime,
            options=options,
            desk=nobody,
            table=SkillTable(runtime, agent=agent),
            metrics=nobody,
            templates=templates,
            renderer=BlockRenderer(templates),
            distant_renderer=BlockRenderer(make_environment(redacted=runtime.settings)),
            slots=nobody,
        )
        routes = [*(make_route(one, site) for one in OPERATIONS), *(page.make_route(site) for page in SKILL_PAGES)]
        app = _Standing(HeaderGuard(FailureGuard(Router(routes, redirect_slashes=False), site), site), is_local=local)
        with TestClient(app, raise_server_exceptions=True) as client:
            yield Browser(runtime, client)


def check_answer(name: str, answer: Any) -> Any:
    """Return an answer that is just what the document promises for an operation, not less and not more."""
    operation = next(one for one in OPERATIONS if one.name == name)
    assert msgspec.to_builtins(msgspec.convert(answer, operation.answer)) == answer
    return answer
