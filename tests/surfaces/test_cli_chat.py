"""`prowess chat` for scripts: one turn, its events as JSON, and questions that come through a pipe."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.openai_server import ScriptedServer, fail, hang, say
from tests.agent.openai_server import call as tool_call
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, Outcome, call, run, run_on_terminal
from tests.surfaces.terminal_talk import Talk

pytestmark = pytest.mark.slow  # Nearly every test starts a process.

_OFFLINE = "Offline model: no language model was asked."
_HOSTILE = "\x1b[2J\x1b]0;owned\x07"


@pytest.fixture
def skills(home: Home) -> Path:
    """A folder with a skill that has a script."""
    root = home.project / "skills"
    write_skill(
        root,
        "painting",
        description="Paints walls. Use when a wall is to be painted.",
        body="Run `scripts/paint.sh`.\n",
        files={"scripts/paint.sh": "#!/bin/sh\necho painted\n"},
    )
    return root


def _events(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def _ask_server(home: Home, server: ScriptedServer, *arguments: str, settings: str = "") -> Outcome:
    home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n{settings}')
    return run("--skills", "skills", "chat", *arguments)


# One turn


def test_answer_goes_to_standard_output_and_the_rest_beside_it(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", "--print", "/painting run scripts/paint.sh", "--yes")
    assert outcome.status == 0
    assert outcome.stdout.startswith(f"{_OFFLINE} ")
    assert outcome.stdout.endswith("painted\n")
    assert outcome.stderr.splitlines()[:3] == [
        "⚡ Skill loaded: painting",
        "▸ run_skill_script painting scripts/paint.sh",
        "  allowed this once",
    ]
    assert "tokens in" not in outcome.stderr


def test_message_may_come_through_a_pipe(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", "--print", "-", piped="/painting\n")
    assert (outcome.status, outcome.stdout) == (0, "painting is active. What should be done with it?\n")


def test_one_turn_without_a_session_is_not_kept(home: Home, skills: Path) -> None:
    assert run("--skills", "skills", "chat", "--print", "hello 4d1f").status == 0
    assert call("sessions", "--json").json == {"sessions": []}
    written = b"".join(file.read_bytes() for file in home.prowess.rglob("*") if file.is_file())
    assert b"offline" in written  # The turn is counted.
    assert b"4d1f" not in written


def test_conversation_goes_on_in_another_process(skills: Path) -> None:
    for message in ("/painting", "and now?"):
        assert run("--skills", "skills", "chat", "--session", "monday", "--print", message).status == 0
    (session,) = call("sessions", "--json").json["sessions"]
    assert (session["id"], session["turns"], session["active"]) == ("monday", 2, ["painting"])
    assert run("--skills", "skills", "chat", "--continue", "--print", "more").status == 0
    (session,) = call("sessions", "--json").json["sessions"]
    assert (session["id"], session["turns"]) == ("monday", 3)


def test_consent_is_never_taken_from_a_pipe(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", "--print", "-", piped="/painting run scripts/paint.sh\na\na\n")
    assert outcome.status == 0
    assert "  nobody has answered\n" in outcome.stderr
    assert "Allow" not in outcome.stderr
    assert call("grants", "--json").json == {"grants": []}


@pytest.mark.parametrize("decision", ["--refuse", "--allow"])
def test_skill_that_the_message_calls_for_and_that_is_refused_is_a_no(home: Home, decision: str) -> None:
    write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls.")
    asked = run("chat", "--print", "/painting the wall")
    assert (asked.status, "painting is not active: " in asked.stderr) == (1, True)
    call("grants", decision, "painting")
    expected = 1 if decision == "--refuse" else 0
    assert run("chat", "--print", "/painting the wall").status == expected
    events = run("chat", "--json", "--print", "/painting the wall")
    refused = [event["refused"] for event in _events(events) if event["event"] == "notice"]
    assert (events.status, refused) == (expected, ["painting"] * expected)
    assert _events(events)[-1]["outcome"] == "answered"
    assert run("chat", piped="/painting the wall\nhello\n").status == expected


def test_consent_is_asked_for_on_a_terminal_even_for_one_turn(skills: Path) -> None:
    arguments = ["--skills", "skills", "chat", "--print", "/painting run scripts/paint.sh"]
    outcome = run_on_terminal(arguments, streams="stderr", typed="")
    assert outcome.status == 0
    assert "Allow [o]nce" in outcome.stderr
    assert "> painted" not in outcome.stdout  # The end of input is no answer, so nothing was run.
    outcome = run_on_terminal(arguments, streams="stderr", typed="maybe\nO\n")
    assert outcome.stderr.count("Allow [o]nce") == 2
    assert outcome.stdout.endswith("> painted\n")


@pytest.mark.requirement("K1")
def test_what_was_typed_before_the_question_does_not_answer_it(skills: Path) -> None:
    with Talk(["--skills", "skills", "chat", "--print", "/painting run scripts/paint.sh"]) as talk:
        talk.type("a\n")
        talk.expect("or [r]efuse for good? ")
        talk.type("n\n")
        talk.leave()
    assert "> painted" not in talk.said
    assert call("grants", "--json").json == {"grants": []}


def test_call_for_a_skill_that_is_not_there_is_sent_and_remarked_on(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", "--print", "/paintin the wall")
    assert outcome.status == 0
    assert outcome.stderr.splitlines()[0] == "no command and no skill 'paintin'; did you mean /painting?"
    assert outcome.stdout.startswith(_OFFLINE)
    call("--skills", "skills", "disable", "painting")
    outcome = run("--skills", "skills", "chat", "--print", "/painting the wall")
    assert outcome.stderr.splitlines()[0] == (
        "skill 'painting' cannot be called for: project:painting: it is switched off (prowess enable painting)"
    )


def test_call_for_a_skill_of_a_project_that_is_not_trusted_says_so(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "notes")
    outcome = run("chat", "--print", "/notes of today")
    assert outcome.stderr.splitlines()[0] == (
        "skill 'notes' cannot be called for: project:notes: its project is not trusted "
        "(prowess trust, after a look at the skill)"
    )


def test_call_for_a_skill_that_is_for_the_model_alone_says_so(skills: Path) -> None:
    write_skill(skills, "rules", extra="user-invocable: false\n")
    outcome = run("--skills", "skills", "chat", "--print", "/rules of the house")
    assert outcome.stderr.splitlines()[0] == ("skill 'rules' is for the model alone to call for; say what it is to do")


@pytest.mark.parametrize("profile", ["daycare", "workspace", "agent-base"])
def test_profile_that_keeps_no_conversation_says_so(skills: Path, profile: str) -> None:
    said = 'conversations are not kept under this profile (activation.sessions = "task")'
    general = ["--profile", profile, "--skills", "skills", "chat"]
    outcome = run(*general, "--session", "monday", "--print", "hello")
    assert (outcome.status, outcome.stderr.splitlines()[0]) == (0, said)
    assert said in run(*general, "--session", "monday", piped="hello\n").stderr
    outcome = run(*general, "--continue", "--json", "--print", "hello")
    assert (outcome.status, outcome.json["error"]["code"], outcome.json["error"]["message"]) == (2, "not-kept", said)


def test_nothing_heavy_is_loaded_for_the_offline_model(skills: Path) -> None:
    script = (
        "import sys\nfrom prowess.surfaces.cli.main import main\n"
        "sys.argv = ['prowess', 'chat', '--print', 'hello']\n"
        "try:\n    main()\nexcept SystemExit as leave:\n    assert not leave.code\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.rpartition("MODULES ")[2].split()}
    assert loaded & {"pydantic_ai", "prompt_toolkit", "openai", "anthropic", "pydantic_monty", "rich", "numpy"} == set()


# Events


@pytest.mark.requirement("R119")
def test_every_event_is_a_line_and_done_is_the_last(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", "--json", "--yes", "--print", "/painting run scripts/paint.sh")
    events = _events(outcome)
    kinds = [event["event"] for event in events]
    assert (outcome.status, outcome.stderr) == (0, "")
    assert kinds[0] == "begun"
    assert kinds[-2:] == ["answer", "done"]
    assert kinds.count("done") == 1
    assert {"loaded", "asked", "call", "question", "consent", "output", "result", "text"} <= set(kinds)
    text = "".join(event["text"] for event in events if event["event"] == "text")
    assert events[-1]["text"] == text
    assert events[-1]["outcome"] == "answered"


def test_json_may_stand_before_the_command(skills: Path) -> None:
    outcome = run("--skills", "skills", "--json", "chat", "--print", "hello")
    assert _events(outcome)[-1]["event"] == "done"


def test_json_never_asks_even_on_a_terminal(skills: Path) -> None:
    arguments = ["--skills", "skills", "chat", "--json", "--print", "/painting run scripts/paint.sh"]
    outcome = run_on_terminal(arguments, typed="a\n")
    answers = [event["answer"] for event in _events(outcome) if event["event"] == "consent"]
    assert (outcome.status, answers) == (0, ["nobody"])


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--json"], 2, "usage"),
        (["--yes"], 2, "usage"),
        (["--print", " "], 2, "usage"),
        (["--print", "x", "--session", "a", "--continue"], 2, "usage"),
        (["--print", "x", "--session", " "], 2, "bad-session"),
        (["--print", "x", "--model", "nope:x"], 2, "bad-model"),
        (["--print", "x", "--model", "anthropic:x"], 2, "model-key"),
        (["--print", "x", "--continue"], 1, "no-conversation"),
    ],
)
def test_what_is_wrong_before_a_turn_is_one_document(
    skills: Path, arguments: list[str], status: int, code: str
) -> None:
    outcome = run("chat", *arguments, "--json", env={"ANTHROPIC_API_KEY": ""})
    assert (outcome.status, outcome.json["error"]["code"]) == (status, code)
    plain = run("chat", *[word for word in arguments if word != "--json"], env={"ANTHROPIC_API_KEY": ""})
    if arguments != ["--json"]:
        assert (plain.status, plain.stdout) == (status, "")


def test_failing_model_is_told_plainly(home: Home, skills: Path) -> None:
    with ScriptedServer(lambda _: fail(401)) as server:
        outcome = _ask_server(home, server, "--print", "hello")
        events = _events(_ask_server(home, server, "--print", "hello", "--json"))
    assert (outcome.status, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("error: ")
    assert [event["event"] for event in events[-2:]] == ["error", "done"]
    assert events[-2]["code"].startswith("model-")
    assert events[-1]["outcome"] == "failed"


def test_turn_that_reaches_its_bound_is_no_answer(home: Home, skills: Path) -> None:
    with ScriptedServer(lambda _: tool_call("search_skills", {"query": "walls"})) as server:
        outcome = _ask_server(home, server, "--print", "hello", settings="[turns]\nmax_steps = 2\n")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.endswith("· stopped after 2 requests to the model; say what to do to go on\n")


def test_words_before_calls_are_no_part_of_the_answer(home: Home, skills: Path) -> None:
    answers = [say("I search.") + tool_call("search_skills", {"query": "walls"}), say("Found.")]
    with ScriptedServer(answers) as server:
        outcome = _ask_server(home, server, "--print", "hello")
    assert (outcome.status, outcome.stdout) == (0, "Found.\n")


def test_answer_that_a_program_reads_is_left_alone_and_on_a_terminal_it_is_tamed(home: Home, skills: Path) -> None:
    with ScriptedServer(lambda _: say(f"red {_HOSTILE}\u202e")) as server:
        piped = _ask_server(home, server, "--print", "hello")
        shown = run_on_terminal(["--skills", "skills", "chat", "--print", "hello"])
    assert piped.stdout == f"red {_HOSTILE}\u202e\n"
    assert shown.stdout == "red \\x1b[2J\\x1b]0;owned\\x07\\u202e\r\n"


def test_interrupt_cancels_the_turn_and_the_conversation_stays_in_order(home: Home, skills: Path) -> None:
    with ScriptedServer([say("I begin") + hang(60), say("Here I am.")]) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        command = [PROWESS, "--skills", "skills", "chat", "--session", "monday", "--json", "--print", "hello"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [line for line in iter(process.stdout.readline, "") if _interrupt(process, line)]
            status = process.wait(60)
        outcome = run("--skills", "skills", "chat", "--session", "monday", "--print", "Still there?")
    last = json.loads(lines[-1])
    assert (status, last["event"], last["outcome"], last["text"]) == (130, "done", "cancelled", "I begin")
    assert (outcome.status, outcome.stdout) == (0, "Here I am.\n")


def _interrupt(process: subprocess.Popen[str], line: str) -> bool:
    """Interrupt the process when it says something of the answer."""
    if json.loads(line)["event"] == "text":
        process.send_signal(signal.SIGINT)
    return True


def test_lines_end_with_done_even_if_the_conversation_went_on_elsewhere(home: Home, skills: Path) -> None:
    with ScriptedServer([hang(3) + say("Slow."), say("Quick.")]) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        command = [PROWESS, "--skills", "skills", "chat", "--session", "monday", "--json", "--print"]
        with subprocess.Popen([*command, "slowly"], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            while not server.requests:
                time.sleep(0.05)
            process.send_signal(signal.SIGSTOP)
            assert run(*command[1:], "quickly").status == 0
            process.send_signal(signal.SIGCONT)
            rest = process.stdout.read()
            status = process.wait(60)
    events = [json.loads(line) for line in (first, *rest.splitlines())]
    assert status == 1
    assert [event["event"] for event in events[-2:]] == ["error", "done"]
    assert events[-2]["code"] == "conversation-moved"
    assert events[-1]["outcome"] == "failed"
    assert sum(event["event"] == "done" for event in events) == 1


def test_lines_end_with_done_even_if_nothing_can_be_kept(skills: Path) -> None:
    nowhere = {"PROWESS_HOME": "/proc/nowhere"}
    outcome = run("--skills", "skills", "chat", "--json", "--print", "/painting", env=nowhere)
    assert (outcome.status, _events(outcome)[-1]["event"]) == (3, "done")
    assert "error: the state in /proc/nowhere/state.db cannot be used" in outcome.stderr
    outcome = run("--skills", "skills", "chat", piped="hello\n", env=nowhere)
    assert (outcome.status, outcome.stdout) == (3, "")
    assert "come back" not in outcome.stderr


def test_reader_that_goes_away_is_no_error(skills: Path) -> None:
    command = f"{PROWESS} --skills skills chat --json --print hello | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["event"] == "begun"
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


# A pipe of questions


def test_each_line_of_a_pipe_is_a_message_of_one_conversation(skills: Path) -> None:
    outcome = run("--skills", "skills", "chat", piped="/painting\n\n/active\n/nope\nhello\n")
    assert outcome.status == 0
    lines = outcome.stdout.splitlines()
    assert lines[0] == "painting is active. What should be done with it?"
    assert lines[1].startswith("● painting · switched on by the user")
    assert lines[2].startswith("no command and no skill 'nope'")
    assert lines[3].startswith(_OFFLINE)
    assert ">" not in outcome.stderr
    (session,) = call("sessions", "--json").json["sessions"]
    assert (session["id"][:5], session["turns"]) == ("chat-", 2)
    assert outcome.stderr.endswith(f"come back: prowess chat --session {session['id']}\n")


def test_pipe_has_the_status_of_its_worst_turn(home: Home, skills: Path) -> None:
    with ScriptedServer([say("One."), fail(401), say("Three.")]) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        outcome = run("--skills", "skills", "chat", piped="a\nb\nc\n")
    assert (outcome.status, outcome.stdout) == (3, "One.\nThree.\n")


def test_closed_standard_input_is_an_empty_pipe(skills: Path) -> None:
    done = subprocess.run(["sh", "-c", f"{PROWESS} chat <&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_profile_that_keeps_no_conversation_does_not_offer_to_come_back(skills: Path) -> None:
    outcome = run("--profile", "workspace", "--skills", "skills", "chat", piped="hello\n")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith(_OFFLINE)
