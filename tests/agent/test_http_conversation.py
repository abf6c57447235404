"""Conversations over real HTTP: the agent, a provider's library and a server with a script, all of it as in use."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from prowess.agent.agent import Agent
from prowess.agent.chat import Chat
from prowess.agent.cuts import SUMMARISE
from prowess.agent.events import (
    Answered,
    CallBegun,
    CallEnded,
    Compacted,
    Done,
    Failed,
    Happening,
    Noticed,
    Retried,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
)
from prowess.agent.messages import AssistantMessage, UserMessage
from prowess.agent.model_choice import open_model
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome, TokenUse
from tests.agent.conftest import OPEN
from tests.agent.conversations import find, hear, told
from tests.agent.openai_server import (
    Received,
    Reply,
    Script,
    ScriptedServer,
    break_off,
    call,
    fail,
    garbage,
    hang,
    say,
    think,
    trail_off,
)
from tests.runtime.opening import run_python
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow

MODEL = "openai-chat:test-model"
HURRY = "[turns]\nattempts = 2\n"
ACTIVATE = call("activate_skill", {"name": "painting"})


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no proxy of a developer counts."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def serving(home: Home, script: Script, *, settings: str = "") -> Generator[ScriptedServer]:
    """Serve a model that the settings name."""
    with ScriptedServer(script) as server:
        home.write_settings(f'model = "{MODEL}"\nmodel_url = "{server.url}"\n{OPEN}{settings}')
        yield server


def talk(*messages: str, then: Callable[[Chat], object] | None = None) -> list[Happening]:
    """Say these things in one conversation, as a program would; return all that happens."""

    async def lead() -> list[Happening]:
        with Runtime.open() as runtime:
            async with Agent(runtime, model=MODEL) as agent:
                chat = agent.chat("chat")
                found = [happening for message in messages for happening in await hear(chat, message)]
                if then is not None:
                    then(chat)
                return found

    return anyio.run(lead)


def heard(happenings: Sequence[Happening]) -> str:
    """Return all pieces of text in the order in which they came."""
    return "|".join(event.text for event in find(happenings, TextHeard))


def outcomes() -> list[Outcome | None]:
    """Return how the turns of the conversation ended, the first first."""
    with Runtime.open() as runtime:
        return [turn.outcome for turn in runtime.turns("chat")][::-1]


# What is said and called


def test_answer_comes_piece_by_piece(home: Home, root: Path) -> None:
    with serving(home, [think("Hm, hm.") + say("Hello, world.")]) as server:
        happenings = talk("Hi.")
    assert heard(happenings) == "Hello,| world|."
    assert "".join(event.text for event in find(happenings, ThinkingHeard)) == "Hm, hm."
    assert told(happenings).text == "Hello, world."
    (body,) = server.bodies
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == "Hi."
    assert (body["model"], body["stream"]) == ("test-model", True)
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["activate_skill", "read_skill_resource", "search_skills", "deactivate_skill"]


@pytest.mark.requirement("R64")
def test_skill_is_activated_by_a_call_and_its_instructions_go_back(home: Home, root: Path) -> None:
    with serving(home, [say("I look. ") + ACTIVATE, say("Painted.")]) as server:
        happenings = talk("Paint my wall.")
    (ended,) = find(happenings, CallEnded)
    assert (ended.state, ended.call, len(find(happenings, SkillLoaded))) == ("done", "call_1", 1)
    assistant, result = server.bodies[1]["messages"][2:]
    (made,) = assistant["tool_calls"]
    assert (made["id"], made["function"]["name"]) == ("call_1", "activate_skill")
    assert json.loads(made["function"]["arguments"]) == {"name": "painting"}
    assert assistant["content"] == "I look. "
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "call_1", ended.content)
    assert "Paint with red." in result["content"]
    assert told(happenings).text == "Painted."


def test_two_calls_in_one_answer_are_both_made_in_their_order(home: Home, root: Path) -> None:
    write_skill(root, "baking", description="Bakes bread.", body="Bake with rye.\n")
    both = ACTIVATE + call("activate_skill", {"name": "baking"})
    with serving(home, [both, say("Both are on.")]) as server:
        happenings = talk("Paint and bake.")
    kinds = [type(one.event).__name__ for one in happenings if isinstance(one.event, CallBegun | CallEnded)]
    assert kinds == ["CallBegun", "CallEnded", "CallBegun", "CallEnded"]
    results = server.bodies[1]["messages"][3:]
    assert [result["tool_call_id"] for result in results] == ["call_1", "call_2"]
    assert "Paint with red." in results[0]["content"]
    assert "Bake with rye." in results[1]["content"]


def test_arguments_that_come_in_pieces_are_put_together(home: Home, root: Path) -> None:
    name = "größe-" * 8
    with serving(home, [call("search_skills", json.dumps({"query": name}, ensure_ascii=False)), say("None.")]):
        happenings = talk("Search.")
    assert [event.arguments for event in find(happenings, CallBegun)] == [{"query": name}]
    assert [event.state for event in find(happenings, CallEnded)] == ["done"]


def test_model_corrects_broken_arguments_and_unknown_tools_after_the_error(home: Home, root: Path) -> None:
    script = [call("activate_skill", '{"name": "pain'), call("activate", {"name": "painting"}), ACTIVATE, say("So.")]
    with serving(home, script) as server:
        happenings = talk("Paint.")
    assert [(event.tool, event.state) for event in find(happenings, CallEnded)] == [
        ("activate_skill", "failed"),
        ("activate", "failed"),
        ("activate_skill", "done"),
    ]
    results = [message["content"] for message in server.bodies[3]["messages"] if message["role"] == "tool"]
    assert results[0].startswith("activate_skill: the arguments are not valid JSON")
    assert results[1].startswith("Unknown tool: activate\n")
    assert told(happenings) == Done(text="So.", use=TokenUse(4, 40, 20), steps=4, seconds=told(happenings).seconds)


# What goes wrong


def test_limited_rate_is_waited_for_and_gives_one_answer(home: Home, root: Path) -> None:
    with serving(home, [fail(429, message="Slow down.", retry_after=0), say("Hello.")]) as server:
        happenings = talk("Hi.")
    (retried,) = find(happenings, Retried)
    assert (retried.attempt, retried.seconds) == (2, 0.0)
    assert "limits the rate: status 429, Slow down." in retried.reason
    assert [event.text for event in find(happenings, Answered)] == ["Hello."]
    assert server.requests[0].data == server.requests[1].data


def test_failing_provider_is_told_plainly_and_the_next_message_works(home: Home, root: Path) -> None:
    broken = fail(500, message="The oven is cold.", retry_after=0)
    with serving(home, [broken, broken, say("Hello.")], settings=HURRY) as server:
        happenings = talk("Hi.", "And now?")
    (failed,) = find(happenings, Failed)
    assert (failed.code, failed.hint) == ("model-failed", "try again later, or use another model")
    assert failed.message == (f"model '{MODEL}': {server.url} failed: status 500, The oven is cold. (asked 2 times)")
    assert [event.outcome for event in find(happenings, Done)] == [Outcome.FAILED, Outcome.ANSWERED]
    assert outcomes() == [Outcome.FAILED, Outcome.ANSWERED]
    assert [message["content"] for message in server.bodies[2]["messages"][1:]] == ["Hi.", "And now?"]


def test_refused_key_is_told_and_not_tried_again(home: Home, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-word-of-mine")
    with serving(home, [fail(401, message="Incorrect API key: sk-secret-word-of-mine.")]) as server:
        (failed,) = find(talk("Hi."), Failed)
    assert failed.code == "model-refused"
    assert "OPENAI_API_KEY" in failed.hint
    assert "secret-word" not in failed.message
    assert len(server.requests) == 1


def test_failure_between_two_calls_keeps_what_was_done(home: Home, root: Path) -> None:
    broken = fail(503, retry_after=0)
    with serving(home, [ACTIVATE, broken, broken, say("Painted.")], settings=HURRY) as server:
        happenings = talk("Paint.", "Go on.")
    assert [event.code for event in find(happenings, Failed)] == ["model-failed"]
    assert [message["role"] for message in server.bodies[3]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert "Paint with red." in server.bodies[3]["messages"][3]["content"]


@pytest.mark.parametrize("script", [[hang(), hang()], [say("Hel") + hang(), say("Hel") + hang()]])
def test_silent_provider_is_given_up_after_its_time(home: Home, root: Path, script: list[Reply]) -> None:
    settings = "[turns]\nattempts = 2\nrequest_seconds = 1\n"
    with serving(home, [*script, say("Hello.")], settings=settings) as server:
        happenings = talk("Hi.", "And now?")
        assert all(request.gone.wait(10) for request in server.requests[:2])
    (failed,) = find(happenings, Failed)
    assert (failed.code, len(find(happenings, Retried))) == ("model-timeout", 1)
    assert "for 1 seconds" in failed.message
    assert told(happenings).text == "Hello."
    assert [message["content"] for message in server.bodies[2]["messages"][1:]] == ["Hi.", "And now?"]


@pytest.mark.parametrize(
    "broken",
    [break_off("Half an "), trail_off("Half an "), break_off(), say("Half an ") + garbage(b"data: {nonsense\n\n")],
)
def test_answer_that_breaks_off_is_asked_for_again_and_counts_once(home: Home, root: Path, broken: Reply) -> None:
    with serving(home, [broken, say("A whole answer.")], settings=HURRY):
        happenings = talk("Hi.")
    assert len(find(happenings, Retried)) == 1
    assert [event.text for event in find(happenings, Answered)] == ["A whole answer."]
    assert told(happenings).text == "A whole answer."


def test_answer_that_keeps_breaking_off_fails_and_leaves_nothing_of_itself(home: Home, root: Path) -> None:
    script = [break_off("Half an "), break_off("Half an "), say("Hello.")]
    with serving(home, script, settings=HURRY) as server:
        happenings = talk("Hi.", "And now?")
    (failed,) = find(happenings, Failed)
    assert failed.code == "model-broken"
    assert "broke off in its answer" in failed.message
    assert [message["content"] for message in server.bodies[2]["messages"][1:]] == ["Hi.", "And now?"]


def test_answer_of_nothing_is_noticed_and_the_next_message_works(home: Home, root: Path) -> None:
    with serving(home, [Reply(), say("Hello.")]) as server:
        happenings = talk("Hi.", "And now?")
    assert [event.text for event in find(happenings, Noticed)] == ["the model gave an empty answer"]
    assert told(happenings).text == "Hello."
    assert len(server.requests) == 2


def test_server_that_is_not_there_is_told(home: Home, root: Path) -> None:
    with ScriptedServer([]) as server:
        url = server.url
    home.write_settings(f'model = "{MODEL}"\nmodel_url = "{url}"\n{OPEN}[turns]\nattempts = 1\n')
    (failed,) = find(talk("Hi."), Failed)
    assert failed.code == "model-unreachable"
    assert url in failed.message


# Cancelling


def test_cancelled_answer_ends_at_the_server_and_stays_as_far_as_it_was_heard(home: Home, root: Path) -> None:
    async def lead() -> list[Happening]:
        found: list[Happening] = []
        with Runtime.open() as runtime:
            async with Agent(runtime) as agent:
                chat = agent.chat("chat")
                async for happening in chat.stream("Hi."):
                    found.append(happening)
                    if isinstance(happening.event, TextHeard) and happening.event.text == "er":
                        assert chat.cancel()
                assert await anyio.to_thread.run_sync(server.requests[0].gone.wait, 10)
                return [*found, *await hear(chat, "Go on.")]

    with serving(home, [say("Half an answer") + hang(), say("Well.")]) as server:
        happenings = anyio.run(lead)
    first, second = find(happenings, Done)
    assert (first.outcome, first.text, second.text) == (Outcome.CANCELLED, "Half an answer", "Well.")
    assert [message["content"] for message in server.bodies[1]["messages"][1:]] == ["Hi.", "Half an answer", "Go on."]


def test_cancelled_call_is_not_made(home: Home, root: Path) -> None:
    """The arguments have not come to their end, so there is nothing to call."""

    async def lead() -> list[Happening]:
        with Runtime.open() as runtime:
            async with Agent(runtime) as agent:
                chat = agent.chat("chat")
                async with anyio.create_task_group() as group:

                    async def listen() -> None:
                        await hear(chat, "Paint.")

                    group.start_soon(listen)
                    assert await anyio.to_thread.run_sync(server.asked.wait, 10)
                    await anyio.sleep(0.3)
                    chat.cancel()
                return await hear(chat, "Go on.")

    with serving(home, [ACTIVATE + hang(), say("Well.")]) as server:
        happenings = anyio.run(lead)
    assert told(happenings).text == "Well."
    assert [message["content"] for message in server.bodies[1]["messages"][1:]] == ["Paint.", "Go on."]
    assert outcomes() == [Outcome.CANCELLED, Outcome.ANSWERED]


# Long conversations


def test_request_that_is_too_long_is_answered_after_compaction(home: Home, root: Path) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        if body["messages"][0]["content"] == SUMMARISE:
            return say("They greeted each other.").using(input=50, output=8)
        if len(body["messages"]) > 5:
            return fail(400, code="context_length_exceeded", message="This model's maximum context length is 9.")
        return say("Yes.")

    with serving(home, answer) as server:
        happenings = talk("One.", "/painting Two.", "Three.")
    (event,) = find(happenings, Compacted)
    assert (event.by, event.summary) == ("model", "They greeted each other.")
    assert event.use == TokenUse(1, 50, 8)
    assert find(happenings, Failed) == []
    refused, summing, asked = server.bodies[2:]
    assert len(refused["messages"]) == 6
    assert [message["role"] for message in summing["messages"]] == ["system", "user"]
    assert "tools" not in summing
    assert "Paint with red." not in json.dumps(summing)
    assert [message["role"] for message in asked["messages"]][:2] == ["system", "user"]
    assert "They greeted each other." in asked["messages"][1]["content"]
    assert json.dumps(asked).count("Paint with red.") == 1
    assert asked["messages"][-1]["content"] == "Three."


# Other models


def test_other_model_goes_on_with_the_conversation(home: Home, root: Path) -> None:
    async def lead() -> list[Happening]:
        with Runtime.open() as runtime:
            async with Agent(runtime) as agent:
                chat = agent.chat("chat")
                found = await hear(chat, "Paint.")
                for url, name in ((server.url, "second"), (other.url, "third")):
                    model = open_model(f"openai-chat:{name}", url=url)
                    chat.use_model(model)
                    found += await hear(chat, f"And you, {name}?")
                    await model.close()
                return found

    script = [think("Hm.") + ACTIVATE, think("So.") + say("Painted."), say("I am the second.")]
    with serving(home, script) as server, ScriptedServer([say("I am the third.")]) as other:
        happenings = anyio.run(lead)
    assert [event.text for event in find(happenings, Done)] == ["Painted.", "I am the second.", "I am the third."]
    assert [body["model"] for body in (*server.bodies, *other.bodies)] == [
        "test-model",
        "test-model",
        "second",
        "third",
    ]
    said = [(one["role"], one.get("content")) for one in other.bodies[0]["messages"]]
    assert said[1] == ("user", "Paint.")
    assert [role for role, _ in said[2:]] == ["assistant", "tool", "assistant", "user", "assistant", "user"]
    assert "Hm." not in json.dumps(other.bodies)
    with Runtime.open() as runtime:
        assert [turn.model for turn in runtime.turns("chat")][::-1] == [
            MODEL,
            "openai-chat:second",
            "openai-chat:third",
        ]
        assert runtime.conversations()[0].model == "openai-chat:third"


def test_receipts_have_what_the_provider_counts_and_charges(home: Home, root: Path) -> None:
    script = [
        ACTIVATE.using(input=1_000, output=20, cached=200).calling_itself("gpt-4o"),
        say("Painted.").using(input=2_000, output=30, cached=1_000).calling_itself("gpt-4o"),
    ]
    with serving(home, script):
        done = told(talk("Paint."))
        with Runtime.open() as runtime:
            (turn,) = runtime.turns("chat")
            (usage,) = runtime.model_usage()
    assert done.use.cost_usd is not None
    assert done.use.cost_usd > 0
    assert turn.use == done.use == TokenUse(2, 3_000, 50, 1_200, done.use.cost_usd)
    assert (usage.model, usage.turns, usage.use) == (MODEL, 1, turn.use)


# The beginning of a prompt


def find_span(received: Received, key: str) -> bytes:
    """Return the bytes of a field of a request's body."""
    text = received.data.decode()
    start = text.index(f'"{key}":') + len(key) + 3
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end].encode()


