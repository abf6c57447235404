"""Versions: made once, whole and read-only, and kept while anybody needs them."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.copies.versions import Draft
from prowess.errors import NotFound
from prowess.sources.skill_files import read_skill_files
from tests.copies.parts import Workplace, codes, contents, digest_of, modes, mounted_elsewhere, names, skill_of
from tests.skills_on_disk import write_skill

_NOBODY = frozenset[str]()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "home")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "skills", "one", files={"scripts/run.sh": "#!/bin/sh\n", "data/a.bin": b"\0\xff"})


def _make(place: Workplace, skill: Path) -> str:
    with place.versions.in_use():
        draft = place.versions.draft(skill_of(skill))
        place.versions.seal([draft])
    return draft.files.digest


# Making them


@pytest.mark.requirement("K5", "R78")
def test_version_is_the_skill_under_its_digest_and_read_only(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    assert (digest, place.version_names) == (digest_of(skill), {digest})
    assert contents(place.version(digest)) == contents(skill)
    assert modes(place.version(digest)) == {
        ".": "0555",
        "SKILL.md": "0444",
        "data": "0555",
        "data/a.bin": "0444",
        "scripts": "0555",
        "scripts/run.sh": "0555",
    }
    assert modes(Path(place.layout.versions))["."] == "0700"
    assert names(place.workshop / "staging") == set()


@pytest.mark.requirement("K5")
def test_version_of_a_digest_is_made_once(place: Workplace, skill: Path, tmp_path: Path) -> None:
    first = _make(place, skill)
    inode = (place.version(first) / "SKILL.md").stat().st_ino
    twin = write_skill(tmp_path / "others", "one", files={"scripts/run.sh": "#!/bin/sh\n", "data/a.bin": b"\0\xff"})
    assert _make(place, twin) == first
    assert (place.version(first) / "SKILL.md").stat().st_ino == inode
    assert names(place.workshop / "staging") == set()


def test_draft_is_what_was_hashed(place: Workplace, skill: Path) -> None:
    with place.versions.in_use():
        draft = place.versions.draft(skill_of(skill))
        assert read_skill_files(draft.folder).digest == draft.files.digest
        assert place.version_names == set()


@pytest.mark.requirement("R81")
def test_skill_with_a_fault_leaves_no_draft(place: Workplace, skill: Path) -> None:
    (skill / "out").symlink_to("/etc/passwd")
    with place.versions.in_use():
        draft = place.versions.draft(skill_of(skill))
        place.versions.seal([draft])
    assert ([problem.code for problem in draft.files.problems], draft.folder, draft.files.digest) == (
        ["link-escape"],
        "",
        "",
    )
    assert (names(place.workshop / "staging"), place.version_names) == (set(), set())


def test_only_the_files_of_a_root_level_skill_are_its_version(place: Workplace, tmp_path: Path) -> None:
    root = write_skill(tmp_path, "skills", files={"notes/a.md": "mine", "neighbour/SKILL.md": "its own"})
    with place.versions.in_use():
        draft = place.versions.draft(skill_of(root, apart=True))
    assert set(contents(Path(draft.folder))) == {b"SKILL.md", b"notes/a.md"}


@pytest.mark.slow
@pytest.mark.requirement("K5")
def test_skill_that_never_settles_is_a_problem_and_no_version(place: Workplace, skill: Path) -> None:
    (skill / "big.bin").write_bytes(os.urandom(1 << 26))  # So that every try is met, on a busy machine too.
    done = threading.Event()

    def restless() -> None:
        while not done.is_set():
            (skill / "SKILL.md").write_bytes(os.urandom(16))

    thread = threading.Thread(target=restless)
    thread.start()
    try:
        with place.versions.in_use():
            draft = place.versions.draft(skill_of(skill))
    finally:
        done.set()
        thread.join()
    assert [problem.code for problem in draft.files.problems] == ["keeps-changing"]
    assert names(place.workshop / "staging") == set()


@pytest.mark.requirement("K5")
def test_drafts_of_one_digest_at_the_same_time_make_one_version(place: Workplace, tmp_path: Path) -> None:
    skills = [write_skill(tmp_path / str(number), "one", files={"a/b": "x" * 1000}) for number in range(8)]
    gate = threading.Barrier(len(skills))

    def make(skill: Path) -> Draft:
        with place.versions.in_use():
            draft = place.versions.draft(skill_of(skill))
            gate.wait(30)
            place.versions.seal([draft])
        return draft

    for _ in range(10):
        with ThreadPoolExecutor(len(skills)) as pool:
            drafts = list(pool.map(make, skills))
        (digest,) = {draft.files.digest for draft in drafts}
        assert (place.version_names, names(place.workshop / "staging")) == ({digest}, set())
        assert contents(place.version(digest)) == contents(skills[0])
        assert place.versions.collect_all(held=lambda: _NOBODY) == 1


def test_version_is_read_only_if_it_is_what_it_should_be(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    found = place.versions.read(digest)
    assert found is not None
    assert found.digest == digest
    os.chmod(place.version(digest) / "SKILL.md", 0o644)
    (place.version(digest) / "SKILL.md").write_text("else")
    assert place.versions.read(digest) is None
    assert place.versions.read("f" * 64) is None
    assert not place.versions.has("")


def test_staging_that_a_crash_left_is_cleaned_when_nobody_is_at_work(place: Workplace, skill: Path) -> None:
    with place.versions.in_use():
        left = place.versions.draft(skill_of(skill)).folder
        with place.versions.in_use():
            assert os.path.isdir(left)
    with place.versions.in_use():
        assert names(place.workshop / "staging") == set()


# Keeping them


@pytest.mark.requirement("K5")
def test_version_that_nobody_needs_is_collected(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    assert place.versions.collect([digest, digest, "f" * 64], held=lambda: _NOBODY) == 1
    assert (place.version_names, names(place.workshop / "pins")) == (set(), set())


def test_version_that_a_session_holds_stays(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    assert place.versions.collect_all(held=lambda: frozenset({digest})) == 0
    assert place.version_names == {digest}


@pytest.mark.requirement("K5")
def test_version_stays_while_any_user_has_a_copy(place: Workplace, skill: Path) -> None:
    place.sync(skill, user="ann")
    place.sync(skill, user="bob")
    digest = digest_of(skill)
    assert os.path.samefile(place.active("ann") / "user--one/SKILL.md", place.active("bob") / "user--one/SKILL.md")
    place.sync(user="ann")
    assert place.version_names == {digest}
    place.sync(user="bob")
    assert place.version_names == set()


@pytest.mark.requirement("R77", "K5")
def test_replaced_version_goes_at_once(place: Workplace, skill: Path) -> None:
    place.sync(skill)
    (skill / "scripts/run.sh").write_text("#!/bin/sh\nexit 1\n")
    place.sync(skill)
    assert place.version_names == {digest_of(skill)}
    assert len(names(place.workshop / "retired")) == 1


def test_pinned_version_stays_until_it_is_let_go(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    with place.versions.pin(digest) as pin:
        assert (pin.digest, pin.folder) == (digest, str(place.version(digest)))
        with place.versions.pin(digest):
            assert place.versions.collect_all(held=lambda: _NOBODY) == 0
        assert place.versions.collect_all(held=lambda: _NOBODY) == 0
    pin.close()
    assert place.versions.collect_all(held=lambda: _NOBODY) == 1


def test_version_that_is_not_there_cannot_be_pinned(place: Workplace) -> None:
    with pytest.raises(NotFound) as caught:
        place.versions.pin("f" * 64)
    assert caught.value.code == "unknown-version"


def test_nothing_is_collected_while_copies_are_made(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    with place.versions.in_use():
        assert place.versions.collect_all(held=lambda: _NOBODY) == 0
    assert place.version_names == {digest}


def test_who_holds_what_is_asked_only_if_something_might_go(place: Workplace, skill: Path) -> None:
    place.sync(skill)

    def held() -> frozenset[str]:
        raise AssertionError("nobody was to be asked")

    assert place.versions.collect([digest_of(skill), "f" * 64], held=held) == 0


_PINNING = """
import sys
from prowess.copies.layout import Layout
from prowess.copies.versions import Versions
pin = Versions(Layout(sys.argv[1])).pin(sys.argv[2])
print("pinned", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.requirement("K5")
def test_pin_of_another_process_ends_with_it(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    command = [sys.executable, "-c", _PINNING, place.layout.home, digest]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "pinned\n"
            assert place.versions.collect_all(held=lambda: _NOBODY) == 0
        finally:
            child.kill()
        child.wait(30)
    assert place.versions.collect_all(held=lambda: _NOBODY) == 1


@pytest.mark.slow
@pytest.mark.requirement("K5")
@pytest.mark.parametrize("inner", ["", "scripts"])
def test_version_that_is_mounted_anywhere_stays(place: Workplace, skill: Path, tmp_path: Path, inner: str) -> None:
    """As a container has it that outlived its caller. This needs the right to mount."""
    digest = _make(place, skill)
    with mounted_elsewhere(place.version(digest) / inner, tmp_path / "inside"):
        assert place.versions.collect_all(held=lambda: _NOBODY) == 0
    assert place.versions.collect_all(held=lambda: _NOBODY) == 1


@pytest.mark.requirement("K5")
def test_version_that_was_let_go_of_waits_until_nobody_needs_it(place: Workplace, skill: Path) -> None:
    """Also if another process asks, and whatever else was let go of meanwhile."""
    digest = _make(place, skill)
    assert not place.versions.has_waiting()
    with place.versions.pin(digest):
        assert place.versions.collect([digest], held=lambda: _NOBODY) == 0
    other = Workplace(Path(place.layout.home)).versions
    assert (other.has_waiting(), other.collect(held=lambda: frozenset({digest}))) == (True, 0)
    assert other.collect(held=lambda: _NOBODY) == 1
    assert (other.has_waiting(), place.version_names) == (False, set())


def test_version_that_nobody_let_go_of_does_not_wait(place: Workplace, skill: Path) -> None:
    digest = _make(place, skill)
    assert place.versions.collect(held=lambda: _NOBODY) == 0
    assert place.versions.collect(["", "..", "nonsense"], held=lambda: _NOBODY) == 0
    assert (place.versions.has_waiting(), place.version_names) == (False, {digest})


# Mending them


@pytest.mark.requirement("K5")
@pytest.mark.parametrize("damage", ["in place", "replaced", "removed", "added"])
def test_damaged_version_is_found_and_made_anew(place: Workplace, skill: Path, damage: str) -> None:
    place.sync(skill)
    place.sync(skill, user="bob")
    version = place.version(digest_of(skill))
    for folder in (version, version / "scripts"):
        folder.chmod(0o755)
    script = version / "scripts/run.sh"
    if damage == "in place":  # Which hard links share.
        script.chmod(0o755)
        script.write_text("#!/bin/sh\nrm -rf /\n")
    elif damage == "added":
        (version / "more").touch()
    else:
        script.unlink()
        if damage == "replaced":
            script.write_text("#!/bin/sh\nrm -rf /\n")
    for user in ("ann", "bob"):
        root = place.root(user)
        with root.locked(), place.versions.in_use():
            root.verify()
        assert codes(place.sync(skill, user=user).skipped) == {}
        assert contents(place.active(user) / "user--one") == contents(skill)
    assert place.versions.read(digest_of(skill)) is not None


@pytest.mark.requirement("K5")
def test_damaged_copy_is_found_and_placed_anew(place: Workplace, skill: Path) -> None:
    place.sync(skill)
    copy = place.active() / "user--one"
    (copy / "scripts").chmod(0o755)
    (copy / "scripts/run.sh").unlink()
    (copy / "scripts/run.sh").write_text("else")
    root = place.root()
    with root.locked(), place.versions.in_use():
        root.verify()
    assert place.sync(skill).copied == ("user:one",)
    assert contents(copy) == contents(skill) == contents(place.version(digest_of(skill)))
