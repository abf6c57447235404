"""`prowess mounts`: what a sandbox must mount."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import SettingsError
from tests.copies.parts import names
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, call, run, run_on_terminal


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings("[copies]\ndurable = false\n")
    folder = home.project / "skills"
    write_skill(folder, "a")
    return folder


@pytest.fixture
def active(home: Home) -> Path:
    return home.prowess / "users" / "local" / "skills" / "active"


def _mount_option(active: Path, *words: str) -> str:
    return ",".join(["type=bind", f"source={active}", "target=/shared/skills", "readonly", *words])


def _arguments(active: Path) -> dict[str, list[str]]:
    return {
        "docker": [f"--mount={_mount_option(active)}"],
        "podman": [f"--mount={_mount_option(active, 'bind-nonrecursive')}"],
        "bubblewrap": ["--ro-bind", str(active), "/shared/skills"],
    }


@pytest.mark.requirement("R83", "R111")
def test_people_and_programs_read_the_same_mount(root: Path, active: Path) -> None:
    outcome = call("--skills", str(root), "mounts")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, f"/shared/skills\tro\t{active}\n", "")
    assert call("--skills", str(root), "mounts", "--json").json == {
        "mounts": [{"host": str(active), "inside": "/shared/skills", "access": "ro"}],
        "arguments": _arguments(active),
    }


@pytest.mark.requirement("R83")
@pytest.mark.parametrize("engine", ["docker", "podman", "bubblewrap"])
def test_arguments_for_an_engine_are_one_line(root: Path, active: Path, engine: str) -> None:
    outcome = call("--skills", str(root), "mounts", "--for", engine)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, " ".join(_arguments(active)[engine]) + "\n", "")


def test_copies_are_brought_up_to_date_before_unless_told_not_to(root: Path, active: Path) -> None:
    told = call("--skills", str(root), "mounts", "--no-sync").stdout
    assert not active.exists() or names(active) == set()
    assert call("--skills", str(root), "mounts").stdout == told
    assert names(active) == {"project--a"}
    write_skill(root, "b")
    assert call("--skills", str(root), "mounts", "--no-sync").stdout == told
    assert names(active) == {"project--a"}


def test_mount_of_another_user_is_apart(root: Path, home: Home) -> None:
    annas = home.prowess / "users" / "anna" / "skills" / "active"
    assert call("--skills", str(root), "mounts", "--user", "anna").stdout == f"/shared/skills\tro\t{annas}\n"
    assert names(annas) == {"project--a"}
    with pytest.raises(SettingsError) as caught:
        call("--skills", str(root), "mounts", "--user", "../x")
    assert caught.value.code == "bad-user"


@pytest.mark.parametrize("profile", ["workspace", "agent-base", "remcochat"])
@pytest.mark.parametrize("arguments", [(), ("--for", "docker"), ("--json",)])
def test_profile_without_a_shared_folder_mounts_nothing_and_says_so(
    root: Path, home: Home, profile: str, arguments: tuple[str, ...]
) -> None:
    outcome = call("--profile", profile, "--skills", str(root), "mounts", *arguments)
    assert outcome.status == 0
    assert outcome.stderr == "The profile mounts no shared skills; a task mounts what it has activated.\n"
    if arguments == ("--json",):
        nothing: dict[str, Any] = {"docker": [], "podman": [], "bubblewrap": []}
        assert outcome.json == {"mounts": [], "arguments": nothing}
    else:
        assert outcome.stdout == ""
    assert "users" not in names(home.prowess)


@pytest.mark.slow
def test_terminal_obeys_no_name_of_a_folder(root: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(home.path / "x\x1b]0;owned\x07"))
    outcome = run_on_terminal(["--skills", str(root), "mounts", "--for", "docker"])
    assert (outcome.status, "\x1b]0" in outcome.stdout, "owned" in outcome.stdout) == (0, False, True)


# Through a real shell

_ODD_NAMES = [
    "plain",
    'a b, c: it\'s "quoted"',
    "$(touch owned) `touch owned` $HOME * ; & |",
    "back\\slash 'quote' ü \u202e\x1b[31m",
    "line\nbreak",
]


@pytest.fixture
def odd_active(home: Home, root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The copies in a home with an odd name."""
    odd = home.path / request.param
    odd.mkdir()
    monkeypatch.setenv("PROWESS_HOME", str(odd))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(PROWESS).parent), os.environ.get("PATH", os.defpath)]))
    return odd / "users" / "local" / "skills" / "active"


def _evaluate(line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["sh", "-c", f'eval "{line}"'], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.requirement("R83")
@pytest.mark.parametrize("odd_active", _ODD_NAMES, indirect=True)
def test_shell_gives_bubblewrap_the_folder_whatever_its_name(odd_active: Path, root: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.fail("bubblewrap is not installed: apt-get install bubblewrap")
    system = "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64"
    mounts = f"$(prowess --skills {root} mounts --for bubblewrap)"
    done = _evaluate(f"bwrap --unshare-all --die-with-parent {system} {mounts} cat /shared/skills/project--a/SKILL.md")
    assert (done.returncode, done.stdout, done.stderr) == (0, (root / "a" / "SKILL.md").read_bytes(), b"")
    assert names(odd_active) == {"project--a"}
    assert names(Path.cwd()) == {".git", "skills"}


@pytest.mark.slow
@pytest.mark.requirement("R83")
@pytest.mark.parametrize("odd_active", _ODD_NAMES, indirect=True)
def test_shell_gives_every_engine_the_arguments_that_json_has(odd_active: Path, root: Path) -> None:
    arguments = run("--skills", str(root), "mounts", "--json").json["arguments"]
    for engine, words in arguments.items():
        done = _evaluate(f"printf '%s\\0' $(prowess --skills {root} mounts --no-sync --for {engine})")
        assert (done.returncode, done.stdout.decode("utf-8", "surrogateescape").split("\0")) == (0, [*words, ""])
