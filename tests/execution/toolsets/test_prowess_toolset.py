"""What authors of toolsets write with, served by real processes as a sandbox would start them."""

import ast
import dataclasses
import enum
import json
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union

import pytest

from prowess.execution.toolsets import toolset_protocol, toolset_schemas
from prowess.execution.toolsets.toolset_helper import prowess_toolset
from prowess.execution.toolsets.toolset_helper.prowess_toolset import ToolError, Toolset, call_tool, list_tools, tool
from prowess.execution.toolsets.toolset_protocol import COMMAND, HELPER_FILE, REPLY_FILE

pytestmark = pytest.mark.requirement("R69")

INDEX = '''
from prowess_toolset import Toolset, tool

class MyToolset(Toolset):
    @tool
    def add(self, a: int, b: int = 1) -> int:
        """Add two numbers.

        a: the first number
        b: the second number
        """
        return a + b
'''


def serve(place: Path, request: object, **environment: str) -> tuple[Any, subprocess.CompletedProcess[str]]:
    """Return the reply to a request in the skill's folder `place`/skill, and the process that left it."""
    library, output, skill = place / "library", place / "output", place / "skill"
    for folder in (library, output, skill):
        folder.mkdir(exist_ok=True)
    shutil.copy(HELPER_FILE, library)
    (place / "input.json").write_bytes(request if isinstance(request, bytes) else json.dumps(request).encode())
    variables = {
        "PYTHONPATH": str(library),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PROWESS_INPUT": str(place / "input.json"),
        "PROWESS_OUTPUT": str(output),
    } | environment
    done = subprocess.run(
        [sys.executable, *COMMAND], cwd=skill, env=variables, capture_output=True, text=True, check=False
    )
    reply = output / REPLY_FILE
    return json.loads(reply.read_bytes()) if reply.exists() else None, done


def write(place: Path, path: str, text: str) -> None:
    file = place / "skill" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text), "utf-8")


def _list(ref: str = "toolsets/index:MyToolset") -> dict[str, Any]:
    return {"protocol": 1, "toolset": ref, "do": "list"}


def _call(name: str, ref: str = "toolsets/index:MyToolset", **arguments: object) -> dict[str, Any]:
    return {"protocol": 1, "toolset": ref, "do": "call", "tool": name, "arguments": arguments}


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"protocol": 1, "error": {"kind": kind, "message": message}}


