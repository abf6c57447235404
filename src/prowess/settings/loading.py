"""Put the file, the environment and the arguments together."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from prowess.catalog.switches import EVERY_AGENT, Switch
from prowess.errors import SettingsError, WorldError
from prowess.policy import DEFAULT_PROFILE, PROFILES, Policy
from prowess.settings.file import SettingsFile
from prowess.settings.servers import read_servers
from prowess.settings.values import AgentSettings, Settings
from prowess.settings.vocabulary import (
    AGENT_SETTINGS,
    REMCOCHAT,
    REMCOCHAT_DIRECTORIES,
    SETTINGS,
    WrongValue,
    one_of,
    read_texts,
)
from prowess.sources.places import LOCAL_USER, USER_NAME_HINT, Place, is_user_name

__all__ = ["check_settings", "find_prowess_home", "find_settings_file", "load_settings"]

FILE_NAME = "prowess.toml"
_SHARED_DATABASES = ("postgresql://", "postgres://")
"""How the addresses begin of databases that many people use."""


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
    named = config or environ.get("PROWESS_CONFIG")
    file = SettingsFile.read(find_settings_file(config, environ=environ), must_exist=named is not None)
    return _load(file, environ, profile=profile, working_folder=working_folder)


def check_settings(text: str, *, config: str | None = None, profile: str | None = None) -> None:
    """Raise what `load_settings` would raise if the file held this text."""
    file = SettingsFile.parse(find_settings_file(config), text.encode("utf-8", "surrogatepass"))
    _load(file, os.environ, profile=profile, working_folder=None)


def _load(
    file: SettingsFile, environ: Mapping[str, str], *, profile: str | None, working_folder: str | None
) -> Settings:
    home = environ.get("HOME") or os.path.expanduser("~")
    place = Place(os.path.realpath(working_folder or _working_folder()), home, find_prowess_home(environ), LOCAL_USER)
    return _assemble(
        file,
        place,
        profile=profile or environ.get("PROWESS_PROFILE"),
        database=environ.get("PROWESS_DATABASE"),
        model=environ.get("PROWESS_MODEL"),
        model_url=environ.get("PROWESS_MODEL_URL"),
    )


def find_settings_file(config: str | None, *, environ: Mapping[str, str] | None = None) -> str:
    """Return where the settings are, or would be: `config`, or `PROWESS_CONFIG`, or in Prowess' home."""
    environ = os.environ if environ is None else environ
    named = config or environ.get("PROWESS_CONFIG")
    return os.path.abspath(named) if named else os.path.join(find_prowess_home(environ), FILE_NAME)


