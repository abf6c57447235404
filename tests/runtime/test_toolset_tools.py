"""Tools that skills bring (R69): offered while the skill is active, and run in a sandbox, whatever their code does."""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from prowess.activation.consent import Answer, Confirmation
from prowess.activation.grants import Act, Decision
from prowess.activation.receipts import AskedBy
from prowess.copies.versions import Pin
from prowess.execution.rules.rights import NOTHING
from prowess.runtime import Runtime, Session
from prowess.runtime.runner import Runner
from prowess.runtime.toolset_tools import ToolsetTools
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet
from tests.runtime.opening import ONLY_MINE, run_python
from tests.runtime.people import Person
from tests.runtime.runs import Agreeable, is_gone, open_agreed, write_scripts
from tests.skills_on_disk import Home

pytestmark = [pytest.mark.slow, pytest.mark.requirement("R69")]

_HEAD = "import os, signal, sys, time\nfrom prowess_toolset import ToolError, Toolset, tool\n"
_SUMS = '''
open({outside!r}, "w").close() if os.path.isdir({folder!r}) else None

class Sums(Toolset):
    @tool
    def add(self, a: int, b: int = 1) -> int:
        """Add two numbers.

        a: the first number
        """
        return a + b

    @tool
    def divide(self, a: float, b: float) -> float:
        """Divide."""
        if b == 0:
            raise ToolError("b must not be 0")
        return a / b
'''
_ROUGH = '''
class Rough(Toolset):
    @tool
    def slow(self) -> str:
        """Sleep."""
        time.sleep(60)
    @tool
    def leave(self) -> str:
        """Leave."""
        os._exit(7)
    @tool
    def kill(self) -> str:
        """Kill itself."""
        os.kill(os.getpid(), signal.SIGKILL)
    @tool
    def chat(self) -> str:
        """Print."""
        print("to standard output"); print("to standard error", file=sys.stderr)
        return "said"
    @tool
    def forge(self) -> str:
        """Write the reply itself."""
        with open(os.path.join(os.environ["PROWESS_OUTPUT"], "reply.json"), "w") as file:
            file.write("{not json")
        os._exit(0)
    @tool
    def flood(self) -> str:
        """Write a reply that is too large."""
        with open(os.path.join(os.environ["PROWESS_OUTPUT"], "reply.json"), "w") as file:
            file.write('{"protocol": 1, "result": "' + "x" * 2_000_000 + '"}')
        os._exit(0)
    @tool
    def link(self) -> str:
        """Let the reply be a link."""
        os.symlink("/etc/passwd", os.path.join(os.environ["PROWESS_OUTPUT"], "reply.json"))
        os._exit(0)
    @tool
    def raise_it(self) -> str:
        """Raise."""
        raise ValueError("wrong \\x1b[31m turn")
    @tool
    def odd(self):
        """Return no JSON."""
        return object()
    @tool
    def files(self) -> str:
        """Leave files."""
        for number in range(60):
            open(os.path.join(os.environ["PROWESS_OUTPUT"], f"file-{number:02}.txt"), "w").close()
        return "left"
'''


def _write(root: Path, name: str, code: str, *references: str, extra: str = "") -> Path:
    toolsets = f"toolsets: {json.dumps(list(references))}\n"
    return write_scripts(root, name, {"toolsets/index.py": _HEAD + code}, extra=toolsets + extra)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that the toolset's code makes when it is loaded, if it finds its folder."""
    return tmp_path / "home" / "loaded"


@pytest.fixture(autouse=True)
def sums(root: Path, outside: Path) -> Path:
    """A skill with a toolset."""
    code = _SUMS.format(outside=str(outside), folder=str(outside.parent))
    return _write(root, "sums", code, "toolsets/index:Sums")


@pytest.fixture
def session(runtime: Runtime) -> Session:
    """A chat whose user agrees to everything."""
    return open_agreed(runtime, "chat")


def _names(session: Session) -> list[str]:
    names = [tool["function"]["name"] for tool in session.tools()]
    return [name for name in names if "__" in name]


