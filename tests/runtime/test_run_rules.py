"""What runs may do (K2): rules of the host, of the session and of the skill itself; network and workspace."""

import json
import logging
import os
from pathlib import Path

import pytest

from prowess.errors import Refused
from prowess.execution.rules.rights import EVERYTHING, NOTHING, Rights
from prowess.policy import WorkspaceAccess
from prowess.runtime import Runtime
from prowess.runtime.run_results import RunRequest
from tests.runtime.opening import ONLY_MINE
from tests.runtime.runs import open_agreed, refusal, said, try_run, write_scripts
from tests.skills_on_disk import Home

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K2")]

_RUN = "scripts/run.py"
_FORBIDDEN = "tool-not-allowed"
_REACH = """
import json, socket, sys
try:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5) as reached:
        print(json.dumps(reached.recv(100).decode()))
except OSError:
    print(json.dumps("nothing reached"))
"""
_TOUCH = """
import json, os
def attempt(act):
    try:
        return act()
    except OSError as error:
        return error.strerror
def write():
    with open("/workspace/new.txt", "w") as file:
        file.write("from inside")
    return "written"
print(json.dumps({
    "seen": attempt(lambda: sorted(os.listdir("/workspace"))), "write": attempt(write),
    "variable": os.environ.get("PROWESS_WORKSPACE"), "folder": os.getcwd(),
}))
"""


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """A skill whose own rules cover one of its scripts."""
    scripts = {"run.py": "print('hi')", "other.sh": "echo other", "reach.py": _REACH, "touch.py": _TOUCH}
    extra = "allowed-tools: Bash(python3 scripts/run.py:*) Read\n"
    write_scripts(root, "beta", scripts)
    return write_scripts(root, "alpha", scripts, extra=extra)


def _set(home: Home, *lines: str) -> None:
    home.write_settings("\n".join([ONLY_MINE, "[execution]", *lines, ""]))


# The skill's own rules


@pytest.mark.requirement("R98", "R8")
def test_uncovered_run_goes_on_and_its_result_says_so(runtime: Runtime) -> None:
    session = open_agreed(runtime)
    assert session.run("alpha", _RUN).notices == ()
    told = (
        "the skill's own allowed-tools do not cover running scripts/other.sh: "
        "no rule covers running the script 'scripts/other.sh'"
    )
    result = session.run("alpha", "scripts/other.sh")
    assert (result.stdout, result.notices) == ("other\n", (told,))
    called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/other.sh"})
    assert called.content.endswith(f"[{told}]")
    assert session.run("beta", "scripts/other.sh").notices == ()  # It has no rules of its own.


@pytest.mark.requirement("R98")
def test_uncovered_run_is_logged_where_the_policy_only_logs(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    _set(home, 'allowed_tools = "log"')
    with Runtime.open() as runtime, caplog.at_level(logging.INFO, "prowess"):
        assert open_agreed(runtime).run("alpha", "scripts/other.sh").notices == ()
    assert "skill 'alpha': the skill's own allowed-tools do not cover running scripts/other.sh" in caplog.text


@pytest.mark.requirement("R98")
def test_uncovered_run_is_refused_where_the_policy_enforces(home: Home) -> None:
    _set(home, 'allowed_tools = "enforce"')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        assert try_run(session, "alpha", _RUN) == "once"
        error = refusal(lambda: session.run("alpha", "scripts/other.sh"), Refused)
        assert error.code == "tool-not-allowed"
        assert error.message.startswith("skill 'alpha': the skill's own allowed-tools do not cover")
        called = session.call("run_skill_script", {"name": "alpha", "script": "scripts/other.sh"})
        assert (called.is_error, called.data["error"]["code"]) == (True, "tool-not-allowed")
        assert [receipt.script for receipt in runtime.runs()] == [_RUN]


@pytest.mark.requirement("K10")
def test_what_a_skill_forbids_is_refused_whatever_else_allows_it(home: Home, root: Path) -> None:
    extra = "allowed-tools: Bash Write\ndisallowed-tools: Bash(sh:*), Write(src/**)\n"
    write_scripts(root, "gamma", {"run.py": "print('hi')", "other.sh": "echo other"}, extra=extra)
    _set(home, 'allowed_tools = "log"')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        assert [try_run(session, "gamma", script) for script in (_RUN, "scripts/other.sh")] == ["once", _FORBIDDEN]
        assert session.check_tool("gamma", "Write", "notes.txt") == ()
        error = refusal(lambda: session.check_tool("gamma", "Write", "src/a.py"), Refused)
        assert (error.code, error.message) == (
            _FORBIDDEN,
            "skill 'gamma': its own disallowed-tools forbid the tool Write, by Write(src/**)",
        )


# The host's rules


@pytest.mark.requirement("R98")
@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ('["*"]', ["once", "once"]),
        ("[]", ["tool-not-allowed", "tool-not-allowed"]),
        ('["run_skill_script(scripts/*.sh)"]', ["tool-not-allowed", "once"]),
        ('["Bash(python3:*)"]', ["once", "tool-not-allowed"]),
        ('["Read"]', ["tool-not-allowed", "tool-not-allowed"]),
    ],
)
def test_host_says_which_scripts_any_skill_may_run(home: Home, tools: str, expected: list[str]) -> None:
    _set(home, f"tools = {tools}", 'allowed_tools = "enforce"')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        assert [try_run(session, "beta", script) for script in (_RUN, "scripts/other.sh")] == expected


