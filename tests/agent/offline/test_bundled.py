"""The bundled skills, worked by the offline model over real sessions, with every set of tools."""

import json
from collections.abc import Iterator

import pytest

from tests.agent.offline.playing import BUNDLED, PROFILES, SessionPlayer, open_profile
from tests.skills_on_disk import Home

NAME = "skills-system-validation"
WHOLE = f"/{NAME} run the whole procedure"
PATHS = (
    "references/REFERENCE.md",
    "assets/fixture.json",
    "references/NO-SUCH-FILE.md",
    "../skill-creator/SKILL.md",
    "references/../../skill-creator/SKILL.md",
    "/etc/hostname",
    r"..\skill-creator\SKILL.md",
    "references/REFERENCE.md/../../../skill-creator/SKILL.md",
    "",
    ".",
)
BODY, REFERENCE, ASSET, SCRIPT = (
    f"PROWESS_VALIDATION_{rest}" for rest in ("BODY_4D1F", "REFERENCE_7B2E", "ASSET_C093", "SCRIPT_55A8")
)
REFUSALS = """\
Refused or not found (8):

- `references/NO-SUCH-FILE.md`: resource not found
- `../skill-creator/SKILL.md`: Path traversal is not allowed
- `references/../../skill-creator/SKILL.md`: Path traversal is not allowed
- `/etc/hostname`: Absolute paths are not allowed
- `..\\skill-creator\\SKILL.md`: Path traversal is not allowed
- `references/REFERENCE.md/../../../skill-creator/SKILL.md`: Path traversal is not allowed
- an empty path: Missing resource path.
- `.`: Invalid resource path.
"""


@pytest.fixture
def player(home: Home, request: pytest.FixtureRequest) -> Iterator[SessionPlayer]:
    """Talks with the model under a profile, the standard one if the test names none."""
    with open_profile(getattr(request, "param", "standard")) as runtime:
        yield SessionPlayer(runtime.session("chat"))


def _under(*profiles: str) -> pytest.MarkDecorator:
    marks = {"python": pytest.mark.slow}  # It starts a process for the interpreter.
    rows = [pytest.param(profile, marks=marks.get(profile, ())) for profile in profiles]
    return pytest.mark.parametrize("player", rows, indirect=True)


def _quoted(text: str) -> list[str]:
    return [line[2:].removesuffix("  ") for line in text.split("\n") if line.startswith("> ")]


def _read(path: str) -> tuple[str, object]:
    return "read_skill_resource", {"name": NAME, "path": path}


def _run(*arguments: str) -> tuple[str, object]:
    return "run_skill_script", {"name": NAME, "script": "scripts/echo.sh", "arguments": list(arguments)}


# The conformance skill


@pytest.mark.slow
@pytest.mark.requirement("R109")
def test_whole_procedure_reads_asks_runs_and_quotes_every_marker(player: SessionPlayer) -> None:
    played = player.say(WHOLE)
    *reads, (tool, run) = played.calls
    assert reads == [_read(path) for path in PATHS]
    assert (tool, run) == _run(run["arguments"][0], "two words")
    assert [marker for marker in (BODY, REFERENCE, ASSET, SCRIPT) if f"{marker}" not in played.text] == []
    assert REFUSALS in played.text
    assert _quoted(played.text)[-3:] == ["ARGUMENTS: 2", f"ARGUMENT: {run['arguments'][0]}", "ARGUMENT: two words"]


@pytest.mark.requirement("R109", "R70")
@_under("python")
def test_whole_procedure_is_worked_in_python_as_well(player: SessionPlayer) -> None:
    played = player.say(WHOLE)
    *reads, (_, run) = played.calls
    assert reads == [("run_python", f"print(read_resource(name={NAME!r}, path={path!r}))") for path in PATHS]
    assert run.startswith(f"print(run_script(name={NAME!r}, script='scripts/echo.sh', arguments=[")
    assert [marker for marker in (BODY, REFERENCE, ASSET, SCRIPT) if marker not in played.text] == []
    assert REFUSALS in played.text


@pytest.mark.requirement("R109")
@_under("remcochat")
def test_without_a_tool_for_scripts_the_rest_is_done_and_that_is_told(player: SessionPlayer) -> None:
    played = player.say(WHOLE)
    assert played.calls == tuple(("skills.readResource", {"name": NAME, "path": path}) for path in PATHS)
    assert [marker for marker in (BODY, REFERENCE, ASSET) if marker not in played.text] == []
    assert REFUSALS in played.text
    assert "Not run, since no tool here runs scripts: `scripts/echo.sh`." in played.text


@pytest.mark.parametrize(
    ("player", "tool"), [("daycare", "skill"), ("workspace", "activateSkill")], indirect=["player"]
)
def test_where_skills_can_only_be_activated_the_instructions_are_quoted(player: SessionPlayer, tool: str) -> None:
    played = player.say(f"Use {NAME} and run the whole procedure")
    assert played.calls == ((tool, {"name": NAME}),)
    assert f"> MARKER: {BODY}" in played.text
    assert "Not read, since no tool here reads files of skills: `references/REFERENCE.md`, " in played.text
    assert "Not run, since no tool here runs scripts: `scripts/echo.sh`." in played.text


@_under("agent-base")
def test_without_any_tool_it_says_what_it_cannot_do(player: SessionPlayer) -> None:
    played = player.say("How do I build this project?")
    assert played.calls == ()
    assert "**Skill `repo-survey`**: its description fits your message (build, project)." in played.text
    assert "No tool here activates skills, so its instructions are not at hand." in played.text


