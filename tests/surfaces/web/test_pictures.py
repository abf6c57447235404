"""The pictures of the docs: pages with tidy data in them, kept when KEEP_PICTURES is set."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from prowess.activation.grants import Decision
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.conversations import Outcome, TokenUse, TurnReceipt
from tests.agent.openai_server import ScriptedServer
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.browsing import Visitor, browser, keep_picture
from tests.surfaces.web.chatting import answer, cards, finished, send
from tests.surfaces.web.server import ServerStarter
from tests.surfaces.web.story import FIRST, NAME, check_invoices, write_invoice_skill

__all__ = ["browser"]

pytestmark = pytest.mark.slow

_MODEL = "ollama:llama3.2"
_DAY_SECONDS = 86_400
_PHONE: ViewportSize = {"width": 390, "height": 844}
_OTHERS = {
    "meeting-notes": "Turns a transcript into minutes with decisions and owners. Use after a meeting.",
    "release-notes": "Writes release notes from the commits since the last tag. Use when a release is made.",
    "table-clean-up": "Cleans up CSV files: headings, dates, numbers, rows that come twice. Use for messy tables.",
    "travel-costs": "Sums up travel costs by the rules of the office. Use for receipts of a journey.",
}
_USES = {NAME: (1, 2, 0, 3, 1), "meeting-notes": (0, 1, 1, 2), "table-clean-up": (2, 0, 1)}


@pytest.fixture
def agents(home: Home) -> Path:
    """The user's own skills."""
    home.write_settings(ONLY_MINE)
    folder = home.path / ".agents" / "skills"
    for name, description in _OTHERS.items():
        write_skill(folder, name, description=description)
    write_invoice_skill(folder)
    return folder


@pytest.fixture
def visitor(browser: Browser, agents: Path, servers: ServerStarter) -> Iterator[Visitor]:
    with ScriptedServer(check_invoices) as model:
        env = {"PROWESS_MODEL_URL": model.url, "OPENAI_API_KEY": "none"}
        server = servers.start("--model", _MODEL, env=env)
        with Visitor.at(browser, server, viewport={"width": 1280, "height": 860}) as visitor:
            yield visitor


def _keep(page: Page, name: str) -> None:
    assert "/work/" not in page.locator("body").inner_text()
    page.wait_for_timeout(300)  # Until what moves stands still.
    keep_picture(page, name)


def _show_from(page: Page, selector: str) -> None:
    page.locator(selector).first.evaluate("(one) => one.scrollIntoView({ block: 'start' })")


@pytest.mark.requirement("R71", "K1")
def test_pictures_of_a_conversation(visitor: Visitor, agents: Path) -> None:
    page = visitor.open()
    send(page, FIRST)
    answer(page, "allow-always")
    expect(page.locator("form.consent h3")).to_contain_text("check.sh")
    page.reload()  # Else the page may still speak of the answer before.
    expect(page.locator("form.consent h3")).to_contain_text("check.sh")
    _keep(page, "consent")
    answer(page, "allow-always")
    finished(page)
    page.locator("details.section[open] > summary", has_text="Content").click()
    page.set_viewport_size({"width": 1280, "height": 1240})
    page.mouse.move(0, 0)
    _show_from(page, "article.tool")
    expect(cards(page, "activate")).to_be_in_viewport()
    expect(cards(page, "run")).to_be_in_viewport()
    _keep(page, "chat")
    page.set_viewport_size(_PHONE)
    _show_from(page, "article.tool")
    _keep(page, "chat-phone")
    page.set_viewport_size({"width": 1280, "height": 960})
    write_invoice_skill(agents, more='echo "2025-038: no second signature"')
    page.goto(page.url.split("/chat/")[0] + "/")
    send(page, FIRST)
    expect(page.locator("form.consent .diff ins")).to_contain_text("no second signature")
    _keep(page, "consent-changed")
    page.emulate_media(color_scheme="dark")
    _keep(page, "consent-dark")
    page.emulate_media(color_scheme="light")
    for word in ("Activate", "check.sh"):
        expect(page.locator("form.consent h3")).to_contain_text(word)
        answer(page, "refuse-once")
    finished(page)


def _use_skills() -> None:
    """Use skills on several days, the last of them today."""
    now = time.time()
    for name, counts in _USES.items():
        for days, count in enumerate(reversed(counts)):
            with Runtime(load_settings(), clock=lambda at=now - days * 2 * _DAY_SECONDS: at) as runtime:
                runtime.decide(name, Decision.ALLOW)
                for number in range(count):
                    session = f"{name}-{days}-{number}"
                    with runtime.session(session) as opened:
                        opened.activate(name)
                    at, user = runtime.clock(), runtime.settings.place.user
                    use = TokenUse(
                        requests=2, input_tokens=3_100, output_tokens=240, cached_tokens=2_000, cost_usd=0.0082
                    )
                    turn = TurnReceipt(
                        f"t-{session}",
                        user,
                        session,
                        "anthropic:claude-sonnet-4-6",
                        at=at,
                        ended_at=at,
                        outcome=Outcome.ANSWERED,
                        use=use,
                    )
                    runtime.store.record_turn(turn)


@pytest.mark.requirement("K7")
def test_pictures_of_the_pages_about_skills(browser: Browser, agents: Path, home: Home, servers: ServerStarter) -> None:
    home.write_settings("")
    _use_skills()
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open("/skills")
        expect(page.locator("table")).to_contain_text(NAME)
        _keep(page, "skills")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(_PHONE)
        _keep(page, "skills-phone-dark")
        page = visitor.open("/usage")
        expect(page.locator("body")).to_contain_text("anthropic:claude-sonnet-4-6")
        _keep(page, "usage")
        page = visitor.open("/budget?budget=200")
        expect(page.locator("body")).to_contain_text("left out")
        _keep(page, "budget")
