"""Tools of the application in a session: offered beside those for skills, checked, and under the same rules (K2)."""

import json
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.tool_dialects import DIALECTS
from prowess.activation.tools import Role
from prowess.errors import Refused, SettingsError, WorldError
from prowess.execution.rules.rights import EVERYTHING, NOTHING, Rights
from prowess.policy import PROFILES
from prowess.runtime import Runtime, Session
from prowess.runtime.host_tools import MAX_CONTENT_CHARACTERS, HostTool
from prowess.runtime.tool_results import ToolResult
from tests.runtime.opening import ONLY_MINE
from tests.runtime.runs import open_agreed
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.requirement("K2")

_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "description": "How many."},
        "when": {"$ref": "#/$defs/When", "pattern": "^[0-9]+$"},
    },
    "required": ["city"],
}


def _weather(given: dict[str, Any]) -> object:
    return {"city": given["city"], "sky": "clear"}


_WEATHER = HostTool("weather", "Tell the weather.", _weather, _SCHEMA)


def _echo(value: object) -> HostTool:
    return HostTool("echo", "Return something.", lambda _: value)


def _fail_with(error: Exception) -> HostTool:
    def fail(_: dict[str, Any]) -> object:
        raise error

    return HostTool("fail", "Fail.", fail)


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """A skill that allows itself some tools."""
    write_skill(root, "beta")
    return write_skill(root, "alpha", extra="allowed-tools: Read Bash(git:*)\n")


def _session(runtime: Runtime, *tools: HostTool, **options: Any) -> Session:
    return open_agreed(runtime, "chat", tools=tools, **options)


# Offered


def test_tools_are_offered_beside_those_for_skills(runtime: Runtime) -> None:
    session = _session(runtime, _WEATHER)
    plain = open_agreed(runtime, "plain")
    (tool,) = session.offered()[len(plain.offered()) :]
    assert session.offered()[:-1] == plain.offered()
    assert (tool.name, tool.role, tool.title, tool.group) == ("weather", Role.HOST, "Weather", "host")
    assert tool.schema == {**_SCHEMA, "additionalProperties": False}
    assert session.prompt() == plain.prompt()
    for dialect in DIALECTS:
        assert json.loads(json.dumps(session.tools(dialect))) == session.tools(dialect)


def test_tools_are_offered_where_no_skill_is_visible(runtime: Runtime) -> None:
    session = _session(runtime, _WEATHER, skills=[])
    assert [tool.name for tool in session.offered()] == ["weather"]
    assert session.prompt() == ""
    assert not session.call("weather", {"city": "Bern"}).is_error


@pytest.mark.parametrize("profile", PROFILES)
def test_tools_are_offered_in_every_profile(home: Home, profile: str) -> None:
    with Runtime.open(profile=profile) as runtime:
        session = runtime.session(tools=[_WEATHER])
        assert session.offered()[-1].name == "weather"
        assert session.call("weather", {"city": "Bern"}).content == '{"city": "Bern", "sky": "clear"}'


