"""The user's own skills: added, removed, brought back, and never lost."""

import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest

from prowess.copies.history import Origin
from prowess.copies.incoming import is_folder_name
from prowess.copies.layout import Layout
from prowess.copies.personal import Change, ChangeStatus, PersonalSkills
from prowess.copies.user_folders import ensure_user_folders
from prowess.copies.writable_copies import eject_skill
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, SettingsError, WorldError
from prowess.policy import PROFILES, STRICT_READING
from prowess.sources.skill_files import read_skill_files
from tests.copies.owned import JUDGE, NOW, add, draw, ends_when_killed_at, make_personal, small_disk
from tests.skills_on_disk import write_skill


@pytest.fixture
def personal(tmp_path: Path) -> PersonalSkills:
    return make_personal(tmp_path / "home")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Where the user's own skills lie."""
    return tmp_path / "home/users/ann/skills/personal"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "home/users/ann/skills-history"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "src", "alpha", files={"scripts/go.sh": "#!/bin/sh\n", "notes.md": "x"})


# Folders


@pytest.mark.requirement("R116")
def test_folders_of_a_user_are_made_for_him_alone(tmp_path: Path) -> None:
    """D59."""
    old = os.umask(0)
    try:
        ensure_user_folders(Layout(str(tmp_path / "home")), "ann")
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in sorted((tmp_path / "home").rglob("*"))
    }
    assert modes == {
        "home/users": "0o700",
        "home/users/ann": "0o700",
        "home/users/ann/skills": "0o700",
        "home/users/ann/skills/active": "0o755",
        "home/users/ann/skills/personal": "0o700",
        "home/users/ann/skills-history": "0o700",
    }


def test_folders_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path / "home"))
    ensure_user_folders(layout, "ann")
    os.chmod(layout.personal("ann"), 0o750)
    ensure_user_folders(layout, "ann")
    assert stat.S_IMODE(os.stat(layout.personal("ann")).st_mode) == 0o750


@pytest.mark.parametrize("name", ["skills", "skills/personal", "skills/active", "skills-history"])
@pytest.mark.parametrize("kind", ["a link", "not a folder"])
def test_link_or_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / "home/users/ann" / name
    place.parent.mkdir(parents=True)
    if kind == "a link":
        place.symlink_to(elsewhere)
    else:
        place.write_text("x")
    with pytest.raises(WorldError) as caught:
        ensure_user_folders(Layout(str(tmp_path / "home")), "ann")
    assert (caught.value.message, caught.value.code) == (f"{place} is {kind}", "not-a-folder")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("user", ["..", "a/b", "", ".x", "a\0b", "x" * 121])
def test_user_who_can_have_no_folder_is_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(SettingsError):
        make_personal(tmp_path / "home", user=user)
    assert list(tmp_path.iterdir()) == []


# Adding


@pytest.mark.requirement("R116")
def test_skill_is_added_as_ordinary_files(personal: PersonalSkills, own: Path, source: Path) -> None:
    (source / "link.md").symlink_to("notes.md")
    (source / ".git").mkdir()
    os.chmod(source / "notes.md", 0o400)
    change = add(personal, source)
    digest = read_skill_files(str(source)).digest
    assert change == Change(
        "alpha", ChangeStatus.ADDED, str(own / "alpha"), 1, digest, origin=Origin(str(source)), problems=()
    )
    assert draw(own) == {
        "alpha": "/",
        "alpha/SKILL.md": (source / "SKILL.md").read_text(),
        "alpha/link.md": "-> notes.md",
        "alpha/notes.md": "x",
        "alpha/scripts": "/",
        "alpha/scripts/go.sh": "#!/bin/sh\n*",
    }
    assert stat.S_IMODE((own / "alpha/notes.md").stat().st_mode) == 0o644
    assert stat.S_IMODE((own / "alpha/scripts/go.sh").stat().st_mode) == 0o755


