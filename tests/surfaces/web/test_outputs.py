"""Files that scripts have left, downloaded from the page's card."""

import json

import httpx
import pytest

from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.server import RunningServer, ServerStarter

pytestmark = pytest.mark.slow

SCRIPT = '#!/bin/sh\nmkdir -p "$PROWESS_OUTPUT/deep"\nprintf "<b>hello</b>" > "$PROWESS_OUTPUT/deep/a b.html"\n'


@pytest.fixture
def server(home: Home, servers: ServerStarter) -> RunningServer:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n[execution]\nconsent = "never"\n')
    write_skill(
        home.path / ".agents" / "skills",
        "painting",
        description="Paints walls. Use for walls.",
        body="Run scripts/paint.sh.\n",
        files={"scripts/paint.sh": SCRIPT},
    )
    return servers.start()


def _run(client: httpx.Client) -> dict[str, object]:
    """Have the script run, and return the data of its card."""
    headers = {"Accept": "text/event-stream"}
    body = {"text": "/painting run scripts/paint.sh"}
    with client.stream("POST", "/api/conversations/chat/messages", json=body, headers=headers) as response:
        events = [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: ")]
    assert events[-1]["event"] == "done"
    return next(event["data"] for event in events if event["event"] == "result" and event["role"] == "run")


@pytest.mark.requirement("R71")
def test_output_of_a_run_is_downloaded_and_never_shown(server: RunningServer) -> None:
    with server.client() as client:
        data = _run(client)
        assert [file["path"] for file in data["outputs"]] == ["deep/a b.html"]  # type: ignore[index, attr-defined]
        found = client.get(f"/api/runs/{data['run']}/outputs/deep/a b.html")
        assert (found.status_code, found.content) == (200, b"<b>hello</b>")
        assert found.headers["content-disposition"].startswith('attachment; filename="a b.html"')
        assert found.headers["content-type"] == "application/octet-stream"
        page = client.get("/chat/chat").text
        assert f"/api/runs/{data['run']}/outputs/deep/a%20b.html" in page


def _ask(server: RunningServer, path: str) -> tuple[bytes, bytes]:
    """Return the first line and the body of what comes of a path, which no client makes straight before."""
    host, bearer = f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}"
    answer = server.exchange("\r\n".join((f"GET {path} HTTP/1.1", host, bearer, "Connection: close", "", "")).encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.partition(b"\r\n")[0], body


def test_nothing_but_outputs_is_found_there(server: RunningServer, home: Home) -> None:
    with server.client() as client:
        run = _run(client)["run"]
    users = home.prowess / "users"
    assert (users / "local" / "runs" / str(run) / "deep" / "a b.html").is_file()
    for folder in (users / "local" / "runs", users / "local", users, home.prowess):
        (folder / "secret.txt").write_text("hush")
    ups = [f"{up * levels}secret.txt" for levels in range(1, 5) for up in ("../", "%2e%2e/", "..%2f")]
    for path in ("", "deep", *ups, *(f"deep/../{up}" for up in ups), "none", "deep/a%20b.html/x", "/etc/passwd"):
        status, body = _ask(server, f"/api/runs/{run}/outputs/{path}")
        assert (path, status, b"hush" in body) == (path, b"HTTP/1.1 404 Not Found", False)
        assert b'"error"' in body
    for other in ("0" * 32, ".", "%2e", "..", "%2e%2e", "..%2f..", "a" * 500):
        status, body = _ask(server, f"/api/runs/{other}/outputs/secret.txt")
        assert (other, status, b"hush" in body) == (other, b"HTTP/1.1 404 Not Found", False)
    assert _ask(server, f"/api/runs/{run}/outputs/deep/a%20b.html") == (b"HTTP/1.1 200 OK", b"<b>hello</b>")
