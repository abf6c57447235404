"""The table of providers beside the library that it describes."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from pydantic_ai.models import known_model_names
from pydantic_ai.providers import infer_provider_class

from prowess.agent.providers.known_providers import KNOWN_PROVIDERS, KnownProvider, find_provider
from prowess.agent.providers.provider_model import ProviderModel

_NO_CHAT = {"openai-decisions", "test", "typesafe"}
"""Models that decide or pretend, and do not talk."""
_NAMES = {"bedrock-mantle": "openai.gpt-oss-120b", "openrouter": "anthropic/claude-sonnet-4-6"}


def test_every_provider_that_the_library_knows_models_of_is_in_the_table() -> None:
    prefixes = {name.partition(":")[0] for name in known_model_names()}
    assert prefixes - _NO_CHAT <= set(KNOWN_PROVIDERS)


@pytest.mark.slow
@pytest.mark.parametrize("provider", KNOWN_PROVIDERS.values(), ids=lambda provider: provider.prefix)
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_every_provider_in_the_table_is_known_to_the_library(
    monkeypatch: pytest.MonkeyPatch, provider: KnownProvider
) -> None:
    assert provider.keys
    if not _is_there(provider.module):
        with pytest.raises(ImportError):
            infer_provider_class(provider.prefix)
        return
    for name in provider.keys[:1]:
        monkeypatch.setenv(name, "secret-4d1f")
    for name in provider.needs:
        monkeypatch.setenv(name, "https://of.ours.azure.com/openai/v1" if "ENDPOINT" in name else "ours")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("PYDANTIC_AI_GATEWAY_BASE_URL", "https://gateway.of.ours")
    model = ProviderModel(f"{provider.prefix}:{_NAMES.get(provider.prefix, 'of-ours')}", url="http://127.0.0.1:9/v1")
    assert model.context_window is None or model.context_window > 1000
    assert isinstance(model.calls_tools, bool)


def _is_there(module: str) -> bool:
    return find_spec(module) is not None


def test_provider_is_found_by_the_prefix_alone() -> None:
    assert find_provider("anthropic:claude:latest") == KNOWN_PROVIDERS["anthropic"]
    assert find_provider("gateway/openai:gpt") == KNOWN_PROVIDERS["gateway/openai"]
    assert [find_provider(name) for name in ("anthropic", "", ":x", "nobody:x", "offline")] == [None] * 5


@pytest.mark.slow
def test_nothing_heavy_is_loaded_before_a_model_is_asked() -> None:
    script = """
import sys
from prowess.agent.model_choice import open_model
from prowess.agent.providers.usability import check_model, survey_providers
check_model("openai:gpt")
list(survey_providers())
open_model("openai:gpt")
print(*(name for name in ("pydantic_ai", "pydantic", "openai", "httpx2", "anthropic", "boto3") if name in sys.modules))
"""
    environment = {**os.environ, "OPENAI_API_KEY": "secret-4d1f"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == []
