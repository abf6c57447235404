"""What a program that talks with a real server can rely on."""

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.server import ServerStarter

pytestmark = pytest.mark.slow
_ONE = "/api/conversations/chat"
_EVENTS = {"Accept": "text/event-stream"}
_PATIENCE_SECONDS = 60.0


@pytest.fixture
def client(home: Home, servers: ServerStarter) -> Iterator[httpx.Client]:
    """A program that is logged in; it is asked before a skill is activated."""
    home.write_settings(ONLY_MINE)
    write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls. Use for walls.")
    with servers.start().client() as client:
        yield client


def _say(client: httpx.Client, text: str) -> None:
    """Say something, and wait until it is answered."""
    stream = client.post(f"{_ONE}/messages", json={"text": text}, headers=_EVENTS).text
    assert "event: done" in stream


def _hear(client: httpx.Client, *, dones: int, most: int = 0, after: int = 0, last_id: str = "") -> Iterator[str]:
    """Yield the ids of written events until so many turns are done, or so many events were heard; then break off."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with client.stream("GET", f"{_ONE}/events", params={"after": after}, headers=headers) as stream:
        heard, fields = 0, dict[str, str]()
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
                continue
            if "id" in fields:
                assert json.loads(fields["data"])["number"] == int(fields["id"])
                heard += 1
                yield fields["id"]
            dones -= fields.get("event") == "done"
            fields = {}
            if not dones or (most and heard == most):
                return


def _history(client: httpx.Client) -> list[dict[str, Any]]:
    return client.get(f"{_ONE}/history").json()["events"]


@pytest.mark.requirement("R129")
@pytest.mark.parametrize("way", ["header", "parameter", "both"])
def test_stream_that_is_broken_off_and_continued_gives_each_event_once(client: httpx.Client, way: str) -> None:
    _say(client, "hello")
    _say(client, "and once more")
    written = [str(event["number"]) for event in _history(client)]
    assert len(written) > 3
    heard = list(_hear(client, dones=2, most=2))
    while heard[-1] != written[-1]:
        last = heard[-1]
        # What browsers send by themselves counts more than what the address said at first.
        after = {"header": 0, "parameter": int(last), "both": 1}[way]
        heard += _hear(client, dones=2, most=1, after=after, last_id="" if way == "parameter" else last)
    assert heard == written


def test_stream_that_is_continued_before_something_is_said_hears_that_alone(client: httpx.Client) -> None:
    _say(client, "hello")
    first = list(_hear(client, dones=1))
    _say(client, "and once more")
    second = list(_hear(client, dones=1, last_id=first[-1]))
    assert first + second == [str(event["number"]) for event in _history(client)]


@pytest.mark.requirement("R129")
@pytest.mark.parametrize(("answer", "asked"), [("refuse", 1), ("refuse-once", 2)])
def test_refusal_counts_for_the_next_call_unless_it_was_for_once(client: httpx.Client, answer: str, asked: int) -> None:
    for _ in range(2):
        client.post(f"{_ONE}/messages", json={"text": "/painting the wall"})
        _answer_all(client, answer)
    kinds = [event["event"] for event in _history(client)]
    assert (kinds.count("consent"), kinds.count("done")) == (asked, 2)
    assert client.get(_ONE).json()["active"] == []
    grants = [grant["decision"] for grant in client.get("/api/grants").json()["grants"]]
    assert grants == (["refuse"] if answer == "refuse" else [])


def _answer_all(client: httpx.Client, answer: str) -> None:
    """Answer each question of a turn, until that is done."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while client.get(_ONE).json()["busy"]:
        assert time.monotonic() < until
        for question in client.get(f"{_ONE}/questions").json()["questions"]:
            client.post(f"{_ONE}/questions/{question['id']}", json={"answer": answer})
        time.sleep(0.05)


def test_page_and_interface_agree_on_what_names_a_conversation(client: httpx.Client) -> None:
    for name in ("%20x%20", "x%0ay", "x" * 201):
        assert client.get(f"/chat/{name}").status_code == 400
        told = client.get(f"/api/conversations/{name}")
        assert (told.status_code, told.json()["error"]["code"]) == (400, "bad-conversation")


def test_answer_to_a_renaming_is_the_title_that_counts(client: httpx.Client) -> None:
    _say(client, "hello there")
    for given, title in (("Walls\nof it", "Walls"), ("  ", "hello there"), ("Fences", "Fences"), ("", "hello there")):
        assert client.patch(_ONE, json={"title": given}).json() == {"id": "chat", "title": title}
        assert [one["title"] for one in client.get("/api/conversations").json()["conversations"]] == [title]
    client.post(f"{_ONE}/messages", json={"text": "/painting the wall"})
    assert client.patch(_ONE, json={"title": "While it is answered"}).json()["title"] == "While it is answered"
    assert client.get(_ONE).json()["title"] == "While it is answered"
    _answer_all(client, "refuse-once")


@pytest.mark.parametrize("name", ["team/monday", "../up", "100%", "a%2Fb", "日本/語"])
def test_conversation_is_reached_whatever_its_name(client: httpx.Client, name: str) -> None:
    quoted = quote(name, safe="")
    said = client.post(f"/api/conversations/{quoted}/messages", json={"text": "hello"}, headers=_EVENTS).text
    assert "event: done" in said
    assert client.get(f"/api/conversations/{quoted}").json()["id"] == name
    assert f'href="/chat/{quoted}"' in client.get("/").text
    assert "You said" in client.get(f"/chat/{quoted}").text
    assert client.delete(f"/api/conversations/{quoted}").json() == {"deleted": True}


def test_as_many_conversations_are_listed_as_are_asked_for(client: httpx.Client) -> None:
    for name in ("a", "b", "c"):
        client.post(f"/api/conversations/{name}/messages", json={"text": "hello"}, headers=_EVENTS)
    for query in ("", "hello"):
        listed = client.get("/api/conversations", params={"limit": 2, "query": query}).json()["conversations"]
        assert [one["id"] for one in listed] == ["c", "b"]
    assert client.get("/api/conversations", params={"limit": 1_001}).status_code == 400