def _object(properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


# Listing and calling


def test_tools_are_listed_with_the_schemas_of_their_hints(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", INDEX)
    reply, done = serve(tmp_path, _list())
    a, b = {"type": "integer", "description": "the first number"}, {"type": "integer"}
    properties = {"a": a, "b": b | {"description": "the second number", "default": 1}}
    tools = [{"name": "add", "description": "Add two numbers.", "schema": _object(properties, ["a"])}]
    assert reply == {"protocol": 1, "tools": tools}
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [file.name for file in (tmp_path / "output").iterdir()] == [REPLY_FILE]


def test_call_returns_what_the_method_returns(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", INDEX)
    assert serve(tmp_path, _call("add", a=2, b=3.0))[0] == {"protocol": 1, "result": 5}


def test_async_methods_of_a_plain_class_with_hints_as_text_are_awaited(tmp_path: Path) -> None:
    write(
        tmp_path,
        "toolsets/index.py",
        """
        from __future__ import annotations
        import asyncio, dataclasses, enum, typing
        import prowess_toolset

        class Unit(enum.Enum):
            METRE = "m"
            FOOT = "ft"

        @dataclasses.dataclass
        class Length:
            amount: float
            unit: Unit = Unit.METRE

        class MyToolset:
            @prowess_toolset.tool
            async def total(self, lengths: typing.List[Length]) -> typing.Dict[str, typing.Any]:
                await asyncio.sleep(0)
                return {"total": sum(each.amount for each in lengths), "first": lengths[0]}

            def hidden(self):
                pass
        """,
    )
    request = _call("total", lengths=[{"amount": 1, "unit": "ft"}, {"amount": 2.5}])
    assert serve(tmp_path, request)[0] == {
        "protocol": 1,
        "result": {"total": 3.5, "first": {"amount": 1, "unit": "ft"}},
    }
    assert [found["name"] for found in serve(tmp_path, _list())[0]["tools"]] == ["total"]


_FAILING = """
import os, sys
from prowess_toolset import ToolError, Toolset, tool

class Silent(Exception):
    def __str__(self):
        raise RuntimeError

class MyToolset(Toolset):
    @tool
    def fail(self, how: str) -> str:
        print("printed")
        if how == "tool":
            raise ToolError("ask for less")
        if how == "exit":
            sys.exit(3)
        if how == "silent":
            raise Silent
        if how == "empty":
            raise LookupError
        if how == "endless":
            return self.fail(how)
        if how == "die":
            os._exit(7)
        raise ValueError(how)
"""


@pytest.mark.parametrize(
    ("how", "kind", "message", "told"),
    [
        ("tool", "tool", "ask for less", False),
        ("boom", "crash", "ValueError: boom", True),
        ("exit", "crash", "SystemExit: 3", True),
        ("silent", "crash", "Silent: (it cannot be told: RuntimeError)", True),
        ("empty", "crash", "LookupError", True),
        pytest.param("x" * 3_000, "crash", f"ValueError: {'x' * 1_987}…", True, id="long"),
        ("\ud800", "crash", "ValueError: ?", True),
    ],
)
def test_exceptions_become_replies_and_tracebacks_stay_outside(
    tmp_path: Path, how: str, kind: str, message: str, told: bool
) -> None:
    write(tmp_path, "toolsets/index.py", _FAILING)
    reply, done = serve(tmp_path, _call("fail", how=how))
    assert reply == _error(kind, message)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("printed\n")
    assert ("Traceback" in done.stderr) is told


def test_endless_recursion_is_a_crash(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", _FAILING)
    reply, _ = serve(tmp_path, _call("fail", how="endless"))
    assert reply["error"]["kind"] == "crash"
    assert reply["error"]["message"].startswith("RecursionError: ")


def test_code_that_ends_its_process_leaves_no_reply(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", _FAILING)
    reply, done = serve(tmp_path, _call("fail", how="die"))
    assert (reply, done.returncode) == (None, 7)


# Requests


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({**_list(), "protocol": 2}, "only protocol 1 is spoken here"),
        ({**_list(), "do": "eat"}, "'do' must be list or call"),
        ([], "the request is no object"),
        (_list("toolsets/none:MyToolset"), "there is no toolsets/none.py and no toolsets/none/__init__.py"),
        (_list("toolsets/index:Other"), "toolsets/index.py has no class Other"),
        (
            _list("../skill/toolsets/index:A"),
            "'../skill/toolsets/index:A' is no reference such as toolsets/index:MyToolset",
        ),
        ({**_list(), "toolset": 3}, "3 is no reference such as toolsets/index:MyToolset"),
        (_call("subtract"), "no tool 'subtract'; there are: add"),
        (_call("add"), "add: 'a' is missing"),
        (_call("add", a=1, c=2), "add: no argument 'c'"),
        (_call("add", a=True), "add: 'a' must be a whole number"),
        ({**_call("add"), "arguments": [1]}, "add: 'arguments' must be an object"),
    ],
)
def test_bad_requests_are_refused(tmp_path: Path, request_: object, message: str) -> None:
    write(tmp_path, "toolsets/index.py", INDEX)
    assert serve(tmp_path, request_)[0] == _error("request", message)


@pytest.mark.parametrize("raw", [b"{", b"[" * 100_000, b"\xff"], ids=["torn", "deep", "no text"])
def test_request_that_is_no_json_is_refused(tmp_path: Path, raw: bytes) -> None:
    reply, done = serve(tmp_path, raw)
    assert reply["error"]["kind"] == "request"
    assert reply["error"]["message"].startswith("PROWESS_INPUT names no file with a request: ")
    assert done.returncode == 0


def test_without_a_folder_for_the_reply_the_status_says_so(tmp_path: Path) -> None:
    reply, done = serve(tmp_path, _list(), PROWESS_OUTPUT="")
    assert (reply, done.returncode) == (None, 2)
    assert done.stderr == "prowess_toolset: PROWESS_OUTPUT names no folder for the reply\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "a",
        "a:",
        ":A",
        "/a:A",
        "../a:A",
        "a/../b:A",
        "a/./b:A",
        "a//b:A",
        "a/:A",
        "a\\b:A",
        "a.py:A",
        "~/a:A",
        "a:A.b",
        "a:1",
        "a:A\n",
        "a b:A",
        "é:A",
        "a:É",
        "-a:A",
        "a:A:B",
        "a\0:A",
        "%61:A",
    ],
)
def test_both_sides_refuse_references_that_could_lead_elsewhere(text: str) -> None:
    with pytest.raises(prowess_toolset._BadRequest):  # pyright: ignore[reportPrivateUsage]
        prowess_toolset._load(text)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(toolset_protocol.ToolsetFault) as caught:
        toolset_protocol.parse_reference(text)
    assert caught.value.code == "toolset-bad"


# Where the code is found


def test_package_imports_what_stands_beside_it_and_in_the_skill(tmp_path: Path) -> None:
    write(tmp_path, "shared_words.py", "GREETING = 'hello'")
    write(tmp_path, "toolsets/beside.py", "NAME = 'world'")
    write(tmp_path, "toolsets/index/inner.py", "MARK = '!'")
    write(
        tmp_path,
        "toolsets/index/__init__.py",
        """
        import shared_words
        from .inner import MARK
        from ..beside import NAME
        from prowess_toolset import tool
        import inner

        class MyToolset:
            @tool
            def greet(self): return f"{shared_words.GREETING} {NAME}{MARK}{inner.MARK}"
        """,
    )
    assert serve(tmp_path, _call("greet"))[0] == {"protocol": 1, "result": "hello world!!"}


def test_file_named_like_a_module_of_python_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, "code/json.py", INDEX)
    write(tmp_path, "tools-2/types.py", INDEX)
    assert serve(tmp_path, _call("add", ref="code/json:MyToolset", a=1))[0] == {"protocol": 1, "result": 2}
    assert serve(tmp_path, _call("add", ref="tools-2/types:MyToolset", a=1))[0] == {"protocol": 1, "result": 2}


