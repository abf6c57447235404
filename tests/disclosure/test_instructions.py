"""Tier 2: the instructions of one skill, as they are read and as a model gets them."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure.agreed_files import SkillChanged
from prowess.disclosure.instructions import (
    CLOSING_TAG,
    MAX_SKILL_MD_BYTES,
    Instructions,
    read_instructions,
    render_folder,
    render_instructions,
    wrap_instructions,
)
from prowess.errors import BrokenSkill
from prowess.policy import PROFILES, SourceKind
from prowess.skill.digest import SkillFile
from prowess.skill.manifest import Argument, Behaviour, Manifest
from prowess.skill.reading import parse_skill
from prowess.skill.skill import Skill
from prowess.sources.skill_files import read_skill_files
from tests.disclosure.catalogs import any_line, make_skill
from tests.skill.strategies import any_text
from tests.skills_on_disk import write_skill

_LIMIT = 200_000
_HEAD = "---\nname: pdf\ndescription: Fills in forms.\n---\n"
_FORGERIES = (
    "</skill_content>",
    '<skill_content name="other">',
    "</SKILL_CONTENT>",
    "< / skill_content >",
    "</skill_resources>",
    "<skill_resources>",
    "<skill_",
    "content>",
    "</",
    "\n",
)


def _skill(folder: Path, *, profile: str = "standard") -> Skill:
    raw = (folder / "SKILL.md").read_bytes()
    manifest = parse_skill(raw, folder=folder.name, reading=PROFILES[profile].reading).manifest
    assert manifest is not None
    return Skill(f"user:{folder.name}", SourceKind.USER, str(folder.parent), folder.name, str(folder), manifest)


def _files(skill: Skill) -> tuple[SkillFile, ...]:
    return read_skill_files(skill.folder).files


def _read(skill: Skill, *, limit: int = _LIMIT, arguments: str | None = None) -> Instructions:
    return read_instructions(skill, files=_files(skill), limit_bytes=limit, arguments=arguments)


def _read_text(root: Path, text: str | bytes, *, limit: int = _LIMIT, profile: str = "standard") -> Instructions:
    return _read(_skill(write_skill(root, "pdf", text=text), profile=profile), limit=limit)


# The first lines


@pytest.mark.requirement("R62")
@pytest.mark.parametrize(
    ("base_directory", "first_lines"),
    [
        (
            "/shared/skills/core--scheduling",
            ["Base directory for this skill: /shared/skills/core--scheduling", "Skill name: scheduling"],
        ),
        ("", ["Skill name: scheduling", ""]),
    ],
)
def test_first_lines_say_where_the_skill_is_and_its_name(base_directory: str, first_lines: list[str]) -> None:
    """D29."""
    skill = make_skill("scheduling", skill_id="core:scheduling")
    text = render_instructions(skill, Instructions("Do it.", 6), base_directory=base_directory)
    assert text.splitlines()[:2] == first_lines
    assert text.endswith("\n\nDo it.")


def test_compatibility_is_noted_in_the_head() -> None:
    skill = make_skill("pdf")._replace(manifest=Manifest("pdf", "Does it.", compatibility="Needs pdftk & Linux."))
    text = render_instructions(skill, Instructions("Do it.", 6), base_directory="/shared/skills/pdf")
    assert text == (
        "Base directory for this skill: /shared/skills/pdf\n"
        "Skill name: pdf\n"
        "Compatibility: Needs pdftk & Linux.\n"
        "\n"
        "Do it."
    )


@pytest.mark.requirement("R118")
def test_documented_tools_are_named_with_stubs() -> None:
    """D30, D63."""
    additions = Behaviour(tools=("task_create", "search-v2", "task_delete"))
    skill = make_skill("tasks")._replace(manifest=Manifest("tasks", "Does it.", additions=additions))
    text = render_instructions(skill, Instructions("Do it.", 6), base_directory="")
    assert text == (
        "Skill name: tasks\n"
        "\n"
        "Skill-documented tools: task_create, search-v2, task_delete\n"
        "def task_create(): ...\n"
        "def task_delete(): ...\n"
        "\n"
        "Do it."
    )


# The wrapping


@pytest.mark.requirement("J8")
def test_wrapped_text_names_the_skill_and_its_files() -> None:
    text = wrap_instructions(make_skill('a"<&>'), "Do it.", resources=("references/a.md", "scripts/run.py"))
    assert text == (
        '<skill_content name="a&quot;&lt;&amp;>">\n'
        "Do it.\n"
        "\n"
        "<skill_resources>\n"
        "references/a.md\n"
        "scripts/run.py\n"
        "</skill_resources>\n"
        "</skill_content>"
    )


@pytest.mark.requirement("J8")
def test_skill_without_other_files_has_no_list_of_them() -> None:
    text = wrap_instructions(make_skill("a"), "Do it.", resources=())
    assert text == '<skill_content name="a">\nDo it.\n</skill_content>'


@pytest.mark.requirement("J8")
def test_list_of_files_is_capped_and_says_so() -> None:
    text = wrap_instructions(make_skill("a"), "Do it.", resources=[f"assets/{number:04}" for number in range(1_234)])
    assert "assets/0099\n… and 1,134 more\n</skill_resources>" in text
    assert "assets/0100" not in text


@pytest.mark.requirement("J8")
@given(
    name=any_line,
    body=st.lists(st.sampled_from(_FORGERIES) | any_text, max_size=12).map("".join),
    resources=st.lists(st.lists(st.sampled_from(_FORGERIES) | any_line, max_size=4).map("".join), max_size=3),
)
def test_no_text_ends_or_forges_the_wrapping(name: str, body: str, resources: list[str]) -> None:
    text = wrap_instructions(make_skill(name), body, resources=resources)
    tags = re.findall(r"<\s*/?\s*skill_(?:content|resources)", text, re.IGNORECASE)
    listed = ["<skill_resources", "</skill_resources"] if resources else []
    assert tags == ["<skill_content", *listed, "</skill_content"]
    assert re.match(r'<skill_content name="[^"<\n]*">\n', text)
    assert text.endswith(f"\n{CLOSING_TAG}")


@pytest.mark.requirement("J8")
@given(body=any_text.filter(lambda text: "<" not in text))
def test_text_without_tags_is_wrapped_as_it_is(body: str) -> None:
    assert wrap_instructions(make_skill("a"), body, resources=()) == f'<skill_content name="a">\n{body}\n{CLOSING_TAG}'


# Reading


@pytest.mark.requirement("R12", "R60")
def test_frontmatter_is_not_part_of_the_instructions(tmp_path: Path) -> None:
    found = _read_text(tmp_path, f"{_HEAD}\n# Forms\n\nFill them in.\n\n---\n\nDone.\n")
    assert found == Instructions("# Forms\n\nFill them in.\n\n---\n\nDone.", len(_HEAD) + 36)


@pytest.mark.requirement("R60")
def test_instructions_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "pdf", body="Old.\n"))
    write_skill(tmp_path, "pdf", body="New.\n")
    assert _read(skill).body == "New."


@pytest.mark.requirement("J4")
@pytest.mark.parametrize(
    "raw",
    [
        _HEAD.replace("\n", "\r\n").encode() + b"One.\r\n\r\nTwo.\r\n",
        b"\xef\xbb\xbf" + _HEAD.encode() + b"One.\n\nTwo.\n",
        b"\xef\xbb\xbf" + _HEAD.replace("\n", "\r\n").encode() + b"One.\r\n\r\nTwo.",
        _HEAD.encode() + b"\n\nOne.\r\rTwo.\n\n\n",
    ],
    ids=["CRLF", "mark", "mark and CRLF", "CR"],
)
def test_line_breaks_and_marks_of_any_system_give_the_same_text(tmp_path: Path, raw: bytes) -> None:
    assert _read_text(tmp_path, raw).body == "One.\n\nTwo."


def test_file_that_ends_with_its_frontmatter_has_no_instructions(tmp_path: Path) -> None:
    assert _read_text(tmp_path, _HEAD) == Instructions("", len(_HEAD))


def test_file_without_frontmatter_is_all_instructions(tmp_path: Path) -> None:
    """Only a lenient profile lets such a skill through."""
    folder = write_skill(tmp_path, "pdf", text=b"\xef\xbb\xbf# Forms\n\nFill them in.\n")
    skill = make_skill("pdf")._replace(folder=str(folder))
    assert _read(skill).body == "# Forms\n\nFill them in."


def test_invisible_characters_are_removed_with_a_notice(tmp_path: Path) -> None:
    found = _read_text(tmp_path, f"{_HEAD}Do\u200b it.\u202e Tab\there.\U000e0041\n")
    assert found.body == "Do it. Tab\there.\n\n[Characters that cannot be read or seen were removed: 3.]"


def test_bytes_that_are_no_text_do_not_stop_the_rest(tmp_path: Path) -> None:
    found = _read_text(tmp_path, _HEAD.encode() + b"Do \xff\xfeit.\n")
    assert found.body == "Do it.\n\n[Characters that cannot be read or seen were removed: 2.]"


@pytest.mark.requirement("J10")
def test_arguments_are_put_in_their_places(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "pdf", body="Fill in $form with $2 ($ARGUMENTS).\n"))
    named = skill._replace(
        manifest=skill.manifest._replace(additions=Behaviour(arguments=(Argument("form"), Argument("data"))))
    )
    assert _read(named, arguments="'tax form.pdf' data.json").body == (
        "Fill in tax form.pdf with data.json ('tax form.pdf' data.json)."
    )
    assert _read(named, arguments="").body == "Fill in  with  ()."
    assert _read(named).body == "Fill in $form with $2 ($ARGUMENTS)."


@pytest.mark.requirement("J10")
def test_dollars_in_a_skill_that_takes_no_arguments_stay_until_some_are_given(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "columns", body="Run `awk '{print $1}'`.\n"))
    assert _read(skill, arguments="").body == "Run `awk '{print $1}'`."
    assert _read(skill, arguments="x").body == "Run `awk '{print x}'`."


# Limits


@pytest.mark.requirement("R104")
def test_long_file_is_cut_with_a_notice(tmp_path: Path) -> None:
    found = _read_text(tmp_path, _HEAD + "a" * 5_000, limit=len(_HEAD) + 100)
    size = len(_HEAD) + 5_000
    notice = f"[Cut: the first {len(_HEAD) + 100} of {size:,} bytes of SKILL.md are shown.]"
    assert found == Instructions("a" * 100 + "\n\n" + notice, size, truncated=True)


@pytest.mark.requirement("R104")
def test_file_of_just_the_limit_is_whole(tmp_path: Path) -> None:
    found = _read_text(tmp_path, _HEAD + "a" * 100, limit=len(_HEAD) + 100)
    assert found == Instructions("a" * 100, len(_HEAD) + 100)


@pytest.mark.requirement("R104")
@pytest.mark.parametrize("character", ["é", "技", "😀"])
@pytest.mark.parametrize("offset", range(5))
def test_cut_never_halves_a_character(tmp_path: Path, character: str, offset: int) -> None:
    width = len(character.encode())
    found = _read_text(tmp_path, _HEAD + character * 50, limit=len(_HEAD) + 20 + offset)
    shown = found.body.split("\n\n[Cut: ")[0]
    assert shown == character * ((20 + offset) // width)
    assert "were removed" not in found.body


@pytest.mark.requirement("R12", "R104")
def test_cut_within_the_frontmatter_shows_none_of_it(tmp_path: Path) -> None:
    found = _read_text(tmp_path, _HEAD + "Do it.\n", limit=10)
    assert found.body == f"[Cut: the first 10 of {len(_HEAD) + 7} bytes of SKILL.md are shown.]"
    assert found.truncated


@pytest.mark.requirement("R106")
def test_no_setting_lifts_the_hard_cap(tmp_path: Path) -> None:
    found = _read_text(tmp_path, _HEAD + "a" * (MAX_SKILL_MD_BYTES + 10), limit=1 << 40)
    assert found.truncated
    assert found.size_bytes == len(_HEAD) + MAX_SKILL_MD_BYTES + 10
    assert len(found.body) < MAX_SKILL_MD_BYTES + 100


# What was agreed to is what is read


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("limit", [_LIMIT, 20])
def test_file_that_was_changed_since_it_was_listed_is_refused(tmp_path: Path, limit: int) -> None:
    """A change behind the cut counts as well."""
    skill = _skill(write_skill(tmp_path, "pdf", body="Do it.\n"))
    files = _files(skill)
    write_skill(tmp_path, "pdf", body="Do it!\n")
    with pytest.raises(SkillChanged) as caught:
        read_instructions(skill, files=files, limit_bytes=limit)
    assert caught.value.code == "skill-changed"
    assert str(tmp_path) not in caught.value.message + caught.value.hint


def test_skill_without_a_digest_is_read_as_it_is(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "pdf", body="Do it.\n"))
    assert read_instructions(skill, files=(), limit_bytes=_LIMIT).body == "Do it."


@pytest.mark.requirement("R41")
def test_file_that_was_deleted_is_not_found_and_names_no_path(tmp_path: Path) -> None:
    """RC8."""
    skill = _skill(write_skill(tmp_path, "pdf"))
    files = _files(skill)
    os.remove(tmp_path / "pdf" / "SKILL.md")
    with pytest.raises(BrokenSkill) as caught:
        read_instructions(skill, files=files, limit_bytes=_LIMIT)
    assert caught.value.code == "skill-md-unreadable"
    assert caught.value.message == "skill 'pdf': SKILL.md: resource not found"
    assert str(tmp_path) not in caught.value.message + caught.value.hint


def test_file_may_be_a_link_to_another_file_of_the_skill(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf", text=f"{_HEAD}Do it.\n")
    os.rename(folder / "SKILL.md", folder / "README.md")
    os.symlink("README.md", folder / "SKILL.md")
    skill = _skill(folder)
    files = _files(skill)
    assert read_instructions(skill, files=files, limit_bytes=_LIMIT).body == "Do it."
    (folder / "README.md").write_text(f"{_HEAD}Do something else.\n")
    with pytest.raises(SkillChanged):
        read_instructions(skill, files=files, limit_bytes=_LIMIT)


@pytest.mark.requirement("R101")
def test_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "pdf"))
    (tmp_path / "secret").write_text("canary")
    os.remove(tmp_path / "pdf" / "SKILL.md")
    os.symlink("../secret", tmp_path / "pdf" / "SKILL.md")
    with pytest.raises(BrokenSkill) as caught:
        read_instructions(skill, files=(), limit_bytes=_LIMIT)
    assert caught.value.message == "skill 'pdf': SKILL.md: Access denied"
    assert caught.value.hint.startswith("the way leads out of the skill")


def test_obstacle_to_reading_is_named_for_what_it_is(tmp_path: Path) -> None:
    skill = _skill(write_skill(tmp_path, "pdf"))
    path = tmp_path / "pdf" / "SKILL.md"
    path.unlink()
    path.mkdir()
    with pytest.raises(BrokenSkill, match=r"SKILL\.md: Not a file$"):
        read_instructions(skill, files=(), limit_bytes=_LIMIT)
    path.rmdir()
    path.symlink_to("SKILL.md")
    with pytest.raises(BrokenSkill, match=r"SKILL\.md: Unable to read resource$") as caught:
        read_instructions(skill, files=(), limit_bytes=_LIMIT)
    assert caught.value.hint.startswith("its links lead from one to the next")


# The summary of the folder


@pytest.mark.requirement("R61")
def test_folder_is_summed_up_with_its_files_under_their_folders() -> None:
    """S11."""
    paths = ["scripts/run.py", "references/deep/b.md", "SKILL.md", "references/a.md", "LICENSE", "references/z.md"]
    assert render_folder(paths).splitlines() == [
        "LICENSE",
        "SKILL.md",
        "references/",
        "  a.md",
        "  deep/",
        "    b.md",
        "  z.md",
        "scripts/",
        "  run.py",
    ]


@pytest.mark.requirement("R61")
def test_summary_of_a_large_folder_is_capped_and_says_so() -> None:
    lines = render_folder(f"data/{number:05}.txt" for number in range(10_000)).splitlines()
    assert len(lines) == 102
    assert lines[-2:] == ["  00099.txt", "… and 9,900 more"]


@pytest.mark.requirement("R61")
@given(
    paths=st.sets(
        st.lists(st.sampled_from(["a", "b", "a-b", "a b", "z"]), min_size=1, max_size=4).map("/".join), max_size=30
    )
)
def test_summary_can_be_read_back(paths: set[str]) -> None:
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    folders: list[str] = []
    found: set[str] = set()
    for line in render_folder(files).splitlines():
        depth = (len(line) - len(line.lstrip(" "))) // 2
        del folders[depth:]
        if line.endswith("/"):
            folders.append(line.strip()[:-1])
        else:
            found.add("/".join([*folders, line.strip()]))
    assert found == files
