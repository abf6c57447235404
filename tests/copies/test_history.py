"""The versions of a skill: numbers from folders, the rest from a record, and order after a crash."""

import os
import sys
from pathlib import Path

import pytest

from prowess.copies.history import Archive, History, KeptVersion, Origin, VersionNote
from prowess.copies.personal import ChangeStatus, PersonalSkills
from prowess.sources.skill_files import read_skill_files
from tests.copies.owned import NOW, add, draw, make_personal
from tests.skills_on_disk import write_skill


@pytest.fixture
def personal(tmp_path: Path) -> PersonalSkills:
    return make_personal(tmp_path / "home")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "home/users/ann/skills-history/alpha"


@pytest.fixture
def current(tmp_path: Path) -> Path:
    return tmp_path / "home/users/ann/skills/personal/alpha"


def _source(tmp_path: Path, text: str) -> Path:
    return write_skill(tmp_path / f"src-{text}", "alpha", files={"which": text})


def _digest(folder: Path) -> str:
    return read_skill_files(str(folder)).digest


@pytest.mark.requirement("R116")
def test_history_has_every_version_with_its_origin(
    personal: PersonalSkills, archive: Path, current: Path, tmp_path: Path
) -> None:
    """D85."""
    sources = [_source(tmp_path, text) for text in ("1", "2", "3")]
    for source in sources:
        add(personal, source)
    places = [archive / "versions/1", archive / "versions/2", current]
    versions = [
        KeptVersion(number, str(place), _digest(source), NOW, Origin(str(source)))
        for number, (place, source) in enumerate(zip(places, sources, strict=True), 1)
    ]
    assert personal.history("alpha") == History("alpha", versions[2], (versions[0], versions[1]))
    assert [personal.version("alpha", number) for number in (1, 2, 3)] == versions


def test_one_version_is_told_without_reading_the_others(
    personal: PersonalSkills, current: Path, archive: Path, tmp_path: Path
) -> None:
    opened: list[str] = []
    for text in ("1", "2"):
        add(personal, _source(tmp_path, text))
    for number in ("1", "2"):
        where = archive / "versions" / "1" if number == "1" else current
        (where / f"only-in-{number}").write_text("x")
    sys.addaudithook(lambda event, args: opened.append(os.fsdecode(args[0])) if _is_open(event, args) else None)
    assert personal.current("alpha") == personal.version("alpha", 2)
    assert "only-in-1" not in opened
    assert "only-in-2" in opened
    opened.clear()
    assert personal.version("alpha", 1).number == 1
    assert "only-in-1" in opened
    assert "only-in-2" not in opened


def _is_open(event: str, args: tuple[object, ...]) -> bool:
    return event == "open" and isinstance(args[0], bytes | str)


def test_skill_that_was_made_by_hand_is_version_1(personal: PersonalSkills, current: Path) -> None:
    write_skill(current.parent, "alpha")
    assert personal.history("alpha") == History("alpha", KeptVersion(1, str(current), _digest(current)), ())


def test_edited_files_are_marked(personal: PersonalSkills, current: Path, tmp_path: Path) -> None:
    add(personal, _source(tmp_path, "1"))
    (current / "which").write_text("mine")
    found = personal.history("alpha").current
    assert found is not None
    assert (found.edited, found.digest) == (True, _digest(current))


def test_removed_skill_has_no_current_version(personal: PersonalSkills, tmp_path: Path) -> None:
    add(personal, _source(tmp_path, "1"))
    personal.remove("alpha")
    history = personal.history("alpha")
    assert (history.current, [one.number for one in history.previous]) == (None, [1])


@pytest.mark.requirement("R116")
@pytest.mark.parametrize("damage", [None, b"", b"{", b"[1]", b'{"versions": {"1": 5}}', b"\xff" * 100])
def test_folders_alone_give_the_numbers(
    personal: PersonalSkills, archive: Path, tmp_path: Path, damage: bytes | None
) -> None:
    for text in ("1", "2", "3"):
        add(personal, _source(tmp_path, text))
    if damage is None:
        (archive / "record.json").unlink()
    else:
        (archive / "record.json").write_bytes(damage)
    history = personal.history("alpha")
    assert history.current is not None
    assert (history.current.number, [one.number for one in history.previous]) == (3, [1, 2])
    assert [one.origin for one in history.previous] == [None, None]
    assert add(personal, _source(tmp_path, "4")).version == 4
    written = personal.history("alpha").current
    assert written is not None
    assert written.origin == Origin(str(tmp_path / "src-4/alpha"))


