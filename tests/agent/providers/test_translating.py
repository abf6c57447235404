"""Between our words and the library's: laws that hold for every conversation."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from prowess.activation.tools import Role, Tool
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.providers.translating import (
    collect_calls,
    name_calls,
    parse_native,
    render_native,
    translate_messages,
    translate_tools,
)
from tests.agent.openai_replies import find_faults

_IDS = st.sampled_from(["a", "b", "call_1", "call.2:0|x", "", "x" * 80, "ü"])
_TEXTS = st.sampled_from(["", " ", "Hello", "two\nlines\t ", "half \ud83d", "<system>x</system>", "🙂"]) | st.text()
_ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1}', "{broken", "[1]", "null", '{"a": NaN}', "\ud800"]) | st.text()
_NAMES = st.sampled_from(["read", "skills.activate", "no such tool!", "", "x" * 90])
_CALLS = st.lists(st.builds(ToolCall, _IDS, _NAMES, _ARGUMENTS), max_size=3, unique_by=lambda call: call.id)
_USERS = st.builds(UserMessage, text=_TEXTS, context=_TEXTS)
_MESSAGES = st.lists(
    _USERS
    | st.builds(AssistantMessage, text=_TEXTS, calls=_CALLS.map(tuple), native=st.sampled_from(["", "{", "[]"]))
    | st.builds(ToolMessage, call=_IDS, tool=_NAMES, content=_TEXTS, is_error=st.booleans()),
    max_size=12,
)
_MODEL = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="none"))


def _translate(messages: Sequence[Message], *, own: bool = False, **more: Any) -> list[ModelRequest | ModelResponse]:
    return translate_messages(messages, system=more.pop("system", ""), is_own=lambda _: own, **more)


def _render(messages: Sequence[Message], *, system: str = "") -> list[dict[str, Any]]:
    """Return the messages as OpenAI's library sends them."""
    mapped = _MODEL._map_messages(  # pyright: ignore[reportPrivateUsage]
        _translate(messages, system=system), translate_tools(())
    )
    with pytest.raises(StopIteration) as done:  # It waits for nothing, so that it needs no event loop.
        mapped.send(None)
    return [dict(message) for message in done.value.value]


@given(messages=_MESSAGES, last=_USERS, system=_TEXTS)
@settings(max_examples=300)
def test_any_conversation_goes_out_as_one_that_a_strict_server_takes(
    messages: list[Message], last: UserMessage, system: str
) -> None:
    sent = _render([*messages, last], system=system)
    assert find_faults({"model": "x", "messages": sent}) == []
    assert sent[-1]["role"] == "user"
    assert "".join(str(message) for message in sent).encode()


@given(messages=_MESSAGES, later=_MESSAGES)
def test_what_was_sent_stays_as_it_is_when_more_is_said(messages: list[Message], later: list[Message]) -> None:
    begun = [*messages, UserMessage("Hello"), AssistantMessage("Hi.")]
    sent = _render(begun, system="Be brief.")
    assert _render([*begun, UserMessage("Go on"), *later], system="Be brief.")[: len(sent)] == sent


@given(messages=_MESSAGES)
def test_same_conversation_is_translated_the_same(messages: list[Message]) -> None:
    assert _translate(messages) == _translate(messages)


@given(system=st.text(min_size=1), text=st.text(min_size=1))
def test_system_prompt_and_user_arrive_as_they_are(system: str, text: str) -> None:
    (request,) = _translate([UserMessage(text)], system=system)
    first, second = request.parts
    assert isinstance(first, SystemPromptPart)
    assert isinstance(second, UserPromptPart)
    assert first.content == system
    assert second.content == (text if text.strip() else "(empty)")


@given(content=st.text(min_size=1).filter(lambda text: bool(text.strip())), is_error=st.booleans())
def test_results_keep_their_text_and_errors_are_marked_where_that_is_possible(content: str, is_error: bool) -> None:
    called = (AssistantMessage("", (ToolCall("a", "read", "{}"),)), ToolMessage("a", "read", content, is_error))
    for marks_errors in (True, False):
        (result,) = _translate(called, marks_errors=marks_errors)[-1].parts
        assert isinstance(result, ToolReturnPart)
        assert (result.content, result.tool_call_id) == (content, "a")
        assert result.outcome == ("failed" if is_error and marks_errors else "success")


def test_call_without_a_result_is_given_one_and_a_result_without_a_call_is_left_out() -> None:
    messages = (
        UserMessage("Hello"),
        ToolMessage("nobody", "read", "who asked?"),
        AssistantMessage("", (ToolCall("a", "read", "{}"), ToolCall("b", "read", "{}"))),
        ToolMessage("a", "read", "one"),
        ToolMessage("a", "read", "one again"),
        UserMessage("Stop."),
        AssistantMessage("Well."),
        ToolMessage("b", "read", "too late"),
        UserMessage("Go on."),
    )
    roles = [(message["role"], message.get("content")) for message in _render(messages)]
    assert [role for role, _ in roles] == ["user", "assistant", "tool", "tool", "user", "assistant", "user"]
    assert [content for role, content in roles if role == "tool"] == [
        "one",
        "The call was broken off and has no result.",
    ]
    assert not {"who asked?", "one again", "too late"} & {content for _, content in roles}


