"""Settings: `prowess.toml`, the environment and the command line, made into one frozen value.

`SETTINGS` is the whole vocabulary of the file; the template of `prowess init` and the reference in the docs are made
from it.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar, cast

from prowess.catalog.switches import EVERY_AGENT, Switch
from prowess.errors import SettingsError
from prowess.policy import (
    DEFAULT_PROFILE,
    PROFILES,
    CatalogText,
    Links,
    MissingDescription,
    NameRule,
    Parse,
    Policy,
    ProjectTrust,
    Refresh,
    SameName,
    Scan,
    UnknownKeys,
)
from prowess.sources.places import Place

__all__ = ["SETTINGS", "AgentSettings", "Setting", "Settings", "load_settings", "render_template"]

FILE_NAME = "prowess.toml"
_REMCOCHAT_DIRECTORIES = ("./.skills", "./.agents/skills", "~/.agents/skills", "~/.remcochat/skills")
_USER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the settings say of one agent."""

    skills: tuple[str, ...] | None = None
    """Names or ids that it may see. None and `*`: all. Empty: none."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that steers a runtime."""

    policy: Policy
    place: Place
    profile: str = DEFAULT_PROFILE
    file: str = ""
    """The file that was read; empty if there is none."""
    directories: tuple[str, ...] | None = None
    """Folders that take the place of the profile's sources."""
    extra_directories: tuple[str, ...] = ()
    """Folders that are searched before the profile's sources."""
    switches: Mapping[tuple[str, str], Switch] = field(default_factory=dict[tuple[str, str], Switch])
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])

    @property
    def cache_folder(self) -> str:
        """Where caches lie: always safe to delete."""
        return os.path.join(self.place.prowess_home, "cache")

    @property
    def state_file(self) -> str:
        """Where decisions of people are kept."""
        return os.path.join(self.place.prowess_home, "state.db")


class _Wrong(Exception):
    """A value that a reader cannot take; says what it would."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the file."""

    path: str
    target: str
    """Where the value goes: a field of Settings, or `policy.…`, `policy.reading.…`, `policy.limits.…`."""
    read: Callable[[object], object]
    about: str
    sample: str


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong("a text")
    return value