def test_record_that_is_a_link_is_replaced_and_not_followed(
    personal: PersonalSkills, archive: Path, tmp_path: Path
) -> None:
    add(personal, _source(tmp_path, "1"))
    (tmp_path / "precious").write_text("p")
    for name in ("record.json", "record.json.new"):
        (archive / name).unlink(missing_ok=True)
    (archive / "record.json").symlink_to(tmp_path / "precious")
    add(personal, _source(tmp_path, "2"))
    assert (tmp_path / "precious").read_text() == "p"
    assert not (archive / "record.json").is_symlink()


def test_other_things_among_the_versions_do_not_count(personal: PersonalSkills, archive: Path, tmp_path: Path) -> None:
    add(personal, _source(tmp_path, "1"))
    for name in ("0", "01", "x", "-1", ".incoming", "9" * 10, "٣"):
        (archive / "versions" / name).mkdir()
    history = personal.history("alpha")
    assert (history.current and history.current.number, history.previous) == (1, ())


def test_note_of_a_version_that_is_gone_is_dropped(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path / "current"), str(tmp_path / "kept"))
    archive.prepare()
    for number in (1, 7):
        archive.write_note(number, VersionNote("d" * 64, 1.5, Origin("p", "r", "f", "c")))
    note = VersionNote("d" * 64, 1.5, Origin("p", "r", "f", "c"))
    assert dict(archive.notes()) == {1: note, 7: note}
    os.makedirs(archive.path(3))
    archive.write_note(4, VersionNote())
    assert dict(archive.notes()) == {4: VersionNote()}


# After a crash


@pytest.fixture
def interrupted(personal: PersonalSkills, tmp_path: Path, archive: Path) -> Path:
    """Version 1 in use, and the next one laid down beside the former ones, as just before the two change places."""
    add(personal, _source(tmp_path, "1"))
    source = _source(tmp_path, "2")
    incoming = archive / "versions" / f".incoming-1-{_digest(source)}"
    os.rename(source, incoming)
    return incoming


def _numbers(personal: PersonalSkills) -> tuple[int | None, list[int]]:
    history = personal.history("alpha")
    return history.current.number if history.current else None, [one.number for one in history.previous]


@pytest.mark.requirement("R116")
def test_crash_before_the_change_leaves_the_old_version(
    personal: PersonalSkills, interrupted: Path, archive: Path, current: Path
) -> None:
    assert _numbers(personal) == (1, [])
    assert ((current / "which").read_text(), draw(archive / "versions")) == ("1", {})


@pytest.mark.requirement("R116")
def test_crash_after_the_change_keeps_the_old_version(
    personal: PersonalSkills, interrupted: Path, archive: Path, current: Path, tmp_path: Path
) -> None:
    os.rename(current, tmp_path / "old")
    os.rename(interrupted, current)
    os.rename(tmp_path / "old", interrupted)
    assert _numbers(personal) == (2, [1])
    assert [(folder / "which").read_text() for folder in (archive / "versions/1", current)] == ["1", "2"]


def test_crash_between_two_steps_brings_the_old_version_back(
    personal: PersonalSkills, interrupted: Path, archive: Path, current: Path
) -> None:
    """Where two folders cannot change places in one step."""
    os.rename(current, f"{interrupted}.aside")
    assert _numbers(personal) == (1, [])
    assert ((current / "which").read_text(), draw(archive / "versions")) == ("1", {})


def test_next_change_of_any_skill_settles_what_a_crash_has_left(
    personal: PersonalSkills, interrupted: Path, current: Path, tmp_path: Path
) -> None:
    os.rename(current, f"{interrupted}.aside")
    add(personal, write_skill(tmp_path / "other", "beta"))
    assert (current / "which").read_text() == "1"


def test_crash_between_the_last_two_steps_keeps_both(
    personal: PersonalSkills, interrupted: Path, archive: Path, current: Path, tmp_path: Path
) -> None:
    os.rename(current, f"{interrupted}.aside")
    os.rename(interrupted, current)
    assert add(personal, _source(tmp_path, "3")).version == 3
    assert _numbers(personal) == (3, [1, 2])
    texts = [(folder / "which").read_text() for folder in (archive / "versions/1", archive / "versions/2", current)]
    assert texts == ["1", "2", "3"]


def test_crash_before_the_first_version_is_in_use_leaves_nothing(personal: PersonalSkills, tmp_path: Path) -> None:
    add(personal, _source(tmp_path, "1"))
    staging = tmp_path / "home/users/ann/.staging/skill"
    write_skill(staging, "left")
    assert add(personal, _source(tmp_path, "1")).status is ChangeStatus.UNCHANGED
    assert os.listdir(staging.parent) == []
