"""The pages about skills: what they show, what they hide, and that nothing in a skill acts in them."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prowess.activation.grants import Decision
from prowess.state.conversations import Outcome, TokenUse, TurnReceipt
from prowess.surfaces.web.guards.headers import CONTENT_SECURITY_POLICY
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.skill_site import Browser, open_browser

pytestmark = pytest.mark.slow

_SCRIPT = "<script>alert(1)</script>"
_PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class _Active(HTMLParser):
    """Collects what could act in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "script" and not str(known.get("src", "")).startswith("/static/"):
            self.found.append("script")
        if tag in {"iframe", "object", "embed", "base", "style"}:
            self.found.append(tag)
        for name, value in known.items():
            if name.startswith("on") or name == "style":
                self.found.append(name)
            if name in {"href", "src", "action"} and re.match(
                r"\s*(javascript|data|vbscript):", value or "", re.IGNORECASE
            ):
                self.found.append(str(value))


def _find_active(html: str) -> list[str]:
    parser = _Active()
    parser.feed(html)
    return parser.found


@pytest.fixture
def agents(home: Home) -> Path:
    return home.path / ".agents" / "skills"


@pytest.fixture
def browser(home: Home, agents: Path) -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.mark.requirement("R124")
def test_list_shows_skills_collisions_and_rejected_ones_with_reasons(browser: Browser, agents: Path) -> None:
    write_skill(agents, "scheduling")
    write_skill(agents, "faulty", text="---\nname: faulty\n---\n")
    page = browser.page("/skills")
    assert 'href="/skills/agents--scheduling"' in page
    assert "core:scheduling</a> is shadowed by" in page
    assert str(agents / "faulty") in page
    assert "description-missing" in page
    assert "Search all sources again" in page


def test_filters_and_order_are_addresses(browser: Browser, agents: Path) -> None:
    write_skill(agents, "one", description="About forms.")
    page = browser.page("/skills?query=forms&source=agents&sort=-tokens&state=visible")
    assert 'href="/skills/agents--one"' in page
    assert "core--scheduling" not in page
    assert 'aria-sort="descending"' in page
    assert "/skills?query=forms&amp;source=agents&amp;state=visible&amp;sort=tokens" in page


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "page=99999999999", "state=odd", "sort=odd", "source=odd", "odd=1"]
)
def test_odd_address_shows_the_list_all_the_same(browser: Browser, query: str) -> None:
    assert "core--scheduling" in browser.page(f"/skills?{query}")


def test_long_list_has_pages(browser: Browser, agents: Path) -> None:
    for number in range(60):
        write_skill(agents, f"one-{number:02}")
    first, second = browser.page("/skills?source=agents"), browser.page("/skills?source=agents&page=2")
    assert ("one-49" in first, "one-50" in first) == (True, False)
    assert ("one-49" in second, "one-50" in second) == (False, True)
    assert 'rel="next" href="/skills?source=agents&amp;page=2"' in first


def test_fragment_is_the_table_alone(browser: Browser) -> None:
    fragment = browser.page("/skills?fragment=table&query=scheduling")
    assert "core--scheduling" in fragment
    assert "<html" not in fragment


def test_list_offers_to_restore_what_was_removed(browser: Browser) -> None:
    restore = 'data-call="POST /api/skills/user--scheduling/restore"'
    browser.send("POST", "/api/skills/core--scheduling/eject", {})
    assert restore not in browser.page("/skills")
    browser.send("DELETE", "/api/skills/user--scheduling/own")
    assert restore in browser.page("/skills?fragment=table")
    browser.send("POST", "/api/skills/user--scheduling/restore", {})
    assert restore not in browser.page("/skills")


def test_untrusted_project_is_announced_with_a_way_to_trust_it(browser: Browser, home: Home) -> None:
    assert 'data-call="PUT /api/trust"' not in browser.page("/skills")
    write_skill(home.project / ".agents" / "skills", "of-project")
    page = browser.page("/skills")
    assert "1 skill is not shown to models" in page
    assert 'data-call="PUT /api/trust"' in page
    assert "Its project is not trusted" in browser.page("/skills/project--of-project")


