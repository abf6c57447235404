"""The faults that people make most often, mended line by line without losing a letter."""

import re
from typing import cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.policy import Parse, Reading
from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.deception import clean_text
from prowess.skill.problems import Severity
from prowess.skill.reading import parse_skill
from prowess.skill.repair import Mend, drop_unreadable, mend_yaml, quote_value
from prowess.skill.yaml_values import YamlValue
from tests.skill.strategies import yaml_line
from tests.skill.writing import STANDARD, accept, judge, places, skill_md


@pytest.mark.requirement("J3")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("Use this skill when: the user asks", id="colon and blank"),
        pytest.param("Reads a: b, c: d and e: f", id="several colons"),
        pytest.param("does the following:", id="trailing colon"),
        pytest.param("[beta] Fills forms", id="text after a flow list"),
        pytest.param("[a] [b]", id="two flow lists"),
        pytest.param("{name} is replaced", id="text after a flow map"),
        pytest.param("{{name}}", id="braces of a template"),
        pytest.param("@mention people", id="leading at sign"),
        pytest.param("*bold* words", id="leading asterisk"),
        pytest.param("`code` first", id="leading backtick"),
        pytest.param("%d percent", id="leading percent sign"),
        pytest.param("&& and so on", id="leading ampersands"),
        pytest.param("!important note", id="leading exclamation mark"),
        pytest.param("- a list: not really", id="leading hyphen"),
        pytest.param("? what", id="leading question mark"),
        pytest.param("|pipe|", id="leading pipe"),
        pytest.param(">quote", id="leading arrow"),
        pytest.param('"Fill" forms: all of them', id="quoted first word"),
        pytest.param('"foo" and "bar"', id="quoted first and last word"),
        pytest.param("'tis: so", id="leading apostrophe"),
        pytest.param('"never closed', id="unclosed quote"),
        pytest.param("it's: mine", id="apostrophe inside"),
        pytest.param("a: b # c", id="hash in a broken line"),
        pytest.param("use a: C:\\temp\\x", id="backslashes"),
        pytest.param("日本語: テキスト", id="beyond ASCII"),
        pytest.param("] closes first", id="leading bracket"),
        pytest.param(", comma first", id="leading comma"),
    ],
)
def test_whole_value_of_a_broken_line_is_kept(value: str) -> None:
    text = f"name: pdf\ndescription: {value}\nlicense: MIT\n"
    mended = f"description: {quote_value(value)}"
    assert mend_yaml(text) == (f"name: pdf\n{mended}\nlicense: MIT\n", [Mend(1, mended)])
    found = judge(text)
    assert found.manifest is not None
    assert (found.manifest.name, found.manifest.description, found.manifest.license) == ("pdf", value, "MIT")
    assert places(found.problems) == [("yaml-repaired", Severity.WARNING, 3, 1)]
    assert found.problems[0].message == f"not valid YAML; read as: {mended}"


@pytest.mark.requirement("J3")
@pytest.mark.parametrize(
    ("value", "meant"),
    [
        pytest.param('"He said "hi" to me"', 'He said "hi" to me', id="double quotes in double quotes"),
        pytest.param("'It's mine'", "It's mine", id="apostrophe in single quotes"),
        pytest.param('"C:\\path"', "C:\\path", id="a backslash that is no escape"),
    ],
)
def test_quotes_around_a_broken_value_are_not_part_of_it(value: str, meant: str) -> None:
    assert accept(f"name: pdf\ndescription: {value}\n").description == meant


@pytest.mark.requirement("J3")
@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("d: a: b\n  goes on\n  and on\n", {"d": "a: b goes on and on"}, id="continued below"),
        pytest.param(
            "d: one\n  two: three\nn: x\n", {"d": "one two: three", "n": "x"}, id="broken in the continuation"
        ),
        pytest.param(
            "d: a: b\n\n  goes on\n\nn: x\n", {"d": "a: b goes on", "n": "x"}, id="continued after a blank line"
        ),
        pytest.param(
            "metadata:\n\tauthor: me\n\tversion: 1\n", {"metadata": {"author": "me", "version": "1"}}, id="tabs"
        ),
        pytest.param("m:\n\ta: b: c\n", {"m": {"a": "b: c"}}, id="tab and colon"),
        pytest.param("m:\n  a: b: c\n  d: e\n", {"m": {"a": "b: c", "d": "e"}}, id="in a map"),
        pytest.param("l:\n  - *.py\n  - @x\n  - c\n", {"l": ["*.py", "@x", "c"]}, id="items"),
        pytest.param("l:\n  - a: b: c\n", {"l": [{"a": "b: c"}]}, id="map in a list"),
        pytest.param("d: a: b\ne: c: d\n", {"d": "a: b", "e": "c: d"}, id="two broken lines"),
        pytest.param("d: a: b\ne: |\n  x: y: z\n", {"d": "a: b", "e": "x: y: z\n"}, id="a block is left alone"),
        pytest.param("d: a: b\ne: >- # c\n  x: y: z\n", {"d": "a: b", "e": "x: y: z"}, id="a block with a comment"),
        pytest.param("d: a: b\ne: [x,\n  y]\n", {"d": "a: b", "e": ["x", "y"]}, id="a list on two lines is left alone"),
        pytest.param("d: a: b\ne: 'x\n  y'\n", {"d": "a: b", "e": "x y"}, id="quotes on two lines are left alone"),
        pytest.param(
            "d: a: b\nl:\n  - name: idea\n    required: true\n",
            {"d": "a: b", "l": [{"name": "idea", "required": "true"}]},
            id="a good map in a list is left alone",
        ),
        pytest.param("d : a: b\n", {"d": "a: b"}, id="blank before the colon"),
        pytest.param("a.b: c: d\n", {"a.b": "c: d"}, id="dotted key"),
    ],
)
def test_mended_text_means_what_was_written(text: str, values: dict[str, YamlValue]) -> None:
    mended, mends = mend_yaml(text)
    assert parse_yaml(mended) == YamlDocument(values)
    assert mended.count("\n") == text.count("\n")
    assert [mended.split("\n")[mend.index] for mend in mends] == [mend.line for mend in mends]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name: pdf\ndescription: Fill.\n", id="good"),
        pytest.param("", id="empty"),
        pytest.param("d: [a, b\n", id="unfinished list"),
        pytest.param("d: {a: b\n", id="unfinished map"),
        pytest.param("no key at all\n", id="no entry"),
        pytest.param("d: a: b\n" * 401, id="too many lines"),
    ],
)
def test_nothing_is_mended_where_nothing_can_be_known(text: str) -> None:
    assert mend_yaml(text)[1] == []