@pytest.mark.requirement("R127", "K7")
def test_skill_is_hidden_while_a_tool_that_it_requires_is_off(home: Home, root: Path) -> None:
    write_scripts(root, "gamma", {"run.py": "print('hi')"}, extra="requires:\n  tools: [Bash, web_search]\n")
    _set(home, 'tools = ["Bash(git:*)", "run_skill_script"]')
    with Runtime.open() as runtime:
        assert runtime.view().names() == ("alpha", "beta")
        (reason,) = runtime.why("gamma").reasons
        assert reason.message == "agents:gamma: the tool web_search is off: no rule of the host is for it"
    _set(home, 'tools = ["Bash(git:*)", "web_search"]')
    with Runtime.open() as runtime:
        assert "gamma" in runtime.view().names()


@pytest.mark.requirement("R98")
def test_rules_of_the_skill_do_not_widen_those_of_the_host(home: Home, root: Path) -> None:
    write_scripts(root, "gamma", {"run.py": "print('hi')"}, extra="allowed-tools: Bash(*) run_skill_script\n")
    _set(home, 'tools = ["run_skill_script(scripts/*.sh)"]')
    with Runtime.open() as runtime:
        error = refusal(lambda: open_agreed(runtime).run("gamma", _RUN), Refused)
        assert (error.code, error.hint) == ("tool-not-allowed", "the operator allows more with execution.tools")


@pytest.mark.requirement("R98")
def test_tool_call_under_a_skill_is_checked_by_all_rules(home: Home) -> None:
    _set(home, 'allowed_tools = "enforce"', 'tools = ["Bash", "Read", "Write(out/**)"]')
    with Runtime.open() as runtime:
        session = runtime.session()
        assert session.check_tool("alpha", "Read", "notes.txt") == ()
        assert session.check_tool("alpha", "Bash", "python3 scripts/run.py --fast") == ()
        assert session.check_tool("beta", "Write", "out/a.txt") == ()
        for name, tool, subject in (
            ("alpha", "Bash", "rm -rf ."),
            ("alpha", "Bash", "python3 scripts/run.py; rm -rf ."),
            ("alpha", "Write", "out/a.txt"),
            ("beta", "Write", "out/../a.txt"),
            ("beta", "WebFetch", "https://example.org"),
        ):
            error = refusal(lambda: session.check_tool(name, tool, subject), Refused)  # noqa: B023 - called at once
            assert error.code == "tool-not-allowed"


@pytest.mark.requirement("R98")
def test_tool_call_that_the_skill_does_not_cover_is_told(runtime: Runtime) -> None:
    told = runtime.session().check_tool("alpha", "Bash", "git push")
    assert told == ("the skill's own allowed-tools do not cover the tool Bash: no rule covers the command 'git push'",)


# The session's rights


def test_session_without_rights_runs_nothing(runtime: Runtime) -> None:
    session = open_agreed(runtime, rights=NOTHING)
    assert try_run(session, "beta", _RUN) == "tool-not-allowed"
    assert refusal(lambda: session.check_tool("beta", "Read", "a.txt"), Refused).code == "tool-not-allowed"
    assert session.question("run_skill_script", {"name": "beta", "script": _RUN}) is None