@pytest.mark.requirement("R116")
def test_skill_that_is_there_is_replaced_and_kept(
    personal: PersonalSkills, own: Path, archive: Path, source: Path
) -> None:
    """D65."""
    add(personal, source)
    before = draw(own / "alpha")
    (source / "notes.md").write_text("y")
    change = add(personal, source)
    assert (change.status, change.version, change.kept) == (ChangeStatus.REPLACED, 2, 1)
    assert draw(archive / "alpha/versions/1") == before
    assert draw(own / "alpha") == before | {"notes.md": "y"}


def test_same_files_change_nothing(personal: PersonalSkills, own: Path, archive: Path, source: Path) -> None:
    add(personal, source)
    inode = (own / "alpha").stat().st_ino
    change = add(personal, source)
    assert (change.status, change.version, change.kept) == (ChangeStatus.UNCHANGED, 1, None)
    assert ((own / "alpha").stat().st_ino, draw(archive / "alpha/versions")) == (inode, {})


def test_work_that_was_done_on_a_skill_is_kept_when_it_is_replaced(
    personal: PersonalSkills, own: Path, archive: Path, source: Path
) -> None:
    add(personal, source)
    (own / "alpha/mine.md").write_text("my work")
    (own / "alpha/.git").mkdir()
    os.mkfifo(own / "alpha/pipe")
    (source / "notes.md").write_text("y")
    add(personal, source)
    kept = archive / "alpha/versions/1"
    assert ((kept / "mine.md").read_text(), (kept / ".git").is_dir(), (kept / "pipe").is_fifo()) == (
        "my work",
        True,
        True,
    )
    assert personal.history("alpha").previous[0].digest == ""


@pytest.mark.parametrize(
    "name", ["../../../etc", "/etc", "a/b", ".hidden", "-rf", "a:b", "nul", "con .txt", "..", "a\\b", "x" * 201]
)
def test_name_that_no_folder_can_have_is_refused(personal: PersonalSkills, tmp_path: Path, name: str) -> None:
    """D68."""
    folder = write_skill(
        tmp_path / "src", "x", text=f'---\nname: "{name}"\ndescription: d\n---\n'.replace("\\", "\\\\")
    )
    with pytest.raises(BrokenSkill, match="invalid characters") as caught:
        add(personal, folder)
    assert caught.value.code == "bad-name"
    assert personal.names() == ()


@pytest.mark.parametrize("name", ["技能", "my skill", "Upper", "a.b", "x" * 200])
def test_unusual_name_that_a_folder_can_have_is_taken(personal: PersonalSkills, tmp_path: Path, name: str) -> None:
    folder = write_skill(tmp_path / "src", "x", text=f"---\nname: {name}\ndescription: d\n---\n")
    assert add(personal, folder).name == name
    assert personal.names() == (name,)
    assert is_folder_name(name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no frontmatter",
        "---\ndescription: d\n---\n",
        "---\nname: [a]\ndescription: d\n---\n",
        b"---\n\xff\n---\n",
        None,
    ],
)
def test_skill_without_a_name_is_refused(personal: PersonalSkills, tmp_path: Path, text: str | bytes | None) -> None:
    """D67."""
    folder = write_skill(tmp_path / "src", "x", text=text or "")
    if text is None:
        (folder / "SKILL.md").unlink()
    with pytest.raises(BrokenSkill, match=r'^No valid SKILL.md with "name" frontmatter') as caught:
        add(personal, folder)
    assert caught.value.code == "no-skill"
    assert personal.names() == ()


def test_skill_is_judged_under_the_name_that_its_folder_will_have(personal: PersonalSkills, tmp_path: Path) -> None:
    text = "---\nname: alpha\ndescription: Does a thing. Use when asked.\n---\nDo it.\n"
    folder = write_skill(tmp_path / "src", "alpha-main", text=text)
    change = personal.add(str(folder), reading=STRICT_READING, limits=JUDGE.limits, origin=Origin("x"))
    assert (change.name, change.problems) == ("alpha", ())


