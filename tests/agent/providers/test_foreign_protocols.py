"""Our conversations in the protocols of Anthropic, Google and others, as their own libraries send them."""

import json
from typing import Any

import pytest

from prowess.activation.tools import make_tools
from prowess.agent.chat_model import CallPiece, FinishPiece, ModelRequest, TextPiece, ThinkingPiece
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.policy import ToolSet
from prowess.state.conversations import TokenUse
from tests.agent.providers.asking import Waits, ask, fail_to_ask, find, make_model, remember
from tests.agent.providers.foreign_server import (
    Foreign,
    anthropic_answer,
    find_anthropic_faults,
    find_google_faults,
    foreign_server,
    google_answer,
)

pytestmark = [
    pytest.mark.slow,
    # Google's library has such a text, which Python tells once, when it first compiles it.
    pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning"),
]

_ANTHROPIC = "anthropic:claude-sonnet-4-6"
_GOOGLE = "google:gemini-2.5-pro"
_BEDROCK = "bedrock:anthropic.claude-sonnet-4-6"
_SYSTEM = "You have skills.\n\n  <skill>ü</skill> \n"
_TOOLS = make_tools(ToolSet.REMCOCHAT, names=["pdf"])
_TOUR: tuple[Message, ...] = (
    UserMessage("Fill the form.", context="<skill>pdf</skill>"),
    AssistantMessage("", (ToolCall("call.1:0", "skillsActivate", '{"name": "pdf"}'), ToolCall("b", "read it", '{"pa'))),
    ToolMessage("call.1:0", "skills.activate", "Fill it so."),
    ToolMessage("b", "read it", "no such tool\nuse: skills.activate", is_error=True),
    AssistantMessage("Done."),
    AssistantMessage("", ()),
    UserMessage("And now?"),
    AssistantMessage("Once more.", (ToolCall("c", "skillsActivate", ""),)),
    ToolMessage("c", "skills.activate", ""),
    UserMessage("Hurry."),
    AssistantMessage("", (ToolCall("d", "skillsActivate", "{}"),)),
    UserMessage("Stop that."),
)
"""All that is odd: two results in a row, an error, empty texts, strange names and ids, a call without a result."""
_REQUEST = ModelRequest(_SYSTEM, _TOUR, _TOOLS, timeout_seconds=30, attempts=2)


def _set_up(monkeypatch: pytest.MonkeyPatch, server: Foreign) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "secret-4d1f",
        "ANTHROPIC_BASE_URL": server.url,
        "GOOGLE_API_KEY": "secret-4d1f",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "OPENAI_API_KEY": "secret-4d1f",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "GROQ_API_KEY": "secret-4d1f",
        "GROQ_BASE_URL": server.url,
        "AWS_ACCESS_KEY_ID": "AKIA4D1F",
        "AWS_SECRET_ACCESS_KEY": "secret-4d1f",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


def _send(monkeypatch: pytest.MonkeyPatch, name: str) -> dict[str, Any]:
    """Return what is sent for the tour, once: the server refuses it in a way that does not pass."""
    with foreign_server() as server:
        _set_up(monkeypatch, server)
        failure = fail_to_ask(make_model(name), _REQUEST)
    assert failure.code == "model-failed"
    (body,) = server.bodies
    return body


@pytest.mark.requirement("K11")
def test_anthropic_takes_our_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _send(monkeypatch, _ANTHROPIC)
    assert find_anthropic_faults(body) == []
    kept = {"type": "ephemeral", "ttl": "5m"}
    assert body["system"] == [{"type": "text", "text": _SYSTEM, "cache_control": kept}]
    assert body["cache_control"] == kept
    assert [tool["input_schema"] for tool in body["tools"]] == [tool.schema for tool in _TOOLS]
    assert "cache_control" in body["tools"][-1]
    results = body["messages"][2]["content"]
    assert [(result["is_error"], result["content"][0]["text"]) for result in results] == [
        (False, "Fill it so."),
        (True, "no such tool\nuse: skills.activate"),
    ]
    assert body["messages"][1]["content"][1]["input"] == {"INVALID_JSON": '{"pa'}


@pytest.mark.requirement("K11")
def test_google_takes_our_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _send(monkeypatch, _GOOGLE)
    assert find_google_faults(body) == []
    assert body["systemInstruction"]["parts"] == [{"text": _SYSTEM}]
    declared = body["tools"][0]["functionDeclarations"]
    assert [tool["parameters_json_schema"] for tool in declared] == [tool.schema for tool in _TOOLS]
    assert [part["functionResponse"]["response"] for part in body["contents"][2]["parts"]] == [
        {"return_value": "Fill it so."},
        {"error": "no such tool\nuse: skills.activate"},
    ]


