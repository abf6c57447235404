"""From the name of a model to something that answers."""

import pytest

from prowess.agent.model_choice import open_model
from prowess.agent.offline.model import OfflineModel
from prowess.agent.providers.provider_model import ProviderModel
from prowess.errors import SettingsError


def test_offline_is_the_built_in_model() -> None:
    for name in ("offline", " offline\n"):
        model = open_model(name, url="http://127.0.0.1:9/v1")
        assert isinstance(model, OfflineModel)
        assert model.name == "offline"


def test_any_other_name_is_a_model_of_a_provider() -> None:
    model = open_model("ollama:llama3.2:latest")
    assert isinstance(model, ProviderModel)
    assert model.name == "ollama:llama3.2:latest"


def test_model_that_cannot_be_used_is_refused_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(SettingsError) as caught:
        open_model("anthropic:claude")
    assert caught.value.code == "model-key"
    with pytest.raises(SettingsError) as caught:
        open_model("anthropicc:claude")
    assert caught.value.hint == "did you mean 'anthropic:claude'?"
