"""The fields that our own documents and other agents add to the standard, as one table.

Each row says where a value stands, what it means in the one model, and who reads it. `read_behaviour` fills a
`Behaviour` from it; `targets` uses the same rows to say what an agent would not understand.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from prowess.skill import field_values as read
from prowess.skill.manifest import Behaviour, Command, Interface, Requirements, parse_metadata
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = [
    "FIELDS",
    "KNOWN_KEYS",
    "METADATA_KEYS",
    "NO_ADDITIONS",
    "OWN_KEYS",
    "SIDECAR_PATH",
    "Additions",
    "DialectField",
    "Fault",
    "read_behaviour",
]

SIDECAR_PATH = "agents/openai.yaml"
"""Where Codex keeps what it does not put into SKILL.md."""

CLAUDE, CODEX, OPENCLAW, HERMES, ROO = "claude-code", "codex", "openclaw", "hermes", "roo"
COPILOT, QWEN, OWN = "copilot", "qwen", "prowess"


@dataclass(frozen=True, slots=True)
class DialectField:
    """One spelling of one meaning."""

    path: tuple[str, ...]
    """Keys from the top of the frontmatter; `sidecar` as the first leads into `agents/openai.yaml`."""
    meaning: str
    """An attribute of `Behaviour`, or `requires.x` and `interface.x` for a part of one."""
    reader: Callable[[YamlValue], object | None]
    wants: str
    """What the reader understands, for messages."""
    readers: frozenset[str]
    """The agents that know this spelling."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A value that could not be used."""

    path: tuple[str, ...]
    wants: str


@dataclass(frozen=True, slots=True)
class Additions:
    """What the frontmatter and the sidecar ask for beyond the standard."""

    behaviour: Behaviour | None = None
    """None if nothing is asked for."""
    allowed_tools: tuple[str, ...] | None = None
    """Given under another agent's key."""
    faults: tuple[Fault, ...] = ()


NO_ADDITIONS = Additions()


def _not(value: YamlValue) -> bool | None:
    flag = read.as_flag(value)
    return None if flag is None else not flag


def _is_fork(value: YamlValue) -> bool | None:
    return True if value == "fork" else None


def _keys(value: YamlValue) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, dict) else None


def _command(value: YamlValue) -> Command | None:
    tool = read.as_text(value)
    return Command(tool) if tool else None


def _field(
    path: str, meaning: str, reader: Callable[[YamlValue], object | None], wants: str, *readers: str
) -> DialectField:
    return DialectField(tuple(path.split("/")), meaning, reader, wants, frozenset(readers))


_TEXT, _FLAG, _LIST = "a text", "true or false", "a list of texts"