def test_bedrock_takes_our_conversations_and_is_not_asked_behind_our_back(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _send(monkeypatch, _BEDROCK)
    assert body["system"] == [{"text": _SYSTEM}, {"cachePoint": {"type": "default"}}]
    results = [block["toolResult"] for block in body["messages"][2]["content"]]
    assert [(result["status"], result["content"]) for result in results] == [
        ("success", [{"text": "Fill it so."}]),
        ("error", [{"text": "no such tool\nuse: skills.activate"}]),
    ]


def test_openais_responses_take_our_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _send(monkeypatch, "openai:gpt-5")
    assert body["input"][0] == {"role": "system", "content": _SYSTEM}
    assert all(tool["strict"] is False for tool in body["tools"])
    assert [tool["parameters"] for tool in body["tools"]] == [tool.schema for tool in _TOOLS]
    called = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    assert called == answered
    assert len(called) == 4


def test_groq_takes_our_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _send(monkeypatch, "groq:llama-3.3-70b-versatile")
    assert body["messages"][0] == {"role": "system", "content": _SYSTEM}


def test_anthropics_thinking_comes_back_to_it_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    thought = {"type": "thinking", "thinking": "A form.", "signature": "c2lnbmVk"}
    used = {"type": "tool_use", "id": "toolu_1", "name": "skillsActivate", "input": '{"name": "pdf"}'}
    first = anthropic_answer(thought, {"type": "text", "text": "I'll look."}, used, stop="tool_use")
    with foreign_server(first, anthropic_answer({"type": "text", "text": "Done."})) as server:
        _set_up(monkeypatch, server)
        model = make_model(_ANTHROPIC)
        heard = ask(model, ModelRequest(_SYSTEM, (UserMessage("Fill it."),), _TOOLS))
        call = ToolCall("toolu_1", "skillsActivate", '{"name": "pdf"}')
        assert heard[:3] == [ThinkingPiece("A form."), TextPiece("I'll look."), CallPiece(call)]
        (finish,) = find(heard, FinishPiece)
        assert finish.use == TokenUse(1, 112, 9, 100, finish.use.cost_usd)
        assert finish.use.cost_usd
        answer = remember(heard, AssistantMessage("I'll look.", (call,)))
        ask(model, ModelRequest(_SYSTEM, (UserMessage("Fill it."), answer, ToolMessage("toolu_1", "x", "So.")), _TOOLS))
    assert server.bodies[1]["messages"][1]["content"] == [
        thought,
        {"type": "text", "text": "I'll look."},
        {**used, "input": {"name": "pdf"}},
    ]
    assert find_anthropic_faults(server.bodies[1]) == []


def test_googles_signatures_come_back_to_it_and_go_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    called = {
        "functionCall": {"id": "g1", "name": "skillsActivate", "args": {"name": "pdf"}},
        "thoughtSignature": "c2ln",
    }
    told = ToolMessage("g1", "skillsActivate", "So.")
    with foreign_server(google_answer(called), google_answer({"text": "Done."})) as server:
        _set_up(monkeypatch, server)
        model = make_model(_GOOGLE)
        heard = ask(model, ModelRequest(_SYSTEM, (UserMessage("Fill it."),), _TOOLS))
        (piece,) = find(heard, CallPiece)
        assert (piece.call.tool, json.loads(piece.call.arguments)) == ("skillsActivate", {"name": "pdf"})
        answer = remember(heard, AssistantMessage("", (piece.call,)))
        messages = (UserMessage("Fill it."), answer, ToolMessage(piece.call.id, "skillsActivate", told.content))
        ask(model, ModelRequest(_SYSTEM, messages, _TOOLS))
    assert server.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"
    with foreign_server() as elsewhere:
        _set_up(monkeypatch, elsewhere)
        fail_to_ask(make_model(_ANTHROPIC), ModelRequest(_SYSTEM, messages, _TOOLS))
    assert find_anthropic_faults(elsewhere.bodies[0]) == []
    assert "c2ln" not in json.dumps(elsewhere.bodies[0])


@pytest.mark.parametrize("name", [_ANTHROPIC, _GOOGLE, _BEDROCK, "openai:gpt-5", "groq:llama-3.3-70b-versatile"])
def test_no_library_asks_again_by_itself(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    waits = Waits()
    with foreign_server(status=503) as server:
        _set_up(monkeypatch, server)
        failure = fail_to_ask(make_model(name, waits=waits), ModelRequest("", (UserMessage("Hi"),), attempts=3))
    assert failure.code == "model-failed"
    assert (len(server.bodies), len(waits.seconds)) == (3, 2)
