"""A run of a script: what it sees, what it is given, and what comes back of it."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.activation.receipts import AskedBy, RunReceipt, Usage
from prowess.errors import BrokenSkill, Refused, ToolInputError, WorldError
from prowess.execution.interpreters import INTERPRETERS
from prowess.execution.jobs import Listener, OutputFile, Stream
from prowess.execution.sandbox import NoSandbox
from prowess.policy import Backend, WorkspaceAccess
from prowess.runtime import Runtime, Session
from prowess.runtime.run_results import RunRequest, RunResult
from prowess.settings import load_settings
from prowess.skill.problems import Problem, Severity
from tests.runtime.opening import ONLY_MINE, start_python
from tests.runtime.runs import Agreeable, find_processes, is_gone, open_agreed, refusal, said, write_scripts
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow

_INSIDE = "/shared/skills/agents--alpha"
_LOOK = """
import json, os, sys
def attempt(path):
    try:
        open(path, "w")
    except OSError as error:
        return error.strerror
    return "written"
print(json.dumps({
    "folder": os.getcwd(), "skills": os.listdir("/shared/skills"), "files": sorted(os.listdir()),
    "script": sys.argv[0],
    "writes": {path: attempt(path) for path in ("new", "SKILL.md", "/new", "/usr/new", "/tmp/new", "/output/new")},
}))
"""
_PRINT = "import sys, os, json; print(json.dumps([os.fsencode(each).hex() for each in sys.argv[1:]]))"
_ENVIRONMENT = "import os, json; print(json.dumps(dict(os.environ)))"
_LEAVE = """
import os, pathlib
out = pathlib.Path(os.environ["PROWESS_OUTPUT"])
(out / "report.csv").write_text("a,b\\n")
(out / "deep" / "er").mkdir(parents=True)
(out / "deep" / "er" / "raw").write_bytes(bytes(range(256)))
(out / "link").symlink_to("/etc/passwd")
os.mkfifo(out / "fifo")
"""
_INPUT = """
import os, json
path = os.environ.get("PROWESS_INPUT")
print(json.dumps([path, json.load(open(path)) if path else None]))
"""
_FAIL = "import sys; print('half'); print('no luck', file=sys.stderr); sys.exit(3)"
_LATER = """
import time
print("ready", flush=True)
time.sleep(0.4)
print(open("data/value.txt").read(), end="")
"""
_SLEEP = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """A skill with the scripts that the tests here run."""
    scripts = {
        "look.py": _LOOK,
        "print.py": _PRINT,
        "environment.py": _ENVIRONMENT,
        "leave.py": _LEAVE,
        "input.py": _INPUT,
        "fail.py": _FAIL,
        "later.py": _LATER,
        "sleep.py": _SLEEP,
        "data/value.txt": "old\n",
    }
    return write_scripts(root, "alpha", scripts)


@pytest.fixture
def session(runtime: Runtime) -> Session:
    """A chat whose user agrees to everything."""
    return open_agreed(runtime, "chat")


def _once_ready(act: object) -> Listener:
    """Return a listener that acts when the script says that it is ready."""

    def hear(_stream: Stream, part: bytes) -> None:
        if b"ready" in part and callable(act):
            act()

    return hear


# What it sees


@pytest.mark.requirement("R96", "R97", "K2")
def test_script_stands_in_its_skill_and_may_write_in_two_folders_only(session: Session) -> None:
    read_only = "Read-only file system"
    assert said(session.run("alpha", "scripts/look.py")) == {
        "folder": _INSIDE,
        "skills": ["agents--alpha"],
        "files": ["SKILL.md", "data", "scripts"],
        "script": f"{_INSIDE}/scripts/look.py",
        "writes": {
            "new": read_only,
            "SKILL.md": read_only,
            "/new": read_only,
            "/usr/new": read_only,
            "/tmp/new": "written",
            "/output/new": "written",
        },
    }


@pytest.mark.requirement("R96")
def test_script_stands_in_the_workspace_where_the_policy_says_so(home: Home, root: Path) -> None:
    (home.project / "notes.txt").write_text("mine")
    home.write_settings(ONLY_MINE + '[execution]\nwork_folder = "workspace"\nworkspace = "read"\n')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        seen = said(session.run("alpha", "scripts/look.py"))
        assert (seen["folder"], seen["files"]) == ("/workspace", [".git", "notes.txt"])
        assert seen["writes"]["new"] == "Read-only file system"
        without = RunRequest(workspace=WorkspaceAccess.NONE)
        assert said(session.run("alpha", "scripts/look.py", request=without))["folder"] == _INSIDE


@pytest.mark.requirement("K2", "K8")
def test_environment_is_what_is_documented_and_nothing_of_the_host(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CANARY", "GITHUB_TOKEN", "PYTHONPATH", "LD_PRELOAD_CANARY", "PROWESS_CANARY", "http_proxy"):
        monkeypatch.setenv(name, "/nowhere/canary")
    assert said(session.run("alpha", "scripts/environment.py")) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "USER": "skill",
        "LOGNAME": "skill",
        "PWD": _INSIDE,  # By the sandbox.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PROWESS_SKILL": "alpha",
        "PROWESS_SKILL_FOLDER": _INSIDE,
        "PROWESS_OUTPUT": "/output",
    }


@pytest.mark.requirement("K5", "R96")
def test_run_is_bound_to_its_version_while_the_skill_changes(runtime: Runtime, session: Session, alpha: Path) -> None:
    def change() -> None:
        (alpha / "data" / "value.txt").write_text("new\n")
        (alpha / "scripts" / "later.py").unlink()
        runtime.sync()

    result = session.run("alpha", "scripts/later.py", listener=_once_ready(change))
    assert result.stdout == "ready\nold\n"
    assert refusal(lambda: session.run("alpha", "scripts/later.py")).code == "unknown-script"


# What it is given


@pytest.mark.requirement("R96")
def test_arguments_arrive_byte_for_byte(session: Session) -> None:
    arguments = [
        "",
        " ",
        "-c",
        "--",
        "a b",
        "'\"$(id)`;|&*?\\",
        "é\u202e",
        "line\nline\t\x1b[31m",
        os.fsdecode(b"\xff\xfe"),
    ]
    result = session.run("alpha", "scripts/print.py", arguments)
    assert said(result) == [os.fsencode(each).hex() for each in arguments]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--count 3", "the arguments are no list of texts"),
        ([1], "the arguments are no list of texts"),
        (["a\0b"], "an argument holds a NUL character"),
        (["x" * 200_000], "the arguments are too long for a program"),
    ],
)
def test_arguments_that_no_program_can_be_given_are_told(runtime: Runtime, arguments: list[str], message: str) -> None:
    error = refusal(lambda: open_agreed(runtime).run("alpha", "scripts/print.py", arguments), ToolInputError)
    assert (error.code, error.message) == ("bad-arguments", message)


@pytest.mark.requirement("R96")
def test_input_is_a_file_of_json_that_only_those_have_who_ask_for_it(session: Session) -> None:
    value = {"é": [1, 2.5, None, True], "deep": {"a": "b" * 300_000}}
    result = session.run("alpha", "scripts/input.py", request=RunRequest(input=value))
    assert said(result) == ["/input/input.json", value]
    assert said(session.run("alpha", "scripts/input.py")) == [None, None]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), "\ud800", ["x" * (17 << 20)]])
def test_input_that_is_no_json_is_refused_before_anybody_is_asked(runtime: Runtime, value: object) -> None:
    error = refusal(lambda: runtime.session().run("alpha", "scripts/input.py", request=RunRequest(input=value)))
    assert error.code == "bad-input"


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12])
def test_impossible_time_limit_is_refused_before_anybody_is_asked(runtime: Runtime, seconds: float) -> None:
    request = RunRequest(timeout_seconds=seconds)
    error = refusal(lambda: runtime.session().run("alpha", "scripts/print.py", request=request), ToolInputError)
    assert (error.code, error.hint) == ("bad-timeout", "give more than 0, and at most 86,400")


# What comes back


@pytest.mark.requirement("R96")
def test_files_in_the_output_folder_come_back(session: Session, home: Home) -> None:
    result = session.run("alpha", "scripts/leave.py")
    kept = home.prowess / "users" / "local" / "runs" / result.receipt.id
    raw = bytes(range(256))
    assert result.outputs == (
        OutputFile(
            "deep/er/raw",
            256,
            hashlib.sha256(raw).hexdigest(),
            "application/octet-stream",
            str(kept / "deep" / "er" / "raw"),
        ),
        OutputFile("report.csv", 4, hashlib.sha256(b"a,b\n").hexdigest(), "text/csv", str(kept / "report.csv")),
    )
    assert (kept / "deep" / "er" / "raw").read_bytes() == raw
    assert result.notices == (
        "output fifo is no plain file and was left behind",
        "output link is a link and was left behind",
    )


@pytest.mark.requirement("R96", "R41")
def test_model_is_not_told_where_outputs_lie_on_the_host(session: Session, home: Home) -> None:
    result = session.call("run_skill_script", {"name": "alpha", "script": "scripts/leave.py"})
    assert not result.is_error
    assert "report.csv (4 bytes)" in result.content
    assert str(home.path) not in result.content + json.dumps(result.data)


@pytest.mark.requirement("R96")
def test_failing_script_is_a_result_and_no_error(session: Session) -> None:
    result = session.run("alpha", "scripts/fail.py")
    assert (result.exit_status, result.stdout, result.stderr) == (3, "half\n", "no luck\n")
    assert (result.succeeded, result.timed_out, result.notices) == (False, False, ())
    called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/fail.py"})
    assert called.is_error
    assert "half" in called.content
    assert "no luck" in called.content


@pytest.mark.requirement("R96")
def test_script_is_ended_at_its_time_limit(session: Session) -> None:
    marker = "marker-of-a-slow-script"
    request = RunRequest(timeout_seconds=1)
    result = session.run("alpha", "scripts/sleep.py", [marker], request=request)
    assert (result.exit_status, result.timed_out, result.stdout) == (137, True, "ready\n")
    assert result.notices == ("it was ended at its time limit",)
    assert 1.0 <= result.seconds < 5.0
    assert is_gone(marker)


@pytest.mark.requirement("R96")
def test_long_output_is_cut_and_says_so(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE + "[execution]\noutput_bytes = 1000\n")
    write_scripts(root, "long", {"long.py": "print('x' * 5000); import sys; print('y' * 900, file=sys.stderr)"})
    with Runtime.open() as runtime:
        result = open_agreed(runtime).run("long", "scripts/long.py")
    assert (result.stdout_truncated, result.stderr_truncated) == (True, False)
    assert "[… 4,001 bytes left out: output is cut at 1,000 …]" in result.stdout
    assert (len(result.stderr), result.receipt.stdout_bytes) == (901, 5001)


@pytest.mark.requirement("R96")
def test_listener_hears_both_streams_while_the_script_runs(session: Session) -> None:
    heard: dict[Stream, bytes] = {}
    session.run(
        "alpha", "scripts/fail.py", listener=lambda stream, part: heard.update({stream: heard.get(stream, b"") + part})
    )
    assert heard == {Stream.STDOUT: b"half\n", Stream.STDERR: b"no luck\n"}


def test_listener_that_fails_ends_the_script(runtime: Runtime, session: Session) -> None:
    marker = "marker-of-a-run-nobody-hears"

    def fail() -> None:
        raise BrokenPipeError("nobody reads")

    with pytest.raises(BrokenPipeError):
        session.run("alpha", "scripts/sleep.py", [marker], listener=_once_ready(fail))
    assert is_gone(marker)
    (receipt,) = runtime.runs()
    assert (receipt.is_open, receipt.exit_status) == (False, None)


def test_runs_of_several_threads_do_not_meet(session: Session, runtime: Runtime) -> None:
    def start(number: int) -> RunResult:
        return session.run("alpha", "scripts/print.py", [str(number)])

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(start, range(16)))
    assert [said(result) for result in results] == [[str(n).encode().hex()] for n in range(16)]
    assert len({result.receipt.id for result in results}) == len(runtime.runs()) == 16


# Which script


@pytest.mark.requirement("R96")
def test_script_need_not_be_executable_and_may_be_named_as_the_model_sees_it(session: Session, alpha: Path) -> None:
    (alpha / "scripts" / "print.py").chmod(0o600)
    for name in ("scripts/print.py", "./scripts//print.py", "scripts\\print.py", f"{_INSIDE}/scripts/print.py"):
        result = session.run("alpha", name, ["x"])
        assert (said(result), result.script) == (["78"], "scripts/print.py")


@pytest.mark.requirement("R84")
def test_script_may_be_named_by_the_folder_of_the_host_that_the_model_was_told(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE + '[activation]\nbase_directory = "host"\n')
    with Runtime.open() as runtime:
        session = open_agreed(runtime, "chat")
        base = session.activate("alpha").base_directory
        assert base.startswith(str(home.prowess))
        assert said(session.run("alpha", f"{base}/scripts/print.py", ["x"])) == ["78"]
        assert refusal(lambda: session.run("alpha", f"{base}/../x.py")).code == "path-traversal"


@pytest.mark.requirement("R96")
def test_unknown_script_lists_those_that_there_are(session: Session) -> None:
    error = refusal(lambda: session.run("alpha", "scripts/nothing.py"), ToolInputError)
    assert (error.code, error.message) == ("unknown-script", "skill 'alpha' has no script 'scripts/nothing.py'")
    assert error.hint == (
        "its scripts: scripts/environment.py, scripts/fail.py, scripts/input.py, scripts/later.py, scripts/leave.py, "
        "scripts/look.py, scripts/print.py, scripts/sleep.py"
    )
    called = session.call("run_skill_script", {"name": "alpha", "script": "scripts"})
    assert called.is_error
    assert "scripts/print.py" in called.content


@pytest.mark.requirement("R97", "R100")
@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("../beta/scripts/run.py", "path-traversal"),
        ("scripts/../../beta/scripts/run.py", "path-traversal"),
        ("/usr/bin/python3", "absolute-path"),
        ("/shared/skills/agents--beta/scripts/run.py", "absolute-path"),
        (f"{_INSIDE}/../agents--beta/scripts/run.py", "path-traversal"),
        ("C:\\run.py", "absolute-path"),
        ("scripts/print.py\0.txt", "resource-unreadable"),
        ("", "missing-path"),
        (".", "invalid-path"),
        ("scripts/\ud800.py", "unknown-script"),
    ],
)
def test_only_files_of_the_skill_are_run(runtime: Runtime, root: Path, script: str, code: str) -> None:
    write_scripts(root, "beta", {"run.py": "print('no')"})
    assert refusal(lambda: runtime.session().run("alpha", script), ToolInputError).code == code


@pytest.mark.requirement("R97")
def test_link_out_of_the_skill_is_not_run(root: Path, runtime: Runtime, session: Session, alpha: Path) -> None:
    write_scripts(root, "beta", {"run.py": "print('no')"})
    (alpha / "scripts" / "link.py").symlink_to("../../beta/scripts/run.py")
    assert refusal(lambda: session.run("alpha", "scripts/link.py")).code in ("no-digest", "unknown-script")


def test_link_within_the_skill_is_run(session: Session, alpha: Path) -> None:
    (alpha / "scripts" / "link.py").symlink_to("print.py")
    assert said(session.run("alpha", "scripts/link.py", ["x"])) == ["78"]


@pytest.mark.requirement("K3")
@pytest.mark.parametrize("path", ["SKILL.md", "data/value.txt", "scripts/program"])
def test_file_that_nothing_runs_is_a_problem(session: Session, alpha: Path, path: str) -> None:
    (alpha / "scripts" / "program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(64))
    error = refusal(lambda: session.run("alpha", path), BrokenSkill)
    assert isinstance(error, BrokenSkill)
    remedy = "give it a first line such as #!/usr/bin/env python3, or an ending such as .py, .sh or .js"
    assert error.problems == (
        Problem("interpreter-unknown", Severity.WARNING, f"nothing here runs {path}", path=path, remedy=remedy),
    )
    assert (error.code, error.message) == ("interpreter-unknown", f"skill 'alpha': nothing here runs {path}")


@pytest.mark.requirement("K3")
@pytest.mark.parametrize(
    ("line", "program"),
    [("#!/opt/own/thing -x", "thing"), ("#!/usr/bin/env nonesuch", "nonesuch"), ("#!/bin/a\x1bb", "a\\x1bb")],
)
def test_first_line_with_a_program_that_is_not_known_is_not_asked_for_again(
    session: Session, alpha: Path, line: str, program: str
) -> None:
    (alpha / "scripts" / "odd").write_text(f"{line}\n")
    error = refusal(lambda: session.run("alpha", "scripts/odd"), BrokenSkill)
    assert error.code == "interpreter-missing"
    assert (
        error.message == f"skill 'alpha': scripts/odd names '{program}' in its first line, which runs no scripts here"
    )
    assert "python" in error.hint


@pytest.mark.requirement("K3")
@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("scripts/a.rb", "puts 1\n", "ruby"),
        ("scripts/a", "#!/usr/bin/env -S deno run\n", "deno"),
        ("scripts/a.py", "#!/usr/bin/bun\n", "bun"),
    ],
)
def test_missing_interpreter_is_a_problem_of_the_sandbox(
    session: Session, alpha: Path, path: str, text: str, name: str
) -> None:
    (alpha / path).write_text(text)
    error = refusal(lambda: session.run("alpha", path), BrokenSkill)
    assert error.code == "interpreter-missing"
    assert error.hint.startswith("install ")
    assert name in error.hint
    assert error.message == f"skill 'alpha': {path} needs {name}, which the bubblewrap sandbox has not"
    called = session.call("run_skill_script", {"name": "alpha", "script": path})
    assert called.is_error
    assert name in called.content


@pytest.mark.requirement("K3")
def test_interpreter_of_the_host_alone_does_not_count(
    session: Session, alpha: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ruby").write_text("#!/bin/sh\necho on the host\n")
    (programs / "ruby").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (alpha / "scripts" / "a.rb").write_text("puts 1\n")
    assert refusal(lambda: session.run("alpha", "scripts/a.rb")).code == "interpreter-missing"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "echo $0 $1"),
        ("a.bash", "x=(1); echo $0 $1"),
        ("a.js", "console.log(process.argv[1], process.argv[2])"),
        ("a.pl", 'print "$0 $ARGV[0]\\n";'),
        ("a", "#!/bin/sh\necho $0 $1"),
        ("b.txt", "#!/usr/bin/env python3\nimport sys; print(*sys.argv)"),
        ("c.sh", "#!/usr/bin/env -S python3 -u\nimport sys; print(*sys.argv)"),
    ],
)
def test_interpreter_is_that_of_the_first_line_or_of_the_ending(
    session: Session, alpha: Path, name: str, text: str
) -> None:
    (alpha / "scripts" / name).write_text(text)
    result = session.run("alpha", f"scripts/{name}", ["given"])
    assert (result.stdout, result.stderr) == (f"{_INSIDE}/scripts/{name} given\n", "")


def test_skill_with_a_fifo_is_refused_at_once(runtime: Runtime, session: Session, alpha: Path) -> None:
    os.mkfifo(alpha / "scripts" / "pipe.py")
    for script in ("scripts/pipe.py", "scripts/print.py"):
        error = refusal(lambda script=script: session.run("alpha", script), Refused)
        assert error.code == "no-digest"
        assert "pipe.py" in error.message
    called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/print.py"})
    assert (called.is_error, called.data["error"]["code"]) == (True, "no-digest")
    assert runtime.runs() == ()


# Where nothing can be run


@pytest.fixture
def _no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("CONTAINER_HOST", f"unix://{tmp_path}/nothing.sock")


@pytest.mark.usefixtures("_no_sandbox")
@pytest.mark.requirement("R97")
def test_without_a_sandbox_nothing_is_run(runtime: Runtime, session: Session) -> None:
    error = refusal(lambda: session.run("alpha", "scripts/print.py"), NoSandbox)
    assert error.code == "no-sandbox"
    assert error.message.startswith("no sandbox works here, so no script is run (bubblewrap: there is no bubblewrap")
    assert "apt-get install bubblewrap" in error.hint
    called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/print.py"})
    assert (called.is_error, called.data["error"]["code"]) == (True, "no-sandbox")
    assert session.question("run_skill_script", {"name": "alpha", "script": "scripts/print.py"}) is None
    assert runtime.runs() == ()
    assert session.activate("alpha").instructions.body == "Do the thing."


@pytest.mark.usefixtures("_no_sandbox")
@pytest.mark.parametrize("backend", [Backend.BUBBLEWRAP, Backend.DOCKER, Backend.PODMAN])
def test_sandbox_that_was_asked_for_is_not_replaced_by_another(session: Session, backend: Backend) -> None:
    request = RunRequest(backend=backend)
    assert refusal(lambda: session.run("alpha", "scripts/print.py", request=request), NoSandbox).hint


@pytest.mark.requirement("R97")
def test_switched_off_scripts_are_not_run_nor_offered(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE + "[execution]\nenabled = false\n")
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        error = refusal(lambda: session.run("alpha", "scripts/print.py"), Refused)
        assert (error.code, error.hint) == ("no-runs", "set execution.enabled = true in the settings")
        assert "run_skill_script" not in json.dumps(session.tools())
        called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/print.py"})
        assert (called.is_error, called.data["error"]["code"]) == (True, "unknown-tool")


def test_tool_to_run_is_offered_once_a_skill_has_scripts(root: Path, runtime: Runtime, alpha: Path) -> None:
    for file in (alpha / "scripts").iterdir():
        file.unlink()
    write_scripts(root, "hidden", {"run.py": "print('hi')"}, extra="disable-model-invocation: true\n")
    session = open_agreed(runtime, "chat")
    assert "run_skill_script" not in json.dumps(session.tools())
    session.activate("hidden")  # By a person, so that the model has its files too.
    assert "run_skill_script" in json.dumps(session.tools())
    called = session.call("run_skill_script", {"name": "hidden", "script": "scripts/run.py"})
    assert called.data["stdout"] == "hi\n"


# Receipts


@pytest.mark.requirement("K6")
def test_receipt_says_what_was_run_and_how_it_ended(root: Path) -> None:
    moments = iter(range(1000, 2000))
    with Runtime(load_settings(), asker=Agreeable(), clock=lambda: float(next(moments))) as runtime:
        result = runtime.session("chat", agent="").run("alpha", "scripts/fail.py", ["a b", "c"])
        skill = runtime.catalog().get("alpha")
        receipt = RunReceipt(
            result.receipt.id,
            "local",
            "chat",
            "agents:alpha",
            "alpha",
            runtime.digest(skill),
            "scripts/fail.py",
            "'a b' c",
            AskedBy.USER,
            consent="once",
            backend="bubblewrap",
            at=result.receipt.at,
            ended_at=result.receipt.ended_at,
            exit_status=3,
            seconds=result.seconds,
            stdout_bytes=5,
            stderr_bytes=8,
        )
        assert result == RunResult(
            skill,
            "scripts/fail.py",
            3,
            "half\n",
            "no luck\n",
            stdout_truncated=False,
            stderr_truncated=False,
            timed_out=False,
            seconds=result.seconds,
            backend="bubblewrap",
            outputs=(),
            network=False,
            notices=(),
            receipt=receipt,
        )
        assert receipt.ended_at is not None
        assert receipt.at < receipt.ended_at
        assert runtime.runs() == runtime.runs("chat") == (receipt,)
        assert runtime.runs("other") == ()


@pytest.mark.requirement("K6", "R124")
def test_runs_and_their_files_are_counted(runtime: Runtime, session: Session) -> None:
    session.run("alpha", "scripts/leave.py")
    session.call("run_skill_script", {"name": "alpha", "script": "scripts/print.py", "arguments": ["x"]})
    newest, oldest = runtime.runs()
    assert (oldest.output_files, oldest.output_bytes, oldest.asked_by) == (2, 260, AskedBy.USER)
    assert (newest.output_files, newest.arguments, newest.asked_by) == (0, "x", AskedBy.MODEL)
    assert runtime.usage().skills == (Usage("agents:alpha", "alpha", 0, 0, 0, newest.at, 2),)


@pytest.mark.requirement("K6")
def test_receipt_of_a_run_that_took_too_long_says_so(runtime: Runtime, session: Session) -> None:
    session.run("alpha", "scripts/sleep.py", request=RunRequest(timeout_seconds=0.5))
    (receipt,) = runtime.runs()
    assert (receipt.timed_out, receipt.exit_status, receipt.is_open) == (True, 137, False)
    assert receipt.seconds >= 0.5


@pytest.mark.requirement("K6")
def test_receipt_is_there_while_the_script_runs(runtime: Runtime, session: Session) -> None:
    seen: list[RunReceipt] = []
    session.run("alpha", "scripts/later.py", listener=_once_ready(lambda: seen.extend(runtime.runs())))
    (receipt,) = seen
    assert (receipt.is_open, receipt.exit_status, receipt.script) == (True, None, "scripts/later.py")


_RUN_LONG = """
with Runtime.open(asker=CallbackAsker(lambda _: Answer.ALLOW_ONCE)) as runtime:
    hear = lambda _, part: print(part.decode(), end="", flush=True)
    runtime.session("chat").run("alpha", "scripts/sleep.py", [sys.argv[1]], listener=hear)
