"""The short cut through plain YAML: it agrees with the full reader, or declines."""

import pytest
import yaml
from hypothesis import event, given, settings
from hypothesis import strategies as st

from prowess.skill.bounded_yaml import YamlDocument, locate_keys, parse_yaml
from prowess.skill.plain_yaml import find_plain_key, parse_plain_yaml
from prowess.skill.yaml_values import YamlMap

_KEYS = st.sampled_from(["name", "description", "key", "a", "b", "k-1", "_x", "metadata", "Z9"])
_VALUES = st.sampled_from(
    [
        *(
            "c",
            "some text",
            "a:b",
            "v#x",
            "a,b [c]",
            "1.10",
            "2026-01-01",
            "on",
            "null",
            "~",
            "é—😀",
            "x  ",
            "a\\b",
            "...",
            "[x]",
            "[ a b,c-1 , \"d, 'e'\",'f: g' ]",
        ),
        *('"q"', '"q \\" r"', '"\\\\"', '"a # b"', '"a: b"', '"x" ', "'s'", "'it''s'", "'a: b'", '"a\'b"', "'a\"b'"),
    ]
)
_RISKY_VALUES = st.sampled_from(
    [
        *(
            "",
            " ",
            "''",
            '""',
            "a: b",
            "v #x",
            "-x",
            "- x",
            "[]",
            "[a",
            "[a]]",
            "[a,]",
            "[a: b]",
            "[a #b]",
            "[[a]]",
            "['a'b]",
            '["a" "b"]',
            "['it''s']",
            "[-a]",
            "[ - a]",
            "[é]",
            "['é']",
            "{a: b}",
            "*a",
            "&a b",
            "!t b",
            "%x",
            "@x",
            "`x`",
            "a:",
        ),
        *('"\\n"', '"a" b', "'a' b", "'a", '"a', ">", "|", ">-", "|-", "|+", ">2", "> # c", "a\tb", "\u2028", "a\x85b"),
        *("\ue000", "---", "?", "? x", "#c", "'", '"', "\ufeff", "\x7f", "''''", "'' x", "|x", "a\u2029b", "\xa0"),
    ]
)
_ENTRIES = st.builds("{}: {}".format, _KEYS, _VALUES)
_GRANDCHILDREN = st.builds("    {}: {}".format, _KEYS, _VALUES) | st.builds("    - {}".format, _VALUES)
_CHILDREN = st.one_of(
    st.builds("  {}: {}".format, _KEYS, _VALUES),
    st.builds("  - {}".format, _VALUES),
    st.builds("  {}:\n{}".format, _KEYS, st.lists(_GRANDCHILDREN, min_size=1, max_size=3).map("\n".join)),
)
_ODD_LINES = st.one_of(
    st.builds("{}: {}".format, _KEYS, _RISKY_VALUES),
    st.builds("{}:".format, _KEYS),
    st.builds("  {}".format, _VALUES | _RISKY_VALUES),
    st.builds("  - {}".format, _RISKY_VALUES),
    st.builds(" {}: {}".format, _KEYS, _VALUES | _RISKY_VALUES),
    st.sampled_from(
        [
            *(
                "",
                " ",
                "# c",
                "  # c",
                " #",
                "- it",
                "-",
                "---",
                "...",
                "? a",
                ": b",
                "k : v",
                "k:v",
                "'k': v",
                '"k": v',
            ),
            *(
                "\tt",
                "    deep: 1",
                "  - - x",
                "  - a: b",
                "   odd",
                "  trailing  ",
                "  x #y",
                "%YAML 1.1",
                "\ufeffa: b",
            ),
        ]
    ),
)
_BLOCKS = st.builds(
    "{}: {}\n{}".format,
    _KEYS,
    st.sampled_from([">", "|", ">-", "|-", "first line", "more: text", "text #", "'quoted"]),
    st.lists(
        st.sampled_from(["  foo", "  bar baz", "  a: b", "  # c", "   more", "  x#y", "  - it", "", "  é "]),
        min_size=1,
        max_size=3,
    ).map("\n".join),
)
_NESTED = st.builds("{}:\n{}".format, _KEYS, st.lists(_CHILDREN, min_size=1, max_size=3).map("\n".join))
_PLAIN_PARTS = st.lists(_ENTRIES | _NESTED | st.just("# c") | st.just(""), min_size=1, max_size=4)
_MIXED_PARTS = st.lists(st.one_of(_ENTRIES, _ENTRIES, _NESTED, _BLOCKS, _ODD_LINES), min_size=1, max_size=6)
_DOCUMENTS = (_PLAIN_PARTS | _MIXED_PARTS).map(lambda parts: "\n".join(parts) + "\n")


