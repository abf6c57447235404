"""Shell completion: the scripts, and the answers that the shells ask for."""

import os
import subprocess

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, run

pytestmark = pytest.mark.slow  # Nearly every test starts a process.


@pytest.mark.parametrize(
    ("shell", "sign"),
    [("bash", "complete -o nosort -F _prowess_completion prowess"), ("zsh", "#compdef prowess"), ("fish", "complete")],
)
def test_script_for_a_shell_asks_prowess(home: Home, shell: str, sign: str) -> None:
    outcome = run("completion", shell)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert sign in outcome.stdout
    assert f"_PROWESS_COMPLETE={shell}_complete" in outcome.stdout


def test_script_can_be_read_by_bash(home: Home) -> None:
    script = run("completion", "bash").stdout
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def _complete(line: str, *, shell: str = "bash") -> list[str]:
    """Return what a shell is offered for the last word of the line."""
    words = line.split(" ")
    variables = {"_PROWESS_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        variables["COMP_CWORD"] = words[-1]
    outcome = run(env=variables)
    assert outcome.stderr == ""
    return outcome.stdout.splitlines()


@pytest.mark.parametrize(
    "command", ["show", "why", "activate", "read", "grants --allow", "grants --revoke", "enable", "disable"]
)
def test_name_of_a_skill_is_completed(home: Home, command: str) -> None:
    assert _complete(f"prowess {command} s") == [
        "plain,safe-edit",
        "plain,scheduling",
        "plain,skill-creator",
        "plain,skills-system-validation",
    ]


def test_skills_of_the_folder_named_before_are_completed(home: Home) -> None:
    write_skill(home.project / "skills", "mine")
    assert _complete("prowess --skills skills show ") == ["plain,mine"]


@pytest.mark.parametrize("command", ["show", "remove", "restore"])
def test_key_says_nothing_of_settings_that_cannot_be_read(home: Home, command: str) -> None:
    home.write_settings("profile = 3\n")
    assert "".join(_complete(f"prowess {command} s")) == ""


def test_commands_and_options_are_completed(home: Home) -> None:
    assert _complete("prowess e") == ["plain,eval", "plain,eject", "plain,export", "plain,enable"]
    assert _complete("prowess disable --t") == ["plain,--to"]
    assert _complete("prowess disable x --to n") == ["plain,name-only"]


def test_zsh_and_fish_are_answered_in_their_own_way(home: Home) -> None:
    assert _complete("prowess show safe", shell="zsh") == ["plain", "safe-edit", "_"]
    assert _complete("prowess show safe", shell="fish") == ["plain,safe-edit"]


@pytest.mark.slow
def test_bash_completes_with_the_script(home: Home) -> None:
    folder = os.path.dirname(PROWESS)
    lines = (
        f'PATH="{folder}:$PATH"; eval "$(prowess completion bash)"; '
        "COMP_WORDS=(prowess why safe); COMP_CWORD=2; _prowess_completion prowess; "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("safe-edit\n", "")