def test_skill_whose_own_folder_hides_modules_of_python_is_served_from_a_safe_path(tmp_path: Path) -> None:
    write(tmp_path, "json.py", INDEX)
    request = _call("add", ref="json:MyToolset", a=1)
    assert serve(tmp_path, request, PYTHONSAFEPATH="1")[0] == {"protocol": 1, "result": 2}


def test_file_that_cannot_be_loaded_is_a_crash(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", "import nowhere_to_be_found")
    message = "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    assert serve(tmp_path, _list())[0] == _error("crash", message)


# What hints say


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Corner(enum.Enum):
    LEFT = (0, 0)
    RIGHT = (1, 0)


@dataclasses.dataclass
class Point:
    """A place.

    x: to the right
    """

    x: int
    y: int = dataclasses.field(default=0, metadata={"description": "downwards"})
    tags: list[str] = dataclasses.field(default_factory=list[str])
    size: int = dataclasses.field(init=False, default=3)


class Movie(TypedDict, total=False):
    title: Annotated[str, "as on the poster"]
    year: int


@dataclasses.dataclass
class Chain:
    next: Optional["Chain"] = None


_OPTIONAL: Any = Optional  # As authors spell it for an old Python.
_UNION: Any = Union
UserId = NewType("UserId", int)
_POINT = _object(
    {
        "x": {"type": "integer", "description": "to the right"},
        "y": {"type": "integer", "description": "downwards", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    ["x"],
)
_MOVIE = _object({"title": {"type": "string", "description": "as on the poster"}, "year": {"type": "integer"}})


def make_toolset(hints: Mapping[str, object], **defaults: object) -> type:
    """Return a toolset with one tool, `echo`, that takes arguments of these types and returns them."""

    names = ", ".join(f"{name}=defaults[{name!r}]" if name in defaults else name for name in hints)
    found: dict[str, Any] = {"defaults": defaults}
    exec(
        f"def call(self{', *, ' if names else ''}{names}): return {{k: v for k, v in locals().items() if k != 'self'}}",
        found,
    )
    found["call"].__annotations__ = dict(hints)
    return type("Echo", (Toolset,), {"echo": tool(found["call"])})


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (UserId, {"type": "integer"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[list[str]], {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (Mapping[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (_OPTIONAL[int], {"type": ["integer", "null"]}),
        (_OPTIONAL[Any], {}),
        (list[int] | None, {"type": ["array", "null"], "items": {"type": "integer"}}),
        (_UNION[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (_OPTIONAL[Colour], {"type": ["string", "null"], "enum": ["red", "blue", None]}),
        (Corner, {"type": "string", "enum": ["LEFT", "RIGHT"]}),
        (Annotated[int, 3, "how many"], {"type": "integer", "description": "how many"}),
        (list[Annotated[int, "each"]], {"type": "array", "items": {"type": "integer", "description": "each"}}),
        (Point, _POINT),
        (Movie, _MOVIE),
    ],
)
def test_each_hint_has_its_schema(hint: object, schema: dict[str, Any]) -> None:
    found = list_tools(make_toolset({"a": hint}))
    assert found == [{"name": "echo", "description": "", "schema": _object({"a": schema}, ["a"])}]


@pytest.mark.parametrize(
    ("hint", "given", "taken"),
    [
        (int, 2.0, 2),
        (float, 2, 2),
        (_OPTIONAL[int], None, None),
        (_UNION[int, str], "a", "a"),
        (Colour, "blue", Colour.BLUE),
        (Corner, "RIGHT", Corner.RIGHT),
        (Literal[Colour.RED], "red", Colour.RED),
        (Literal[True, 1], 1, 1),
        (list[Colour], ["red"], [Colour.RED]),
        (dict[str, Colour], {"a": "red"}, {"a": Colour.RED}),
        (_OPTIONAL[Point], {"x": 1, "tags": ["a"]}, Point(1, 0, ["a"])),
        (Movie, {"year": 1999}, {"year": 1999}),
        (Any, {"a": [None]}, {"a": [None]}),
    ],
)
def test_arguments_are_converted_to_what_the_hint_says(hint: object, given: object, taken: object) -> None:
    seen: list[object] = []

    class Seeing(Toolset):
        @tool
        def see(self, a: Any) -> None:
            seen.append(a)

    Seeing.see.__annotations__["a"] = hint
    call_tool(Seeing, "see", {"a": given})
    assert seen == [taken]
    assert type(seen[0]) is type(taken)


@pytest.mark.parametrize(
    ("hint", "given", "message"),
    [
        (str, 1, "'a' must be a text"),
        (float, True, "'a' must be a number"),
        (bool, 1, "'a' must be true or false"),
        (None, 0, "'a' must be null"),
        (list[int], [1, "b"], "'a[1]' must be a whole number"),
        (list, {}, "'a' must be a list"),
        (dict[str, int], {"b": 1.5}, "'a.b' must be a whole number"),
        (dict, [], "'a' must be an object"),
        (Colour, "green", '\'a\' must be one of: "red", "blue"'),
        (Literal[1], True, "'a' must be one of: 1"),
        (_UNION[int, str], [], "'a' is of none of the types that it may have"),
        (Point, {}, "'a.x' is missing"),
        (list[Point], [{"x": 1, "z": 2}], "no argument 'a[0].z'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(hint: object, given: object, message: str) -> None:
    with pytest.raises(prowess_toolset._BadRequest) as caught:  # pyright: ignore[reportPrivateUsage]
        call_tool(make_toolset({"a": hint}), "echo", {"a": given})
    assert str(caught.value) == f"echo: {message}"


def _nest(levels: int) -> Any:
    nested: Any = int
    for _ in range(levels):
        nested = list[nested]
    return nested


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"a": bytes}, "echo: a: the type bytes is not supported; use str, "),
        ({"a": set[int]}, "echo: a: the type set is not supported; use str, "),
        ({"a": dict[int, str]}, "echo: a: the type dict is not supported; use str, "),
        ({"a": Literal[b"x"]}, "echo: a: the type Literal is not supported; use str, "),
        ({"a": "Nowhere"}, "echo: a type hint cannot be read: name 'Nowhere' is not defined"),
        ({"a": Chain}, "echo: a.next: Chain holds itself, which the schema of a tool cannot say"),
        ({"a": _nest(7)}, "echo: a: its type is nested deeper than 8 levels"),
        (
            {"a": enum.Enum("Empty", [])},
            "echo: a: 0 values to choose from; there must be 1 at least, and fewer than 250",
        ),
        ({f"a{number}": int for number in range(65)}, "echo: 65 members; there may be 64"),
        ({"é": int}, "echo: é: a name has up to 64 of the characters A-Z a-z 0-9 _ . -"),
        ({"a": Annotated[int, "x" * 40_000]}, "echo: the schema of its arguments has more than 32,768 bytes"),
    ],
)
def test_types_that_no_schema_can_say_are_faults(hints: dict[str, object], message: str) -> None:
    with pytest.raises(prowess_toolset._Fault) as caught:  # pyright: ignore[reportPrivateUsage]
        list_tools(make_toolset(hints))
    assert str(caught.value).startswith(message)


def test_argument_that_is_none_without_a_value_takes_null() -> None:
    found = list_tools(make_toolset({"a": int, "b": Colour, "c": list[int]}, a=None, b=Colour.RED, c=[]))
    properties = {
        "a": {"type": ["integer", "null"], "default": None},
        "b": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "c": {"type": "array", "items": {"type": "integer"}},
    }
    assert found[0]["schema"] == _object(properties)


# Methods


class _Parent(Toolset):
    @tool
    def first(self) -> int:
        return 1

    @tool
    def dropped(self) -> int:
        return 2


class _Child(_Parent):
    def dropped(self) -> int:
        return 3

    @tool
    @staticmethod
    def fixed(a: int) -> int:
        """Return it.

        Args:
            a (int): a number that
                goes on

        note: this stays
        """
        return a

    @classmethod
    @tool
    def named(cls, b: str = "x") -> str:
        """:param b: a letter"""
        return cls.__name__ + b


def test_marks_are_inherited_and_lost_where_a_method_is_written_anew() -> None:
    about = {"type": "integer", "description": "a number that goes on"}
    letter = {"type": "string", "description": "a letter", "default": "x"}
    assert list_tools(_Child) == [
        {"name": "first", "description": "", "schema": _object({})},
        {"name": "fixed", "description": "Return it.\n\nnote: this stays", "schema": _object({"a": about}, ["a"])},
        {"name": "named", "description": "", "schema": _object({"b": letter})},
    ]
    assert [call_tool(_Child, "first", {}), call_tool(_Child, "fixed", {"a": 4})] == [1, 4]
    assert call_tool(_Child, "named", {"b": "y"}) == "_Childy"


def _nothing(_: object) -> None: ...


class _Unnamed(Toolset):
    @tool
    def many(self, *rest: int) -> None: ...


class _Private(Toolset):
    @tool
    def _hidden(self) -> None: ...


@pytest.mark.parametrize(
    ("toolset", "message"),
    [
        (Toolset, "Toolset has no method that is marked with @tool"),
        (_Unnamed, "many: *rest: int has no name to call it by; a tool takes named arguments only"),
        (_Private, "_hidden: a tool's name has up to 40 letters, digits and _, and begins with a letter"),
        (type("Many", (), {f"t{n}": tool(_nothing) for n in range(65)}), "Many has 65 tools, more than 64"),
    ],
)
def test_toolsets_that_cannot_be_offered_are_faults(toolset: type, message: str) -> None:
    with pytest.raises(prowess_toolset._Fault) as caught:  # pyright: ignore[reportPrivateUsage]
        list_tools(toolset)
    assert str(caught.value) == message


def test_exceptions_of_a_tool_pass_through() -> None:
    class Failing(Toolset):
        @tool
        def fail(self) -> None:
            raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        call_tool(Failing, "fail", {})


# Results


def _returning(code: str) -> str:
    return f"""
import collections, dataclasses, datetime, enum, pathlib
from prowess_toolset import tool

class Shade(enum.IntEnum):
    DARK = 1

@dataclasses.dataclass
class Pair:
    left: object
    right: object

class MyToolset:
    @tool
    def get(self):
        loop = []
        loop.append(loop)
        return {code}
"""


def test_results_take_a_sensible_form(tmp_path: Path) -> None:
    values = (
        "[Pair(1, Pair(None, (True, 'ä'))), pathlib.PurePosixPath('/a'), datetime.date(2024, 5, 6), "
        "datetime.datetime(2024, 5, 6, 7, 8), datetime.time(9, 10), Shade.DARK, {3, 1, 2}, frozenset('ba'), "
        "{1: 2, pathlib.PurePosixPath('k'): 3, Shade.DARK: 4}, 1.5, 10 ** 30, 'a\\ud800', collections.OrderedDict(a=1)]"
    )
    write(tmp_path, "toolsets/index.py", _returning(values))
    assert serve(tmp_path, _call("get"))[0] == {
        "protocol": 1,
        "result": [
            {"left": 1, "right": {"left": None, "right": [True, "ä"]}},
            "/a",
            "2024-05-06",
            "2024-05-06T07:08:00",
            "09:10:00",
            1,
            [1, 2, 3],
            ["a", "b"],
            {"1": 4, "k": 3},
            1.5,
            10**30,
            "a?",
            {"a": 1},
        ],
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "{'a': [b'x']}",
            "the result.a[0] is of the type bytes, which JSON cannot hold; return text, numbers or dicts",
        ),
        ("object()", "the result is of the type object, which JSON cannot hold; return text, numbers or dicts"),
        ("float('nan')", "the result is nan, which JSON has no number for"),
        ("[float('inf')]", "the result[0] is inf, which JSON has no number for"),
        ("{(1, 2): 3}", "the result has a key of the type tuple; keys must be text"),
        ("loop", f"the result{'[0]' * 61} is nested too deeply, or holds itself"),
        ("'x' * 1_000_000", "the reply has 1,000,029 bytes, more than 1,000,000; return less, or write a file"),
    ],
)
def test_results_that_json_cannot_hold_are_faults(tmp_path: Path, code: str, message: str) -> None:
    write(tmp_path, "toolsets/index.py", _returning(code))
    assert serve(tmp_path, _call("get"))[0] == _error("crash", message)


# The file itself


def test_helper_is_written_for_python_3_8() -> None:
    source = Path(HELPER_FILE).read_text("utf-8")
    tree = ast.parse(source, feature_version=(3, 8))
    loaded = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert loaded - sys.stdlib_module_names == set()


def test_helper_keeps_the_bounds_that_the_host_checks() -> None:
    helper, host, schemas = prowess_toolset, toolset_protocol, toolset_schemas
    assert (helper.PROTOCOL, helper.REPLY_FILE) == (host.PROTOCOL, host.REPLY_FILE)
    assert (helper.MAX_TOOLS, helper.MAX_LISTING_BYTES) == (host.MAX_TOOLS, host.MAX_LISTING_BYTES)
    assert (helper.MAX_RESULT_BYTES, helper.MAX_MESSAGE_CHARACTERS) == (
        host.MAX_RESULT_BYTES,
        host.MAX_MESSAGE_CHARACTERS,
    )
    assert (helper.MAX_DEPTH, helper.MAX_PROPERTIES) == (schemas.MAX_SCHEMA_DEPTH, schemas.MAX_PROPERTIES)
    assert (helper.MAX_CHOICES, helper.MAX_BRANCHES) == (schemas.MAX_CHOICES, schemas.MAX_BRANCHES)
    assert helper.MAX_SCHEMA_BYTES == schemas.MAX_SCHEMA_BYTES
    assert helper.MAX_RESULT_DEPTH < schemas.MAX_VALUE_DEPTH
