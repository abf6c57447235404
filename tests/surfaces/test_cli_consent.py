"""Consent at the command line: who is asked, what is shown, and what becomes of each answer."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import Refused
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, Outcome, call, run, run_on_terminal
from tests.surfaces.terminal_talk import Talk

pytestmark = pytest.mark.slow  # Nearly every test starts a process.

_NAME = "release-notes"


@pytest.fixture
def folder(home: Home) -> Path:
    """A skill of the user's own, in a source that nobody vouches for."""
    return write_skill(
        home.path / ".agents" / "skills",
        _NAME,
        description="Writes release notes.",
        body="Write notes for $ARGUMENTS.\n",
        files={"scripts/collect.sh": "#!/bin/sh\n", "references/style.md": "Be brief.\n"},
    )


def _refusal(*arguments: str) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value


def _grants() -> list[dict[str, Any]]:
    return call("grants", "--json").json["grants"]


def _remembered() -> tuple[int, int, int]:
    """Return how many grants, sessions and used skills there are."""
    sessions, usage = call("sessions", "--json").json["sessions"], call("usage", "--json").json["skills"]
    return len(_grants()), len(sessions), len(usage)


# Who is not asked


@pytest.mark.requirement("K1")
def test_skill_in_a_folder_that_was_named_never_asks(home: Home) -> None:
    write_skill(home.project / "skills", "mine", files={"a.txt": "x"})
    activated = call("--skills", "skills", "activate", "mine", "--json").json
    assert (activated["already_active"], activated["receipt"]["consent"]) == (False, "trusted")
    assert call("--skills", "skills", "read", "mine", "a.txt").stdout == "x"
    assert _grants() == []


@pytest.mark.requirement("K1")
def test_bundled_skill_never_asks(home: Home) -> None:
    assert call("activate", "safe-edit", "--json").json["receipt"]["consent"] == "trusted"


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("profile", ["daycare", "workspace"])
def test_profile_decides_whether_a_person_is_asked(home: Home, folder: Path, profile: str) -> None:
    """Daycare asks nobody, the workspace at the first activation in each session."""
    write_skill(home.project / "skills", _NAME)
    if profile == "daycare":
        assert call("--profile", profile, "activate", _NAME, "--json").json["receipt"]["consent"] == "not-asked"
    else:
        assert _refusal("--profile", profile, "activate", _NAME).code == "consent-needed"


# Nobody is there


@pytest.mark.slow
@pytest.mark.requirement("K1")
@pytest.mark.parametrize("arguments", [["activate", _NAME], ["read", _NAME, "SKILL.md"]], ids=lambda words: words[0])
@pytest.mark.parametrize("options", [["--json"], []], ids=["json", "text"])
def test_without_a_terminal_a_skill_of_the_user_is_refused(
    folder: Path, options: list[str], arguments: list[str]
) -> None:
    outcome = run(*options, *arguments, piped="a\na\n")
    assert outcome.status == 1
    message = f"skill '{_NAME}' needs the user's consent, and nobody is there to give it"
    hint = f"`prowess grants --allow {_NAME}` gives it, or --yes for one call"
    assert outcome.stderr == f"error: {message}\nhint: {hint}\n"
    if options:
        assert outcome.json == {"error": {"code": "consent-needed", "message": message, "hint": hint}}
    else:
        assert outcome.stdout == ""
    assert _remembered() == (0, 0, 0)


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("name", ["two words", "x; touch pasted", "$(touch pasted)"])
def test_command_that_a_hint_names_is_for_the_skill_whatever_it_is_called(home: Home, name: str) -> None:
    write_skill(home.path / ".agents" / "skills", name, extra="")
    hint = _refusal("activate", name).hint
    command = hint.removeprefix("`").partition("`")[0]
    assert command.startswith("prowess grants --allow ")
    pasted = command.replace("prowess", PROWESS, 1)
    subprocess.run(["sh", "-c", pasted], cwd=home.project, capture_output=True, check=True)
    assert [grant["name"] for grant in _grants()] == [name]
    assert not (home.project / "pasted").exists()
    assert call("activate", name).status == 0


