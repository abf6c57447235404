"""Skills for agents of other frameworks.

    from prowess import Runtime
    from prowess.frameworks import LangChainSkills

    with Runtime.open() as runtime, runtime.session("chat-1") as session:
        agent = create_agent(model, middleware=[LangChainSkills(session)])

Each name loads its framework when it is first used, and no other. The extra of the same framework installs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prowess.surfaces.frameworks.anthropic_loop import AnthropicSkills
    from prowess.surfaces.frameworks.google_adk import AdkPlugin, AdkToolset
    from prowess.surfaces.frameworks.langchain import LangChainSkills, make_langchain_tools
    from prowess.surfaces.frameworks.openai_agents import OpenAIAgent
    from prowess.surfaces.frameworks.openai_loop import OpenAISkills
    from prowess.surfaces.frameworks.pydantic_ai import PydanticAISkills, PydanticAIToolset

__all__ = [
    "AdkPlugin",
    "AdkToolset",
    "AnthropicSkills",
    "LangChainSkills",
    "OpenAIAgent",
    "OpenAISkills",
    "PydanticAISkills",
    "PydanticAIToolset",
    "make_langchain_tools",
]

_HOMES = {
    "AdkPlugin": ("google_adk", "adk"),
    "AdkToolset": ("google_adk", "adk"),
    "AnthropicSkills": ("anthropic_loop", "anthropic"),
    "LangChainSkills": ("langchain", "langchain"),
    "OpenAIAgent": ("openai_agents", "agents"),
    "OpenAISkills": ("openai_loop", "openai"),
    "PydanticAISkills": ("pydantic_ai", "pydantic-ai"),
    "PydanticAIToolset": ("pydantic_ai", "pydantic-ai"),
    "make_langchain_tools": ("langchain", "langchain"),
}
"""From a name to its module and to the extra that it needs."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'prowess.frameworks' has no attribute '{name}'")
    module, extra = _HOMES[name]
    try:
        home = import_module(f"prowess.surfaces.frameworks.{module}")
    except ModuleNotFoundError as error:
        told = f"{name} needs the library '{error.name}': pip install 'prowess[{extra}]'"
        raise ImportError(told, name=error.name) from error
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