def _activate(session: Session, name: str = "sums") -> str:
    result = session.call("activate_skill", {"name": name})
    assert not result.is_error
    return result.content.rpartition("\n\n")[2]


def _call(session: Session, tool: str, arguments: dict[str, object] | None = None) -> tuple[bool, str]:
    result = session.call(tool, arguments or {})
    return result.is_error, result.content


# While it is active


def test_tools_are_there_while_the_skill_is_active(session: Session) -> None:
    assert _names(session) == []
    assert _call(session, "sums__add", {"a": 2})[0]
    assert _activate(session) == "Tools of this skill that you can call now: sums__add, sums__divide."
    assert _names(session) == ["sums__add", "sums__divide"]
    assert session.tools("mcp")[-2] == {
        "name": "sums__add",
        "title": "add",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "the first number"},
                "b": {"type": "integer", "default": 1},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True},
    }
    result = session.call("sums__add", '{"a": 2, "b": 40}')
    assert (result.is_error, result.content, result.data["result"]) == (False, "42", 42)
    session.deactivate("sums")
    assert _names(session) == []
    assert "Unknown tool: sums__add" in _call(session, "sums__add", {"a": 2})[1]


def test_call_has_a_receipt_that_counts_only_what_is_kept(session: Session, runtime: Runtime, home: Home) -> None:
    _activate(session)
    session.call("sums__add", {"a": 2})
    called, listed = runtime.runs()
    assert [receipt.script for receipt in (listed, called)] == ["toolsets/index:Sums", "sums__add"]
    assert (called.asked_by, called.exit_status, called.output_files) == (AskedBy.MODEL, 0, 0)
    assert not list((home.prowess / "users" / "local" / "runs").iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "'a' is missing"),
        ({"a": "2"}, "'a' must be a whole number"),
        ({"a": 1, "c": 2}, "no argument 'c'"),
        ({"a": True}, "'a' must be a whole number"),
        ("{broken", "JSON"),
        ("[1]", "object"),
    ],
)
def test_wrong_arguments_are_told_and_run_nothing(
    session: Session, runtime: Runtime, arguments: dict[str, object] | str, told: str
) -> None:
    _activate(session)
    result = session.call("sums__add", arguments)
    assert (result.is_error, told in result.content) == (True, True)
    assert len(runtime.runs()) == 1  # The listing.


def test_error_of_a_tool_is_told_to_the_model(session: Session) -> None:
    _activate(session)
    assert _call(session, "sums__divide", {"a": 1, "b": 0}) == (True, "b must not be 0")
    assert _call(session, "sums__divide", {"a": 1, "b": 2}) == (False, "0.5")


def test_code_is_never_loaded_into_this_process(session: Session, outside: Path, home: Home) -> None:
    before = set(sys.modules)
    _activate(session)
    session.call("sums__add", {"a": 2})
    assert home.path.is_dir()
    assert not outside.exists()
    assert not {name for name in set(sys.modules) - before if "toolset" in name and not name.startswith("prowess.")}


# Rough code


@pytest.fixture
def rough(root: Path, home: Home) -> Runtime:
    """A runtime with a skill whose tools behave badly, and little patience."""
    _write(root, "rough", _ROUGH, "toolsets/index:Rough")
    home.write_settings(ONLY_MINE + "[execution]\ntimeout_seconds = 2\n")
    return Runtime.open(asker=Agreeable())


def test_tool_that_fails_in_any_way_is_an_error_and_the_conversation_goes_on(rough: Runtime) -> None:
    silent = "the tools of skill 'rough' gave no answer: "
    advice = "\nGo on without them, and tell the user so"
    mend = "\nThe author of the skill must correct its toolset"
    expected = {
        "slow": f"{silent}it took too long{advice}",
        "leave": f"{silent}they ended with status 7{advice}",
        "kill": f"{silent}they ended with status 137{advice}",
        "forge": f"the reply is not valid JSON{mend}",
        "flood": f"the reply has more than 1,000,000 bytes{mend}",
        "link": f"{silent}output reply.json is a link and was left behind{advice}",
    }
    with rough:
        session = rough.session("chat")
        _activate(session, "rough")
        assert {name: _call(session, f"rough__{name}") for name in expected} == {
            name: (True, text) for name, text in expected.items()
        }
        assert _call(session, "rough__chat") == (False, "said")
        assert all(receipt.ended_at is not None for receipt in rough.runs())


