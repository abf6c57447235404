"""What a person types beside a message, in a real browser: mentions of skills, and names of conversations."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.skills_on_disk import Home
from tests.surfaces.web.browsing import Visitor, browser
from tests.surfaces.web.chatting import begin_anew, finished, send
from tests.surfaces.web.server import RunningServer, ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow

_EVENTS = {"Accept": "text/event-stream"}


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
    page.fill("#message", "")
    page.locator("#message").press_sequentially("/sched")
    expect(page.locator("#completions")).to_be_visible()
    assert asked


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


_ASKS = "/skills-system-validation Do the whole procedure, and run scripts/echo.sh with 'plum'."


@pytest.mark.parametrize("place", ["search", "name", "model"])
def test_question_takes_the_focus_from_nobody_who_types(visitor: Visitor, server: RunningServer, place: str) -> None:
    chat = "/api/conversations/chat/messages"
    with server.client() as client:
        client.post(chat, json={"text": "Hello."}, headers=_EVENTS)
        page = visitor.open("/chat/chat")
        field = _begin_to_type(page, place)
        assert client.post(chat, json={"text": _ASKS}).status_code == 202
    expect(page.locator("form.consent")).to_be_visible()
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#conversations .busy")).to_have_text("(working)")
    page.locator("form.consent [data-answer=refuse-once]").click()
    finished(page)


def _begin_to_type(page: Page, place: str) -> Locator:
    """Type where something else than a message is typed."""
    if place == "name":
        _begin_to_rename(page, "Hello.")
        return page.locator("#conversations input")
    if place == "model":
        page.select_option("#model", label="Other…")
    field = page.locator("#find" if place == "search" else "#other-model")
    field.press_sequentially("hello")
    return field


def test_what_is_typed_while_a_message_is_on_its_way_stays(visitor: Visitor) -> None:
    page = visitor.open()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/messages", hold)
    send(page, "/scheduling every second Tuesday")
    expect(page).to_have_url(re.compile(r"/chat/"))
    page.keyboard.type(" And then?")
    page.wait_for_timeout(200)
    held[0].continue_()
    finished(page)
    expect(page.locator("#message")).to_have_value("And then?")
    expect(page.locator("#blocks .bubble")).to_have_text("/scheduling every second Tuesday")


def test_message_that_is_too_long_is_neither_sent_nor_cut(visitor: Visitor) -> None:
    page = visitor.open()
    text = "x" * 200_001
    send(page, text)
    expect(page.locator("#status")).to_contain_text("at most 200,000 characters; this one has 200,001")
    expect(page.locator("#message")).to_have_value(text)
    send(page, text[1:])
    expect(page.locator("#message")).to_have_value("")


def test_focus_goes_on_to_the_next_when_a_conversation_is_deleted(visitor: Visitor, server: RunningServer) -> None:
    with server.client() as client:
        for name in ("first", "second", "third"):
            client.post(f"/api/conversations/{name}/messages", json={"text": name}, headers=_EVENTS)
    page = visitor.open()
    for name, left in (("second", "first"), ("first", "third")):
        page.locator("#conversations li", has_text=name).locator("[data-delete]").press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#conversations li", has_text=name)).to_have_count(0)
        expect(page.locator("#conversations a", has_text=left)).to_be_focused()


@pytest.mark.parametrize(("key", "left"), [("Enter", "first"), ("Escape", "second")])
def test_focus_returns_to_the_list_though_it_was_made_anew_meanwhile(
    visitor: Visitor, server: RunningServer, key: str, left: str
) -> None:
    with server.client() as client:
        for name in ("first", "second"):
            client.post(f"/api/conversations/{name}/messages", json={"text": name}, headers=_EVENTS)
        page = visitor.open()
        page.locator("#conversations li", has_text="second").locator("[data-delete]").press("Enter")
        expect(page.locator("#delete-dialog")).to_be_visible()
        client.post("/api/conversations/third/messages", json={"text": "third"}, headers=_EVENTS)
        expect(page.locator("#conversations li", has_text="third")).to_have_count(1)
        page.keyboard.press("Tab")
        page.keyboard.press(key)
        row = page.locator("#conversations li", has_text=left)
        expect(row.locator("a" if key == "Enter" else "[data-delete]")).to_be_focused()
