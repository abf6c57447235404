"""Skills as the web app shows them of the one agent that it serves: each place tells the same of them."""

from collections.abc import Iterator

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.skill_site import Browser, check_answer, open_browser

pytestmark = pytest.mark.slow

SETTINGS = """
[agents.reviewer]
skills = ["surveying", "writing"]
switches = { writing = "off", surveying = "name-only" }
"""
EXPECTED = {  # For the reviewer: whether models see it, whether it is enabled, and its switch.
    "painting": (False, True, "on"),
    "surveying": (True, True, "name-only"),
    "writing": (False, False, "off"),
}


@pytest.fixture
def browser(home: Home) -> Iterator[Browser]:
    """A browser of a site that serves the reviewer."""
    home.write_settings(SETTINGS)
    for name in EXPECTED:
        write_skill(home.path / ".agents" / "skills", name)
    with open_browser(agent="reviewer") as browser:
        yield browser


@pytest.mark.requirement("R40", "R124")
def test_every_answer_tells_the_same_of_the_agent_that_is_served(browser: Browser) -> None:
    rows = {row["name"]: row for row in browser.get("/api/skills?source=agents")["skills"]}
    for name, (is_visible, is_enabled, switch) in EXPECTED.items():
        shown = browser.get(f"/api/skills/{name}")
        why = check_answer("explain_skill", browser.get(f"/api/skills/{name}/why"))
        told = [rows[name]["visible"], shown["visible"], shown["why"]["visible"], why["visible"]]
        assert told == [is_visible] * 4, name
        assert (rows[name]["enabled"], shown["enabled"]) == (is_enabled, is_enabled), name
        assert shown["switch"] == switch


def test_page_of_a_skill_tells_of_the_agent_that_is_served(browser: Browser) -> None:
    assert "Models see it" in browser.page("/skills/agents--surveying")
    for name in ("painting", "writing"):
        assert "Models see it" not in browser.page(f"/skills/agents--{name}")


@pytest.mark.requirement("R37")
def test_switch_is_set_for_the_agent_that_is_served_and_no_other(browser: Browser) -> None:
    for position, is_visible in (("on", True), ("off", False), ("name-only", True)):
        answer = check_answer("switch_skill", browser.send("PUT", "/api/skills/writing/switch", {"position": position}))
        shown = browser.get("/api/skills/writing")
        assert (answer["visible"], answer["switch"], answer["agent"]) == (is_visible, position, "reviewer")
        assert (shown["visible"], shown["switch"]) == (is_visible, position)
    browser.send("PUT", "/api/skills/writing/switch", {"position": "off"})
    assert browser.runtime.why("writing").visible


def test_switch_cannot_show_what_the_agent_has_no_use_of(browser: Browser) -> None:
    answer = browser.send("PUT", "/api/skills/painting/switch", {"position": "on"})
    assert answer["visible"] is browser.get("/api/skills/painting")["visible"] is False
