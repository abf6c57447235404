"""The Manifest: what a skill says of itself, in one model."""

import pytest

from prowess.skill.manifest import PLAIN_BEHAVIOUR, STANDARD_FIELDS, Behaviour, Manifest, parse_metadata
from prowess.skill.yaml_values import YamlMap, YamlValue
from tests.skill.writing import accept


@pytest.mark.requirement("J1")
def test_standard_has_six_fields() -> None:
    assert STANDARD_FIELDS == ("name", "description", "license", "compatibility", "metadata", "allowed-tools")


@pytest.mark.requirement("R2", "R5", "R6", "R7", "R8", "J1")
def test_six_standard_fields_fill_the_manifest() -> None:
    text = (
        "name: pdf\n"
        "description: Fills forms.\n"
        "license: Apache-2.0\n"
        "compatibility: Requires Python 3.11+\n"
        "metadata:\n  author: me\n  version: 1.10\n"
        "allowed-tools: Bash(git:*) Read\n"
    )
    manifest = accept(text)
    assert manifest == Manifest(
        name="pdf",
        description="Fills forms.",
        license="Apache-2.0",
        compatibility="Requires Python 3.11+",
        allowed_tools=("Bash(git:*)", "Read"),
        text=text,
    )
    assert manifest.metadata == {"author": "me", "version": "1.10"}
    assert (manifest.version, manifest.author) == ("1.10", "me")


@pytest.mark.requirement("R2", "J1")
def test_two_required_fields_are_enough() -> None:
    manifest = accept("name: pdf\ndescription: d\n")
    assert manifest == Manifest("pdf", "d", text="name: pdf\ndescription: d\n")
    assert manifest.behaviour is PLAIN_BEHAVIOUR
    assert (manifest.metadata, manifest.version, manifest.author) == ({}, "", "")


@pytest.mark.requirement("R7")
def test_metadata_of_any_type_stays_the_text_that_was_written() -> None:
    manifest = accept(
        "name: pdf\ndescription: d\nmetadata:\n  v: 1.10\n  b: true\n  n: null\n  d: 2026-01-01\n  l: [1, {a: no}]\n"
    )
    assert manifest.metadata == {"v": "1.10", "b": "true", "n": "null", "d": "2026-01-01", "l": ["1", {"a": "no"}]}


@pytest.mark.parametrize(
    ("text", "version", "author"),
    [
        ("version: 1.0\nauthor: me\n", "1.0", "me"),
        ("metadata:\n  version: 2.0\n  author: you\n", "2.0", "you"),
        ("version: 1.0\nmetadata:\n  version: 2.0\n  author: you\n", "1.0", "you"),
        ('metadata: \'{"version": "3", "author": "them"}\'\n', "3", "them"),
        ("version: [1]\nauthor: {name: me}\n", "", ""),
    ],
)
def test_version_and_author_stand_at_the_top_or_under_metadata(text: str, version: str, author: str) -> None:
    manifest = accept(f"name: pdf\ndescription: d\n{text}")
    assert (manifest.version, manifest.author) == (version, author)


@pytest.mark.requirement("R7", "K10")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "b"}, id="a map"),
        pytest.param({}, {}, id="an empty map"),
        pytest.param('{"a": {"b": ["c", 1, true]}}', {"a": {"b": ["c", "1", "true"]}}, id="JSON as text"),
        pytest.param("\n  {a: b}\n", {"a": "b"}, id="a flow map as text"),
        pytest.param('{"a": ', None, id="unfinished JSON"),
        pytest.param("plain text", None, id="text"),
        pytest.param("", None, id="nothing"),
        pytest.param(["a"], None, id="a list"),
    ],
)
def test_metadata_is_a_map_or_a_map_in_a_text(value: YamlValue, expected: YamlMap | None) -> None:
    assert parse_metadata(value) == expected


def test_frontmatter_is_everything_that_was_written() -> None:
    manifest = accept("name: pdf\ndescription: a: b\nx-own: [1, 2]\n")
    assert manifest.frontmatter == {"name": "pdf", "description": "a: b", "x-own": ["1", "2"]}


def test_manifest_without_text_has_no_frontmatter() -> None:
    assert Manifest("a", "b").frontmatter == {}
    assert Manifest("a", "b", text="- no map\n").frontmatter == {}


def test_additions_are_the_behaviour() -> None:
    asked = Behaviour(forks=True)
    assert Manifest("a", "b", additions=asked).behaviour is asked
