"""What every call of the command line keeps to, whatever it is given."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, Outcome, call, run

pytestmark = pytest.mark.slow  # Nearly every test starts a process.

_STRANGE = b"caf\xe9"
"""A folder's name that is no UTF-8."""


def _bad_settings(home: Home) -> None:
    home.write_settings("[catalog]\nscan = 3\n")


def _bad_toml(home: Home) -> None:
    home.write_settings("[catalog\n")


def _damaged_state(home: Home) -> None:
    home.prowess.mkdir()
    (home.prowess / "state.db").write_bytes(b"this is not a database" * 50)


def _plain_file(home: Home) -> None:
    (home.project / "file").write_text("x")


def _existing_skill(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "there")


def _existing_settings(home: Home) -> None:
    home.write_settings("")


def _skill_of_the_user(home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "mine")


def _refused_skill(home: Home) -> None:
    _skill_of_the_user(home)
    call("grants", "--refuse", "mine")


def _skill_with_a_script(home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "mine", files={"scripts/a.py": "print('ran')\n"})


def _script_that_is_refused(home: Home) -> None:
    _skill_with_a_script(home)
    call("grants", "--refuse", "mine", "--run")


def _without_runs(home: Home) -> None:
    _skill_with_a_script(home)
    home.write_settings("[execution]\nenabled = false\n")


