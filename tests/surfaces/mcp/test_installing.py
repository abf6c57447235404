"""`prowess mcp install` and its undo: one server listed, and all else in the file as it was."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import Refused
from prowess.settings.toml_text import parse_toml, remove_toml_table, set_toml_table
from prowess.surfaces.mcp.clients import CLIENTS, Scope, ServerCommand, find_file
from prowess.surfaces.mcp.installing import apply_change, plan_install, plan_uninstall
from prowess.surfaces.mcp.jsonc_text import TextFault, parse_jsonc, remove_json_member, set_json_member
from tests.skills_on_disk import Home
from tests.surfaces.command import PROWESS, run
from tests.surfaces.terminal_talk import Talk

pytestmark = pytest.mark.slow

_SERVER = ServerCommand("/bin/prowess", ("--profile", "daycare", "mcp"), {})
_ENTRY = {"command": "/bin/prowess", "args": ["--profile", "daycare", "mcp"]}
_COMMENTED = """{
    // what I use
    "servers": {
        "github": {"command": "gh"}, // the code host
        /* the last */ "files": {
            "command": "files",
            "args": ["a", "b"],
        }, // trailing
    },
    "inputs": [], // nothing
}
"""
_TOML = """# mine
model = "x" # the best

[mcp_servers.github]
command = "gh" # code