def test_tool_that_raises_or_returns_no_json_says_so(rough: Runtime) -> None:
    with rough:
        session = rough.session("chat")
        _activate(session, "rough")
        is_error, text = _call(session, "rough__raise_it")
        assert (is_error, "ValueError" in text, "\x1b" in text) == (True, True, False)
        is_error, text = _call(session, "rough__odd")
        assert (is_error, "object" in text) == (True, True)


def test_files_of_a_tool_are_kept_and_a_cut_is_seen(rough: Runtime) -> None:
    with rough:
        session = rough.session("chat")
        _activate(session, "rough")
        _, text = _call(session, "rough__files")
        assert text.startswith("left\n\nFiles kept for the user: file-00.txt, file-01.txt")
        assert text.endswith("file-49.txt and 10 more")
        assert rough.runs()[0].output_files == 60


@pytest.mark.parametrize("code", ["time.sleep(60)", "os._exit(3)", "raise ValueError('broken')", "print(1 /"])
def test_toolset_that_cannot_be_listed_is_tried_once(root: Path, home: Home, code: str) -> None:
    _write(root, "bad", code, "toolsets/index:Bad")
    home.write_settings(ONLY_MINE + "[execution]\ntimeout_seconds = 1\n")
    with Runtime.open() as runtime:
        runtime.decide("bad", Decision.ALLOW)
        runtime.decide("bad", Decision.ALLOW, act=Act.RUN)
        session = runtime.session("chat")
        said = _activate(session, "bad")
        assert said.startswith("Its tools cannot be called: ")
        begun = time.monotonic()
        for _ in range(5):
            assert _names(session) == []
            assert session.prompt()
            assert not session.call("read_skill_resource", {"name": "bad", "path": "toolsets/index.py"}).is_error
        assert time.monotonic() - begun < 5.0
        assert len(runtime.runs()) == 1
        assert runtime.runs()[0].seconds < 5.0  # As the settings say, and not as long as listings may take at most.


def test_broken_toolset_takes_nothing_from_the_others(root: Path, session: Session) -> None:
    code = "class Good(Toolset):\n    @tool\n    def hi(self) -> str:\n        'Greet.'\n        return 'hi'\n"
    references = ["toolsets/gone:X", "../../out:X", "toolsets/index:Missing", "toolsets/index:Good"]
    _write(root, "mixed", code, *references)
    said = _activate(session, "mixed")
    assert said.startswith("Tools of this skill that you can call now: mixed__hi. Others cannot be called: ")
    assert [part in said for part in ("toolsets/gone.py", "../../out:X", "Missing")] == [True] * 3
    assert _call(session, "mixed__hi") == (False, "hi")


def test_too_many_toolsets_are_told(root: Path, session: Session) -> None:
    code = "".join(
        f"class T{n}(Toolset):\n    @tool\n    def t{n}(self) -> int:\n        return {n}\n" for n in range(10)
    )
    _write(root, "many", code, *(f"toolsets/index:T{n}" for n in range(10)))
    assert _activate(session, "many").endswith("Others cannot be called: only the first 8 of its 10 toolsets are used.")
    assert len(_names(session)) == 8


# Consent


@pytest.mark.requirement("K1")
def test_refused_tools_are_absent_with_the_reason_and_the_skill_works(runtime: Runtime) -> None:
    person = Person(Answer.ALLOW_ALWAYS, Answer.REFUSE)
    session = runtime.session("chat", asker=person)
    assert _activate(session) == "Its tools cannot be called: the user refused to run tools of skill 'sums'."
    assert (_names(session), len(session.active())) == ([], 1)
    assert [question.title for question in person.questions] == [
        'Activate skill "sums"',
        'Run tools of skill "sums"',
    ]
    assert runtime.runs() == ()