def test_tool_without_a_schema_takes_no_arguments(runtime: Runtime) -> None:
    session = _session(runtime, HostTool("now", "Tell the time.", lambda _: "noon", title="The time"))
    tool = session.offered()[-1]
    assert tool.title == "The time"
    assert tool.schema == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert session.call("now", {}).content == "noon"
    assert session.call("now", {"zone": "UTC"}).content == "now: no argument 'zone'\nArguments: none"


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ((_WEATHER, _WEATHER), "tool 'weather' of the application: there are two of this name"),
        (
            (HostTool("activate_skill", "Mine.", _weather),),
            "tool 'activate_skill' of the application: a tool for skills has this name",
        ),
        (
            (HostTool("run_skill_script", "Mine.", _weather),),
            "tool 'run_skill_script' of the application: a tool for skills has this name",
        ),
        (
            (HostTool("a b", "Mine.", _weather),),
            "tool 'a b' of the application: a name has up to 64 of the characters A-Z a-z 0-9 _ . -",
        ),
        (
            (HostTool("a", "Mine.", _weather, {"type": "array"}),),
            "tool 'a' of the application: its schema must be that of an object, since a tool takes named arguments",
        ),
        (
            (HostTool("a", "Mine.", _weather, {"properties": []}),),
            "tool 'a' of the application: its schema must have properties by name, and a list of those required",
        ),
        (
            (HostTool("a", "Mine.", _weather, subject="path"),),
            "tool 'a' of the application: its subject 'path' is none of its arguments",
        ),
    ],
)
def test_tool_that_cannot_be_offered_is_refused_when_the_session_is_opened(
    runtime: Runtime, tools: tuple[HostTool, ...], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        runtime.session(tools=tools)
    assert caught.value.message == message


def test_names_as_providers_spell_them_are_taken_too(home: Home) -> None:
    home.write_settings('profile = "remcochat"\nenabled = true\n')
    with Runtime.open() as runtime:
        for name in ("skills.activate", "skillsActivate"):
            with pytest.raises(SettingsError, match="a tool for skills has this name"):
                runtime.session(tools=[HostTool(name, "Mine.", _weather)])
        assert runtime.session(tools=[HostTool("activate_skill", "Mine.", _weather)]).offered()


def test_asynchronous_function_is_refused(runtime: Runtime) -> None:
    async def wait(_: dict[str, Any]) -> str:
        return ""

    with pytest.raises(SettingsError, match="its function is asynchronous; give one that waits"):
        runtime.session(tools=[HostTool("wait", "Wait.", wait)])


# Called


def test_call_gives_a_text_for_the_model_and_data_for_programs(runtime: Runtime) -> None:
    result = _session(runtime, _WEATHER).call("weather", {"city": "Bern"})
    assert result == ToolResult(
        "weather",
        Role.HOST,
        '{"city": "Bern", "sky": "clear"}',
        {"tool": "weather", "result": {"city": "Bern", "sky": "clear"}},
        summary="Called weather",
    )


@pytest.mark.parametrize(
    ("value", "content", "plain"),
    [
        ("a text\n", "a text\n", "a text\n"),
        (None, "null", None),
        (True, "true", True),
        ([1, ("ü",)], '[1, ["ü"]]', [1, ["ü"]]),
        pytest.param("a\ud800", "a?", "a?", id="half a character"),
        ("a\u200bb", "ab\n\n[Characters that cannot be seen were left out: 1.]", "a\u200bb"),
    ],
)
def test_text_is_told_as_it_is_and_all_else_as_json(runtime: Runtime, value: object, content: str, plain: Any) -> None:
    result = _session(runtime, _echo(value)).call("echo", "")
    assert (result.content, result.data["result"], result.is_error) == (content, plain, False)


def test_long_answer_is_cut_and_the_cut_shows(runtime: Runtime) -> None:
    result = _session(runtime, _echo("x" * (MAX_CONTENT_CHARACTERS + 7))).call("echo", {})
    assert result.content == "x" * MAX_CONTENT_CHARACTERS + "\n[… 7 more characters cut …]"


@pytest.mark.parametrize(
    ("tool", "content"),
    [
        (_fail_with(ValueError("no such \x1bcity")), "no such \\x1bcity"),
        (_fail_with(KeyError()), "KeyError"),
        (_fail_with(WorldError("the disk is full")), "the disk is full"),
        (_echo(object()), "Object of type object is not JSON serializable"),
        (_echo(math.nan), "Out of range float values are not JSON compliant"),
    ],
)
def test_exception_becomes_an_error_without_where_it_was(runtime: Runtime, tool: HostTool, content: str) -> None:
    result = _session(runtime, tool).call(tool.name, {})
    assert (result.content, result.is_error, result.refused) == (content, True, False)
    assert result.summary == f"Failed {tool.name}"


def test_refusal_of_the_application_is_one(runtime: Runtime) -> None:
    result = _session(runtime, _fail_with(Refused("not today"))).call("fail", {})
    assert (result.is_error, result.refused) == (True, True)
    assert result.content == "not today\nGo on without it, and tell the user so"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "the argument 'city' is missing"),
        ({"city": 3}, "'city' must be a text"),
        ({"city": "B"}, "'city' must have at least 2 characters"),
        ({"city": "Bern", "days": 0}, "'days' must be at least 1"),
        ({"city": "Bern", "town": ""}, "no argument 'town'"),
        ({"city": "\ud800"}, "'city' holds half of a character, which no text can"),
        ("{", "the arguments are not valid JSON"),
        ("[]", "the arguments are not a JSON object"),
    ],
)
def test_wrong_arguments_are_told(runtime: Runtime, arguments: Any, complaint: str) -> None:
    result = _session(runtime, _WEATHER).call("weather", arguments)
    assert result.is_error
    assert result.content.partition("\n")[0] == f"weather: {complaint}"


