"""The choice of the model in the chat, in a real browser with a real server."""

import pytest
from playwright.sync_api import Browser, expect

from tests.agent.openai_server import ScriptedServer, say
from tests.skills_on_disk import Home
from tests.surfaces.web.browsing import Visitor, browser, find_serious_faults
from tests.surfaces.web.chatting import finished, send
from tests.surfaces.web.server import ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow

_SCRIPTED = "openai-chat:scripted"
_WITHOUT_TOOLS = "google:gemini-2.5-flash-image"
_KEYS = {"OPENAI_API_KEY": "none", "GOOGLE_API_KEY": "none"}


def test_every_model_can_be_chosen_and_another_be_typed(browser: Browser, home: Home, servers: ServerStarter) -> None:
    home.write_settings(f'models = ["{_SCRIPTED}"]\n')
    with ScriptedServer(lambda body: say(f"I am {body['model']}.")) as model:
        server = servers.start(env={**_KEYS, "PROWESS_MODEL_URL": model.url})
        with Visitor.at(browser, server) as visitor:
            page = visitor.open()
            picker = page.get_by_role("combobox", name="Model")
            expect(picker).to_have_value("offline")
            expect(picker.locator("option")).to_have_text(["offline", _SCRIPTED, "Other…"])
            picker.select_option(_SCRIPTED)
            send(page, "Who are you?")
            expect(page.locator("#blocks")).to_contain_text("I am scripted.")
            finished(page)
            picker.focus()
            page.keyboard.press("End")
            other = page.get_by_role("textbox", name="Name of another model")
            expect(other).to_be_focused()
            expect(page.locator("#model-keys")).to_contain_text("the key in OPENAI_API_KEY is here; write openai:NAME")
            assert find_serious_faults(page) == []
            page.keyboard.type("openai-chat:second")
            page.keyboard.press("Enter")
            expect(page.locator("#message")).to_be_focused()
            send(page, "And who are you?")
            expect(page.locator("#blocks")).to_contain_text("I am second.")
            finished(page)
            expect(picker).to_have_value("openai-chat:second")
            expect(other).to_be_hidden()
            expect(page.locator("#model-keys")).to_be_hidden()
            page.reload()
            expect(picker).to_have_value("openai-chat:second")


def test_escape_leads_back_to_the_model_that_was_chosen(browser: Browser, home: Home, servers: ServerStarter) -> None:
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        page.select_option("#model", "")
        page.keyboard.type("openai:x")
        page.keyboard.press("Escape")
        expect(page.locator("#model")).to_be_focused()
        expect(page.locator("#model")).to_have_value("offline")
        expect(page.locator("#other-model")).to_be_hidden()
        expect(page.locator("#model-note")).to_be_hidden()  # Nothing was chosen.


@pytest.mark.requirement("R127")
def test_page_explains_that_skills_are_off_for_a_model_without_tools(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    home.write_settings(f'models = ["{_WITHOUT_TOOLS}", "anthropic:claude-sonnet-4-6"]\n')
    with Visitor.at(browser, servers.start(env={**_KEYS, "ANTHROPIC_API_KEY": ""})) as visitor:
        page = visitor.open()
        note = page.locator("#model-note")
        expect(note).to_be_hidden()
        page.select_option("#model", _WITHOUT_TOOLS)
        expect(note).to_contain_text(f"{_WITHOUT_TOOLS} cannot call tools, so it uses skills only when you call one")
        page.select_option("#model", "anthropic:claude-sonnet-4-6")
        expect(note).to_contain_text("ANTHROPIC_API_KEY")
        page.select_option("#model", "offline")
        expect(note).to_contain_text("without a network")


@pytest.mark.requirement("R127")
def test_conversation_with_a_model_without_tools_explains_itself_from_the_beginning(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    with Visitor.at(browser, servers.start("--model", _WITHOUT_TOOLS, env=_KEYS)) as visitor:
        page = visitor.open()
        expect(page.locator("#model")).to_have_value(_WITHOUT_TOOLS)
        expect(page.locator("#model-note")).to_contain_text("as /name")