def test_session_has_no_more_than_the_settings_allow(runtime: Runtime) -> None:
    session = open_agreed(runtime, rights=EVERYTHING)
    assert session.rights == runtime.rights
    assert (session.rights.network, session.rights.workspace) == (False, WorkspaceAccess.NONE)
    assert try_run(session, "beta", _RUN, request=RunRequest(network=True)) == "no-network"


def test_session_has_no_more_than_whoever_opened_it(home: Home) -> None:
    _set(home, 'network = "granted"', 'workspace = "write"')
    rights = Rights(workspace=WorkspaceAccess.READ, tools=(("run_skill_script",),))
    with Runtime.open() as runtime:
        session = open_agreed(runtime, rights=rights)
        result = session.run("beta", "scripts/touch.py")
        assert said(result)["write"] == "Read-only file system"
        assert result.receipt.powers == (f"workspace:read:{os.getcwd()}",)
        assert try_run(session, "beta", _RUN, request=RunRequest(network=True)) == "no-network"
        assert try_run(session, "beta", _RUN, request=RunRequest(workspace=WorkspaceAccess.WRITE)) == "no-workspace"


# Network


def test_run_has_no_network_and_none_is_to_be_had(runtime: Runtime, port: int) -> None:
    session = open_agreed(runtime)
    result = session.run("beta", "scripts/reach.py", [str(port)])
    assert (said(result), result.network, result.receipt.powers) == ("nothing reached", False, ())
    error = refusal(lambda: session.run("beta", "scripts/reach.py", request=RunRequest(network=True)), Refused)
    assert (error.code, error.hint) == ("no-network", 'set execution.network = "granted" in the settings')


def test_run_has_a_network_if_settings_grant_it_and_somebody_agrees(home: Home, port: int) -> None:
    _set(home, 'network = "granted"')
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        assert said(session.run("beta", "scripts/reach.py", [str(port)])) == "nothing reached"
        result = session.run("beta", "scripts/reach.py", [str(port)], request=RunRequest(network=True))
        assert (said(result), result.network, result.receipt.powers) == ("welcome", True, ("network",))


def test_skill_that_asks_for_the_network_gets_it_only_by_the_settings(home: Home, root: Path, port: int) -> None:
    write_scripts(root, "gamma", {"reach.py": _REACH}, extra='permissions: ["@network"]\n')
    call: dict[str, object] = {"name": "gamma", "script": "scripts/reach.py", "arguments": [str(port)]}
    with Runtime.open() as runtime:
        result = open_agreed(runtime).run("gamma", "scripts/reach.py", [str(port)])
        told = ("the skill asks for the network, which runs do not have here",)
        assert (said(result), result.notices) == ("nothing reached", told)
    _set(home, 'network = "granted"')
    with Runtime.open() as runtime:
        called = open_agreed(runtime).call("run_skill_script", call)
        assert (json.loads(called.data["stdout"]), called.data["network"]) == ("welcome", True)
        assert ", with a network." in called.content
        without = open_agreed(runtime, rights=Rights(tools=EVERYTHING.tools)).call("run_skill_script", call)
        assert (json.loads(without.data["stdout"]), "network" in without.data) == ("nothing reached", False)


def test_permission_that_nobody_understands_is_refused(root: Path, runtime: Runtime) -> None:
    write_scripts(root, "gamma", {"run.py": "print('hi')"}, extra='permissions: ["@everything"]\n')
    assert try_run(open_agreed(runtime), "gamma", _RUN) == "bad-permission"


# Workspace


def test_workspace_is_not_seen_without_a_word(runtime: Runtime) -> None:
    session = open_agreed(runtime)
    seen = said(session.run("beta", "scripts/touch.py"))
    nothing = "No such file or directory"
    assert (seen["seen"], seen["write"], seen["variable"]) == (nothing, nothing, None)
    request = RunRequest(workspace=WorkspaceAccess.READ)
    error = refusal(lambda: session.run("beta", "scripts/touch.py", request=request), Refused)
    assert (error.code, error.hint) == ("no-workspace", 'set execution.workspace = "read" in the settings')


def test_workspace_can_be_read_where_the_settings_say_so(home: Home) -> None:
    (home.project / "notes.txt").write_text("mine")
    _set(home, 'workspace = "read"')
    with Runtime.open() as runtime:
        result = open_agreed(runtime).run("beta", "scripts/touch.py")
    assert said(result) == {
        "seen": [".git", "notes.txt"],
        "write": "Read-only file system",
        "variable": "/workspace",
        "folder": "/shared/skills/agents--beta",
    }
    assert result.receipt.powers == (f"workspace:read:{os.getcwd()}",)


