"""The arguments of a tool call, and what a model is told of wrong ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.tool_arguments import parse_arguments
from prowess.activation.tools import make_tools
from prowess.errors import ToolInputError
from prowess.policy import ToolSet

_ACTIVATE, _READ, _RUN, _SEARCH, _ = make_tools(ToolSet.STANDARD, names=["pdf-fill"])
_FILL: dict[str, object] = {"name": "pdf-fill", "script": "scripts/fill.py"}
_NOTHING: dict[str, object] = {"arguments": list[str](), "input": dict[str, object]()}
_KEYS = ["query", "limit", "name", "script", "arguments", "input", "\ud800"]

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.sampled_from("ab\ud800\0技")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner),
    max_leaves=6,
)


def _complaint(arguments: Any, tool: Any = _SEARCH) -> tuple[str, str, str]:
    with pytest.raises(ToolInputError) as caught:
        parse_arguments(tool, arguments)
    return caught.value.code, caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"query": "forms", "limit": 3}, {"query": "forms", "limit": 3}),
        ({"query": "forms"}, {"query": "forms"}),
        ({"query": "forms", "limit": None}, {"query": "forms"}),
        ('{"query": "forms", "limit": 3}', {"query": "forms", "limit": 3}),
    ],
)
def test_good_arguments_come_as_they_are(given: dict[str, object] | str, expected: dict[str, object]) -> None:
    assert parse_arguments(_SEARCH, given) == expected


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "the argument 'query' is missing"),
        ("", "the argument 'query' is missing"),
        ({"query": None}, "the argument 'query' is missing"),
        ({"query": "a", "q": "b"}, "no argument 'q'"),
        ({"x" * 1_000: 1}, f"no argument '{'x' * 64}'"),
        ('{"\\ud800": 1}', "no argument '\\ud800'"),
        ({"query": ["a"]}, "'query' must be a text"),
        ({"query": "a", "limit": "3"}, "'limit' must be a whole number from 1 up"),
        ({"query": "a", "limit": 0}, "'limit' must be a whole number from 1 up"),
        ({"query": "a", "limit": True}, "'limit' must be a whole number from 1 up"),
        ({"query": "a", "limit": 1.5}, "'limit' must be a whole number from 1 up"),
        ({"query": "a" * 100_001}, "'query' has more than 100,000 characters"),
        ('{"query": "\\ud800"}', "'query' holds half of a character, which no text can"),
        ("{", "the arguments are not valid JSON"),
        ("[" * 100_000, "the arguments are not valid JSON"),
        ("[1]", "the arguments are not a JSON object"),
        ("null", "the arguments are not a JSON object"),
    ],
)
def test_wrong_arguments_are_answered_with_what_is_wanted(arguments: dict[str, object] | str, complaint: str) -> None:
    assert _complaint(arguments) == (
        "bad-arguments",
        f"search_skills: {complaint}",
        "arguments: query: string, limit (optional): integer",
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (_FILL, _FILL),
        (_FILL | {"arguments": None, "input": None}, _FILL),
        (_FILL | _NOTHING, _FILL | _NOTHING),
        (
            _FILL | {"arguments": ["--form", "a b", ""], "input": {"fields": [1, None, {"技": True}]}},
            _FILL | {"arguments": ["--form", "a b", ""], "input": {"fields": [1, None, {"技": True}]}},
        ),
        (
            '{"name": "pdf-fill", "script": "scripts/fill.py", "arguments": ["x"], "input": {"a": 1.5}}',
            _FILL | {"arguments": ["x"], "input": {"a": 1.5}},
        ),
        pytest.param(_FILL | {"arguments": ["x"] * 1_000}, _FILL | {"arguments": ["x"] * 1_000}, id="1,000 items"),
    ],
)
def test_lists_and_objects_come_as_they_are(given: dict[str, object] | str, expected: dict[str, object]) -> None:
    assert parse_arguments(_RUN, given) == expected


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "the argument 'name' is missing"),
        ({"name": "pdf-fill"}, "the argument 'script' is missing"),
        (_FILL | {"script": ["scripts/fill.py"]}, "'script' must be a text"),
        (_FILL | {"arguments": "--form a"}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": {"form": "a"}}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": False}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": ["a", 1]}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": [None]}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": [["a"]]}, "'arguments' must be a list of texts"),
        (_FILL | {"arguments": ["a"] * 1_001}, "'arguments' has more than 1,000 items"),
        (_FILL | {"arguments": ["a", "b" * 100_001]}, "'arguments' has more than 100,000 characters"),
        (_FILL | {"arguments": ["a", "\ud800"]}, "'arguments' holds half of a character, which no text can"),
        (_FILL | {"input": "{}"}, "'input' must be an object"),
        (_FILL | {"input": [1]}, "'input' must be an object"),
        (_FILL | {"input": 0}, "'input' must be an object"),
        (_FILL | {"timeout": 5}, "no argument 'timeout'"),
    ],
)
def test_wrong_lists_and_objects_are_answered_with_what_is_wanted(
    arguments: dict[str, object] | str, complaint: str
) -> None:
    assert _complaint(arguments, _RUN) == (
        "bad-arguments",
        f"run_skill_script: {complaint}",
        "arguments: name: string, script: string, arguments (optional): array, input (optional): object",
    )


def test_name_that_is_not_enumerated_is_left_to_the_session() -> None:
    """It knows what is visible by the time of the call, and answers with a list of that."""
    assert parse_arguments(_ACTIVATE, {"name": "unknown"}) == {"name": "unknown"}
    assert _complaint({"name": "pdf-fill"}, _READ)[1] == "read_skill_resource: the argument 'path' is missing"


_QUERIES = st.fixed_dictionaries({"query": st.text("ab\ud800\0技")}, optional={"limit": st.integers() | any_json})


@given(value=any_json | _QUERIES)
def test_any_json_is_parsed_or_complained_of(value: object) -> None:
    try:
        found = parse_arguments(_SEARCH, json.dumps(value))
    except ToolInputError as error:
        error.message.encode()
        return
    assert set(found) <= {"query", "limit"}
    found["query"].encode()


@given(
    arguments=any_json | st.lists(st.text("ab\ud800\0技"), max_size=3),
    extra=any_json | st.dictionaries(st.sampled_from(_KEYS), any_json),
)
def test_any_json_as_a_list_and_an_object_is_parsed_or_complained_of(arguments: object, extra: object) -> None:
    given = json.dumps(_FILL | {"arguments": arguments, "input": extra})
    try:
        found = parse_arguments(_RUN, given)
    except ToolInputError as error:
        error.message.encode()
        return
    kept = {key: value for key, value in (("arguments", arguments), ("input", extra)) if value is not None}
    assert found == _FILL | kept
    "".join(found.get("arguments", ())).encode()
    assert isinstance(found.get("input", {}), dict)
