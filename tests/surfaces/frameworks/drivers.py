"""Conversations in each framework, as a program that uses it would lead them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prowess.runtime import Session
from tests.surfaces.frameworks.model_servers import Protocol

if TYPE_CHECKING:
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic_ai.messages import ModelMessage

__all__ = ["DRIVERS", "INSTRUCTIONS", "Driver", "Say"]

INSTRUCTIONS = "You plan people's days."
Say = Callable[[str], Awaitable[str]]
"""Says something to the agent; what comes back is its answer."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A framework."""

    page: str
    protocol: Protocol
    lead: Callable[[Session, str], AbstractAsyncContextManager[Say]]
    """Begins a conversation with the skills of a session and the model at an address."""


@asynccontextmanager
async def _lead_openai(session: Session, url: str) -> AsyncGenerator[Say]:
    from openai import AsyncOpenAI

    from prowess.frameworks import OpenAISkills

    skills = OpenAISkills(session)
    messages: list[ChatCompletionMessageParam] = []

    async def say(message: str) -> str:
        messages.append(await skills.receive(message))
        while True:
            request = await skills.request(messages, instructions=INSTRUCTIONS)
            answer = (await client.chat.completions.create(model="scripted", **request)).choices[0].message
            messages.extend(await skills.answer(answer))
            if not answer.tool_calls:
                return answer.content or ""

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield say


@asynccontextmanager
async def _lead_anthropic(session: Session, url: str) -> AsyncGenerator[Say]:
    from anthropic import AsyncAnthropic

    from prowess.frameworks import AnthropicSkills

    skills = AnthropicSkills(session)
    messages: list[MessageParam] = []

    async def say(message: str) -> str:
        messages.append(await skills.receive(message))
        while True:
            request = await skills.request(messages, instructions=INSTRUCTIONS)
            answer = await client.messages.create(model="claude-sonnet-4-6", max_tokens=4_096, **request)
            messages.extend(await skills.answer(answer))
            if answer.stop_reason != "tool_use":
                return "".join(block.text for block in answer.content if block.type == "text")

    async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield say


@asynccontextmanager
async def _lead_pydantic_ai(session: Session, url: str) -> AsyncGenerator[Say]:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from prowess.frameworks import PydanticAISkills

    history: list[ModelMessage] = []
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, instructions=INSTRUCTIONS, capabilities=[PydanticAISkills(session)])

        async def say(message: str) -> str:
            result = await agent.run(message, message_history=history)
            history[:] = result.all_messages()
            return result.output

        yield say


@asynccontextmanager
async def _lead_langchain(session: Session, url: str) -> AsyncGenerator[Say]:
    import httpx
    from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
    from langchain_core.messages import AnyMessage, HumanMessage
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    from prowess.frameworks import LangChainSkills

    messages: list[AnyMessage] = []
    async with httpx.AsyncClient() as client:
        model = ChatOpenAI(
            model="scripted", base_url=url, api_key=SecretStr("none"), max_retries=0, http_async_client=client
        )
        agent: Any = create_agent(model, system_prompt=INSTRUCTIONS, middleware=[LangChainSkills(session)])

        async def say(message: str) -> str:
            result = await agent.ainvoke({"messages": [*messages, HumanMessage(message)]})
            messages[:] = result["messages"]
            return messages[-1].text

        yield say


@asynccontextmanager
async def _lead_openai_agents(session: Session, url: str) -> AsyncGenerator[Say]:
    from agents import OpenAIChatCompletionsModel, RunConfig, Runner, TResponseInputItem
    from openai import AsyncOpenAI

    from prowess.frameworks import OpenAIAgent

    history: list[TResponseInputItem] = []
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        agent = OpenAIAgent(
            name="planner",
            model=OpenAIChatCompletionsModel("scripted", client),
            instructions=INSTRUCTIONS,
            session=session,
        )

        async def say(message: str) -> str:
            said: TResponseInputItem = {"role": "user", "content": await agent.receive(message)}
            result = await Runner.run(agent, [*history, said], run_config=RunConfig(tracing_disabled=True))
            history[:] = result.to_input_list()
            return str(result.final_output)

        yield say


@asynccontextmanager
async def _lead_google_adk(session: Session, url: str) -> AsyncGenerator[Say]:
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models.google_llm import Gemini
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from prowess.frameworks import AdkPlugin, AdkToolset

    model = Gemini(model="gemini-2.5-flash", base_url=url)
    agent = LlmAgent(name="planner", model=model, instruction=INSTRUCTIONS, tools=[AdkToolset(session)])
    async with InMemoryRunner(app=App(name="planner", root_agent=agent, plugins=[AdkPlugin(session)])) as runner:
        chat = await runner.session_service.create_session(app_name="planner", user_id="me")

        async def say(message: str) -> str:
            said = ""
            content = types.UserContent(message)
            async for event in runner.run_async(user_id="me", session_id=chat.id, new_message=content):
                if event.is_final_response() and event.content:
                    said = "".join(part.text or "" for part in event.content.parts or ())
            return said

        yield say
        await model.api_client.aio.aclose()


DRIVERS = (
    Driver("openai", "openai", _lead_openai),
    Driver("anthropic", "anthropic", _lead_anthropic),
    Driver("pydantic-ai", "openai", _lead_pydantic_ai),
    Driver("langchain", "openai", _lead_langchain),
    Driver("openai-agents", "openai", _lead_openai_agents),
    Driver("google-adk", "google", _lead_google_adk),
)
