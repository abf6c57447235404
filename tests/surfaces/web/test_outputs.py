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


def test_nothing_but_outputs_is_found_there(server: RunningServer) -> None:
    with server.client() as client:
        run = _run(client)["run"]
        for path in (
            "",
            "deep",
            "../../../prowess.toml",
            "%2e%2e/%2e%2e/state.db",
            "none",
            "deep/a b.html/x",
            "/etc/passwd",
        ):
            answer = client.get(f"{server.origin}/api/runs/{run}/outputs/{path}")
            assert (path, answer.status_code) == (path, 404)
            assert "error" in answer.json()
        for other in ("0" * 32, "..", "%2e%2e", "a" * 500):
            assert client.get(f"/api/runs/{other}/outputs/deep/a b.html").status_code in (404, 405)