@pytest.mark.requirement("K1")
def test_closed_standard_input_is_nobody_too(folder: Path) -> None:
    done = subprocess.run(["sh", "-c", f"{PROWESS} activate {_NAME} <&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: skill '{_NAME}' needs the user's consent")


@pytest.mark.requirement("K1")
def test_json_never_asks_even_on_a_terminal(folder: Path) -> None:
    outcome = run_on_terminal(["activate", _NAME, "--json"], typed="a\n")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "consent-needed")
    assert "Allow" not in outcome.stderr


@pytest.mark.requirement("K1")
def test_yes_allows_one_call_and_nothing_is_remembered(folder: Path) -> None:
    assert call("activate", _NAME, "--yes", "--json").json["receipt"]["consent"] == "once"
    assert call("read", _NAME, "references/style.md", "--yes").stdout == "Be brief.\n"
    assert _grants() == []
    assert _refusal("activate", _NAME).code == "consent-needed"
    assert _refusal("read", _NAME, "references/style.md").code == "consent-needed"


# Decided before


@pytest.mark.slow
@pytest.mark.requirement("K1")
def test_consent_given_before_lets_later_processes_through(folder: Path) -> None:
    assert run("grants", "--allow", _NAME).status == 0
    activated = run("activate", _NAME, "--json")
    assert (activated.status, activated.json["receipt"]["consent"]) == (0, "always")
    assert run("read", _NAME, "references/style.md").stdout == "Be brief.\n"


def _edit(folder: Path) -> None:
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "More.\n")


def _edit_a_script(folder: Path) -> None:
    (folder / "scripts" / "collect.sh").write_text("#!/bin/sh\nrm -rf /\n")


def _add_a_file(folder: Path) -> None:
    (folder / "extra.txt").write_text("")


def _remove_a_file(folder: Path) -> None:
    (folder / "references" / "style.md").unlink()


def _make_executable(folder: Path) -> None:
    (folder / "references" / "style.md").chmod(0o755)


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("change", [_edit, _edit_a_script, _add_a_file, _remove_a_file, _make_executable])
def test_changed_skill_asks_again(folder: Path, change: Callable[[Path], None]) -> None:
    call("grants", "--allow", _NAME)
    call("activate", _NAME)
    change(folder)
    assert [row["current"] for row in _grants()] == [False]
    assert _refusal("activate", _NAME).code == "consent-needed"
    assert _refusal("read", _NAME, "SKILL.md").code == "consent-needed"


@pytest.mark.requirement("K1", "K7")
def test_refusal_and_reason_say_what_has_changed_since_the_consent(folder: Path) -> None:
    call("grants", "--allow", _NAME)
    _edit(folder)
    (folder / "new.md").write_text("x")
    told = "; it has changed since the user agreed to it: SKILL.md changed, new.md added"
    message = f"skill '{_NAME}' needs the user's consent, and nobody is there to give it{told}"
    assert _refusal("activate", _NAME).message == message
    reasons = call("why", _NAME, "--json").json["reasons"]
    (reason,) = [one["message"] for one in reasons if one["code"] == "consent-needed"]
    assert reason == f"nobody has agreed to it as it is now, so its activation asks{told}"
    for number in range(7):
        (folder / f"more-{number}.md").write_text("x")
    assert _refusal("activate", _NAME).message.endswith("more-0.md added, more-1.md added, 6 more files")


@pytest.mark.requirement("K1")
def test_skill_that_is_as_it_was_needs_no_new_consent(folder: Path) -> None:
    call("grants", "--allow", _NAME)
    _add_a_file(folder)
    assert _refusal("activate", _NAME).code == "consent-needed"
    (folder / "extra.txt").unlink()
    assert call("activate", _NAME, "--json").json["receipt"]["consent"] == "always"


@pytest.mark.requirement("K1")
def test_refusal_sticks_even_against_yes(folder: Path) -> None:
    call("grants", "--refuse", _NAME)
    for arguments in (["activate", _NAME], ["activate", _NAME, "--yes"], ["read", _NAME, "SKILL.md", "--yes"]):
        refused = _refusal(*arguments)
        assert (refused.code, refused.message) == ("refused", f"the user refused skill '{_NAME}'")
        assert f"prowess grants --revoke {_NAME}" in refused.hint


