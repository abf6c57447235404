"""What a model that writes Python is told of the functions that its code can call."""

import ast
import keyword
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure.python_stubs import (
    MAX_CHOICES,
    MAX_STUBS,
    MAX_TEXT_CHARACTERS,
    Stub,
    is_python_name,
    order_parameters,
    render_stub,
    render_stubs,
)

pytestmark = pytest.mark.requirement("R70")

_GOLDEN = Path(__file__).parent / "golden" / "python-stubs.txt"
_REWRITE = os.environ.get("PROWESS_REWRITE_GOLDEN") == "1"

_EXAMPLES = (
    Stub("now", "Tell the time."),
    Stub(
        "send_letter",
        'Send a letter.\n\nMind the "post"""office"; C:\\letters is not looked at.',
        {
            "type": "object",
            "properties": {
                "urgent": {"type": "boolean", "default": False},
                "to": {"type": "string", "description": "Whom it is for."},
                "pages": {"type": "array", "items": {"type": "string"}, "description": "In their order."},
                "kind": {"enum": ["card", "letter", 'a "big" one'], "default": "letter"},
                "weight": {"type": ["number", "null"]},
                "stamps": {"type": "object", "additionalProperties": {"type": "integer"}},
                "reply-to": {"type": "string", "description": "Where an answer goes."},
                "from": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"name": {}}}]},
            },
            "required": ["to", "pages", "reply-to"],
        },
    ),
    Stub("search-v2", "Skipped."),
    Stub("class", "Skipped."),
)


def test_stubs_are_as_in_their_golden_file() -> None:
    text = render_stubs(_EXAMPLES) + "\n"
    if _REWRITE:
        _GOLDEN.write_text(text, "utf-8")
    assert text == _GOLDEN.read_text("utf-8")


# Names


@pytest.mark.parametrize("name", ["skill", "_a", "a1", "match", "type", "print"])
def test_python_takes_these_names(name: str) -> None:
    assert is_python_name(name)


@pytest.mark.parametrize("name", ["search-v2", "a.b", "1a", "", "a b", "class", "None", "__import__", "größe", "ﬁ"])
def test_others_are_skipped(name: str) -> None:
    """D63; letters beyond ASCII are spelled in more than one way, and Python changes them."""
    assert not is_python_name(name)
    assert render_stubs([Stub(name, "Does it.")]) == ""


def test_what_must_be_given_comes_first() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}, "b": {}, "c-d": {}, "e": {}}, "required": ["e", "b", "c-d"]}
    assert order_parameters(schema) == ("b", "e", "a")


def test_there_are_only_so_many_and_the_rest_is_counted() -> None:
    stubs = [Stub(f"f{number}", "Does it.") for number in range(MAX_STUBS + 3)]
    assert render_stubs(stubs[:MAX_STUBS]).count("def ") == MAX_STUBS
    text = render_stubs(stubs)
    assert text.count("def ") == MAX_STUBS
    assert text.endswith("\n\n# … and 3 more functions that are not shown")


# Types


def _type_of(schema: object) -> str:
    line = render_stub(Stub("f", "Does it.", {"properties": {"a": schema}, "required": ["a"]})).partition("\n")[0]
    return line.removeprefix("def f(a: ").removesuffix(") -> str:")


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer", "minimum": 1}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "list[list[int]]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str]"),
        ({"type": ["string", "integer", "string"]}, "str | int"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"anyOf": [{"type": "string"}, {}]}, "object"),
        ({"enum": ["a", 1, True, None]}, 'Literal["a", 1, True, None]'),
        ({"const": "a\n\u200b\\"}, r'Literal["a\n\u200b\\"]'),
        ({"enum": [1.5], "type": "number"}, "float"),
        ({"enum": list(range(MAX_CHOICES + 1)), "type": "integer"}, "int"),
        ({"enum": []}, "object"),
        ({"type": "thing"}, "object"),
        ({"$ref": "#/x"}, "object"),
        ({}, "object"),
        ("nonsense", "object"),
    ],
)
def test_type_is_written_as_python_does(schema: object, written: str) -> None:
    assert _type_of(schema) == written


def test_types_within_types_end_somewhere() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1_000):
        schema = {"type": "array", "items": schema}
    assert _type_of(schema) == "list[" * 9 + "object" + "]" * 9


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "a: str | None = None"),
        ({"type": ["string", "null"]}, "a: str | None = None"),
        ({"type": "string", "default": ""}, 'a: str = ""'),
        ({"type": "integer", "default": 3}, "a: int = 3"),
        ({"type": "boolean", "default": False}, "a: bool = False"),
        ({"type": "array", "default": [1]}, "a: list | None = None"),
        ({"type": "integer", "default": 2**100}, "a: int | None = None"),
    ],
)
def test_what_may_be_left_out_has_a_default(schema: dict[str, Any], written: str) -> None:
    assert render_stub(Stub("f", "Does it.", {"properties": {"a": schema}})).startswith(f"def f({written}) -> str:")


def test_long_text_is_cut_and_the_cut_shows() -> None:
    text = render_stub(Stub("f", "x" * 10_000))
    assert text.endswith("xx… (cut)" + '"""')
    assert len(text) < MAX_TEXT_CHARACTERS + 100


def test_argument_that_is_called_as_the_rest_would_be_is_kept_apart() -> None:
    text = render_stub(Stub("f", "Does it.", {"properties": {"others": {"type": "string"}, "a-b": {}}}))
    assert text.startswith("def f(others: str | None = None, **other_arguments: object) -> str:")


# Laws

_TEXTS = st.text(max_size=60) | st.text('"\\\n\r\t {}`', max_size=12)
_NAMES = (
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
    | st.text(max_size=8)
    | st.sampled_from([*keyword.kwlist, "others", "a-b"])
)
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS
_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "other", 3]),
        "description": _TEXTS,
        "default": _VALUES,
        "enum": st.lists(_VALUES, max_size=4),
        "const": _VALUES,
    },
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)})
    ),
    max_leaves=5,
)


@st.composite
def _stubs(draw: st.DrawFn) -> Stub:
    properties = draw(st.dictionaries(_NAMES, _SCHEMAS, max_size=5))
    required = draw(st.lists(st.sampled_from([*properties, "missing"]), max_size=4))
    return Stub(draw(_NAMES), draw(_TEXTS), {"properties": properties, "required": required})


@given(_stubs())
def test_every_stub_is_python_that_names_its_parameters(stub: Stub) -> None:
    text = render_stubs([stub])
    tree = ast.parse(text)
    if not is_python_name(stub.name):
        assert tree.body == []
        return
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == stub.name
    names = tuple(argument.arg for argument in function.args.args)
    assert names == order_parameters(stub.schema)
    assert (function.args.kwarg is not None) == any(not is_python_name(name) for name in stub.schema["properties"])
    needed = len(names) - len(function.args.defaults)
    assert set(names[:needed]) == set(names) & set(stub.schema["required"])
    assert len(function.body) == 1
    assert ast.get_docstring(function) is not None
    compile(tree, "stub", "exec")


@given(st.text('"\\\n ab{}`', max_size=30))
def test_docstring_says_what_the_description_does(text: str) -> None:
    (function,) = ast.parse(render_stub(Stub("f", text))).body
    assert isinstance(function, ast.FunctionDef)
    wanted = "\n".join(line.strip() for line in text.strip().split("\n")) or "f"
    assert ast.get_docstring(function) == wanted