# what follows is important
[tui]
theme = "dark"
"""


@pytest.mark.parametrize(
    ("client", "scope", "path"),
    [
        ("claude", Scope.USER, "home/.claude.json"),
        ("claude", Scope.PROJECT, "project/.mcp.json"),
        ("cursor", Scope.USER, "home/.cursor/mcp.json"),
        ("cursor", Scope.PROJECT, "project/.cursor/mcp.json"),
        ("vscode", Scope.PROJECT, "project/.vscode/mcp.json"),
        ("codex", Scope.USER, "home/.codex/config.toml"),
        ("codex", Scope.PROJECT, "project/.codex/config.toml"),
        ("gemini", Scope.USER, "home/.gemini/settings.json"),
        ("gemini", Scope.PROJECT, "project/.gemini/settings.json"),
    ],
)
def test_each_client_has_its_file(client: str, scope: Scope, path: str) -> None:
    found = find_file(CLIENTS[client], scope, home=Path("home"), project=Path("project"), environment={})
    assert found == Path(path)


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [("codex", "CODEX_HOME", "config.toml"), ("claude", "CLAUDE_CONFIG_DIR", ".claude.json")],
)
def test_file_of_a_client_can_have_moved(client: str, variable: str, file: str) -> None:
    chosen, environment = CLIENTS[client], {variable: "/elsewhere"}
    moved = find_file(chosen, Scope.USER, home=Path("h"), project=Path("p"), environment=environment)
    assert moved == Path("/elsewhere") / file
    shared = find_file(chosen, Scope.PROJECT, home=Path("h"), project=Path("p"), environment=environment)
    assert shared == Path("p") / chosen.project


@pytest.mark.parametrize("client", list(CLIENTS))
def test_new_file_is_made_and_undone(tmp_path: Path, client: str) -> None:
    chosen = CLIENTS[client]
    path = tmp_path / "deep" / ("f.toml" if chosen.is_toml else "f.json")
    change = plan_install(chosen, path, "prowess", _SERVER)
    assert change.is_needed
    assert apply_change(change) is None
    values: dict[str, Any] = (tomllib.loads if chosen.is_toml else json.loads)(path.read_text())
    entry = values[chosen.table]["prowess"]
    assert {key: entry[key] for key in _ENTRY} == _ENTRY
    assert entry.get("type") == ("stdio" if client in ("claude", "vscode") else None)
    assert not plan_install(chosen, path, "prowess", _SERVER).is_needed
    apply_change(plan_uninstall(chosen, path, "prowess"))
    after: dict[str, Any] = (tomllib.loads if chosen.is_toml else json.loads)(path.read_text())
    assert after.get(chosen.table, {}) == {}
    assert not plan_uninstall(chosen, path, "prowess").is_needed


def test_comments_and_manners_of_a_file_are_kept() -> None:
    after = set_json_member(_COMMENTED, "servers", "prowess", _ENTRY)
    for kept in ("// what I use", "// the code host", "/* the last */", "// trailing", "// nothing"):
        assert kept in after
    assert parse_jsonc(after)["servers"]["prowess"] == _ENTRY
    assert '\n        "prowess": {\n            "command"' in after
    assert remove_json_member(after, "servers", "prowess") == _COMMENTED
    first = remove_json_member(_COMMENTED, "servers", "github")
    assert "/* the last */" in first
    assert list(parse_jsonc(first)["servers"]) == ["files"]


@pytest.mark.parametrize(("client", "text"), [("vscode", _COMMENTED), ("codex", _TOML)])
@pytest.mark.parametrize(("mark", "end"), [("\ufeff", "\n"), ("", "\r\n"), ("\ufeff", "\r\n")])
def test_mark_and_line_ends_of_a_file_are_kept(tmp_path: Path, client: str, text: str, mark: str, end: str) -> None:
    path, chosen = tmp_path / "file", CLIENTS[client]
    before = (mark + text.replace("\n", end)).encode()
    path.write_bytes(before)
    apply_change(plan_install(chosen, path, "prowess", _SERVER))
    after = path.read_bytes().decode()
    assert after.startswith(f"{mark}{text[0]}")
    assert after.count(end) == after.count("\n") > text.count("\n")
    assert not plan_install(chosen, path, "prowess", _SERVER).is_needed
    values = (parse_toml if chosen.is_toml else parse_jsonc)(after.removeprefix(mark))
    assert values[chosen.table]["prowess"]["command"] == "/bin/prowess"
    apply_change(plan_uninstall(chosen, path, "prowess"))
    assert path.read_bytes() == before


def test_tables_of_toml_are_kept_with_their_comments() -> None:
    after = set_toml_table(_TOML, "mcp_servers", "prowess", {**_ENTRY, "env": {"A": 'quo"te'}})
    assert after.startswith(_TOML)
    assert parse_toml(after)["mcp_servers"]["prowess"] == {**_ENTRY, "env": {"A": 'quo"te'}}
    assert remove_toml_table(after, "mcp_servers", "prowess") == _TOML
    changed = set_toml_table(after, "mcp_servers", "prowess", {"command": "other"})
    assert parse_toml(changed)["mcp_servers"]["prowess"] == {"command": "other"}
    without = remove_toml_table(_TOML, "mcp_servers", "github")
    assert "# what follows is important\n[tui]" in without
    assert "mcp_servers" not in parse_toml(without)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=5), one, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=5), _VALUES, max_size=3),
    st.dictionaries(st.text(max_size=5), _VALUES, max_size=3),
    st.sampled_from([None, 1, 4, "\t"]),
)
def test_setting_then_removing_changes_nothing_else(
    outer: dict[str, Any], servers: dict[str, Any], indent: int | str | None
) -> None:
    text = json.dumps({**outer, "servers": servers}, indent=indent)
    after = set_json_member(text, "servers", "prowess", _ENTRY)
    assert json.loads(after) == {**outer, "servers": {**servers, "prowess": _ENTRY}}
    assert json.loads(remove_json_member(after, "servers", "prowess")) == {
        **outer,
        "servers": {key: value for key, value in servers.items() if key != "prowess"},
    }


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"a" 1}', '{"a": }', '{"a": 1} x', '{"a": 1 "b": 2}', "nonsense", '{"a": [1,,2]}']
)
def test_file_that_is_no_json_is_left_alone(tmp_path: Path, text: str) -> None:
    with pytest.raises(TextFault):
        parse_jsonc(text)
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(Refused) as caught:
        plan_install(CLIENTS["cursor"], path, "prowess", _SERVER)
    assert '"mcpServers"' in caught.value.hint  # What to paste.
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["mcp_servers = 3\n", "a = = 1", "mcp_servers = {x = {command = 'y'}}\n"])
def test_toml_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Refused) as caught:
        plan_install(CLIENTS["codex"], path, "prowess", _SERVER)
    assert "[mcp_servers.prowess]" in caught.value.hint
    assert path.read_text() == text


def test_table_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": []}')
    with pytest.raises(Refused):
        plan_install(CLIENTS["cursor"], path, "prowess", _SERVER)


def test_file_behind_a_link_keeps_its_mode_and_is_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"theme": "dark"}')
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    backup = apply_change(plan_install(CLIENTS["gemini"], link, "prowess", _SERVER))
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert json.loads(real.read_text())["theme"] == "dark"
    assert backup is not None
    assert backup.read_text() == '{"theme": "dark"}'


def test_change_made_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    change = plan_install(CLIENTS["cursor"], path, "prowess", _SERVER)
    path.write_text('{"new": 1}')
    with pytest.raises(Refused):
        apply_change(change)
    assert path.read_text() == '{"new": 1}'


@pytest.mark.slow
def test_command_shows_asks_and_undoes(home: Home) -> None:
    file = home.path / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "theme": "dark"\n}\n')
    before = file.read_text()
    shown = run("--profile", "daycare", "mcp", "install", "--client", "gemini", "--dry-run")
    assert (shown.status, file.read_text()) == (0, before)
    assert '+    "prowess": {' in shown.stdout
    unasked = run("mcp", "install", "--client", "gemini")
    assert (unasked.status, file.read_text()) == (1, before)
    assert "--yes" in unasked.stderr
    with Talk(["mcp", "install", "--client", "gemini"]) as talk:
        talk.expect("[y/N]:")
        talk.type("n\r")
        assert talk.process.wait(30) == 1
    assert file.read_text() == before
    done = run("--profile", "daycare", "--skills", "skills", "mcp", "install", "--client", "gemini", "--yes", "--json")
    assert done.json["changed"] is True
    entry = json.loads(file.read_text())["mcpServers"]["prowess"]
    assert entry["args"] == ["--profile", "daycare", "--skills", str(home.project / "skills"), "mcp"]
    assert os.path.isabs(entry["command"])
    assert entry["env"] == {"PROWESS_HOME": str(home.prowess)}
    again = run("mcp", "install", "--client", "gemini", "--yes")
    assert f"The file as it was before Prowess was listed: {file}.before-prowess\n" in again.stderr
    undone = run("mcp", "uninstall", "--client", "gemini", "--yes")
    assert undone.status == 0
    assert f"The file as it was before Prowess was listed: {file}.before-prowess.old\n" in undone.stderr
    assert file.read_text() == before
    assert run("mcp", "install", "--client", "nobody").status == 2
    assert run("mcp", "install", "--client", "gemini", "--name", "a b").status == 2


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_command_says_what_is_published_and_why_not(home: Home, skills: Path) -> None:
    (skills / "greet" / "big.bin").write_bytes(b"\0" * (17 << 20))
    rows = run("--skills", str(skills), "mcp", "skills", "--json").json["skills"]
    found = {row["name"]: row for row in rows}
    assert found["tables"]["published"] is True
    assert found["tables"]["uri"] == "skill://project/office/tables/SKILL.md"
    assert found["greet"]["reason"]["code"] == "files-too-large"
    assert "no: the files of" in run("--skills", str(skills), "mcp", "skills").stdout


@pytest.mark.parametrize("lead", ["[mcp_servers]\n", "", "# mine\n[mcp_servers]\n\n"])
def test_table_of_servers_that_is_left_empty_is_no_hindrance(tmp_path: Path, lead: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'{lead}[mcp_servers.prowess]\ncommand = "x"\nargs = []\n')
    after = tomllib.loads(plan_uninstall(CLIENTS["codex"], path, "prowess").after)
    assert after in ({}, {"mcp_servers": {}})


@pytest.mark.slow
def test_command_that_runs_is_listed_and_no_other_on_the_path(home: Home) -> None:
    other = home.path / "bin" / "prowess"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    env = {"PATH": f"{other.parent}{os.pathsep}{os.environ['PATH']}"}
    assert run("mcp", "install", "--client", "cursor", "--yes", env=env).status == 0
    listed = json.loads((home.path / ".cursor" / "mcp.json").read_text())
    assert listed["mcpServers"]["prowess"]["command"] == PROWESS