def find_prowess_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the folder that Prowess keeps everything in, be it there or not."""
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(environ.get("PROWESS_HOME") or os.path.join(home, ".prowess"))


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise WorldError(
            f"the working folder {os.environ.get('PWD', '')} cannot be used: {error.strerror}",
            hint="change to a folder that exists",
            code="no-working-folder",
        ) from error


def _assemble(
    file: SettingsFile,
    place: Place,
    *,
    profile: str | None,
    database: str | None,
    model: str | None,
    model_url: str | None,
) -> Settings:
    values = _flatten(file.values)
    remcochat = file.values.get("app", {}).get("skills") if isinstance(file.values.get("app"), dict) else None
    given: dict[str, object] = {}
    if remcochat is not None:
        given |= _read_remcochat(file, remcochat)
    given |= _read_known(file, values, tolerant=remcochat is not None)
    name = _choose_profile(file, profile, given, "remcochat" if remcochat is not None else DEFAULT_PROFILE)
    database = database or cast("str", given.get("database", ""))
    user = cast("str | None", given.pop("place.user", None))
    if user is None:
        user = _find_login_name() if database.startswith(_SHARED_DATABASES) else place.user
    if not is_user_name(user):
        raise file.fail("user", f"'{user}' cannot be a user's name", USER_NAME_HINT)
    settings = Settings(_apply_policy(PROFILES[name], given), replace(place, user=user), profile=name, file=file.path)
    settings = replace(settings, says_enabled="policy.enabled" in given)
    if remcochat is None and (given.get("directories") or given.get("extra_directories")):
        settings = settings.with_named_folders()  # RemcoChat's own table has to say `enabled = true` itself.
    return replace(
        settings,
        directories=cast("tuple[str, ...] | None", given.get("directories")),
        extra_directories=cast("tuple[str, ...]", given.get("extra_directories", ())),
        database=database,
        model=model or cast("str", given.get("model", settings.model)),
        model_url=model_url or cast("str", given.get("model_url", settings.model_url)),
        models=cast("tuple[str, ...]", given.get("models", ())),
        keep_receipts_days=cast("int", given.get("keep_receipts_days", settings.keep_receipts_days)),
        durable_copies=cast("bool", given.get("durable_copies", settings.durable_copies)),
        switches=_read_switches(file),
        agents=_read_agents(file),
        web=replace(settings.web, **_select(given, "web.")),
        mcp_servers=read_servers(file),
    )


def _find_login_name() -> str:
    """Return the name by which people who share a database are told apart, if this machine has one that can be used."""
    import getpass

    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):  # No variable names the user, and no list of users does either.
        return LOCAL_USER
    return name if is_user_name(name) else LOCAL_USER


def _choose_profile(file: SettingsFile, asked: str | None, given: dict[str, object], default: str) -> str:
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


def _read_known(file: SettingsFile, values: dict[str, object], *, tolerant: bool) -> dict[str, object]:
    known = {setting.path: setting for setting in SETTINGS}
    found: dict[str, object] = {}
    for key, value in values.items():
        setting = known.get(key)
        if setting is not None:
            found[setting.target] = _convert(file, key, setting.read, value)
        elif key.partition(".")[0] not in ("skills", "agents") and key != "mcp.servers" and not tolerant:
            raise file.fail(key, f"unknown setting '{key}'", _suggest(key, known))
    return found


def _suggest(key: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(key, [*known, "skills", "agents"], n=1)
    return f"did you mean '{near[0]}'?" if near else "`prowess init --print` shows all settings"


def _convert(file: SettingsFile, key: str, read: Callable[[object], object], value: object) -> object:
    try:
        return read(value)
    except WrongValue as wrong:
        raise file.fail(key, f"'{key}' is {value!r}", f"it should be {wrong}") from None


def _read_remcochat(file: SettingsFile, table: object) -> dict[str, object]:
    if not isinstance(table, dict):
        raise file.fail("app.skills", "'app.skills' is not a table", "write it as [app.skills]")
    found: dict[str, object] = {"directories": REMCOCHAT_DIRECTORIES}
    for key, value in cast("dict[str, object]", table).items():
        if key not in REMCOCHAT:
            raise file.fail(f"app.skills.{key}", f"unknown setting 'app.skills.{key}'", _suggest(key, REMCOCHAT))
        target, read = REMCOCHAT[key]
        found[target] = _convert(file, f"app.skills.{key}", read, value)
    return found


def _apply_policy(policy: Policy, given: Mapping[str, object]) -> Policy:
    limits = replace(policy.execution.limits, **_select(given, "policy.execution.limits."))
    return replace(
        policy,
        execution=replace(policy.execution, limits=limits, **_select(given, "policy.execution.")),
        reading=replace(policy.reading, **_select(given, "policy.reading.")),
        limits=replace(policy.limits, **_select(given, "policy.limits.")),
        prompting=replace(policy.prompting, **_select(given, "policy.prompting.")),
        turns=replace(policy.turns, **_select(given, "policy.turns.")),
        **_select(given, "policy."),
    )


def _select(given: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """Return the values of the fields right below a target."""
    return {
        target.removeprefix(prefix): value
        for target, value in given.items()
        if target.startswith(prefix) and "." not in target.removeprefix(prefix)
    }


def _read_switches(file: SettingsFile) -> dict[tuple[str, str], Switch]:
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
            position = _convert(file, f"{place}.{name}", one_of(Switch), value)
            found[agent, name] = cast("Switch", position)
    return found


def _read_agents(file: SettingsFile) -> dict[str, AgentSettings]:
    tables = file.values.get("agents", {})
    if not isinstance(tables, dict):
        raise file.fail("agents", "'agents' is not a table", "write a table for each agent: [agents.NAME]")
    found: dict[str, AgentSettings] = {}
    for agent, table in cast("dict[str, object]", tables).items():
        if not isinstance(table, dict):
            raise file.fail(f"agents.{agent}", f"'agents.{agent}' is not a table", f"write [agents.{agent}]")
        for key in cast("dict[str, object]", table):
            if key not in AGENT_SETTINGS:
                place = f"agents.{agent}.{key}"
                raise file.fail(place, f"unknown setting '{place}'", " or ".join(AGENT_SETTINGS))
        allowed = cast("dict[str, object]", table).get("skills")
        skills = None if allowed is None else _convert(file, f"agents.{agent}.skills", read_texts, allowed)
        found[agent] = AgentSettings(cast("tuple[str, ...] | None", skills))
    return found
