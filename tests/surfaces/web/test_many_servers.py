"""Several servers on one PostgreSQL, behind one address: conversations, questions and switches are shared."""

import json
import signal
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.agent.openai_server import Reply, ScriptedServer, call, hang, say
from tests.postgres import Cluster, postgres
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.browsing import Visitor, browser
from tests.surfaces.web.one_address import OneAddress
from tests.surfaces.web.server import RunningServer, ServerStarter

__all__ = ["browser", "postgres"]

pytestmark = pytest.mark.slow

TOKEN = "one-token-for-all-servers".replace("-", "")
FIRST, SECOND = "The first half, ", "and the second half."


@pytest.fixture
def model() -> Generator[ScriptedServer]:
    """A model that says half of its answer and waits; asked again, it says all of it at once."""
    asked: list[object] = []

    def script(body: dict[str, Any]) -> Reply:
        asked.append(body)
        return say(FIRST) + (hang(60) if len(asked) == 1 else say("")) + say(SECOND)

    with ScriptedServer(script) as server:
        yield server


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers that share a database, behind one address."""

    first: RunningServer
    second: RunningServer
    origin: str


StartPair = Callable[..., Pair]


@pytest.fixture
def start_pair(home: Home, servers: ServerStarter, postgres: Cluster) -> Iterator[StartPair]:
    """What starts a pair, whose model is a scripted one if that is given."""
    with OneAddress() as address:

        def start(model: ScriptedServer | None = None) -> Pair:
            env = {"PROWESS_DATABASE": database, "PROWESS_TOKEN": TOKEN}
            options = ["--public-url", address.origin]
            if model is not None:
                env |= {"PROWESS_MODEL_URL": model.url, "OPENAI_API_KEY": "none"}
                options += ["--model", "openai-chat:scripted"]
            first, second = (servers.start(*options, env=env) for _ in range(2))
            address.behind = [first.port, second.port]
            return Pair(first, second, address.origin)

        database = postgres.make_database()
        yield start


def follow(server: RunningServer, chat: str, *, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the records of a conversation as a program gets them."""
    with (
        server.client() as client,
        client.stream("GET", f"/api/conversations/{chat}/events", params={"after": after}) as response,
    ):
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line[6:])


def tell(server: RunningServer, chat: str, text: str) -> httpx.Response:
    with server.client() as client:
        return client.post(f"/api/conversations/{chat}/messages", json={"text": text})


def history(server: RunningServer, chat: str) -> list[dict[str, Any]]:
    with server.client() as client:
        return client.get(f"/api/conversations/{chat}/history").json()["events"]


def count(events: list[dict[str, Any]], kind: str) -> int:
    return sum(event["event"] == kind for event in events)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_answer_goes_on_elsewhere_when_its_server_ends_in_the_middle(
    browser: Browser, start_pair: StartPair, model: ScriptedServer, number: int
) -> None:
    pair = start_pair(model)
    with Visitor.at(browser, pair.first) as visitor:
        visitor.expect_lost_connections()
        page = visitor.open_at(pair.origin, f"/login?token={TOKEN}")
        page.fill("#message", "Tell me.")
        page.keyboard.press("Enter")
        expect(page.locator("#blocks")).to_contain_text(FIRST.strip())
        chat = page.url.rpartition("/")[2]
        pair.first.process.send_signal(number)
        pair.first.process.wait(60)
        expect(page.locator("#blocks")).to_contain_text(SECOND)
        expect(page.locator("#send")).to_be_visible()
        shown = page.locator("#blocks").inner_text()
        assert [shown.count(part.strip()) for part in ("Tell me.", FIRST, SECOND)] == [1, 1, 1]
    events = history(pair.second, chat)
    assert [count(events, kind) for kind in ("begun", "asked", "resumed", "answer", "done")] == [1, 1, 1, 1, 1]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["text"] == FIRST + SECOND
    assert len(model.requests) == 2


def test_unfinished_answer_is_seen_from_the_other_server_and_stopped_there(
    start_pair: StartPair, model: ScriptedServer
) -> None:
    pair = start_pair(model)
    assert tell(pair.first, "chat", "Tell me.").status_code == 202
    assert tell(pair.second, "chat", "And this.").json()["error"]["code"] == "chat-busy"
    with (
        pair.second.client() as client,
        client.stream("GET", "/api/conversations/chat/events", params={"form": "blocks"}) as response,
    ):
        lines = response.iter_lines()
        assert any(FIRST.strip() in line for line in lines)
        with pair.second.client() as other:
            assert other.post("/api/conversations/chat/cancel").json() == {"cancelled": True}
        assert any('"busy":false' in line for line in lines)
    (done,) = [event for event in history(pair.second, "chat") if event["event"] == "done"]
    assert done["outcome"] == "cancelled"