@pytest.mark.slow
@pytest.mark.requirement("R109")
@pytest.mark.parametrize(
    "message",
    [
        f"/{NAME} run scripts/echo.sh with 'plum' and 'two words'",
        f'/{NAME} please execute echo.sh with "plum" and "two words".',
        f"/{NAME} run scripts/echo.sh -- plum 'two words'",
        f"/{NAME} Run `scripts/echo.sh plum 'two words'`, nothing else.",
    ],
)
def test_arguments_of_the_user_are_those_of_the_script(player: SessionPlayer, message: str) -> None:
    played = player.say(message)
    assert played.calls == (_run("plum", "two words"),)
    assert "Script `scripts/echo.sh` with `plum`, `two words`: exit status 0.\n" in played.text
    printed = [f"MARKER: {SCRIPT}", "ARGUMENTS: 2", "ARGUMENT: plum", "ARGUMENT: two words"]
    assert _quoted(played.text)[-4:] == printed


def test_steps_that_the_user_names_are_the_only_ones(player: SessionPlayer) -> None:
    assert player.say(f"/{NAME} only 1 to 3").calls == tuple(map(_read, PATHS[:3]))
    assert player.say("Now do step 4.").calls == tuple(map(_read, PATHS[3:]))


@pytest.mark.slow
def test_skill_that_is_active_is_not_activated_again(player: SessionPlayer) -> None:
    player.say(f"/{NAME} only steps 1 to 2")
    assert player.say("Now run scripts/echo.sh with 'plum'.").calls == (_run("plum"),)
    assert player.say(f"/{NAME} run scripts/echo.sh with 'fig'").calls == (_run("fig"),)
    assert player.say(f"Show me the marker line of REFERENCE.md in {NAME}").calls == (_read(PATHS[0]),)


# The others


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("How do I build this project?", "repo-survey"),
        ("Where should I begin in this codebase?", "repo-survey"),
        ("Remind me tomorrow at nine", "scheduling"),
        ("I want a cron rule for every weekday", "scheduling"),
        ("The export crashes for some users", "test-first-fix"),
        ("There is a regression in login", "test-first-fix"),
        ("Change the config but don't break anything", "safe-edit"),
        ("Why is my SKILL.md invalid?", "skill-creator"),
        ("Turn my notes into a skill", "skill-creator"),
        ("Verify the skill support after the upgrade, but do not run scripts", NAME),
    ],
)
@_under("standard", "workspace", "remcochat")
def test_message_in_plain_words_finds_its_skill(player: SessionPlayer, message: str, name: str) -> None:
    played = player.say(message)
    activations = [call for tool, call in played.calls if "ctivate" in tool]
    assert activations == [{"name": name}]
    assert f"**Skill `{name}`**: " in played.text


_FOR_NO_SKILL = (
    *("Hello!", "hi, how are you today?", "Thank you, that was great", "What is the capital of France?", "2+2", "?"),
    *("Tell me a joke about cats", "Write a poem about the sea", "order a pizza", "who are you", "What can you do?"),
)


@_under(*(profile for profile in PROFILES if profile != "agent-base"))
def test_what_no_skill_is_for_activates_none(player: SessionPlayer) -> None:
    for message in _FOR_NO_SKILL:
        played = player.say(message)
        assert [call for call in played.calls if "search" not in str(call)] == []
        assert "so none was activated." in played.text
        assert "\n- `/" in played.text
        assert "To use one, begin your message with its name, as in `/" in played.text


def test_files_that_instructions_point_to_are_read_and_quoted(player: SessionPlayer) -> None:
    played = player.say("/skill-creator Why is a description with a colon invalid?")
    assert [call["path"] for _, call in played.calls] == ["references/writing-descriptions.md", "references/format.md"]
    sources = [(BUNDLED / "skill-creator" / path).read_text("utf-8") for path in ("SKILL.md", *_CREATOR)]
    quoted = _quoted(played.text)
    assert len(quoted) > 8
    assert [line for line in quoted if not any(line in source for source in sources)] == []


_CREATOR = ("references/writing-descriptions.md", "references/format.md")


def test_script_is_not_run_unless_it_is_asked_for(player: SessionPlayer) -> None:
    for message in (
        "/repo-survey What is this for?",
        "What does scripts/survey.py do?",
        "Do not run scripts/survey.py",
    ):
        assert [call for call in player.say(message).calls if call[0] == "run_skill_script"] == []


def test_script_is_read_where_it_is_to_be_shown(player: SessionPlayer) -> None:
    player.say("/repo-survey What is this for?")
    played = player.say("Show me scripts/survey.py")
    assert played.calls == (("read_skill_resource", {"name": "repo-survey", "path": "scripts/survey.py"}),)


@pytest.mark.slow
def test_arguments_stand_in_for_placeholders_only_if_the_user_gives_them(player: SessionPlayer) -> None:
    (_, bare), *_ = player.say("/repo-survey Run scripts/survey.py").calls
    assert bare == {"name": "repo-survey", "script": "scripts/survey.py"}
    played = player.say("Run scripts/survey.py -- . --format json")
    ((_, given),) = played.calls
    assert given == {**bare, "arguments": [".", "--format", "json"]}
    assert "Script `scripts/survey.py` with `.`, `--format`, `json`: exit status 0." in played.text


@pytest.mark.slow
def test_failing_script_is_told_with_its_exit_status(player: SessionPlayer) -> None:
    played = player.say("/scheduling Run scripts/next_dates.py -- nonsense --zone UTC")
    assert "Script `scripts/next_dates.py` with `nonsense`, `--zone`, `UTC`: exit status 2.\n" in played.text
    assert json.dumps(played.calls[-1][1]["arguments"]) == '["nonsense", "--zone", "UTC"]'
