"""From the name of a model to pydantic-ai's model of it. Loading this module loads pydantic-ai."""

import os
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from prowess.agent.providers.bounding import bound_client
from prowess.agent.providers.usability import UsableModel, bare_address
from prowess.errors import SettingsError

__all__ = ["BuiltModel", "build_model"]

_SPARE_SECONDS = 30.0
"""By which a connection outlives our own patience, so that ours is what ends it."""
_BEDROCK = "bedrock-runtime"


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """A model of pydantic-ai, and what is to be known of it."""

    model: Model[Any]
    url: str
    """Where it is asked, without a password."""
    marks_errors: bool
    """Whether its protocol can say that a tool has failed."""

    @property
    def calls_tools(self) -> bool:
        """Whether it can call tools at all."""
        return self.model.profile.get("supports_tools", True)

    @property
    def context_window(self) -> int | None:
        """How many tokens it takes, if the library knows."""
        return self.model.context_window

    @property
    def id_length(self) -> int | None:
        """How long the ids of calls must be, if that is not free."""
        return self.model.profile.get("tool_call_id_length")

    def has_made(self, response: ModelResponse) -> bool:
        """Return whether an answer came from this provider, at this address."""
        return response.provider_name == self.model.system and (response.provider_url or "") == self.url

    def settings(self, *, timeout_seconds: float) -> ModelSettings:
        """Return how a request is sent: cached where a provider wants to be asked, and never repeated behind our back.

        What a model has no use for is left out, since pydantic-ai warns of it.
        """
        settings = ModelSettings(cache=True, max_retries=0, timeout=timeout_seconds + _SPARE_SECONDS)
        for name in self.model.unsupported_settings:
            settings.pop(name, None)
        return settings


def build_model(usable: UsableModel) -> BuiltModel:
    """Return pydantic-ai's model. Raise `SettingsError` if it finds something missing that we have not."""
    try:
        model = _build(usable)
    except (UserError, ImportError, ValueError) as error:
        raise SettingsError(f"model '{usable.name}' cannot be used: {error}", code="model-settings") from error
    # The library's own client: one of ours would have to be made, and closed, for each provider in its own way. Those
    # of Amazon, xAI and Hugging Face have none.
    client: Any = getattr(model.provider, "_own_http_client", None)
    if client is not None:
        bound_client(client)
    try:
        url = bare_address(str(model.base_url or ""))
    except (UserError, AttributeError):  # Some have no address of their own.
        url = ""
    return BuiltModel(model, url, usable.provider is not None and usable.provider.marks_errors)


def _build(usable: UsableModel) -> Model[Any]:
    prefix, _, name = usable.name.partition(":")
    match prefix:
        case "openai" | "openai-chat" if usable.url:
            return _build_compatible(name, url=usable.url)
        case "ollama":
            from pydantic_ai.models.ollama import OllamaModel
            from pydantic_ai.providers.ollama import OllamaProvider

            return OllamaModel(name, provider=OllamaProvider(base_url=usable.address))
        case "vllm":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.vllm import VLLMProvider

            return OpenAIChatModel(name, provider=VLLMProvider(base_url=usable.address))
        case "litellm":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.litellm import LiteLLMProvider

            key = os.environ.get("LITELLM_API_KEY") or None
            return OpenAIChatModel(name, provider=LiteLLMProvider(api_base=usable.address, api_key=key))
        case "bedrock" | "gateway/bedrock":
            return _without_retries(infer_model(usable.name))
        case _:
            return infer_model(usable.name)


def _build_compatible(name: str, *, url: str) -> Model[Any]:
    """Return a model of any server that speaks OpenAI's protocol, without what only OpenAI's own takes.

    A stream that ends without a reason has broken off, so that a reason is asked for.
    """
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = os.environ.get("OPENAI_API_KEY", "").strip() or None
    return OpenAIChatModel(
        name,
        provider=OpenAICompatibleProvider("openai", base_url=url, api_key=key),
        profile=OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True),
    )


def _without_retries(model: Model[Any]) -> Model[Any]:
    """Return Bedrock's model with a client that asks once: boto3 cannot be told so for a single request."""
    events = model.client.meta.events  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]
    events.unregister(f"needs-retry.{_BEDROCK}", unique_id=f"retry-config-{_BEDROCK}")  # pyright: ignore[reportUnknownMemberType]
    return model
