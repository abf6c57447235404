"""Entries are judged before a byte of what they list is fetched."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prowess.skill.problems import Problem
from prowess.sources.mcp.listed import MAX_FILES, Listed, judge_entries, judge_entry
from tests.sources.mcp.scripts import entry, skill_md


def _entry() -> dict[str, Any]:
    return entry("skill://refunds", {"SKILL.md": skill_md("refunds")})


def _judge(made: object) -> str:
    judged = judge_entry(made, server="acme")
    return judged.code if isinstance(judged, Problem) else ""


def test_faultless_entry_is_taken() -> None:
    judged = judge_entry(_entry(), server="acme")
    assert isinstance(judged, Listed)
    assert (judged.name, judged.shelf, judged.path) == ("refunds", "skill-0", "refunds")
    assert [file.path for file in judged.files] == ["SKILL.md"]


@pytest.mark.parametrize("value", [None, 7, "text", [], {}, {"uri": 7}, {"uri": "skill://x/SKILL.md"}])
def test_what_is_no_entry_is_refused(value: object) -> None:
    assert _judge(value) == "mcp-bad-entry"


def test_problem_names_the_skill_it_is_about() -> None:
    made = {**_entry(), "resources": "dynamic"}
    (problem,) = judge_entries([made], server="acme").problems
    assert problem.path == "mcp:acme/refunds"


@pytest.mark.requirement("J11")
def test_list_of_more_files_than_are_taken_is_cut() -> None:
    files = {"SKILL.md": "", **{f"{number}.md": "" for number in range(499)}}
    judged = judge_entries([entry(f"skill://s{number}", files) for number in range(42)], server="acme")
    assert sum(len(one.files) for one in judged.skills) == MAX_FILES
    assert [(problem.code, problem.path) for problem in judged.problems] == [("mcp-too-large", "mcp:acme")]
    assert "2 skills are left out" in judged.problems[0].message


def _no_paths() -> Iterator[str]:
    yield from ("../up.md", "a/../../up.md", "/etc/passwd", "a//b.md", "./a.md", "%2e%2e/up.md", "a%2Fb.md")
    yield from ("nul%00byte", "back%5Cslash")


def _bad_paths() -> Iterator[str]:
    yield from ("a%0Ab", "CON", "sub/aux.txt", "com1.md", "trailing.", "trailing%20", "colon:stream", "what%3F")
    yield from (".git/config", ".nfs00aabb", "%FF%FE", "bidi%E2%80%AE.md", "x" * 300, "/".join("d" * 20))


def _entry_with(path: str) -> dict[str, Any]:
    made = _entry()
    made["resources"].append({**made["resources"][0], "uri": f"skill://refunds/{path}"})
    return made


@pytest.mark.requirement("J11")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        *((path, "mcp-bad-entry") for path in _no_paths()),
        *((path, "mcp-bad-path") for path in _bad_paths()),
    ],
)
def test_path_that_could_lead_astray_is_refused(path: str, code: str) -> None:
    assert _judge(_entry_with("a/fine%20one.md")) == ""
    assert _judge(_entry_with(path)) == code


@pytest.mark.parametrize(
    "paths",
    [("a.md", "A.md"), ("%C3%A9.md", "e%CC%81.md"), ("a", "a/b"), ("x/y", "X/z"), ("%EF%AC%81.md", "fi.md")],
    ids=["case", "accent", "file and folder", "folders", "ligature"],
)
def test_paths_that_are_one_on_some_disks_are_refused(paths: tuple[str, str]) -> None:
    made = _entry()
    made["resources"] += [{**made["resources"][0], "uri": f"skill://refunds/{path}"} for path in paths]
    assert _judge(made) == "mcp-bad-path"


@pytest.mark.parametrize(
    "uri",
    [
        "skill://../refunds",
        "skill://a/../refunds",
        "skill://.git/refunds",
        "skill://node_modules/refunds",
        "skill://con/refunds",
        "skill://a/b/c/d/e/f/refunds",
        "skill://a:b/refunds",
        "skill:///refunds",
        "file:///etc/refunds",
    ],
)
def test_skill_at_a_path_that_could_lead_astray_is_refused(uri: str) -> None:
    assert _judge(entry(uri, {"SKILL.md": skill_md("refunds")})) == "mcp-bad-path"


def _spoil(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return change


@pytest.mark.requirement("J11")
@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("mcp-dynamic", _spoil(lambda one: one.update(resources="dynamic"))),
        ("mcp-bad-entry", _spoil(lambda one: one.pop("resources"))),
        ("mcp-bad-entry", _spoil(lambda one: one.update(resources=[]))),
        ("mcp-bad-entry", _spoil(lambda one: one.pop("frontmatter"))),
        ("mcp-bad-entry", _spoil(lambda one: one["frontmatter"].update(name="git-flow"))),
        ("mcp-bad-entry", _spoil(lambda one: one["frontmatter"].update(description=7))),
        ("mcp-bad-entry", _spoil(lambda one: one["resources"][0].update(size=-1))),
        ("mcp-bad-entry", _spoil(lambda one: one["resources"][0].update(digest="md5:00"))),
        ("mcp-bad-entry", _spoil(lambda one: one["resources"].append(one["resources"][0]))),
        ("mcp-bad-entry", _spoil(lambda one: one["resources"][0].update(uri="skill://git-flow/SKILL.md"))),
        ("mcp-too-large", _spoil(lambda one: one["resources"][0].update(size=(16 << 20) + 1))),
        ("mcp-bad-entry", _spoil(lambda one: one.update(uri="skill://ref\u0443nds/SKILL.md"))),
    ],
)
def test_entry_that_breaks_the_rules_is_refused(code: str, change: Callable[[dict[str, Any]], object]) -> None:
    made = _entry()
    change(made)
    assert _judge(made) == code