@pytest.mark.requirement("K1")
def test_refusal_is_for_the_files_that_were_refused(folder: Path) -> None:
    call("grants", "--refuse", _NAME)
    _edit(folder)
    assert _refusal("activate", _NAME).code == "consent-needed"
    assert call("activate", _NAME, "--yes").status == 0


@pytest.mark.requirement("K1")
def test_later_decision_replaces_the_earlier_one(folder: Path) -> None:
    for option, decision in (("--refuse", "refuse"), ("--allow", "allow"), ("--refuse", "refuse")):
        call("grants", option, _NAME)
        assert [row["decision"] for row in _grants()] == [decision]


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("decision", ["--allow", "--refuse"])
@pytest.mark.parametrize("arguments", [["--revoke", _NAME], ["--revoke", f"agents:{_NAME}"], ["--revoke-all"]])
def test_revoking_takes_a_decision_back(folder: Path, decision: str, arguments: list[str]) -> None:
    call("grants", decision, _NAME)
    assert call("grants", *arguments, "--json").json == {"revoked": 1}
    assert _grants() == []
    assert _refusal("activate", _NAME).code == "consent-needed"


@pytest.mark.requirement("K1")
def test_consent_for_one_session_counts_there_only(folder: Path) -> None:
    call("grants", "--allow", _NAME, "--session", "monday")
    assert call("activate", _NAME, "--session", "monday", "--json").json["receipt"]["consent"] == "session"
    assert _refusal("activate", _NAME, "--session", "tuesday").code == "consent-needed"
    assert _refusal("activate", _NAME).code == "consent-needed"
    call("sessions", "--end", "monday")
    assert _refusal("activate", _NAME, "--session", "monday").code == "consent-needed"


@pytest.mark.requirement("J9")
def test_files_of_an_active_skill_are_read_without_asking_again(folder: Path) -> None:
    call("activate", _NAME, "--yes", "--session", "monday")
    assert call("read", _NAME, "references/style.md", "--session", "monday").stdout == "Be brief.\n"
    assert _refusal("read", _NAME, "references/style.md", "--session", "tuesday").code == "consent-needed"
    _edit_a_script(folder)
    assert _refusal("read", _NAME, "references/style.md", "--session", "monday").code == "consent-needed"


@pytest.mark.requirement("K1")
def test_skill_with_files_that_cannot_all_be_read_cannot_be_agreed_to(folder: Path) -> None:
    (folder / "out").symlink_to("/etc/hostname")
    for arguments in (["activate", _NAME], ["activate", _NAME, "--yes"], ["grants", "--allow", _NAME]):
        assert _refusal(*arguments).code == "no-digest"
    assert _grants() == []


# Somebody is there


def _ask(*arguments: str, typed: str) -> Outcome:
    outcome = run_on_terminal(list(arguments), streams="stderr", typed=typed)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", outcome.stderr).replace("\r\n", "\n")
    return Outcome(outcome.status, outcome.stdout, plain)


