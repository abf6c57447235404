"""Skills judged for those who write them: the frontmatter, the instructions and the files."""

import os
from pathlib import Path

import pytest

from prowess.catalog.validation import CheckedSkill, FoundFolders, check_skill, find_skill_folders
from prowess.errors import NotFound
from prowess.policy import PROFILES, STRICT_READING, Limits, Reading, SourceKind
from prowess.skill.problems import Severity
from prowess.sources.places import BUNDLED_SKILLS
from prowess.sources.skill_files import read_skill_files
from prowess.sources.source import Source
from tests.catalog.machine import discover, user_source
from tests.sources.building import draw, make_socket, skill_text, write_skill

_STANDARD = PROFILES["standard"].reading


def _check(folder: Path, *, reading: Reading = _STANDARD, limits: Limits | None = None) -> CheckedSkill:
    return check_skill(str(folder), reading=reading, limits=limits or Limits())


def _found(checked: CheckedSkill) -> list[tuple[str, Severity, int | None]]:
    return [(problem.code, problem.severity, problem.line) for problem in checked.problems]


def _with_body(folder: Path, body: bytes) -> Path:
    write_skill(folder)
    (folder / "SKILL.md").write_bytes(skill_text(folder.name, body="").encode() + body)
    return folder


_W, _I, _E = Severity.WARNING, Severity.INFO, Severity.ERROR


def test_good_skill_is_valid_without_a_word(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    (folder / "references").mkdir()
    (folder / "references" / "forms.md").write_text("# Forms\n\nBack to [the skill](../SKILL.md).\n")
    (folder / "SKILL.md").write_text(
        skill_text(
            "pdf", body="See [forms](references/forms.md#top), [the folder](references/) and [us](https://x.y).\n"
        )
    )
    for reading in (_STANDARD, STRICT_READING):
        assert _check(folder, reading=reading) == CheckedSkill(str(folder), "pdf", ())
    assert _check(folder).valid


def test_sidecar_that_is_no_plain_file_is_told_as_in_a_search(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "root" / "pdf")
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").symlink_to("../SKILL.md")
    (skill,) = discover([user_source(tmp_path / "root")]).skills
    (problem,) = skill.problems
    assert (problem.code, problem.path) == ("sidecar-invalid", "agents/openai.yaml")
    assert problem in _check(folder).problems


@pytest.mark.requirement("R107")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"", [("body-empty", _W, 5)], id="empty"),
        pytest.param(b" \n\t\n", [("body-empty", _W, 5)], id="blank"),
        pytest.param(b"x\n" * 501, [("body-too-long", _W, 5)], id="too many lines"),
        pytest.param(b"x" * 18_520, [("body-too-long", _W, 5)], id="too many tokens"),
        pytest.param(b"x" * 18_510, [], id="just not too many tokens"),
        pytest.param("技".encode() * 4_001, [("body-too-long", _W, 5)], id="too many tokens in Chinese"),
        pytest.param(b"x\n" * 500, [], id="just not too many lines"),
        pytest.param(b"x\n" * 500 + b"x", [("body-too-long", _W, 5)], id="too many lines, the last without an end"),
        pytest.param(b"ok\n\xff\xfe\n", [("body-not-utf-8", _W, 6)], id="not UTF-8"),
        pytest.param("Größe 技能\n".encode(), [], id="UTF-8"),
        pytest.param(b"[a](missing.md)\n", [("broken-reference", _W, 5)], id="broken reference"),
        pytest.param(b"\n\n![i](assets/no.png)\n", [("broken-reference", _W, 7)], id="broken image"),
        pytest.param(b"[a](../outside.md)\n", [("broken-reference", _W, 5)], id="reference out of the skill"),
        pytest.param(b"```\n[a](missing.md)\n```\n", [], id="example in code"),
        pytest.param(
            b"1. x\n    ```\n    c\n    ```\n[a](m.md)\n", [("broken-reference", _W, 9)], id="after code in a list"
        ),
        pytest.param(b"````\n```python\n[a](m.md)\n````\n", [], id="code in code"),
        pytest.param(b"```\n```python\n[a](m.md)\n```\n", [], id="a fence that opens closes nothing"),
        pytest.param(b"[a](http://x) [b](mailto:x@y) [c](#top) [d](/abs) [e]({var})\n", [], id="no files"),
        pytest.param(b'[a](SKILL.md) [b](<SKILL.md>) [c](SKILL.md "title") [d](./SKILL%2Emd)\n', [], id="spellings"),
        pytest.param(b"[a](m.md)\n" * 30, [("broken-reference", _W, 5 + n) for n in range(20)], id="twenty at most"),
    ],
)
def test_instructions_are_judged_with_their_lines(
    body: bytes, expected: list[tuple[str, Severity, int | None]], tmp_path: Path
) -> None:
    checked = _check(_with_body(tmp_path / "pdf", body))
    assert (_found(checked), checked.valid) == (expected, True)


