"""What is loaded at start: it is paid for by every program and at every command."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.skills_on_disk import Home

_FOR_SOME_ONLY = frozenset(
    {
        "anyio",
        "asyncio",
        "keyring",
        "numpy",
        "prompt_toolkit",
        "prowess.agent",
        "psycopg",
        "pydantic",
        "pydantic_ai",
        "pydantic_monty",
        "re2",
        "rich",
        "safetensors",
        "tiktoken",
        "tokenizers",
        "wordllama",
    }
)
"""What only some settings, skills or terminals need."""
_FOR_SOME_RUNS_ONLY = frozenset(
    f"prowess.execution.{name}"
    for name in (
        "engines.container_sandbox",
        "packages.environments",
        "packages.locking",
        "packages.uv_command",
        "secrecy.redaction",
    )
)
_FOR_RUNS_ONLY = _FOR_SOME_RUNS_ONLY | {"subprocess", "prowess.execution.bubblewrap.bubblewrap_sandbox"}
_HEAVY = (
    _FOR_SOME_ONLY | _FOR_RUNS_ONLY | {"difflib", "json", "msgspec", "prowess.runtime", "sqlite3", "tomllib", "yaml"}
)
_COMMAND = """
import sys
from prowess.surfaces.cli.main import main
sys.argv = ["prowess", *{arguments!r}]
try:
    main()
except SystemExit as leave:
    assert not leave.code
"""


def _modules_after(code: str) -> set[str]:
    """Return all modules that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys\nprint('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("MODULES ")[2].split())


def _find(loaded: set[str], wanted: frozenset[str]) -> set[str]:
    return {name for name in loaded if name in wanted or name.partition(".")[0] in wanted}


@pytest.mark.parametrize("name", sorted(_HEAVY))
def test_module_that_is_looked_for_is_there(name: str) -> None:
    assert find_spec(name) is not None


def test_import_loads_nothing_but_what_typing_and_importlib_load() -> None:
    assert _modules_after("import prowess") - _modules_after("import importlib, typing") == {"prowess"}


def test_errors_can_be_caught_without_loading_the_runtime() -> None:
    loaded = _modules_after("from prowess import ProwessError")
    assert {name for name in loaded if name.startswith("prowess.")} == {"prowess.errors"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_command_line_loads_click_and_nothing_heavy(option: str) -> None:
    loaded = _modules_after(_COMMAND.format(arguments=[option]))
    assert "click" in loaded
    assert _find(loaded, _HEAVY) == set()
    assert {name for name in loaded if name.startswith("prowess.")} == {
        "prowess.errors",
        "prowess.surfaces",
        "prowess.surfaces.cli",
        "prowess.surfaces.cli.invocation",
        "prowess.surfaces.cli.main",
        "prowess.version",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prowess.runtime", "prowess"])
def test_runtime_can_be_imported_without_a_database_or_an_extra(name: str) -> None:
    loaded = _modules_after(f"from {name} import Runtime")
    assert "prowess.runtime.runtime" in loaded
    assert _find(loaded, _FOR_SOME_ONLY | _FOR_RUNS_ONLY | {"click", "sqlite3", "tomllib"}) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--json"],
        ["show", "safe-edit"],
        ["why", "safe-edit"],
        ["prompt"],
        ["prompt", "--budget", "200", "--query", "survey this repository"],
        ["search", "survey"],
        ["activate", "repo-survey"],
        ["read", "repo-survey", "SKILL.md"],
        ["grants"],
        ["sessions"],
        ["usage"],
        ["secrets"],
    ],
    ids=" ".join,
)
def test_command_loads_no_library_that_only_others_need(home: Home, arguments: list[str]) -> None:
    loaded = _modules_after(_COMMAND.format(arguments=arguments))
    assert "prowess.runtime" in loaded
    assert _find(loaded, _FOR_SOME_ONLY | _FOR_RUNS_ONLY) == set()


@pytest.mark.slow
def test_run_loads_one_sandbox_and_nothing_that_only_other_runs_need(home: Home) -> None:
    arguments = ["run", "scheduling", "scripts/next_dates.py", "--yes", "--backend", "bubblewrap", "--", "--help"]
    loaded = _modules_after(_COMMAND.format(arguments=arguments))
    assert "prowess.execution.bubblewrap.bubblewrap_sandbox" in loaded
    assert _find(loaded, _FOR_SOME_ONLY | _FOR_SOME_RUNS_ONLY) == set()


@pytest.mark.slow
def test_library_is_loaded_once_the_settings_want_it(home: Home) -> None:
    home.write_settings('[prompt]\ncounting = "tiktoken"\n')
    assert "tiktoken" in _modules_after(_COMMAND.format(arguments=["prompt"]))
    assert "tiktoken" not in _modules_after(_COMMAND.format(arguments=["list"]))