def _hidden_skill(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")


def _skill_with_a_link_out(home: Home) -> None:
    _skill_of_the_user(home)
    (home.path / ".agents" / "skills" / "mine" / "out").symlink_to("/etc/hostname")


def _unknown_database(home: Home) -> None:
    home.write_settings('database = "mysql://me:secret@db/x"\n')


def _unreachable_database(home: Home) -> None:
    home.write_settings('database = "postgresql://me:secret@127.0.0.1:1/x"\n')


def _nothing(_: Home) -> None:
    return


_REFUSALS: list[tuple[list[str], Callable[[Home], None], int, str]] = [
    (["show", "nope"], _nothing, 1, "unknown-skill"),
    (["show", ""], _nothing, 1, "unknown-skill"),
    (["show", "core:nope"], _nothing, 1, "unknown-skill"),
    (["show", "\x1b[31m\n"], _nothing, 1, "unknown-skill"),
    (["enable", "nope"], _nothing, 1, "unknown-skill"),
    (["disable", "nope"], _nothing, 1, "unknown-skill"),
    (["validate", "nope"], _nothing, 1, "not-found"),
    (["validate", ""], _nothing, 1, "not-found"),
    (["validate", "file"], _plain_file, 1, "not-found"),
    (["trust", "nope"], _nothing, 1, "not-found"),
    (["trust", "file"], _plain_file, 1, "not-found"),
    (["untrust", "nope"], _nothing, 1, "not-found"),
    (["new", "there"], _existing_skill, 1, "exists"),
    (["init"], _existing_settings, 1, "exists"),
    (["new", "Upper"], _nothing, 2, "bad-name"),
    (["new", ""], _nothing, 2, "bad-name"),
    (["new", "../up"], _nothing, 2, "bad-name"),
    (["new", "a" * 65], _nothing, 2, "bad-name"),
    (["new", "技能"], _nothing, 2, "bad-name"),
    (["--profile", "nope", "list"], _nothing, 2, "bad-setting"),
    (["--config", "nope.toml", "list"], _nothing, 2, "settings-missing"),
    (["--config", ".", "list"], _nothing, 2, "settings-unreadable"),
    (["list"], _bad_settings, 2, "bad-setting"),
    (["validate", "."], _bad_settings, 2, "bad-setting"),
    (["list"], _bad_toml, 2, "bad-toml"),
    (["doctor"], _bad_toml, 2, "bad-toml"),
    (["list"], _damaged_state, 3, "state-unusable"),
    (["trust"], _damaged_state, 3, "state-unusable"),
    (["new", "a", "--dir", "file"], _plain_file, 2, "not-a-folder"),
    (["new", "a", "--description", "a\x07b"], _nothing, 2, "bad-description"),
    (["new", "a", "--description", "a\u200bb"], _nothing, 2, "bad-description"),
    (["--config", "file/p.toml", "init"], _plain_file, 3, "disk-failed"),
    (["--config", "file/p.toml", "list"], _plain_file, 2, "not-a-folder"),
    (["activate", "nope"], _nothing, 1, "unknown-skill"),
    (["activate", ""], _nothing, 1, "unknown-skill"),
    (["activate", "\x1b[31m\n"], _nothing, 1, "unknown-skill"),
    (["activate", "mine"], _hidden_skill, 1, "unknown-skill"),
    (["activate", "mine"], _skill_of_the_user, 1, "consent-needed"),
    (["activate", "mine", "--yes"], _refused_skill, 1, "refused"),
    (["activate", "mine", "--yes"], _skill_with_a_link_out, 1, "no-digest"),
    (["activate", "safe-edit", "--session", " "], _nothing, 2, "bad-session"),
    (["activate", "safe-edit"], _damaged_state, 3, "state-unusable"),
    (["read", "nope", "SKILL.md"], _nothing, 1, "unknown-skill"),
    (["read", "mine", "SKILL.md"], _skill_of_the_user, 1, "consent-needed"),
    (["read", "safe-edit", "nope.md"], _nothing, 1, "resource-not-found"),
    (["read", "safe-edit", "../scheduling/SKILL.md"], _nothing, 1, "path-traversal"),
    (["read", "safe-edit", "/etc/passwd"], _nothing, 1, "absolute-path"),
    (["read", "safe-edit", ""], _nothing, 1, "missing-path"),
    (["read", "safe-edit", "SKILL.md", "--lines", "99999-"], _nothing, 1, "no-such-line"),
    (["run", "nope", "scripts/a.py"], _nothing, 1, "unknown-skill"),
    (["run", "mine", "scripts/a.py", "--yes"], _hidden_skill, 1, "unknown-skill"),
    (["run", "mine", "scripts/a.py"], _skill_with_a_script, 1, "consent-needed"),
    (["run", "mine", "scripts/a.py", "--yes"], _script_that_is_refused, 1, "refused"),
    (["run", "mine", "scripts/a.py", "--yes"], _skill_with_a_link_out, 1, "no-digest"),
    (["run", "mine", "scripts/nope.py", "--yes"], _skill_with_a_script, 1, "unknown-script"),
    (["run", "mine", "../up.py", "--yes"], _skill_with_a_script, 1, "path-traversal"),
    (["run", "mine", "/bin/sh", "--yes"], _skill_with_a_script, 1, "absolute-path"),
    (["run", "mine", "SKILL.md", "--yes"], _skill_with_a_script, 1, "interpreter-unknown"),
    (["run", "mine", "scripts/a.py", "--yes", "--network"], _skill_with_a_script, 1, "no-network"),
    (["run", "mine", "scripts/a.py", "--yes", "--workspace", "read"], _skill_with_a_script, 1, "no-workspace"),
    (["run", "mine", "scripts/a.py", "--yes"], _without_runs, 1, "no-runs"),
    (["run", "safe-edit", "scripts/a.py"], _damaged_state, 3, "state-unusable"),
    (["grants", "--allow", "nope"], _nothing, 1, "unknown-skill"),
    (["grants", "--allow", "nope", "--run"], _nothing, 1, "unknown-skill"),
    (["grants", "--revoke", "nope"], _nothing, 1, "unknown-skill"),
    (["grants", "--allow", "mine"], _skill_with_a_link_out, 1, "no-digest"),
    (["grants", "--allow", "safe-edit"], _damaged_state, 3, "state-unusable"),
    (["sessions", "nope"], _nothing, 1, "unknown-session"),
    (["sessions", "--end", "nope"], _nothing, 1, "unknown-session"),
    (["sessions", "--forget", "nope"], _nothing, 1, "unknown-session"),
    (["sessions"], _damaged_state, 3, "state-unusable"),
    (["usage"], _damaged_state, 3, "state-unusable"),
    (["list"], _unknown_database, 2, "database-address"),
    (["usage"], _unreachable_database, 3, "state-unreachable"),
]
_USAGE = [
    ["nope"],
    ["--nope"],
    ["list", "--nope"],
    ["list", "extra"],
    ["show"],
    ["show", "a", "b"],
    ["show", "safe-edit", "--for", "nope"],
    ["why"],
    ["prompt", "--format", "yaml"],
    ["prompt", "--budget", "-1"],
    ["prompt", "--budget", "much"],
    ["search"],
    ["search", "x", "--limit", "0"],
    ["activate"],
    ["activate", "safe-edit", "--session"],
    ["read"],
    ["read", "safe-edit"],
    ["read", "safe-edit", "SKILL.md", "--lines", "3-1"],
    ["run"],
    ["run", "safe-edit"],
    ["run", "safe-edit", "x", "--backend", "host"],
    ["run", "safe-edit", "x", "--timeout", "0"],
    ["run", "safe-edit", "x", "--timeout", "soon"],
    ["run", "safe-edit", "x", "--input", "nope.json"],
    ["run", "safe-edit", "x", "--workspace", "all"],
    ["grants", "extra"],
    ["grants", "--run"],
    ["grants", "--allow", "a", "--power", "network"],
    ["grants", "--allow", "a", "--refuse", "b"],
    ["grants", "--revoke", "a", "--revoke-all"],
    ["grants", "--session", "x"],
    ["sessions", "a", "--end", "b"],
    ["sessions", "a", "--forget", "b"],
    ["sessions", "--end", "a", "--forget", "a"],
    ["usage", "--days", "0"],
    ["validate"],
    ["validate", ".", "--format", "xml"],
    ["new"],
    ["new", "a", "--with", "nope"],
    ["disable", "safe-edit", "--to", "on"],
    ["completion"],
    ["completion", "tcsh"],
    ["--skills"],
    ["--config"],
]


def _label(value: object) -> str | None:
    return " ".join(map(str, value))[:30] if isinstance(value, list) else getattr(value, "__name__", None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@pytest.mark.parametrize(("arguments", "prepare", "status", "code"), _REFUSALS, ids=_label)
def test_refusal_is_one_json_document_and_a_text_for_people(
    home: Home, arguments: list[str], prepare: Callable[[Home], None], status: int, code: str
) -> None:
    prepare(home)
    outcome = run("--json", *arguments)
    assert outcome.status == status
    assert list(outcome.json) == ["error"]
    assert set(outcome.json["error"]) == {"code", "message", "hint"}
    assert outcome.json["error"]["code"] == code
    assert outcome.json["error"]["message"]
    assert outcome.stderr.startswith("error: ")
    assert "Traceback" not in outcome.stderr
    assert "secret" not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "prepare", "status", "code"),
    [row for row in _REFUSALS if row[3] in ("unknown-skill", "exists", "bad-toml", "state-unusable")][::3],
    ids=_label,
)
def test_refusal_without_json_leaves_standard_output_empty(
    home: Home, arguments: list[str], prepare: Callable[[Home], None], status: int, code: str
) -> None:
    prepare(home)
    outcome = run(*arguments)
    assert (outcome.status, outcome.stdout) == (status, "")
    assert outcome.stderr.startswith("error: ")
    assert "\nhint: " in outcome.stderr