@pytest.mark.requirement("K1")
def test_question_shows_what_there_is_to_agree_to(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text().replace("\n---\n", "\nallowed-tools: Bash(git:*) Read\n---\n", 1)
    (folder / "SKILL.md").write_text(text)
    digest = call("show", _NAME, "--json").json["digest"]
    outcome = _ask("activate", _NAME, typed="o\n")
    assert outcome.status == 0
    assert outcome.stderr == (
        f'Activate skill "{_NAME}"?\n'
        "  Writes release notes.\n"
        f"  from agents: agents:{_NAME}, digest {digest[:12]}\n"
        "  a yes gives its instructions to the model, which may then read its files;"
        " to run its scripts is another question\n"
        "  wants these tools: Bash(git:*) Read\n"
        "  its files:\n"
        f"    {len(text):>9}  SKILL.md\n"
        "               references/\n"
        "           10    style.md\n"
        "               scripts/\n"
        "           10    collect.sh  (executable)\n"
        f"  `prowess show agents:{_NAME}` shows all of it, and where it lies\n"
        "Allow [o]nce, for this [s]ession, [a]lways; [n]ot now, or [r]efuse for good? "
    )


@pytest.mark.requirement("K1")
def test_question_stays_off_standard_output(folder: Path) -> None:
    asked = _ask("activate", _NAME, typed="o\n")
    assert asked.stdout == call("activate", _NAME, "--yes").stdout
    assert asked.stdout.startswith(f'<skill_content name="{_NAME}">\n')


@pytest.mark.requirement("K1")
def test_question_after_a_change_shows_what_changed(folder: Path) -> None:
    call("grants", "--allow", _NAME)
    former = _grants()[0]["digest"]
    _edit_a_script(folder)
    _add_a_file(folder)
    _remove_a_file(folder)
    shown = _ask("activate", _NAME, typed="a\n").stderr.splitlines()
    assert f"  changed since you agreed to {former[:12]}:" in shown
    start = shown.index(f"  changed since you agreed to {former[:12]}:")
    assert shown[start + 1 : start + 4] == [
        "    + extra.txt",
        "    - references/style.md",
        "    ~ scripts/collect.sh",
    ]
    assert "  its files:" not in shown
    assert [row["current"] for row in _grants()] == [True, False]


@pytest.mark.requirement("K1")
def test_question_after_a_change_shows_the_difference_of_texts(folder: Path) -> None:
    call("grants", "--allow", _NAME)
    call("activate", _NAME, "--session", "monday")  # So the version that was agreed to is kept.
    _edit_a_script(folder)
    _add_a_file(folder)
    (folder / "new.md").write_text("First.\nSecond.\n")
    shown = _ask("activate", _NAME, "--session", "monday", typed="n\n").stderr
    assert (
        "    + extra.txt\n    + new.md\n    ~ scripts/collect.sh\n"
        "  in extra.txt:\n    an empty file\n"
        "  in new.md:\n    @@ -0,0 +1,2 @@\n    +First.\n    +Second.\n"
        "  in scripts/collect.sh:\n    @@ -1 +1,2 @@\n     #!/bin/sh\n    +rm -rf /\n"
        f"  `prowess show agents:{_NAME}` shows all of it, and where it lies\n"
    ) in shown
    assert "  all its files now:\n" in shown
    assert "            0  extra.txt\n" in shown


@pytest.mark.requirement("K1")
def test_question_says_what_it_cannot_compare(folder: Path) -> None:
    call("grants", "--allow", _NAME)  # The skill was never used, so no version of it is kept.
    _edit_a_script(folder)
    (folder / "picture.png").write_bytes(b"\0" * 10)
    shown = _ask("activate", _NAME, typed="n\n").stderr
    why = "no text, too long, or what you agreed to is not kept any more"
    assert f"  not compared: picture.png, scripts/collect.sh ({why})\n" in shown
    assert "rm -rf" not in shown


@pytest.mark.requirement("K1")
def test_question_after_a_change_of_mode_says_so(folder: Path) -> None:
    call("grants", "--allow", _NAME)
    call("activate", _NAME, "--session", "monday")
    _make_executable(folder)
    shown = _ask("activate", _NAME, "--session", "monday", typed="n\n").stderr
    assert "  in references/style.md:\n    the same text; whether it is executable has changed\n" in shown


@pytest.mark.requirement("K1")
def test_long_list_of_files_is_cut_and_says_so(folder: Path) -> None:
    for number in range(30):
        (folder / f"file-{number:02}").write_text("")
    shown = _ask("activate", _NAME, typed="o\n").stderr
    assert shown.count("file-") == 19  # SKILL.md comes first.
    assert "    … and 13 more\n" in shown


@pytest.mark.requirement("K1")
def test_skill_cannot_write_to_the_terminal_by_its_question(folder: Path) -> None:
    (folder / "\x1b[2Jall gone\n.txt").write_text("")
    outcome = run_on_terminal(["activate", _NAME], typed="n\n")
    assert "\x1b[2J" not in outcome.stderr
    assert "all gone" in outcome.stderr


_ANSWERS: list[tuple[str, int, list[tuple[str, str, str | None, str]]]] = [
    ("o", 0, []),
    ("s", 0, [("allow", "session", "monday", "terminal")]),
    ("a", 0, [("allow", "always", None, "terminal")]),
    ("n", 1, []),
    ("r", 1, [("refuse", "always", None, "terminal")]),
]


@pytest.mark.slow
@pytest.mark.requirement("K1")
@pytest.mark.parametrize(("letter", "status", "kept"), _ANSWERS, ids=[row[0] for row in _ANSWERS])
def test_each_answer_does_what_it_says(
    folder: Path, letter: str, status: int, kept: list[tuple[str, str, str | None, str]]
) -> None:
    outcome = _ask("activate", _NAME, "--session", "monday", typed=f"{letter}\n")
    assert outcome.status == status
    assert bool(outcome.stdout) == (status == 0)
    assert [(row["decision"], row["scope"], row["session"], row["given_by"]) for row in _grants()] == kept
    active = [session["active"] for session in call("sessions", "--json").json["sessions"]]
    assert active == ([[_NAME]] if status == 0 else [])
    if letter == "a":
        assert call("activate", _NAME, "--session", "tuesday").status == 0
    else:
        refused = _refusal("activate", _NAME, "--session", "tuesday")
        assert refused.code == ("refused" if letter == "r" else "consent-needed")
    if letter in "nr":
        assert f"error: the user refused skill '{_NAME}'" in outcome.stderr


@pytest.mark.requirement("K1")
def test_not_now_is_asked_again_and_never_is_not(folder: Path) -> None:
    for letter in ("n", "r"):
        assert "Activate skill" in _ask("activate", _NAME, typed=f"{letter}\n").stderr
    assert "Activate skill" not in _ask("activate", _NAME, typed="a\n").stderr


def test_capital_letter_will_do_and_another_one_is_asked_about_again(folder: Path) -> None:
    outcome = _ask("activate", _NAME, typed="maybe\n\nA\n")
    assert outcome.status == 0
    assert outcome.stderr.count("Allow [o]nce") == 3
    assert [row["scope"] for row in _grants()] == ["always"]


def test_question_without_an_answer_changes_nothing(folder: Path) -> None:
    outcome = _ask("activate", _NAME, typed="")
    assert (outcome.status, outcome.stdout) == (130, "")
    assert "Traceback" not in outcome.stderr
    assert _remembered() == (0, 0, 0)


@pytest.mark.requirement("K1")
def test_reading_a_file_asks_as_well(folder: Path) -> None:
    outcome = _ask("read", _NAME, "references/style.md", typed="a\n")
    assert (outcome.status, outcome.stdout) == (0, "Be brief.\n")
    assert call("read", _NAME, "references/style.md").stdout == "Be brief.\n"


@pytest.mark.requirement("K1")
def test_answer_counts_for_the_files_that_were_shown(folder: Path) -> None:
    """The skill is changed while the person still thinks about it."""
    keyboard, stdin = os.openpty()
    shown, stderr = os.openpty()
    with subprocess.Popen([PROWESS, "activate", _NAME], stdin=stdin, stderr=stderr, stdout=subprocess.PIPE) as process:
        for handle in (stdin, stderr):
            os.close(handle)
        try:
            _read_question(shown)
            _edit_a_script(folder)
            os.write(keyboard, b"a\n")
            _read_question(shown)
            os.write(keyboard, b"\x04")
            process.communicate(timeout=60)
        finally:
            process.kill()
            for handle in (keyboard, shown):
                os.close(handle)
    assert call("show", _NAME, "--json").json["digest"] not in [row["digest"] for row in _grants()]
    assert _refusal("activate", _NAME).code == "consent-needed"


def _read_question(shown: int) -> None:
    """Read until an answer is awaited."""
    said = b""
    while not said.endswith(b"efuse for good? "):
        said += os.read(shown, 1 << 16)


@pytest.mark.requirement("K1")
def test_what_was_typed_before_the_question_does_not_answer_it(folder: Path) -> None:
    with Talk(["activate", _NAME]) as talk:
        talk.type("a\n")
        talk.expect("or [r]efuse for good? ")
        talk.type("n\n")
        status, _ = talk.leave()
    assert (status, _grants()) == (1, [])