@pytest.mark.requirement("K7", "R127")
def test_page_of_a_hidden_skill_says_why_and_what_to_do(browser: Browser, agents: Path) -> None:
    write_skill(agents, "quiet")
    browser.send("PUT", "/api/skills/quiet/switch", {"position": "off"})
    page = browser.page("/skills/agents--quiet")
    assert "Models do not see it" in page
    assert "it is switched off" in page
    assert "prowess enable quiet" in page


def test_page_shows_all_that_is_known_of_a_skill(browser: Browser, agents: Path) -> None:
    write_skill(
        agents,
        "pdf-fill",
        extra='license: MIT\nversion: "1.2"\nallowed-tools: Read Bash(git:*)\ncompatibility: Needs a printer.\n',
        body="# Fill\n\nSee [gone](references/gone.md).\n\n```python\nprint()\n```\n",
        files={"references/guide.md": "# Guide\n", "scripts/fill.py": "#!/usr/bin/env python3\n"},
    )
    browser.runtime.decide("pdf-fill", Decision.ALLOW)
    with browser.runtime.session("s") as session:
        session.activate("pdf-fill")
    page = browser.page("/skills/agents--pdf-fill")
    for text in (
        "MIT",
        "1.2",
        "Read Bash(git:*)",
        "Needs a printer.",
        str(agents / "pdf-fill"),
        "broken-reference",
        'href="/skills/agents--pdf-fill/files/references/guide.md"',
        'href="/api/skills/agents--pdf-fill/files/scripts/fill.py" download',
        "&lt;skill&gt;",
        "&lt;skill_content name=&#34;pdf-fill&#34;&gt;",
        "VS Code and Copilot",
        "Forget all of it",
        "1 times activated",
        'role="img"',
        browser.get("/api/skills/pdf-fill")["digest"],
    ):
        assert text in page, text


def test_own_skill_has_its_history_with_ways_back(browser: Browser) -> None:
    own = Path(browser.send("POST", "/api/skills/scheduling/eject", {})["path"])
    (own / "notes.txt").write_text("first")
    browser.send("DELETE", "/api/skills/user--scheduling/own")
    browser.send("POST", "/api/skills/core--scheduling/eject", {})
    page = browser.page("/skills/user--scheduling")
    assert "in use" in page
    assert 'data-call="POST /api/skills/user--scheduling/restore" data-body=\'{"version": 1}\'' in page
    assert 'data-call="DELETE /api/skills/user--scheduling/own"' in page


def test_files_are_shown_as_text_or_picture_and_never_act(browser: Browser, agents: Path) -> None:
    files = {"x.svg": f"<svg onload='alert(1)'>{_SCRIPT}</svg>", "x.html": _SCRIPT, "p.png": _PNG, "b.bin": b"\0\1"}
    write_skill(agents, "drawn", files=files)
    for name in ("x.svg", "x.html", "SKILL.md"):
        page = browser.page(f"/skills/agents--drawn/files/{name}")
        assert _find_active(page) == []
    assert "alert" in browser.page("/skills/agents--drawn/files/x.html")
    assert 'src="/api/skills/agents--drawn/files/p.png?as=image"' in browser.page("/skills/agents--drawn/files/p.png")
    assert "no text" in browser.page("/skills/agents--drawn/files/b.bin")
    assert browser.ask("/skills/agents--drawn/files/..%2f..%2fx").status_code == 404


def test_page_of_a_file_that_could_act_is_a_page_of_ours(browser: Browser, agents: Path) -> None:
    write_skill(agents, "drawn", files={"a.svg": f"<svg onload='alert(1)'>{_SCRIPT}</svg>", "a.html": _SCRIPT})
    for name in ("a.svg", "a.html"):
        answer = browser.ask(f"/skills/agents--drawn/files/{name}")
        wanted = {
            "content-type": "text/html; charset=utf-8",
            "content-security-policy": CONTENT_SECURITY_POLICY,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cache-control": "no-store",
        }
        assert (answer.status_code, {key: answer.headers[key] for key in wanted}) == (200, wanted)
        assert "content-disposition" not in answer.headers
        assert "<svg onload" not in answer.text
    script = next(one for one in CONTENT_SECURITY_POLICY.split("; ") if one.startswith("script-src"))
    assert script == "script-src 'self'"


