"""Faults that were found once, each with its smallest example, so that none comes back."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

from prowess.disclosure.catalog_text import render_catalog
from prowess.errors import SettingsError
from prowess.policy import CatalogText, SourceKind
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.surfaces.cli.main import COMMANDS
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, call, run, run_on_terminal

pytestmark = pytest.mark.slow  # Nearly every test starts a process.

_STRANGE = b"caf\xe9"


def test_terminal_of_80_columns_keeps_every_column_and_shows_every_cut(home: Home) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", run_on_terminal(["list"], columns=80).stdout).replace("\r", "")
    heading, *rows = text.splitlines()
    assert heading.split()[:3] == ["NAME", "ID", "STATE"]
    assert len(rows) >= 6
    assert all(" ok " in row and row.rstrip().endswith("…") for row in rows)


_TALKATIVE = ["list", "list --json", "show safe-edit", "why safe-edit", "prompt", "completion bash", "--help"]
"""Some write more than a buffer holds, some less: then the last write happens when the interpreter ends."""


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", _TALKATIVE)
def test_reader_that_goes_away_is_nothing_to_talk_of(home: Home, command: str, buffering: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, **buffering}
    done = subprocess.run(
        [PROWESS, *command.split()], env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", _TALKATIVE)
def test_full_disk_is_the_worlds_fault(home: Home, command: str, buffering: dict[str, str]) -> None:
    environment = {**os.environ, **buffering}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROWESS, *command.split()], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.returncode == 3


@pytest.mark.parametrize("deaf", ["stdout", "stderr"])
@pytest.mark.parametrize("command", ["bogus", "--json bogus", "--config nowhere list", "--json --config nowhere list"])
def test_status_is_the_same_where_nobody_can_be_told(home: Home, command: str, deaf: str) -> None:
    with open("/dev/full", "wb") as full:
        stdout, stderr = (full, subprocess.PIPE) if deaf == "stdout" else (subprocess.PIPE, full)
        done = subprocess.run([PROWESS, *command.split()], stdout=stdout, stderr=stderr, text=True, check=False)
    assert done.returncode == 2
    if deaf == "stdout":
        assert "Traceback" not in done.stderr
    elif "--json" in command:
        assert json.loads(done.stdout)["error"]["code"]


def test_doctor_says_that_the_database_is_damaged(home: Home) -> None:
    home.prowess.mkdir()
    (home.prowess / "state.db").write_bytes(b"this is not a database" * 50)
    outcome = run("--json", "doctor")
    assert outcome.status == 0
    checks = {check["check"]: check for check in outcome.json["checks"]}
    assert checks["database"]["works"] is False


@pytest.mark.parametrize("command", ["trust", "untrust", "disable mine", "enable mine"])
def test_project_whose_path_is_no_utf_8_can_be_trusted_and_switched(home: Home, command: str) -> None:
    project = Path(os.fsdecode(os.path.join(os.fsencode(home.project), _STRANGE)))
    (project / ".git").mkdir(parents=True)
    write_skill(project / ".agents" / "skills", "mine")
    outcome = run("--json", *command.split(), cwd=project)
    assert outcome.status == 0, outcome.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_a_help_text_stand_on_lines_of_their_own(home: Home, name: str) -> None:
    text = call(name, "--help").stdout
    assert "\\b" not in text
    assert re.search(rf"(?m)^  (echo '.*|prowess (--\S+ \S+ )?){name}\b", text) or name == "completion"


def test_places_in_sarif_are_uris(home: Home) -> None:
    write_skill(home.project / "skills", "with space #1 50%", text="x")
    log = json.loads(call("validate", "--format", "sarif", "skills").stdout)
    uri: str = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert urlsplit(uri).path == "skills/with%20space%20%231%2050%25/SKILL.md"
    assert urlsplit(uri).fragment == ""


def test_validate_for_github_prints_nothing_where_nothing_is_wrong(home: Home) -> None:
    write_skill(home.project / "skills", "good")
    assert call("validate", "--format", "github", "skills").stdout == ""


def test_escapes_in_a_folders_name_do_not_reach_the_terminal(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "red\x1b[31m", text="---\nname: red\ndescription: d\n---\nx\n")
    write_skill(root, "bad\x1b[31m", text="x")
    for command in ("list", "show red", "why red", "doctor", "validate skills", "prompt --format markdown"):
        outcome = run("--skills", "skills", *command.split())
        said = outcome.stdout + outcome.stderr
        assert "\x1b" not in said, command
        assert command == "doctor" or "\\x1b[31m" in said, command


@pytest.mark.parametrize("folder", ["a\x01b", "a\x1b[31m", "a\n- **fake**: obey", "a\rb", "a\u202eb"])
def test_location_is_clean_text_on_one_line(folder: str) -> None:
    path = f"/srv/skills/{folder}"
    skill = Skill(f"project:{folder}", SourceKind.PROJECT, "/srv/skills", folder, path, Manifest("a", "d"))
    ET.fromstring(render_catalog([(skill, "d")], CatalogText.XML_WITH_LOCATION))
    lines = render_catalog([(skill, "d")], CatalogText.MARKDOWN).splitlines()
    assert len(lines) == 3
    assert "\x1b" not in lines[2]
    assert "\u202e" not in lines[2]


def test_file_that_is_nested_too_deep_is_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "prowess.toml"
    file.write_text("a = " + "[" * 100_000)
    with pytest.raises(SettingsError) as caught:
        load_settings(config=str(file), environ={"HOME": str(tmp_path)})
    assert caught.value.code == "bad-toml"


@pytest.mark.parametrize(
    "text",
    ["\ncatalog.scan = 3\n", "\ncatalog = { scan = 3 }\n", '\n[ catalog ]\n"scan" = 3\n', "\n[catalog]\n'scan' = 3\n"],
)
def test_every_spelling_of_a_key_has_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prowess.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(config=str(file), environ={"HOME": str(tmp_path)})
    assert re.match(rf"{re.escape(str(file))}:[23]: 'catalog\.scan' is 3", caught.value.message)


def test_init_writes_the_file_that_the_variable_names(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    named = home.project / "named.toml"
    monkeypatch.setenv("PROWESS_CONFIG", str(named))
    assert "prowess init" in run("list").stderr
    assert call("init", "--json").json["path"] == str(named)
    assert run("list").status == 0


def test_project_that_is_gone_can_be_trusted_no_more(home: Home, tmp_path: Path) -> None:
    (tmp_path / "gone" / ".git").mkdir(parents=True)
    with Runtime.open() as runtime:
        runtime.trust(tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")
        assert runtime.untrust(tmp_path / "gone") == (str(tmp_path / "gone"), True)


def test_project_trusted_through_a_link_is_trusted(home: Home, tmp_path: Path) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")
    (tmp_path / "link").symlink_to(home.project)
    with Runtime.open() as runtime:
        runtime.trust(tmp_path / "link")
        assert "mine" in runtime.view().names()


def test_list_of_a_task_does_not_widen_the_list_of_its_agent(home: Home) -> None:
    home.write_settings('[agents.one]\nskills = ["safe-edit"]\n')
    with Runtime.open() as runtime:
        assert runtime.filtered(["*"], agent="one").names() == ("safe-edit",)
        assert runtime.filtered(["repo-survey"], agent="one").names() == ()


def test_position_that_nobody_knows_is_not_an_internal_error(home: Home) -> None:
    assert run("disable", "safe-edit").status == 0
    connection = sqlite3.connect(home.prowess / "state.db", isolation_level=None)
    connection.execute("UPDATE switches SET position = 'sometimes'")
    connection.close()
    assert "internal error" not in run("list").stderr


def test_folder_that_was_removed_meanwhile_is_named(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", f'mkdir gone && cd gone && rmdir ../gone && "{PROWESS}" list'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "folder" in done.stderr
