"""Trigger tests are read from YAML and JSON, ours and others', and whatever the bytes are, there is an answer."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.problems import Problem
from prowess.skill.trigger_tests import (
    MAX_FILE_BYTES,
    MAX_QUERIES,
    MAX_QUERY_LENGTH,
    TEST_FILES,
    Expectation,
    TriggerQuery,
    TriggerTests,
    merge_trigger_tests,
    parse_trigger_tests,
)

_OURS = "evals/triggers.yaml"
_JSON = "evals/triggers.json"
_FOR_ANSWERS = "evals/evals.json"


def _parse(text: str | bytes, path: str = _OURS) -> TriggerTests:
    return parse_trigger_tests(text.encode() if isinstance(text, str) else text, path=path)


def _places(problems: Sequence[Problem]) -> list[tuple[str, int | None, str | None]]:
    return [(problem.code, problem.line, problem.path) for problem in problems]


_BOTH = TriggerTests(
    (TriggerQuery("Fill in this form", Expectation.SHOULD), TriggerQuery("Draw a form", Expectation.SHOULD_NOT))
)
_ENTRIES = [
    {"query": "Fill in this form", "should_trigger": True},
    {"query": "Draw a form", "should_trigger": False},
]
_PROMPTS = [{"id": 1, "prompt": one["query"], "should_trigger": one["should_trigger"]} for one in _ENTRIES]


@pytest.mark.requirement("K12")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (_OURS, "should:\n  - Fill in this form\nshould_not:\n  - Draw a form\n"),
        ("evals/triggers.yml", "should: [Fill in this form]\nshould_not: [Draw a form]\n"),
        (_OURS, "\ufeffshould: ['  Fill in this form ']\nshould_not: [Draw a form]\n"),
        (_JSON, '{"should": ["Fill in this form"], "should_not": ["Draw a form"]}'),
        ("evals/eval_queries.json", json.dumps(_ENTRIES)),
        ("evals/trigger_evals.json", json.dumps({"skill_name": "pdf", "evals": _PROMPTS})),
        (_FOR_ANSWERS, json.dumps({"evals": [*_PROMPTS, {"prompt": "x", "expected_output": "y"}]})),
    ],
)
def test_every_form_gives_the_same_queries(path: str, text: str) -> None:
    assert _parse(text, path) == _BOTH


def test_texts_of_one_kind_keep_their_order() -> None:
    found = _parse("should_not: [d]\nshould: [c, a, b]\n")
    assert found.texts(Expectation.SHOULD) == ("c", "a", "b")
    assert found.texts(Expectation.SHOULD_NOT) == ("d",)


def test_file_for_answers_that_says_nothing_of_triggers_is_no_fault() -> None:
    assert _parse('{"skill_name": "pdf", "evals": [{"prompt": "x", "expected_output": "y"}, 3]}', _FOR_ANSWERS) == (
        TriggerTests()
    )
    assert _parse('{"cases": {}}', _FOR_ANSWERS) == TriggerTests()


@pytest.mark.parametrize("path", [_OURS, _JSON])
def test_nothing_at_all_gives_no_query(path: str) -> None:
    assert _parse("{}", path) == TriggerTests()


def test_wrong_entry_is_left_out_with_its_place() -> None:
    found = _parse("should:\n  - Fill in\n  - Fix this: it crashes\n  - ''\n  - [a]\n  - " + "x" * 5_000 + "\n")
    assert found.texts(Expectation.SHOULD) == ("Fill in",)
    assert _places(found.problems) == [("evals-query-invalid", line, _OURS) for line in (3, 4, 5, 6)]
    assert found.problems[0].message == "entry 2 of evals/triggers.yaml, a map with 'Fix this', is not a text"
    assert "quotes" in found.problems[0].remedy


def test_wrong_entry_of_a_list_in_json_has_its_line() -> None:
    text = '[\n  {"query": "a", "should_trigger": true},\n  {"query": "b"},\n  {"should_trigger": false},\n  7\n]\n'
    found = _parse(text, _JSON)
    assert found.queries == (TriggerQuery("a", Expectation.SHOULD),)
    assert _places(found.problems) == [("evals-query-invalid", line, _JSON) for line in (3, 4, 5)]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (_OURS, "- a\n- b\n", 1),
        (_OURS, "should:\n  - a\nshoud_not:\n  - b\n", 3),
        (_OURS, "should: all of it\n", 1),
        (_OURS, "should: [a\n", 2),
        (_OURS, "should: [a]\nshould: [b]\n", 2),
        (_OURS, "should: !t [a]\n", 1),
        (_JSON, '{"should": ["a",]}', 1),
        (_JSON, '{\n"should": {"a": "b"}}', 2),
        (_JSON, '"should"', 1),
        (_JSON, "", 1),
        (_JSON, "[" * 60_000, None),
        (_JSON, "9" * 10_000, None),
        (_JSON, b"\n\xff\xfe", 2),
        (_OURS, b"\xff", 1),
        (_OURS, "x" * (MAX_FILE_BYTES + 1), None),
    ],
)
def test_wrong_file_is_a_problem_with_a_place_and_a_remedy(path: str, text: str | bytes, line: int | None) -> None:
    (problem,) = _parse(text, path).problems
    assert (problem.code, problem.line, problem.path) == ("evals-unusable", line, path)
    assert problem.remedy


def test_half_characters_are_not_passed_on() -> None:
    assert _parse('{"should": ["a \\ud800 b"]}', _JSON).texts(Expectation.SHOULD) == ("a \ufffd b",)


def test_faults_of_one_file_are_bounded() -> None:
    problems = _parse("should:\n" + "  - ''\n" * 500).problems
    assert len(problems) == 21
    assert problems[-1].message == "evals/triggers.yaml has more faults like these; they are not listed"


def test_queries_of_all_files_count_once() -> None:
    one, two = _parse("should: [a, b]\n"), _parse('{"should": ["b", " a  "], "should_not": ["c"]}', _JSON)
    merged = merge_trigger_tests([one, two])
    assert (merged.texts(Expectation.SHOULD), merged.texts(Expectation.SHOULD_NOT)) == (("a", "b"), ("c",))
    assert merged.problems == ()


def test_contradiction_is_told_and_the_first_counts() -> None:
    merged = merge_trigger_tests([_parse("should: [fill  in]\nshould_not: [fill in, b]\n")])
    assert merged.texts(Expectation.SHOULD_NOT) == ("b",)
    assert [problem.code for problem in merged.problems] == ["evals-contradiction"]


def test_number_of_queries_is_bounded_and_the_cut_is_told() -> None:
    merged = merge_trigger_tests([_parse("should:\n" + "".join(f"  - query {n}\n" for n in range(300)))])
    assert len(merged.queries) == MAX_QUERIES
    assert [problem.code for problem in merged.problems] == ["evals-too-many"]


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)), st.sampled_from(TEST_FILES))
def test_any_bytes_give_queries_or_problems(raw: bytes, path: str) -> None:
    found = merge_trigger_tests([parse_trigger_tests(raw, path=path)])
    assert all(0 < len(query.text) <= MAX_QUERY_LENGTH for query in found.queries)
    assert all(problem.path in (path, "evals") for problem in found.problems)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["should", "should_not", "evals", "queries", "query", "prompt", "should_trigger"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_VALUES, st.sampled_from([path for path in TEST_FILES if path.endswith(".json")]))
def test_any_json_gives_queries_or_problems(value: object, path: str) -> None:
    found = parse_trigger_tests(json.dumps(value).encode(), path=path)
    assert all(query.text == query.text.strip() != "" for query in found.queries)


_QUERY = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).map(str.strip).filter(bool)


@given(st.lists(_QUERY, max_size=6), st.lists(_QUERY, max_size=6))
def test_what_is_written_as_json_is_read_again(should: list[str], should_not: list[str]) -> None:
    raw = json.dumps({"should": should, "should_not": should_not}).encode()
    found = parse_trigger_tests(raw, path=_JSON)
    assert (found.texts(Expectation.SHOULD), found.texts(Expectation.SHOULD_NOT)) == (tuple(should), tuple(should_not))
    assert found.problems == ()
