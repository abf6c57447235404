"""From an old flat folder to `personal/`: nothing lost, nothing twice."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.copies.layout import Layout
from prowess.copies.migration import Move, OldFolder, apply_migration, plan_migration, read_old_folder
from prowess.errors import WorldError
from tests.copies.owned import draw, ends_when_killed_at, small_disk
from tests.skills_on_disk import write_skill


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(str(tmp_path / "home"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An old flat folder."""
    folder = tmp_path / "home/users/ann/skills"
    write_skill(folder, "alpha", files={"run.sh": "#!/bin/sh\n"})
    write_skill(folder, "group/beta")
    return folder


def _plan(layout: Layout) -> tuple[Move, ...]:
    return plan_migration(read_old_folder(layout, "ann"))


@pytest.mark.requirement("R87")
def test_everything_goes_to_personal_as_it_is(layout: Layout, old: Path, tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere", "theirs")
    (old / "link").symlink_to(tmp_path / "elsewhere/theirs")
    (old / "nowhere").symlink_to("not-there")
    (old / "README.md").write_text("r")
    (old / ".git").mkdir()
    before, elsewhere = draw(old), draw(tmp_path / "elsewhere")
    inode = (old / "alpha").stat().st_ino
    assert apply_migration(layout, "ann") == tuple(
        Move(name, name) for name in (".git", "README.md", "alpha", "group", "link", "nowhere")
    )
    assert draw(old / "personal") == before
    assert sorted(os.listdir(old)) == ["active", "personal"]
    assert (old / "personal/alpha").stat().st_ino == inode
    assert draw(tmp_path / "elsewhere") == elsewhere


@pytest.mark.requirement("R87")
def test_second_time_there_is_nothing_to_do(layout: Layout, old: Path) -> None:
    apply_migration(layout, "ann")
    before = draw(old)
    assert apply_migration(layout, "ann") == ()
    assert draw(old) == before


@pytest.mark.requirement("R87")
def test_dry_run_moves_nothing_and_tells_the_same(layout: Layout, old: Path) -> None:
    before = draw(old.parents[2])
    planned = _plan(layout)
    assert draw(old.parents[2]) == before
    assert apply_migration(layout, "ann") == planned


@pytest.mark.requirement("R87")
def test_name_that_is_taken_stays_and_is_reported(layout: Layout, old: Path) -> None:
    write_skill(old / "personal", "alpha", body="newer\n")
    before = draw(old)
    assert apply_migration(layout, "ann") == (
        Move("alpha", None, "personal/alpha is there already"),
        Move("group", "group"),
    )
    after = draw(old)
    assert {name: after[name] for name in after if "alpha" in name} == {
        name: before[name] for name in before if "alpha" in name
    }


@pytest.mark.requirement("R87")
def test_old_skills_called_as_our_folders_are_moved_too(layout: Layout, old: Path) -> None:
    for name in ("active", "personal"):
        write_skill(old, name, files={"references/a.md": name})
    before = draw(old)
    moves = apply_migration(layout, "ann")
    assert moves == tuple(Move(name, name) for name in ("active", "personal", "alpha", "group"))
    assert draw(old / "personal") == before
    assert list((old / "active").iterdir()) == []
    assert apply_migration(layout, "ann") == ()


def test_folders_of_today_stay(layout: Layout, old: Path) -> None:
    write_skill(old / "active", "core--x")
    write_skill(old / "personal", "mine")
    assert apply_migration(layout, "ann") == (Move("alpha", "alpha"), Move("group", "group"))
    assert (old / "active/core--x/SKILL.md").is_file()
    assert (old / "personal/mine/SKILL.md").is_file()


def test_folder_that_could_be_either_is_left_to_people(layout: Layout, old: Path) -> None:
    write_skill(old, "personal", files={"inner/SKILL.md": "x", "alpha/SKILL.md": "y"})
    before = draw(old / "personal")
    stays, taken, moved = apply_migration(layout, "ann")
    assert (stays.name, stays.target, taken.name, taken.target) == ("personal", None, "alpha", None)
    assert moved == Move("group", "group")
    assert draw(old / "personal").items() >= before.items()


def test_leftovers_of_a_network_disk_stay(layout: Layout, old: Path) -> None:
    (old / ".nfs0001").write_text("x")
    apply_migration(layout, "ann")
    assert (old / ".nfs0001").read_text() == "x"


def test_user_without_a_folder_has_nothing_to_move(layout: Layout, tmp_path: Path) -> None:
    assert read_old_folder(layout, "ann") == OldFolder()
    assert list(tmp_path.iterdir()) == []
    assert apply_migration(layout, "ann") == ()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_personal_that_is_no_folder_is_refused_before_anything_is_moved(
    layout: Layout, old: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        (old / "personal").symlink_to(tmp_path / "elsewhere")
    else:
        (old / "personal").write_text("x")
    before = draw(old)
    with pytest.raises(WorldError):
        apply_migration(layout, "ann")
    assert {name: text for name, text in draw(old).items() if name != "active"} == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


_NAMES = st.sampled_from(
    ["active", "personal", ".personal.on-the-way", ".active.on-the-way", "a", "b", ".nfs0f", ".git"]
)


@pytest.mark.requirement("R87")
@given(entries=st.sets(_NAMES), skills=st.sets(st.sampled_from(["active", "personal"])), taken=st.sets(_NAMES))
def test_plan_moves_everything_once_and_to_a_free_name(entries: set[str], skills: set[str], taken: set[str]) -> None:
    old = OldFolder(tuple(entries), frozenset(skills & entries), taken=frozenset(taken))
    moves = plan_migration(old)
    ours = {name for name in ("active", "personal") if name not in skills}
    assert sorted(move.name for move in moves) == sorted(entries - ours - {".nfs0f"})
    targets = [move.target for move in moves if move.target is not None]
    assert len(targets) == len({*targets} - taken)
    assert all(move.reason for move in moves if move.target is None)


def test_other_users_are_not_touched(layout: Layout, old: Path) -> None:
    write_skill(old.parents[1] / "bob/skills", "alpha")
    before = draw(old.parents[1] / "bob")
    apply_migration(layout, "ann")
    assert draw(old.parents[1] / "bob") == before


_MIGRATE = """
import sys
from prowess.copies.layout import Layout
from prowess.copies.migration import apply_migration
apply_migration(Layout(sys.argv[1]), "ann")
"""


@pytest.mark.slow
@pytest.mark.requirement("R87")
@pytest.mark.parametrize(("call", "least"), [("rename", 7), ("mkdir", 6), ("fsync", 2)])
def test_kill_at_every_call_is_made_good_by_the_next_run(tmp_path: Path, call: str, least: int) -> None:
    for number in count(1):
        home = tmp_path / f"home-{number}"
        old = home / "users/ann/skills"
        for name in ("alpha", "beta", "active", "personal"):
            write_skill(old, name)
        (old / "link").symlink_to("/etc")
        before = draw(old)
        ended = ends_when_killed_at(call, number, _MIGRATE, str(home))
        apply_migration(Layout(str(home)), "ann")
        assert draw(old / "personal") == before
        assert sorted(os.listdir(old)) == ["active", "personal"]
        if ended:
            assert number > least
            return


_MIGRATE_WITH_OTHERS = _MIGRATE.replace("apply_migration(", "print(flush=True)\nsys.stdin.read()\napply_migration(")


@pytest.mark.slow
def test_migrations_at_once_move_everything_once(layout: Layout, old: Path) -> None:
    for number in range(300):
        write_skill(old, f"skill-{number}")
    before = draw(old)
    command = [sys.executable, "-c", _MIGRATE_WITH_OTHERS, layout.home]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == b"\n"
    for child in children:  # All of them begin now.
        assert child.stdin is not None
        child.stdin.close()
    statuses: list[int] = []
    for child in children:
        with child:
            statuses.append(child.wait(60))
    assert (statuses, draw(old / "personal")) == ([0, 0, 0], before)


@pytest.mark.slow
def test_personal_on_another_disk_is_said_so(layout: Layout, old: Path) -> None:
    before = draw(old)
    with small_disk(old / "personal", size="1m"):
        with pytest.raises(WorldError) as caught:
            apply_migration(layout, "ann")
        assert "one disk" in caught.value.hint
    after = draw(old)
    assert {name: after[name] for name in before} == before