def test_instructions_that_are_not_utf_8_are_strictly_an_error(tmp_path: Path) -> None:
    checked = _check(_with_body(tmp_path / "pdf", b"\xff\n"), reading=STRICT_READING)
    assert (_found(checked), checked.valid) == ([("body-not-utf-8", _E, 5)], False)


def test_file_beyond_the_limit_is_reported_and_judged_as_far_as_it_is_read(tmp_path: Path) -> None:
    folder = _with_body(tmp_path / "pdf", "é".encode() * 200)
    for limit in (300, 301):  # One of them cuts a letter in two.
        checked = _check(folder, limits=Limits(max_skill_md_bytes=limit))
        assert _found(checked) == [("skill-md-too-large", _W, 1)]


@pytest.mark.requirement("R107")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[on](deep.md)\n", [("deep-reference", _I, 1)]),
        ("x\n[on](../scripts/run.py) [more](deep.md)\n", [("deep-reference", _I, 2)]),
        ("[self](one.md) [home](../SKILL.md) [gone](none.md) [web](https://x)\n", []),
    ],
)
def test_reference_that_leads_on_is_noted_once(
    text: str, expected: list[tuple[str, Severity, int | None]], tmp_path: Path
) -> None:
    folder = _with_body(tmp_path / "pdf", b"[one](references/one.md) and [one](references/one.md)\n")
    (folder / "references").mkdir()
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text("")
    (folder / "references" / "one.md").write_text(text)
    (folder / "references" / "deep.md").write_text("deep")
    assert _found(_check(folder)) == expected


