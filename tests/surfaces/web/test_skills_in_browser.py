"""Looking after skills in a real browser, with a real server."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.browsing import Visitor, browser
from tests.surfaces.web.chatting import answer, finished, send
from tests.surfaces.web.server import RunningServer, ServerStarter

__all__ = ["browser"]

pytestmark = pytest.mark.slow

_SKILLS = {"painting": "Paints walls. Use for walls.", "glazing": "Glazes windows. Use for windows."}


@pytest.fixture
def agents(home: Home) -> Path:
    """The user's own skills."""
    folder = home.path / ".agents" / "skills"
    for name, description in _SKILLS.items():
        write_skill(folder, name, description=description)
    return folder


@pytest.fixture
def server(home: Home, servers: ServerStarter, agents: Path) -> RunningServer:
    return servers.start()


@pytest.fixture
def visitor(browser: Browser, server: RunningServer) -> Generator[Visitor]:
    with Visitor.at(browser, server) as visitor:
        yield visitor


def _switch(page: Page, position: str) -> None:
    """Switch the skill whose page is open, and wait until the page is made anew."""
    with page.expect_navigation():
        page.check(f"input[name=switch][value={position}]")


@pytest.mark.requirement("R124")
def test_skill_is_switched_off_and_on_again(visitor: Visitor) -> None:
    page, table = visitor.open("/skills/agents--painting"), visitor.open("/skills")
    row = table.locator("table tr", has_text="painting")
    expect(row).not_to_contain_text("off")
    _switch(page, "off")
    expect(page.locator("input[name=switch][value=off]")).to_be_checked()
    expect(row.locator(".col-state")).to_contain_text("off")  # In the other tab, without a reload.
    chat = visitor.open()
    chat.locator("#message").press_sequentially("/gla")
    expect(chat.locator("#completions")).to_contain_text("glazing")
    chat.fill("#message", "")
    with chat.expect_response(lambda answer: answer.url.endswith("/completions?typed=%2Fpain")) as answered:
        chat.locator("#message").press_sequentially("/pain")
    assert answered.value.json()["completions"] == []  # Hidden the list is also before the answer is there.
    expect(chat.locator("#completions")).to_be_hidden()
    _switch(page, "on")
    expect(page.locator("input[name=switch][value=on]")).to_be_checked()
    expect(row.locator(".col-state")).not_to_contain_text("off")


def test_switch_goes_back_when_the_server_cannot_be_reached(visitor: Visitor, server: RunningServer) -> None:
    page = visitor.open("/skills/agents--painting")
    visitor.expect_lost_connections()
    server.stop()
    page.locator("input[name=switch][value=off]").click()
    expect(page.locator("#call-failed")).to_contain_text("the server cannot be reached")
    expect(page.locator("input[name=switch][value=on]")).to_be_checked()
    expect(page.locator("input[name=switch][value=off]")).to_be_enabled()


@pytest.mark.requirement("R36")
def test_search_of_all_sources_finds_what_nobody_watches(
    browser: Browser, home: Home, servers: ServerStarter, agents: Path
) -> None:
    home.write_settings('[catalog]\nrefresh = "start"\n')
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open("/skills")
        expect(page.locator("table")).to_contain_text("painting")
        write_skill(agents, "roofing", description="Lays tiles. Use for roofs.")
        page.wait_for_timeout(1_000)
        expect(page.locator("table")).not_to_contain_text("roofing")
        page.get_by_role("button", name="Search all sources again").click()
        expect(page.locator("table")).to_contain_text("roofing")


def test_list_is_narrowed_while_one_types_and_by_source(visitor: Visitor) -> None:
    page = visitor.open("/skills")
    rows = page.locator("tbody tr")
    everything = rows.count()
    page.get_by_role("searchbox", name="Search").press_sequentially("glaz")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("glazing")
    assert page.url.endswith("/skills?query=glaz")
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox", name="Search").fill("")
    expect(rows).to_have_count(everything)
    page.get_by_role("combobox", name="Source").select_option("agents")
    expect(rows).to_have_count(len(_SKILLS))
    page.get_by_role("searchbox", name="Search").fill("no such skill")
    expect(page.locator("#skill-table")).to_contain_text("No skill fits.")