@pytest.mark.parametrize("arguments", _USAGE, ids=_label)
def test_wrong_usage_is_explained(home: Home, arguments: list[str]) -> None:
    outcome = run(*arguments)
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert "Error: " in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("arguments", [[], ["nope"], ["list", "--nope"], ["show"], ["--profile"]], ids=_label)
def test_wrong_usage_is_one_json_document_too(home: Home, arguments: list[str]) -> None:
    outcome = run("--json", *arguments)
    assert outcome.status == 2
    assert set(outcome.json["error"]) == {"code", "message", "hint"}
    assert outcome.json["error"]["code"] == "usage"
    assert outcome.stderr


def test_call_without_a_command_shows_the_help(home: Home) -> None:
    outcome = run()
    assert (outcome.status, outcome.stdout, outcome.stderr) == (2, "", run("--help").stdout)


def test_hint_names_what_was_meant(home: Home) -> None:
    assert "hint: did you mean 'safe-edit' or" in run("show", "safe-edti").stderr
    assert "hint: use 'my-skill'" in run("new", "My Skill").stderr


def test_version_is_one_line(home: Home) -> None:
    outcome = run("--version")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("prowess, version ")


@pytest.mark.parametrize(
    "command", ["--json --version", "--json --help", "--json list -h", "list --json -h", "mcp install --json --help"]
)
def test_text_that_is_asked_for_with_json_stands_in_one_document(home: Home, command: str) -> None:
    arguments = command.split()
    outcome = run(*arguments)
    plain = run(*(one for one in arguments if one != "--json"))
    assert (outcome.status, outcome.json, outcome.stderr) == (0, {"text": plain.stdout.rstrip("\n")}, "")