def _positive(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _Wrong("a whole number from 1 up")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise _Wrong("a list of texts")
    return tuple(cast("list[str]", value))


def _one_of(choices: type[_E]) -> Callable[[object], _E]:
    def read(value: object) -> _E:
        try:
            return choices(value)
        except ValueError:
            raise _Wrong("one of " + ", ".join(f'"{choice}"' for choice in choices)) from None

    return read


SETTINGS: tuple[Setting, ...] = (
    Setting("profile", "profile", _text, "the set of policies to start from: " + ", ".join(PROFILES), '"standard"'),
    Setting("enabled", "policy.enabled", _flag, "whether there are any skills at all", "true"),
    Setting("user", "place.user", _text, "whose personal skills and copies are used", '"local"'),
    Setting(
        "sources.directories",
        "directories",
        _texts,
        "folders of skills, highest precedence first, instead of the profile's; absolute, ~ or relative to the project",
        '["./skills", "~/.agents/skills"]',
    ),
    Setting("sources.extra", "extra_directories", _texts, "folders searched before the profile's", '["~/work/skills"]'),
    Setting(
        "reading.parse",
        "policy.reading.parse",
        _one_of(Parse),
        "what is tried with frontmatter that is not valid YAML",
        '"repair"',
    ),
    Setting(
        "reading.unknown_keys",
        "policy.reading.unknown_keys",
        _one_of(UnknownKeys),
        "what becomes of keys outside the standard",
        '"dialects"',
    ),
    Setting(
        "reading.name_rule",
        "policy.reading.name_rule",
        _one_of(NameRule),
        "what becomes of names that break the rule",
        '"warn"',
    ),
    Setting(
        "reading.missing_description",
        "policy.reading.missing_description",
        _one_of(MissingDescription),
        "what becomes of skills without a description",
        '"refuse"',
    ),
    Setting("catalog.scan", "policy.scan", _one_of(Scan), "how deep a root is searched", '"recursive"'),
    Setting(
        "catalog.links", "policy.links", _one_of(Links), "which links to skill folders are followed", '"known-roots"'
    ),
    Setting(
        "catalog.same_name", "policy.same_name", _one_of(SameName), "who wins a name that is used twice", '"first-wins"'
    ),
    Setting(
        "catalog.project_trust",
        "policy.project_trust",
        _one_of(ProjectTrust),
        "whether a project's skills reach a model before `prowess trust`",
        '"ask"',
    ),
    Setting(
        "catalog.text", "policy.catalog_text", _one_of(CatalogText), "how the catalog is written for a model", '"xml"'
    ),
    Setting("catalog.refresh", "policy.refresh", _one_of(Refresh), "when changes on disk are noticed", '"watched"'),
    Setting("limits.max_depth", "policy.limits.max_depth", _positive, "levels of folders below a root", "6"),
    Setting("limits.max_folders", "policy.limits.max_folders", _positive, "folders listed in a root", "100000"),
    Setting("limits.max_skills", "policy.limits.max_skills", _positive, "skills in the catalog", "1000000"),
    Setting(
        "limits.max_skill_md_bytes",
        "policy.limits.max_skill_md_bytes",
        _positive,
        "size over which a SKILL.md is reported as too large",
        "200000",
    ),
)

_REMCOCHAT: dict[str, tuple[str, Callable[[object], object]]] = {
    "enabled": ("policy.enabled", _flag),
    "directories": ("directories", _texts),
    "max_skills": ("policy.limits.max_skills", _positive),
    "max_skill_md_bytes": ("policy.limits.max_skill_md_bytes", _positive),
    "max_resource_bytes": ("policy.limits.max_resource_bytes", _positive),
}


def load_settings(
    *,
    config: str | None = None,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    working_folder: str | None = None,
) -> Settings:
    """Return the settings from the file, the environment and the arguments, later ones counting more.

    The file is `config`, or `PROWESS_CONFIG`, or `prowess.toml` in Prowess' home, where it may be missing.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or os.path.expanduser("~")
    prowess_home = os.path.abspath(environ.get("PROWESS_HOME") or os.path.join(home, ".prowess"))
    place = Place(os.path.abspath(working_folder or os.getcwd()), home, prowess_home, "local")
    named = config or environ.get("PROWESS_CONFIG")
    file = _File.read(named or os.path.join(prowess_home, FILE_NAME), must_exist=named is not None)
    return _assemble(file, place, profile or environ.get("PROWESS_PROFILE"))


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    text: str
    values: dict[str, Any]

    @staticmethod
    def read(path: str, *, must_exist: bool) -> "_File":
        import tomllib

        try:
            with open(path, "rb") as file:
                text = file.read().decode()
            return _File(path, text, tomllib.loads(text))
        except FileNotFoundError:
            if must_exist:
                raise SettingsError(
                    f"no settings file at {path}", hint="`prowess init` writes one", code="settings-missing"
                ) from None
            return _File("", "", {})
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: cannot be read: {error}", code="settings-unreadable") from error
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{path}: not valid TOML: {error}", hint="correct the line", code="bad-toml") from error

    def fail(self, key: str, message: str, hint: str = "") -> SettingsError:
        """Return the error for a key, with the line where it stands."""
        line = self._line(key)
        return SettingsError(f"{self.path}{f':{line}' if line else ''}: {message}", hint=hint, code="bad-setting")

    def _line(self, key: str) -> int | None:
        table, _, last = key.rpartition(".")
        inside = not table
        for number, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
            if header:
                inside = header[1].replace('"', "") == table
                if header[1].replace('"', "") == key:
                    return number
            elif inside and re.match(rf'\s*"?{re.escape(last)}"?\s*=', line):
                return number
        return None


def _assemble(file: _File, place: Place, profile: str | None) -> Settings:
    values = _flatten(file.values)
    remcochat = file.values.get("app", {}).get("skills") if isinstance(file.values.get("app"), dict) else None
    given: dict[str, object] = {}
    if remcochat is not None:
        given |= _read_remcochat(file, remcochat)
    given |= _read_known(file, values, tolerant=remcochat is not None)
    name = _choose_profile(file, profile, given, "remcochat" if remcochat is not None else DEFAULT_PROFILE)
    user = cast("str", given.pop("place.user", place.user))
    if not _USER.fullmatch(user) or user in (".", ".."):
        raise file.fail("user", f"'{user}' cannot be a user's name", "use letters, digits, '.', '_' and '-'")
    settings = Settings(_apply_policy(PROFILES[name], given), replace(place, user=user), profile=name, file=file.path)
    return replace(
        settings,
        directories=cast("tuple[str, ...] | None", given.get("directories")),
        extra_directories=cast("tuple[str, ...]", given.get("extra_directories", ())),
        switches=_read_switches(file),
        agents=_read_agents(file),
    )


def _choose_profile(file: _File, asked: str | None, given: dict[str, object], default: str) -> str:
    in_file = cast("str | None", given.pop("profile", None))
    name = asked or in_file or default
    if name in PROFILES:
        return name
    hint = "profiles: " + ", ".join(PROFILES)
    if asked:
        raise SettingsError(f"no profile '{name}'", hint=hint, code="bad-setting")
    raise file.fail("profile", f"no profile '{name}'", hint)


def _flatten(values: dict[str, Any]) -> dict[str, object]:
    """Return the values of the top level and of plain tables by dotted key."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": item for inner, item in cast("dict[str, object]", value).items()}
        else:
            flat[key] = value
    return flat