def test_workspace_can_be_written_as_its_owner(home: Home) -> None:
    if os.geteuid() == 0:
        os.chown(home.project, 1234, 1234)
    _set(home, 'workspace = "write"')
    with Runtime.open() as runtime:
        result = open_agreed(runtime).run("beta", "scripts/touch.py")
    assert (said(result)["write"], result.receipt.powers) == ("written", (f"workspace:write:{os.getcwd()}",))
    made = home.project / "new.txt"
    assert (made.read_text(), made.stat().st_uid) == ("from inside", home.project.stat().st_uid)


def test_workspace_of_root_is_written_by_no_script(home: Home) -> None:
    _set(home, 'workspace = "write"')
    is_of_root = home.project.stat().st_uid == 0
    with Runtime.open() as runtime:
        session = open_agreed(runtime)
        called = session.call("run_skill_script", {"name": "beta", "script": "scripts/touch.py"})
        assert called.is_error == is_of_root
        assert called.data.get("error", {}).get("code") == ("workspace-of-root" if is_of_root else None)
        assert (home.project / "new.txt").exists() != is_of_root
        request = RunRequest(workspace=WorkspaceAccess.READ)
        seen = said(session.run("beta", "scripts/touch.py", request=request))
        assert seen["write"] == "Read-only file system"


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("where", ["home", "prowess", "inside", "link"])
def test_folder_of_prowess_itself_is_no_workspace(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It holds secrets, and whoever writes there decides on grants."""
    _set(home, 'workspace = "read"')
    (home.prowess / "cache").mkdir()
    (tmp_path / "link").symlink_to(home.path)
    folders = {"home": home.path, "prowess": home.prowess, "inside": home.prowess / "cache", "link": tmp_path / "link"}
    monkeypatch.chdir(folders[where])
    with Runtime.open() as runtime:
        error = refusal(lambda: open_agreed(runtime).run("beta", _RUN), Refused)
        assert error.code == "workspace-exposed"
        assert str(home.path) not in error.message
        request = RunRequest(workspace=WorkspaceAccess.NONE)
        assert try_run(open_agreed(runtime), "beta", _RUN, request=request) == "once"


@pytest.mark.requirement("R94")
@pytest.mark.parametrize(
    ("permissions", "missing"),
    [
        ("[]", ""),
        ('["@read:/srv/data/in"]', ""),
        ('["@read:/srv/data", "@network"]', "Cannot attach permission '@network' - you don't have it."),
        ('["@write:/srv/data"]', "Cannot attach permission '@write:/srv/data' - you don't have it."),
        ('["@workspace"]', "Cannot attach permission '@workspace' - you don't have it."),
    ],
)
def test_skill_that_asks_for_more_than_the_session_has_is_refused(
    root: Path, runtime: Runtime, permissions: str, missing: str
) -> None:
    write_scripts(root, "gamma", {"run.py": "print()"}, extra=f"permissions: {permissions}\n")
    session = runtime.session(rights=Rights(read_dirs=("/srv/data",)))
    if not missing:
        session.check_permissions("gamma")
        return
    assert refusal(lambda: session.check_permissions("gamma"), Refused).message == missing


@pytest.mark.requirement("K3")
def test_programs_of_further_folders_are_found(root: Path, home: Home, tmp_path: Path) -> None:
    program = tmp_path / "tools" / "bin" / "ruby"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "ours: $(cat "$1")"\n', "utf-8")
    for path in (tmp_path, program.parent.parent, program.parent, program):
        os.chmod(path, 0o755)
    write_scripts(root, "painter", {"paint.rb": "puts 1"})
    _set(home, f'programs = ["{program.parent.parent}"]')
    with Runtime.open() as runtime:
        result = open_agreed(runtime).run("painter", "scripts/paint.rb")
    if os.path.exists("/usr/bin/ruby"):  # The machine's own comes first.
        assert result.stdout == "1\n"
    else:
        assert result.stdout == "ours: puts 1\n"


def test_permissions_that_a_run_does_not_have_are_told(root: Path, runtime: Runtime) -> None:
    write_scripts(root, "delta", {"run.py": "print()"}, extra='permissions: ["@events", "@read:/srv"]\n')
    notices = open_agreed(runtime).run("delta", _RUN).notices
    assert notices == (
        "the skill asks for @events, which this run does not have",
        "the skill asks for @read:/srv, which this run does not have",
    )
