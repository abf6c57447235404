"""What is loaded at start: it is paid for by every program and at every command."""

import subprocess
import sys

import pytest

_HEAVY = frozenset({"asyncio", "difflib", "json", "msgspec", "prowess.runtime", "rich", "sqlite3", "tomllib", "yaml"})
_COMMAND = """
import sys
from prowess.surfaces.cli.main import main
sys.argv = ["prowess", {option!r}]
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


def test_import_loads_nothing_but_what_typing_and_importlib_load() -> None:
    assert _modules_after("import prowess") - _modules_after("import importlib, typing") == {"prowess"}


def test_errors_can_be_caught_without_loading_the_runtime() -> None:
    loaded = _modules_after("from prowess import ProwessError")
    assert {name for name in loaded if name.startswith("prowess.")} == {"prowess.errors"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_command_line_loads_click_and_nothing_heavy(option: str) -> None:
    loaded = _modules_after(_COMMAND.format(option=option))
    assert "click" in loaded
    assert {name for name in loaded if name in _HEAVY or name.partition(".")[0] in _HEAVY} == set()
    assert {name for name in loaded if name.startswith("prowess.")} == {
        "prowess.errors",
        "prowess.surfaces",
        "prowess.surfaces.cli",
        "prowess.surfaces.cli.invocation",
        "prowess.surfaces.cli.main",
        "prowess.version",
    }
