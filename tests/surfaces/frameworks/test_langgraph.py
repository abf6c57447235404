"""LangGraph: graphs of one's own with the tools of a session, and agents that stream."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from prowess.activation.consent import Answer
from prowess.runtime import Runtime, Session
from tests.agent.openai_replies import call, say
from tests.runtime.people import Person
from tests.surfaces.frameworks.drivers import INSTRUCTIONS
from tests.surfaces.frameworks.model_servers import serve_model

pytestmark = pytest.mark.slow

_ACTIVATE = call("activate_skill", {"name": "painting"})


@contextmanager
def _model(url: str) -> Generator[Any]:
    import httpx
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    with httpx.Client() as client:
        yield ChatOpenAI(model="scripted", base_url=url, api_key=SecretStr("none"), max_retries=0, http_client=client)


def _make_graph(session: Session, model: Any) -> Any:
    """Return a graph of two nodes: the model, and the tools that it calls."""
    from langchain_core.messages import SystemMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    from prowess.frameworks import make_langchain_tools

    tools = make_langchain_tools(session)

    def think(state: MessagesState) -> dict[str, Any]:
        system = SystemMessage(f"{INSTRUCTIONS}\n\n{session.prompt()}")
        return {"messages": [model.bind_tools(tools).invoke([system, *state["messages"]])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def test_tools_work_in_a_graph_of_ones_own(runtime: Runtime) -> None:
    with (
        serve_model("openai", _ACTIVATE, say("Painted.")) as server,
        _model(server.url) as model,
        runtime.session("chat") as session,
    ):
        result = _make_graph(session, model).invoke({"messages": [{"role": "user", "content": "Paint the wall."}]})
    assert result["messages"][-1].text == "Painted."
    first, second = server.asked
    assert "<name>painting</name>" in first.system
    assert first.tools["activate_skill"]["properties"]["name"]["enum"] == ["painting"]
    assert "Paint with red." in second.results[0].text


def test_refusal_goes_back_to_the_model_and_the_graph_goes_on(runtime: Runtime) -> None:
    with (
        serve_model("openai", _ACTIVATE, say("Not painted.")) as server,
        _model(server.url) as model,
        runtime.session("chat", asker=Person(Answer.REFUSE_ONCE)) as session,
    ):
        result = _make_graph(session, model).invoke({"messages": [{"role": "user", "content": "Paint the wall."}]})
    assert [one.status for one in result["messages"] if one.type == "tool"] == ["error"]
    assert result["messages"][-1].text == "Not painted."
    assert "refused" in server.asked[1].results[0].text


def test_agent_streams_each_step(runtime: Runtime) -> None:
    from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]

    from prowess.frameworks import LangChainSkills

    with (
        serve_model("openai", _ACTIVATE, say("Painted.")) as server,
        _model(server.url) as model,
        runtime.session("chat") as session,
    ):
        agent: Any = create_agent(model, system_prompt=INSTRUCTIONS, middleware=[LangChainSkills(session)])
        asked = {"messages": [{"role": "user", "content": "Paint the wall."}]}
        steps = [
            (node, change["messages"][-1].type, change["messages"][-1].text)
            for update in agent.stream(asked, stream_mode="updates")
            for node, change in update.items()
            if change
        ]
    assert [(node, kind) for node, kind, _ in steps] == [("model", "ai"), ("tools", "tool"), ("model", "ai")]
    assert "Paint with red." in steps[1][2]
    assert steps[2][2] == "Painted."
