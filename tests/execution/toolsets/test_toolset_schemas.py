"""The schemas of a skill's tools, and calls checked by them."""

import json
from typing import Annotated, Any, Literal, Optional, Union, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import ToolInputError
from prowess.execution.toolsets.toolset_arguments import check_arguments
from prowess.execution.toolsets.toolset_helper.prowess_toolset import call_tool, list_tools
from prowess.execution.toolsets.toolset_schemas import CUT, Schema, ToolsetFault, check_schema, find_flaw
from tests.execution.toolsets.test_prowess_toolset import Colour, Corner, Movie, Point, make_toolset

pytestmark = pytest.mark.requirement("R69")


def _of(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def _nest(levels: int) -> Schema:
    schema: Schema = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


# Schemas


@pytest.mark.parametrize(
    "schema",
    [
        _of({}),
        _of({"a": {}, "b-c.d": {"type": ["string", "null"], "minLength": 1, "maxLength": 9}}, "a"),
        _of({"a": {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0.5}}}),
        _of({"a": {"anyOf": [{"const": 1}, {"type": "array", "items": {}, "minItems": 1, "maxItems": 2}]}}),
        _of({"a": {"enum": ["x", 1, None, True], "title": "A", "description": "One\n  two", "default": [{"x": 1}]}}),
        _of({"a": {"minimum": 1, "maximum": 2, "exclusiveMaximum": 3}}),
        _of({"a": _nest(6)}),
    ],
)
def test_supported_schemas_pass_as_they_are(schema: Schema) -> None:
    checked = check_schema(schema)
    assert checked == schema
    assert checked is not schema


def test_bare_object_becomes_the_shape_of_all_tools() -> None:
    assert check_schema({"type": "object"}) == _of({})


_FAULTS: list[tuple[Any, str]] = [
    ([], "schema: must be an object"),
    ({}, "type: must be 'object', since a tool takes named arguments"),
    ({"type": ["object"]}, "type: must be 'object', since a tool takes named arguments"),
    ({"type": "object", "anyOf": [{}]}, "anyOf: is not supported for the arguments as a whole"),
    ({"type": "object", "$ref": "#"}, "$ref: is not supported"),
    (_of({"a": {"type": "string", "pattern": "(a+)+$"}}), "properties.a.pattern: is not supported"),
    (_of({"a": {"items": {"oneOf": []}}}), "properties.a.items.oneOf: is not supported"),
    (
        _of({"a": {"type": "text"}}),
        "properties.a.type: must be of: string, integer, number, boolean, array, object, null",
    ),
    (_of({"a": {"type": []}}), "properties.a.type: must be a list of 1 to 7 members"),
    (_of({"a": {"type": {}}}), "properties.a.type: must be a list of 1 to 7 members"),
    (_of({"a": {"type": ["null", "null"]}}), "properties.a.type: names a type twice"),
    (_of({"a": {"items": True}}), "properties.a.items: must be an object"),
    (_of({"a": {"additionalProperties": 1}}), "properties.a.additionalProperties: must be an object"),
    (_of({"a": {"enum": []}}), "properties.a.enum: must be a list of 1 to 250 members"),
    (_of({"a": {"enum": [[1]]}}), "properties.a.enum[0]: must be a text, a number, true, false or null"),
    (_of({"a": {"enum": ["a\u200b"]}}), "properties.a.enum[0]: holds characters that nobody sees"),
    (_of({"a": {"const": "\u202e"}}), "properties.a.const: holds characters that nobody sees"),
    (_of({"a": {"anyOf": [{}, 3]}}), "properties.a.anyOf[1]: must be an object"),
    (_of({"a": {"anyOf": [{}] * 17}}), "properties.a.anyOf: must be a list of 1 to 16 members"),
    (_of({"a": {"description": 3}}), "properties.a.description: must be a text"),
    (_of({"a": {"minimum": "1"}}), "properties.a.minimum: must be a number"),
    (_of({"a": {"maximum": True}}), "properties.a.maximum: must be a number"),
    (_of({"a": {"maximum": float("inf")}}), "properties.a.maximum: must be a finite number"),
    (_of({"a": {"minLength": -1}}), "properties.a.minLength: must be a whole number from 0 up"),
    (_of({"a b": {}}), "properties.a b: a name has up to 64 of the characters A-Z a-z 0-9 _ . -"),
    (_of({"\u202e": {}}), "properties.\\u202e: a name has up to 64 of the characters A-Z a-z 0-9 _ . -"),
    (_of(cast("Any", [])), "properties: must be an object"),
    (_of({"a": {}}, "b"), "required: 'b' is none of the properties"),
    (_of({"a": {}}, "a", "a"), "required: must be a list of names, each once"),
    (_of({f"a{n}": {} for n in range(65)}), "properties: has more than 64 members"),
    (_of({"a": _nest(7)}), f"properties.a{'.items' * 7}: is nested deeper than 8 levels"),
    (_of({"a": {"default": "x" * 32_768}}), "schema: has more than 32,768 bytes"),
    (_of({"a": {"default": 10**5_000}}), "schema: holds a number that is too long"),
    (_of({"a": {"default": b"x"}}), "properties.a.default: is no JSON"),
    (_of({"a": {"default": {1: 2}}}), "properties.a.default: has a name that is no text"),
    (_of({"a": {"title": "\ud800"}}), "properties.a.title: holds half of a character, which no text can"),
]


