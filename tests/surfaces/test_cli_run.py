"""`prowess run`: what it prints, what it asks, what it leaves, and how it ends."""

import hashlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from prowess.errors import ProwessError, Refused, ToolInputError
from prowess.runtime import Runtime
from tests.execution.packages.package_index import PackageIndex, isolate, serving
from tests.runtime.runs import find_processes, is_gone, refusal, write_scripts
from tests.skills_on_disk import Home
from tests.surfaces.command import PROWESS, Outcome, call, run, run_on_terminal

pytestmark = pytest.mark.requirement("R96")

_KEYS = [
    "exit_status",
    "stdout",
    "stderr",
    "stdout_truncated",
    "stderr_truncated",
    "timed_out",
    "seconds",
    "backend",
    "outputs",
]
_BOTH = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)"
_ARGUMENTS = "import os, sys, json; print(json.dumps([os.fsencode(each).hex() for each in sys.argv[1:]]))"
_INPUT = "import os; print(open(os.environ['PROWESS_INPUT']).read())"
_LEAVE = """
import os
os.mkdir("/output/deep")
for path in ("a.txt", "deep/b.txt"):
    with open(os.path.join("/output", path), "w") as file:
        file.write("from " + path)
print("done")
"""
_ESCAPES = """
import sys, time
sys.stdout.buffer.write(b"\\x1b[2J\\x1b]0;title\\x07\\tred\\r\\nover\\rwritten \\xff\\xc3")
sys.stdout.buffer.flush()
time.sleep(0.3)
sys.stdout.buffer.write(b"\\xa9\\n\\xe2\\x80\\xae\\r")
sys.stdout.buffer.flush()
time.sleep(0.3)
sys.stdout.buffer.write(b"\\nend")
"""
_SLEEP = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def skills(home: Home) -> Path:
    """A folder with a skill that a caller names; it is trusted, but running asks all the same."""
    scripts = {
        "both.py": _BOTH,
        "arguments.py": _ARGUMENTS,
        "input.py": _INPUT,
        "leave.py": _LEAVE,
        "escapes.py": _ESCAPES,
        "sleep.py": _SLEEP,
        "ruby.rb": "puts 1",
    }
    write_scripts(home.project / "skills", "tool", scripts)
    return home.project / "skills"


def _command(*arguments: str) -> list[str]:
    return ["--skills", "skills", "run", "tool", *arguments]


def _call(*arguments: str) -> Outcome:
    return call(*_command(*arguments))


def _refusal(*arguments: str) -> ProwessError:
    return refusal(lambda: _call(*arguments))


