"""`prowess activate`: the instructions as a model gets them, once in a session, with a receipt."""

import re
from pathlib import Path

import pytest

from prowess.errors import SettingsError, ToolInputError
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run, run_on_terminal

_KEYS = [
    "name",
    "id",
    "digest",
    "base_directory",
    "instructions",
    "folder_structure",
    "frontmatter",
    "truncated",
    "already_active",
    "receipt",
]


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    write_skill(
        folder,
        "notes",
        extra="license: MIT\n",
        body="# Notes\n\nAbout $ARGUMENTS, first $1.\n",
        files={"references/style.md": "Be brief.\n", "scripts/go.sh": "#!/bin/sh\n"},
    )
    return folder


def _call(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "activate", *arguments)


# What it answers


@pytest.mark.requirement("K6")
def test_json_has_the_whole_activation_and_its_receipt(root: Path) -> None:
    outcome = _call(root, "notes", "--session", "monday", "--json", "--", "v1.2", "two words")
    found = outcome.json
    assert (outcome.status, outcome.stderr, list(found)) == (0, "", _KEYS)
    receipt = found.pop("receipt")
    digest = call("--skills", str(root), "show", "notes", "--json").json["digest"]
    assert found == {
        "name": "notes",
        "id": "project:notes",
        "digest": digest,
        "base_directory": "/shared/skills/project--notes",
        "instructions": "# Notes\n\nAbout v1.2 'two words', first v1.2.",
        "folder_structure": "SKILL.md\nreferences/\n  style.md\nscripts/\n  go.sh",
        "frontmatter": {
            "name": "notes",
            "description": "Does a thing. Use when the thing is asked for.",
            "license": "MIT",
        },
        "truncated": False,
        "already_active": False,
    }
    assert re.fullmatch(r"[0-9a-f]{32}", receipt.pop("id"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", receipt.pop("at"))
    assert receipt.pop("tokens") > 0
    assert receipt == {
        "user": "local",
        "session": "monday",
        "skill": "project:notes",
        "name": "notes",
        "digest": digest,
        "asked_by": "user",
        "agent": "",
        "trigger": "",
        "arguments": "v1.2 'two words'",
        "consent": "trusted",
        "size_bytes": (root / "notes" / "SKILL.md").stat().st_size,
        "in_context": True,
        "ended_at": None,
    }


@pytest.mark.requirement("J8", "R62")
def test_text_is_what_a_model_reads(root: Path) -> None:
    outcome = _call(root, "notes", "--", "v1.2")
    assert outcome.stderr == ""
    assert outcome.stdout == (
        '<skill_content name="notes">\n'
        "Base directory for this skill: /shared/skills/project--notes\n"
        "Skill name: notes\n"
        "\n"
        "# Notes\n"
        "\n"
        "About v1.2, first v1.2.\n"
        "\n"
        "<skill_resources>\n"
        "references/style.md\n"
        "scripts/go.sh\n"
        "</skill_resources>\n"
        "</skill_content>\n"
    )


@pytest.mark.slow
def test_instructions_are_not_altered_where_a_program_reads(root: Path) -> None:
    write_skill(root, "make", body="all:\n\tcc x.c\n\n技能 \x1b[31m\n")
    assert "\n\tcc x.c\n\n技能 " in run("--skills", str(root), "activate", "make").stdout
    shown = run_on_terminal(["--skills", str(root), "activate", "make"]).stdout
    assert "\r\n        cc x.c\r\n" in shown
    assert "\x1b[31m" not in shown


def test_skill_may_be_named_by_its_id(root: Path) -> None:
    assert _call(root, "project:notes", "--json").json["name"] == "notes"


@pytest.mark.parametrize(
    ("profile", "place"),
    [("standard", "/shared/skills/project--notes"), ("workspace", "private:/.skills/notes"), ("agent-base", None)],
)
def test_base_directory_is_where_the_profile_has_it(root: Path, profile: str, place: str | None) -> None:
    found = call("--skills", str(root), "--profile", profile, "activate", "notes", "--json").json
    assert found["base_directory"] == place


@pytest.mark.requirement("R104")
def test_long_instructions_are_cut_and_say_so(home: Home, root: Path) -> None:
    home.write_settings("[limits]\nmax_skill_md_bytes = 120\n")
    size = (root / "notes" / "SKILL.md").write_bytes((root / "notes" / "SKILL.md").read_bytes() + b"x" * 500)
    found = _call(root, "notes", "--json").json
    assert found["truncated"] is True
    assert found["instructions"].endswith(f"[Cut: the first 120 of {size} bytes of SKILL.md are shown.]")
    outcome = _call(root, "notes")
    assert "[Cut: the first 120" in outcome.stdout
    assert outcome.stderr == "The instructions were cut; see limits.max_skill_md_bytes in the settings.\n"


# Sessions


@pytest.mark.requirement("J9", "K6", "R120")
def test_second_activation_in_a_session_is_a_short_note(root: Path) -> None:
    first = _call(root, "notes", "--session", "monday", "--json").json
    again = _call(root, "notes", "--session", "monday", "--json").json
    assert (first["already_active"], again["already_active"]) == (False, True)
    assert again["receipt"] == first["receipt"]
    note = "Skill notes is already active. Its instructions stand above in this conversation."
    assert (list(again), again["instructions"]) == (_KEYS, note)
    assert _call(root, "notes", "--session", "monday").stdout == f"{note}\n"


@pytest.mark.slow
@pytest.mark.requirement("J9", "R92")
def test_other_process_sees_the_session(root: Path) -> None:
    for already in (False, True):
        outcome = run("--skills", str(root), "--json", "activate", "notes", "--session", "monday")
        assert (outcome.status, outcome.stderr, outcome.json["already_active"]) == (0, "", already)


@pytest.mark.requirement("J9", "R73")
@pytest.mark.parametrize("profile", ["standard", "daycare"])
def test_other_process_is_told_where_the_skill_lies_too(root: Path, profile: str) -> None:
    arguments = ("--profile", profile, "--skills", str(root), "activate", "notes", "--session", "s", "--json")
    first, second = (call(*arguments).json for _ in range(2))
    assert first["base_directory"] == second["base_directory"]
    assert first["base_directory"]


@pytest.mark.requirement("J9")
def test_other_session_and_no_session_get_the_instructions(root: Path) -> None:
    for arguments in (["--session", "monday"], ["--session", "tuesday"], [], []):
        assert _call(root, "notes", *arguments, "--json").json["already_active"] is False


@pytest.mark.requirement("J9", "K6")
@pytest.mark.parametrize("change", ["the file", "the arguments", "the end of the session"])
def test_instructions_come_again_after(root: Path, change: str) -> None:
    first = _call(root, "notes", "--session", "monday", "--json", "--", "a").json
    arguments = "a"
    if change == "the file":
        (root / "notes" / "references" / "style.md").write_text("Be long.\n")
    elif change == "the arguments":
        arguments = "b"
    else:
        call("--skills", str(root), "sessions", "--end", "monday")
    again = _call(root, "notes", "--session", "monday", "--json", "--", arguments).json
    assert again["already_active"] is False
    assert again["receipt"]["id"] != first["receipt"]["id"]
    assert again["instructions"] == f"# Notes\n\nAbout {arguments}, first {arguments}."


# Who may


@pytest.mark.requirement("R37")
def test_skill_for_people_only_can_be_activated_by_one(root: Path) -> None:
    call("--skills", str(root), "disable", "notes", "--to", "user-only")
    assert _call(root, "notes", "--json").json["receipt"]["asked_by"] == "user"


@pytest.mark.requirement("R38", "R39")
def test_agent_gets_only_what_is_on_its_list(home: Home, root: Path) -> None:
    write_skill(root, "other")
    home.write_settings('[agents.one]\nskills = ["other"]\n')
    assert _call(root, "other", "--agent", "one", "--json").json["receipt"]["agent"] == "one"
    with pytest.raises(ToolInputError, match="Unknown or unavailable skill: notes"):
        _call(root, "notes", "--agent", "one")


def test_agent_that_nobody_knows_is_noted(root: Path) -> None:
    outcome = _call(root, "notes", "--agent", "nobody", "--json")
    assert (outcome.status, outcome.json["receipt"]["agent"]) == (0, "nobody")
    assert outcome.stderr == "the settings know no agent 'nobody'; it has no list of skills\n"


@pytest.mark.requirement("K7", "R59")
@pytest.mark.parametrize("command", [["activate"], ["read"]])
def test_skill_that_is_there_but_hidden_is_refused_with_the_way_to_the_reason(root: Path, command: list[str]) -> None:
    call("--skills", str(root), "disable", "notes")
    file = ["SKILL.md"] if command == ["read"] else []
    with pytest.raises(ToolInputError) as caught:
        call("--skills", str(root), *command, "notes", *file)
    assert (caught.value.code, caught.value.hint) == ("unknown-skill", "`prowess why notes` says why")


@pytest.mark.requirement("K7", "R59")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("note", "did you mean 'notes'? `prowess why note` says why"),
        ("a b; c", "`prowess list` shows all skills; `prowess why 'a b; c'` says why"),
    ],
)
def test_unknown_name_is_refused_with_what_was_meant_and_the_way_to_the_reason(
    root: Path, name: str, hint: str
) -> None:
    with pytest.raises(ToolInputError) as caught:
        _call(root, name)
    assert (caught.value.code, caught.value.hint) == ("unknown-skill", hint)


@pytest.mark.parametrize("session", ["", " ", "a\nb", "x" * 201])
def test_session_must_have_a_name_that_can_be_printed(root: Path, session: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _call(root, "notes", "--session", session)
    assert caught.value.code == "bad-session"
