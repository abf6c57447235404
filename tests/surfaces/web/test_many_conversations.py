"""Somebody with many conversations: the page stays small, and all of them can be reached."""

import json
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from prowess.runtime import Runtime
from prowess.state.conversations import LoggedEvent
from prowess.state.titles import MAX_TITLE
from tests.skills_on_disk import Home
from tests.surfaces.web.browsing import Visitor, browser, find_serious_faults
from tests.surfaces.web.server import ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow

COUNT = 300
LISTED, MOST = 30, 200


def _title(number: int) -> str:
    """Return a title as long as titles get, and longer in bytes."""
    return f"Größen für {number} prüfen & ".ljust(MAX_TITLE, "ü")


@pytest.fixture
def visitor(home: Home, browser: Browser, servers: ServerStarter) -> Generator[Visitor]:
    """Somebody with many conversations, of which the last one has the highest number."""
    with Runtime.open() as runtime:
        now, user = runtime.clock(), runtime.settings.place.user
        for number in range(COUNT):
            said = json.dumps({"event": "begun", "message": _title(number), "model": "offline"})
            begun = LoggedEvent(1, f"turn-{number}", "begun", said, now - COUNT + number)
            assert runtime.store.append_events(user=user, session=f"20261119-123456-{number:08}", events=[begun])
    with Visitor.at(browser, servers.start()) as visitor:
        yield visitor


def _measure(page: Page) -> int:
    """Return how large the page is, with all that it fetched."""
    return page.evaluate(
        """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .reduce((sum, one) => sum + one.decodedBodySize, 0)"""
    )


def test_first_page_is_small_however_many_conversations_there_are(visitor: Visitor) -> None:
    page = visitor.open()
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator("#conversations li")).to_have_count(LISTED)
    page.wait_for_timeout(1_500)  # For the stream to say that nothing has changed.
    assert _measure(page) < 100_000


def test_older_conversations_are_shown_when_somebody_wants_more(visitor: Visitor) -> None:
    page = visitor.open()
    rows, more = page.locator("#conversations li"), page.locator("#more-conversations")
    expect(rows).to_have_count(LISTED)
    rows.first.locator("[data-delete]").focus()
    page.keyboard.press("Enter")
    page.locator("#delete-dialog [value=yes]").click()
    expect(rows.first).to_contain_text(f" {COUNT - 2} ")
    expect(rows).to_have_count(LISTED)
    assert find_serious_faults(page) == []
    rows.last.locator("[data-delete]").focus()
    page.keyboard.press("Tab")
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(MOST)
    expect(more).to_be_hidden()
    expect(rows.nth(LISTED).locator("a")).to_be_focused()


def test_search_finds_what_is_not_listed(visitor: Visitor) -> None:
    page = visitor.open()
    rows = page.locator("#conversations li")
    page.fill("#find", "für 7 prüfen")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Größen für 7 prüfen")
    expect(page.locator("#more-conversations")).to_be_hidden()
    page.fill("#find", "")
    expect(rows).to_have_count(LISTED)
    expect(page.locator("#more-conversations")).to_be_visible()
