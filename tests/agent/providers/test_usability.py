"""Which models can be used, found out without a network."""

import pytest

from prowess.agent.providers.known_providers import KNOWN_PROVIDERS
from prowess.agent.providers.usability import UsableModel, UsableProvider, check_model, survey_providers
from prowess.errors import SettingsError

_SECRET = "secret-4d1f"


def _refuse(name: str, *, url: str = "", **environ: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        check_model(name, url=url, environ=environ)
    assert _SECRET not in caught.value.message + caught.value.hint
    return caught.value


def test_built_in_model_can_always_be_used() -> None:
    usable = check_model("offline", environ={})
    assert usable == UsableModel("offline", None)
    assert usable.summary == "offline: built in, without a key and without a network"


def test_model_whose_key_is_set_can_be_used_and_the_key_stays_unsaid() -> None:
    usable = check_model("google:gemini", environ={"GOOGLE_API_KEY": " ", "GEMINI_API_KEY": _SECRET})
    assert usable == UsableModel("google:gemini", KNOWN_PROVIDERS["google"], "GEMINI_API_KEY")
    assert usable.summary == "google:gemini: Google Gemini, with the key in GEMINI_API_KEY"


@pytest.mark.parametrize(
    ("name", "url", "environ", "summary"),
    [
        ("ollama:x", "", {}, "http://127.0.0.1:11434/v1, without a key"),
        ("ollama:x", "", {"OLLAMA_BASE_URL": "http://box:1/v1"}, "http://box:1/v1, without a key"),
        ("ollama:x", "http://me:pw@box:2/v1?a=b", {}, "http://box:2/v1, without a key"),
        ("openai:x", "http://box:2/v1", {}, "http://box:2/v1, without a key"),
        ("openai:x", "", {"OPENAI_BASE_URL": "http://box:3"}, "http://box:3, without a key"),
        ("vllm:x", "http://box:2/v1", {"VLLM_API_KEY": _SECRET}, "http://box:2/v1, with the key in VLLM_API_KEY"),
        ("anthropic:x", "http://box:2", {"ANTHROPIC_API_KEY": _SECRET}, "Anthropic, with the key in ANTHROPIC_API_KEY"),
        ("bedrock:x", "", {}, "Amazon Bedrock, without a key"),
    ],
)
def test_place_that_is_asked_is_said(name: str, url: str, environ: dict[str, str], summary: str) -> None:
    assert check_model(name, url=url, environ=environ).summary == f"{name}: {summary}"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("ofline", "no provider of a model 'ofline'", "did you mean 'offline'?"),
        ("antropic:claude-x", "no provider of a model 'antropic:claude-x'", "did you mean 'anthropic:claude-x'?"),
        ("Open-AI:gpt-5", "no provider of a model 'Open-AI:gpt-5'", "did you mean 'openai:gpt-5'?"),
        ("gpt-5", "no provider of a model 'gpt-5'", "did you mean 'openai:gpt-5'?"),
        ("claude-sonnet", "no provider of a model 'claude-sonnet'", "did you mean 'anthropic:claude-sonnet'?"),
        ("gemini-2.5-pro", "no provider of a model 'gemini-2.5-pro'", "did you mean 'google:gemini-2.5-pro'?"),
        ("openai:", "model 'openai:' names a provider but no model", "write openai:NAME"),
        ("openai:\x1b[0m", r"model 'openai:\x1b[0m' names a provider but no model", "write openai:NAME"),
        ("", "no provider of a model ''", "write 'offline', or a provider and its model: anthropic:…, openai:…, "),
        ("zzz:x\x1b[0m", r"no provider of a model 'zzz:x\x1b[0m'", "write 'offline', or a provider and its model: "),
    ],
)
def test_unknown_provider_is_refused_with_what_may_be_meant(name: str, message: str, hint: str) -> None:
    error = _refuse(name)
    assert (error.code, error.message) == ("bad-model", message)
    assert error.hint.startswith(hint)


def test_missing_key_is_refused_with_the_variable_to_set() -> None:
    error = _refuse("google:gemini", GOOGLE_API_KEY="")
    assert (error.code, error.message, error.hint) == (
        "model-key",
        "model 'google:gemini': no key of Google Gemini",
        "set GOOGLE_API_KEY or GEMINI_API_KEY, or use the model 'offline', which needs none",
    )


@pytest.mark.parametrize("prefix", ["openai", "openai-chat"])
def test_missing_key_is_refused_with_the_setting_for_a_server_that_wants_none(prefix: str) -> None:
    assert _refuse(f"{prefix}:gpt").hint == (
        "set OPENAI_API_KEY, or model_url for a server of your own, or use the model 'offline', which needs none"
    )


@pytest.mark.parametrize("key", [f"{_SECRET}\n", f" {_SECRET}", f"{_SECRET}\nagain", f"{_SECRET}ü", f"{_SECRET}\x00"])
def test_key_that_cannot_be_sent_is_refused_unsaid(key: str) -> None:
    error = _refuse("anthropic:claude", ANTHROPIC_API_KEY=key)
    assert (error.code, error.message) == (
        "model-key",
        "model 'anthropic:claude': the key in ANTHROPIC_API_KEY has characters that no key has",
    )


def test_missing_library_is_refused_with_what_to_install() -> None:
    error = _refuse("cohere:command-r", CO_API_KEY=_SECRET)
    assert (error.code, error.hint) == ("model-library", "pip install 'pydantic-ai-slim[cohere]'")
    assert KNOWN_PROVIDERS["anthropic"].requirement == "prowess[agent]"
    assert KNOWN_PROVIDERS["bedrock"].requirement == "prowess[bedrock]"


def test_missing_address_is_refused() -> None:
    assert _refuse("vllm:x").hint == "set model_url, or VLLM_BASE_URL"
    assert _refuse("litellm:x").hint == "set model_url"


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "box", "ftp://box/v1", "http://", "http:///v1", "http://[::1", "http://box:x/"]
)
def test_address_that_is_none_is_refused(url: str) -> None:
    error = _refuse("ollama:x", url=url)
    assert (error.code, error.hint) == ("model-address", "write it like http://127.0.0.1:8000/v1")


def test_what_is_needed_besides_a_key_is_named() -> None:
    error = _refuse("azure:gpt", AZURE_OPENAI_API_KEY=_SECRET)
    assert (error.code, error.hint) == ("model-needs", "set AZURE_OPENAI_ENDPOINT")


def test_providers_with_a_key_are_listed_once_each() -> None:
    found = list(survey_providers({"OPENAI_API_KEY": _SECRET, "CO_API_KEY": _SECRET, "GROQ_API_KEY": " "}))
    assert found == [
        UsableProvider(KNOWN_PROVIDERS["openai"], "OPENAI_API_KEY"),
        UsableProvider(KNOWN_PROVIDERS["cohere"], "CO_API_KEY", "pip install 'pydantic-ai-slim[cohere]'"),
    ]