def test_skill_that_would_not_be_loaded_is_refused(personal: PersonalSkills, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "src", "alpha", text="---\nname: alpha\n---\n")
    with pytest.raises(BrokenSkill, match="would not be loaded: missing required frontmatter fields: description"):
        add(personal, folder)
    daycare = PROFILES["daycare"]
    personal.add(str(folder), reading=daycare.reading, limits=daycare.limits, origin=Origin("x"))
    assert personal.names() == ("alpha",)


def test_warnings_come_with_the_answer(personal: PersonalSkills, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "src", "Alpha")
    assert [problem.code for problem in add(personal, folder).problems] == ["name-invalid"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "scripts/../../x"])
def test_link_that_leads_out_of_the_source_is_refused(
    personal: PersonalSkills, source: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "secret").write_text("s")
    (source / "scripts/out").symlink_to(target)
    with pytest.raises(BrokenSkill, match="leads out of the skill") as caught:
        add(personal, source)
    assert caught.value.code == "no-digest"
    assert (personal.names(), personal.former_names()) == ((), ())


def test_skill_md_that_is_a_link_out_is_refused(personal: PersonalSkills, source: Path, tmp_path: Path) -> None:
    os.rename(source / "SKILL.md", tmp_path / "SKILL.md")
    (source / "SKILL.md").symlink_to(tmp_path / "SKILL.md")
    with pytest.raises(BrokenSkill):
        add(personal, source)


def test_pipe_in_the_source_keeps_nobody_waiting(personal: PersonalSkills, source: Path) -> None:
    os.mkfifo(source / "pipe")
    with pytest.raises(BrokenSkill, match="neither a file nor a folder"):
        add(personal, source)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_link_or_file_in_the_place_of_a_skill_is_kept_and_not_followed(
    personal: PersonalSkills, own: Path, source: Path, tmp_path: Path, kind: str
) -> None:
    archive = tmp_path / "home/users/ann/skills-history"
    theirs = write_skill(tmp_path / "theirs", "alpha", files={"precious": "p"})
    before = draw(theirs)
    own.mkdir(parents=True)
    if kind == "link":
        (own / "alpha").symlink_to(theirs)
    else:
        (own / "alpha").write_text("a note")
    change = add(personal, source)
    assert (change.status, change.version) == (ChangeStatus.REPLACED, 2)
    assert draw(theirs) == before
    assert draw(archive)["alpha/versions/1"] == (f"-> {theirs}" if kind == "link" else "a note")
    assert not (own / "alpha").is_symlink()


