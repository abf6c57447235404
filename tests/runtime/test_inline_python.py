"""Inline Python (R70): one tool that runs code, whose functions are the tools under the very same checks."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.consent import Answer, Confirmation
from prowess.activation.tools import Role, Tool
from prowess.errors import SettingsError
from prowess.execution.jobs import Stream
from prowess.execution.rules.rights import NOTHING
from prowess.execution.stopping import stoppable
from prowess.policy import ToolSet
from prowess.runtime import Runtime, Session
from prowess.runtime.host_tools import HostTool
from prowess.runtime.inline_python import name_functions
from prowess.runtime.tool_results import ToolResult
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.runtime.runs import Agreeable, open_agreed, write_scripts
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.requirement("R70")

_PYTHON = ONLY_MINE + '[activation]\ntools = "python"\n'
_LIST = re.compile(r"<available_skills>.*?</available_skills>", re.DOTALL)
_SUMS = '''
from prowess_toolset import ToolError, Toolset, tool

class Sums(Toolset):
    @tool
    def add(self, a: int, b: int = 1) -> int:
        """Add two numbers.

        a: the first number
        """
        if a < 0:
            raise ToolError("a must not be negative")
        return a + b
'''


@pytest.fixture(autouse=True)
def skills(home: Home, root: Path) -> Path:
    """Settings under which a model writes Python, and two skills."""
    home.write_settings(_PYTHON)
    write_skill(root, "alpha", body="Do it to $ARGUMENTS.\n", files={"references/guide.md": "one\ntwo\nthree\n"})
    write_skill(root, "beta", description="Counts sheep. Use when sheep are to be counted.")
    return root


@pytest.fixture
def session(runtime: Runtime) -> Session:
    """A chat whose user agrees to everything."""
    return open_agreed(runtime, "chat")


def _run(session: Session, code: str, **options: Any) -> ToolResult:
    return session.call("run_python", {"code": code}, **options)


def _stubs(prompt: str) -> dict[str, ast.FunctionDef]:
    """Return the functions that a prompt declares, by name."""
    code = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```$", prompt))
    return {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


# What the model is told


def test_model_is_offered_one_tool(session: Session) -> None:
    (tool,) = session.offered()
    assert (tool.name, tool.role) == ("run_python", Role.PYTHON)
    assert [one["function"]["name"] for one in session.tools()] == ["run_python"]


@pytest.mark.parametrize("tools", [ToolSet.STANDARD, ToolSet.PYTHON])
def test_list_of_skills_stands_in_the_prompt_once(home: Home, tools: ToolSet) -> None:
    """D60."""
    home.write_settings(_PYTHON.replace('"python"', f'"{tools}"'))
    with Runtime.open() as runtime:
        prompt = runtime.session("chat").prompt()
    assert len(_LIST.findall(prompt)) == 1
    for name in ("alpha", "beta"):
        assert prompt.count(f"<name>{name}</name>") == 1
        assert prompt.count(name) == 1


@pytest.mark.parametrize("agent", ["", "background"])
def test_every_agent_gets_the_guidance(runtime: Runtime, agent: str) -> None:
    """D61."""
    prompt = runtime.session("chat", agent=agent).prompt()
    assert prompt.startswith("# Skills\n")
    assert 'run `print(skill("the-name"))` before you begin' in prompt


def test_prompt_declares_every_function_with_a_python_name_and_never_what_runs_it(runtime: Runtime) -> None:
    """D62 and D63."""
    tools = [HostTool(name, "Search.", str) for name in ("search_web", "search-v2", "class", "a.b")]
    session = runtime.session("chat", tools=tools)
    prompt = session.prompt()
    assert list(_stubs(prompt)) == ["skill", "read_resource", "search_skills", "end_skill", "search_web"]
    assert "search-v2" not in prompt
    assert "run_python" not in prompt
    assert 'def skill(name: str, arguments: str = "") -> str:\n    """Return the instructions of a skill' in prompt


def test_scripts_are_told_of_only_where_some_can_be_run(home: Home, runtime: Runtime, skills: Path) -> None:
    assert "run_script" not in runtime.session("chat").prompt()
    write_scripts(skills, "gamma", {"run.py": "print('hi')"})
    prompt = runtime.session("chat").prompt()
    assert "Run a skill's scripts with `run_script`" in prompt
    assert [argument.arg for argument in _stubs(prompt)["run_script"].args.args] == [
        "name",
        "script",
        "arguments",
        "input",
    ]


def test_prompt_stays_the_same_while_nothing_visible_changes(runtime: Runtime) -> None:
    first, second = (runtime.session("chat").prompt() for _ in range(2))
    assert first == second