@pytest.mark.requirement("K1", "R126")
def test_question_is_answered_at_the_other_server_and_only_once(home: Home, start_pair: StartPair) -> None:
    home.write_settings(ONLY_MINE)
    write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls. Use for walls.")
    pair = start_pair()
    assert tell(pair.first, "chat", "/painting Paint the wall.").status_code == 202
    question = next(event for event in follow(pair.second, "chat") if event["event"] == "question")
    path = f"/api/conversations/chat/questions/{question['question']}"
    with pair.second.client() as there, pair.first.client() as here:
        first = there.post(path, json={"answer": "allow-for-session"})
        second = here.post(path, json={"answer": "refuse"})
    assert (first.status_code, first.json()) == (200, {"answer": "allow-for-session"})
    assert (second.status_code, second.json()["error"]["code"]) == (409, "question-answered")
    assert next(event for event in follow(pair.second, "chat") if event["event"] == "done")["outcome"] == "answered"
    with pair.second.client() as client:
        active = client.get("/api/conversations/chat").json()["active"]
    assert [skill["name"] for skill in active] == ["painting"]


@pytest.mark.requirement("R126")
@pytest.mark.parametrize(("answer", "decision"), [("allow-always", "allow"), ("refuse", "refuse")])
def test_question_of_a_server_that_was_killed_can_be_answered_at_the_other(
    home: Home, start_pair: StartPair, answer: str, decision: str
) -> None:
    home.write_settings(ONLY_MINE)
    write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls. Use for walls.")
    pair = start_pair()
    tell(pair.first, "chat", "/painting Paint the wall.")
    path = "/api/conversations/chat/questions"
    with pair.second.client() as client:
        while not (questions := client.get(path).json()["questions"]):
            time.sleep(0.05)
        pair.first.process.kill()
        pair.first.process.wait(60)
        path = f"{path}/{questions[0]['id']}"
        assert client.post(path, json={"answer": answer}).status_code == 200
        next(event for event in follow(pair.second, "chat") if event["event"] == "done")
        grants = client.get("/api/grants").json()["grants"]
    events = history(pair.second, "chat")
    assert [event["answer"] for event in events if event["event"] == "consent"] == [answer]
    assert [(grant["decision"], grant["scope"]) for grant in grants] == [(decision, "always")]


def test_switch_set_at_one_server_counts_at_the_other(start_pair: StartPair) -> None:
    pair = start_pair()
    with pair.first.client() as here, pair.second.client() as there:
        assert here.put("/api/skills/core--scheduling/switch", json={"position": "off"}).status_code == 200
        rows = {row["id"]: row for row in there.get("/api/skills").json()["skills"]}
    assert rows["core:scheduling"]["enabled"] is False


def test_call_that_was_under_way_is_not_made_twice(home: Home, start_pair: StartPair) -> None:
    """The server dies while a script runs: the model is told so, and decides."""
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n[execution]\nconsent = "never"\n')
    write_skill(
        home.path / ".agents" / "skills",
        "painting",
        description="Paints walls. Use for walls.",
        files={"scripts/paint.sh": "#!/bin/sh\necho painting\nsleep 30\n"},
    )

    def script(body: dict[str, Any]) -> Reply:
        told = str(body["messages"])
        if "may stand" in told:
            return say("I was interrupted.")
        return call("run_skill_script", {"name": "painting", "script": "scripts/paint.sh"})

    with ScriptedServer(script) as model:
        pair = start_pair(model)
        tell(pair.first, "chat", "Paint.")
        next(event for event in follow(pair.first, "chat") if event["event"] == "output")
        pair.first.process.kill()
        pair.first.process.wait(60)
        done = next(event for event in follow(pair.second, "chat") if event["event"] == "done")
        assert (done["text"], done["outcome"]) == ("I was interrupted.", "answered")
        events = history(pair.second, "chat")
        assert [count(events, kind) for kind in ("call", "result", "begun", "done")] == [1, 1, 1, 1]
        assert [event["state"] for event in events if event["event"] == "result"] == ["cancelled"]
        assert len(model.requests) == 2