def assert_shared_beginnings(requests: Sequence[Received]) -> None:
    """Assert that each request begins, byte for byte, as the one before it went."""
    for before, after in pairwise(requests):
        messages = find_span(before, "messages")
        assert find_span(after, "messages").startswith(messages.removesuffix(b"]") + b",")


SAY_MORE = """
import anyio
from prowess import Agent
async def talk():
    async with Agent(runtime) as agent:
        for message in sys.argv[1:]:
            print((await agent.chat("chat").say(message)).text)
with Runtime.open() as runtime:
    anyio.run(talk)
"""


@pytest.mark.requirement("K11")
def test_requests_share_their_beginnings_byte_for_byte_also_in_another_process(home: Home, root: Path) -> None:
    write_skill(root, "größe", description="Größen & <Maße>. Use for „sizes“ 😀.", body="Miß alles.\n")

    def answer(body: dict[str, Any]) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "user" and "Please activate" in last["content"]:
            return think("Hm.") + say("Gern. ") + ACTIVATE + call("activate_skill", '{"name":"größe"}')
        return say("Ja, 😀 sehr gern.\n")

    with serving(home, answer) as server:
        talk("Hi.", "Please activate both.", "/größe 5 und <b>6</b>", "Thanks.")
        assert (
            run_python(SAY_MORE, "And now?", "Please activate both again.", "And then?") == "Ja, 😀 sehr gern.\n\n" * 3
        )
        talk("Goodbye.")
    assert len(server.requests) == 10
    assert_shared_beginnings(server.requests)
    assert len({find_span(request, "tools") for request in server.requests}) == 1


