"""Static files: known ones with their types, and nothing else."""

import re
from urllib.parse import urljoin

import pytest
from starlette.routing import Router
from starlette.types import ASGIApp

from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.guards.failures import FailureGuard
from prowess.surfaces.web.static_files import make_static_routes, static_url
from tests.surfaces.web.asgi import ask
from tests.surfaces.web.conftest import MakeSite


@pytest.fixture
def app(make_site: MakeSite) -> ASGIApp:
    return FailureGuard(Router(make_static_routes()), make_site(HttpOptions()))


def test_style_sheet_is_served_and_looked_at_again(app: ASGIApp) -> None:
    answer = ask(app, "/static/prowess.css")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    again = ask(app, "/static/prowess.css", headers=[("if-none-match", answer.headers["etag"])])
    assert (again.status, again.body) == (304, b"")


def test_address_with_the_right_mark_may_be_kept_for_ever(app: ASGIApp) -> None:
    address = static_url("prowess.css")
    assert "immutable" in ask(app, address).headers["cache-control"]
    other = address.replace(address.split("/")[2], "0" * 16)
    assert (ask(app, other).status, ask(app, other).headers["cache-control"]) == (200, "no-cache")
    assert ask(app, f"{address}?v=1").headers["cache-control"] == ask(app, address).headers["cache-control"]


def test_modules_that_a_module_imports_may_be_kept_as_well(app: ASGIApp) -> None:
    waiting, seen = [static_url("chat.js"), static_url("skills.js")], set[str]()
    while waiting:
        address = waiting.pop()
        answer = ask(app, address)
        assert (answer.status, "immutable" in answer.headers["cache-control"]) == (200, True)
        seen.add(address.rpartition("/")[2])
        imported = {urljoin(address, one) for one in re.findall(r'^import .*"(\S+)";$', answer.text, re.MULTILINE)}
        waiting += [one for one in imported if one.rpartition("/")[2] not in seen]
    assert {"asking.js", "copying.js", "stream.js", "blocks.js"} <= seen


def test_icon_is_served_where_browsers_look_for_it(app: ASGIApp) -> None:
    answer = ask(app, "/favicon.ico")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "../site.py",
        "../../web/site.py",
        "/etc/passwd",
        "%2e%2e/site.py",
        "prowess.css/",
        "none.css",
        "x/prowess.css",
    ],
)
def test_nothing_outside_is_served(app: ASGIApp, path: str) -> None:
    assert ask(app, f"/static/{path}").status == 404
