"""A model of a provider, asked over real HTTP: what is sent, and what is heard."""

import asyncio
import json
from contextlib import aclosing, suppress
from copy import deepcopy
from typing import Any

import pytest

from prowess.activation.tools import Role, Tool, make_tools
from prowess.agent.chat_model import CallPiece, ChatModel, FinishPiece, Piece, RetryPiece, TextPiece, ThinkingPiece
from prowess.agent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from prowess.agent.providers.provider_model import ProviderModel
from prowess.policy import ToolSet
from prowess.state.conversations import TokenUse
from tests.agent.openai_server import Reply, ScriptedServer, call, fail, hang, say, think
from tests.agent.providers.asking import ask, find, make_model, make_request, read_text, remember

pytestmark = pytest.mark.slow
_NAME = "openai-chat:scripted"


def test_text_comes_as_it_is_written() -> None:
    with ScriptedServer([say("Hello there, friend.")]) as server:
        pieces = ask(make_model(_NAME, url=server.url))
    assert [piece.text for piece in find(pieces, TextPiece)] == ["Hello ", "there,", " frien", "d."]
    assert isinstance(pieces[-1], FinishPiece)
    assert not pieces[-1].cut


def test_first_words_are_heard_before_the_answer_is_whole() -> None:
    async def listen() -> None:
        model = make_model(_NAME, url=server.url)
        async with aclosing(model.stream(make_request())) as pieces:
            assert await anext(pieces) == TextPiece("Hello ")
            assert not server.requests[0].answered.is_set()
        await model.close()

    with ScriptedServer([say("Hello ") + hang() + say("there")]) as server:
        asyncio.run(listen())


def test_thinking_is_told_apart() -> None:
    with ScriptedServer([think("Hm, let me see.") + say("Yes.")]) as server:
        pieces = ask(make_model(_NAME, url=server.url))
    assert [piece.text for piece in find(pieces, ThinkingPiece)] == ["Hm, le", "t me s", "ee."]
    assert read_text(pieces) == "Yes."


def test_calls_come_whole_and_in_order_with_text_before_them() -> None:
    long = {"path": "references/a-rather-long-file-name.md", "lines": "1-200"}
    script = say("I'll look. ") + call("read", long, id="call_a") + call("search", '{"query": "tables"}', id="call_b")
    with ScriptedServer([script]) as server:
        pieces = ask(make_model(_NAME, url=server.url))
    assert read_text(pieces) == "I'll look. "
    assert [piece.call for piece in find(pieces, CallPiece)] == [
        ToolCall("call_a", "read", json.dumps(long)),
        ToolCall("call_b", "search", '{"query": "tables"}'),
    ]
    assert [type(piece) for piece in pieces[-3:]] == [CallPiece, CallPiece, FinishPiece]


def test_every_call_has_an_id_of_its_own() -> None:
    script = call("a", id="") + call("b", id="same") + call("c", id="same") + call("d", id="old")
    before = (
        UserMessage("Hello"),
        AssistantMessage("", (ToolCall("old", "a", "{}"),)),
        ToolMessage("old", "a", "done"),
        UserMessage("And?"),
    )
    with ScriptedServer([script]) as server:
        pieces = ask(make_model(_NAME, url=server.url), make_request(*before))
    ids = [piece.call.id for piece in find(pieces, CallPiece)]
    assert ids[1] == "same"
    assert all(ids)
    assert len({*ids, "old"}) == 5


