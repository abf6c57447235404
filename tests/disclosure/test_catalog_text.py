"""The catalog as a model reads it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from prowess.agent.offline.catalog_reading import Entry, parse_catalog
from prowess.disclosure.catalog_text import render_catalog
from prowess.policy import PROFILES, CatalogText, SourceKind
from prowess.runtime import Runtime
from prowess.skill.manifest import Manifest
from prowess.skill.reading import parse_skill
from prowess.skill.skill import Skill
from tests.skills_on_disk import Home, write_skill

_GOLDEN = Path(__file__).parent / "golden"
_FILES = {
    CatalogText.XML: "catalog.xml",
    CatalogText.XML_WITH_LOCATION: "catalog-with-location.xml",
    CatalogText.JSON: "catalog.json",
    CatalogText.MARKDOWN: "catalog.md",
}
_FILES_WITH_REMARK = {
    CatalogText.XML: "catalog-with-remark.xml",
    CatalogText.XML_WITH_LOCATION: "catalog-with-location-and-remark.xml",
    CatalogText.JSON: "catalog-with-remark.json",
    CatalogText.MARKDOWN: "catalog-with-remark.md",
}
_REMARK = "1,234 more skills are not listed here; search_skills finds them."
_WITHOUT_LOCATION = (CatalogText.XML, CatalogText.JSON)
_SIGNS = "Uses <b> & \"quotes\" & 'ticks' > `code` *stars* _lines_ [links](x) \\ 技能 😀"

any_text = st.text(st.integers(0, 0x10FFFF).map(chr) | st.sampled_from("ab <>&\"'\\`*_[]#-:\n\r\t\x00\x0b\ufffe]]>"))
"""Text of any characters, surrogates included."""


def _skill(name: str, description: str, *, relative: str = "") -> Skill:
    relative = relative or name
    folder = f"/srv/skills/{relative}"
    return Skill(
        f"project:{relative}", SourceKind.PROJECT, "/srv/skills", relative, folder, Manifest(name, description)
    )


def _shown(*skills: Skill) -> list[tuple[Skill, str | None]]:
    """Return the skills with their descriptions."""
    return [(skill, skill.description) for skill in skills]


_ENTRIES = [
    *_shown(
        _skill("pdf-fill", "Fills in PDF forms. Use when a form is to be completed."),
        _skill("signs", _SIGNS, relative="odd/signs & <more>"),
    ),
    (_skill("secret-sauce", "Not shown."), None),
]
remarks = st.builds(
    "{:,} more skills are not listed here{}.".format,
    st.integers(1, 10**6),
    st.sampled_from(["", "; search_skills finds them", ' -- <search> & you\'ll "find" them]]>']),
)


def _read(name: str, description: str) -> Manifest | None:
    """Return the manifest of a file in which name and description are written as escapes."""
    quoted = ['"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"' for text in (name, description)]
    raw = f"---\nname: {quoted[0]}\ndescription: {quoted[1]}\n---\n".encode()
    return parse_skill(raw, folder="folder", reading=PROFILES["standard"].reading).manifest


def _parse_xml(text: str) -> list[dict[str, str]]:
    root = ET.fromstring(text)
    assert root.tag == "available_skills"
    assert {skill.tag for skill in root} == {"skill"}
    return [{part.tag: part.text or "" for part in skill} for skill in root]


# Golden files


@pytest.mark.requirement("R44", "R46", "R47")
@pytest.mark.parametrize("form", CatalogText)
def test_form_is_as_in_its_golden_file(form: CatalogText) -> None:
    assert render_catalog(_ENTRIES, form) + "\n" == (_GOLDEN / _FILES[form]).read_text("utf-8")


@pytest.mark.requirement("R44", "R46", "R47", "K4")
@pytest.mark.parametrize("form", CatalogText)
def test_form_with_a_remark_is_as_in_its_golden_file(form: CatalogText) -> None:
    golden = (_GOLDEN / _FILES_WITH_REMARK[form]).read_text("utf-8")
    assert render_catalog(_ENTRIES, form, remark=_REMARK) + "\n" == golden


@pytest.mark.requirement("R44")
def test_xml_has_exactly_these_lines() -> None:
    """A29."""
    assert render_catalog(_shown(_skill("a", "Does it.")), CatalogText.XML_WITH_LOCATION).splitlines() == [
        "<available_skills>",
        "<skill>",
        "<name>a</name>",
        "<description>Does it.</description>",
        "<location>/srv/skills/a/SKILL.md</location>",
        "</skill>",
        "</available_skills>",
    ]


@pytest.mark.requirement("R44")
def test_signs_of_xml_are_escaped() -> None:
    """A26."""
    text = render_catalog(_shown(_skill("a", "&<>\"'")), CatalogText.XML)
    assert "<description>&amp;&lt;&gt;&quot;&apos;</description>" in text


@pytest.mark.requirement("J6")
@pytest.mark.parametrize("form", CatalogText)
def test_nothing_visible_is_no_text_at_all(form: CatalogText) -> None:
    """A27."""
    assert render_catalog([], form) == ""


@pytest.mark.requirement("K4")
@pytest.mark.parametrize("form", CatalogText)
def test_remark_stands_alone_if_there_is_room_for_no_skill(form: CatalogText) -> None:
    text = render_catalog([], form, remark=_REMARK)
    assert _REMARK in text
    assert "\n\n" not in text
    if form is CatalogText.JSON:
        assert json.loads(text) == {"available_skills": [], "more": _REMARK}
    elif form is not CatalogText.MARKDOWN:
        assert [*ET.fromstring(text)] == []


@pytest.mark.requirement("K4")
def test_remark_is_a_comment_a_key_or_a_line() -> None:
    entries = _shown(_skill("a", "Does it."))
    for form in (CatalogText.XML, CatalogText.XML_WITH_LOCATION):
        text = render_catalog(entries, form, remark="Two -- more.")
        assert text.endswith("</skill>\n<!-- Two - - more. -->\n</available_skills>")
        assert _parse_xml(text) == _parse_xml(render_catalog(entries, form))
    assert json.loads(render_catalog(entries, CatalogText.JSON, remark='Two "more".')) == {
        "available_skills": [{"name": "a", "description": "Does it."}],
        "more": 'Two "more".',
    }
    plain = render_catalog(entries, CatalogText.MARKDOWN)
    assert render_catalog(entries, CatalogText.MARKDOWN, remark="Two more.") == f"{plain}\n\nTwo more."


@pytest.mark.parametrize("form", CatalogText)
def test_description_is_the_one_that_is_given(form: CatalogText) -> None:
    text = render_catalog([(_skill("a", "The whole of it."), "The wh…")], form)
    assert "The wh…" in text
    assert "whole" not in text


@pytest.mark.requirement("J6", "R33")
@pytest.mark.parametrize("form", CatalogText)
def test_hidden_skills_are_not_mentioned(home: Home, form: CatalogText) -> None:
    """A28."""
    root = home.project / "skills"
    write_skill(root, "missing", extra="requires: [no-such-command-4d1f]\n")
    write_skill(root, "off")
    home.write_settings('[skills]\noff = "off"\n')
    with Runtime.open(skills=[root]) as runtime:
        assert runtime.catalog_text(form) == ""
        write_skill(root, "shown")
        text = runtime.catalog_text(form)
    assert "shown" in text
    assert "missing" not in text
    assert "off" not in text


# Laws


@pytest.mark.slow
@pytest.mark.requirement("R44", "R43")
@given(
    texts=st.lists(st.tuples(any_text, any_text), min_size=1, max_size=4),
    silent=st.sets(st.integers(0, 3)),
    remark=st.just("") | remarks,
)
def test_xml_parses_back_to_exactly_the_given_skills(
    texts: list[tuple[str, str]], silent: set[int], remark: str
) -> None:
    manifests = [manifest for name, description in texts if (manifest := _read(name, description))]
    assume(manifests)
    entries = [
        (_skill("x", "")._replace(manifest=one), None if number in silent else one.description)
        for number, one in enumerate(manifests)
    ]
    expected = [
        {"name": skill.name} | ({} if description is None else {"description": description})
        for skill, description in entries
    ]
    assert _parse_xml(render_catalog(entries, CatalogText.XML, remark=remark)) == expected
    located = _parse_xml(render_catalog(entries, CatalogText.XML_WITH_LOCATION, remark=remark))
    assert located == [{**one, "location": "/srv/skills/x/SKILL.md"} for one in expected]


@pytest.mark.requirement("R46", "R43")
@given(name=any_text, description=any_text, remark=st.just("") | any_text.filter(str.isprintable))
def test_json_parses_back_to_exactly_the_given_skills(name: str, description: str, remark: str) -> None:
    manifest = _read(name, description)
    assume(manifest)
    assert manifest is not None
    skill = _skill("x", "")._replace(manifest=manifest)
    text = render_catalog(_shown(skill), CatalogText.JSON, remark=remark)
    text.encode()
    assert json.loads(text) == {
        "available_skills": [{"name": manifest.name, "description": manifest.description}],
        **({"more": remark} if remark else {}),
    }


@pytest.mark.requirement("R47", "R43")
@given(name=any_text, description=any_text)
def test_markdown_has_one_line_a_skill_and_no_marks_but_its_own(name: str, description: str) -> None:
    manifest = _read(name, description)
    assume(manifest)
    assert manifest is not None
    skill = _skill("x", "")._replace(manifest=manifest)
    lines = render_catalog(_shown(skill, skill), CatalogText.MARKDOWN).split("\n")
    assert lines[:2] == ["## Available Skills", ""]
    assert len(lines) == 4
    shown = re.fullmatch(r"- \*\*(.*)\*\*: (.*) \(`/srv/skills/x/SKILL\.md`\)", lines[2])
    assert shown is not None
    written = [re.sub(r"\\([\\`*_\[\]<>])", r"\1", part) for part in shown.groups()]
    assert written == [manifest.name, manifest.description]
    assert not any(re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>]", part) for part in shown.groups())


@pytest.mark.requirement("R47")
@pytest.mark.parametrize("folder", ["x2`y", "``", "`a", "a`", "a``b`c", "plain"])
def test_markdown_shows_a_path_to_the_letter_whatever_backticks_are_in_it(folder: str) -> None:
    path = f"/srv/skills/{folder}"
    skill = _skill("x", "d")._replace(folder=path)
    text = render_catalog(_shown(skill), CatalogText.MARKDOWN)
    code = [
        token.content for one in MarkdownIt().parse(text) for token in one.children or () if token.type == "code_inline"
    ]
    assert code == [f"{path}/SKILL.md"]
    assert parse_catalog(text) == (Entry("x", "d"),)


# What must not be in it


@pytest.mark.requirement("R41", "R46")
@pytest.mark.parametrize("form", _WITHOUT_LOCATION)
def test_forms_without_location_have_no_path(form: CatalogText) -> None:
    """RC29."""
    text = render_catalog(_ENTRIES, form)
    assert "pdf-fill" in text
    assert "/srv" not in text
    assert "SKILL.md" not in text


@pytest.mark.requirement("R41", "R43")
@pytest.mark.parametrize("form", CatalogText)
def test_instructions_and_other_fields_are_not_in_it(home: Home, form: CatalogText) -> None:
    root = home.project / "skills"
    write_skill(root, "pdf", extra="license: MARKER-1\nmetadata:\n  a: MARKER-2\n", body="# MARKER-3\n")
    with Runtime.open(skills=[root]) as runtime:
        assert "pdf" in runtime.catalog_text(form)
        assert "MARKER" not in runtime.catalog_text(form)


@pytest.mark.requirement("R41")
@pytest.mark.parametrize("profile", ["standard", "daycare"])
def test_profiles_that_hide_paths_do_so(home: Home, profile: str) -> None:
    with Runtime.open(profile=profile) as runtime:
        text = runtime.catalog_text()
    assert "<name>repo-survey</name>" in text
    assert "location" not in text
    assert "/bundled" not in text


def test_text_stays_byte_identical_when_something_invisible_changes(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "pdf")
    with Runtime.open(skills=[root]) as runtime:
        before = runtime.catalog_text()
        write_skill(root, "pdf", body="Other instructions.\n", files={"references/a.md": "x"})
        write_skill(root, "broken", text="no frontmatter")
        assert runtime.catalog_text() == before


@pytest.mark.requirement("R37")
@pytest.mark.parametrize("form", CatalogText)
def test_skill_shown_by_name_only_has_no_description(form: CatalogText) -> None:
    text = render_catalog(_ENTRIES, form)
    assert "secret" in text
    assert "Not shown" not in text