def test_no_skill_and_no_tool_of_the_application_is_no_prompt_and_no_tool(runtime: Runtime) -> None:
    session = runtime.session("chat", skills=[])
    assert (session.prompt(), session.tools()) == ("", [])


def test_tools_of_the_application_are_declared_where_no_skill_is_visible(runtime: Runtime) -> None:
    session = runtime.session("chat", skills=[], tools=[HostTool("now", "Tell the time.", lambda _: "noon")])
    prompt = session.prompt()
    assert prompt.startswith("You have one tool, which runs Python code.")
    assert list(_stubs(prompt)) == ["now"]
    assert [tool.name for tool in session.offered()] == ["run_python"]


@pytest.mark.parametrize("name", ["run_python", "skill", "end_skill"])
def test_application_cannot_have_the_names_of_functions(runtime: Runtime, name: str) -> None:
    with pytest.raises(SettingsError, match="a tool for skills has this name"):
        runtime.session("chat", tools=[HostTool(name, "Mine.", str)])


@pytest.mark.slow
def test_missing_library_is_told_to_the_operator_before_a_model_is_asked(root: Path) -> None:
    script = """
import sys
sys.modules["pydantic_monty"] = None
from prowess import Runtime, SettingsError
with Runtime.open() as runtime:
    session = runtime.session("chat")
    for ask in (session.prompt, session.tools, lambda: session.call("run_python", {"code": "1"})):
        try:
            ask()
        except SettingsError as error:
            print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no-python"] * 3


@pytest.mark.slow
def test_library_is_loaded_only_when_code_runs(root: Path) -> None:
    script = """
import sys
from prowess import Runtime
with Runtime.open() as runtime:
    session = runtime.session("chat")
    session.prompt(), session.tools()
    print("pydantic_monty" in sys.modules)
    session.call("run_python", {"code": "1"})
    print("pydantic_monty" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


# Calls of the one tool


@pytest.mark.parametrize("tool", ["skill", "read_resource", "activate_skill", "nope"])
def test_nothing_else_can_be_called(session: Session, tool: str) -> None:
    result = session.call(tool, {"name": "alpha"})
    assert (result.is_error, result.role) == (True, None)
    assert result.content == f"Unknown tool: {tool}\nTools: run_python"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "run_python: the argument 'code' is missing"),
        ({"code": 1}, "run_python: 'code' must be a text"),
        ({"code": "'\ud800'"}, "run_python: 'code' holds half of a character, which no text can"),
        ({"code": "1", "more": 1}, "run_python: no argument 'more'"),
        ("{", "run_python: the arguments are not valid JSON"),
    ],
    ids=["none", "number", "half a character", "another", "no JSON"],
)
def test_wrong_call_is_told(session: Session, arguments: Any, complaint: str) -> None:
    assert session.call("run_python", arguments).content == f"{complaint}\nArguments: code: string"


def test_there_is_no_question_beforehand(runtime: Runtime) -> None:
    session = runtime.session("chat")
    assert session.question("run_python", {"code": "skill('alpha')"}) is None
    assert session.question("skill", {"name": "alpha"}) is None


@pytest.mark.slow
def test_result_has_what_was_printed_and_the_value(session: Session) -> None:
    result = _run(session, "print('one')\n[1, 'two']")
    assert result.content == "one\n\nValue:\n[1, 'two']"
    assert result.data.pop("seconds") >= 0
    assert result == ToolResult(
        "run_python",
        Role.PYTHON,
        result.content,
        {"printed": "one\n", "value": "[1, 'two']", "error": {}, "calls": [], "truncated": False},
        summary="Ran Python",
    )
    assert _run(session, "print('one')").content == "one"
    assert _run(session, "'two'").content == "two"
    assert _run(session, "x = 1").content == "The code has printed nothing, and has no value."
    assert _run(session, "'a\\u200bb'").content == "ab\n\n[Characters that cannot be seen were left out: 1.]"


