"""Which models can be chosen, found out without asking anybody."""

from collections.abc import Iterator
from functools import lru_cache

from prowess.agent.model_choice import open_model
from prowess.agent.providers.usability import OFFLINE, survey_providers
from prowess.errors import ProwessError
from prowess.runtime import Runtime
from prowess.surfaces.records import Record

__all__ = ["describe_models"]

_MAX_MODELS = 50
_LONGEST_NAME = 200
_WITHOUT_TOOLS = (
    "it cannot call tools, so skills stay off; call one by /name, and its instructions go along with that message"
)


def describe_models(runtime: Runtime, *, default: str = "") -> Record:
    """Return the models that can be chosen: the built-in one, those of the settings, and those that answered before."""
    settings = runtime.settings
    default = default or settings.model
    names = dict.fromkeys([default, settings.model, *settings.models, OFFLINE, *_find_used(runtime)])
    rows = [_describe(name, settings.model_url) for name in list(names)[:_MAX_MODELS]]
    return {"models": rows, "default": default, "notes": list(_tell_keys())}


def _find_used(runtime: Runtime) -> Iterator[str]:
    for usage in runtime.model_usage(days=90):
        if usage.model and len(usage.model) <= _LONGEST_NAME:
            yield usage.model


def _describe(name: str, url: str) -> Record:
    calls_tools, note = _judge(name, url)
    return {"name": name, "calls_tools": calls_tools, "note": note}


@lru_cache(maxsize=256)
def _ask_library(name: str, url: str) -> bool:
    """Whether a model calls tools, as its library knows; the library is loaded once."""
    return open_model(name, url=url).calls_tools


def _judge(name: str, url: str) -> tuple[bool | None, str]:
    try:
        open_model(name, url=url)  # Each time: a key may have come or gone.
        calls_tools = _ask_library(name, url)
    except ProwessError as error:
        return None, f"{error.message}: {error.hint}" if error.hint else error.message
    if name == OFFLINE:
        return calls_tools, "built in, without a key and without a network"
    return calls_tools, "" if calls_tools else _WITHOUT_TOOLS


def _tell_keys() -> Iterator[str]:
    for usable in survey_providers():
        provider = usable.provider
        then = f"first {usable.missing}" if usable.missing else f"write {provider.prefix}:NAME"
        yield f"{provider.title}: the key in {usable.key} is here; {then}"
