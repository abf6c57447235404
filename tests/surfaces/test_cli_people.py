"""What people read: plain lines where a program may be reading, results on standard output."""

import pytest

from prowess.settings import render_template
from prowess.surfaces.cli.main import COMMANDS
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call


def test_list_has_a_line_with_tabs_for_each_skill(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "long", description="x" * 300)
    write_skill(root, "Odd")
    write_skill(root, "needy", extra="requires: [no-such-command-4d1f]\n")
    call("--skills", str(root), "disable", "needy", "--to", "user-only")
    rows = [line.split("\t") for line in call("--skills", str(root), "list").stdout.splitlines()]
    assert [row[:3] for row in rows] == [
        ["Odd", "project:Odd", "warnings"],
        ["long", "project:long", "ok"],
        ["needy", "project:needy", "user-only, ineligible"],
    ]
    assert rows[1][3] == "x" * 99 + "…"


def test_list_marks_what_is_shadowed_and_untrusted(home: Home) -> None:
    write_skill(home.project / ".prowess" / "skills", "mine")
    write_skill(home.project / ".agents" / "skills", "mine")
    states = [line.split("\t")[2] for line in call("list").stdout.splitlines() if line.startswith("mine")]
    assert states == ["untrusted", "shadowed, untrusted, warnings"]


def test_list_of_nothing_says_where_it_looked(home: Home) -> None:
    (home.project / "none").mkdir()
    outcome = call("--skills", "none", "list")
    assert outcome.stdout == ""
    assert outcome.stderr == f"No skills. Looked in:\n  {home.project / 'none'}\n"


def test_list_says_that_skills_are_switched_off(home: Home) -> None:
    outcome = call("--profile", "remcochat", "list")
    assert outcome.stdout == ""
    assert outcome.stderr == "No skills: they are switched off. Set enabled = true in the settings.\n"


def test_show_prints_what_is_known(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good", extra="license: MIT\nmetadata:\n  version: '2'\n", files={"a.txt": "xyz"})
    lines = call("--skills", str(root), "show", "good", "--for", "codex").stdout.splitlines()
    assert lines[:2] == ["name        good", "id          project:good"]
    assert "version     2" in lines
    assert "license     MIT" in lines
    assert any(line.split()[0] == "3" and line.endswith("a.txt") for line in lines)
    assert any("Codex does not read license" in line for line in lines)


def test_show_says_when_nothing_would_be_lost(home: Home) -> None:
    write_skill(home.project / "skills", "good")
    assert "Codex would lose nothing of it." in call("--skills", "skills", "show", "good", "--for", "codex").stdout


@pytest.mark.requirement("K7")
def test_why_prints_code_reason_and_remedy(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")
    assert call("why", "mine").stdout == (
        "mine: not visible to the model\n"
        "  untrusted: project:mine: its project is not trusted\n"
        "    prowess trust, after a look at the skill\n"
    )


@pytest.mark.requirement("J6")
def test_prompt_prints_the_text_itself_or_says_why_there_is_none(home: Home) -> None:
    write_skill(home.project / "skills", "good")
    (home.project / "none").mkdir()
    assert call("--skills", "skills", "prompt").stdout.startswith("<available_skills>\n<skill>\n<name>good</name>\n")
    nothing = call("--skills", "none", "prompt")
    assert nothing.stdout == ""
    assert "No skill is visible" in nothing.stderr


def test_validate_prints_place_severity_message_code_and_remedy(home: Home) -> None:
    write_skill(home.project / "skills", "odd", text="---\nname: odd\ndescription: a: b\n---\nBody\n")
    outcome = call("validate", "skills")
    first, second = outcome.stdout.splitlines()
    assert first.startswith("skills/odd/SKILL.md:3:")
    assert ": ! warning: " in first
    assert first.endswith("[yaml-repaired]")
    assert second.startswith("    ")
    assert outcome.stderr == "1 skill, 1 valid; 0 errors, 1 warnings\n"


def test_new_prints_the_path_and_what_to_do_next(home: Home) -> None:
    outcome = call("new", "pdf-fill")
    path = home.project / ".agents" / "skills" / "pdf-fill"
    assert outcome.stdout == f"{path}\n"
    assert f"prowess validate --strict {path}" in outcome.stderr


def test_init_prints_the_path_or_the_file(home: Home) -> None:
    assert call("init", "--print").stdout == render_template()
    assert not home.prowess.exists()
    assert call("init").stdout == f"{home.prowess}/prowess.toml\n"


def test_enable_and_disable_say_what_is_true_now(home: Home) -> None:
    assert call("disable", "safe-edit").stdout == "core:safe-edit is off, and not visible to models\n"
    assert call("enable", "safe-edit", "--agent", "x").stdout == (
        "core:safe-edit is on for the agent 'x', and visible to models\n"
    )


def test_trust_names_the_skills_concerned(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")
    assert call("trust").stdout == f"{home.project} is trusted\n  project:mine\n"
    assert call("trust").stdout == f"{home.project} is trusted, as before\n  project:mine\n"
    assert call("untrust").stdout == f"{home.project} is not trusted\n  project:mine\n"


def test_doctor_marks_what_works(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "mine")
    lines = call("doctor").stdout.splitlines()
    assert lines[0].startswith("✓ prowess ")
    assert any("1 skills, not trusted" in line for line in lines)
    assert all(line.startswith(("✓ ", "✗ ", "   ")) for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_what_the_command_does_and_its_options(home: Home, name: str) -> None:
    text = call(name, "--help").stdout
    assert text.startswith(f"Usage: prowess {name}")
    assert f"prowess {name}" in text.partition("\n\n")[2] or f"prowess --config ./prowess.toml {name}" in text
    assert "-h, --help" in text


def test_general_help_lists_every_command_and_an_example(home: Home) -> None:
    text = call("--help").stdout
    assert all(f"  {name} " in text for name in COMMANDS)
    assert "Examples: 'prowess list'" in text
    assert call("-h").stdout == text