def _read_known(file: _File, values: dict[str, object], *, tolerant: bool) -> dict[str, object]:
    known = {setting.path: setting for setting in SETTINGS}
    found: dict[str, object] = {}
    for key, value in values.items():
        setting = known.get(key)
        if setting is not None:
            found[setting.target] = _convert(file, key, setting.read, value)
        elif key.partition(".")[0] not in ("skills", "agents") and not tolerant:
            raise file.fail(key, f"unknown setting '{key}'", _suggest(key, known))
    return found


def _suggest(key: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(key, [*known, "skills", "agents"], n=1)
    return f"did you mean '{near[0]}'?" if near else "`prowess init --print` shows all settings"


def _convert(file: _File, key: str, read: Callable[[object], object], value: object) -> object:
    try:
        return read(value)
    except _Wrong as wrong:
        raise file.fail(key, f"'{key}' is {value!r}", f"it should be {wrong}") from None


def _read_remcochat(file: _File, table: object) -> dict[str, object]:
    if not isinstance(table, dict):
        raise file.fail("app.skills", "'app.skills' is not a table", "write it as [app.skills]")
    found: dict[str, object] = {"directories": _REMCOCHAT_DIRECTORIES}
    for key, value in cast("dict[str, object]", table).items():
        if key not in _REMCOCHAT:
            raise file.fail(f"app.skills.{key}", f"unknown setting 'app.skills.{key}'", _suggest(key, _REMCOCHAT))
        target, read = _REMCOCHAT[key]
        found[target] = _convert(file, f"app.skills.{key}", read, value)
    return found


def _apply_policy(policy: Policy, given: Mapping[str, object]) -> Policy:
    def part(prefix: str) -> dict[str, Any]:
        return {
            target.removeprefix(prefix): value
            for target, value in given.items()
            if target.startswith(prefix) and "." not in target.removeprefix(prefix)
        }

    return replace(
        policy,
        reading=replace(policy.reading, **part("policy.reading.")),
        limits=replace(policy.limits, **part("policy.limits.")),
        **part("policy."),
    )


def _read_switches(file: _File) -> dict[tuple[str, str], Switch]:
    found: dict[tuple[str, str], Switch] = {}
    tables = [(EVERY_AGENT, "skills", file.values.get("skills", {}))]
    agents = file.values.get("agents", {})
    if isinstance(agents, dict):
        for agent, table in cast("dict[str, object]", agents).items():
            if isinstance(table, dict):
                tables.append((agent, f"agents.{agent}.switches", cast("Any", table).get("switches", {})))
    for agent, place, table in tables:
        if not isinstance(table, dict):
            raise file.fail(place, f"'{place}' is not a table", 'write lines such as: pdf-fill = "off"')
        for name, value in cast("dict[str, object]", table).items():
            position = _convert(file, f"{place}.{name}", _one_of(Switch), value)
            found[agent, name] = cast("Switch", position)
    return found


def _read_agents(file: _File) -> dict[str, AgentSettings]:
    tables = file.values.get("agents", {})
    if not isinstance(tables, dict):
        raise file.fail("agents", "'agents' is not a table", "write a table for each agent: [agents.NAME]")
    found: dict[str, AgentSettings] = {}
    for agent, table in cast("dict[str, object]", tables).items():
        if not isinstance(table, dict):
            raise file.fail(f"agents.{agent}", f"'agents.{agent}' is not a table", f"write [agents.{agent}]")
        for key in cast("dict[str, object]", table):
            if key not in ("skills", "switches"):
                raise file.fail(
                    f"agents.{agent}.{key}", f"unknown setting 'agents.{agent}.{key}'", "skills or switches"
                )
        allowed = cast("dict[str, object]", table).get("skills")
        skills = None if allowed is None else _convert(file, f"agents.{agent}.skills", _texts, allowed)
        found[agent] = AgentSettings(cast("tuple[str, ...] | None", skills))
    return found


def render_template() -> str:
    """Return a settings file in which every setting is explained and commented out."""
    lines = ["# Settings of Prowess. Every line is commented out and shows the default of the standard profile.", ""]
    table = ""
    for setting in SETTINGS:
        section, _, key = setting.path.rpartition(".")
        if section != table:
            lines += ["", f"[{section}]"]
            table = section
        lines += [f"# {setting.about}", f"# {key} = {setting.sample}"]
    lines += [
        "",
        "[skills]",
        "# a switch for a skill, by name or id: on, name-only, user-only or off",
        '# pdf-fill = "off"',
        "",
        "# [agents.reviewer]",
        "# the skills that this agent may see; without the line all, with [] none",
        '# skills = ["repo-survey", "safe-edit"]',
        '# switches = { repo-survey = "name-only" }',
        "",
    ]
    return "\n".join(lines)
