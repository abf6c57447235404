"""`prowess secrets`: what is kept, and how values come in without being seen."""

import os
import pty
import select
import stat
import subprocess
from pathlib import Path

import pytest

from prowess.errors import NotFound, Refused, WorldError
from prowess.execution.secrecy.secret_stores import MAX_VALUE_BYTES, FileSecretStore
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, call, run

_VALUE = "hunter2-correct-horse"


def _store(home: Home) -> FileSecretStore:
    return FileSecretStore(str(home.prowess / "secrets.json"))


@pytest.fixture
def skill(home: Home) -> Path:
    """A skill that declares secrets, where a model sees it."""
    return write_skill(
        home.path / ".agents" / "skills",
        "release-notes",
        extra="secrets:\n  - name: API_KEY\n    prompt: The key of the tracker\n  - name: EXTRA\n    optional: true\n",
    )


def test_nothing_is_kept_at_first(home: Home) -> None:
    assert call("secrets", "--json").json == {"secrets": [], "missing": []}
    outcome = call("secrets")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "No secrets are kept, and no skill lacks one.\n")


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize(
    ("piped", "kept"),
    [
        (_VALUE, _VALUE),
        (f"{_VALUE}\n", _VALUE),
        (f"{_VALUE}\r\n", _VALUE),
        (f"{_VALUE}\n\n", f"{_VALUE}\n"),
        ("two\nlines é\n", "two\nlines é"),
    ],
)
def test_value_is_read_from_standard_input(home: Home, piped: str, kept: str) -> None:
    outcome = run("secrets", "set", "TOKEN", "--json", piped=piped)
    assert (outcome.status, outcome.json, outcome.stderr) == (0, {"name": "TOKEN", "skill": None, "set": True}, "")
    assert _store(home).get("TOKEN") == kept
    assert stat.S_IMODE((home.prowess / "secrets.json").stat().st_mode) == 0o600


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize(
    ("piped", "status"), [("", 1), ("\n", 1), ("a\0b", 1), ("x" * MAX_VALUE_BYTES, 0), ("x" * (MAX_VALUE_BYTES + 1), 1)]
)
def test_only_text_of_some_length_is_kept(home: Home, piped: str, status: int) -> None:
    outcome = run("--json", "secrets", "set", "TOKEN", piped=piped)
    assert outcome.status == status
    assert outcome.json.get("error", {}).get("code") == ("bad-secret-value" if status else None)
    assert "xxx" not in outcome.stdout + outcome.stderr
    assert len(_store(home).names()) == 1 - status


@pytest.mark.slow
def test_bytes_that_are_no_text_are_refused(home: Home) -> None:
    command = [PROWESS, "--json", "secrets", "set", "TOKEN"]
    done = subprocess.run(command, input=b"\xff\xfe\x00", capture_output=True, check=False)
    assert (done.returncode, b"bad-secret-value" in done.stdout) == (1, True)


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize("arguments", [["TOKEN", _VALUE], [f"TOKEN={_VALUE}"], ["TOKEN", "--", _VALUE]])
def test_value_on_the_command_line_is_refused_and_not_repeated(home: Home, arguments: list[str]) -> None:
    outcome = run("--json", "secrets", "set", *arguments, piped=_VALUE)
    assert outcome.status in {1, 2}
    assert _VALUE not in outcome.stdout + outcome.stderr
    assert _store(home).names() == ()


@pytest.mark.slow
@pytest.mark.requirement("K8")
def test_value_is_asked_for_at_a_terminal_without_an_echo(home: Home) -> None:
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [PROWESS, "secrets", "set", "TOKEN"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True
    )
    os.close(inner)
    said = _read_until(outer, b"Value of TOKEN: ")
    os.write(outer, f"{_VALUE}\n".encode())
    said += _read_until(outer, b"TOKEN is kept")
    assert process.wait(60) == 0
    os.close(outer)
    assert _VALUE.encode() not in said
    assert _store(home).get("TOKEN") == _VALUE


def _read_until(handle: int, wanted: bytes) -> bytes:
    said = b""
    while wanted not in said:
        ready, _, _ = select.select([handle], [], [], 60)
        assert ready, said
        said += os.read(handle, 4096)
    return said


