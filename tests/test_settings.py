"""Settings: a file, variables and arguments become one value, or a message that says what to correct."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prowess.catalog.switches import EVERY_AGENT, Switch
from prowess.errors import SettingsError
from prowess.policy import (
    PROFILES,
    AllowedTools,
    Backend,
    BaseDirectory,
    BinaryResources,
    CatalogText,
    Consent,
    Execution,
    Limits,
    Links,
    Mentions,
    MissingDescription,
    NameRule,
    NetworkUse,
    Packages,
    Parse,
    ProjectTrust,
    Prompting,
    Ranking,
    Refresh,
    RunIn,
    SameName,
    Scan,
    ScriptConsent,
    SecretKeeping,
    SessionMemory,
    SourceKind,
    TokenCounting,
    ToolSet,
    TriggerUse,
    Turns,
    UnknownKeys,
    WorkFolder,
    WorkspaceAccess,
)
from prowess.settings import SETTINGS, AgentSettings, Setting, Settings, load_settings, render_template
from prowess.settings.loading import check_settings

_GOOD: dict[str, tuple[str, object]] = {
    "profile": ('"daycare"', "daycare"),
    "enabled": ("false", False),
    "user": ('"anna.b-1"', "anna.b-1"),
    "database": ('"memory"', "memory"),
    "model": ('"anthropic:claude"', "anthropic:claude"),
    "model_url": ('"http://127.0.0.1:8000/v1"', "http://127.0.0.1:8000/v1"),
    "models": ('["ollama:a", "offline"]', ("ollama:a", "offline")),
    "keep_receipts_days": ("30", 30),
    "sources.directories": ('["./a", "~/b"]', ("./a", "~/b")),
    "sources.extra": ('["/c"]', ("/c",)),
    "reading.parse": ('"plain"', Parse.PLAIN),
    "reading.unknown_keys": ('"refuse"', UnknownKeys.REFUSE),
    "reading.name_rule": ('"sanitise"', NameRule.SANITISE),
    "reading.missing_description": ('"first-paragraph"', MissingDescription.FIRST_PARAGRAPH),
    "catalog.scan": ('"children"', Scan.CHILDREN),
    "catalog.links": ('"skip"', Links.SKIP),
    "catalog.same_name": ('"keep-all"', SameName.KEEP_ALL),
    "catalog.project_trust": ('"always"', ProjectTrust.ALWAYS),
    "catalog.text": ('"markdown"', CatalogText.MARKDOWN),
    "catalog.refresh": ('"start"', Refresh.START),
    "catalog.ranking": ('"fused"', Ranking.FUSED),
    "prompt.budget_tokens": ("700", 700),
    "prompt.context_window": ("8000", 8_000),
    "prompt.pins": ('["a", "core:b"]', ("a", "core:b")),
    "prompt.counting": ('"tiktoken"', TokenCounting.TIKTOKEN),
    "prompt.reattach_tokens": ("900", 900),
    "prompt.reattach_skill_tokens": ("90", 90),
    "activation.tools": ('"workspace"', ToolSet.WORKSPACE),
    "activation.consent": ('"each-session"', Consent.EACH_SESSION),
    "activation.trusted_sources": ('["user", "mcp"]', (SourceKind.USER, SourceKind.MCP)),
    "activation.sessions": ('"task"', SessionMemory.TASK),
    "activation.mentions": ('"slash"', Mentions.SLASH),
    "activation.triggers": ('"activate"', TriggerUse.ACTIVATE),
    "activation.base_directory": ('"host"', BaseDirectory.HOST),
    "resources.binary": ('"refuse"', BinaryResources.REFUSE),
    "copies.durable": ("false", False),
    "execution.enabled": ("false", False),
    "execution.backend": ('"podman"', Backend.PODMAN),
    "execution.consent": ('"with-activation"', ScriptConsent.WITH_ACTIVATION),
    "execution.work_folder": ('"workspace"', WorkFolder.WORKSPACE),
    "execution.workspace": ('"read"', WorkspaceAccess.READ),
    "execution.network": ('"granted"', NetworkUse.GRANTED),
    "execution.allowed_tools": ('"enforce"', AllowedTools.ENFORCE),
    "execution.tools": ('["Bash(git:*)", "Read"]', ("Bash(git:*)", "Read")),
    "execution.packages": ('"off"', Packages.OFF),
    "execution.secrets": ('"keyring"', SecretKeeping.KEYRING),
    "execution.host_variables": ('["GITHUB_TOKEN", "CI"]', ("GITHUB_TOKEN", "CI")),
    "execution.programs": ('["/opt/tools"]', ("/opt/tools",)),
    "execution.image": ('"debian:12"', "debian:12"),
    "execution.spare_containers": ("true", True),
    "execution.keep_outputs_days": ("30", 30),
    "execution.timeout_seconds": ("11", 11),
    "execution.output_bytes": ("12", 12),
    "execution.memory_bytes": ("13", 13),
    "execution.processes": ("14", 14),
    "execution.cpu_seconds": ("15", 15),
    "execution.file_bytes": ("16", 16),
    "execution.folder_bytes": ("17", 17),
    "execution.output_files": ("18", 18),
    "execution.scratch_bytes": ("19", 19),
    "turns.instructions": ('"Be brief."', "Be brief."),
    "turns.run_in": ('"fork"', RunIn.FORK),
    "turns.max_steps": ("21", 21),
    "turns.request_seconds": ("22", 22),
    "turns.attempts": ("23", 23),
    "turns.compact_tokens": ("24", 24),
    "turns.keep_tokens": ("25", 25),
    "turns.max_forks": ("26", 26),
    "turns.fork_depth": ("27", 27),
    "turns.fork_seconds": ("28", 28),
    "limits.max_depth": ("3", 3),
    "limits.max_folders": ("4", 4),
    "limits.max_skills": ("5", 5),
    "limits.max_skill_md_bytes": ("6", 6),
    "limits.max_resource_bytes": ("7", 7),
    "web.host": ('"0.0.0.0"', "0.0.0.0"),
    "web.port": ("0", 0),
    "web.public_url": ('"https://skills.example.org"', "https://skills.example.org"),
    "web.hosts": ('["skills.internal"]', ("skills.internal",)),
}
_WRONG = {
    "profile": ("3", "it should be a text"),
    "enabled": ('"yes"', "it should be true or false"),
    "user": ("true", "it should be a text"),
    "database": ("5432", "it should be a text"),
    "model": ("4", "it should be a text"),
    "model_url": ("8000", "it should be a text"),
    "models": ('"offline"', "it should be a list of texts"),
    "keep_receipts_days": ("0", "it should be a whole number from 1 up"),
    "sources.directories": ('"./a"', "it should be a list of texts"),
    "sources.extra": ("[1]", "it should be a list of texts"),
    "reading.parse": ('"Repair"', 'it should be one of "repair", "fallback", "plain", "strict"'),
    "reading.unknown_keys": ("true", 'it should be one of "dialects", "ignore", "warn", "refuse"'),
    "reading.name_rule": ("1", 'it should be one of "warn", "folder-default", "sanitise", "must-match"'),
    "reading.missing_description": ("[]", 'it should be one of "refuse", "allow", "first-paragraph"'),
    "catalog.scan": ("{}", 'it should be one of "recursive", "root-and-children", "children"'),
    "catalog.links": ('"follow"', 'it should be one of "known-roots", "skip"'),
    "catalog.same_name": ('"first"', 'it should be one of "first-wins", "later-source-wins", "last-wins", "keep-all"'),
    "catalog.project_trust": ("false", 'it should be one of "ask", "always"'),
    "catalog.text": ('""', 'it should be one of "xml", "xml-with-location", "json", "markdown"'),
    "catalog.refresh": ("2026-01-01", 'it should be one of "watched", "each-turn", "start"'),
    "catalog.ranking": ('"best"', 'it should be one of "lexical", "fused"'),
    "prompt.budget_tokens": ("0", "it should be a whole number from 1 up"),
    "prompt.context_window": ('"200k"', "it should be a whole number from 1 up"),
    "prompt.pins": ('"a"', "it should be a list of texts"),
    "prompt.counting": ('"gpt"', 'it should be one of "estimate", "tiktoken"'),
    "prompt.reattach_tokens": ("-1", "it should be a whole number from 1 up"),
    "prompt.reattach_skill_tokens": ("false", "it should be a whole number from 1 up"),
    "activation.tools": (
        '"all"',
        'it should be one of "standard", "daycare", "workspace", "remcochat", "python", "none"',
    ),
    "activation.consent": ("true", 'it should be one of "ask", "each-session", "never"'),
    "activation.trusted_sources": (
        '["core", "friends"]',
        'it should be a list of "core", "config", "plugin", "agents", "user", "project", "workspace", "mcp"',
    ),
    "activation.sessions": ('"forever"', 'it should be one of "chat", "task"'),
    "activation.mentions": ('"/"', 'it should be one of "slash-and-dollar", "slash", "off"'),
    "activation.triggers": ("false", 'it should be one of "suggest", "activate", "off"'),
    "activation.base_directory": (
        '"/skills"',
        'it should be one of "shared", "task-private", "host", "none"',
    ),
    "resources.binary": ('"skip"', 'it should be one of "base64", "refuse"'),
    "copies.durable": ("1", "it should be true or false"),
    "execution.enabled": ('"on"', "it should be true or false"),
    "execution.backend": ('"host"', 'it should be one of "auto", "bubblewrap", "docker", "podman"'),
    "execution.consent": ("false", 'it should be one of "ask", "with-activation", "never"'),
    "execution.work_folder": ('"/tmp"', 'it should be one of "skill", "workspace"'),
    "execution.workspace": ("true", 'it should be one of "none", "read", "write"'),
    "execution.network": ("true", 'it should be one of "none", "granted"'),
    "execution.allowed_tools": ('"*"', 'it should be one of "log", "advise", "enforce"'),
    "execution.tools": ('"*"', "it should be a list of texts"),
    "execution.packages": ("true", 'it should be one of "ask", "off"'),
    "execution.secrets": ('"vault"', 'it should be one of "file", "keyring"'),
    "execution.host_variables": ("[true]", "it should be a list of texts"),
    "execution.programs": ('"/opt"', "it should be a list of texts"),
    "execution.image": ("3.13", "it should be a text"),
    "execution.spare_containers": ("2", "it should be true or false"),
    "execution.keep_outputs_days": ("0", "it should be a whole number from 1 up"),
    "execution.timeout_seconds": ("0", "it should be a whole number from 1 up"),
    "execution.output_bytes": ('"1 MB"', "it should be a whole number from 1 up"),
    "execution.memory_bytes": ("-1", "it should be a whole number from 1 up"),
    "execution.processes": ("true", "it should be a whole number from 1 up"),
    "execution.cpu_seconds": ("1.5", "it should be a whole number from 1 up"),
    "execution.file_bytes": ("[]", "it should be a whole number from 1 up"),
    "execution.folder_bytes": ("{}", "it should be a whole number from 1 up"),
    "execution.output_files": ("-3", "it should be a whole number from 1 up"),
    "execution.scratch_bytes": ('"all"', "it should be a whole number from 1 up"),
    "turns.instructions": ("[]", "it should be a text"),
    "turns.run_in": ('"there"', 'it should be one of "declared", "fork", "here"'),
    "turns.max_steps": ("0", "it should be a whole number from 1 up"),
    "turns.request_seconds": ("0.5", "it should be a whole number from 1 up"),
    "turns.attempts": ("0", "it should be a whole number from 1 up"),
    "turns.compact_tokens": ('"80%"', "it should be a whole number from 1 up"),
    "turns.keep_tokens": ("-1", "it should be a whole number from 1 up"),
    "turns.max_forks": ("false", "it should be a whole number from 1 up"),
    "turns.fork_depth": ("0", "it should be a whole number from 1 up"),
    "turns.fork_seconds": ("{}", "it should be a whole number from 1 up"),
    "limits.max_depth": ("0", "it should be a whole number from 1 up"),
    "limits.max_folders": ("-1", "it should be a whole number from 1 up"),
    "limits.max_skills": ("true", "it should be a whole number from 1 up"),
    "limits.max_skill_md_bytes": ("1.5", "it should be a whole number from 1 up"),
    "limits.max_resource_bytes": ("[]", "it should be a whole number from 1 up"),
    "web.host": ("true", "it should be a text"),
    "web.port": ("65536", "it should be a whole number from 0 to 65535"),
    "web.public_url": ("[]", "it should be a text"),
    "web.hosts": ('"skills.internal"', "it should be a list of texts"),
}


def _load(tmp_path: Path, text: str, **options: Any) -> Settings:
    file = tmp_path / "prowess.toml"
    file.write_text(text, "utf-8")
    environ = {"HOME": str(tmp_path)} | options.pop("environ", {})
    return load_settings(config=str(file), environ=environ, working_folder=str(tmp_path), **options)


def _refuse(tmp_path: Path, text: str, **options: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        _load(tmp_path, text, **options)
    return caught.value


def _written(setting: Setting, value: str) -> str:
    """Return a file with this one setting, on the third line or later."""
    table, _, key = setting.path.rpartition(".")
    head = f"# {key} = 0\n\n" if not table else f"\n[{table}]\n# {key} = 0\n"
    return f"{head}{key} = {value}\n"


def _value_of(settings: Settings, target: str) -> object:
    value: object = settings
    for name in target.split("."):
        value = getattr(value, name)
    return value


def _put_back(value: Any, plain: Any, path: list[str]) -> Any:
    """Return the value with the field at the end of this path as the plain one has it."""
    name, *rest = path
    part = getattr(plain, name)
    return replace(value, **{name: _put_back(getattr(value, name), part, rest) if rest else part})


def test_tables_of_these_tests_know_every_setting() -> None:
    paths = [setting.path for setting in SETTINGS]
    assert list(_GOOD) == paths
    assert list(_WRONG) == paths


@pytest.mark.requirement("R108")
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.path)
def test_setting_is_taken(tmp_path: Path, setting: Setting) -> None:
    written, meant = _GOOD[setting.path]
    assert _value_of(_load(tmp_path, _written(setting, written)), setting.target) == meant


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one.path != "profile"], ids=lambda one: one.path)
def test_setting_changes_nothing_else(tmp_path: Path, setting: Setting) -> None:
    settings, plain = _load(tmp_path, _written(setting, _GOOD[setting.path][0])), _load(tmp_path, "")
    settings = _put_back(settings, plain, setting.target.split("."))
    assert settings == plain


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.path)
def test_wrong_value_is_refused_with_its_line_and_what_it_should_be(tmp_path: Path, setting: Setting) -> None:
    written, hint = _WRONG[setting.path]
    text = _written(setting, written)
    error = _refuse(tmp_path, text)
    line = len(text.splitlines())
    assert error.message.startswith(f"{tmp_path}/prowess.toml:{line}: '{setting.path}' is ")
    assert (error.code, error.hint) == ("bad-setting", hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[catalog]\nsame_nam = "first-wins"\n', "2: unknown setting 'catalog.same_nam'", "catalog.same_name"),
        ("\nenabld = true\n", "2: unknown setting 'enabld'", "enabled"),
        ('[skill]\npdf = "off"\n', "2: unknown setting 'skill.pdf'", "'skills'"),
        ("[limits]\nmax_skill = 3\n", "2: unknown setting 'limits.max_skill'", "limits.max_skills"),
        ('xyzzy = "x"\n', "1: unknown setting 'xyzzy'", "prowess init --print"),
        ("catalog = 3\n", "1: unknown setting 'catalog'", "'catalog."),
    ],
)
def test_unknown_key_is_refused_with_its_line_and_a_suggestion(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    error = _refuse(tmp_path, text)
    assert error.message == f"{tmp_path}/prowess.toml:{message}"
    assert hint in error.hint
    assert error.code == "bad-setting"


@pytest.mark.parametrize("text", ["a = \n", "[x\n", 'a = "\n', "a = 1\na = 2\n"])
def test_file_that_is_no_toml_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    error = _refuse(tmp_path, text)
    assert error.code == "bad-toml"
    assert error.message.startswith(f"{tmp_path}/prowess.toml: not valid TOML: ")
    assert re.search(r"line \d+|end of document", error.message)
    assert error.hint


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prowess.toml").write_bytes(b'user = "\xff"\n')
    with pytest.raises(SettingsError) as caught:
        load_settings(config=str(tmp_path / "prowess.toml"), environ={"HOME": str(tmp_path)})
    assert caught.value.code == "settings-unreadable"


def test_file_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="larger than") as caught:
        load_settings(config="/dev/zero", environ={"HOME": str(tmp_path)})
    assert caught.value.code == "settings-unreadable"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a = \n", "bad-toml"),
        ("[" * 100_000, "bad-toml"),
        (f"# {'x' * (4 << 20)}\n", "settings-unreadable"),
        ('user = "\ud800"\n', "settings-unreadable"),
        ("color = 1\n", "bad-setting"),
    ],
)
def test_text_is_refused_before_it_is_written_as_the_file_would_be(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "prowess.toml"
    with pytest.raises(SettingsError) as caught:
        check_settings(text, config=str(path))
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError) as of_file:
        load_settings(config=str(path))
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        code,
        of_file.value.message,
        of_file.value.hint,
    )


def test_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(config=str(tmp_path), environ={"HOME": str(tmp_path)})
    assert caught.value.code == "settings-unreadable"


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_file_that_was_named_must_exist(tmp_path: Path, way: str) -> None:
    missing = str(tmp_path / "none.toml")
    environ = {"HOME": str(tmp_path)} | ({"PROWESS_CONFIG": missing} if way == "variable" else {})
    with pytest.raises(SettingsError) as caught:
        load_settings(config=missing if way == "argument" else None, environ=environ)
    assert (caught.value.code, caught.value.message) == ("settings-missing", f"no settings file at {missing}")
    assert "prowess init" in caught.value.hint


def test_without_a_file_the_standard_profile_holds(tmp_path: Path) -> None:
    settings = load_settings(environ={"HOME": str(tmp_path)}, working_folder=str(tmp_path))
    assert settings == Settings(PROFILES["standard"], settings.place)
    assert settings.place.home == str(tmp_path)
    assert settings.place.prowess_home == str(tmp_path / ".prowess")
    assert settings.place.working_folder == str(tmp_path)
    assert settings.cache_folder == str(tmp_path / ".prowess" / "cache")
    assert settings.state_file == str(tmp_path / ".prowess" / "state.db")


def test_file_in_the_home_is_read(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "prowess.toml"
    file.parent.mkdir()
    file.write_text('user = "anna"\n')
    settings = load_settings(environ={"HOME": "/nowhere", "PROWESS_HOME": str(file.parent)})
    assert (settings.place.user, settings.file) == ("anna", str(file))


def test_named_file_counts_before_the_variable_and_the_variable_before_the_home(tmp_path: Path) -> None:
    for name in ("home", "variable", "argument"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "prowess.toml").write_text(f'user = "{name}"\n')
    environ = {"HOME": "/nowhere", "PROWESS_HOME": str(tmp_path / "home")}
    with_variable = environ | {"PROWESS_CONFIG": str(tmp_path / "variable" / "prowess.toml")}
    named = str(tmp_path / "argument" / "prowess.toml")
    assert load_settings(environ=environ).place.user == "home"
    assert load_settings(environ=with_variable).place.user == "variable"
    assert load_settings(environ=with_variable, config=named).place.user == "argument"


def test_profile_is_taken_from_the_argument_then_the_variable_then_the_file(tmp_path: Path) -> None:
    text = 'profile = "daycare"\n'
    variable = {"PROWESS_PROFILE": "workspace"}
    assert _load(tmp_path, text).profile == "daycare"
    assert _load(tmp_path, text, environ=variable).profile == "workspace"
    assert _load(tmp_path, text, environ=variable, profile="agent-base").profile == "agent-base"


def test_database_is_taken_from_the_variable_then_the_file(tmp_path: Path) -> None:
    text = 'database = "sqlite:///srv/state.db"\n'
    assert _load(tmp_path, "").database == ""
    assert _load(tmp_path, text).database == "sqlite:///srv/state.db"
    assert _load(tmp_path, text, environ={"PROWESS_DATABASE": "memory"}).database == "memory"
    assert _load(tmp_path, text, environ={"PROWESS_DATABASE": ""}).database == "sqlite:///srv/state.db"


def test_model_of_the_environment_counts_before_that_of_the_file(tmp_path: Path) -> None:
    text = 'model = "anthropic:claude"\n'
    assert _load(tmp_path, text).model == "anthropic:claude"
    assert _load(tmp_path, text, environ={"PROWESS_MODEL": "ollama:qwen"}).model == "ollama:qwen"
    assert _load(tmp_path, "").model == "offline"


def test_address_of_the_environment_counts_before_that_of_the_file(tmp_path: Path) -> None:
    text = 'model_url = "http://127.0.0.1:1/v1"\n'
    variable = {"PROWESS_MODEL_URL": "http://127.0.0.1:2/v1"}
    assert _load(tmp_path, text).model_url == "http://127.0.0.1:1/v1"
    assert _load(tmp_path, text, environ=variable).model_url == "http://127.0.0.1:2/v1"
    assert _load(tmp_path, "", environ=variable).model_url == "http://127.0.0.1:2/v1"
    assert _load(tmp_path, text, environ={"PROWESS_MODEL_URL": ""}).model_url == "http://127.0.0.1:1/v1"


def test_variable_of_the_database_changes_nothing_else(tmp_path: Path) -> None:
    text = 'user = "anna"\ndatabase = "memory"\n[prompt]\npins = ["a"]\n'
    settings = _load(tmp_path, text, environ={"PROWESS_DATABASE": "postgresql://db.example/prowess"})
    assert replace(settings, database="memory") == _load(tmp_path, text)


@pytest.mark.parametrize("value", ['"core"', "[1]", '["Core"]'])
def test_kinds_of_sources_are_taken_only_as_a_list_of_known_ones(tmp_path: Path, value: str) -> None:
    error = _refuse(tmp_path, f"[activation]\ntrusted_sources = {value}\n")
    assert error.message.startswith(f"{tmp_path}/prowess.toml:2: 'activation.trusted_sources' is ")
    assert error.hint == _WRONG["activation.trusted_sources"][1]


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_sets_its_policy(tmp_path: Path, profile: str) -> None:
    assert _load(tmp_path, "", profile=profile).policy == PROFILES[profile]


def test_single_settings_count_before_the_profile(tmp_path: Path) -> None:
    settings = _load(tmp_path, 'profile = "remcochat"\nenabled = true\n[limits]\nmax_depth = 2\n')
    assert settings.policy == replace(PROFILES["remcochat"], enabled=True, limits=Limits(max_depth=2, max_skills=200))


def test_unknown_profile_is_refused_with_the_list(tmp_path: Path) -> None:
    in_file, asked = _refuse(tmp_path, '\nprofile = "nope"\n'), _refuse(tmp_path, "", profile="nope")
    assert in_file.message == f"{tmp_path}/prowess.toml:2: no profile 'nope'"
    assert asked.message == "no profile 'nope'"
    assert in_file.hint == asked.hint == "profiles: standard, daycare, workspace, agent-base, remcochat"


@pytest.mark.parametrize("user", ["", ".", "..", "a/b", "../x", ".hidden", "a b", "ü", "x" * 65])
def test_user_that_could_leave_the_folder_of_users_is_refused(tmp_path: Path, user: str) -> None:
    error = _refuse(tmp_path, f'user = "{user}"\n')
    assert error.message == f"{tmp_path}/prowess.toml:1: '{user}' cannot be a user's name"


_SHARED = ["postgresql://db.example/prowess", "postgres://db.example/prowess"]


@pytest.mark.parametrize("database", _SHARED)
def test_people_who_share_a_server_go_by_their_login_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setenv("LOGNAME", "carol")
    in_file = f'database = "{database}"\n'
    assert _load(tmp_path, in_file).place.user == "carol"
    assert _load(tmp_path, "", environ={"PROWESS_DATABASE": database}).place.user == "carol"
    assert _load(tmp_path, f'user = "anna"\n{in_file}').place.user == "anna"
    assert _load(tmp_path, in_file, environ={"PROWESS_DATABASE": "memory"}).place.user == "local"


@pytest.mark.parametrize("database", ["", "memory", "sqlite:///srv/state.db"])
def test_who_shares_no_server_is_the_local_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    monkeypatch.setenv("LOGNAME", "carol")
    assert _load(tmp_path, f'database = "{database}"\n').place.user == "local"


@pytest.mark.parametrize("name", ["CORP\\carol", "..", "a/b", "ü", "x" * 65])
def test_login_name_that_cannot_be_a_users_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LOGNAME", name)
    assert _load(tmp_path, f'database = "{_SHARED[0]}"\n').place.user == "local"


@pytest.mark.parametrize("error", [KeyError, OSError, ImportError])
def test_machine_without_a_login_name_has_the_local_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", fail)
    assert _load(tmp_path, f'database = "{_SHARED[0]}"\n').place.user == "local"


# RemcoChat's table

_REMCOCHAT = """
[app]
default_profile_id = "default"