@pytest.mark.parametrize("raw", ['{"name": "pdf', "not json", "", "[1, 2]", '{"a": "\\ud83d"}', "null", "{'a': 1}"])
def test_broken_arguments_reach_us_as_written_and_can_be_sent_back(raw: str) -> None:
    with ScriptedServer([call("read", raw, id="call_x"), say("Sorry.")]) as server:
        heard = ask(make_model(_NAME, url=server.url))
        (called,) = find(heard, CallPiece)
        assert called.call == ToolCall("call_x", "read", raw or "{}")
        answer = remember(heard, AssistantMessage("", (called.call,)))
        told = make_request(UserMessage("Hello"), answer, ToolMessage("call_x", "read", "bad arguments", is_error=True))
        assert read_text(ask(make_model(_NAME, url=server.url), told)) == "Sorry."
    sent = server.bodies[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[3] == {"role": "tool", "tool_call_id": "call_x", "content": "bad arguments"}


def test_use_is_counted_with_what_came_from_the_cache_and_what_it_costs() -> None:
    with ScriptedServer([say("Hi").using(input=1000, output=20, cached=800).calling_itself("gpt-4o")]) as server:
        (finish,) = find(ask(make_model("openai-chat:gpt-4o", url=server.url)), FinishPiece)
    assert finish.use.cost_usd is not None
    assert 0 < finish.use.cost_usd < 0.01
    assert finish.use == TokenUse(1, 1000, 20, 800, finish.use.cost_usd)


def test_price_that_nobody_knows_is_none() -> None:
    with ScriptedServer([say("Hi").using(input=7, output=2)]) as server:
        (finish,) = find(ask(make_model("openai-chat:llama-of-ours", url=server.url)), FinishPiece)
    assert finish.use == TokenUse(1, 7, 2, 0, None)


def test_answer_that_the_provider_ends_is_marked() -> None:
    with ScriptedServer([say("It begins").ending("length"), say("No m").ending("content_filter")]) as server:
        for _ in range(2):
            (finish,) = find(ask(make_model(_NAME, url=server.url)), FinishPiece)
            assert finish.cut


def test_empty_answer_is_an_answer() -> None:
    with ScriptedServer([Reply()]) as server:
        (finish,) = ask(make_model(_NAME, url=server.url))
    assert isinstance(finish, FinishPiece)


# What is sent


@pytest.mark.requirement("K11")
@pytest.mark.parametrize(
    "system",
    [
        "Be brief.",
        "  Two  spaces,\n\n\ttabs\r\nand an end \n",
        "<skills>\n  <skill>ü — 技能 🙂</skill>\n</skills>",
        "{x}",
    ],
)
def test_system_prompt_goes_first_and_unchanged_in_every_request(system: str) -> None:
    later = (UserMessage("Hello"), AssistantMessage("Hi."), UserMessage("And?"))
    with ScriptedServer([say("Hi."), say("So."), say("Yes.")]) as server:
        for messages in ((UserMessage("Hello"),), later, (*later, AssistantMessage("So."), UserMessage("Sure?"))):
            ask(make_model(_NAME, url=server.url), make_request(*messages, system=system))
    for body in server.bodies:
        assert body["messages"][0] == {"role": "system", "content": system}
    longest = server.bodies[-1]["messages"]
    assert all(body["messages"] == longest[: len(body["messages"])] for body in server.bodies)


def test_without_a_system_prompt_none_is_sent() -> None:
    with ScriptedServer([say("Hi.")]) as server:
        ask(make_model(_NAME, url=server.url), make_request(system=""))
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hello"}]


def test_context_comes_before_the_text_in_the_same_message() -> None:
    with ScriptedServer([say("Hi.")]) as server:
        ask(make_model(_NAME, url=server.url), make_request(UserMessage("Fill it.", context="<skill>pdf</skill>")))
    assert server.bodies[0]["messages"][1:] == [{"role": "user", "content": "<skill>pdf</skill>\n\nFill it."}]


def test_tools_go_out_by_names_that_providers_take_and_with_their_schemas_unchanged() -> None:
    odd: dict[str, Any] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title", "default": "x", "minLength": 1},
            "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "ref": {"$ref": "#/$defs/thing"},
        },
        "$defs": {"thing": {"type": "object", "additionalProperties": True}},
    }
    tools = (*make_tools(ToolSet.REMCOCHAT, names=["pdf"]), Tool("odd", Role.TOOLSET, "Odd", "An odd one.", odd))
    before = deepcopy(tools)
    with ScriptedServer([say("Hi.")]) as server:
        ask(make_model(_NAME, url=server.url), make_request(tools=tools))
    assert tools == before
    sent = [tool["function"] for tool in server.bodies[0]["tools"]]
    assert [tool["name"] for tool in sent] == ["skillsActivate", "skillsReadResource", "odd"]
    assert [tool["parameters"] for tool in sent[:2]] == [tool.schema for tool in tools[:2]]
    assert sent[2]["parameters"]["properties"]["title"] == {"type": "string", "default": "x", "minLength": 1}
    assert [tool["description"] for tool in sent] == [tool.description for tool in tools]
    assert all(set(tool) == {"name", "description", "parameters"} for tool in sent)


def test_server_of_ones_own_gets_a_placeholder_for_a_key() -> None:
    with ScriptedServer([say("Hi.")]) as server:
        ask(make_model(_NAME, url=server.url))
    assert server.requests[0].headers["authorization"] == "Bearer api-key-not-set"


def test_key_of_the_environment_is_sent_to_the_address_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-4d1f")
    with ScriptedServer([say("Hi.")]) as server:
        ask(make_model("openai:scripted", url=server.url))
    assert server.requests[0].headers["authorization"] == "Bearer secret-4d1f"
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("prefix", ["openai", "openai-chat", "ollama", "vllm", "litellm"])
def test_providers_of_servers_of_ones_own_are_asked_at_the_address_given(prefix: str) -> None:
    with ScriptedServer([say("Hi.")]) as server:
        assert read_text(ask(make_model(f"{prefix}:scripted", url=server.url))) == "Hi."
    assert server.bodies[0]["model"] == "scripted"


