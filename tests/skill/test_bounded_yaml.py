"""YAML within bounds: text stays text, and every bound ends the reading with one Problem and its place."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.bounded_yaml import MAX_ALIASES, MAX_DEPTH, MAX_NODES, YamlDocument, locate_keys, parse_yaml
from prowess.skill.problems import Problem, Severity
from prowess.skill.yaml_values import YamlMap
from tests.skill.strategies import clean_line
from tests.skill.writing import places

_E, _W = Severity.ERROR, Severity.WARNING


@pytest.mark.requirement("R1", "R7", "J4")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("# a comment\n", {}, id="a comment"),
        pytest.param("a: b", {"a": "b"}, id="no final line break"),
        pytest.param("a: [1.10, 0x1F, 1_000, .5, 1e3]\n", {"a": ["1.10", "0x1F", "1_000", ".5", "1e3"]}, id="numbers"),
        pytest.param(
            "a: [yes, no, on, off, true, False]\n", {"a": ["yes", "no", "on", "off", "true", "False"]}, id="flags"
        ),
        pytest.param("a: [null, ~, '', ]\n", {"a": ["null", "~", ""]}, id="nothings"),
        pytest.param("a: [2026-01-01, 12:30:00]\n", {"a": ["2026-01-01", "12:30:00"]}, id="dates"),
        pytest.param("1: a\ntrue: b\n~: c\n", {"1": "a", "true": "b", "~": "c"}, id="keys"),
        pytest.param("a: {b: {c: [d, {e: f}]}}\n", {"a": {"b": {"c": ["d", {"e": "f"}]}}}, id="nesting"),
        pytest.param("<<: {a: b}\n", {"<<": {"a": "b"}}, id="no merging"),
        pytest.param("a: &x b\nc: *x\n", {"a": "b", "c": "b"}, id="alias of a text"),
        pytest.param("a: &x [b]\nc: *x\n", {"a": ["b"], "c": ["b"]}, id="alias of a list"),
        pytest.param("a: &x b\n*x : c\n", {"a": "b", "b": "c"}, id="alias as a key"),
        pytest.param(
            "a: !!str 1\nb: !!int '2'\nc: ! d\ne: !!map {}\n", {"a": "1", "b": "2", "c": "d", "e": {}}, id="plain tags"
        ),
        pytest.param('a: "\\u00e9\\n\\x41\\/"\n', {"a": "é\nA/"}, id="escapes"),
        pytest.param("a: |\n  b\n\n  c\n\nd: >-\n  e\n  f\n", {"a": "b\n\nc\n", "d": "e f"}, id="blocks"),
        pytest.param("---\na: b\n...\n", {"a": "b"}, id="one marked document"),
        pytest.param('{"a": {"b": [1, true, null]}}', {"a": {"b": ["1", "true", "null"]}}, id="JSON"),
    ],
)
def test_every_value_stays_as_it_was_written(text: str, expected: YamlMap) -> None:
    assert parse_yaml(text) == YamlDocument(expected)


def test_keys_keep_their_order() -> None:
    found = parse_yaml("z: [1]\na: 2\nm: 3\n")
    assert isinstance(found, YamlDocument)
    assert list(found.values) == ["z", "a", "m"]


_DEEPEST = "a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
_LETTERS = "abcdefghi"
_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{this}: &{this} [{','.join([f'*{last}'] * 9)}]\n" for last, this in pairwise(_LETTERS)
)


@pytest.mark.requirement("R15", "J3")
@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        pytest.param("- a\n- b\n", "yaml-not-a-map", 1, 1, id="list"),
        pytest.param("just text\n", "yaml-not-a-map", 1, 1, id="text"),
        pytest.param("a: [b\n", "yaml-invalid", 2, 1, id="unclosed list"),
        pytest.param("x: y\na: b: c\n", "yaml-invalid", 2, 5, id="colon in a value"),
        pytest.param("a: b\n\tc: d\n", "yaml-invalid", 2, 1, id="tab as indent"),
        pytest.param("x: y\na: @b\n", "yaml-invalid", 2, 4, id="reserved sign"),
        pytest.param("x: 'y\n", "yaml-invalid", 2, 1, id="unclosed quote"),
        pytest.param("name:x\nb: c\n", "yaml-invalid", 1, 6, id="no blank after the first colon"),
        pytest.param("name:\u00a0x\n\nb: c\n", "yaml-invalid", 1, 6, id="no-break blank"),
        pytest.param("a: b\nname:x\n\nb: c\n", "yaml-invalid", 2, 6, id="no blank after a later colon"),
        pytest.param("a:b\nname:x\nb: c\n", "yaml-invalid", 1, 3, id="no blank after two colons"),
        pytest.param("x: y\x07\n", "yaml-invalid", 1, 1, id="control character"),
        pytest.param("a: " + "[" * MAX_DEPTH, "yaml-too-deep", 1, 3 + MAX_DEPTH, id="one level too deep"),
        pytest.param("[" * 60_000, "yaml-too-deep", 1, MAX_DEPTH + 1, id="60,000 levels"),
        pytest.param("- " * 30_000, "yaml-too-deep", 1, 2 * MAX_DEPTH + 1, id="30,000 lists on one line"),
        pytest.param(
            "a: [" + "x," * MAX_NODES + "]\n", "yaml-too-many-nodes", 1, 2 * (MAX_NODES - 3) + 5, id="too many values"
        ),
        pytest.param(
            "a: &a [x]\nb: [" + "*a," * 17 + "]\n",
            "yaml-too-many-aliases",
            2,
            5 + 3 * MAX_ALIASES,
            id="too many aliases",
        ),
        pytest.param(_BOMB, "yaml-too-many-aliases", 3, 29, id="a billion laughs"),
        pytest.param(
            "a: &a [" + "x," * 300 + "]\nb: &b [*a, *a]\nc: [*b, *b]\n",
            "yaml-too-many-nodes",
            3,
            9,
            id="few aliases, many values",
        ),
        pytest.param("a: *b\n", "yaml-bad-alias", 1, 4, id="unknown alias"),
        pytest.param("a: &a [*a]\n", "yaml-bad-alias", 1, 8, id="cycle through a list"),
        pytest.param("a: &a\n  b: *a\n", "yaml-bad-alias", 2, 6, id="cycle through a map"),
        pytest.param("&a a: *b\nc: &b d\n", "yaml-bad-alias", 1, 7, id="alias before its anchor"),
        pytest.param("a: b\nc: !!python/object:os.system d\n", "yaml-tag", 2, 4, id="tag of a language"),
        pytest.param("a: !custom [b]\n", "yaml-tag", 1, 4, id="tag on a list"),
        pytest.param("a: !!binary aGk=\n", "yaml-tag", 1, 4, id="binary"),
        pytest.param("a: !!set {b}\n", "yaml-tag", 1, 4, id="set"),
        pytest.param("? [a]\n: b\n", "yaml-complex-key", 1, 3, id="list as a key"),
        pytest.param("a: {{name}}\n", "yaml-complex-key", 1, 5, id="braces of a template"),
        pytest.param("a: &x [b]\n*x : c\n", "yaml-complex-key", 2, 1, id="alias of a list as a key"),
        pytest.param("a: b\n---\nc: d\n", "yaml-several-documents", 2, 1, id="two documents"),
        pytest.param("a: b\n...\n---\nc: d\n", "yaml-several-documents", 3, 1, id="two ended documents"),
    ],
)
def test_document_beyond_a_bound_gives_one_problem_with_its_place(text: str, code: str, line: int, column: int) -> None:
    found = parse_yaml(text, first_line=1)
    assert isinstance(found, Problem)
    assert places([found]) == [(code, _E, line, column)]
    below = parse_yaml(text, first_line=41)
    assert isinstance(below, Problem)
    assert places([below]) == [(code, _E, line + 40, column)]


def test_bomb_of_306_bytes_never_grows() -> None:
    """It would hold 387,420,489 texts."""
    found = parse_yaml(_BOMB)
    assert (len(_BOMB), isinstance(found, Problem)) == (306, True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_DEEPEST, id="depth"),
        pytest.param("a: [" + "x," * (MAX_NODES - 3) + "]\n", id="values"),
        pytest.param("a: &a x\nb: [" + "*a," * MAX_ALIASES + "]\n", id="aliases"),
    ],
)
def test_document_at_a_bound_is_read(text: str) -> None:
    found = parse_yaml(text)
    assert isinstance(found, YamlDocument)
    assert found.problems == ()


@pytest.mark.parametrize("text", ["".join(f"k{n}: v\n" for n in range(2_000)), "x:\n" + "- a\n" * 2_001])
def test_short_cut_keeps_the_bound_on_values(text: str) -> None:
    assert isinstance(parse_yaml(text), Problem)


@pytest.mark.requirement("J3")
@pytest.mark.parametrize(
    ("text", "values", "line", "column"),
    [
        pytest.param("a: b\nc: d\na: e\n", {"a": "b", "c": "d"}, 3, 1, id="at the top"),
        pytest.param("m:\n  a: b\n  a: [c]\n", {"m": {"a": "b"}}, 3, 3, id="in a map"),
        pytest.param("a: b\na: {c: d}\ne: f\n", {"a": "b", "e": "f"}, 2, 1, id="map thrown away"),
        pytest.param("a: b\n'a': c\n", {"a": "b"}, 2, 1, id="another spelling"),
    ],
)
def test_first_of_two_equal_keys_counts(text: str, values: YamlMap, line: int, column: int) -> None:
    for strict, severity in ((False, _W), (True, _E)):
        found = parse_yaml(text, strict=strict)
        assert isinstance(found, YamlDocument)
        assert found.values == values
        assert places(found.problems) == [("yaml-duplicate-key", severity, line, column)]


_PLACES = "name: pdf\nmetadata:\n  author: me\n  tags: [x, yy]\ntools:\n  - a\n  - b:\n      c: d\nname: again\n"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(("name",), (1, 1), id="a key, the first of two"),
        pytest.param(("metadata", "author"), (3, 3), id="a key in a map"),
        pytest.param(("metadata", "tags", 1), (4, 13), id="an item on one line"),
        pytest.param(("tools", 0), (6, 5), id="an item"),
        pytest.param(("tools", 1, "b", "c"), (8, 7), id="far in"),
    ],
)
def test_place_of_a_key_is_found(path: tuple[str | int, ...], place: tuple[int, int]) -> None:
    line, column = place
    assert locate_keys(_PLACES)[path] == place
    assert locate_keys(_PLACES, first_line=11)[path] == (line + 10, column)


def test_places_come_with_what_was_read() -> None:
    found = parse_yaml(_PLACES, first_line=3)
    assert isinstance(found, YamlDocument)
    assert found.places == locate_keys(_PLACES, first_line=3)


def test_places_in_a_value_that_is_thrown_away_are_those_of_its_key() -> None:
    assert locate_keys("a: {b: c}\na: {d: [e]}\nf: g\n") == {
        ("a",): (1, 1),
        ("a", "b"): (1, 5),
        ("a", "d"): (2, 5),
        ("a", "d", 0): (2, 9),
        ("f",): (3, 1),
    }


def test_place_before_a_fault_is_still_found() -> None:
    assert locate_keys("a: b\nc: d\ne: [\n")["c",] == (2, 1)


_JSON = st.recursive(
    clean_line | st.sampled_from(["", "\n", "\t", "a\nb", "1", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values=st.dictionaries(st.text("abcdef", min_size=1, max_size=4), _JSON, max_size=4))
def test_what_is_written_as_json_reads_back_the_same(values: dict[str, object]) -> None:
    found = parse_yaml(json.dumps(values, ensure_ascii=False))
    assert isinstance(found, YamlDocument)
    assert (found.values, found.problems) == (values, ())


@given(text=st.text(st.sampled_from("ab:-[]{}&*!?|>'\"# \n,%@`~."), max_size=40))
def test_any_text_gives_a_document_or_a_problem(text: str) -> None:
    found = parse_yaml(text)
    assert isinstance(found, YamlDocument) or found.severity is _E