def test_link_in_the_place_of_the_history_is_refused(
    personal: PersonalSkills, own: Path, archive: Path, source: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    archive.mkdir(parents=True)
    (archive / "alpha").symlink_to(elsewhere)
    with pytest.raises(WorldError, match="is a link"):
        add(personal, source)
    assert (list(elsewhere.iterdir()), list(own.iterdir())) == ([], [])


def test_home_that_is_a_link_serves_as_well(tmp_path: Path, source: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    personal = make_personal(tmp_path / "link")
    assert [add(personal, source).status for _ in range(2)] == [ChangeStatus.ADDED, ChangeStatus.UNCHANGED]


# Removing and restoring


@pytest.mark.requirement("R116", "R122")
def test_removed_skill_comes_back_just_as_it_was(
    personal: PersonalSkills, own: Path, archive: Path, source: Path
) -> None:
    added = add(personal, source)
    (own / "alpha/empty").mkdir()
    (own / "alpha/out").symlink_to("/etc")
    before = draw(own / "alpha")
    removed = personal.remove("alpha")
    kept = archive / "alpha/versions/1"
    assert removed == Change("alpha", ChangeStatus.REMOVED, str(kept), 1, "", 1, added.origin)
    assert (draw(own), draw(kept)) == ({}, before)
    restored = personal.restore("alpha")
    assert restored == Change("alpha", ChangeStatus.RESTORED, str(own / "alpha"), 1, "", None, added.origin)
    assert draw(own / "alpha") == before


def test_skill_that_is_added_after_its_removal_gets_the_next_number(personal: PersonalSkills, source: Path) -> None:
    add(personal, source)
    personal.remove("alpha")
    change = add(personal, source)
    assert (change.status, change.version, change.kept) == (ChangeStatus.ADDED, 2, None)


@pytest.mark.requirement("R116")
def test_former_version_is_restored_under_a_new_number(
    personal: PersonalSkills, own: Path, archive: Path, source: Path
) -> None:
    for text in ("1", "2", "3"):
        (source / "notes.md").write_text(text)
        add(personal, source)
    change = personal.restore("alpha", version=1)
    assert (change.status, change.version, change.kept) == (ChangeStatus.RESTORED, 4, 3)
    assert (own / "alpha/notes.md").read_text() == "1"
    assert [(archive / f"alpha/versions/{number}/notes.md").read_text() for number in (1, 2, 3)] == ["1", "2", "3"]
    assert personal.restore("alpha", version=1).status is ChangeStatus.UNCHANGED
    assert personal.restore("alpha").version == 5
    assert (own / "alpha/notes.md").read_text() == "3"


def test_older_version_of_a_removed_skill_is_restored_under_a_new_number(
    personal: PersonalSkills, own: Path, source: Path
) -> None:
    add(personal, source)
    (source / "notes.md").write_text("2")
    add(personal, source)
    personal.remove("alpha")
    assert personal.restore("alpha", version=1).version == 3
    assert (own / "alpha/notes.md").read_text() == "x"


def test_version_that_is_a_link_is_not_followed(
    personal: PersonalSkills, own: Path, source: Path, tmp_path: Path
) -> None:
    own.mkdir(parents=True)
    (own / "alpha").symlink_to(write_skill(tmp_path / "theirs", "alpha"))
    add(personal, source)
    with pytest.raises(BrokenSkill):
        personal.restore("alpha", version=1)
    assert (own / "alpha/notes.md").read_text() == "x"


@pytest.mark.parametrize("name", ["nope", "", ".", "..", "../personal", "a/b", "a\0b", "README.md"])
def test_unknown_skill_is_not_found(personal: PersonalSkills, own: Path, name: str) -> None:
    """D75."""
    own.mkdir(parents=True)
    (own / "README.md").write_text("not a skill")
    for act in (personal.remove, personal.restore, personal.history):
        with pytest.raises(NotFound) as caught:
            act(name)
        assert caught.value.message.startswith('Personal skill not found: "')
        assert caught.value.code == "unknown-skill"
    assert draw(own) == {"README.md": "not a skill"}


def test_unknown_skill_makes_no_folders(personal: PersonalSkills, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        personal.remove("nope")
    assert list(tmp_path.iterdir()) == []


def test_version_that_is_not_there_is_named(personal: PersonalSkills, source: Path) -> None:
    add(personal, source)
    with pytest.raises(Refused, match="no former version"):
        personal.restore("alpha")
    (source / "notes.md").write_text("2")
    add(personal, source)
    for act in (lambda: personal.restore("alpha", version=9), lambda: personal.version("alpha", 9)):
        with pytest.raises(NotFound) as caught:
            act()
        assert (caught.value.message, caught.value.hint) == ("'alpha' has no version 9", "former versions: 1")


# Ejecting


@pytest.mark.requirement("R116")
def test_ejected_skill_is_a_writable_copy(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new/deep/alpha"
    os.chmod(source / "notes.md", 0o400)
    files = eject_skill(str(source), str(target))
    assert files.digest == read_skill_files(str(source)).digest
    assert draw(target) == draw(source)
    assert stat.S_IMODE((target / "notes.md").stat().st_mode) == 0o644
    assert os.listdir(target.parent) == ["alpha"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_ejecting_overwrites_nothing(source: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "alpha"
    {"folder": target.mkdir, "file": target.touch, "link": lambda: target.symlink_to("nowhere")}[kind]()
    with pytest.raises(Refused, match="exists already"):
        eject_skill(str(source), str(target))
    assert not target.exists() or not target.is_dir() or list(target.iterdir()) == []


def test_skill_whose_files_are_others_than_those_agreed_to_is_not_ejected(source: Path, tmp_path: Path) -> None:
    agreed = read_skill_files(str(source)).digest
    (source / "notes.md").write_text("Others.\n")
    with pytest.raises(Refused, match="changed meanwhile"):
        eject_skill(str(source), str(tmp_path / "new/alpha"), digest=agreed)
    assert list((tmp_path / "new").iterdir()) == []


def test_skill_that_cannot_be_ejected_leaves_nothing(source: Path, tmp_path: Path) -> None:
    (source / "out").symlink_to("/etc/passwd")
    with pytest.raises(BrokenSkill):
        eject_skill(str(source), str(tmp_path / "new/alpha"))
    assert list((tmp_path / "new").iterdir()) == []


# The world is as it is


_ADDING = """
import sys
from pathlib import Path
from tests.copies.owned import add, make_personal
personal = make_personal(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    change = add(personal, Path(sys.argv[3 + number % (len(sys.argv) - 3)]))
    print(change.status, change.version, flush=True)
"""


def _start(home: Path, times: int, *sources: Path) -> "subprocess.Popen[str]":
    arguments = [str(home), str(times), *map(str, sources)]
    return subprocess.Popen(
        [sys.executable, "-c", _ADDING, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _two_variants(tmp_path: Path) -> tuple[Path, Path]:
    files = {f"part-{number}.txt": "data\n" * 50 for number in range(20)}
    return (
        write_skill(tmp_path / "a", "alpha", body="a\n", files={**files, "which": "a"}),
        write_skill(tmp_path / "b", "alpha", body="b\n", files={**files, "which": "b"}),
    )


@pytest.mark.slow
@pytest.mark.requirement("R116")
def test_kill_at_any_moment_leaves_the_old_skill_or_the_new_one(tmp_path: Path) -> None:
    """Each of 30 children is killed at another moment of replacing one variant by the other, over and over."""
    first, second = _two_variants(tmp_path)
    digests = {read_skill_files(str(folder)).digest for folder in (first, second)}
    home = tmp_path / "home"
    current = home / "users/ann/skills/personal/alpha"
    personal = make_personal(home)
    add(personal, first)
    told = 1
    for round_number in range(30):
        with _start(home, 1_000, second, first) as child:
            assert child.stdin
            assert child.stdout
            child.stdin.write("go\n")
            child.stdin.flush()
            child.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                child.wait(0.0007 * (round_number * 7 % 30))
            child.kill()
            *lines, _ = child.stdout.read().split("\n")  # The last may have been cut off with the child.
            told = max([told, *(int(line.split()[1]) for line in lines)])
        assert read_skill_files(str(current)).digest in digests
        history = personal.history("alpha")
        versions = [*history.previous, *([history.current] if history.current else [])]
        assert [one.number for one in versions] == list(range(1, len(versions) + 1))
        assert {one.digest for one in versions} == digests | {versions[0].digest}
        assert all(before.digest != after.digest for before, after in pairwise(versions))
        assert len(versions) >= told
    add(personal, first)
    assert os.listdir(home / "users/ann/.staging") == []


_ADD_AND_REMOVE = """
import os, sys
from pathlib import Path
from tests.copies.owned import add, make_personal
personal = make_personal(Path(sys.argv[1]))
add(personal, Path(sys.argv[2]))
personal.restore("alpha", version=1)
personal.remove("alpha")
"""


@pytest.mark.slow
@pytest.mark.requirement("R116")
@pytest.mark.parametrize(("call", "least"), [("rename", 9), ("renameat2", 2), ("unlinkat", 1)])
def test_kill_at_every_call_that_changes_something_loses_nothing(tmp_path: Path, call: str, least: int) -> None:
    """A child replaces, restores and removes a skill; it is killed at the first such call, at the second, and so on."""
    first, second = (
        write_skill(tmp_path / which, "alpha", files={"which": which, "deep/file": "x"}) for which in ("a", "b")
    )
    for number in count(1):
        home = tmp_path / f"home-{number}"
        personal = make_personal(home)
        add(personal, first)
        ended = ends_when_killed_at(call, number, _ADD_AND_REMOVE, str(home), str(second))
        found = draw(home / "users/ann/skills/personal/alpha")
        assert found in ({}, draw(first), draw(second))
        history = personal.history("alpha")
        versions = [*history.previous, *([history.current] if history.current else [])]
        assert [one.number for one in versions] == list(range(1, len(versions) + 1))
        assert [(Path(one.folder) / "which").read_text() for one in versions] == [*"aba"][: len(versions)]
        assert found or len(versions) == 3, "it is gone before it is removed"
        if ended:
            assert number > least
            return


@pytest.mark.slow
@pytest.mark.requirement("R116")
def test_two_processes_that_add_at_once_wait_for_each_other(tmp_path: Path) -> None:
    first, second = _two_variants(tmp_path)
    home = tmp_path / "home"
    children = [_start(home, 10, first, second), _start(home, 10, second, first)]
    for child in children:
        assert child.stdin
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate(timeout=120) for child in children]
    assert [error for _, error in said] == ["", ""]
    lines = [line.split() for output, _ in said for line in output.splitlines()]
    made = sorted(int(number) for status, number in lines if status != "unchanged")
    history = make_personal(home).history("alpha")
    assert made == list(range(1, len(made) + 1))
    assert history.current is not None
    assert [one.number for one in (*history.previous, history.current)] == made


@pytest.mark.slow
@pytest.mark.requirement("R116")
def test_full_disk_leaves_everything_as_it_was(tmp_path: Path, source: Path) -> None:
    with small_disk(tmp_path / "disk", size="1m") as disk:
        personal = make_personal(disk / "home")
        add(personal, source)
        own = disk / "home/users/ann/skills/personal"
        before = draw(own)
        large = write_skill(tmp_path / "large", "alpha", files={f"part-{n}": os.urandom(90_000) for n in range(20)})
        with pytest.raises(WorldError) as caught:
            add(personal, large)
        assert caught.value.message.endswith(": No space left on device")
        assert caught.value.hint == "make room on the disk and try again; what was there before is untouched"
        assert draw(own) == before
        assert os.listdir(disk / "home/users/ann/.staging") == []
        assert personal.history("alpha").previous == ()
        small = write_skill(tmp_path / "small", "beta")
        assert add(personal, small).status is ChangeStatus.ADDED


@pytest.mark.slow
def test_home_that_is_read_only_is_said_so(tmp_path: Path, source: Path) -> None:
    with small_disk(tmp_path / "disk", size="1m") as disk:
        personal = make_personal(disk / "home")
        add(personal, source)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for act in (lambda: add(personal, source), lambda: personal.remove("alpha")):
            with pytest.raises(WorldError) as caught:
                act()
            assert "Read-only file system" in caught.value.message
            assert "PROWESS_HOME" in caught.value.hint
        assert personal.history("alpha").current is not None


@pytest.mark.slow
def test_skills_and_history_on_two_disks_are_refused(tmp_path: Path, source: Path) -> None:
    personal = make_personal(tmp_path / "home")
    add(personal, source)
    personal.remove("alpha")
    parent = tmp_path / "home/users/ann/skills"
    (parent / "personal").rmdir()
    with small_disk(parent / "personal", size="1m"):
        for act in (lambda: add(personal, source), lambda: personal.restore("alpha")):
            with pytest.raises(WorldError) as caught:
                act()
            assert "must lie on one disk" in caught.value.hint


def test_answers_are_values(personal: PersonalSkills, source: Path) -> None:
    change = add(personal, source)
    current = personal.history("alpha").current
    assert current is not None
    assert (current.at, current.origin, current.digest) == (NOW, Origin(str(source)), change.digest)
    assert replace(change, kept=None) == change


def test_error_is_one_of_ours_whatever_is_in_the_source(personal: PersonalSkills, tmp_path: Path) -> None:
    folder = tmp_path / "src"
    (folder / "SKILL.md").mkdir(parents=True)
    with pytest.raises(ProwessError):
        add(personal, folder)
    assert personal.names() == ()