@pytest.mark.requirement("J3", "R15")
@pytest.mark.parametrize("value", ["[invalid yaml", "{a: b", "[[a]", "[a, 'b"])
def test_unfinished_flow_is_refused_with_the_original_fault(value: str) -> None:
    found = judge(f"name: pdf\ndescription: {value}\n")
    assert found.manifest is None
    assert [problem.code for problem in found.problems] == ["yaml-invalid"]
    assert found.problems[0].message.startswith("YAML parse error: ")


@pytest.mark.requirement("J3")
def test_places_after_a_mended_line_are_those_of_the_file() -> None:
    found = judge("name: pdf\ndescription: a: b\n  goes on\n  and on\ncolour: red\n")
    assert places(found.problems) == [
        ("yaml-repaired", Severity.WARNING, 3, 1),
        ("unknown-key", Severity.WARNING, 6, 1),
    ]


@pytest.mark.parametrize("parse", [Parse.PLAIN, Parse.STRICT])
def test_other_readings_mend_nothing(parse: Parse) -> None:
    found = judge("name: pdf\ndescription: a: b\n", reading=Reading(parse=parse))
    assert found.manifest is None
    assert places(found.problems) == [("yaml-invalid", Severity.ERROR, 3, 15)]


def _read_by_yaml(value: str) -> str | None:
    """Return what YAML itself makes of `description: value`, if it is a text."""
    try:
        read: object = yaml.load(f"description: {value}\n", Loader=yaml.CBaseLoader)
    except yaml.YAMLError:
        return None
    meant = cast("dict[str, object]", read).get("description") if isinstance(read, dict) else None
    return clean_text(meant.strip()).text if isinstance(meant, str) else None


_QUOTED_FIRST_WORD = re.compile(r"""(["'])[^"']*[^"'\s]\1\s""")
"""As in `"foo" and "bar"`: these quotes are no pair around the whole."""


def _as_it_stands(value: str) -> set[str]:
    bare = value.strip()
    quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" and not _QUOTED_FIRST_WORD.match(bare)
    return {clean_text(bare).text, clean_text(bare[1:-1].strip()).text if quoted else clean_text(bare).text}


@pytest.mark.requirement("J3")
@settings(max_examples=400)
@given(value=yaml_line)
def test_description_on_one_line_is_read_by_yaml_or_as_it_stands_or_refused(value: str) -> None:
    found = parse_skill(skill_md(f"name: pdf\ndescription: {value}\n"), folder="pdf", reading=STANDARD)
    codes = {problem.code for problem in found.problems}
    if found.manifest is None:
        assert any(problem.severity is Severity.ERROR and problem.line for problem in found.problems)
    elif any(problem.message.startswith("the frontmatter holds") for problem in found.problems):
        readable, unreadable, _ = drop_unreadable(value)
        same = parse_skill(skill_md(f"name: pdf\ndescription: {readable}\n"), folder="pdf", reading=STANDARD)
        assert (_read_by_yaml(value), unreadable != ()) == (None, True)
        assert same.manifest is not None
        assert found.manifest.description == same.manifest.description
    elif "yaml-repaired" in codes:
        assert found.manifest.description in _as_it_stands(value)
        assert _read_by_yaml(value) is None or "!" in value  # Only a tag is good YAML that has to be mended.
    else:
        assert found.manifest.description == _read_by_yaml(value)


@settings(max_examples=200)
@given(
    lines=st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["", "  ", "\t", "- ", "  - "]),
            st.sampled_from(["", "a: ", "b: ", "c:"]),
            yaml_line,
        ),
        max_size=6,
    )
)
def test_mending_never_changes_the_number_of_lines(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    mended, mends = mend_yaml(text)
    assert mended.count("\n") == text.count("\n")
    assert [mend.index for mend in mends] == sorted({mend.index for mend in mends})


@given(value=yaml_line)
def test_quoted_value_means_just_that(value: str) -> None:
    visible = "".join(char for char in value if char.isprintable())
    assert parse_yaml(f"k: {quote_value(visible)}\n") == YamlDocument({"k": visible})
