"""What a person types beside a message, in a real browser: mentions of skills, and names of conversations."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.skills_on_disk import Home
from tests.surfaces.web.browsing import Visitor, browser
from tests.surfaces.web.chatting import begin_anew, finished, send
from tests.surfaces.web.server import RunningServer, ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow


@pytest.fixture
def server(home: Home, servers: ServerStarter) -> RunningServer:
    return servers.start()


@pytest.fixture
def visitor(browser: Browser, server: RunningServer) -> Generator[Visitor]:
    with Visitor.at(browser, server) as visitor:
        yield visitor


@pytest.mark.parametrize("typed", ["/sched", " /sched", "/repo-survey /sched", "please $sched", "please ($sched"])
def test_mention_is_completed_where_it_counts(visitor: Visitor, typed: str) -> None:
    page = visitor.open()
    page.locator("#message").press_sequentially(typed)
    expect(page.locator("#completions [role=option]")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator("#message")).to_have_value(f"{typed}uling ")


@pytest.mark.parametrize("typed", ["please /sched", "look /repo-survey /sched", "a-$sched"])
def test_mention_is_not_completed_where_it_would_be_plain_text(visitor: Visitor, typed: str) -> None:
    page = visitor.open()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/completions" in request.url else None)
    page.locator("#message").press_sequentially(typed)
    page.wait_for_timeout(300)
    assert asked == []
    expect(page.locator("#completions")).to_be_hidden()


def _begin_to_rename(page: Page, name: str) -> None:
    row = page.locator("#conversations li", has_text=name)
    row.hover()
    row.locator("[data-rename]").click()


def test_name_that_is_given_up_leaves_the_list_as_it_is_by_now(visitor: Visitor) -> None:
    page, other = visitor.open(), visitor.open()
    send(page, "/scheduling every second Tuesday")
    finished(page)
    rows = page.locator("#conversations li")
    for number, (key, text) in enumerate((("Escape", "/repo-survey here"), ("Enter", "/repo-survey there")), start=2):
        expect(page.locator("#conversations .busy")).to_have_count(0)
        _begin_to_rename(page, "Tuesday")
        page.keyboard.press("Delete")
        begin_anew(other)
        send(other, text)
        finished(other)
        page.wait_for_timeout(500)  # For the page to hear of it.
        expect(rows).to_have_count(number - 1)
        page.keyboard.press(key)
        expect(rows).to_have_count(number)


def test_list_that_could_not_be_fetched_is_fetched_the_next_time(visitor: Visitor) -> None:
    page, other = visitor.open(), visitor.open()
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=429, content_type="application/json", body="{}")

    page.route("**/api/conversations?*", refuse)
    send(other, "/scheduling every second Tuesday")
    finished(other)
    page.wait_for_timeout(1_500)  # For the page to hear of all of it.
    assert refused
    expect(page.locator("#conversations li")).to_have_count(0)
    page.unroute("**/api/conversations?*")
    page.evaluate("dispatchEvent(new Event('online'))")  # The stream opens again, and says how things are.
    expect(page.locator("#conversations li")).to_have_count(1)
