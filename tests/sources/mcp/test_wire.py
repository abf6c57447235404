"""The wire format of the skills extension: addresses, entries, limits, and frontmatter as JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.sources.mcp.wire import (
    MAX_RESOURCES,
    MAX_SKILL_BYTES,
    Fault,
    FileRecord,
    SkillEntry,
    find_excess,
    find_path,
    make_distinct_root,
    make_file_uri,
    make_skill_root,
    parse_entry,
    render_entry,
)
from prowess.sources.mcp.wire_frontmatter import matches_frontmatter, resolve_frontmatter

pytestmark = pytest.mark.requirement("J11")

_ROOT = "skill://project/office/pdf"
_HASH = "a" * 64
_IDS = st.lists(st.text(min_size=1, max_size=8).filter(lambda part: "/" not in part), min_size=1, max_size=3)


def _entry(**changes: Any) -> dict[str, Any]:
    entry = SkillEntry(
        f"{_ROOT}/SKILL.md",
        {"name": "pdf", "description": "Fills forms.", "metadata": {"n": 1}},
        (FileRecord(f"{_ROOT}/SKILL.md", _HASH, 10), FileRecord(f"{_ROOT}/a%20b.md", _HASH, 0)),
    )
    return {**render_entry(entry), **changes}


def test_address_ends_with_the_name() -> None:
    assert make_skill_root("project:office/pdf", "pdf") == _ROOT
    assert make_skill_root("project:office/pdf", "fill") == f"{_ROOT}/=/fill"
    assert make_skill_root("plugin:acme/x y", "x y") == "skill://plugin/acme/x%20y"
    assert make_distinct_root("project:pdf", "pdf").startswith("skill://project/=")


@given(_IDS, _IDS, st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_two_ids_never_share_an_address(one: list[str], other: list[str], name: str, label: str) -> None:
    first, second = f"project:{'/'.join(one)}", f"project:{'/'.join(other)}"
    if first != second:
        assert make_skill_root(first, name) != make_skill_root(second, label)
        assert make_distinct_root(first, name) != make_distinct_root(second, label)


@given(st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=4))
def test_address_of_a_file_leads_back_to_it(parts: list[bytes]) -> None:
    path = b"/".join(parts)
    found = find_path(_ROOT, make_file_uri(_ROOT, path))
    odd = {b"", b".", b".."} & set(path.split(b"/")) or b"\0" in path or b"\\" in path
    assert found == (None if odd else path)


@pytest.mark.parametrize(
    "tail",
    [
        "../x",
        "a/../../x",
        "%2e%2e/x",
        "a//b",
        "",
        "a%2Fb",
        "a%00",
        "a\\b",
        "a?b",
        "a#b",
        "a b",
        "ä",
        "./a",
        "a" * 5_000,
    ],
)
def test_address_that_means_more_than_a_file_is_refused(tail: str) -> None:
    assert find_path(_ROOT, f"{_ROOT}/{tail}") is None


def test_entry_survives_the_wire() -> None:
    parsed = parse_entry(_entry())
    assert isinstance(parsed, SkillEntry)
    assert render_entry(parsed) == _entry()
    assert (parsed.name, parsed.description, parsed.root, parsed.size) == ("pdf", "Fills forms.", _ROOT, 10)
    dynamic = parse_entry(_entry(resources="dynamic"))
    assert isinstance(dynamic, SkillEntry)
    assert dynamic.resources is None


_SKILL_MD = {"uri": f"{_ROOT}/SKILL.md", "digest": f"sha256:{_HASH}", "size": 1}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"uri": f"{_ROOT}/skill.md"}, "bad-uri"),
        ({"uri": 3}, "bad-uri"),
        ({"uri": "skill://project/office/other/SKILL.md"}, "bad-name"),
        ({"frontmatter": []}, "bad-frontmatter"),
        ({"frontmatter": {"name": "pdf"}}, "bad-frontmatter"),
        ({"frontmatter": {"name": "pdf", "description": " "}}, "bad-frontmatter"),
        ({"frontmatter": {"name": "PDF", "description": "x"}}, "bad-name"),
        ({"resources": None}, "bad-resources"),
        ({"resources": "static"}, "bad-resources"),
        ({"resources": []}, "bad-resources"),
        ({"resources": [_SKILL_MD, _SKILL_MD]}, "bad-resources"),
        ({"resources": [_SKILL_MD, {**_SKILL_MD, "uri": "skill://project/office/other/x"}]}, "bad-resources"),
        ({"resources": [_SKILL_MD, {**_SKILL_MD, "uri": f"{_ROOT}/../x"}]}, "bad-resources"),
        ({"resources": [{**_SKILL_MD, "digest": f"sha256:{'A' * 64}"}]}, "bad-resources"),
        ({"resources": [{**_SKILL_MD, "digest": _HASH}]}, "bad-resources"),
        ({"resources": [{**_SKILL_MD, "size": -1}]}, "bad-resources"),
        ({"resources": [{**_SKILL_MD, "size": True}]}, "bad-resources"),
        ({"resources": [{**_SKILL_MD, "size": 1.5}]}, "bad-resources"),
    ],
)
def test_entry_that_breaks_a_rule_is_a_fault(changes: dict[str, Any], code: str) -> None:
    found = parse_entry(_entry(**changes))
    assert isinstance(found, Fault)
    assert found.code == code


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_whatever_is_sent_gives_an_entry_or_a_fault(value: object) -> None:
    assert isinstance(parse_entry(value), SkillEntry | Fault)
    assert isinstance(parse_entry({**_entry(), "resources": value}), SkillEntry | Fault)


def test_limits_include_their_own_value() -> None:
    def make(count: int, size: int) -> SkillEntry:
        records = tuple(FileRecord(f"{_ROOT}/{number}", _HASH, size) for number in range(count))
        return SkillEntry(f"{_ROOT}/SKILL.md", {"name": "pdf", "description": "x"}, records)

    assert find_excess(make(MAX_RESOURCES, 0)) is None
    assert find_excess(make(1, MAX_SKILL_BYTES)) is None
    assert (find_excess(make(MAX_RESOURCES + 1, 0)) or Fault("", "")).code == "too-many-files"
    assert (find_excess(make(1, MAX_SKILL_BYTES + 1)) or Fault("", "")).code == "files-too-large"


_TYPED = b"""---
name: pdf
description: Fills forms.
version: 1.10
count: 3
on: yes
day: 2026-01-01
quoted: "1.0"
deep: {a: [1, 2.5, null, true, ~, 0x1f]}
empty:
huge: 1e999
---
body
"""


def test_frontmatter_is_resolved_as_other_hosts_do() -> None:
    assert resolve_frontmatter(_TYPED.split(b"---\n")[1].decode()) == {
        "name": "pdf",
        "description": "Fills forms.",
        "version": 1.1,
        "count": 3,
        "on": "yes",
        "day": "2026-01-01",
        "quoted": "1.0",
        "deep": {"a": [1, 2.5, None, True, None, 31]},
        "empty": None,
        "huge": "1e999",
    }


def test_frontmatter_is_compared_field_by_field() -> None:
    found = resolve_frontmatter(_TYPED.split(b"---\n")[1].decode())
    assert isinstance(found, dict)
    assert matches_frontmatter(found, _TYPED)
    assert not matches_frontmatter({**found, "allowed-tools": "Bash"}, _TYPED)
    assert not matches_frontmatter({**found, "description": "Fills forms"}, _TYPED)
    assert not matches_frontmatter({**found, "count": True}, _TYPED)
    assert not matches_frontmatter({key: value for key, value in found.items() if key != "on"}, _TYPED)
    assert matches_frontmatter({"name": "a", "n": "1"}, b"---\nname: a\nn: 1\n---\n")
    assert not matches_frontmatter([], _TYPED)


@pytest.mark.parametrize("raw", [b"", b"no fences", b"---\n- a\n---\n", b"---\na: b: c\n---\n", b"---\na: *x\n---\n"])
def test_frontmatter_that_is_no_map_matches_nothing(raw: bytes) -> None:
    assert not matches_frontmatter({}, raw)