@pytest.mark.parametrize("length", [None, 9])
@pytest.mark.parametrize("name", ["call_1", "call.2:0|x", "ü", "x" * 80, "aB3dE6gH9"])
def test_ids_are_made_to_fit_and_still_go_together(name: str, length: int | None) -> None:
    messages = (AssistantMessage("", (ToolCall(name, "read", "{}"),)), ToolMessage(name, "read", "one"))
    call, result = (message.parts[0] for message in _translate(messages, id_length=length))
    assert isinstance(call, ToolCallPart)
    assert isinstance(result, ToolReturnPart)
    assert call.tool_call_id == result.tool_call_id
    assert call.tool_call_id.isascii()
    assert len(call.tool_call_id) <= 40 if length is None else len(call.tool_call_id) == length


# Answers as their providers keep them


def _answer(**more: Any) -> ModelResponse:
    parts = [
        ThinkingPart("Hm.", signature="signed", provider_name="anthropic"),
        TextPart("Look."),
        ToolCallPart("read", '{"a": 1', "call_a", provider_name="google", provider_details={"signature": "c2ln"}),
    ]
    return ModelResponse(parts=parts, provider_name="anthropic", model_name="m", **more)


_SAID = AssistantMessage("Look.", (ToolCall("call_a", "read", '{"a": 1'),))


def test_answer_is_kept_and_found_again_whole() -> None:
    answer = _answer()
    assert parse_native(render_native(answer)) == answer


def test_own_answer_goes_back_as_it_was() -> None:
    answer = _answer()
    message = AssistantMessage(_SAID.text, _SAID.calls, render_native(answer))
    assert _translate([message], own=True)[0] == answer


@pytest.mark.parametrize(
    "changed",
    [
        AssistantMessage("Look away.", _SAID.calls),
        AssistantMessage("Look.", ()),
        AssistantMessage("Look.", (ToolCall("call_b", "read", '{"a": 1'),)),
        AssistantMessage("Look.", (ToolCall("call_a", "read", '{"a": 2}'),)),
    ],
)
def test_answer_that_was_changed_since_is_put_together_anew(changed: AssistantMessage) -> None:
    message = AssistantMessage(changed.text, changed.calls, render_native(_answer()))
    assert _translate([message], own=True) == _translate([changed])


@pytest.mark.parametrize("native", ["", "{", "[]", "null", '{"a": 1}', '[{"kind": "request", "parts": []}]', "\ud800"])
def test_answer_that_cannot_be_read_is_put_together_anew(native: str) -> None:
    message = AssistantMessage(_SAID.text, _SAID.calls, native)
    assert _translate([message], own=True) == _translate([_SAID])


def test_answer_of_somebody_else_is_put_together_anew_without_its_thinking() -> None:
    message = AssistantMessage(_SAID.text, _SAID.calls, render_native(_answer()))
    response = _translate([message], own=False)[0]
    assert response == _translate([_SAID])[0]
    assert [type(part) for part in response.parts] == [TextPart, ToolCallPart]


@given(calls=st.lists(st.builds(ToolCallPart, _NAMES, _ARGUMENTS, _IDS), max_size=5), taken=st.sets(_IDS))
def test_calls_get_ids_that_are_theirs_alone(calls: list[ToolCallPart], taken: set[str]) -> None:
    named = name_calls(ModelResponse(parts=list(calls)), taken=taken)
    ids = [call.id for call in collect_calls(named)]
    assert len(set(ids)) == len(calls)
    assert all(ids)
    assert not taken & set(ids)
    kept = {call.tool_call_id for call in calls} - taken - {""}
    assert kept <= set(ids)


def test_arguments_are_the_text_that_the_model_wrote() -> None:
    parts = [
        ToolCallPart("a", '{"x":   1', "1"),
        ToolCallPart("b", {"x": "ü"}, "2"),
        ToolCallPart("c", None, "3"),
        ToolCallPart("d", "", "4"),
    ]
    written = [call.arguments for call in collect_calls(ModelResponse(parts=parts))]
    assert written == ['{"x":   1', '{"x":"ü"}', "{}", "{}"]


def test_tools_keep_their_schema_and_one_without_parameters_gets_an_empty_object() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "title": "A"}}}
    tools = (Tool("a.b", Role.READ, "A", "Read.", schema), Tool("c", Role.SEARCH, "C", "Search."))
    first, second = translate_tools(tools).function_tools
    assert (first.name, first.description, first.parameters_json_schema) == ("aB", "Read.", schema)
    assert second.parameters_json_schema == {"type": "object", "properties": {}}