def _read_in_full(text: str) -> YamlDocument | object:
    """Read with the full parser: the short cut declines a document's end mark, which changes nothing of its meaning."""
    ended = f"{text}...\n"
    assert parse_plain_yaml(ended) is None
    return parse_yaml(ended)


@pytest.mark.slow
@pytest.mark.requirement("J4")
@settings(max_examples=1000)
@given(text=_DOCUMENTS)
def test_whatever_the_short_cut_accepts_the_full_reader_reads_the_same(text: str) -> None:
    plain = parse_plain_yaml(text)
    event("accepted" if plain else "declined, or nothing in it")
    if plain:
        full = _read_in_full(text)
        assert isinstance(full, YamlDocument)
        assert (list(full.values.items()), full.problems) == (list(plain.items()), ())


@settings(max_examples=300)
@given(text=_DOCUMENTS)
def test_key_of_a_plain_text_is_found_where_the_full_reader_sees_it(text: str) -> None:
    plain = parse_plain_yaml(text)
    if plain:
        places = {path: (line - 1, column - 1) for path, (line, column) in locate_keys(text).items()}
        paths = [path for path in places if len(path) <= 2 and all(isinstance(key, str) for key in path)]
        assert {path: find_plain_key(text, *map(str, path)) for path in paths} == {path: places[path] for path in paths}
        assert [find_plain_key(text, "none"), *(find_plain_key(text, key, "none") for key in plain)].count(None) > len(
            plain
        )


@pytest.mark.slow
@settings(max_examples=300)
@given(text=_DOCUMENTS)
def test_whatever_the_short_cut_accepts_another_reader_without_types_reads_the_same(text: str) -> None:
    plain = parse_plain_yaml(text)
    if plain:
        assert yaml.load(text, Loader=yaml.CBaseLoader) == plain


