"""One sync makes a root hold the wanted skills and nothing else."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.copies.plan import Place, SyncPlan
from prowess.copies.roots import CopyRoot
from prowess.errors import WorldError
from prowess.skill.problems import make_problem
from tests.copies.parts import Workplace, codes, contents, digest_of, modes, names, skill_of
from tests.copies.test_trees import make_deep_folder
from tests.skills_on_disk import write_skill


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "home")


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return tmp_path / "skills"


@pytest.fixture
def one(skills: Path) -> Path:
    return write_skill(skills, "one", files={"scripts/run.sh": "#!/bin/sh\n"})


@pytest.fixture
def two(skills: Path) -> Path:
    return write_skill(skills, "two", files={"a.txt": "a"})


@pytest.mark.requirement("R73", "R77", "R89", "R111")
def test_report_tells_what_was_done(place: Workplace, one: Path, two: Path) -> None:
    first = place.sync(one, two)
    assert (first.copied, first.unchanged, first.removed, first.skipped) == (("user:one", "user:two"), 0, (), ())
    assert (first.changed, first.active_root) == (True, str(place.active()))
    second = place.sync(one, two)
    assert (second.copied, second.unchanged, second.removed, second.changed) == ((), 2, (), False)
    third = place.sync(two)
    assert (third.copied, third.unchanged, third.removed, third.changed) == ((), 1, ("user:one",), True)
    assert names(place.active()) == {"user--two"}


@pytest.mark.requirement("R77", "R111")
def test_unchanged_copy_is_the_very_same_folder(place: Workplace, one: Path, two: Path) -> None:
    place.sync(one, two)
    before = {name: os.lstat(place.active() / name) for name in names(place.active())}
    (two / "a.txt").write_text("b")
    place.sync(one, two)
    assert os.lstat(place.active() / "user--one") == before["user--one"]
    assert contents(place.active() / "user--two") == contents(two)


@pytest.mark.requirement("R72")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_hang_on_the_umask(place: Workplace, one: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        place.sync(one)
        (one / "more").touch()
        place.sync(one)
    finally:
        os.umask(before)
    assert modes(place.active()) == {
        ".": "0755",
        "user--one": "0555",
        "user--one/SKILL.md": "0444",
        "user--one/more": "0444",
        "user--one/scripts": "0555",
        "user--one/scripts/run.sh": "0555",
    }
    private = (place.active().parent, place.workshop, Path(place.layout.versions))
    assert [modes(folder)["."] for folder in private] == ["0700"] * 3


@pytest.mark.requirement("R72", "K5")
def test_root_is_never_replaced(place: Workplace, one: Path, two: Path) -> None:
    """A bind mount would keep the old one."""
    place.sync(one)
    before = os.lstat(place.active()).st_ino
    place.sync(two)
    place.sync()
    assert os.lstat(place.active()).st_ino == before
    assert names(place.active()) == set()


@pytest.mark.requirement("R79", "R111")
@pytest.mark.parametrize("kind", ["folder", "file", "link", "fifo", "deep folder", "locked folder", "hidden"])
def test_what_nobody_placed_is_removed(place: Workplace, one: Path, tmp_path: Path, kind: str) -> None:
    place.sync(one)
    outside = write_skill(tmp_path, "outside")
    before = contents(outside)
    odd = place.active() / (".hidden" if kind == "hidden" else "odd")
    if kind == "file":
        odd.write_text("x")
    elif kind == "link":
        odd.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(odd)
    else:
        (odd / "inner").mkdir(parents=True)
        (odd / "inner" / "to").symlink_to(outside)
        if kind == "deep folder":
            make_deep_folder(odd, levels=500)
        odd.chmod(0o000 if kind == "locked folder" else 0o755)
    report = place.sync(one)
    assert (report.removed, report.unchanged) == ((odd.name,), 1)
    assert (names(place.active()), contents(outside)) == ({"user--one"}, before)
    place.age_retired(100)
    place.sync(one)
    assert (names(place.workshop / "retired"), contents(outside)) == (set(), before)


@pytest.mark.requirement("R79", "K5")
@pytest.mark.parametrize(
    "kind", ["file", "link to the source", "link to the copy", "fifo", "folder", "twin", "nothing"]
)
def test_whatever_takes_the_place_of_a_copy_is_replaced(place: Workplace, one: Path, tmp_path: Path, kind: str) -> None:
    place.sync(one)
    copy = place.active() / "user--one"
    before = contents(one)
    copy.chmod(0o755)
    if kind == "link to the copy":
        copy.rename(tmp_path / "aside")
    else:
        (copy / "scripts").chmod(0o755)
        shutil.rmtree(copy)  # A disk may give the very inode of it to what comes next.
    {
        "file": lambda: copy.write_text("x"),
        "link to the source": lambda: copy.symlink_to(one),
        "link to the copy": lambda: copy.symlink_to(tmp_path / "aside"),
        "fifo": lambda: os.mkfifo(copy),
        "folder": lambda: write_skill(place.active(), copy.name),
        "twin": lambda: shutil.copytree(one, copy),
        "nothing": lambda: None,
    }[kind]()
    report = place.sync(one)
    # What has the very same files is as good as what was placed.
    assert (report.copied, report.unchanged) == (((), 1) if kind == "twin" else (("user:one",), 0))
    assert (contents(copy), modes(copy)["."], contents(one)) == (before, "0555", before)


@pytest.mark.requirement("R128")
def test_leftovers_of_a_network_disk_stay_with_a_copy_that_is_refreshed(place: Workplace, one: Path) -> None:
    """D7."""
    place.sync(one)
    copy = place.active() / "user--one"
    copy.chmod(0o755)
    (copy / ".nfs123").write_text("open")
    (one / "SKILL.md").write_text("---\nname: one\ndescription: v2\n---\n")
    assert place.sync(one).copied == ("user:one",)
    assert (copy / "SKILL.md").read_text() == (one / "SKILL.md").read_text()
    assert (copy / ".nfs123").read_text() == "open"
    assert place.sync(one).unchanged == 1


@pytest.mark.requirement("R128")
def test_leftovers_of_a_network_disk_stay_where_a_copy_was(place: Workplace, one: Path) -> None:
    """D9."""
    stale = place.active() / "stale"
    stale.mkdir(parents=True)
    for name in ("SKILL.md", ".nfs123"):
        (stale / name).write_text(name)
    assert place.sync(one).removed == ("stale",)
    assert contents(stale) == {b".nfs123": ("file", b".nfs123")}
    again = place.sync(one)
    assert (again.changed, again.unchanged) == (False, 1)
    (stale / ".nfs123").unlink()
    place.sync(one)
    assert names(place.active()) == {"user--one"}


@pytest.mark.requirement("R128")
def test_leftover_in_the_root_itself_is_tolerated(place: Workplace, one: Path) -> None:
    place.active().mkdir(parents=True)
    (place.active() / ".nfs00ff").touch()
    assert place.sync(one).removed == ()
    assert names(place.active()) == {"user--one", ".nfs00ff"}


@pytest.mark.requirement("R81", "R79")
@pytest.mark.parametrize("fault", ["link-escape", "not-a-file", "file-unreadable"])
def test_skill_that_gets_a_fault_leaves_and_harms_no_other(
    place: Workplace, one: Path, two: Path, tmp_path: Path, fault: str
) -> None:
    place.sync(one, two)
    if fault == "link-escape":
        (one / "out").symlink_to(tmp_path)
    elif fault == "not-a-file":
        os.mkfifo(one / "fifo")
    else:
        shutil.rmtree(one)
    report = place.sync(one, two)
    assert (codes(report.skipped), report.removed, report.unchanged) == ({"user:one": fault}, ("user:one",), 1)
    assert names(place.active()) == {"user--two"}
    assert names(place.workshop / "staging") == set()


@pytest.mark.requirement("R81", "K5")
def test_copy_of_a_skill_that_the_disk_fails_on_stays(place: Workplace, one: Path) -> None:
    place.sync(one)
    problem = make_problem("disk-error", "input/output error")
    place.problems = {"user:one": (problem,)}
    assert codes(place.sync(one).skipped) == {"user:one": "disk-error"}
    place.problems, place.failures = {}, [(str(one.parent), problem)]
    report = place.sync()
    assert (codes(report.skipped), report.removed) == ({"user:one": "disk-error"}, ())
    assert contents(place.active() / "user--one") == contents(one)


@pytest.mark.requirement("K5")
@pytest.mark.parametrize("what", ["link", "file"])
def test_root_that_is_no_folder_is_refused_and_its_target_untouched(
    place: Workplace, one: Path, tmp_path: Path, what: str
) -> None:
    place.active().parent.mkdir(parents=True)
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    if what == "link":
        place.active().symlink_to(tmp_path / "mine")
    else:
        place.active().write_text("x")
    with pytest.raises(WorldError) as caught:
        place.sync(one)
    assert caught.value.code == "not-a-folder"
    assert names(tmp_path / "mine") == {"deep"}


@pytest.mark.requirement("K5")
def test_plan_applied_twice_is_applied_once(place: Workplace, one: Path, two: Path) -> None:
    place.sync(two)
    (place.active() / "junk").mkdir()
    root = place.root()
    plan = SyncPlan(places=(Place("user--one", skill_of(one)),))
    for copied in (["user:one"], []):
        with root.locked(), place.versions.in_use():
            assert root.apply(plan, digest_of=lambda _: "").copied == copied
    assert names(place.active()) == {"user--one", "user--two", "junk"}


@pytest.mark.requirement("K5")
def test_copy_that_was_placed_but_not_noted_is_read_and_believed(place: Workplace, one: Path) -> None:
    """As after a kill between the swap and the note."""
    place.sync(one)
    copy = place.active() / "user--one"
    inode = copy.stat().st_ino
    copy.chmod(0o755)  # It was not locked yet.
    (place.workshop / "users/ann/active/record").unlink()
    report = place.sync(one)
    assert (report.copied, report.unchanged, report.removed) == ((), 1, ())
    assert (copy.stat().st_ino, modes(copy)["."]) == (inode, "0555")


def test_progress_is_told_of_every_skill(place: Workplace, skills: Path) -> None:
    from prowess.copies.sync import sync_root

    place.wanted = [skill_of(write_skill(skills, f"s{number}")) for number in range(5)]
    told: list[tuple[int, int]] = []
    root = place.root()
    root.make()
    sync_root(root, place.versions, place, mark=None, progress=lambda done, total: told.append((done, total)))
    assert told == [(number, 5) for number in range(1, 6)]


@pytest.mark.requirement("R78")
def test_everything_of_a_skill_is_copied_and_nothing_else(place: Workplace, one: Path) -> None:
    deep = one.joinpath(*["d"] * 32)
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"\0" * 300_000)
    (one / "empty").touch()
    (one / "inside").symlink_to("scripts/run.sh")
    (one / "scripts" / "up").symlink_to("../SKILL.md")
    Path(os.fsdecode(os.fsencode(one) + b"/\xff\n")).touch()
    expected = contents(one)
    for name in (".git/config", "empty-folder/inner"):
        (one / name).mkdir(parents=True)
    (one / ".nfs12").touch()
    assert place.sync(one).skipped == ()
    assert contents(place.active() / "user--one") == expected
    assert os.readlink(place.active() / "user--one/scripts/up") == "../SKILL.md"


@pytest.mark.requirement("R82", "K5")
def test_many_threads_sync_at_once(place: Workplace, one: Path, two: Path) -> None:
    gate = threading.Barrier(6)

    def work(number: int) -> object:
        root = CopyRoot(place.layout.active("ann" if number % 2 else "bob"), place.versions)
        gate.wait(30)
        from prowess.copies.sync import sync_root

        root.make()
        return codes(sync_root(root, place.versions, place, mark=None).skipped)

    place.wanted = [skill_of(one), skill_of(two)]
    for number in range(8):
        (one / "number").write_text(str(number))
        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(work, range(6))) == [{}] * 6
        for user in ("ann", "bob"):
            assert contents(place.active(user) / "user--one") == contents(one)
            assert contents(place.active(user) / "user--two") == contents(two)
    assert names(place.workshop / "staging") == set()
    place.sync(one, two)
    place.versions.collect_all(held=frozenset)
    assert place.version_names == {digest_of(one), digest_of(two)}