def test_what_of_a_schema_cannot_be_checked_takes_anything(runtime: Runtime) -> None:
    assert not _session(runtime, _WEATHER).call("weather", {"city": "Bern", "when": ["now"]}).is_error


def test_schema_may_leave_room_for_more(runtime: Runtime) -> None:
    tool = HostTool("any", "Take anything.", lambda given: given, {"additionalProperties": {"type": "string"}})
    assert _session(runtime, tool).call("any", {"x": 1}).content == '{"x": 1}'


def test_nobody_is_asked_about_a_tool_of_the_application(runtime: Runtime) -> None:
    assert _session(runtime, _WEATHER).question("weather", {"city": "Bern"}) is None


# Rules

_BASH = HostTool(
    "Bash",
    "Run a command.",
    lambda given: f"ran {given['command']}",
    {"properties": {"command": {"type": "string"}}, "required": ["command"]},
    subject="command",
)


def _bash(session: Session, command: str) -> tuple[bool, str]:
    result = session.call("Bash", {"command": command})
    assert result.refused == result.is_error
    return result.is_error, result.content


@pytest.fixture
def opened(home: Home, root: Path) -> Iterator[list[Runtime]]:
    """Runtimes that are closed in the end."""
    runtimes: list[Runtime] = []
    yield runtimes
    for runtime in runtimes:
        runtime.close()


def _open(home: Home, opened: list[Runtime], *lines: str) -> Runtime:
    home.write_settings("\n".join([ONLY_MINE, "[execution]", *lines, ""]))
    opened.append(Runtime.open())
    return opened[-1]


def test_rights_of_the_session_hold_without_any_skill(runtime: Runtime) -> None:
    session = _session(runtime, _BASH, rights=Rights(tools=(("Bash(git:*)",),)))
    assert _bash(session, "git log") == (False, "ran git log")
    is_error, content = _bash(session, "rm -r /")
    assert is_error
    assert content.startswith("the tool Bash is not allowed here: ")
    assert _bash(_session(runtime, _BASH, rights=NOTHING), "git log")[0]
    assert _bash(_session(runtime, _BASH, rights=EVERYTHING), "rm -r /") == (False, "ran rm -r /")


def test_patterns_of_the_host_hold_too(home: Home, opened: list[Runtime]) -> None:
    session = _session(_open(home, opened, 'tools = ["Bash(git:*)"]'), _BASH, _WEATHER)
    assert _bash(session, "git log") == (False, "ran git log")
    assert _bash(session, "ls")[0]
    assert session.call("weather", {"city": "Bern"}).refused


def test_active_skill_that_does_not_cover_a_call_is_told_of(runtime: Runtime) -> None:
    session = _session(runtime, _BASH)
    session.activate("alpha")
    session.activate("beta")
    assert _bash(session, "git log") == (False, "ran git log")
    is_error, content = _bash(session, "ls")
    assert not is_error
    assert content.startswith("ran ls\n\n[skill 'alpha': the skill's own allowed-tools do not cover the tool Bash: ")
    session.deactivate("alpha")
    assert _bash(session, "ls") == (False, "ran ls")


def test_enforced_rules_of_a_skill_refuse_while_it_is_active(home: Home, opened: list[Runtime]) -> None:
    calls: list[object] = []
    tool = HostTool("Write", "Write.", calls.append)
    session = _session(_open(home, opened, 'allowed_tools = "enforce"'), _BASH, tool)
    assert _bash(session, "ls") == (False, "ran ls")
    session.activate("alpha")
    is_error, content = _bash(session, "ls")
    assert is_error
    assert content.startswith("skill 'alpha': the skill's own allowed-tools do not cover the tool Bash: ")
    assert session.call("Write", {}).refused
    assert calls == []
    assert _bash(session, "git log") == (False, "ran git log")


def test_logged_rules_of_a_skill_say_nothing_to_the_model(
    home: Home, opened: list[Runtime], caplog: pytest.LogCaptureFixture
) -> None:
    session = _session(_open(home, opened, 'allowed_tools = "log"'), _BASH)
    session.activate("alpha")
    with caplog.at_level(logging.INFO, "prowess"):
        assert _bash(session, "ls") == (False, "ran ls")
    assert "the skill's own allowed-tools do not cover the tool Bash" in caplog.text