@pytest.mark.parametrize(("schema", "message"), _FAULTS)
def test_other_schemas_are_faults_that_name_the_place(schema: object, message: str) -> None:
    with pytest.raises(ToolsetFault) as caught:
        check_schema(schema)
    assert (caught.value.message, caught.value.code) == (message, "toolset-fault")


def test_texts_are_cleaned_and_cut_and_hidden_defaults_left_out() -> None:
    long = "word " * 300
    schema = {"title": "a\u200bb", "description": f" \u202e{long}", "default": ["\u2066x"]}
    cleaned = check_schema(_of({"p": {"description": "pаypal\n  - оne"}, "q": schema}))["properties"]
    assert cleaned["p"] == {"description": "paypal\n  - one"}
    assert cleaned["q"] == {"title": "ab", "description": long[: 1_024 - len(CUT)].rstrip() + CUT}


# Calls

_SCHEMA = check_schema(
    _of(
        {
            "a": {"type": "integer"},
            "b": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
            "text": {"type": "string", "minLength": 2, "maxLength": 3},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "numbers": {
                "type": "array",
                "items": {"type": "number", "exclusiveMinimum": 0},
                "maxItems": 2,
                "minItems": 1,
            },
            "person": _of({"name": {"type": ["string", "null"]}, "age": {"type": "integer"}}, "age"),
            "either": {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "boolean"}, {"type": "null"}]},
            "scores": {"type": "object", "additionalProperties": {"type": "number"}},
            "one": {"const": 1},
            "any": {},
        },
        "a",
    )
)
_HINT = (
    'arguments: a: integer, b (optional): integer, text (optional): string, mode (optional): one of "fast", "slow", '
    "numbers (optional): array of number, person (optional): object, either (optional): integer or boolean or null, "
    "scores (optional): object, one (optional): anything, any (optional): anything"
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ({"a": 1.0, "one": 1.0, "any": None}, {"a": 1.0, "one": 1.0, "any": None}),
        ('{"a": 1, "b": null}', {"a": 1}),
        (
            {"a": 1, "either": None, "person": {"name": None, "age": 1}},
            {"a": 1, "either": None, "person": {"name": None, "age": 1}},
        ),
        (
            {"a": -(10**30), "numbers": [1, 0.5], "scores": {"x y": 1}},
            {"a": -(10**30), "numbers": [1, 0.5], "scores": {"x y": 1}},
        ),
    ],
)
def test_good_arguments_come_as_they_are(arguments: dict[str, object] | str, expected: dict[str, object]) -> None:
    assert check_arguments(_SCHEMA, arguments, tool="add") == expected


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "the argument 'a' is missing"),
        ("", "the argument 'a' is missing"),
        ({"a": None}, "'a' must be a whole number"),
        ({"a": "1"}, "'a' must be a whole number"),
        ({"a": True}, "'a' must be a whole number"),
        ({"a": 1.5}, "'a' must be a whole number"),
        ({"a": float("nan")}, "'a' must be a finite number"),
        ('{"a": NaN}', "'a' must be a finite number"),
        ('{"a": 1e999}', "'a' must be a finite number"),
        ({"a": 1, "c": 2}, "no argument 'c'"),
        ({"a": 1, "\u202e" * 70: 2}, f"no argument '{chr(92)}u202e{(chr(92) + 'u202e') * 63}'"),
        ({"a": 1, "b": 0}, "'b' must be at least 1"),
        ({"a": 1, "b": 9}, "'b' must be less than 9"),
        ({"a": 1, "text": "x"}, "'text' must have at least 2 characters"),
        ({"a": 1, "text": "xxxx"}, "'text' must have at most 3 characters"),
        ({"a": 1, "text": "\ud800\ud800"}, "'text' holds half of a character, which no text can"),
        ({"a": 1, "mode": "Fast"}, '\'mode\' must be one of: "fast", "slow"'),
        ({"a": 1, "mode": 1}, '\'mode\' must be one of: "fast", "slow"'),
        ({"a": 1, "one": True}, "'one' must be 1"),
        ({"a": 1, "numbers": 1}, "'numbers' must be a list"),
        ({"a": 1, "numbers": []}, "'numbers' must have at least 1 items"),
        ({"a": 1, "numbers": [1, 0]}, "'numbers[1]' must be more than 0"),
        ({"a": 1, "numbers": [1, False]}, "'numbers[1]' must be a number"),
        ({"a": 1, "person": {}}, "'person.age' is missing"),
        ({"a": 1, "person": {"age": 1, "sex": 2}}, "no argument 'person.sex'"),
        ({"a": 1, "person": {"age": 1, "name": 2}}, "'person.name' must be a text or null"),
        ({"a": 1, "either": "x"}, "'either' must be a whole number or true or false or null"),
        ({"a": 1, "either": 6}, "'either' must be at most 5"),
        ({"a": 1, "scores": {"x": "y"}}, "'scores.x' must be a number"),
        ({"a": 1, "any": [b"x"]}, "'any[0]' is no JSON"),
        ({"a": 1, "any": {"b": {2: 3}}}, "'any.b' has a name that is no text"),
        ("{", "the arguments are not valid JSON"),
        pytest.param("[" * 100_000, "the arguments are not valid JSON", id="deep"),
        ("[]", "the arguments are not a JSON object"),
    ],
)
def test_first_fault_of_a_call_is_told_so_that_a_model_can_act(arguments: Any, complaint: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        check_arguments(_SCHEMA, arguments, tool="add")
    error = caught.value
    assert (error.message, error.hint, error.code) == (f"add: {complaint}", _HINT, "bad-arguments")


def test_deep_arguments_are_refused() -> None:
    deep: object = 1
    for _ in range(70):
        deep = [deep]
    with pytest.raises(ToolInputError, match="nested too deeply"):
        check_arguments(_SCHEMA, {"a": 1, "any": deep}, tool="add")


def test_hint_of_many_choices_is_cut() -> None:
    choices = [f"{'x' * 90}{number}" for number in range(40)]
    schema = check_schema(_of({f"a{n}": {"enum": choices} for n in range(7)}, "a1"))
    with pytest.raises(ToolInputError) as caught:
        check_arguments(schema, {}, tool="pick")
    assert len(caught.value.hint) == 4_000
    assert caught.value.hint.endswith(CUT)
    with pytest.raises(ToolInputError) as caught:
        check_arguments(schema, {"a1": 1}, tool="pick")
    assert caught.value.message.endswith(", … (40 in all)")


def test_tool_without_arguments_says_so() -> None:
    with pytest.raises(ToolInputError) as caught:
        check_arguments(_of({}), {"a": 1}, tool="now")
    assert (caught.value.message, caught.value.hint) == ("now: no argument 'a'", "arguments: none")


# Laws

_KEYWORDS = ["type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"]
_OTHER_KEYWORDS = ["description", "default", "minimum", "maxLength", "pattern", "a"]
_WORDS = st.sampled_from(["object", "string", "integer", "null", "a", "\u200b", "\ud800", ""])
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | _WORDS
any_json = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYWORDS + _OTHER_KEYWORDS), inner, max_size=4)
    ),
    max_leaves=12,
)
_NO_KEYS: dict[str, st.SearchStrategy[Any]] = {}
_NEAR_SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries(
        _NO_KEYS,
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object", ["null", "number"], "a"]),
            "description": st.sampled_from(["words", "", " \u200bwords\n", "x" * 2_000]),
            "default": st.none() | _WORDS | st.integers(),
            "minimum": st.integers() | st.floats(),
            "maxLength": st.integers(-1, 9),
            "enum": st.lists(st.none() | st.integers() | _WORDS, max_size=2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        _NO_KEYS,
        optional={
            "type": st.sampled_from(["array", "object", ["object", "null"]]),
            "items": inner,
            "additionalProperties": st.booleans() | inner,
            "properties": st.dictionaries(st.sampled_from(["a", "b-c", "é"]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b-c"]), max_size=1),
            "anyOf": st.lists(inner, max_size=2),
        },
    ),
    max_leaves=4,
)
"""As authors write them, with a fault now and then."""
_LIST: Any = list
_DICT: Any = dict
_OPTIONAL: Any = Optional
_UNION: Any = Union
_ANNOTATED: Any = Annotated
_SIMPLE: list[Any] = [str, int, float, bool, None, Any, Colour, Corner, Point, Movie, Literal["a", 1, None, True]]
any_hint: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(_SIMPLE),
    lambda inner: st.one_of(
        inner.map(lambda hint: _LIST[hint]),
        inner.map(lambda hint: _DICT[str, hint]),
        inner.map(lambda hint: _OPTIONAL[hint]),
        st.tuples(inner, inner).map(lambda pair: _UNION[pair]),
        inner.map(lambda hint: _ANNOTATED[hint, "what it is"]),
    ),
    max_leaves=5,
)


def _values(schema: Schema) -> st.SearchStrategy[Any]:
    """Return values that a schema takes."""
    if "anyOf" in schema:
        return st.one_of(*map(_values, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    types = schema.get("type", "null")
    return st.one_of(*(_values_of(name, schema) for name in ([types] if isinstance(types, str) else types)))


def _values_of(name: str, schema: Schema) -> st.SearchStrategy[Any]:
    match name:
        case "object":
            inner = {key: _values(value) for key, value in schema.get("properties", {}).items()}
            required = {key: inner[key] for key in schema.get("required", [])}
            optional = {key: value for key, value in inner.items() if key not in required}
            rest = schema["additionalProperties"]
            more = _values({} if rest is True else rest) if rest else st.nothing()
            return st.fixed_dictionaries(required, optional=optional) if inner else st.dictionaries(st.just("k"), more)
        case "array":
            return st.lists(_values(schema.get("items", {})), max_size=2)
        case "integer":
            return st.integers() | st.just(2.0)
        case "number":
            return st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        case "string":
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
        case "boolean":
            return st.booleans()
        case _:
            return st.none()


@given(any_json | _NEAR_SCHEMAS | _NEAR_SCHEMAS.map({"type": "object"}.__ror__))
def test_any_json_is_a_schema_or_a_fault(value: object) -> None:
    try:
        checked = check_schema(value)
    except ToolsetFault:
        return
    assert check_schema(checked) == checked


@given(st.dictionaries(st.sampled_from(["a", "b"]), any_json | _NEAR_SCHEMAS))
def test_any_properties_are_a_schema_or_a_fault(properties: Schema) -> None:
    try:
        checked = check_schema({"type": "object", "properties": properties})
    except ToolsetFault:
        return
    assert check_schema(checked) == checked
    assert find_flaw(checked) is None


@given(st.data(), st.lists(any_hint, max_size=3))
def test_schemas_that_the_helper_makes_pass_and_fitting_arguments_reach_the_method(
    data: st.DataObject, types: list[Any]
) -> None:
    toolset = make_toolset({f"a{number}": hint for number, hint in enumerate(types)}, a1=None)
    (made,) = list_tools(toolset)
    schema = check_schema(made["schema"])
    assert schema == made["schema"]
    arguments = check_arguments(schema, data.draw(_values(schema)), tool="echo")
    assert set(call_tool(toolset, "echo", json.loads(json.dumps(arguments)))) >= set(arguments)


@given(st.lists(any_hint, min_size=1, max_size=2), st.lists(any_json, min_size=2, max_size=2))
def test_whatever_arguments_pass_the_check_reach_the_method(types: list[Any], values: list[object]) -> None:
    toolset = make_toolset({f"a{number}": hint for number, hint in enumerate(types)}, a1=None)
    schema = check_schema(list_tools(toolset)[0]["schema"])
    given_ = {f"a{number}": value for number, value in enumerate(values[: len(types)])}
    try:
        arguments = check_arguments(schema, given_, tool="echo")
    except ToolInputError:
        return
    assert set(call_tool(toolset, "echo", json.loads(json.dumps(arguments)))) >= set(arguments)
