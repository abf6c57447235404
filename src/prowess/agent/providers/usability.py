"""Which models can be used here, found out without loading a library and without asking anybody.

A key is never part of what is returned, only the name of the variable that holds it.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from urllib.parse import urlsplit

from prowess.agent.providers.known_providers import KNOWN_PROVIDERS, KnownProvider, find_provider
from prowess.errors import SettingsError
from prowess.skill.deception import make_printable

__all__ = ["OFFLINE", "UsableModel", "UsableProvider", "bare_address", "check_model", "find_key", "survey_providers"]

OFFLINE = "offline"
"""The name of the model that is built in."""
_LIBRARY = "pydantic_ai"


@dataclass(frozen=True, slots=True)
class UsableModel:
    """A model that nothing here stands in the way of."""

    name: str
    provider: KnownProvider | None
    """None for the built-in one."""
    key: str = ""
    """The variable that holds the key; empty if there is none."""
    url: str = ""
    """Where the settings say that it is asked."""
    address: str = ""
    """The same, or what the provider's variable says, or its default; empty if only the library knows."""

    @property
    def place(self) -> str:
        """Who answers, without a password that an address may hold."""
        return bare_address(self.address) or (self.provider.title if self.provider else self.name)

    @property
    def summary(self) -> str:
        """Who answers, and with which key, in a line."""
        if self.provider is None:
            return f"{self.name}: built in, without a key and without a network"
        return f"{self.name}: {self.place}, {f'with the key in {self.key}' if self.key else 'without a key'}"


@dataclass(frozen=True, slots=True)
class UsableProvider:
    """A provider whose key is here."""

    provider: KnownProvider
    key: str
    missing: str = ""
    """What has to be installed first."""


def check_model(name: str, *, url: str = "", environ: Mapping[str, str] | None = None) -> UsableModel:
    """Return how a model would be used. Raise `SettingsError` if it cannot be, with what is to be done about it."""
    environ = os.environ if environ is None else environ
    if name == OFFLINE:
        return UsableModel(name, None)
    provider = _get_provider(name)
    missing = _find_missing(provider)
    if missing:
        raise SettingsError(
            f"model '{name}' needs a library that is not installed", hint=_install(missing), code="model-library"
        )
    given = url.strip() if provider.takes_url else ""
    address = given or environ.get(provider.url_variable, "").strip() or provider.default_url
    model = UsableModel(name, provider, find_key(provider, environ=environ), given, address)
    _check_access(model, provider, environ=environ)
    return model


def bare_address(url: str) -> str:
    """Return an address without a name, a password or a query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def find_key(provider: KnownProvider, *, environ: Mapping[str, str]) -> str:
    """Return the name of the variable that holds a provider's key, empty if none does."""
    return next((name for name in provider.keys if environ.get(name, "").strip()), "")


def survey_providers(environ: Mapping[str, str] | None = None) -> Iterator[UsableProvider]:
    """Return the providers whose key is here, one for each key."""
    environ = os.environ if environ is None else environ
    told: set[str] = set()
    for provider in KNOWN_PROVIDERS.values():
        key = find_key(provider, environ=environ)
        if key and key not in told:
            told.add(key)
            missing = _find_missing(provider)
            yield UsableProvider(provider, key, _install(missing) if missing else "")


def _get_provider(name: str) -> KnownProvider:
    provider = find_provider(name)
    shown = make_printable(name[:80])
    if provider and name.partition(":")[2].strip() and name.isprintable():
        return provider
    if provider:
        raise SettingsError(
            f"model '{shown}' names a provider but no model", hint=f"write {provider.prefix}:NAME", code="bad-model"
        )
    raise SettingsError(f"no provider of a model '{shown}'", hint=_suggest(name), code="bad-model")


def _suggest(name: str) -> str:
    """Return what may have been meant."""
    prefix, colon, rest = name.partition(":")
    near = get_close_matches(prefix.strip().lower(), [OFFLINE, *KNOWN_PROVIDERS], n=1, cutoff=0.7)
    if near and (colon or near[0] == OFFLINE):
        return f"did you mean '{near[0] if near[0] == OFFLINE else f'{near[0]}:{rest}'}'?"
    for provider in KNOWN_PROVIDERS.values():
        if not colon and name.lower().startswith(provider.families):
            return f"did you mean '{provider.prefix}:{make_printable(name[:80])}'?"
    usual = ", ".join(f"{prefix}:…" for prefix in list(KNOWN_PROVIDERS)[:8])
    return f"write '{OFFLINE}', or a provider and its model: {usual}"


def _find_missing(provider: KnownProvider) -> str:
    """Return what must be installed for a provider, empty if all is there."""
    return "" if _is_there(_LIBRARY) and _is_there(provider.module) else provider.requirement


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # The package around it is missing.
        return False


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # A bracket that is not closed, or a port that is no number.
        return False


def _install(requirement: str) -> str:
    return f"pip install '{requirement}'"


def _check_access(model: UsableModel, provider: KnownProvider, *, environ: Mapping[str, str]) -> None:
    if provider.own_server and not model.address:
        variable = f", or {provider.url_variable}" if provider.url_variable else ""
        raise SettingsError(
            f"model '{model.name}': no address of a server", hint=f"set model_url{variable}", code="model-address"
        )
    if model.address and not _is_address(model.address):
        raise SettingsError(
            f"model '{model.name}': what is set as the address of its server is none",
            hint="write it like http://127.0.0.1:8000/v1",
            code="model-address",
        )
    if not (model.key or model.address or provider.elsewhere):
        server = ", or model_url for a server of your own" if provider.takes_url else ""
        raise SettingsError(
            f"model '{model.name}': no key of {provider.title}",
            hint=f"set {' or '.join(provider.keys)}{server}, or use the model '{OFFLINE}', which needs none",
            code="model-key",
        )
    key = environ.get(model.key, "")
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        raise SettingsError(
            f"model '{model.name}': the key in {model.key} has characters that no key has",
            hint=f"set {model.key} again, without spaces, line breaks or quotation marks around it",
            code="model-key",
        )
    unset = [variable for variable in provider.needs if not environ.get(variable, "").strip()]
    if unset:
        raise SettingsError(
            f"model '{model.name}': {provider.title} needs more than a key",
            hint=f"set {', '.join(unset)}",
            code="model-needs",
        )