@pytest.mark.requirement("K1")
def test_nobody_to_ask_means_no_tools(runtime: Runtime) -> None:
    runtime.decide("sums", Decision.ALLOW)
    session = runtime.session("chat")
    assert _activate(session).startswith("Its tools cannot be called: running tools of skill 'sums' needs the user's")
    assert (_names(session), runtime.runs()) == ([], ())
    runtime.decide("sums", Decision.ALLOW, act=Act.RUN)
    assert _names(session) == ["sums__add", "sums__divide"]


@pytest.mark.requirement("K1")
def test_tools_go_once_they_are_refused_though_they_are_known(runtime: Runtime) -> None:
    session = open_agreed(runtime, "chat")
    _activate(session)
    assert _names(session) == ["sums__add", "sums__divide"]
    runtime.decide("sums", Decision.REFUSE, act=Act.RUN)
    assert _names(session) == []
    assert _call(session, "sums__add", {"a": 1})[0]


@pytest.mark.requirement("K1", "R126")
def test_call_of_a_known_tool_asks_and_its_answer_is_for_it_alone(runtime: Runtime) -> None:
    _activate(open_agreed(runtime, "before"))  # So the tools are known.
    runtime.decide("sums", Decision.ALLOW)
    session = runtime.session("chat")
    _activate(session)
    call: dict[str, object] = {"a": 1}
    assert session.call("sums__add", call).data["error"]["code"] == "consent-needed"
    asked = [session.question("sums__add", call) for _ in range(2)]
    given = [Confirmation(question.id, Answer.ALLOW_ONCE) for question in asked if question is not None]
    assert asked[0] is not None
    assert (asked[0].act, asked[0].tool, asked[0].arguments, asked[0].title) == (
        Act.RUN,
        "sums__add",
        ('{"a": 1}',),
        'Run sums__add of skill "sums"',
    )
    assert session.call("sums__add", {"a": 2}, confirmation=given[0]).data["error"]["code"] == "confirmation-mismatch"
    assert session.call("sums__add", call, confirmation=given[1]).content == "2"
    assert session.question("sums__add", {"a": "no number"}) is None


def test_changed_toolset_is_listed_anew_with_a_new_question(runtime: Runtime, sums: Path) -> None:
    session = runtime.session("chat", asker=Agreeable())
    _activate(session)
    index = sums / "toolsets" / "index.py"
    index.write_text(index.read_text().replace("def add", "def plus"))
    assert _names(session) == []
    session.deactivate("sums")
    _activate(session)
    assert _names(session) == ["sums__plus", "sums__divide"]


# Listings that are kept


class _Restless:
    """A session's runner; the skill is changed each time that somebody has got hold of it."""

    def __init__(self, runner: Runner, change: Callable[[], object]) -> None:
        self._runner = runner
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def hold(self, skill: Skill, stack: ExitStack) -> tuple[Skill, FileSet, Pin]:
        held = self._runner.hold(skill, stack)
        self._change()
        return held


def test_skill_that_changes_while_it_is_listed_is_remembered_as_it_was(
    session: Session, runtime: Runtime, sums: Path, tmp_path: Path
) -> None:
    index = sums / "toolsets" / "index.py"
    before, after = index.read_text(), index.read_text().replace("def add", "def plus")
    skill = runtime.rescan().get("sums")
    runner = _Restless(session._runner, lambda: index.write_text(after))  # pyright: ignore[reportPrivateUsage]
    toolsets = ToolsetTools(cast("Runner", runner), cache=str(tmp_path))
    assert [one.offered.name for one in toolsets.survey(skill).tools] == ["add", "divide"]
    assert [one.offered.name for one in toolsets.survey(skill).tools] == ["plus", "divide"]
    index.write_text(before)
    assert [one.offered.name for one in toolsets.survey(skill).tools] == ["add", "divide"]
    assert len(runtime.runs()) == 2


