"""The undo of `prowess mcp install` gives back what was there, and a copy has it in the meantime."""

import json
from pathlib import Path
from typing import Any

import pytest

from prowess.settings.toml_text import parse_toml
from prowess.surfaces.mcp.clients import CLIENTS, ServerCommand
from prowess.surfaces.mcp.installing import apply_change, plan_install, plan_uninstall
from prowess.surfaces.mcp.jsonc_text import parse_jsonc

_SERVER = ServerCommand("/bin/prowess", ("--profile", "daycare", "mcp"), {})
_OTHER = ServerCommand("/bin/prowess", ("mcp",), {"A": "b"})
_OWN_JSON = """{
    "servers": { // mine
        "prowess": {"command": "npx", "args": ["my-prowess"]}, // not yours
        "files": {"command": "files"},
    },
}
"""
_OWN_TOML = """# mine
[mcp_servers.prowess] # not yours
command = "npx" # of npm
args = ["my-prowess", "mcp"]
startup_timeout_ms = 5

[mcp_servers.prowess.env]
A = "1"

# what follows is important
[tui]
theme = "dark"
"""
_FORMER = pytest.mark.parametrize(("client", "text"), [("vscode", _OWN_JSON), ("codex", _OWN_TOML)])


def _find_own(client: str, text: str) -> Any:
    chosen = CLIENTS[client]
    return (parse_toml if chosen.is_toml else parse_jsonc)(text)[chosen.table]["prowess"]


@_FORMER
def test_server_that_was_replaced_is_given_back_to_the_letter(tmp_path: Path, client: str, text: str) -> None:
    path, chosen = tmp_path / "file", CLIENTS[client]
    path.write_text(text)
    for _ in range(2):
        for server in (_SERVER, _OTHER):
            copy = apply_change(plan_install(chosen, path, "prowess", server))
            assert copy is not None
            assert copy.read_text() == text
            assert _find_own(client, path.read_text())["command"] == "/bin/prowess"
        apply_change(plan_uninstall(chosen, path, "prowess"))
        assert path.read_text() == text
    apply_change(plan_uninstall(chosen, path, "prowess"))  # Whoever asks again wants that one out, too.
    assert "npx" not in path.read_text()


@_FORMER
def test_server_that_was_replaced_is_given_back_into_what_has_changed_since(
    tmp_path: Path, client: str, text: str
) -> None:
    path, chosen = tmp_path / "file", CLIENTS[client]
    path.write_text(text)
    apply_change(plan_install(chosen, path, "prowess", _SERVER))
    path.write_text(path.read_text().replace("mine", "ours").replace("dark", "light").replace('"files"', '"file"'))
    copy = apply_change(plan_install(chosen, path, "prowess", _OTHER))
    assert copy is not None
    assert copy.read_text() == text
    apply_change(plan_uninstall(chosen, path, "prowess"))
    after = path.read_text()
    assert _find_own(client, after) == _find_own(client, text)
    assert "ours" in after
    assert not {"mine", "dark"} & set(after.replace('"', " ").split())


def test_server_that_came_after_the_undo_is_what_the_next_undo_gives_back(tmp_path: Path) -> None:
    path, cursor = tmp_path / "mcp.json", CLIENTS["cursor"]
    path.write_text("{}\n")
    apply_change(plan_install(cursor, path, "prowess", _SERVER))
    apply_change(plan_uninstall(cursor, path, "prowess"))
    own = '{"mcpServers": {"prowess": {"command": "prowess", "args": ["--skills", "s", "mcp"]}}}\n'
    path.write_text(own)
    apply_change(plan_install(cursor, path, "prowess", _SERVER))
    apply_change(plan_install(cursor, path, "second", _OTHER))
    apply_change(plan_uninstall(cursor, path, "second"))
    apply_change(plan_uninstall(cursor, path, "prowess"))
    assert path.read_text() == own


def test_entry_that_somebody_put_in_the_place_of_ours_is_kept_in_the_copy(tmp_path: Path) -> None:
    path, cursor = tmp_path / "mcp.json", CLIENTS["cursor"]
    path.write_text('{"mcpServers": {"prowess": {"command": "first"}}}\n')
    apply_change(plan_install(cursor, path, "prowess", _SERVER))
    later = '{"mcpServers": {"prowess": {"command": "later"}}}\n'
    path.write_text(later)
    aside = apply_change(plan_uninstall(cursor, path, "prowess"))
    assert aside is not None
    assert aside.read_text() == later
    assert json.loads(path.read_text()) == {"mcpServers": {}}
    path.write_text(later)
    copy = apply_change(plan_install(cursor, path, "prowess", _SERVER))
    assert copy is not None
    assert copy.read_text() == later


def test_copy_of_the_file_as_it_first_was_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mine": 1}\n')
    cursor = CLIENTS["cursor"]
    copy = apply_change(plan_install(cursor, path, "prowess", _SERVER))
    again = apply_change(plan_install(cursor, path, "prowess", ServerCommand("/bin/prowess", ("mcp",), {})))
    assert copy is not None
    assert copy == again == tmp_path / "mcp.json.before-prowess"
    assert copy.read_text() == '{"mine": 1}\n'
    aside = apply_change(plan_uninstall(cursor, path, "prowess"))
    assert aside is not None
    assert aside == tmp_path / "mcp.json.before-prowess.old"
    assert aside.read_text() == path.read_text() == '{"mine": 1}\n'
    assert not copy.exists()