@pytest.mark.slow
def test_error_is_told_with_what_was_printed_before(session: Session) -> None:
    result = _run(session, "print('one')\n1 / 0")
    assert (result.is_error, result.summary) == (True, "Failed to run Python")
    assert result.content.startswith("one\n\nTraceback (most recent call last):\n")
    assert result.content.endswith("ZeroDivisionError: division by zero")
    assert result.data["error"]["code"] == "python-error"
    assert result.data["error"]["message"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.slow
def test_variables_live_on_as_long_as_the_session_does(runtime: Runtime, session: Session) -> None:
    _run(session, "x = 41")
    assert _run(session, "x + 1").content == "42"
    again = open_agreed(runtime, "chat")
    assert _run(again, "x + 1").content == "42"
    assert "NameError" in _run(open_agreed(runtime, "other"), "x").content
    session.end()
    assert "NameError" in _run(open_agreed(runtime, "chat"), "x").content


# Functions


@pytest.mark.slow
def test_skill_is_activated_as_a_tool_call_does_it(runtime: Runtime, session: Session) -> None:
    result = _run(session, "print(skill('alpha', 'the page'))")
    assert result.content.startswith('<skill_content name="alpha">\n')
    assert "Do it to the page." in result.content
    assert result.data["calls"] == [{"function": "skill", "summary": "Skill alpha activated", "state": "done"}]
    (receipt,) = session.active()
    assert (receipt.name, receipt.asked_by, receipt.arguments) == ("alpha", "model", "the page")
    assert result.receipt == receipt
    assert "Active skills: alpha." in session.prompt()
    assert _run(session, "skill('alpha')").content == (
        "Skill alpha is already active. Its instructions stand above in this conversation."
    )


@pytest.mark.slow
def test_instructions_that_the_model_did_not_get_to_read_come_again(session: Session) -> None:
    result = _run(session, "text = skill('alpha')\nprint(text[:20])")
    assert result.receipt is None
    assert "Active before: alpha. Activate them again before you go by them." in session.prompt()
    assert "Do it to" in _run(session, "skill('alpha')").content
    assert "Active skills: alpha." in session.prompt()


@pytest.mark.slow
def test_files_are_read_and_skills_are_found_and_ended(session: Session) -> None:
    assert _run(session, "read_resource('alpha', 'references/guide.md', '2-3')").content.startswith("two\nthree")
    assert _run(session, "read_resource(name='alpha', path='references/guide.md')").content == "one\ntwo\nthree\n"
    found = _run(session, "search_skills('sheep')").content
    assert "<name>beta</name>" in found
    _run(session, "skill('beta')")
    assert _run(session, "end_skill('beta')").content == "Skill beta is no longer active."
    assert session.active() == ()


@pytest.mark.slow
def test_code_catches_what_a_function_raises(session: Session) -> None:
    code = """
for name in ("nope", "alpha"):
    try:
        print(len(skill(name)) > 0)
    except RuntimeError as error:
        print("caught:", error)
"""
    result = _run(session, code)
    assert result.content == "caught: Unknown or unavailable skill: nope\nAvailable skills: alpha, beta\nTrue"
    assert [call["state"] for call in result.data["calls"]] == ["failed", "done"]
    assert not result.is_error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "end"),
    [
        (
            "skill()",
            "RuntimeError: skill: the argument 'name' is missing\nArguments: name: string, arguments (optional)",
        ),
        ("skill(3)", "RuntimeError: skill: 'name' must be a text"),
        ("skill('a', 'b', 'c')", "TypeError: skill(): takes 2 positional arguments but 3 were given"),
        ("read_resource('alpha', '../beta/SKILL.md')", "RuntimeError: "),
    ],
)
def test_wrong_call_of_a_function_raises(session: Session, code: str, end: str) -> None:
    result = _run(session, code)
    assert result.is_error
    assert end in result.content


@pytest.mark.slow
def test_person_is_asked_while_the_code_runs_and_a_no_is_an_exception(runtime: Runtime) -> None:
    person = Person(Answer.REFUSE, Answer.ALLOW_ONCE)
    session = runtime.session("chat", asker=person)
    code = """
try:
    skill("alpha")
except RuntimeError as error:
    print(str(error).partition(chr(10))[2])
print(skill("beta"))
"""
    result = _run(session, code)
    assert [(question.name, question.tool) for question in person.questions] == [("alpha", "skill"), ("beta", "skill")]
    assert result.content.startswith('Go on without it, and tell the user so\n<skill_content name="beta">')
    assert [call["state"] for call in result.data["calls"]] == ["refused", "done"]
    assert [receipt.name for receipt in session.active()] == ["beta"]


@pytest.mark.slow
def test_confirmation_says_nothing_for_code(runtime: Runtime) -> None:
    session = runtime.session("chat")
    result = _run(session, "skill('alpha')", confirmation=Confirmation("any", Answer.ALLOW_ALWAYS))
    assert result.is_error
    assert result.data["calls"][0]["state"] == "refused"
    assert session.active() == ()