[app.skills]
enabled = true
directories = ["./.skills", "/srv/skills"]
max_skills = 7
max_skill_md_bytes = 8
max_resource_bytes = 9

[app.bash_tool]
enabled = true

[[providers]]
id = "opencode"
models = [{ id = "x" }]
"""


@pytest.mark.requirement("R108", "R33", "R22", "R32")
def test_remcochats_file_works_as_it_is(tmp_path: Path) -> None:
    settings = _load(tmp_path, _REMCOCHAT)
    assert settings.profile == "remcochat"
    assert settings.directories == ("./.skills", "/srv/skills")
    assert settings.policy == replace(
        PROFILES["remcochat"],
        enabled=True,
        limits=Limits(max_skills=7, max_skill_md_bytes=8, max_resource_bytes=9),
    )


@pytest.mark.requirement("R108", "R33", "R22", "R32")
def test_remcochats_defaults_hold_where_its_table_is_silent(tmp_path: Path) -> None:
    """RC26."""
    settings = _load(tmp_path, "[app.skills]\n")
    assert settings.directories == ("./.skills", "./.agents/skills", "~/.agents/skills", "~/.remcochat/skills")
    assert settings.policy == PROFILES["remcochat"]
    assert settings.policy.enabled is False
    assert settings.policy.limits == Limits(max_skills=200, max_skill_md_bytes=200_000, max_resource_bytes=2_000_000)


@pytest.mark.requirement("R108", "R32")
@pytest.mark.parametrize("key", ["max_skills", "max_skill_md_bytes", "max_resource_bytes"])
@pytest.mark.parametrize("value", ["0", "-1", '"many"', "true"])
def test_remcochats_limits_begin_at_one(tmp_path: Path, key: str, value: str) -> None:
    """RC28."""
    error = _refuse(tmp_path, f"[app.skills]\nenabled = true\n{key} = {value}\n")
    assert error.message.startswith(f"{tmp_path}/prowess.toml:3: 'app.skills.{key}' is ")
    assert error.hint == "it should be a whole number from 1 up"


@pytest.mark.requirement("R108")
def test_remcochats_table_has_no_other_keys(tmp_path: Path) -> None:
    error = _refuse(tmp_path, "[app.skills]\nmax_skill = 3\n")
    assert error.message == f"{tmp_path}/prowess.toml:2: unknown setting 'app.skills.max_skill'"
    assert "max_skills" in error.hint


@pytest.mark.requirement("R108")
def test_remcochats_table_must_be_a_table(tmp_path: Path) -> None:
    error = _refuse(tmp_path, "[app]\nskills = true\n")
    assert error.message == f"{tmp_path}/prowess.toml:2: 'app.skills' is not a table"


@pytest.mark.requirement("R108")
def test_another_profile_may_be_asked_for_with_remcochats_table(tmp_path: Path) -> None:
    settings = _load(tmp_path, _REMCOCHAT, profile="standard")
    assert (settings.profile, settings.policy.reading) == ("standard", PROFILES["standard"].reading)
    assert settings.directories == ("./.skills", "/srv/skills")


# Switches and agents


@pytest.mark.requirement("R37")
def test_switches_are_read_for_everybody_and_for_one_agent(tmp_path: Path) -> None:
    text = (
        '[skills]\npdf-fill = "off"\n"core:safe-edit" = "user-only"\n'
        '[agents.reviewer.switches]\nrepo-survey = "name-only"\npdf-fill = "on"\n'
    )
    assert _load(tmp_path, text).switches == {
        (EVERY_AGENT, "pdf-fill"): Switch.OFF,
        (EVERY_AGENT, "core:safe-edit"): Switch.USER_ONLY,
        ("reviewer", "repo-survey"): Switch.NAME_ONLY,
        ("reviewer", "pdf-fill"): Switch.ON,
    }


@pytest.mark.requirement("R39")
def test_agents_lists_are_read(tmp_path: Path) -> None:
    text = '[agents.all]\n[agents.none]\nskills = []\n[agents.any]\nskills = ["*"]\n[agents.two]\nskills = ["a", "b"]\n'
    assert _load(tmp_path, text).agents == {
        "all": AgentSettings(None),
        "none": AgentSettings(()),
        "any": AgentSettings(("*",)),
        "two": AgentSettings(("a", "b")),
    }


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[skills]\npdf = "of"\n', "2: 'skills.pdf' is 'of'", '"on", "name-only", "user-only", "off"'),
        ("[skills]\n\npdf = false\n", "3: 'skills.pdf' is False", '"off"'),
        ("skills = true\n", "1: 'skills' is not a table", "pdf-fill"),
        ("agents = true\n", "1: 'agents' is not a table", "[agents.NAME]"),
        ("[agents]\nreviewer = true\n", "2: 'agents.reviewer' is not a table", "[agents.reviewer]"),
        ('[agents.r]\nskills = "a"\n', "2: 'agents.r.skills' is 'a'", "a list of texts"),
        ("[agents.r]\nskill = []\n", "2: unknown setting 'agents.r.skill'", "skills or switches"),
        ("[agents.r]\nswitches = []\n", "2: 'agents.r.switches' is not a table", "pdf-fill"),
        ('[agents.r.switches]\na = "x"\n', "2: 'agents.r.switches.a' is 'x'", '"off"'),
    ],
)
def test_wrong_switches_and_agents_are_refused(tmp_path: Path, text: str, message: str, hint: str) -> None:
    error = _refuse(tmp_path, text)
    assert error.message == f"{tmp_path}/prowess.toml:{message}"
    assert hint in error.hint


# The template


def test_template_is_toml_and_changes_nothing(tmp_path: Path) -> None:
    assert _load(tmp_path, render_template()) == _load(tmp_path, "")


def test_template_with_every_line_uncommented_is_accepted(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^# (?=\[|[\w-]+ = )", "", render_template())
    values = tomllib.loads(text)
    settings = _load(tmp_path, text)
    assert {f"{table}.{key}" if table else key for table, key in _keys(values)} >= {one.path for one in SETTINGS}
    shown = Prompting(budget_tokens=2_000, pins=("repo-survey",))
    samples = Execution(host_variables=("GITHUB_TOKEN",), programs=("/opt",), image="python:3.13-slim")
    turns = Turns(instructions="You are a helpful assistant.", compact_tokens=160_000)
    assert settings.policy == replace(PROFILES["standard"], prompting=shown, execution=samples, turns=turns)
    assert settings.switches == {
        (EVERY_AGENT, "pdf-fill"): Switch.OFF,
        ("reviewer", "repo-survey"): Switch.NAME_ONLY,
    }
    assert settings.agents == {"reviewer": AgentSettings(("repo-survey", "safe-edit"))}


def _keys(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (table, key)
        for table, inner in {"": values, **values}.items()
        if isinstance(inner, dict)
        for key in (str(key) for key in inner)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    ]