def test_skill_inside_a_skill_is_noted(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    write_skill(folder / "assets" / "template")
    checked = _check(folder)
    assert _found(checked) == [("nested-skill", _I, None)]
    assert checked.problems[0].path == "assets/template/SKILL.md"


@pytest.mark.requirement("J5")
def test_files_that_cannot_be_copied_are_warned_of_and_strictly_errors(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    os.mkfifo(folder / "a-pipe")
    make_socket(folder / "b-socket")
    (folder / "c-link").symlink_to("/etc/hostname")
    expected = [("not-a-file", "a-pipe"), ("not-a-file", "b-socket"), ("link-escape", "c-link")]
    for reading, severity in ((_STANDARD, _W), (STRICT_READING, _E)):
        checked = _check(folder, reading=reading)
        assert [(problem.code, problem.path) for problem in checked.problems] == expected
        assert {problem.severity for problem in checked.problems} == {severity}
        assert checked.valid is (severity is _W)


@pytest.mark.requirement("R1", "R15")
def test_folder_without_a_skill_is_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "misnamed").mkdir()
    (tmp_path / "misnamed" / "Skill.md").write_text("x")
    verdicts = [_check(tmp_path / name) for name in ("empty", "misnamed", "nothing")]
    assert [_found(one) for one in verdicts] == [
        [("skill-md-missing", _E, None)],
        [("skill-md-misnamed", _E, None)],
        [("skill-md-unreadable", _E, None)],
    ]
    assert [(one.name, one.valid) for one in verdicts] == [("empty", False), ("misnamed", False), ("nothing", False)]
    assert "Skill.md" in verdicts[1].problems[0].message


@pytest.mark.requirement("R15", "J5")
@pytest.mark.parametrize("what", ["folder", "fifo", "socket", "link out", "link nowhere"])
def test_skill_file_that_is_none_is_one_error(what: str, tmp_path: Path) -> None:
    path = tmp_path / "pdf" / "SKILL.md"
    path.parent.mkdir()
    match what:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "socket":
            make_socket(path)
        case "link out":
            path.symlink_to("/etc/hostname")
        case _:
            path.symlink_to("missing.md")
    code = "link-escape" if "link" in what else "not-a-file"
    assert _found(_check(path.parent)) == [(code, _E, None)]


@pytest.mark.requirement("K10")
def test_broken_sidecar_is_reported_at_its_place(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf")
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").write_text("interface: [\n")
    (problem,) = _check(folder).problems
    assert (problem.code, problem.path, problem.line) == ("sidecar-invalid", "agents/openai.yaml", 2)
    assert _check(folder, reading=STRICT_READING).problems == ()  # Which reads no dialects.


def test_frontmatter_and_body_are_judged_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: Other\ncolour: red\n---\n[a](missing.md)\n")
    checked = _check(folder)
    codes = {code for code, _, _ in _found(checked)}
    assert codes == {
        "name-invalid",
        "name-differs-from-folder",
        "description-missing",
        "unknown-key",
        "broken-reference",
    }
    assert not checked.valid


# Which folders are meant


def test_path_may_be_a_skill_its_file_or_a_tree_of_skills(tmp_path: Path) -> None:
    draw(tmp_path, "b", "a", "group/deep/er/and/er/and/er/and/er/c", "a/assets/nested")
    folders = [str(tmp_path / name) for name in ("a", "b", "group/deep/er/and/er/and/er/and/er/c")]
    assert find_skill_folders(str(tmp_path)) == FoundFolders(tuple(folders))
    assert find_skill_folders(folders[0]) == FoundFolders((folders[0],))
    assert find_skill_folders(f"{folders[0]}/SKILL.md") == FoundFolders((folders[0],))


def test_misnamed_file_and_lost_link_in_a_tree_are_judged_too(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    (tmp_path / "misnamed").mkdir()
    (tmp_path / "misnamed" / "skill.md").write_text("x")
    (tmp_path / "lost").symlink_to("nowhere")
    found = find_skill_folders(str(tmp_path))
    assert found.folders == (str(tmp_path / "a"),)
    assert sorted((one.name, one.valid, one.problems[0].code) for one in found.passed_over) == [
        ("lost", True, "link-not-followed"),
        ("misnamed", False, "skill-md-misnamed"),
    ]


@pytest.mark.requirement("J5", "R15")
def test_link_that_the_profile_does_not_follow_makes_a_folder_invalid(tmp_path: Path) -> None:
    """As in a search: out of the project it leads nowhere, unless to a source, or from the user's own."""
    write_skill(tmp_path / "elsewhere" / "far")
    write_skill(tmp_path / "home" / "skills" / "mine")
    write_skill(tmp_path / "project" / "shared" / "near")
    (tmp_path / "project" / ".git").mkdir()
    (tmp_path / "elsewhere" / "papers").mkdir()
    own = Source(SourceKind.USER, str(tmp_path / "home" / "skills"))
    targets = ("elsewhere/far", "home/skills/mine", "project/shared/near", "elsewhere/papers")
    for root in (tmp_path / "project" / "skills", tmp_path / "home" / "skills"):
        root.mkdir(exist_ok=True)
        for target in targets:
            (root / f"to-{Path(target).name}").symlink_to(tmp_path / target)
    project = find_skill_folders(str(tmp_path / "project" / "skills"), sources=[own])
    assert [Path(folder).name for folder in project.folders] == ["to-mine", "to-near"]
    assert [(one.name, one.valid) for one in project.passed_over] == [("to-far", False), ("to-papers", True)]
    users = find_skill_folders(str(tmp_path / "home" / "skills"), sources=[own])
    assert [Path(folder).name for folder in users.folders] == ["mine", "to-far", "to-mine", "to-near"]


@pytest.mark.requirement("J5", "R15")
def test_link_of_a_skill_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "a")
    before = read_skill_files(str(folder)).digest
    (folder / "self").symlink_to("self")
    (folder / "sub").mkdir()
    (folder / "sub" / "good").symlink_to("../SKILL.md")
    (folder / "sub" / "f.md").symlink_to("nowhere")
    assert read_skill_files(str(folder)).digest not in ("", before)  # It is copied, since it leads nowhere else either.
    for reading, severity in ((_STANDARD, _W), (STRICT_READING, _E)):
        checked = _check(folder, reading=reading)
        assert _found(checked) == [("link-dangling", severity, None)] * 2
        assert [problem.path for problem in checked.problems] == ["self", "sub/f.md"]


def test_folder_without_skills_is_meant_itself(tmp_path: Path) -> None:
    assert find_skill_folders(str(tmp_path)) == FoundFolders((str(tmp_path),))


def test_bare_file_name_means_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert find_skill_folders("SKILL.md") == FoundFolders((".",))
    assert check_skill(".", reading=_STANDARD, limits=Limits()).name == tmp_path.name


@pytest.mark.parametrize(("name", "words"), [("missing", "nothing at"), ("file.txt", "is not a folder")])
def test_path_that_leads_to_no_folder_is_not_found(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(NotFound, match=words):
        find_skill_folders(str(tmp_path / name))


@pytest.mark.parametrize("reading", [_STANDARD, STRICT_READING], ids=["standard", "strict"])
def test_bundled_skills_are_valid(reading: Reading) -> None:
    for folder in find_skill_folders(BUNDLED_SKILLS).folders:
        checked = check_skill(folder, reading=reading, limits=Limits())
        assert checked.valid, checked.problems


def test_trigger_that_would_never_fire_is_a_warning_at_its_key(tmp_path: Path) -> None:
    extra = 'triggers:\n  keywords: [pdf, "!!"]\n  patterns: ["(", "a form"]\n'
    checked = _check(write_skill(tmp_path / "pdf", extra=extra))
    assert (_found(checked), checked.valid) == ([("trigger-invalid", _W, 4), ("trigger-invalid", _W, 4)], True)
    assert checked.problems[1].message == "the trigger pattern '(' is refused by RE2: missing ): ("