_LIST = """
with Runtime.open(asker=CallbackAsker(lambda _: Answer.ALLOW_ONCE)) as runtime:
    result = runtime.session("chat").call("activate_skill", {"name": "sums"})
    print(result.data["tools"], len(runtime.runs()))
"""


def test_listing_is_remembered_across_processes(root: Path) -> None:
    assert run_python(_LIST) == "['sums__add', 'sums__divide'] 1\n"
    assert run_python(_LIST.replace("chat", "other")) == "['sums__add', 'sums__divide'] 1\n"


@pytest.mark.parametrize("content", [b"", b"{", b'{"protocol": 1}', b"\xff\x00"])
def test_damaged_memory_of_a_listing_is_replaced(home: Home, runtime: Runtime, content: bytes) -> None:
    _activate(open_agreed(runtime, "first"))
    (kept,) = (home.prowess / "cache" / "toolsets-1").iterdir()
    good = kept.read_bytes()
    kept.write_bytes(content)
    with Runtime.open() as later:
        _activate(open_agreed(later, "second"))
    assert json.loads(kept.read_bytes()) == json.loads(good)


# Rules, secrets, powers


@pytest.mark.requirement("K2")
def test_session_without_rights_runs_no_code_of_a_toolset(runtime: Runtime) -> None:
    session = open_agreed(runtime, "chat", rights=NOTHING)
    assert _activate(session) == "Its tools cannot be called: tools of skill 'sums' are not allowed here."
    assert (_names(session), runtime.runs()) == ([], ())


@pytest.mark.requirement("K2", "R98")
@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ('["*"]', (False, "2")),
        ('["sums__add"]', (False, "2")),
        ('["sums__divide"]', (True, "")),
    ],
)
def test_host_says_which_tools_may_be_called(home: Home, tools: str, expected: tuple[bool, str]) -> None:
    home.write_settings(f"{ONLY_MINE}[execution]\ntools = {tools}\n")
    with Runtime.open() as runtime:
        session = open_agreed(runtime, "chat")
        _activate(session)
        is_error, text = _call(session, "sums__add", {"a": 1})
        assert (is_error, "" if is_error else text) == expected


@pytest.mark.requirement("R98")
def test_own_rules_of_a_skill_cover_its_own_tools(root: Path, home: Home, outside: Path) -> None:
    code = _SUMS.format(outside=str(outside), folder=str(outside.parent))
    _write(root, "strict", code, "toolsets/index:Sums", extra="allowed-tools: Read\n")
    home.write_settings(ONLY_MINE + '[execution]\nallowed_tools = "enforce"\n')
    with Runtime.open() as runtime:
        session = open_agreed(runtime, "chat")
        _activate(session, "strict")
        assert _call(session, "strict__add", {"a": 1}) == (False, "2")


@pytest.mark.requirement("K8")
def test_tools_have_the_secrets_of_their_skill_and_cannot_tell_them(root: Path, runtime: Runtime) -> None:
    code = """
class Tell(Toolset):
    @tool
    def length(self) -> int:
        return len(os.environ["API_TOKEN"])
    @tool
    def value(self) -> str:
        return os.environ["API_TOKEN"]
    @tool
    def complain(self) -> str:
        raise ToolError("bad " + os.environ["API_TOKEN"])
"""
    _write(root, "tell", code, "toolsets/index:Tell", extra="secrets: [API_TOKEN]\n")
    session = open_agreed(runtime, "chat")
    assert "needs the secret API_TOKEN" in _activate(session, "tell")
    runtime.workbench.secrets().set("API_TOKEN", "a-secret-of-some-length")
    session.deactivate("tell")
    assert _activate(session, "tell").endswith("tell__length, tell__value, tell__complain.")
    assert _call(session, "tell__length") == (False, "23")
    for name in ("value", "complain"):
        is_error, text = _call(session, f"tell__{name}")
        assert (is_error, "a-secret" in text) == (True, False)
        assert "output reply.json holds the secret API_TOKEN" in text