@pytest.mark.parametrize("part", ["a[href='/skills/agents--painting']", ".filters a", "[aria-label=Skills]", "summary"])
def test_focus_stays_where_it_is_when_the_list_changes(visitor: Visitor, agents: Path, part: str) -> None:
    for name in ("odd", "peculiar"):
        write_skill(agents, name, text=f"---\nname: {name}\n---\n")
    page = visitor.open("/skills")
    focused = page.locator(f"#skill-table {part}").last
    focused.focus()
    write_skill(agents, "flooring", description="Lays floors. Use for floors.")
    expect(page.locator("table")).to_contain_text("flooring")
    expect(focused).to_be_focused()


def test_list_is_fetched_for_changes_of_skills_and_not_of_conversations(visitor: Visitor, agents: Path) -> None:
    page, chat = visitor.open("/skills"), visitor.open()
    send(chat, "Hello.")  # The first makes the database.
    finished(chat)
    page.wait_for_timeout(1_500)  # For the stream to say how things are.
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "fragment=table" in request.url else None)
    send(chat, "Again.")
    expect(chat.locator("#blocks .end")).to_have_count(2)
    page.wait_for_timeout(1_500)
    assert fetched == []
    write_skill(agents, "flooring", description="Lays floors. Use for floors.")
    expect(page.locator("table")).to_contain_text("flooring")
    assert fetched


def test_skill_of_an_untrusted_project_appears_with_the_way_to_trust_it(visitor: Visitor, home: Home) -> None:
    page = visitor.open("/skills")
    expect(page.get_by_role("region", name="Trust")).to_have_count(0)
    write_skill(home.project / ".prowess" / "skills", "of-project", description="Of the project. Use here.")
    expect(page.locator("table")).to_contain_text("of-project")
    page.get_by_role("region", name="Trust").get_by_role("button", name="Trust this project").click()
    expect(page.get_by_role("region", name="Trust")).to_have_count(0)
    expect(page.locator("tr", has_text="of-project").locator(".col-state")).to_contain_text("visible")


@pytest.mark.requirement("R124")
def test_project_is_trusted_and_trusted_no_more(visitor: Visitor, home: Home) -> None:
    write_skill(home.project / ".prowess" / "skills", "of-project", description="Of the project. Use here.")
    page = visitor.open("/skills")
    banner = page.get_by_role("region", name="Trust")
    expect(banner).to_contain_text("1 skill is")
    banner.get_by_role("button", name="Trust this project").click()
    expect(page.locator("table")).to_contain_text("of-project")
    expect(banner).to_have_count(0)
    page.goto(f"{page.url}/project--of-project")
    expect(page.get_by_role("region", name="Trust")).to_contain_text("Its project is trusted.")
    page.get_by_role("button", name="Trust it no more").click()
    expect(page.get_by_role("region", name="Trust")).to_contain_text("Its project is not trusted")


@pytest.mark.requirement("K1")
def test_decision_is_forgotten_only_after_a_second_thought(
    browser: Browser, home: Home, servers: ServerStarter, agents: Path
) -> None:
    home.write_settings(ONLY_MINE)
    with Visitor.at(browser, servers.start()) as visitor:
        page = visitor.open()
        send(page, "/painting Paint the wall.")
        answer(page, "allow-always")
        finished(page)
        page.goto(page.url.split("/chat/")[0] + "/skills/agents--painting")
        decided = page.get_by_role("region", name="What you decided")
        expect(decided).to_contain_text("allow to use")
        said: list[str] = []

        def refuse(dialog: Dialog) -> None:
            said.append(dialog.message)
            dialog.dismiss()

        page.once("dialog", refuse)
        page.get_by_role("button", name="Forget all of it").click()
        assert said == ["Forget what was decided on painting? You will be asked again."]
        expect(decided).to_contain_text("allow to use")
        page.once("dialog", Dialog.accept)
        page.get_by_role("button", name="Forget all of it").click()
        expect(decided).to_contain_text("Nothing yet")
        page.goto(page.url.split("/skills/")[0] + "/")
        send(page, "/painting Paint the wall.")
        expect(page.locator("form.consent h3")).to_contain_text("painting")
        answer(page, "refuse-once")
        finished(page)
