"""Which model answers: from its name in the settings to something that can be asked."""

from prowess.agent.chat_model import ChatModel
from prowess.agent.providers.usability import OFFLINE

__all__ = ["open_model"]


def open_model(name: str, *, url: str = "") -> ChatModel:
    """Return the model of this name, `offline` or `provider:model`. Nobody is asked yet, and no library is loaded.

    `url` is the address of a server that speaks OpenAI's protocol; it counts for the providers that are meant for one
    (`openai`, `openai-chat`, `ollama`, `vllm`, `litellm`), and others keep their own. Raise `SettingsError` if there is
    no such provider, or its library or its key is missing here.
    """
    if name.strip() == OFFLINE:
        from prowess.agent.offline.model import OfflineModel

        return OfflineModel()
    from prowess.agent.providers.provider_model import ProviderModel

    return ProviderModel(name.strip(), url=url)
