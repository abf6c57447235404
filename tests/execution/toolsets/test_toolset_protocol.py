"""Toolsets as the host sees them: requests, and replies that a skill's code may have forged."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import ToolInputError
from prowess.execution.toolsets.toolset_arguments import check_arguments
from prowess.execution.toolsets.toolset_protocol import (
    HELPER_FILE,
    Failed,
    Failure,
    OfferedTool,
    Returned,
    ToolsetFault,
    ToolsetReference,
    make_request_to_call,
    make_request_to_list,
    parse_listing,
    parse_outcome,
    parse_reference,
    tool_name,
)
from prowess.execution.toolsets.toolset_schemas import CUT
from prowess.skill.deception import strip_invisible
from tests.execution.toolsets.test_prowess_toolset import INDEX, serve, write
from tests.execution.toolsets.test_toolset_schemas import any_json

pytestmark = pytest.mark.requirement("R69")

_REF = ToolsetReference("toolsets/index:MyToolset", "toolsets/index", "MyToolset")
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _row(name: str = "add", description: str = "", schema: object = _EMPTY) -> dict[str, object]:
    return {"name": name, "description": description, "schema": schema}


def _listing(*rows: object) -> bytes:
    return json.dumps({"protocol": 1, "tools": [*rows]}).encode()


# Requests


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ("toolsets/index:MyToolset", "toolsets/index", "MyToolset"),
        ("index:_A1", "index", "_A1"),
        ("my-tools/2/a_b:A", "my-tools/2/a_b", "A"),
    ],
)
def test_reference_names_a_file_and_a_class(text: str, path: str, name: str) -> None:
    assert parse_reference(text) == ToolsetReference(text, path, name)


def test_bad_reference_is_a_fault_that_says_how_to_write_it() -> None:
    with pytest.raises(ToolsetFault) as caught:
        parse_reference("../\u202e:A")
    error = caught.value
    assert (error.code, error.message, error.hint) == (
        "toolset-bad",
        "toolset '../\\u202e:A' names no file of the skill with a class",
        "write it as toolsets/index:MyToolset, for the class MyToolset in toolsets/index.py",
    )
    with pytest.raises(ToolsetFault):
        parse_reference("a" * 200 + ":A")


def test_requests_are_of_the_protocol() -> None:
    assert json.loads(make_request_to_list(_REF)) == {"protocol": 1, "toolset": _REF.text, "do": "list"}
    assert json.loads(make_request_to_call(_REF, "add", {"a": "é"})) == {
        "protocol": 1,
        "toolset": _REF.text,
        "do": "call",
        "tool": "add",
        "arguments": {"a": "é"},
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "add: the arguments are no JSON"),
        (b"x", "add: the arguments are no JSON"),
        ([10**5_000], "add: the arguments are no JSON"),
        (["x" * 1_000_000], "add: the arguments have more than 1,000,000 bytes"),
    ],
)
def test_arguments_that_cannot_be_sent_are_refused(value: object, message: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        make_request_to_call(_REF, "add", {"a": value})
    assert (caught.value.code, caught.value.message) == ("bad-arguments", message)


# There and back


def test_tool_is_listed_checked_and_called(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", INDEX)
    serve(tmp_path, make_request_to_list(_REF))
    (add,) = parse_listing((tmp_path / "output/reply.json").read_bytes(), ref=_REF)
    assert (add.name, add.description) == ("add", "Add two numbers.")
    arguments = check_arguments(add.schema, '{"a": 2}', tool=tool_name("sums", add.name))
    serve(tmp_path, make_request_to_call(_REF, add.name, arguments))
    assert parse_outcome((tmp_path / "output/reply.json").read_bytes()) == Returned(3)


def test_fault_of_the_skill_is_told_by_listing_and_by_call(tmp_path: Path) -> None:
    write(tmp_path, "toolsets/index.py", "1 / 0")
    serve(tmp_path, make_request_to_list(_REF))
    raw = (tmp_path / "output/reply.json").read_bytes()
    assert parse_outcome(raw) == Failed(Failure.CRASH, "ZeroDivisionError: division by zero")
    with pytest.raises(ToolsetFault) as caught:
        parse_listing(raw, ref=_REF)
    assert caught.value.message == "toolsets/index:MyToolset: ZeroDivisionError: division by zero"


def test_helper_stands_alone_beside_the_host_side() -> None:
    assert os.path.isabs(HELPER_FILE)
    assert Path(HELPER_FILE).name == "prowess_toolset.py"
    assert "import prowess" not in Path(HELPER_FILE).read_text("utf-8").replace("import prowess_toolset", "")


# Replies


def test_listing_is_cleaned() -> None:
    long = "x" * 1_025
    tools = parse_listing(_listing(_row("a", "ad\u200bd\u202e"), _row("b", long, {"type": "object"})), ref=_REF)
    assert tools == (
        OfferedTool("a", "add", _EMPTY),
        OfferedTool("b", long[: 1_024 - len(CUT)] + CUT, _EMPTY),
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the reply is not valid JSON"),
        (b"\xff", "the reply is not valid JSON"),
        pytest.param(b"[" * 100_000, "the reply is not valid JSON", id="deep"),
        pytest.param(b"9" * 5_000, "the reply is not valid JSON", id="long number"),
        (b"[]", "the reply is no object"),
        (b"{}", "the reply is not of protocol 1"),
        (b'{"protocol": true, "tools": []}', "the reply is not of protocol 1"),
        (b'{"protocol": 2, "tools": []}', "the reply is not of protocol 1"),
        (b'{"protocol": 1, "tools": NaN}', "the reply: 'tools' must be a finite number"),
        (
            b'{"protocol": 1, "tools": ["\\ud800"]}',
            "the reply: 'tools[0]' holds half of a character, which no text can",
        ),
        (
            b'{"protocol": 1, "tools": [' + b"[" * 80 + b"]" * 80 + b"]}",
            f"the reply: 'tools{'[0]' * 64}' is nested too deeply",
        ),
        pytest.param(b" " * 262_145, "the reply has more than 262,144 bytes", id="too large"),
        (b'{"protocol": 1, "result": 1}', f"{_REF.text}: the reply lists no tools"),
        (b'{"protocol": 1, "tools": [], "more": 1}', f"{_REF.text}: the reply lists no tools"),
        (b'{"protocol": 1, "tools": {}}', f"{_REF.text}: the reply lists no tools"),
        pytest.param(_listing(*[_row(f"t{n}") for n in range(65)]), f"{_REF.text}: more than 64 tools", id="many"),
        (_listing(_row(), _row()), f"{_REF.text}: two tools are named 'add'"),
        (_listing("add"), f"{_REF.text}: a tool is not described by name, description and schema"),
        (_listing(_row() | {"code": 1}), f"{_REF.text}: a tool is not described by name, description and schema"),
        (_listing(_row() | {"name": 1}), f"{_REF.text}: a tool is not described by name, description and schema"),
        (_listing(_row("a-b")), f"{_REF.text}: 'a-b' cannot be the name of a tool"),
        (_listing(_row("a\n")), f"{_REF.text}: 'a\\n' cannot be the name of a tool"),
        (_listing(_row("a" * 41)), f"{_REF.text}: '{'a' * 41}' cannot be the name of a tool"),
        (_listing(_row(schema={"type": "object", "$ref": "x"})), f"{_REF.text}: tool 'add': $ref: is not supported"),
        (b'{"protocol": 1, "error": {"kind": "tool", "message": "no"}}', f"{_REF.text}: no"),
        (b'{"protocol": 1, "error": "no"}', "the reply holds an error without kind and message"),
    ],
)
def test_replies_that_are_no_listing_are_faults(raw: bytes, message: str) -> None:
    with pytest.raises(ToolsetFault) as caught:
        parse_listing(raw, ref=_REF)
    assert (caught.value.message, caught.value.code) == (message, "toolset-fault")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ({"result": None}, Returned(None)),
        ({"result": {"a": [1, "x\u200b"]}}, Returned({"a": [1, "x\u200b"]})),
        ({"error": {"kind": "tool", "message": " ask\u202e less "}}, Failed(Failure.TOOL, "ask less")),
        ({"error": {"kind": "crash", "message": ""}}, Failed(Failure.CRASH, "no reason was given")),
        (
            {"error": {"kind": "request", "message": "x" * 2_001}},
            Failed(Failure.REQUEST, "x" * (2_000 - len(CUT)) + CUT),
        ),
    ],
)
def test_outcome_is_a_result_or_a_failure(reply: dict[str, Any], outcome: Returned | Failed) -> None:
    assert parse_outcome(json.dumps({"protocol": 1} | reply).encode()) == outcome


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"nul", "the reply is not valid JSON"),
        (b'{"protocol": 1}', "the reply holds no result"),
        (b'{"protocol": 1, "result": 1, "log": 2}', "the reply holds no result"),
        (b'{"protocol": 1, "result": 1e999}', "the reply: 'result' must be a finite number"),
        (b'{"protocol": 1, "result": 1, "error": {}}', "the reply holds an error without kind and message"),
        (b'{"protocol": 1, "error": {"kind": "odd", "message": ""}}', "the reply holds an error of no known kind"),
        (b'{"protocol": 1, "error": {"kind": [], "message": ""}}', "the reply holds an error of no known kind"),
        pytest.param(b" " * 1_000_001, "the reply has more than 1,000,000 bytes", id="too large"),
    ],
)
def test_replies_that_are_no_outcome_are_faults(raw: bytes, message: str) -> None:
    with pytest.raises(ToolsetFault) as caught:
        parse_outcome(raw)
    assert (caught.value.message, caught.value.code) == (message, "toolset-fault")


_ERRORS = st.fixed_dictionaries({"kind": st.sampled_from(["tool", "crash"]) | any_json, "message": any_json})
_ROWS = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"]) | any_json, "description": any_json, "schema": any_json}
)
_REPLIES = any_json | st.fixed_dictionaries(
    {"protocol": st.just(1) | any_json},
    optional={"tools": st.lists(_ROWS | any_json) | any_json, "result": any_json, "error": _ERRORS | any_json},
)


@given(st.binary() | _REPLIES.map(lambda reply: json.dumps(reply).encode()))
def test_any_bytes_are_a_reply_or_a_fault(raw: bytes) -> None:
    faults: list[ToolsetFault] = []
    try:
        parse_outcome(raw)
    except ToolsetFault as fault:
        faults.append(fault)
    try:
        parse_listing(raw, ref=_REF)
    except ToolsetFault as fault:
        faults.append(fault)
    assert all(len(fault.message) < 5_000 and strip_invisible(fault.message)[1] == 0 for fault in faults)


# Names


@pytest.mark.parametrize(
    ("skill", "tool", "name"),
    [
        ("pdf-fill", "add", "pdf-fill__add"),
        ("my_skill", "a__b", "my_skill__a__b"),
        ("s" * 22, "t" * 40, f"{'s' * 22}__{'t' * 40}"),
        ("s" * 23, "t" * 40, f"{'s' * 9}__080b45af16b__{'t' * 40}"),
        ("a__b", "c", "a-b__0a92700ced2__c"),
        ("a_", "c", "a__0914ca0d324__c"),
        ("技能", "add", "skill__07940a0dea6__add"),
        ("", "add", "skill__06d4168e555__add"),
    ],
)
def test_name_for_a_model_holds_the_skill_and_the_tool(skill: str, tool: str, name: str) -> None:
    assert tool_name(skill, tool) == name


_PAIRS = st.tuples(
    st.text("ab_-0é", max_size=6) | st.text(max_size=80), st.from_regex(r"[a-b][a_0]{0,39}", fullmatch=True)
)


@given(_PAIRS, _PAIRS)
def test_no_two_tools_share_a_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    names = [tool_name(*one), tool_name(*other)]
    assert all(
        len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() and name.isascii() for name in names
    )
    assert (names[0] == names[1]) is (one == other)
