"""Readers of single values: from what YAML gave to what a field wants. None means that the value cannot be used."""

import re
from collections.abc import Callable
from typing import TypeVar

from prowess.skill.deception import clean_text
from prowess.skill.manifest import Argument, Requirements, Secret, ToolDependency, Triggers
from prowess.skill.tool_patterns import parse_tool_patterns
from prowess.skill.yaml_values import YamlValue

__all__ = [
    "as_arguments",
    "as_dependencies",
    "as_flag",
    "as_hint",
    "as_patterns",
    "as_prohibitions",
    "as_requirements",
    "as_secrets",
    "as_systems",
    "as_text",
    "as_triggers",
    "as_words",
    "look_up",
]

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_SYSTEMS = {
    "darwin": "macos",
    "mac": "macos",
    "macos": "macos",
    "osx": "macos",
    "linux": "linux",
    "win": "windows",
    "win32": "windows",
    "windows": "windows",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_ITEMS = 256

_T = TypeVar("_T")


def look_up(value: YamlValue | None, *path: str) -> YamlValue | None:
    """Return what lies at `path` in nested maps, or None."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def as_text(value: YamlValue) -> str | None:
    """Text on one line."""
    return clean_text(value).text if isinstance(value, str) else None


def as_hint(value: YamlValue) -> str | None:
    """Text in which `[a]` and `{a}` are meant as written, though YAML sees a list or a map."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return clean_text("[" + ", ".join(str(item) for item in value) + "]").text
    return as_text(value)


def as_flag(value: YamlValue) -> bool | None:
    """Yes or no in any of YAML's spellings."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _TRUE:
        return True
    return False if word in _FALSE else None


def as_words(value: YamlValue) -> tuple[str, ...] | None:
    """A list of texts; one text is cut at commas, or at blanks if it has none; `[a, b]` in quotes is a list too."""
    if isinstance(value, str):
        inner = value.strip().removeprefix("[").removesuffix("]")
        parts = inner.split(",") if "," in inner else inner.split()
        value = [part.strip().strip("\"'") for part in parts]
    if not isinstance(value, list):
        return None
    words = [clean_text(item).text for item in value if isinstance(item, str)]
    if len(words) != len(value):
        return None
    return tuple(word for word in words if word)[:_MAX_ITEMS]


def as_patterns(value: YamlValue) -> tuple[str, ...] | None:
    """Tool patterns, those that cannot be understood left out."""
    found = parse_tool_patterns(value)
    return tuple(clean_text(pattern).text for pattern in found.patterns) if found else None


def as_prohibitions(value: YamlValue) -> tuple[str, ...] | None:
    """Patterns of what is forbidden; of one that cannot be understood the whole tool that it names."""
    found = parse_tool_patterns(value)
    if found is None:
        return None
    names = (pattern.partition("(")[0] for pattern in found.unbalanced)
    return tuple(clean_text(text).text for text in (*found.patterns, *names) if text)


def as_systems(value: YamlValue) -> tuple[str, ...] | None:
    """Operating systems in one spelling; unknown ones are kept, and never match."""
    words = as_words(value)
    return None if words is None else tuple(_SYSTEMS.get(word.lower(), word.lower()) for word in words)


def as_arguments(value: YamlValue) -> tuple[Argument, ...] | None:
    """Arguments as names, or as maps with name, description and required."""
    if not isinstance(value, list):
        value = [*value.split()] if isinstance(value, str) else value
    return _each(value, _argument)


def _argument(item: YamlValue) -> Argument | None:
    if isinstance(item, str):
        name = clean_text(item).text
        return Argument(name) if name else None
    name = as_text(look_up(item, "name") or "")
    if not name:
        return None
    required = as_flag(look_up(item, "required") or "")
    return Argument(name, as_text(look_up(item, "description") or "") or "", bool(required))


def as_secrets(value: YamlValue) -> tuple[Secret, ...] | None:
    """Names of variables, or maps that say more; a map of names to descriptions as well."""
    if isinstance(value, dict):
        value = [{"name": name, "prompt": text} for name, text in value.items()]
    if isinstance(value, str):
        value = list(as_words(value) or ())
    return _each(value, _secret)


def _secret(item: YamlValue) -> Secret | None:
    if isinstance(item, str):
        name = item.strip()
        return Secret(name) if _VARIABLE.fullmatch(name) else None
    name = _first_text(item, "name", "env_var", "env")
    if not _VARIABLE.fullmatch(name):
        return None
    optional = as_flag(look_up(item, "optional") or "") or as_flag(look_up(item, "required") or "") is False
    return Secret(name, _first_text(item, "prompt", "description", "help"), bool(optional))


def as_dependencies(value: YamlValue) -> tuple[ToolDependency, ...] | None:
    """Tool servers; entries without type and value are left out."""
    return _each(value, _dependency) if isinstance(value, list) else None


def _dependency(item: YamlValue) -> ToolDependency | None:
    parts = {key: _first_text(item, key) for key in ("type", "value", "description", "transport", "command", "url")}
    return ToolDependency(**parts) if parts["type"] and parts["value"] else None


def as_triggers(value: YamlValue) -> Triggers | None:
    """Keywords, verbs and patterns; a bare list or text gives keywords."""
    if not isinstance(value, dict):
        words = _phrases(value)
        return None if words is None else Triggers(keywords=words)
    keywords, verbs = (_phrases(value.get(key, [])) for key in ("keywords", "verbs"))
    given = value.get("patterns", [])
    patterns = as_words([given] if isinstance(given, str) and given else given)  # A comma belongs to a pattern.
    if keywords is None or verbs is None or patterns is None:
        return None
    return Triggers(keywords, verbs, patterns)


def _phrases(value: YamlValue) -> tuple[str, ...] | None:
    """Like words, but a text is cut at commas only: a phrase may have blanks."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    return as_words(value)


def as_requirements(value: YamlValue) -> Requirements | None:
    """Binaries as text or list, or a map that also names variables, systems and a Python version."""
    if not isinstance(value, dict):
        words = as_words(value)
        return None if words is None else Requirements(binaries=words)

    def words_at(*keys: str) -> tuple[str, ...]:
        return tuple(word for key in keys for word in as_words(value.get(key, [])) or ())

    return Requirements(
        binaries=words_at("bins", "binaries", "commands"),
        any_binaries=words_at("anyBins", "any-bins", "any_bins"),
        environment=words_at("env", "environment"),
        systems=as_systems(list(words_at("os", "platforms"))) or (),
        python=_first_text(value, "python"),
        configuration=words_at("config"),
        tools=words_at("tools"),
    )


def _first_text(value: YamlValue, *keys: str) -> str:
    for key in keys:
        found = look_up(value, key)
        text = as_text(found) if found is not None else None
        if text:
            return text
    return ""


def _each(value: YamlValue, read: Callable[[YamlValue], _T | None]) -> tuple[_T, ...] | None:
    """Read every item of a list, leaving out those that cannot be used; None if nothing is left of something."""
    if not isinstance(value, list):
        return None
    found = [item for item in map(read, value[:_MAX_ITEMS]) if item is not None]
    return tuple(found) if found or not value else None
