"""Whatever a server says, it gives a Problem and harms nothing: neither what it gave before, nor anybody else."""

import gzip
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from prowess.skill.problems import Problem
from prowess.sources.mcp.orders import Act, Order
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.work import carry_out
from tests.sources.mcp.scripts import Acted, skill_md

pytestmark = pytest.mark.slow

_GOOD = "skill-0/git-flow/SKILL.md"


@pytest.fixture
def acted(tmp_path: Path) -> Acted:
    """A server with an honest skill, which is in use."""
    acted = Acted(tmp_path / "acme", timeout_seconds=3)
    acted.add("skill://git-flow")
    acted.refresh()
    acted.fetch("git-flow")
    return acted


def _code(problem: Problem | None) -> str:
    return problem.code if problem is not None else ""


# Files that are not what was listed


@pytest.mark.requirement("J11")
@pytest.mark.parametrize(
    "served", ["Other bytes.", "Be kin!\n", "", "Be kind.\n\n"], ids=["other", "size", "none", "more"]
)
def test_file_with_other_bytes_than_listed_is_not_used(acted: Acted, served: str) -> None:
    acted.add("skill://refunds", {"rules.md": "Be kind\n"})
    acted.refresh()
    before = acted.held()
    acted.serve("skill://refunds/rules.md", served)
    problem = acted.fetch("refunds")
    assert _code(problem) == "mcp-mismatch"
    assert acted.held() == before
    assert acted.codes == ["mcp-mismatch"]
    assert acted.record.problems[0].path == "mcp:acme/refunds"


@pytest.mark.requirement("J11")
def test_frontmatter_that_differs_from_the_list_is_not_used(acted: Acted) -> None:
    acted.add("skill://refunds", {"SKILL.md": skill_md("refunds", extra="allowed-tools: Bash(rm *)\n")})
    acted.refresh()
    assert _code(acted.fetch("refunds")) == "mcp-frontmatter-differs"
    assert list(acted.held()) == [_GOOD, "skill-0/refunds/SKILL.md"]


@pytest.mark.parametrize("text", ["No frontmatter.", "---\nname: [\n---\n", "---\nname: refunds\n---\n", "\x00"])
def test_skill_md_that_is_none_is_not_used(acted: Acted, text: str) -> None:
    acted.add("skill://refunds", {"SKILL.md": text})
    acted.refresh()
    assert _code(acted.fetch("refunds")) == "mcp-frontmatter-differs"


@pytest.mark.requirement("J11")
def test_skill_that_changes_between_list_and_read_is_looked_at_again(acted: Acted) -> None:
    acted.add("skill://refunds", {"rules.md": "old"})
    acted.refresh()
    acted.add("skill://refunds", {"rules.md": "new"})
    assert _code(acted.fetch("refunds")) == "mcp-changed"
    assert acted.fetch("refunds") is None
    assert acted.held()["skill-0/refunds/rules.md"] == b"new"


def test_file_that_is_gone_or_another_is_not_used(acted: Acted) -> None:
    acted.add("skill://refunds", {"rules.md": "Be kind."})
    acted.refresh()
    del acted.script["files"]["skill://refunds/rules.md"]
    acted.write()
    assert _code(acted.fetch("refunds")) == "mcp-bad-answer"
    acted.serve("skill://refunds/rules.md", "Be kind.")
    acted.change(answers_as="skill://git-flow/SKILL.md")
    assert _code(acted.fetch("refunds")) == "mcp-bad-answer"
    acted.change(answers_as="", copies=2)
    assert _code(acted.fetch("refunds")) == "mcp-bad-answer"


@pytest.mark.requirement("J11")
def test_changed_skill_that_lies_stays_as_it_was(acted: Acted) -> None:
    before = acted.held()
    acted.add("skill://git-flow", {"more.md": "More."})
    acted.serve("skill://git-flow/more.md", "Lies.")
    assert acted.refresh() is None
    assert acted.held() == before
    assert acted.codes == ["mcp-mismatch"]
    assert len(acted.record.skills[0].files) == 1