@given(
    text=st.text(st.sampled_from("ab:#-'\"\\ \n>|[]{}&*!%@`?,~\té\u2028"), max_size=30).map(lambda text: f"k: {text}\n")
)
def test_short_cut_agrees_on_values_of_any_signs(text: str) -> None:
    plain = parse_plain_yaml(text)
    if plain is not None:
        full = _read_in_full(text)
        assert isinstance(full, YamlDocument)
        assert (full.values, full.problems) == (plain, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("\n", {}),
        ("# only a comment\n", {}),
        ("name: pdf\ndescription: Fill forms.\n", {"name": "pdf", "description": "Fill forms."}),
        (
            "version: 1.10\ndate: 2026-01-01\nflag: on\nnothing: null\n",
            {"version": "1.10", "date": "2026-01-01", "flag": "on", "nothing": "null"},
        ),
        ("a: \"say \\\"hi\\\" \\\\\"\nb: 'it''s'\n", {"a": 'say "hi" \\', "b": "it's"}),
        ("a:\nb: x\n", {"a": "", "b": "x"}),
        ("tags:\n  - a\n  - b c\n", {"tags": ["a", "b c"]}),
        ("tags: [a, b-c d , \"e, f\",'g: h' ]\n", {"tags": ["a", "b-c d", "e, f", "g: h"]}),
        ("m:\n  a: [x]\n  b: c\n", {"m": {"a": ["x"], "b": "c"}}),
        (
            "m:\n  a:\n    b: c\n    d: [e]\n  f:\n      - g\n      - h\n  i: j\nk: l\n",
            {"m": {"a": {"b": "c", "d": ["e"]}, "f": ["g", "h"], "i": "j"}, "k": "l"},
        ),
        ("m:\n  a:\nb: c\n", {"m": {"a": ""}, "b": "c"}),
        ("tags:\n- a\n- b\nx: y\n", {"tags": ["a", "b"], "x": "y"}),
        ('metadata:\n  author: me\n  version: "1"\n', {"metadata": {"author": "me", "version": "1"}}),
        ("d: >\n  one\n  two\nn: x\n", {"d": "one two\n", "n": "x"}),
        ("d: |-\n  one\n  two\n", {"d": "one\ntwo"}),
        ("d: one\n  two\n  three\nn: x\n", {"d": "one two three", "n": "x"}),
        ("d:\n  one\n  'two' x:y\nn: x\n", {"d": "one 'two' x:y", "n": "x"}),
        ("d:\n\n  # c\n  one\n", {"d": "one"}),
        ("url: https://x.y/z#a\n", {"url": "https://x.y/z#a"}),
    ],
)
def test_plain_documents_are_read_by_the_short_cut(text: str, expected: YamlMap | None) -> None:
    assert parse_plain_yaml(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name: pdf", id="no final line break"),
        pytest.param("a: b # c\n", id="comment after a value"),
        pytest.param("a: b: c\n", id="colon in a value"),
        pytest.param("a: b:\n", id="trailing colon"),
        pytest.param('a: "\\n"\n', id="rare escape"),
        pytest.param('a: "b" c\n', id="text after quotes"),
        pytest.param('a: ""\n', id="empty quotes"),
        pytest.param("a: []\n", id="empty list"),
        pytest.param("a: [b, [c]]\n", id="list in a list"),
        pytest.param("a: [b: c]\n", id="map in a list in brackets"),
        pytest.param("a: [b,\n  c]\n", id="list on two lines"),
        pytest.param("a: [b] c\n", id="text after a list in brackets"),
        pytest.param("a: ['it''s']\n", id="doubled quotes in a list"),
        pytest.param("a: {b: c}\n", id="flow map"),
        pytest.param("a: &b c\n", id="anchor"),
        pytest.param("a: *b\n", id="alias"),
        pytest.param("a: !t b\n", id="tag"),
        pytest.param("a: @b\n", id="reserved sign"),
        pytest.param("a: b\na: c\n", id="doubled key"),
        pytest.param("m:\n  a: b\n  a: c\n", id="doubled key in a map"),
        pytest.param("m:\n  a:\n    b:\n      c: d\n", id="three levels"),
        pytest.param("m:\n  a:\n  - b\n", id="list below a key without an indent"),
        pytest.param("m:\n  a:\n    b: c\n   d: e\n", id="uneven indent far in"),
        pytest.param("m:\n  a:\n    b: c\n    b: d\n", id="doubled key far in"),
        pytest.param("m:\n  a:\n    b: c\n    - d\n", id="list and map at once far in"),
        pytest.param("m:\n  a:\n    b\n", id="text on a line of its own far in"),
        pytest.param("m:\n  a: b\n    c: d\n", id="child of a value far in"),
        pytest.param("m:\n  - a: b\n", id="map in a list"),
        pytest.param("m:\n  a: b\n  - c\n", id="list and map at once"),
        pytest.param("m:\n  a: b\n   c: d\n", id="uneven indent"),
        pytest.param("a: b\n  c: d\n", id="child of a value"),
        pytest.param("a:\n  b\n  c: d\n", id="key after a text"),
        pytest.param("a:\n  b\n\n  c\n", id="blank line in a text"),
        pytest.param("a:\n  b\n  - c\n", id="dash after a text"),
        pytest.param("a:\n  - b\n  c\n", id="text after a list"),
        pytest.param("a:\n  'b'\n", id="quotes on a line of their own"),
        pytest.param("- a\n", id="list at the top"),
        pytest.param("text\n", id="no key"),
        pytest.param("k:v\n", id="no blank after the colon"),
        pytest.param("'k': v\n", id="quoted key"),
        pytest.param("a:\tb\n", id="tab"),
        pytest.param("a: b\x85\n", id="next-line sign"),
        pytest.param("a: b\u2028c\n", id="line separator"),
        pytest.param("a: b\r\n", id="carriage return"),
        pytest.param("a: b\x00\n", id="NUL"),
        pytest.param("d: |+\n  a\n", id="kept line breaks"),
        pytest.param("d: >2\n  a\n", id="explicit indent"),
        pytest.param("d: |\n  a\n\n  b\n", id="blank line in a block"),
        pytest.param("d: |\n  \ue000\n", id="the reader's own mark"),
        pytest.param("a: b\n---\nc: d\n", id="two documents"),
        pytest.param("a: b\n...\n", id="end mark"),
        pytest.param(f"{'k' * 65}: v\n", id="long key"),
    ],
)
def test_short_cut_declines_what_it_cannot_be_sure_of(text: str) -> None:
    assert parse_plain_yaml(text) is None