@pytest.mark.requirement("K8")
def test_list_has_names_scopes_and_places_and_no_values(
    home: Home, skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_settings('[execution]\nhost_variables = ["CI_TOKEN", "NOT_SET"]\n')
    monkeypatch.setenv("CI_TOKEN", _VALUE)
    store = _store(home)
    store.set("TOKEN", _VALUE)
    store.set("TOKEN", f"{_VALUE}-2", "release-notes")
    listed = call("secrets", "--json")
    assert listed.json == {
        "secrets": [
            {"name": "TOKEN", "skill": None, "kept_in": "file"},
            {"name": "TOKEN", "skill": "release-notes", "kept_in": "file"},
            {"name": "CI_TOKEN", "skill": None, "kept_in": "environment"},
        ],
        "missing": [{"name": "API_KEY", "skill": "release-notes", "prompt": "The key of the tracker"}],
    }
    shown = call("secrets").stdout
    assert [line.split("\t") for line in shown.splitlines()] == [
        ["TOKEN", "every skill", "the file of secrets", ""],
        ["TOKEN", "release-notes", "the file of secrets", ""],
        ["CI_TOKEN", "every skill", "the environment", ""],
        ["API_KEY", "release-notes", "missing", "The key of the tracker"],
    ]
    assert _VALUE not in listed.stdout + shown


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("scope", ["", "release-notes", "agents:release-notes"])
def test_secret_that_was_set_is_not_missing(home: Home, skill: Path, scope: str) -> None:
    store = _store(home)
    store.set("API_KEY", _VALUE, "another-skill")
    assert [row["name"] for row in call("secrets", "--json").json["missing"]] == ["API_KEY"]
    store.set("API_KEY", _VALUE, scope)
    assert call("secrets", "--json").json["missing"] == []


@pytest.mark.slow
def test_secret_can_be_set_and_forgotten_for_one_skill(home: Home) -> None:
    done = run("secrets", "set", "API_KEY", "--skill", "release-notes", piped=_VALUE)
    assert (done.status, done.stdout) == (0, "API_KEY is kept for the skill release-notes\n")
    run("secrets", "set", "API_KEY", piped="general")
    forgotten = call("secrets", "unset", "API_KEY", "--skill", "release-notes", "--json").json
    assert forgotten == {"name": "API_KEY", "skill": "release-notes", "unset": True}
    assert call("secrets", "unset", "API_KEY").stdout == "API_KEY is forgotten\n"
    assert _store(home).names() == ()


def test_forgetting_what_is_not_kept_is_refused(home: Home) -> None:
    _store(home).set("TOKEN", _VALUE, "pdf")
    with pytest.raises(NotFound) as caught:
        call("secrets", "unset", "TOKEN")
    assert (caught.value.code, caught.value.message) == ("unknown-secret", "no secret TOKEN is kept")
    with pytest.raises(NotFound, match="no secret TOKEN is kept for the skill docx"):
        call("secrets", "unset", "TOKEN", "--skill", "docx")


@pytest.mark.slow
def test_forgetting_what_is_not_kept_ends_with_1(home: Home) -> None:
    outcome = run("secrets", "unset", "TOKEN")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr == "error: no secret TOKEN is kept\nhint: `prowess secrets` lists all\n"


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "PYTHONPATH"])
def test_variable_that_steers_a_run_is_not_kept(home: Home, name: str) -> None:
    with pytest.raises(Refused) as caught:
        call("secrets", "set", name)
    assert caught.value.code == "secret-name-refused"


def test_file_that_others_may_read_is_told(home: Home) -> None:
    _store(home).set("TOKEN", _VALUE)
    (home.prowess / "secrets.json").chmod(0o644)
    with pytest.raises(WorldError) as caught:
        call("secrets")
    assert caught.value.code == "secrets-unsafe"
    assert "chmod 600" in caught.value.hint


@pytest.mark.slow
def test_keyring_that_is_not_there_is_told(home: Home) -> None:
    home.write_settings('[execution]\nsecrets = "keyring"\n')
    env = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    outcome = run("secrets", "set", "TOKEN", "--json", env=env, piped=_VALUE)
    assert (outcome.status, outcome.json["error"]["code"]) == (3, "no-keyring")
    assert _VALUE not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("part", [[], ["set"], ["unset"]])
def test_help_has_examples(home: Home, part: list[str]) -> None:
    text = call("secrets", *part, "--help").stdout
    command = " ".join(["prowess", "secrets", *part])
    assert text.startswith(f"Usage: {command} ")
    assert f"\n  {command} " in text.partition("\n\n")[2] or f"\n  {command}\n" in text