@pytest.mark.slow
def test_code_that_is_stopped_is_refused(runtime: Runtime) -> None:
    called: list[object] = []
    session = open_agreed(runtime, "chat", tools=[HostTool("note", "Note.", called.append)])
    with stoppable(lambda: bool(called)):
        result = _run(session, "while True:\n  note()")
    assert (result.is_error, result.refused, result.data["error"]["code"]) == (True, True, "stopped")
    assert called == [{}]


# Scripts, toolsets and tools of the application


@pytest.mark.slow
def test_script_runs_in_its_sandbox_and_is_heard(skills: Path, session: Session) -> None:
    run = "import json, os, sys\nprint(sys.argv[1:], json.load(open(os.environ['PROWESS_INPUT'])))"
    write_scripts(skills, "gamma", {"run.py": run, "fail.py": "import sys\nsys.exit('wrong')"})
    heard: list[bytes] = []

    def hear(_stream: Stream, data: bytes) -> None:
        heard.append(data)

    result = _run(session, "run_script('gamma', 'scripts/run.py', ['a', 'b'], {'n': 1})", listener=hear)
    assert "['a', 'b'] {'n': 1}" in result.content
    assert b"['a', 'b'] {'n': 1}\n" in b"".join(heard)
    failed = _run(session, "try:\n  run_script('gamma', 'scripts/fail.py')\nexcept RuntimeError as e:\n  print(e)")
    assert "Exit status 1" in failed.content
    assert "wrong" in failed.content
    assert [call["state"] for call in failed.data["calls"]] == ["failed"]


@pytest.mark.slow
def test_script_without_consent_is_refused_in_the_code(skills: Path, runtime: Runtime) -> None:
    write_scripts(skills, "gamma", {"run.py": "print('hi')"})
    person = Person(Answer.ALLOW_FOR_SESSION, Answer.REFUSE)
    session = runtime.session("chat", asker=person)
    result = _run(session, "skill('gamma')\nrun_script('gamma', 'scripts/run.py')")
    assert [call["state"] for call in result.data["calls"]] == ["done", "refused"]
    assert runtime.runs("chat") == ()


@pytest.fixture
def sums(skills: Path) -> Path:
    """A skill with a toolset, and a hyphen in its name."""
    extra = f"toolsets: {json.dumps(['toolsets/index:Sums'])}\n"
    return write_scripts(skills, "big-sums", {"toolsets/index.py": _SUMS}, extra=extra)


@pytest.mark.slow
def test_tools_of_an_active_skill_are_functions(sums: Path, session: Session) -> None:
    assert "big_sums__add" not in session.prompt()
    activated = _run(session, "print(skill('big-sums'))").content
    assert "Tools of this skill that you can call now: big_sums__add." in activated
    stub = 'def big_sums__add(a: int, b: int = 1) -> str:\n    """Add two numbers.'
    assert stub in activated
    prompt = session.prompt()
    assert prompt.count(stub) == 1
    assert list(_stubs(prompt))[-1] == "big_sums__add"
    assert stub not in session.standing_prompt()
    assert _run(session, "int(big_sums__add(2, b=3)) + 1").content == "6"
    failed = _run(session, "big_sums__add(-1)")
    assert failed.content.endswith("RuntimeError: a must not be negative")
    assert failed.data["calls"] == [
        {"function": "big_sums__add", "summary": "Failed add of big-sums", "state": "failed"}
    ]
    _run(session, "end_skill('big-sums')")
    assert "big_sums__add" not in session.prompt()
    assert "NameError: name 'big_sums__add' is not defined" in _run(session, "big_sums__add(1)").content


@pytest.mark.slow
def test_function_of_a_skill_that_was_active_before_keeps_its_name(
    sums: Path, skills: Path, runtime: Runtime, session: Session
) -> None:
    extra = f"toolsets: {json.dumps(['toolsets/index:Sums'])}\n"
    other = _SUMS.replace("Add two", "Subtract two").replace("a + b", "a - b")
    write_scripts(skills, "big_sums", {"toolsets/index.py": other}, extra=extra)
    _run(session, "skill('big_sums')")
    told = _run(session, "print(skill('big-sums'))").content
    assert "Tools of this skill that you can call now: big_sums__add_2." in told
    assert list(_stubs(told)) == ["big_sums__add_2"]
    prompt = session.prompt()
    assert 'def big_sums__add(a: int, b: int = 1) -> str:\n    """Subtract two numbers.' in prompt
    assert 'def big_sums__add_2(a: int, b: int = 1) -> str:\n    """Add two numbers.' in prompt
    assert _run(session, "[big_sums__add(5, 3), big_sums__add_2(5, 3)]").content == "['2', '8']"
    with Runtime.open() as another:
        assert open_agreed(another, "chat").prompt() == prompt


