"""`prowess mcp servers`, and what other commands say of servers."""

import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.settings.editing import edit_settings_file
from prowess.settings.server_tables import add_server_table
from prowess.sources.mcp.servers import McpServer
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.sources.mcp.scripts import Acted
from tests.surfaces.command import call, run

pytestmark = pytest.mark.slow


@pytest.fixture
def acted(home: Home, tmp_path: Path) -> Acted:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://billing/refunds")
    home.write_settings(f"{ONLY_MINE}# kept\n")
    (home.path / ".agents" / "skills").mkdir(parents=True)
    return acted


def test_server_is_added_asked_and_removed(home: Home, acted: Acted) -> None:
    assert run("mcp", "servers").stderr == "No servers. `prowess mcp servers add NAME` adds one.\n"
    added = call("--json", "mcp", "servers", "add", "acme", "--", *acted.command)
    assert added.json == {"server": "acme", "path": str(home.prowess / "prowess.toml")}
    (row,) = call("--json", "mcp", "servers", "refresh").json["servers"]
    assert (row["name"], row["skills"], row["problems"], row["command"]) == ("acme", 1, [], list(acted.command))
    assert [skill["id"] for skill in call("--json", "list").json["skills"]] == ["mcp:acme/billing/refunds"]
    mirror = home.prowess / "cache/mcp/acme"
    assert mirror.is_dir()
    call("mcp", "servers", "remove", "acme")
    assert not mirror.exists()
    assert (home.prowess / "prowess.toml").read_text() == f"{ONLY_MINE}# kept\n"
    assert call("--json", "list").json["skills"] == []


def test_list_can_ask_first(acted: Acted) -> None:
    call("mcp", "servers", "add", "acme", "--", *acted.command)
    assert len(call("--json", "list").json["skills"]) == 1
    acted.add("skill://billing/invoices")
    assert len(call("--json", "list").json["skills"]) == 1
    assert len(call("--json", "list", "--refresh").json["skills"]) == 2


def test_wrong_use_is_told(acted: Acted) -> None:
    assert run("mcp", "servers", "add", "acme").status == 2
    assert run("mcp", "servers", "add", "acme", "--url", "https://x/mcp", "--", "y").status == 2
    assert run("mcp", "servers", "add", "No", "--", "y").status == 2
    mistaken = run("mcp", "servers", "add", "acme", "https://x/mcp")
    assert (mistaken.status, "--url" in mistaken.stderr) == (2, True)
    assert run("mcp", "servers", "remove", "acme").status == 1
    assert run("mcp", "servers", "refresh", "acme").status == 1
    call("mcp", "servers", "add", "acme", "--url", "https://127.0.0.1:9/mcp", "--header-from", "Authorization=X")
    again = run("--json", "mcp", "servers", "add", "acme", "--", "y")
    assert (again.status, again.json["error"]["code"]) == (1, "exists")


def test_refresh_of_a_server_that_gives_no_list_is_no_success(acted: Acted) -> None:
    call("mcp", "servers", "add", "acme", "--", *acted.command)
    call("mcp", "servers", "add", "gone", "--", "/no/such/program")
    assert run("mcp", "servers", "refresh", "acme").status == 0
    for name in ("", "gone"):
        failed = run("mcp", "servers", "refresh", *filter(None, [name]))
        assert failed.status == 3
        assert "it cannot be started: /no/such/program" in failed.stdout
    assert run("mcp", "servers").status == 0


@pytest.mark.requirement("K7")
def test_why_and_doctor_name_a_silent_server(acted: Acted) -> None:
    acted.change(misdeeds={"initialize": "die"})
    call("mcp", "servers", "add", "acme", "--", *acted.command)
    why = run("--json", "why", "refunds")
    assert [reason["code"] for reason in why.json["reasons"]] == ["not-found", "mcp-unreachable"]
    checks = {check["check"]: check for check in run("--json", "doctor").json["checks"]}
    assert checks["mcp server acme"]["works"] is False
    assert "it ended before it answered" in checks["mcp server acme"]["detail"]
    assert "[mcp-unreachable]" in run("mcp", "servers").stdout


@pytest.mark.parametrize(
    "arguments", [("--url", "ftp://x"), ("--url", "http://x/mcp", "--header-from", "Authorization=T"), ("--", "")]
)
def test_server_that_the_settings_would_not_take_is_not_added(home: Home, acted: Acted, arguments: tuple[str]) -> None:
    before = (home.prowess / "prowess.toml").read_text()
    added = run("--json", "mcp", "servers", "add", "acme", *arguments)
    assert (added.status, added.json["error"]["code"]) == (2, "bad-setting")
    assert (home.prowess / "prowess.toml").read_text() == before


@pytest.mark.parametrize("name", ["acme", "No/Good"])
def test_server_that_breaks_the_settings_can_be_removed(home: Home, acted: Acted, name: str) -> None:
    home.write_settings(f'{ONLY_MINE}\n[mcp.servers."{name}"]\nurl = "ftp://x"\n')
    assert run("list").status == 2
    call("mcp", "servers", "remove", name)
    assert call("--json", "list").json["skills"] == []


def test_rights_of_the_settings_file_stay(home: Home, acted: Acted) -> None:
    file = home.prowess / "prowess.toml"
    file.chmod(0o640)
    call("mcp", "servers", "add", "acme", "--", *acted.command)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.unlink()
    call("mcp", "servers", "add", "acme", "--", *acted.command)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_servers_that_are_added_at_once_are_all_there(home: Home) -> None:
    names = [f"s{number}" for number in range(40)]

    def add(name: str) -> None:
        edit_settings_file(None, lambda text: add_server_table(text, McpServer(name, ("x",))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, names))
    settings = tomllib.loads((home.prowess / "prowess.toml").read_text())
    assert sorted(settings["mcp"]["servers"]) == sorted(names)