def test_address_in_the_environment_counts_without_one_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([say("Hi."), say("Ho.")]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert read_text(ask(make_model("ollama:scripted"))) == "Hi."
        assert read_text(ask(make_model("openai-chat:scripted"))) == "Ho."


# What goes back to a provider of what it said


def test_answer_goes_back_to_its_provider_with_what_only_that_understands() -> None:
    thought = think("Hm.") + say("Look. ") + call("read", {"a": 1}, id="call_a")
    with ScriptedServer([thought, say("Done.")]) as server:
        model = make_model(_NAME, url=server.url)
        heard = ask(model)
        answer = remember(heard, AssistantMessage("Look. ", (ToolCall("call_a", "read", '{"a": 1}'),)))
        ask(model, make_request(UserMessage("Hello"), answer, ToolMessage("call_a", "read", "text")))
    called = {"id": "call_a", "type": "function", "function": {"name": "read", "arguments": '{"a":1}'}}
    assert server.bodies[1]["messages"][2] == {
        "role": "assistant",
        "content": "Look. ",
        "reasoning_content": "Hm.",
        "tool_calls": [called],
    }


def test_answer_of_another_provider_is_put_together_from_text_and_calls() -> None:
    with ScriptedServer([think("Hm.") + say("Look.")]) as first, ScriptedServer([say("Done.")]) as second:
        answer = remember(ask(make_model(_NAME, url=first.url)), AssistantMessage("Look."))
        ask(make_model(_NAME, url=second.url), make_request(UserMessage("Hello"), answer, UserMessage("Go on")))
    assert second.bodies[0]["messages"][2] == {"role": "assistant", "content": "Look."}


def test_password_of_an_address_is_not_kept_with_the_answer() -> None:
    with ScriptedServer([say("Hi."), say("Ho.")]) as server:
        model = make_model(_NAME, url=server.url.replace("//", "//me:secret-4d1f@"))
        answer = remember(ask(model), AssistantMessage("Hi."))
        assert "secret-4d1f" not in answer.native
        ask(model, make_request(UserMessage("Hello"), answer, UserMessage("Go on")))


# Ending it


def test_cancelled_request_ends_at_the_server_at_once() -> None:
    async def cancel_while_it_hangs() -> None:
        model = make_model(_NAME, url=server.url)
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in model.stream(make_request()):
                heard.set()

        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert await asyncio.to_thread(server.requests[0].gone.wait, 10)
        await model.close()

    with ScriptedServer([say("Hel") + hang()]) as server:
        asyncio.run(cancel_while_it_hangs())


def test_request_that_is_cancelled_before_the_first_word_ends_as_well() -> None:
    async def cancel_before_it_speaks() -> None:
        model = make_model(_NAME, url=server.url)
        task = asyncio.create_task(anext(model.stream(make_request())))  # pyright: ignore[reportArgumentType]
        assert await asyncio.to_thread(server.asked.wait, 10)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert await asyncio.to_thread(server.requests[0].gone.wait, 10)
        await model.close()

    with ScriptedServer([hang()]) as server:
        asyncio.run(cancel_before_it_speaks())


def test_closed_generator_ends_the_request_at_the_server_at_once() -> None:
    async def close_while_it_hangs() -> None:
        model = make_model(_NAME, url=server.url)
        pieces = model.stream(make_request())
        assert await anext(pieces) == TextPiece("Hel")
        await pieces.aclose()
        assert await asyncio.to_thread(server.requests[0].gone.wait, 10)
        await model.close()

    with ScriptedServer([say("Hel") + hang()]) as server:
        asyncio.run(close_while_it_hangs())


def test_cancelled_wait_between_attempts_asks_no_more() -> None:
    async def cancel_in_between() -> None:
        model = ProviderModel(_NAME, url=server.url)
        retried = asyncio.Event()

        async def listen() -> None:
            async for piece in model.stream(make_request()):
                assert isinstance(piece, RetryPiece)
                retried.set()

        task = asyncio.create_task(listen())
        await retried.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await model.close()

    with ScriptedServer([fail(500)]) as server:
        asyncio.run(cancel_in_between())
    assert len(server.requests) == 1


def test_several_requests_of_one_model_go_on_at_once() -> None:
    async def ask_both() -> list[Piece]:
        model = make_model(_NAME, url=server.url)
        streams = [model.stream(make_request(UserMessage(text))) for text in ("first", "second")]
        begun = [await anext(pieces) for pieces in streams]
        assert not any(request.answered.is_set() or request.gone.is_set() for request in server.requests)
        for pieces in streams:
            await pieces.aclose()
        await model.close()
        return begun

    with ScriptedServer(lambda body: say(body["messages"][-1]["content"]) + hang()) as server:
        assert asyncio.run(ask_both()) == [TextPiece("first"), TextPiece("second")]


def test_model_can_be_used_in_one_event_loop_after_the_other_and_after_it_was_closed() -> None:
    with ScriptedServer([say("1"), say("2"), say("3")]) as server:
        model = make_model(_NAME, url=server.url)

        async def twice() -> list[str]:
            found: list[str] = []
            for _ in range(2):
                found.append(read_text([piece async for piece in model.stream(make_request())]))
                await model.close()
            return found

        assert asyncio.run(twice()) == ["1", "2"]
        assert read_text(ask(model)) == "3"


# What is known of it


def test_model_says_what_the_library_knows_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-4d1f")
    known: ChatModel = make_model("anthropic:claude-sonnet-4-6")
    unknown: ChatModel = make_model("ollama:of-ours")
    assert (known.name, known.calls_tools, known.summarises) == ("anthropic:claude-sonnet-4-6", True, True)
    assert (known.context_window or 0) >= 200_000
    assert (unknown.name, unknown.calls_tools, unknown.context_window) == ("ollama:of-ours", True, None)
