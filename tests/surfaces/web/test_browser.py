"""The web app in a real browser, with a real server and a real sandbox."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.agent.openai_server import Reply, ScriptedServer, call, fail, hang, say
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.browsing import Visitor, browser, find_serious_faults
from tests.surfaces.web.chatting import answer, begin_anew, cards, finished, is_in_view, send
from tests.surfaces.web.server import RunningServer, ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow

NAME = "skills-system-validation"
PROCEDURE = f"/{NAME} Do the whole procedure, and run scripts/echo.sh with 'plum' and 'two words'."
SCRIPTED = "openai-chat:scripted"


@pytest.fixture
def server(home: Home, servers: ServerStarter) -> RunningServer:
    """A server as `make run` starts it: embedded defaults, the offline model, the bundled skills."""
    return servers.start()


@pytest.fixture
def visitor(browser: Browser, server: RunningServer) -> Generator[Visitor]:
    with Visitor.at(browser, server) as visitor:
        yield visitor


def _expand_and_copy(page: Page, card: Locator, label: str) -> str:
    """Unfold a part of a card that is folded, and return what its button copies."""
    section = card.locator("details.section", has_text=label)
    if section.get_attribute("open") is None:
        expect(section.locator(".section-body")).to_be_hidden()
        section.locator("summary").click()
    expect(section.locator(".section-body")).to_be_visible()
    section.locator(".section-tools [data-copy]").click()
    expect(section.locator(".section-tools [data-copy]")).to_have_text("Copied")
    page.locator("#message").press("Control+V")  # No page may read the clipboard; a person pastes it.
    pasted = page.input_value("#message")
    page.fill("#message", "")
    return pasted


@pytest.mark.requirement("R71", "R109", "R110", "K1")
def test_conformance_skill_passes_with_its_cards_and_shows_the_same_after_a_reload(
    browser: Browser, server: RunningServer
) -> None:
    with Visitor.at(browser, server, permissions=["clipboard-write"]) as visitor:
        _pass_conformance(visitor.open())


def _pass_conformance(page: Page) -> None:
    send(page, PROCEDURE)
    question = page.locator("form.consent")
    expect(question.locator("h3")).to_contain_text("echo.sh")
    expect(question).to_contain_text("It runs in a sandbox")
    answer(page, "allow-once")
    finished(page)
    expect(cards(page, "read")).to_have_count(2)
    expect(cards(page, "read", "failed")).to_have_count(8)
    expect(cards(page, "run")).to_have_count(1)
    expect(cards(page, "run")).to_contain_text("Exit status")
    expect(cards(page, "run")).to_contain_text("ARGUMENT: two words")
    activation = cards(page, "activate")
    expect(activation).to_have_count(1)
    expect(activation.locator(".subject")).to_have_text(NAME)
    expect(activation.locator(".facts")).to_contain_text(f"core:{NAME}")
    expect(activation.locator(".badge")).to_have_count(0)
    expect(activation.locator("details[open]")).to_have_count(0)
    expect(page.locator(".consent-answered")).to_contain_text("allowed this once")
    expect(page.locator("#chips")).to_contain_text(NAME)
    before = re.sub(r"\s+", " ", page.locator("#blocks").inner_text())
    page.reload()
    finished(page)
    assert re.sub(r"\s+", " ", page.locator("#blocks").inner_text()) == before
    assert "scripts/echo.sh" in _expand_and_copy(page, activation, "Instructions")
    assert _expand_and_copy(page, cards(page, "read").first, "Content").strip()
    assert "ARGUMENT: two words" in _expand_and_copy(page, cards(page, "run"), "Output")


def test_refused_script_looks_refused(visitor: Visitor) -> None:
    page = visitor.open()
    send(page, PROCEDURE)
    answer(page, "refuse-once")
    finished(page)
    expect(cards(page, "run", "refused")).to_have_count(1)
    expect(cards(page, "run", "refused")).to_contain_text("Refused")


@pytest.mark.requirement("K1")
def test_consent_is_operated_by_the_keyboard(visitor: Visitor) -> None:
    page = visitor.open()
    send(page, PROCEDURE)
    expect(page.locator("form.consent h3")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.answer || ''") == "allow-once":
            break
    page.keyboard.press("Enter")
    finished(page)
    expect(cards(page, "run")).to_have_count(1)


def _paint(home: Home, body: str, **files: str) -> Path:
    home.write_settings(ONLY_MINE)
    return write_skill(
        home.path / ".agents" / "skills",
        "painting",
        description="Paints walls. Use for walls.",
        body=body,
        files={"references/colours.md": "red\nblue\n", **files},
    )


@pytest.mark.requirement("K1")
def test_changed_skill_asks_again_and_shows_what_has_changed(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    _paint(home, "Paint with red.\n")
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        send(page, "/painting Paint the wall.")
        answer(page, "allow-always")
        finished(page)
        _paint(home, "Paint with blue.\n")
        page.goto(page.url.split("/chat/")[0] + "/")
        send(page, "/painting Paint the wall.")
        question = page.locator("form.consent")
        expect(question.locator(".changed")).to_contain_text("SKILL.md")
        expect(question.locator(".diff del")).to_contain_text("Paint with red.")
        expect(question.locator(".diff ins")).to_contain_text("Paint with blue.")
        expect(page.locator("#status")).to_have_text("Waiting for your answer …")
        question.locator(".changes").scroll_into_view_if_needed()
        answer(page, "allow-for-session")
        finished(page)
        expect(page.locator("#status")).to_have_text("Done.")
        expect(page.locator("#chips")).to_contain_text("painting")


@pytest.mark.requirement("K1")
def test_answer_that_was_taken_is_not_spoken_of_once_the_next_question_is_there(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    _paint(home, "Run scripts/paint.sh.\n", **{"scripts/paint.sh": "#!/bin/sh\necho painted\n"})
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        send(page, "/painting run scripts/paint.sh")
        expect(page.locator("form.consent h3")).to_contain_text("Activate")
        answer(page, "allow-always")
        expect(page.locator("form.consent h3")).to_contain_text("paint.sh")
        expect(page.locator("#status")).to_have_text("Waiting for your answer …")
        answer(page, "refuse-once")
        finished(page)


@pytest.mark.requirement("R71")
def test_card_of_a_skill_that_the_user_calls_for_shows_what_the_model_gets(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    _paint(home, "Paint with *red*.\n" + "And wait.\n" * 1_000)
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n[limits]\nmax_skill_md_bytes = 2000\n')
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        send(page, "/painting Paint the wall.")
        finished(page)
        card = cards(page, "activate")
        expect(card).to_contain_text("agents:painting")
        expect(card.locator(".facts")).to_contain_text("you")
        expect(card.locator(".badge")).to_have_text("truncated")
        expect(card.locator(".prose")).to_be_hidden()
        card.locator("summary").press("Enter")
        expect(card.locator(".prose em")).to_have_text("red")
        expect(card.locator(".prose")).to_contain_text("[Cut: the first 2,000 of")
        card.locator("[data-raw]").click()
        expect(card.locator(".raw")).to_contain_text('<skill_content name="painting">')


_BIG = "".join(f"Coat {number}: red.\n" for number in range(60))


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("width", [1280, 380])
def test_question_that_is_taller_than_the_page_is_shown_from_its_start(
    browser: Browser, home: Home, servers: ServerStarter, width: int
) -> None:
    _paint(home, _BIG)
    with Visitor.at(browser, servers.start(), viewport={"width": width, "height": 600}) as visitor:
        page = visitor.open()
        send(page, "/painting Paint the wall.")
        answer(page, "allow-always")
        finished(page)
        _paint(home, _BIG.replace("red", "blue"), **{f"references/{number}.md": "x" for number in range(12)})
        page.goto(page.url.split("/chat/")[0] + "/")
        send(page, "/painting Paint the wall.")
        heading = page.locator("form.consent h3")
        expect(heading).to_be_focused()
        expect(page.locator("form.consent .diff").first).to_be_visible()
        page.wait_for_timeout(500)
        assert page.locator("form.consent").evaluate("(form) => form.offsetHeight") > 600
        assert is_in_view(heading)
        page.reload()
        expect(heading).to_be_focused()
        page.wait_for_timeout(500)
        assert is_in_view(heading)
        answer(page, "allow-once")
        finished(page)
        expect(page.locator("form.consent")).to_have_count(0)
        expect(page.locator("#blocks > :last-child")).to_be_in_viewport()


def test_two_tabs_show_the_same_and_only_one_can_answer(visitor: Visitor) -> None:
    first = visitor.open()
    send(first, PROCEDURE)
    expect(first.locator("form.consent")).to_be_visible()
    second = visitor.open("/chat/" + first.url.rpartition("/chat/")[2])
    expect(second.locator("form.consent")).to_be_visible()
    answer(second, "allow-once")
    expect(first.locator("form.consent")).to_have_count(0)
    for page in (first, second):
        finished(page)
        expect(page.locator(".consent-answered")).to_have_count(1)
        expect(cards(page, "run")).to_have_count(1)


@pytest.fixture
def slow_model() -> Generator[ScriptedServer]:
    """A model that says half of its answer, waits, and says the rest."""

    def script(body: dict[str, object]) -> Reply:
        return say("The first half, ") + hang(4) + say("and the *second* half.\n\n```python\nprint(1)\n```\n")

    with ScriptedServer(script) as model:
        yield model


def _start_slowly(servers: ServerStarter, model: ScriptedServer, **env: str) -> RunningServer:
    return servers.start("--model", SCRIPTED, env={"PROWESS_MODEL_URL": model.url, "OPENAI_API_KEY": "none", **env})


def test_reload_in_the_middle_of_an_answer_goes_on_with_it(
    browser: Browser, home: Home, servers: ServerStarter, slow_model: ScriptedServer
) -> None:
    with Visitor.at(browser, _start_slowly(servers, slow_model)) as visitor:
        page = visitor.open()
        send(page, "Tell me.")
        expect(page.locator("#blocks")).to_contain_text("The first half,")
        page.reload()
        expect(page.locator("#blocks")).to_contain_text("The first half,")
        expect(page.locator("#stop")).to_be_visible()
        finished(page)
        expect(page.locator("#blocks")).to_contain_text("and the second half.")
        assert page.locator("#blocks").inner_text().count("The first half,") == 1
        expect(page.locator("#blocks em")).to_have_text("second")
        assert len(slow_model.requests) == 1


def test_stop_ends_an_answer_and_the_next_message_is_answered(
    browser: Browser, home: Home, servers: ServerStarter, slow_model: ScriptedServer
) -> None:
    with Visitor.at(browser, _start_slowly(servers, slow_model)) as visitor:
        page = visitor.open()
        send(page, "Tell me.")
        expect(page.locator("#blocks")).to_contain_text("The first half,")
        page.click("#stop")
        finished(page)
        expect(page.locator("#blocks")).to_contain_text("Stopped")
        expect(page.locator("#status")).to_have_text("Stopped.")
        send(page, "Again.")
        expect(page.locator("#blocks")).to_contain_text("and the second half.")


def test_answer_that_failed_is_tried_again_with_the_same_words(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    def script(body: dict[str, object]) -> Reply:
        return say("There it is.") if str(body["messages"]).count("Where is it?") > 1 else fail(400)

    with ScriptedServer(script) as model, Visitor.at(browser, _start_slowly(servers, model)) as visitor:
        page = visitor.open()
        send(page, "Where is it?")
        finished(page)
        expect(page.locator("#blocks .end")).to_contain_text("Failed")
        page.fill("#message", "and something else")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#blocks")).to_contain_text("There it is.")
        finished(page)
        expect(page.locator("#blocks > .message .bubble")).to_have_text(["Where is it?", "Where is it?"])
        expect(page.locator("#message")).to_have_value("and something else")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_what_is_typed_outlives_a_reload_and_another_conversation(visitor: Visitor) -> None:
    page = visitor.open()
    page.fill("#message", "half a thought")
    page.reload()
    expect(page.locator("#message")).to_have_value("half a thought")
    page.locator("#message").press("Enter")
    finished(page)
    expect(page.locator("#message")).to_have_value("")
    page.fill("#message", "one for later")
    begin_anew(page)
    expect(page.locator("#message")).to_have_value("")
    page.locator("#conversations a").first.click()
    expect(page).to_have_url(re.compile(r"/chat/"))
    expect(page.locator("#message")).to_have_value("one for later")


@pytest.mark.requirement("R36")
def test_skill_added_on_disk_appears_without_a_reload(visitor: Visitor, home: Home) -> None:
    page = visitor.open("/skills")
    expect(page.locator("table")).to_contain_text("repo-survey")
    described = "Glazes windows. Use for windows."
    write_skill(home.path / ".agents" / "skills", "glazing", description=described, extra="argument-hint: '[pane]'\n")
    expect(page.locator("table")).to_contain_text("glazing")
    chat = visitor.open()
    chat.locator("#message").press_sequentially("/gla")
    expect(chat.locator("#completions")).to_contain_text("Glazes windows.")
    expect(chat.locator("#completions .hint")).to_have_text("[pane]")


def test_list_of_skills_listens_again_after_it_was_sent_away(visitor: Visitor, home: Home) -> None:
    page = visitor.open()
    refusals = [429, 429]

    def refuse_at_first(route: Route) -> None:
        if refusals:
            route.fulfill(status=refusals.pop(), content_type="application/json", body="{}")
        else:
            route.continue_()

    page.route("**/api/changes", refuse_at_first)
    page.goto(f"{page.url}skills")
    expect(page.locator("#call-failed")).to_contain_text("trying again")
    expect(page.locator("#call-failed")).to_be_hidden()
    write_skill(home.path / ".agents" / "skills", "glazing", description="Glazes windows. Use for windows.")
    expect(page.locator("table")).to_contain_text("glazing")


def test_second_visit_fetches_no_file_again(visitor: Visitor) -> None:
    page = visitor.open("/skills")
    sizes = """() => performance.getEntriesByType("resource").filter((one) => one.name.includes("/static/"))
        .map((one) => one.transferSize)"""
    page.goto(page.url)
    expect(page.locator("table")).to_contain_text("repo-survey")
    assert set(page.evaluate(sizes)) == {0}


def test_completion_is_chosen_by_the_keyboard(visitor: Visitor) -> None:
    page = visitor.open()
    page.locator("#message").press_sequentially("/sched")
    expect(page.locator("#completions [role=option]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_have_value("/scheduling ")
    expect(page.locator("#completions")).to_be_hidden()


def test_active_skill_is_looked_at_and_switched_off(visitor: Visitor, server: RunningServer) -> None:
    with server.client() as client:
        skill = client.get("/api/skills/scheduling").json()
    page = visitor.open()
    send(page, "/scheduling")
    page.locator("#chips button").click()
    dialog = page.locator("#skill-dialog")
    expect(dialog).to_be_visible()
    expect(dialog.locator("#skill-name")).to_have_text("scheduling")
    expect(dialog.locator("#skill-about")).to_have_text(skill["description"])
    expect(dialog.locator("#skill-id")).to_have_text("core:scheduling")
    expect(dialog.locator("#skill-digest")).to_have_text(skill["digest"][:16])
    expect(dialog.locator("#skill-digest")).to_have_attribute("title", skill["digest"])
    expect(dialog.locator("#skill-asked")).to_have_text("you")
    expect(dialog.locator("#skill-link")).to_have_attribute("href", "/skills/core--scheduling")
    page.locator("#skill-dialog button[value=deactivate]").click()
    expect(page.locator("#chips button")).to_have_count(0)


def test_conversations_are_renamed_searched_and_deleted(visitor: Visitor) -> None:
    page = visitor.open()
    rows = page.locator("#conversations li")
    for number, text in enumerate(("/scheduling every second Tuesday", "/repo-survey look here"), start=1):
        begin_anew(page)
        send(page, text)
        expect(rows).to_have_count(number)
        finished(page)
    row = page.locator("#conversations li", has_text="scheduling")
    row.hover()
    row.locator("[data-rename]").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("Meetings")
    page.keyboard.press("Enter")
    expect(page.locator("#conversations")).to_contain_text("Meetings")
    page.fill("#find", "second tuesday")
    expect(rows).to_have_count(1)
    page.fill("#find", "")
    expect(rows).to_have_count(2)
    row = page.locator("#conversations li", has_text="Meetings")
    row.hover()
    row.locator("[data-delete]").click()
    page.locator("#delete-dialog button[value=yes]").click()
    expect(rows).to_have_count(1)


def test_list_of_conversations_follows_what_happens_in_other_tabs(visitor: Visitor) -> None:
    page, other = visitor.open(), visitor.open()
    send(other, "/scheduling every second Tuesday")
    for one in (page, other):
        expect(one.locator("#conversations li")).to_have_text([re.compile("every second Tuesday")])
    finished(other)
    expect(page.locator("#conversations .busy")).to_have_count(0)


def test_page_of_a_conversation_that_is_deleted_says_so_and_begins_anew(visitor: Visitor) -> None:
    page = visitor.open()
    send(page, "/scheduling every second Tuesday")
    expect(page.locator("#blocks .end")).to_be_visible()
    other = visitor.open("/chat/" + page.url.rpartition("/")[2])
    row = other.locator("#conversations li.current")
    row.hover()
    row.locator("[data-delete]").click()
    other.locator("#delete-dialog button[value=yes]").click()
    expect(other).to_have_url(re.compile(r":\d+/$"))
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("was deleted elsewhere")
    send(page, "/scheduling every third Friday")
    expect(page.locator("#blocks .bubble")).to_have_text("/scheduling every third Friday")
    expect(page.locator("#welcome")).to_be_hidden()
    expect(page.locator("#blocks .end")).to_be_visible()


def test_logging_out_leads_to_the_page_that_lets_in(visitor: Visitor) -> None:
    page = visitor.open()
    page.get_by_role("button", name="Log out").click()
    for _ in ("at once", "and from then on"):
        expect(page.get_by_label("Token")).to_be_visible()
        page.goto(page.url.rpartition("/")[0] + "/")


def test_page_whose_login_is_over_says_so_and_goes_on_after_the_next(visitor: Visitor, server: RunningServer) -> None:
    page = visitor.open()
    other = visitor.open("/skills")
    page.context.clear_cookies()
    for one in (page, other):
        one.evaluate("dispatchEvent(new Event('online'))")  # The stream opens again.
        expect(one.get_by_text("You are logged out")).to_be_visible()
    page.goto(server.url)
    expect(other.get_by_text("You are logged out")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 380])
def test_way_to_the_end_covers_no_active_skill(visitor: Visitor, width: int) -> None:
    page = visitor.open()
    page.set_viewport_size({"width": width, "height": 500})
    send(page, PROCEDURE)
    expect(page.locator("form.consent")).to_be_visible()
    expect(page.locator("#chips button")).to_be_visible()
    expect(page.locator("#jump")).to_be_visible()
    page.wait_for_timeout(300)
    bottom = page.locator("#jump").evaluate("(one) => one.getBoundingClientRect().bottom")
    assert bottom <= page.locator("#chips").evaluate("(one) => one.getBoundingClientRect().top")
    answer(page, "refuse-once")
    finished(page)


def test_message_on_its_way_arrives_although_the_page_is_left(visitor: Visitor) -> None:
    page = visitor.open()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/messages", hold)
    send(page, "/scheduling every second Tuesday")
    expect(page).to_have_url(re.compile(r"/chat/"))
    page.locator("#new").click(no_wait_after=True)
    page.wait_for_timeout(200)
    with page.expect_navigation(url=re.compile(r"/$")):
        held[0].continue_()
    expect(page.locator("#conversations li")).to_have_count(1)
    expect(page.locator("#conversations li")).to_contain_text("every second Tuesday")


PAGES = {
    "chat": "/",
    "skills": "/skills",
    "skill": "/skills/core--scheduling",
    "file": "/skills/core--scheduling/files/SKILL.md",
    "budget": "/budget",
    "usage": "/usage",
    "login": "/login",
    "error": "/nowhere",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_pages_fit_and_a_screen_reader_finds_its_way(
    browser: Browser, server: RunningServer, scheme: str, width: int
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with Visitor.at(browser, server, **options) as visitor:
        for name, path in PAGES.items():
            page = visitor.open(path)
            page.wait_for_load_state("load")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than the screen"
            assert (name, find_serious_faults(page)) == (name, [])
            page.close()


def test_cards_and_questions_are_read_well_by_a_screen_reader(visitor: Visitor) -> None:
    page = visitor.open()
    send(page, PROCEDURE)
    expect(page.locator("form.consent")).to_be_visible()
    for _ in range(2):
        assert find_serious_faults(page) == []
        if page.locator("form.consent").count():
            answer(page, "allow-once")
            finished(page)


def test_first_page_is_small(visitor: Visitor) -> None:
    page = visitor.open()
    expect(page.locator("#send")).to_be_visible()
    sizes = page.evaluate(
        """() => Object.fromEntries(["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .map((one) => [one.name.split("/").at(-1), one.decodedBodySize]))"""
    )
    assert {"", "chat.js", "asking.js", "prowess.css"} <= {name for name, size in sizes.items() if size}
    assert sum(sizes.values()) < 100_000


def test_wish_for_dark_colours_is_kept(visitor: Visitor) -> None:
    page = visitor.open()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(3):
        page.click("#theme")
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


@pytest.mark.requirement("R93")
def test_subagent_is_nested_in_the_card_that_called_for_it(
    browser: Browser, home: Home, servers: ServerStarter
) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n')
    write_skill(
        home.path / ".agents" / "skills",
        "painting",
        description="Paints walls. Use for walls.",
        extra="sandbox: true\n",
        body="Paint.\n",
        files={"references/colours.md": "blue, or red\n"},
    )

    def script(body: dict[str, object]) -> Reply:
        messages = str(body["messages"])
        if "You are a subagent" in messages:
            looked = "blue, or red" in messages
            path = "references/colours.md"
            return (
                say("The wall is red.") if looked else call("read_skill_resource", {"name": "painting", "path": path})
            )
        return (
            say("It is painted.")
            if "The wall is red." in messages
            else call("activate_skill", {"name": "painting", "arguments": "Paint the wall."})
        )

    with ScriptedServer(script) as model, Visitor.at(browser, _start_slowly(servers, model)) as visitor:
        page = visitor.open()
        send(page, "Have the wall painted.")
        finished(page)
        expect(cards(page, "activate")).to_have_count(1)
        outer = cards(page, "activate")
        for _ in ("as it came", "after a reload"):
            fork = outer.locator("section.fork")
            expect(fork).to_have_count(1)
            expect(fork.locator("article.tool[data-role=read][data-state=done]")).to_have_count(1)
            expect(fork.locator("article.tool[data-role=read]")).to_contain_text("references/colours.md")
            expect(fork).to_contain_text("The wall is red.")
            expect(cards(page, "read")).to_have_count(1)  # Nowhere else.
            expect(outer).not_to_contain_text("It is painted.")
            expect(page.locator("#blocks")).to_contain_text("It is painted.")
            page.reload()


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


@pytest.mark.requirement("R45")
def test_nothing_that_a_skill_says_acts_in_a_page(browser: Browser, home: Home, servers: ServerStarter) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n')
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=3"><script>document.title=4</script></svg>'
    folder = write_skill(
        home.path / ".agents" / "skills",
        "hostile",
        description=f"'Hostile {HOSTILE} [x](javascript:alert(1))'",
        body=f"{HOSTILE}\n\n[x](javascript:document.title=5) ![y](http://127.0.0.1:9/leak.png)\n\nRead assets/a.svg.\n",
        files={"assets/a.svg": svg, "assets/a.html": HOSTILE, "assets/<img src=x onerror=alert(1)>.txt": "x"},
    )
    assert folder.exists()
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        send(page, "/hostile Read assets/a.svg and assets/a.html of it.")
        expect(cards(page, "activate")).to_have_count(1)
        expect(cards(page, "read")).to_have_count(2)
        finished(page)
        chat = "/chat/" + page.url.rpartition("/chat/")[2]
        for path in (
            "/skills",
            "/skills/agents--hostile",
            "/skills/agents--hostile/files/assets/a.svg",
            "/budget",
            chat,
        ):
            shown = visitor.open(path)
            shown.wait_for_load_state("load")
            expect(shown.locator("main")).to_contain_text("document.title=")  # What could act is there.
            assert not shown.title().isdigit()
            assert shown.locator("img[src^=http], img[src=x], script:not([src])").count() == 0
            assert shown.locator("a[href^='javascript:']").count() == 0
