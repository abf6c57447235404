"""One name for the exact files of a skill."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.digest import FileKind, SkillFile, digest_files


def _file(path: str, content: bytes = b"x", kind: FileKind = FileKind.FILE) -> SkillFile:
    return SkillFile(path.encode(), kind, len(content), hashlib.sha256(content).hexdigest())


_SKILL = (
    _file("SKILL.md", b"---\nname: pdf\ndescription: d\n---\n"),
    _file("scripts/fill.py", b"print()\n", FileKind.EXECUTABLE),
    _file("references/a.md", b"a"),
    _file("latest", b"references/a.md", FileKind.LINK),
)
_PATHS = st.text(st.sampled_from("ab/\n 019"), min_size=1, max_size=6)
_FILES = st.dictionaries(
    _PATHS, st.tuples(st.sampled_from(list(FileKind)), st.sampled_from([b"x", b"y"])), max_size=4
).map(lambda found: frozenset(_file(path, content, kind) for path, (kind, content) in found.items()))


def test_digest_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert digest_files(_SKILL) == "032dfff20faf418a1457f36a83b47b7600b459941672945c97c64c15b2030bb7"
    assert digest_files(()) == hashlib.sha256(b"prowess-skill-digest-1\n").hexdigest()


def test_digest_follows_its_written_form() -> None:
    one = hashlib.sha256(b"one").hexdigest()
    whole = f"prowess-skill-digest-1\nexecutable {one} 3 a\nb\nfile {one} 3 a.b\n".encode()
    files = (_file("a.b", b"one"), _file("a\nb", b"one", FileKind.EXECUTABLE))
    assert digest_files(files) == hashlib.sha256(whole).hexdigest()


@given(files=st.permutations(_SKILL))
def test_order_of_the_files_does_not_count(files: list[SkillFile]) -> None:
    assert digest_files(files) == digest_files(_SKILL)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace(_SKILL[1], kind=FileKind.FILE), id="no longer executable"),
        pytest.param(replace(_SKILL[1], kind=FileKind.LINK), id="a link"),
        pytest.param(replace(_SKILL[1], path=b"scripts/Fill.py"), id="another path"),
        pytest.param(_file("scripts/fill.py", b"print( )\n", FileKind.EXECUTABLE), id="another content"),
    ],
)
def test_any_change_of_a_file_changes_the_digest(change: SkillFile) -> None:
    assert digest_files((_SKILL[0], change, *_SKILL[2:])) != digest_files(_SKILL)


def test_file_more_or_less_changes_the_digest() -> None:
    digests = {digest_files(_SKILL), digest_files(_SKILL[1:]), digest_files((*_SKILL, _file("empty", b"")))}
    assert len(digests) == 3


def test_path_with_a_line_break_cannot_pose_as_two_files() -> None:
    first, second = _file("a"), _file("b")
    posing = replace(first, path=f"a\nfile {second.sha256} 1 b".encode())
    assert digest_files((posing,)) != digest_files((first, second))


def test_path_that_is_no_text_has_a_digest_of_its_own() -> None:
    first, second = (replace(_file("a"), path=path) for path in (b"\xff", b"\xfe"))
    assert digest_files((first,)) != digest_files((second,))


@given(one=_FILES, other=_FILES)
def test_two_sets_of_files_share_a_digest_only_if_they_are_equal(
    one: frozenset[SkillFile], other: frozenset[SkillFile]
) -> None:
    assert (digest_files(one) == digest_files(other)) == (one == other)