def test_nothing_that_a_skill_says_acts_in_a_page(browser: Browser, agents: Path) -> None:
    write_skill(
        agents,
        "evil",
        text=f'---\nname: "\'><img src=x onerror=alert(1)>"\ndescription: "{_SCRIPT}"\nlicense: "{_SCRIPT}"\n'
        f'allowed-tools: "{_SCRIPT}"\nversion: "{_SCRIPT}"\n---\n{_SCRIPT}\n\n[a](javascript:alert(1)) '
        "![b](data:image/svg+xml,x) <iframe src=x></iframe>\n",
        files={"<img src=x onerror=alert(1)>.txt": _SCRIPT, '"onclick="alert(1)': "x"},
    )
    write_skill(agents, "worse", text=f'---\nname: "{_SCRIPT}"\n---\n')
    key = next(row["key"] for row in browser.get("/api/skills?source=agents")["skills"])
    files = [file["path"] for file in browser.get(f"/api/skills/{key}/files")["files"]]
    assert len(files) == 3
    shown = [f"/skills/{key}/files/{path.replace('%', '%25').replace('<', '%3C')}" for path in files]
    for address in (
        "/skills",
        f"/skills?query={_SCRIPT}",
        f"/skills/{key}",
        f"/budget?query={_SCRIPT}",
        "/usage",
        *shown,
    ):
        assert _find_active(browser.page(address)) == [], address


@pytest.mark.requirement("R124")
def test_paths_of_the_host_are_not_shown_elsewhere(home: Home, agents: Path) -> None:
    write_skill(agents, "one")
    write_skill(agents, "faulty", text="x")
    write_skill(home.project / ".agents" / "skills", "of-project")
    home.write_settings('[catalog]\ntext = "markdown"\n')
    with open_browser(local=False) as browser:
        browser.send("POST", "/api/skills/core--scheduling/eject", {})
        addresses = [
            "/skills",
            "/skills/agents--one",
            "/skills/user--scheduling",
            "/skills/project--of-project",
            "/budget",
        ]
        pages = {address: browser.page(address) for address in addresses}
    assert not [address for address, page in pages.items() if str(home.path.parent) in page]


def test_budget_is_drawn_with_what_fits_and_what_does_not(browser: Browser) -> None:
    whole = browser.page("/budget")
    assert "part-full" in whole
    assert "Left out" not in whole
    small = browser.page("/budget?budget=60&query=scheduling&format=json")
    assert "of 60 tokens" in small
    assert "Left out" in small
    assert browser.page("/budget?budget=x&format=odd")
    assert "of 0 tokens" in browser.page("/budget?budget=0")


def test_usage_is_drawn_by_day_and_told_by_skill_and_model(browser: Browser, agents: Path) -> None:
    assert "No skill was used" in browser.page("/usage")
    write_skill(agents, "one")
    browser.runtime.decide("one", Decision.ALLOW)
    with browser.runtime.session("s") as session:
        session.activate("one")
    now, user = browser.runtime.clock(), browser.runtime.settings.place.user
    use = TokenUse(1, 1_200, 30, 0, 0.5)
    browser.runtime.store.record_turn(
        TurnReceipt("t", user, "s", "some:model", at=now, ended_at=now, outcome=Outcome.ANSWERED, use=use)
    )
    page = browser.page("/usage?days=7")
    assert 'class="chart-lower"' in page
    assert 'href="/skills/agents--one"' in page
    assert "some:model" in page
    assert "$0.5000" in page
    assert browser.page("/usage?days=31")


def test_pages_hold_no_inline_script_and_no_inline_style(browser: Browser) -> None:
    for address in (
        "/skills",
        "/skills/core--scheduling",
        "/skills/core--scheduling/files/SKILL.md",
        "/budget",
        "/usage",
    ):
        assert _find_active(browser.page(address)) == []


def test_unknown_skill_and_file_are_pages_of_their_own(browser: Browser) -> None:
    assert "no skill" in browser.page("/skills/nowhere", status=404)
    assert "no file" in browser.page("/skills/core--scheduling/files/nowhere.md", status=404)