def test_warnings_go_to_standard_error(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good")
    write_skill(root, "broken", text="no frontmatter")
    outcome = run("--skills", str(root), "--skills", "nowhere", "list")
    assert outcome.status == 0
    assert outcome.stdout.splitlines() == ["good\tproject:good\tok\tDoes a thing. Use when the thing is asked for."]
    assert f"not loaded: {root}/broken: " in outcome.stderr
    assert "[no-frontmatter]" in outcome.stderr
    assert "[source-missing]" in outcome.stderr


def test_one_bad_skill_does_not_hide_the_others(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good")
    for number, text in enumerate([b"", b"\xff\xfe", b"---\n", b"---\n&a [*a]\n---\n", b"\0" * 9_000]):
        write_skill(root, f"bad-{number}", text=text)
    found = run("--json", "--skills", str(root), "list").json
    assert [row["name"] for row in found["skills"]] == ["good"]
    assert len(found["rejected"]) == 5


# The world is as it is


@pytest.mark.parametrize(
    "command",
    ["list", "prompt", "doctor", "show good", "why good", "activate good", "read good SKILL.md", "search good"],
)
def test_path_that_is_no_utf_8_works(home: Home, command: str) -> None:
    root = os.path.join(os.fsencode(home.project), _STRANGE)
    write_skill(Path(os.fsdecode(root)), "good", files={os.fsdecode(b"\xff.txt"): "x"})
    for extra in ([], ["--json"]):
        outcome = run(b"--skills", root, *extra, *command.split())
        assert (outcome.status, "Traceback" in outcome.stderr) == (0, False)
        assert "good" in outcome.stdout or command == "doctor"
    validated = run("--json", "validate", root)
    assert (validated.status, validated.json["skills"][0]["name"]) == (0, "good")
    assert "caf\\xe9" in validated.json["skills"][0]["path"]


def test_path_that_is_no_utf_8_can_be_named_in_an_error(home: Home) -> None:
    for arguments in ([b"show", _STRANGE], [b"--config", _STRANGE, b"list"], [b"validate", _STRANGE]):
        outcome = run(b"--json", *arguments)
        assert outcome.status in (1, 2)
        assert "caf" in outcome.json["error"]["message"]


@pytest.mark.parametrize("encoding", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_plain_terminal_gets_escapes_for_what_it_cannot_show(home: Home, encoding: dict[str, str]) -> None:
    root = home.project / "skills"
    write_skill(root, "good", description="Grüße, 技能, 🧭.")
    environment = {"LANG": "C", **encoding}
    listed = run("--skills", str(root), "list", env=environment)
    assert (listed.status, listed.stderr) == (0, "")
    assert listed.stdout.rstrip().endswith((r"Gr\xfc\xdfe, \u6280\u80fd, \U0001f9ed.", "Grüße, 技能, 🧭."))
    as_json = run("--skills", str(root), "--json", "list", env=environment)
    assert as_json.json["skills"][0]["description"] == "Grüße, 技能, 🧭."
    assert run("doctor", env=environment).status == 0
    assert run("show", "nöpe", env=environment).status == 1


@pytest.mark.requirement("J5")
def test_pipe_in_a_skills_folder_keeps_nobody_waiting(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good")
    write_skill(root, "piped", files={"data": "x"})
    (root / "piped" / "data").unlink()
    os.mkfifo(root / "piped" / "data")
    (root / "waiting").mkdir()
    os.mkfifo(root / "waiting" / "SKILL.md")
    os.mkfifo(root / "pipe")
    found = run("--json", "--skills", str(root), "list").json
    assert [(row["name"], row["digest"] is None) for row in found["skills"]] == [("good", False), ("piped", True)]
    assert [one["problems"][0]["code"] for one in found["rejected"]] == ["not-a-file"]
    shown = run("--json", "--skills", str(root), "show", "piped").json
    assert [problem["code"] for problem in shown["problems"]] == ["not-a-file"]
    assert run("--json", "validate", str(root)).status == 1


def test_home_that_cannot_be_made_still_lists(home: Home) -> None:
    outcome = run("list", env={"PROWESS_HOME": "/proc/no-such-home"})
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "safe-edit" in outcome.stdout


def test_home_that_is_a_file_is_said_to_be_no_folder(home: Home) -> None:
    home.prowess.write_text("")
    outcome = run("doctor")
    assert outcome.status == 2
    assert outcome.stderr == (
        f"error: {home.prowess} is not a folder, so there can be no {home.prowess}/prowess.toml\n"
        "hint: set PROWESS_HOME to a folder\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("mcp", "standard input is closed"),
        ("run repo-survey scripts/survey.py --yes --input -", "the input is not JSON"),
        ("secrets set KEY", "the value is empty"),
    ],
)
def test_closed_standard_input_is_no_internal_error(home: Home, arguments: str, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{PROWESS}" {arguments} <&-'], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "internal error" not in done.stderr


def test_port_that_does_not_exist_is_named(home: Home) -> None:
    assert "there is no port 99999; the last one is 65535" in run("mcp", "--http", "127.0.0.1:99999").stderr


_ON_A_FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
from prowess.surfaces.cli.main import main
main()
"""


def _run_on_a_full_disk(*arguments: str) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_FULL_DISK, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_settings_stay_in_force_if_the_disk_has_no_room_for_new_ones(home: Home) -> None:
    file = home.write_settings("# mine\n")
    outcome = _run_on_a_full_disk("init", "--force")
    assert outcome.status == 3
    assert f"{file} cannot be written" in outcome.stderr
    assert (os.listdir(home.prowess), file.read_text()) == (["prowess.toml"], "# mine\n")


def test_nothing_is_left_of_what_the_disk_has_no_room_for(home: Home) -> None:
    assert _run_on_a_full_disk("init").status == 3
    assert os.listdir(home.prowess) == []
    outcome = _run_on_a_full_disk("new", "one", "--dir", "skills", "--with", "evals")
    assert outcome.status == 3
    assert f"{home.project}/skills/one cannot be made" in outcome.stderr
    assert os.listdir(home.project / "skills") == []
    assert call("new", "one", "--dir", "skills").status == 0


def test_full_disk_for_the_output_does_not_deny_what_was_done(home: Home) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROWESS, "sync"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert "what was done before that stays done" in done.stderr
    assert "nothing" not in done.stderr


def test_source_folders_are_not_written(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good", files={"scripts/a.py": "open('/output/left', 'w').write('x')\n"})
    before = {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}
    for arguments in (
        ["list", "--json"],
        ["show", "good"],
        ["validate", str(root)],
        ["activate", "good"],
        ["read", "good", "SKILL.md"],
        ["run", "good", "scripts/a.py", "--yes"],
        ["search", "thing"],
        ["disable", "good"],
    ):
        assert run("--skills", str(root), *arguments).status == 0
    assert {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]} == before


def test_in_process_and_child_process_say_the_same(home: Home) -> None:
    assert call("list", "--json").json == run("list", "--json").json


@pytest.mark.slow
def test_interrupted_command_leaves_quietly(home: Home) -> None:
    folder = write_skill(home.project / "skills", "big")
    with open(folder / "data", "wb") as file:
        os.truncate(file.fileno(), 1_000 << 20)  # A hole takes no room, but is hashed like anything else.
    with subprocess.Popen(
        [PROWESS, "--skills", "skills", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(0.8)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr


def test_json_among_the_arguments_for_a_skill_is_not_for_prowess(home: Home) -> None:
    outcome = run("activate", "nope", "--", "--json")
    assert (outcome.status, outcome.stdout) == (1, "")