def test_scripts_switched_off_means_no_tools(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE + "[execution]\nenabled = false\n")
    with Runtime.open() as runtime:
        session = open_agreed(runtime, "chat")
        assert _activate(session) == "Its tools cannot be called: scripts of skills are not run here."
        assert _names(session) == []


def test_tool_that_leaves_a_process_behind_leaves_none(root: Path, session: Session) -> None:
    marker = "marker-of-a-forgotten-child"
    code = f"""
class Fork(Toolset):
    @tool
    def fork(self) -> str:
        import subprocess
        child = subprocess.Popen(["sh", "-c", "sleep 60; :", "{marker}"], start_new_session=True)
        time.sleep(0.1)
        return "left" if child.poll() is None else "it has ended by itself"
"""
    _write(root, "forks", code, "toolsets/index:Fork")
    _activate(session, "forks")
    assert _call(session, "forks__fork") == (False, "left")
    assert is_gone(marker)


@pytest.mark.parametrize(
    ("tools", "name"), [("workspace", "activateSkill"), ("remcochat", "skills.activate"), ("daycare", "skill")]
)
def test_each_set_of_tools_tells_of_the_tools_in_its_manner(home: Home, root: Path, tools: str, name: str) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\ntools = "{tools}"\n')
    with Runtime.open(asker=Agreeable()) as runtime:
        session = runtime.session("chat")
        result = session.call(name, {"name": "sums"})
        assert result.data["tools"] == ["sums__add", "sums__divide"]
        assert "Tools of this skill that you can call now: sums__add, sums__divide." in result.content
        assert _call(session, "sums__add", {"a": 1}) == (False, "2")


def test_skills_of_one_name_have_tools_of_their_own(home: Home, root: Path, outside: Path) -> None:
    other = "class Sums(Toolset):\n    @tool\n    def add(self, a: int) -> str:\n        return 'another'\n"
    _write(home.path / "more", "sums", other, "toolsets/index:Sums")
    folders = '["~/.agents/skills", "~/more"]'
    home.write_settings(f'[sources]\ndirectories = {folders}\n[catalog]\nsame_name = "keep-all"\n')
    with Runtime.open(asker=Agreeable()) as runtime:
        session = runtime.session("chat")
        first, second = (skill.id for skill in runtime.catalog().skills if skill.name == "sums")
        assert _activate(session, first).endswith("sums__add, sums__divide.")
        said = _activate(session, second)
        name = said.rpartition(" ")[2].rstrip(".")
        assert len(set(_names(session))) == 3
        assert (_call(session, "sums__add", {"a": 1}), _call(session, name, {"a": 1})) == (
            (False, "2"),
            (False, "another"),
        )


def test_listings_that_are_kept_are_bounded(home: Home, runtime: Runtime) -> None:
    cache = home.prowess / "cache" / "toolsets-1"
    cache.mkdir(parents=True)
    for number in range(1_005):
        (cache / f"{number:064}").write_bytes(b"")
        os.utime(cache / f"{number:064}", (number, number))
    _activate(open_agreed(runtime, "chat"))
    assert len(list(cache.iterdir())) == 1_000
    assert not (cache / f"{5:064}").exists()
    assert (cache / f"{6:064}").exists()


@pytest.mark.requirement("R65")
def test_tools_come_with_a_skill_that_the_user_calls_for(session: Session) -> None:
    received = session.receive("/sums what is three and four?")
    assert received.content.endswith("Tools of this skill that you can call now: sums__add, sums__divide.")
    assert _call(session, "sums__add", {"a": 3, "b": 4}) == (False, "7")


def test_activation_by_the_program_tells_of_tools_too(session: Session) -> None:
    assert "sums__add" in session.activate("sums").text
    assert "sums__add" not in session.activate("sums").text  # It is active already.
