"""No key and no proxy of a developer counts in these tests."""

import pytest

from prowess.agent.providers.known_providers import KNOWN_PROVIDERS


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for provider in KNOWN_PROVIDERS.values():
        for name in (*provider.keys, *provider.needs, provider.url_variable):
            if name:
                monkeypatch.delenv(name, raising=False)