@pytest.mark.slow
def test_function_of_the_application_keeps_its_name(sums: Path, runtime: Runtime) -> None:
    mine = HostTool("big_sums__add", "Mine.", lambda _: "mine")
    session = open_agreed(runtime, "chat", tools=[mine])
    told = _run(session, "print(skill('big-sums'))").content
    assert list(_stubs(told)) == ["big_sums__add_2"]
    assert list(_stubs(session.prompt()))[-2:] == ["big_sums__add", "big_sums__add_2"]
    assert _run(session, "[big_sums__add(), big_sums__add_2(5, 3)]").content == "['mine', '8']"


def test_numbered_name_that_is_taken_is_passed_over() -> None:
    def tool(name: str) -> Tool:
        return Tool(name, Role.TOOLSET, name, "", {}, group="")

    tools = [tool(name) for name in ("a_b__c", "a_b__c_2", "a-b__c", "a-b__c_2")]
    assert {name: one.name for name, one in name_functions(tools).items()} == {
        "a_b__c": "a_b__c",
        "a_b__c_2": "a_b__c_2",
        "a_b__c_3": "a-b__c",
        "a_b__c_2_2": "a-b__c_2",
    }


@pytest.mark.slow
def test_tools_of_a_skill_that_a_person_switches_on_are_told_as_functions(sums: Path, session: Session) -> None:
    reception = session.receive("/big-sums add things up")
    assert "def big_sums__add(" in reception.content


@pytest.mark.slow
def test_tools_of_the_application_are_functions_under_its_rules(runtime: Runtime) -> None:
    def look(given: dict[str, Any]) -> object:
        if given["city"] == "Atlantis":
            raise ValueError("it sank")
        return {"city": given["city"], "degrees": 21}

    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [HostTool("weather", "Tell the weather.", look, schema), HostTool("search-v2", "Search.", str)]
    session = open_agreed(runtime, "chat", tools=tools)
    assert _run(session, "import json\njson.loads(weather('Bern'))['degrees'] * 2").content == "42"
    assert "RuntimeError: it sank" in _run(session, "weather(city='Atlantis')").content
    assert "NameError" in _run(session, "search_v2('x')").content
    barred = runtime.session("barred", asker=Agreeable(), tools=tools, rights=NOTHING)
    refused = _run(barred, "weather('Bern')")
    assert "the tool weather is not allowed here" in refused.content
    assert [call["state"] for call in refused.data["calls"]] == ["refused"]


@pytest.mark.slow
def test_what_is_said_of_a_call_stands_after_what_the_code_prints(runtime: Runtime, root: Path) -> None:
    write_skill(root, "strict", extra="allowed-tools: Read\n")
    weather = HostTool("weather", "Tell the weather.", lambda _: {"degrees": 21, "city": "Be\u200brn"})
    session = open_agreed(runtime, "chat", tools=[weather])
    session.activate("strict")
    result = _run(session, "import json\nfor _ in range(2): print(json.loads(weather())['degrees'])")
    assert (result.is_error, result.data["printed"]) == (False, "21\n21\n")
    printed, rule, unseen = result.content.split("\n\n")
    assert printed == "21\n21"
    assert rule.startswith("[skill 'strict': the skill's own allowed-tools do not cover the tool weather: ")
    assert unseen == "[Characters that cannot be seen were left out: 1.]"


@pytest.mark.slow
def test_notes_on_very_many_calls_are_cut(runtime: Runtime) -> None:
    many = HostTool("many", "Say.", lambda given: "\u200b" * given["n"], {"properties": {"n": {"type": "integer"}}})
    result = _run(open_agreed(runtime, "chat", tools=[many]), "for n in range(1, 31): many(n)")
    assert result.content.count("[Characters that cannot be seen were left out: ") == 20
    assert result.content.endswith("\n\n[… and 10 more notes on calls …]")


@pytest.mark.slow
def test_code_cannot_run_code(runtime: Runtime) -> None:
    holder: list[Session] = []
    again = HostTool("again", "Run code.", lambda _: holder[0].call("run_python", {"code": "1"}).content)
    holder.append(open_agreed(runtime, "chat", tools=[again]))
    assert "NameError: name 'run_python' is not defined" in _run(holder[0], "run_python('1')").content
    assert _run(holder[0], "again()").content == "Not run: code cannot be run from within code of the same session."


@pytest.mark.slow
def test_nothing_runs_once_the_workers_are_closed(runtime: Runtime, session: Session) -> None:
    _run(session, "x = 1")
    runtime.python.close()
    assert _run(session, "x").content == "Not run: the runtime was closed."