# Lists that break the rules


@pytest.mark.requirement("J11")
def test_entries_that_break_the_rules_are_left_out_and_the_others_stay(acted: Acted, tmp_path: Path) -> None:
    for number, path in enumerate(["../up.md", "%2e%2e/%2e%2e/up.md", "/etc/passwd", "CON", "SKILL.MD", "nul%00"]):
        made = acted.add(f"skill://bad-{number}")
        made["resources"].append({**made["resources"][0], "uri": f"skill://bad-{number}/{path}"})
    acted.add("skill://live")["resources"] = "dynamic"
    acted.add("skill://none").pop("resources")
    acted.add("skill://../../up")
    acted.change(entries=[*acted.script["entries"], "no entry", 7, None, [], {}])
    assert acted.refresh() is None
    assert len(acted.codes) == 14
    assert set(acted.codes) == {"mcp-bad-entry", "mcp-bad-path", "mcp-dynamic"}
    assert list(acted.held()) == [_GOOD]
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("up")]


@pytest.mark.requirement("J11")
def test_skill_of_ten_thousand_files_is_left_out(acted: Acted) -> None:
    made = acted.add("skill://refunds")
    made["resources"] += [{**made["resources"][0], "uri": f"skill://refunds/{n}.md"} for n in range(10_000)]
    acted.write()
    assert acted.refresh() is None
    assert acted.codes == ["mcp-too-large"]