@pytest.mark.requirement("K11")
def test_catalog_that_changes_in_a_process_leaves_the_beginning_as_it_was(home: Home, root: Path) -> None:
    with serving(home, lambda _: say("Yes.")) as server:
        talk("Hi.", then=lambda _: write_skill(root, "baking", description="Bakes bread."))
        before = server.requests[0]

        async def lead() -> None:
            with Runtime.open() as runtime:
                async with Agent(runtime) as agent:
                    chat = agent.chat("other")
                    await hear(chat, "Hi.")
                    write_skill(root, "sewing", description="Sews coats.")
                    await hear(chat, "And now?")
                    (root / "sewing" / "SKILL.md").unlink()
                    await hear(chat, "And then?")

        anyio.run(lead)
    assert find_span(before, "messages") != find_span(server.requests[1], "messages")
    assert_shared_beginnings(server.requests[1:])
    assert "Sews coats." in server.bodies[2]["messages"][-1]["content"]


def test_conversation_after_a_reload_is_the_same_for_the_model(home: Home, root: Path) -> None:
    seen: list[tuple[Any, ...]] = []
    with serving(home, [think("Hm.") + ACTIVATE, say("Painted."), say("Yes.")]):
        talk("Paint.", then=lambda chat: seen.append(chat.messages()))
        talk("More?", then=lambda chat: seen.append(chat.messages()))
    first, second = seen
    assert second[: len(first)] == first
    assert all("Hm." in one.native for one in first if isinstance(one, AssistantMessage) and one.calls)
    more, yes = second[len(first) :]
    assert (type(more), more.text, type(yes), yes.text) == (UserMessage, "More?", AssistantMessage, "Yes.")
