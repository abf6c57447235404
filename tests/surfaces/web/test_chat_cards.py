"""A conversation with cards of all kinds in a real browser, on every screen."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.agent.openai_server import ScriptedServer
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.surfaces.web.browsing import Visitor, browser, find_serious_faults
from tests.surfaces.web.chatting import answer, cards, finished, send
from tests.surfaces.web.server import RunningServer, ServerStarter
from tests.surfaces.web.story import AGAIN, FIRST, check_invoices, write_invoice_skill

__all__ = ["browser"]

pytestmark = pytest.mark.slow

_WITHOUT_QUESTIONS = f'{ONLY_MINE}[activation]\nconsent = "never"\n[execution]\nconsent = "never"\n'
_TOO_WIDE = """() => [...document.querySelectorAll("html, #scroll, .block, .section, .consent, .tree")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline")
    .map((one) => `${one.nodeName} ${one.className}: ${one.scrollWidth} in ${one.clientWidth}`)"""


@pytest.fixture
def agents(home: Home) -> Path:
    """The user's own skills."""
    return home.path / ".agents" / "skills"


@contextmanager
def _serve(servers: ServerStarter) -> Generator[RunningServer]:
    with ScriptedServer(check_invoices) as model:
        env = {"PROWESS_MODEL_URL": model.url, "OPENAI_API_KEY": "none"}
        yield servers.start("--model", "openai-chat:scripted", env=env)


def _agree(visitor: Visitor) -> None:
    """Agree to the skill as it is, and to its script, for ever."""
    page = visitor.open()
    send(page, FIRST)
    for word in ("activate", "check.sh"):
        expect(page.locator("form.consent h3")).to_contain_text(word, ignore_case=True)
        answer(page, "allow-always")
    finished(page)
    page.close()


def _check(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_TOO_WIDE) == []
    assert find_serious_faults(page) == []


@pytest.mark.requirement("R71", "K1")
@pytest.mark.parametrize("screen", [(1280, "dark"), (380, "light"), (380, "dark")])
def test_cards_code_and_a_question_with_a_diff_fit_on_every_screen(
    browser: Browser, home: Home, agents: Path, servers: ServerStarter, screen: tuple[int, str]
) -> None:
    width, scheme = screen
    home.write_settings(ONLY_MINE)
    write_invoice_skill(agents)
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with _serve(servers) as server, Visitor.at(browser, server, **options) as visitor:
        _agree(visitor)
        write_invoice_skill(agents, more='echo "a line that is much longer than a phone is wide: ' + "x" * 150 + '"')
        page = visitor.open()
        send(page, FIRST)
        expect(page.locator("form.consent .diff ins")).to_contain_text("much longer")
        answer(page, "allow-for-session")
        expect(page.locator("form.consent h3")).to_contain_text("check.sh")
        expect(page.locator("form.consent .tree")).to_contain_text("rules.md")
        _check(page, width)
        answer(page, "allow-once")
        finished(page)
        for role, count in (("activate", 1), ("read", 2), ("run", 1)):
            expect(cards(page, role)).to_have_count(count)
        expect(page.locator(".code")).to_be_visible()
        for section in page.locator("details.section:not([open]) > summary").all():
            section.click()
        _check(page, width)
        send(page, AGAIN)
        expect(page.locator("form.consent .diff ins")).to_contain_text("much longer")
        _check(page, width)


@pytest.mark.requirement("R71")
def test_script_is_seen_at_work_and_what_it_leaves_can_be_had(
    browser: Browser, home: Home, agents: Path, servers: ServerStarter
) -> None:
    home.write_settings(_WITHOUT_QUESTIONS)
    write_invoice_skill(agents, pause_seconds=4)
    with _serve(servers) as server, Visitor.at(browser, server) as visitor:
        page = visitor.open()
        send(page, FIRST)
        running = cards(page, "run", "running")
        expect(running.locator(".live")).to_contain_text("14 invoices read")
        expect(running).to_contain_text("Running")
        expect(running).not_to_contain_text("paid twice")
        finished(page)
        done = cards(page, "run")
        expect(done.locator(".live")).to_have_count(0)
        expect(done.locator(".output")).to_contain_text("paid twice")
        with page.expect_download() as download:
            done.get_by_role("link", name="report.csv").click()
        assert download.value.suggested_filename == "report.csv"
        assert download.value.path().read_text("utf-8").splitlines()[1] == "2025-031,no date"
        picture = cards(page, "read").locator("img")
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("(image) => image.naturalWidth") == 96


def test_second_tab_is_told_that_a_question_was_answered_elsewhere(
    browser: Browser, home: Home, agents: Path, servers: ServerStarter
) -> None:
    home.write_settings(ONLY_MINE)
    write_invoice_skill(agents)
    with _serve(servers) as server, Visitor.at(browser, server) as visitor:
        first = visitor.open()
        send(first, FIRST)
        expect(first.locator("form.consent")).to_be_visible()
        visitor.expect_lost_connections()
        second = visitor.open("/skills")
        second.route("**/events?*", lambda route: route.abort())  # It hears nothing of what the first one does.
        second.goto(first.url)
        answer(first, "refuse-once")
        expect(first.locator(".consent-answered")).to_have_count(1)
        answer(second, "allow-once")
        question = second.locator("form.consent")
        expect(question.locator(".consent-problem")).to_have_text("It was answered elsewhere meanwhile.")
        expect(question.locator("[data-answer]:enabled")).to_have_count(0)
        second.unroute("**/events?*")
        expect(question.locator("h3")).to_contain_text("check.sh")  # The next one, once it hears again.
        answer(second, "refuse-once")
        finished(first)
        expect(first.locator(".consent-answered")).to_have_count(2)


@pytest.mark.requirement("K1")
def test_refusal_sticks_until_the_files_change(
    browser: Browser, home: Home, agents: Path, servers: ServerStarter
) -> None:
    home.write_settings(ONLY_MINE)
    write_invoice_skill(agents)
    with _serve(servers) as server, Visitor.at(browser, server) as visitor:
        page = visitor.open()
        send(page, "/invoice-check What does it do?")
        answer(page, "refuse")
        expect(page.locator(".consent-answered")).to_have_count(1)
        page.goto(server.origin + "/")
        send(page, "/invoice-check What does it do?")
        expect(page.locator("#blocks")).to_contain_text("invoice-check is not active")
        expect(page.locator("form.consent")).to_have_count(0)