"""


@pytest.mark.requirement("K6", "R97")
def test_run_whose_runtime_is_killed_ends_with_it_and_stays_open(runtime: Runtime) -> None:
    marker = "marker-of-a-run-without-a-master"
    process = start_python(_RUN_LONG, marker)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len(find_processes(marker)) > 1
    finally:
        process.kill()
        process.communicate()
    assert is_gone(marker)
    (receipt,) = runtime.runs()
    assert (receipt.is_open, receipt.session, receipt.exit_status) == (True, "chat", None)


def test_old_outputs_are_removed_by_a_run(home: Home, session: Session) -> None:
    runs = home.prowess / "users" / "local" / "runs"
    for name, days in (("old", 30), ("young", 1)):
        (runs / name).mkdir(parents=True)
        moment = (runs / name).stat().st_mtime - days * 86_400
        os.utime(runs / name, (moment, moment))
    result = session.run("alpha", "scripts/leave.py")
    assert sorted(path.name for path in runs.iterdir()) == sorted([result.receipt.id, "young"])


def test_failure_of_the_system_is_an_error_of_ours(home: Home, root: Path, tmp_path: Path) -> None:
    home.write_settings(ONLY_MINE + '[execution]\nworkspace = "write"\n')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        os.chdir(tmp_path)
        home.project.rename(tmp_path / "elsewhere")
        assert refusal(lambda: session.run("alpha", "scripts/print.py"), WorldError).hint
        called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/print.py"})
        assert called.is_error


@pytest.mark.requirement("K3", "K7")
def test_missing_interpreter_is_told_before_anybody_runs_the_script(runtime: Runtime, root: Path) -> None:
    commands = runtime.workbench.choose()[1].commands
    absent = next(row for row in INTERPRETERS if not any(way[0] in commands for way in row.commands))
    path = f"scripts/paint{absent.suffixes[0]}"
    write_skill(root, "painter", files={"scripts/good.py": "print()\n", path: "1\n", "scripts/notes.txt": "x\n"})
    (problem,) = runtime.script_problems(runtime.rescan().get("painter"))
    assert (problem.code, problem.path) == ("interpreter-missing", path)
    assert problem.message == f"{path} needs {absent.name}, which the bubblewrap sandbox has not"
    explanation = runtime.why("painter")
    assert explanation.visible
    assert "interpreter-missing" in [reason.code for reason in explanation.reasons]


@pytest.mark.requirement("K3", "K7")
def test_first_line_that_is_too_long_means_the_same_to_a_run_and_to_a_problem(runtime: Runtime, root: Path) -> None:
    commands = runtime.workbench.choose()[1].commands
    absent = next(row for row in INTERPRETERS if not any(way[0] in commands for way in row.commands))
    script = f"#!/usr/bin/env {absent.name} {'x' * 600}\nprint('python')\n"
    write_skill(root, "painter", files={"scripts/paint.py": script})
    assert runtime.script_problems(runtime.rescan().get("painter")) == ()
    assert open_agreed(runtime).run("painter", "scripts/paint.py").stdout == "python\n"