@pytest.mark.requirement("J11")
def test_skill_as_large_as_it_may_be_is_taken(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    text = skill_md("refunds")
    files = {f"{n:03}.md": str(n) for n in range(510)}
    rest = (16 << 20) - len(text) - sum(map(len, files.values()))
    acted.add("skill://refunds", {"SKILL.md": text, **files, "big.bin": b"\xff" * rest})
    assert acted.refresh() is None
    assert acted.fetch("refunds") is None
    assert sum(map(len, acted.held().values())) == 16 << 20
    assert len(acted.held()) == 512


def test_two_skills_at_one_place_are_told_of(acted: Acted) -> None:
    made = acted.add("skill://acme/refunds")
    upper = {**made, "uri": "skill://ACME/refunds/SKILL.md"}
    upper["resources"] = [{**made["resources"][0], "uri": "skill://ACME/refunds/SKILL.md"}]
    acted.change(entries=[made, made, upper])
    acted.refresh()
    assert acted.codes == ["mcp-listed-twice", "mcp-listed-twice"]
    assert list(acted.held()) == ["skill-0/acme/refunds/SKILL.md"]


def test_more_skills_than_are_taken_are_told_of(acted: Acted) -> None:
    made = acted.add("skill://refunds")
    entries: list[dict[str, Any]] = []
    for number in range(2_001):
        uri = f"skill://s{number}/refunds/SKILL.md"
        entries.append({**made, "uri": uri, "resources": [{**made["resources"][0], "uri": uri}]})
    acted.change(entries=entries, page_size=5_000)
    acted.refresh()
    assert acted.codes == ["mcp-too-many-skills"]
    assert len(acted.record.skills) == 2_000


# Streams without end, and none


@pytest.mark.requirement("J11")
def test_cursor_without_end_is_given_up(acted: Acted) -> None:
    acted.change(endless=True, page_size=1)
    assert _code(acted.refresh()) == "mcp-bad-answer"
    assert list(acted.held()) == [_GOOD]


@pytest.mark.requirement("J11")
@pytest.mark.slow
@pytest.mark.parametrize("method", ["initialize", "skills/list", "resources/read"])
@pytest.mark.parametrize(
    ("misdeed", "codes"),
    [
        ("hang", {"mcp-unreachable"}),
        ("die", {"mcp-unreachable"}),
        ("garbage", {""}),
        ("chatter", {"mcp-bad-answer"}),
        ("endless line", {"mcp-bad-answer"}),
        ("deep", {""}),
    ],
)
def test_server_that_stalls_or_floods_is_reported_and_its_skills_stay(
    tmp_path: Path, method: str, misdeed: str, codes: set[str]
) -> None:
    acted = Acted(tmp_path / "acme", timeout_seconds=1)
    acted.add("skill://git-flow")
    acted.refresh()
    acted.fetch("git-flow")
    acted.add("skill://refunds")
    acted.refresh()
    before = acted.held()
    acted.change(misdeeds={method: misdeed})
    problem = acted.fetch("refunds") if method == "resources/read" else acted.refresh()
    assert _code(problem) in codes
    assert problem is None or acted.held() == before
    assert [one.path for one in acted.record.skills] == ["git-flow", "refunds"]
    if problem is not None and method != "resources/read":
        assert acted.record.failure == problem


def test_answer_that_is_no_json_is_told_of(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme", timeout_seconds=1)
    acted.add("skill://refunds", note="\ud800")
    assert _code(acted.refresh()) == "mcp-bad-answer"


def test_extension_is_heard_of_where_old_handshakes_have_room_for_it(acted: Acted) -> None:
    acted.change(speaks="experimental")
    assert acted.refresh() is None


def test_server_without_the_extension_is_told_of(acted: Acted) -> None:
    acted.change(speaks="")
    assert _code(acted.refresh()) == "mcp-no-extension"
    assert list(acted.held()) == [_GOOD]


def test_program_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.server = McpServer("acme", (str(tmp_path / "missing"),))
    problem = acted.refresh()
    assert problem is not None
    assert problem.code == "mcp-unreachable"
    assert "missing" in problem.message


# HTTP


@contextmanager
def _serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Generator[str]:
    """Serve every request in one way, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _list(url: str, folder: Path) -> Problem | None:
    """Ask the server at the address for its skills, and return what went wrong."""
    order = Order(Act.LIST, McpServer("acme", url=url, timeout_seconds=3), str(folder / "mirror"), 20.0)
    return anyio.run(lambda: carry_out(order)).problem


def _flood(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    try:
        handler.wfile.write(b'{"jsonrpc": "2.0", "id": 1, "result": "')
        while True:
            handler.wfile.write(b"x" * (1 << 16))
    except OSError:
        handler.close_connection = True


def _pack(handler: BaseHTTPRequestHandler) -> None:
    body = gzip.compress(b" " * (1 << 26))
    handler.send_response(200)
    for name, value in (("Content-Type", "application/json"), ("Content-Encoding", "gzip")):
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _fail(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(500)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@pytest.mark.slow
@pytest.mark.requirement("J11")
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (_flood, "mcp-bad-answer", "it sent a message of more than 33,554,432 bytes"),
        (_pack, "mcp-bad-answer", "it sent a packed answer, which nobody asked for"),
        (_fail, "mcp-unreachable", "it cannot be talked to"),
    ],
)
def test_address_that_answers_badly_is_reported(
    tmp_path: Path, answer: Callable[[BaseHTTPRequestHandler], None], code: str, said: str
) -> None:
    with _serving(answer) as url:
        problem = _list(url, tmp_path)
    assert _code(problem) == code
    assert problem is not None
    assert said in problem.message


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_redirect_to_another_place_is_reported_and_not_followed(tmp_path: Path) -> None:
    came: list[str] = []

    def note(handler: BaseHTTPRequestHandler) -> None:
        came.append(handler.path)
        _fail(handler)

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", elsewhere)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with _serving(note) as elsewhere, _serving(redirect) as url:
        problem = _list(url, tmp_path)
        assert came == []
        assert _code(_list(elsewhere, tmp_path)) == "mcp-unreachable"
        assert came
    assert _code(problem) == "mcp-unreachable"
    assert problem is not None
    assert elsewhere in problem.message


def test_address_where_nobody_listens_is_reported(tmp_path: Path) -> None:
    with _serving(_fail) as url:
        pass
    assert _code(_list(url, tmp_path)) == "mcp-unreachable"