def _plain(text: str) -> str:
    """Return what a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")


# The contract


def test_result_as_json_has_the_keys_of_the_contract() -> None:
    done = _call("scripts/both.py", "--yes", "--json", "--", "3")
    result = done.json
    assert list(result) == _KEYS
    seconds = result.pop("seconds")
    assert result == {
        "exit_status": 3,
        "stdout": "out\n",
        "stderr": "err\n",
        "stdout_truncated": False,
        "stderr_truncated": False,
        "timed_out": False,
        "backend": "bubblewrap",
        "outputs": [],
    }
    assert (done.status, 0 < seconds < 30, done.stderr) == (1, True, "")


def test_outputs_as_json_say_where_they_are_kept(home: Home) -> None:
    (first, second) = _call("scripts/leave.py", "--yes", "--json").json["outputs"]
    assert first == {
        "path": "a.txt",
        "size": 10,
        "sha256": hashlib.sha256(b"from a.txt").hexdigest(),
        "mime": "text/plain",
        "location": first["location"],
    }
    assert second["path"] == "deep/b.txt"
    assert Path(second["location"]).read_text() == "from deep/b.txt"
    assert Path(second["location"]).is_relative_to(home.prowess / "users" / "local" / "runs")


def test_network_and_notices_are_said_only_if_there_are_any(home: Home, skills: Path) -> None:
    home.write_settings('[execution]\nnetwork = "granted"\n')
    write_scripts(skills, "strict", {"run.sh": "echo hi"}, extra="allowed-tools: Read\n")
    result = call("--skills", "skills", "run", "strict", "scripts/run.sh", "--yes", "--network", "--json").json
    assert list(result) == [*_KEYS, "network", "notices"]
    assert result["network"] is True
    assert len(result["notices"]) == 1


def test_people_get_both_streams_as_they_are_and_the_rest_on_standard_error() -> None:
    done = _call("scripts/both.py", "--yes")
    assert (done.status, done.stdout, done.stderr) == (0, "out\n", "err\n")
    done = _call("scripts/both.py", "--yes", "--", "3")
    assert (done.status, done.stdout) == (1, "out\n")
    assert done.stderr == "err\nerror: the script ended with status 3\n"


@pytest.mark.slow
def test_piped_output_is_the_bytes_of_the_script() -> None:
    done = subprocess.run([PROWESS, *_command("scripts/escapes.py", "--yes")], capture_output=True, check=True)
    assert done.stdout == (
        b"\x1b[2J\x1b]0;title\x07\tred\r\nover\rwritten \xff\xc3" + b"\xa9\n\xe2\x80\xae\r" + b"\nend"
    )


@pytest.mark.slow
def test_terminal_shows_control_characters_and_obeys_none() -> None:
    done = run_on_terminal(_command("scripts/escapes.py", "--yes"))
    shown = done.stdout.replace("\r\n", "\n")
    assert shown == "\\x1b[2J\\x1b]0;title\\x07\tred\nover\\rwritten \ufffdé\n\\u202e\nend"


@pytest.mark.slow
def test_output_comes_while_the_script_runs() -> None:
    process = subprocess.Popen([PROWESS, *_command("scripts/sleep.py", "--yes")], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_script_ends_when_nobody_reads_any_more(skills: Path) -> None:
    marker = "marker-of-a-run-into-a-closed-pipe"
    write_scripts(skills, "endless", {"run.py": "while True: print('more')"})
    command = f"{PROWESS} --skills skills run endless scripts/run.py --yes -- {marker} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("more\n", "")
    assert is_gone(marker)


# Arguments and input


def test_arguments_after_two_strokes_are_the_script_s_own() -> None:
    done = _call("scripts/arguments.py", "--yes", "--", "--yes", "--json", "-h", "", "é")
    assert json.loads(done.stdout) == [each.encode().hex() for each in ("--yes", "--json", "-h", "", "é")]


@pytest.mark.slow
def test_arguments_need_not_be_text() -> None:
    done = run(*_command("scripts/arguments.py", "--yes", "--"), b"\xff\xfe")
    assert (done.status, json.loads(done.stdout)) == (0, ["fffe"])


def test_input_comes_from_a_file(home: Home) -> None:
    (home.project / "data.json").write_text('{"é": [1, null]}', "utf-8")
    done = _call("scripts/input.py", "--yes", "--input", "data.json")
    assert json.loads(done.stdout) == {"é": [1, None]}


@pytest.mark.slow
def test_input_comes_from_standard_input() -> None:
    done = run(*_command("scripts/input.py", "--yes", "--input", "-"), piped='{"a": 1}')
    assert (done.status, json.loads(done.stdout)) == (0, {"a": 1})


@pytest.mark.parametrize("text", ["{broken", "", "NaN", '"\\ud800"', "[" * 100_000])
def test_input_that_is_no_json_is_refused(home: Home, text: str) -> None:
    (home.project / "data.json").write_text(text)
    assert _refusal("scripts/input.py", "--yes", "--input", "data.json").code == "bad-input"


# Outputs in a folder of the user's


def test_place_of_an_output_whose_name_is_no_utf_8_is_text_that_every_reader_of_json_takes(
    home: Home, skills: Path
) -> None:
    script = "open(b'/output/\\xff.txt', 'w').write('x')"
    (skills / "tool" / "scripts" / "odd.py").write_text(script)
    (file,) = _call("scripts/odd.py", "--yes", "--json").json["outputs"]
    assert file["location"].encode().endswith(b"/\\xff.txt")


def test_outputs_are_copied_to_a_folder(home: Home) -> None:
    done = _call("scripts/leave.py", "--yes", "--output", "out/new")
    assert (done.status, done.stdout) == (0, "done\n")
    assert done.stderr == "left out/new/a.txt (10 bytes)\nleft out/new/deep/b.txt (15 bytes)\n"
    assert (home.project / "out" / "new" / "a.txt").read_text() == "from a.txt"
    assert (home.project / "out" / "new" / "deep" / "b.txt").read_text() == "from deep/b.txt"


def test_nothing_is_overwritten_and_nothing_is_lost(home: Home) -> None:
    (home.project / "out").mkdir()
    (home.project / "out" / "a.txt").write_text("precious")
    done = _call("scripts/leave.py", "--yes", "--output", "out", "--json")
    result = done.json
    kept = result["outputs"][0]["location"]
    told = f"out/a.txt: is there already, and was not overwritten; the new one is kept as {kept}"
    assert (done.status, result["stdout"], result["notices"]) == (3, "done\n", [told])
    assert (home.project / "out" / "a.txt").read_text() == "precious"
    assert (home.project / "out" / "deep" / "b.txt").read_text() == "from deep/b.txt"
    assert Path(kept).read_text() == "from a.txt"


@pytest.mark.parametrize("obstacle", ["link", "dangling", "folder", "file-above"])
def test_no_link_or_folder_in_the_way_is_followed_or_replaced(home: Home, obstacle: str) -> None:
    out, precious = home.project / "out", home.project / "precious"
    out.mkdir()
    precious.write_text("precious")
    match obstacle:
        case "link":
            (out / "a.txt").symlink_to(precious)
        case "dangling":
            (out / "a.txt").symlink_to(home.project / "made")
        case "folder":
            (out / "a.txt").mkdir()
        case _:
            (out / "deep").write_text("no folder")
    done = _call("scripts/leave.py", "--yes", "--output", "out")
    assert (done.status, done.stdout) == (3, "done\n")
    assert done.stderr.count("is there already") == 1
    assert (precious.read_text(), (home.project / "made").exists()) == ("precious", False)


# Wrong usage, and what cannot be


@pytest.mark.parametrize(
    "arguments",
    [
        ("scripts/both.py", "--backend", "host"),
        ("scripts/both.py", "--timeout", "0"),
        ("scripts/both.py", "--timeout", "nan"),
        ("scripts/both.py", "--timeout", "inf"),
        ("scripts/both.py", "--timeout", "soon"),
        ("scripts/both.py", "--workspace", "all"),
        ("scripts/both.py", "--input", "nothing.json"),
        ("scripts/both.py", "--output", "skills/tool/SKILL.md"),
        (),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(arguments: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        _call(*arguments, *(["--yes"] if arguments else []))
    assert call("usage", "--json").json["skills"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["scripts/both.py", "--yes", "--backend", "host"], 2, "usage"),
        (["scripts/both.py", "--yes", "--timeout", "nan"], 2, "usage"),
        (["scripts/both.py"], 1, "consent-needed"),
        (["scripts/nothing.py", "--yes"], 1, "unknown-script"),
        (["SKILL.md", "--yes"], 1, "interpreter-unknown"),
        (["scripts/ruby.rb", "--yes"], 1, "interpreter-missing"),
        (["scripts/both.py", "--yes", "--network"], 1, "no-network"),
        (["scripts/both.py", "--yes", "--workspace", "read"], 1, "no-workspace"),
    ],
)
def test_status_says_what_kind_of_no_it_is(arguments: list[str], status: int, code: str) -> None:
    done = run("--json", *_command(*arguments))
    assert (done.status, done.json["error"]["code"]) == (status, code)
    assert set(done.json) == {"error"}


@pytest.mark.slow
@pytest.mark.requirement("R97")
def test_without_a_sandbox_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "sh").symlink_to("/bin/sh")
    env = {"PATH": str(tmp_path / "programs"), "DOCKER_HOST": "unix:///nothing", "CONTAINER_HOST": "unix:///nothing"}
    done = run(*_command("scripts/both.py", "--yes"), env=env)
    assert (done.status, done.stdout) == (3, "")
    assert "error: no sandbox works here, so no script is run" in done.stderr
    assert "hint: install bubblewrap (Debian: apt-get install bubblewrap)" in done.stderr
    done = run("--json", *_command("scripts/both.py", "--yes", "--backend", "bubblewrap"), env=env)
    assert (done.status, done.json["error"]["code"]) == (3, "no-sandbox")


def test_unknown_names_are_explained() -> None:
    error = refusal(lambda: call("--skills", "skills", "run", "tol", "scripts/both.py", "--yes"), ToolInputError)
    assert (error.code, "tool" in error.hint, "prowess why tol" in error.hint) == ("unknown-skill", True, True)
    assert "scripts/both.py" in _refusal("scripts/bot.py", "--yes").hint


@pytest.mark.slow
def test_script_is_ended_at_the_time_that_is_given() -> None:
    done = _call("scripts/sleep.py", "--yes", "--timeout", "0.5")
    assert (done.status, done.stdout) == (1, "ready\n")
    assert re.fullmatch(
        r"! it was ended at its time limit\nerror: ended at its time limit after \d\.\d s; --timeout gives it more\n",
        done.stderr,
    )
    result = _call("scripts/sleep.py", "--yes", "--timeout", "0.5", "--json").json
    assert (result["timed_out"], result["exit_status"]) == (True, 137)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signal_ends_the_script_with_the_command(number: signal.Signals) -> None:
    marker = f"marker-of-a-run-that-ends-by-{number.name}"
    process = subprocess.Popen(
        [PROWESS, *_command("scripts/sleep.py", "--yes", "--", marker)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert find_processes(marker)
    os.killpg(process.pid, number)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == (130 if number is signal.SIGINT else -number)
    assert complaints == b""
    assert is_gone(marker)


# Consent


@pytest.mark.requirement("K1")
def test_named_folder_and_core_skill_ask_when_nobody_is_there() -> None:
    error = refusal(lambda: _call("scripts/both.py"), Refused)
    assert (error.code, error.hint) == (
        "consent-needed",
        "`prowess grants --allow tool --run` gives it, or --yes for one call",
    )
    assert refusal(lambda: call("run", "scheduling", "scripts/next_dates.py")).code == "consent-needed"


@pytest.mark.requirement("K1")
def test_yes_is_for_one_run() -> None:
    assert _call("scripts/both.py", "--yes").status == 0
    assert _refusal("scripts/both.py").code == "consent-needed"
    assert call("grants", "--json").json["grants"] == []


@pytest.mark.requirement("K1")
def test_grant_that_was_given_before_counts() -> None:
    call("--skills", "skills", "grants", "--allow", "tool", "--run")
    assert _call("scripts/both.py").status == 0
    call("--skills", "skills", "grants", "--refuse", "tool", "--run")
    assert _refusal("scripts/both.py", "--yes").code == "refused"


@pytest.mark.slow
@pytest.mark.requirement("K1")
def test_terminal_asks_with_script_arguments_and_powers(home: Home) -> None:
    home.write_settings('[execution]\nnetwork = "granted"\nworkspace = "read"\n')
    done = run_on_terminal(_command("scripts/both.py", "--network", "--", "0", "a b"), typed="o\n")
    shown = _plain(done.stderr)
    assert (done.status, done.stdout.replace("\r\n", "\n")) == (0, "out\n")
    for line in (
        'Run scripts/both.py of skill "tool"?\n',
        "  arguments: 0 'a b'\n",
        "  wants to reach the network\n",
        f"  wants to read the folder: {os.getcwd()}\n",
        "  it runs in a sandbox\n",
        "It had a network.\n",
    ):
        assert line in shown


@pytest.mark.slow
@pytest.mark.requirement("K1")
@pytest.mark.parametrize(("typed", "status", "grants"), [("a\n", 0, 1), ("n\n", 1, 0), ("r\n", 1, 1), ("", 130, 0)])
def test_terminal_takes_each_answer(typed: str, status: int, grants: int) -> None:
    done = run_on_terminal(_command("scripts/both.py"), typed=typed)
    assert (done.status, len(call("grants", "--json").json["grants"])) == (status, grants)


@pytest.mark.slow
@pytest.mark.requirement("K1")
def test_nothing_that_is_asked_about_can_look_like_the_question_itself(skills: Path) -> None:
    forged = "x\n  it runs in a sandbox, with nothing beyond its own files\nAllow? \x1b[8m"
    write_scripts(skills, "liar", {"a\nAllowed.py": "print('hi')"}, extra='when_to_use: "x"\n')
    done = run_on_terminal(
        ["--skills", "skills", "run", "liar", "scripts/a\nAllowed.py", "--", forged, "y" * 5_000], typed="o\n"
    )
    lines = _plain(done.stderr).split("\n")
    assert "Run 'scripts/a\\nAllowed.py' of skill \"liar\"?" in lines
    (arguments,) = [line for line in lines if line.startswith("  arguments: ")]
    assert arguments.startswith("  arguments: 'x\\n  it runs in a sandbox, with nothing beyond its own files\\nAllow?")
    assert re.search(r"yyy … and 3,\d\d\d more characters$", arguments)
    assert [line for line in lines if line.startswith("Allow")] == [
        line for line in lines if line.startswith("Allow [o]nce")
    ]


@pytest.fixture
def _index(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    isolate(monkeypatch, home.path)
    index = PackageIndex()
    index.add_wheel("first", "1.1")
    with serving(index):
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.address)
        yield


@pytest.mark.slow
@pytest.mark.requirement("K9")
@pytest.mark.usefixtures("_index")
def test_terminal_asks_with_the_exact_packages(skills: Path) -> None:
    script = "# /// script\n# dependencies = ['first']\n# ///\nimport first; print(first.version)\n"
    write_scripts(skills, "packed", {"run.py": script})
    done = run_on_terminal(["--skills", "skills", "run", "packed", "scripts/run.py"], typed="o\n")
    shown = _plain(done.stderr)
    assert (done.status, done.stdout.replace("\r\n", "\n")) == (0, "1.1\n")
    assert "  packages: first==1.1\n" in shown
    assert re.search(r"  wants to have packages installed: [0-9a-f]{16}\n", shown)
    done = run("--json", "--skills", "skills", "run", "packed", "scripts/run.py", "--yes")
    assert (done.status, done.json["stdout"]) == (0, "1.1\n")  # With --json too, progress is on standard error.


@pytest.mark.requirement("K8")
def test_missing_secret_says_how_to_set_it(skills: Path) -> None:
    write_scripts(skills, "keyed", {"run.py": "print('hi')"}, extra="secrets: [API_TOKEN]\n")
    error = refusal(lambda: call("--skills", "skills", "run", "keyed", "scripts/run.py", "--yes"))
    assert (error.code, error.hint) == ("secret-missing", "`prowess secrets set API_TOKEN`")


# Receipts and help


@pytest.mark.requirement("K6")
def test_session_that_is_named_keeps_the_receipt() -> None:
    _call("scripts/both.py", "--yes", "--session", "chat", "--", "0", "x y")
    with Runtime.open() as runtime:
        (receipt,) = runtime.runs("chat")
        assert (receipt.script, receipt.arguments, receipt.consent) == ("scripts/both.py", "0 'x y'", "once")


@pytest.mark.slow
def test_script_s_name_need_not_be_text(skills: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    (skills / "tool" / "scripts" / name).write_text("print('hi')")
    done = run(*_command(f"scripts/{name}", "--yes"))
    assert (done.status, done.stdout, done.stderr) == (0, "hi\n", "")


@pytest.mark.requirement("K6")
def test_usage_counts_runs() -> None:
    for _ in range(2):
        _call("scripts/both.py", "--yes")
    (row,) = call("usage", "--json").json["skills"]
    assert (row["name"], row["activations"], row["runs"]) == ("tool", 0, 2)


def test_help_says_how_to_use_it() -> None:
    text = call("run", "--help").stdout
    for part in (
        "--yes",
        "--timeout SECONDS",
        "--input FILE",
        "--output DIR",
        "PROWESS_OUTPUT",
        "Arguments come after --",
    ):
        assert part in text
    assert "host" not in re.search(r"--backend \[.*?\]", text, re.DOTALL)[0]  # type: ignore[index]
