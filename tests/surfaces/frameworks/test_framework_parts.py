"""What single frameworks have besides: LangChain without an event loop, tools by themselves, caches of providers."""

from typing import Any

import anyio
import pytest

from prowess.activation.consent import Answer
from prowess.runtime import Runtime
from tests.agent.openai_replies import call, say
from tests.runtime.people import Person
from tests.surfaces.frameworks.drivers import INSTRUCTIONS
from tests.surfaces.frameworks.model_servers import serve_model

pytestmark = pytest.mark.slow

_ACTIVATE = call("activate_skill", {"name": "painting"})


def test_langchain_agent_works_without_an_event_loop(runtime: Runtime) -> None:
    import httpx
    from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
    from langchain_core.messages import HumanMessage
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    from prowess.frameworks import LangChainSkills

    with (
        serve_model("openai", _ACTIVATE, say("Painted.")) as server,
        httpx.Client() as client,
        runtime.session("chat") as session,
    ):
        model = ChatOpenAI(model="scripted", base_url=server.url, api_key=SecretStr("none"), http_client=client)
        agent: Any = create_agent(model, system_prompt=INSTRUCTIONS, middleware=[LangChainSkills(session)])
        result = agent.invoke({"messages": [HumanMessage("/painting The wall.")]})
    assert result["messages"][-1].text == "Painted."
    assert "Paint with red." in server.asked[0].messages[0]
    assert "already active" in server.asked[1].results[0].text


def test_langchain_finds_a_mention_beside_a_picture(runtime: Runtime) -> None:
    from langchain_core.messages import HumanMessage

    from prowess.frameworks import LangChainSkills

    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    with runtime.session("chat") as session:
        skills: Any = LangChainSkills(session)
        said = HumanMessage([picture, {"type": "text", "text": "/painting This wall."}], id="1")
        (message,) = skills.before_agent({"messages": [said]}, None)["messages"]
        assert [receipt.name for receipt in session.active()] == ["painting"]
        assert skills.before_agent({"messages": [HumanMessage([picture])]}, None) is None
    assert (message.id, message.content[0]) == ("1", picture)
    assert "Paint with red." in message.content[1]["text"]
    assert message.content[1]["text"].endswith("This wall.")


def test_pydantic_ai_finds_a_mention_beside_a_picture(runtime: Runtime) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, ImageUrl
    from pydantic_ai.messages import TextContent, UserContent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from prowess.frameworks import PydanticAISkills

    picture = ImageUrl("data:image/png;base64,AA==")

    async def talk(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
            texts: tuple[UserContent, ...] = ("/painting This wall.", TextContent("/painting That wall."))
            for text in texts:
                with runtime.session() as session:
                    await Agent(model, capabilities=[PydanticAISkills(session)]).run([picture, text])
                    assert [receipt.name for receipt in session.active()] == ["painting"]

    with serve_model("openai", say("Painted."), say("Painted.")) as server:
        anyio.run(talk, server.url)
    for asked in server.asked:
        assert "Paint with red." in str(asked.messages)


def test_langchain_tools_work_by_themselves_and_tell_refusals_as_errors(runtime: Runtime) -> None:
    from prowess.frameworks import make_langchain_tools

    with runtime.session("chat", asker=Person(Answer.REFUSE_ONCE, Answer.ALLOW_ONCE)) as session:
        (activate,) = [tool for tool in make_langchain_tools(session) if tool.name == "activate_skill"]
        asked = {"type": "tool_call", "id": "1", "name": "activate_skill", "args": {"name": "painting"}}
        refused = activate.invoke(asked)
        allowed = anyio.run(activate.ainvoke, asked)
    assert (refused.status, allowed.status) == ("error", "success")
    assert "Paint with red." in allowed.text


def test_pydantic_ai_toolset_works_without_the_capability(runtime: Runtime) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from prowess.frameworks import PydanticAIToolset

    async def lead() -> str:
        async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
            model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, instructions=INSTRUCTIONS, toolsets=[PydanticAIToolset(session)])
            return (await agent.run("/painting The wall.")).output

    with serve_model("openai", _ACTIVATE, say("Painted.")) as server, runtime.session("chat") as session:
        assert anyio.run(lead) == "Painted."
    assert server.asked[0].messages == ("/painting The wall.",)
    assert "Paint with red." in server.asked[1].results[0].text


def test_anthropic_conversation_holds_no_empty_answer(runtime: Runtime) -> None:
    """Models give such after tools now and then, and the next request with one is refused."""
    from anthropic.types import Message, Usage

    from prowess.frameworks import AnthropicSkills

    usage = Usage(input_tokens=1, output_tokens=2)
    answer = Message(
        id="1", content=[], model="m", role="assistant", stop_reason="end_turn", type="message", usage=usage
    )
    with runtime.session("chat") as session:
        assert anyio.run(AnthropicSkills(session).answer, answer) == []


def test_anthropic_keeps_what_stays_in_its_cache_when_a_skill_becomes_active(runtime: Runtime) -> None:
    from anthropic.types import MessageParam

    from prowess.frameworks import AnthropicSkills

    with runtime.session("chat") as session:
        skills, no_messages = AnthropicSkills(session), list[MessageParam]()
        before = anyio.run(skills.request, no_messages)
        session.activate("painting")
        after = anyio.run(skills.request, no_messages)
    assert "system" in before
    assert "system" in after
    (standing,) = before["system"]
    assert after["system"][0] == standing
    assert standing.get("cache_control") == {"type": "ephemeral"}
    assert "cache_control" not in after["system"][1]


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")  # Which ADK itself uses for such a tool.
def test_mention_in_what_a_model_tells_an_agent_that_is_a_tool_is_none(runtime: Runtime) -> None:
    """Else a model could call for skills that only people may."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models.google_llm import Gemini
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.agent_tool import AgentTool
    from google.genai import types

    from prowess.frameworks import AdkPlugin

    async def talk(url: str) -> None:
        model = Gemini(model="gemini-2.5-flash", base_url=url)
        helper = LlmAgent(name="helper", model=model, instruction="You help.")
        agent = LlmAgent(name="planner", model=model, instruction=INSTRUCTIONS, tools=[AgentTool(helper)])
        async with InMemoryRunner(app=App(name="planner", root_agent=agent, plugins=[AdkPlugin(session)])) as runner:
            chat = await runner.session_service.create_session(app_name="planner", user_id="me")
            for message in ("Have it painted.", "/painting The wall."):
                said = types.UserContent(message)
                async for _ in runner.run_async(user_id="me", session_id=chat.id, new_message=said):
                    pass
                told.append([receipt.name for receipt in session.active()])
        await model.api_client.aio.aclose()

    told: list[list[str]] = []
    asked = call("helper", {"request": "/painting The wall."})
    with (
        serve_model("google", asked, say("Painted."), say("It is."), say("Again.")) as server,
        runtime.session("chat") as session,
    ):
        anyio.run(talk, server.url)
    assert server.asked[1].messages == ("/painting The wall.",)
    assert told == [[], ["painting"]]


def test_openai_agent_stays_what_it_is_when_it_is_cloned(runtime: Runtime) -> None:
    from prowess.frameworks import OpenAIAgent

    with runtime.session("chat") as session:
        clone = OpenAIAgent(name="one", session=session).clone(name="two")
        assert isinstance(clone, OpenAIAgent)
        assert (clone.name, clone.session) == ("two", session)