FIELDS: tuple[DialectField, ...] = (
    # Our own documents
    _field("sandbox", "forks", read.as_flag, _FLAG, OWN),
    _field("permissions", "permissions", read.as_words, _LIST, OWN),
    _field("tools", "tools", read.as_words, _LIST, OWN),
    _field("toolsets", "toolsets", read.as_words, _LIST, OWN),
    _field("triggers", "triggers", read.as_triggers, "keywords, verbs and patterns", OWN),
    _field("requires", "requires", read.as_requirements, "binaries, or a map with bins, env, os, python", OWN),
    _field("metadata/requires", "requires", read.as_requirements, "binaries, or a map with bins, env, os, python", OWN),
    _field("secrets", "secrets", read.as_secrets, "names of variables", OWN),
    # Who may invoke it
    _field("disable-model-invocation", "model_invocable", _not, _FLAG, OWN, CLAUDE, OPENCLAW, COPILOT),
    _field("sidecar/policy/allow_implicit_invocation", "model_invocable", read.as_flag, _FLAG, OWN, CODEX),
    _field("user-invocable", "user_invocable", read.as_flag, _FLAG, OWN, CLAUDE, OPENCLAW, COPILOT),
    _field("user_invocable", "user_invocable", read.as_flag, _FLAG, OWN),
    # Claude Code
    _field("when_to_use", "when_to_use", read.as_text, _TEXT, OWN, CLAUDE),
    _field("argument-hint", "argument_hint", read.as_hint, _TEXT, OWN, CLAUDE, COPILOT),
    _field("arguments", "arguments", read.as_arguments, "names, or maps with a name", OWN, CLAUDE),
    _field("disallowed-tools", "disallowed_tools", read.as_prohibitions, "tool patterns", OWN, CLAUDE),
    _field("context", "forks", _is_fork, "fork", OWN, CLAUDE),
    _field("background", "background", read.as_flag, _FLAG, OWN, CLAUDE),
    _field("model", "model", read.as_text, _TEXT, OWN, CLAUDE),
    _field("effort", "effort", read.as_text, _TEXT, OWN, CLAUDE),
    _field("agent", "agent", read.as_text, _TEXT, OWN, CLAUDE),
    _field("shell", "shell", read.as_text, _TEXT, OWN, CLAUDE),
    _field("paths", "paths", read.as_words, _LIST, OWN, CLAUDE),
    _field("hooks", "hooks", _keys, "a map", OWN, CLAUDE),
    # Codex
    _field("metadata/short-description", "interface.short_description", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/interface/display_name", "interface.display_name", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/interface/short_description", "interface.short_description", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/interface/default_prompt", "interface.default_prompt", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/interface/icon_small", "interface.icon", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/interface/brand_color", "interface.brand_color", read.as_text, _TEXT, OWN, CODEX),
    _field("sidecar/dependencies/tools", "dependencies", read.as_dependencies, "maps with type and value", OWN, CODEX),
    # OpenClaw, and its former name
    _field("homepage", "interface.homepage", read.as_text, _TEXT, OWN, OPENCLAW),
    _field("command-tool", "command", _command, _TEXT, OWN, OPENCLAW),
    *(
        _field(f"metadata/{name}/{path}", meaning, reader, wants, OWN, OPENCLAW)
        for name in ("openclaw", "clawdbot")
        for path, meaning, reader, wants in (
            ("requires", "requires", read.as_requirements, "a map with bins, anyBins, env, config"),
            ("os", "requires.systems", read.as_systems, _LIST),
            ("always", "requires.always", read.as_flag, _FLAG),
            ("primaryEnv", "secrets", read.as_secrets, "the name of a variable"),
            ("emoji", "interface.emoji", read.as_text, _TEXT),
            ("homepage", "interface.homepage", read.as_text, _TEXT),
        )
    ),
    # Hermes
    _field("platforms", "requires.systems", read.as_systems, _LIST, OWN, HERMES),
    _field("required_environment_variables", "secrets", read.as_secrets, "names of variables", OWN, HERMES),
    _field("setup/collect_secrets", "secrets", read.as_secrets, "names of variables", OWN, HERMES),
    _field("prerequisites/env_vars", "secrets", read.as_secrets, "names of variables", OWN, HERMES),
    _field("prerequisites/commands", "requires.binaries", read.as_words, _LIST, OWN, HERMES),
    _field("metadata/hermes/requires_tools", "requires.tools", read.as_words, _LIST, OWN, HERMES),
    # Roo
    _field("modeSlugs", "modes", read.as_words, _LIST, OWN, ROO),
    _field("mode", "modes", read.as_words, _LIST, OWN, ROO),
    # Qwen
    _field("allowedTools", "allowed_tools", read.as_patterns, "tool patterns", OWN, QWEN),
)

_BY_TOP: dict[str, list[DialectField]] = {}
_BY_METADATA: dict[str, list[DialectField]] = {}
for _row in FIELDS:
    _place, _key = (_BY_METADATA, _row.path[1]) if _row.path[0] == "metadata" else (_BY_TOP, _row.path[0])
    _place.setdefault(_key, []).append(_row)

METADATA_KEYS = frozenset(_BY_METADATA)
"""Keys under `metadata` that mean something to some agent."""

_FOR_PEOPLE = frozenset({"tags", "keywords", "version", "author", "category", "homepage", "repository"})
_WITHOUT_EFFECT = frozenset({"command-dispatch", "command-arg-mode", "environments", "deps", "related_skills"})

KNOWN_KEYS = frozenset(_BY_TOP) - {"sidecar"} | _FOR_PEOPLE | _WITHOUT_EFFECT
"""Top-level keys that some known agent reads, or that are plainly meant for people."""

OWN_KEYS = frozenset({"sandbox", "permissions", "tools"})
"""The additions that are read even where the policy ignores other agents' keys."""

_PARTS: dict[str, type] = {"requires": Requirements, "interface": Interface}


def read_behaviour(frontmatter: YamlMap, sidecar: YamlMap | None, *, keys: Iterable[str]) -> Additions:
    """Return the behaviour that the given top-level keys, and the sidecar, ask for.

    Where two spellings give one meaning, lists are joined, of two permissions the narrower holds, and else the first
    one counts.
    """
    rows = [row for key in keys for row in _BY_TOP.get(key, ())]
    metadata = parse_metadata(frontmatter.get("metadata", "")) or {}
    if not METADATA_KEYS.isdisjoint(metadata):
        rows += [row for key in metadata for row in _BY_METADATA.get(key, ())]
    if sidecar is not None:
        rows += _BY_TOP["sidecar"]
    if not rows:
        return NO_ADDITIONS
    document: YamlMap = {**frontmatter, "metadata": metadata, "sidecar": sidecar or {}}
    found: dict[str, Any] = {}
    faults: list[Fault] = []
    for row in rows:
        value = read.look_up(document, *row.path)
        if value is None or value == "":
            continue
        meant = row.reader(value)
        if meant is None:
            faults.append(Fault(row.path, row.wants))
        else:
            _merge(found, row.meaning, meant)
    allowed_tools = found.pop("allowed_tools", None)
    return Additions(_build(found) if found else None, allowed_tools, tuple(faults))


def _merge(found: dict[str, Any], meaning: str, value: object) -> None:
    known = found.get(meaning)
    if known is None:
        found[meaning] = value
    elif isinstance(value, tuple):
        found[meaning] = tuple(dict.fromkeys((*known, *cast("tuple[object, ...]", value))))
    elif isinstance(value, Requirements):
        found[meaning] = _join(known, value)
    elif meaning in ("model_invocable", "user_invocable"):
        found[meaning] = known and value


def _join(first: Requirements, second: Requirements) -> Requirements:
    """Return what both ask for together."""

    def both(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*getattr(first, name), *getattr(second, name))))

    lists = ("binaries", "any_binaries", "environment", "systems", "configuration", "tools")
    joined = {name: both(name) for name in lists}
    return Requirements(**joined, python=first.python or second.python, always=first.always or second.always)


def _build(found: dict[str, Any]) -> Behaviour:
    whole = {meaning: value for meaning, value in found.items() if "." not in meaning}
    for part, kind in _PARTS.items():
        prefix = f"{part}."
        values = {meaning.removeprefix(prefix): value for meaning, value in found.items() if meaning.startswith(prefix)}
        if part == "requires" and values:
            whole[part] = _join(whole.get(part, Requirements()), Requirements(**values))
        elif values:
            whole[part] = replace(whole.get(part) or kind(), **values)
    return Behaviour(**whole)
