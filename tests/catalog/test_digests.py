"""The digest of a skill is that of its files now; they are read again only if one may have changed."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.catalog.digests import Digests
from prowess.policy import SourceKind
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.sources.skill_files import MAX_TOTAL_BYTES, read_skill_files
from tests.sources.building import ask_child, write_skill

_SETTLING_SECONDS = 0.13
"""After so long, the stamps of files are relied on for digests."""


def _skill(folder: Path) -> Skill:
    kind = SourceKind.USER
    return Skill(f"user:{folder.name}", kind, str(folder.parent), folder.name, str(folder), Manifest("x", "d"))


def _write(folder: Path) -> Path:
    write_skill(folder, name="x")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text("print(1)\n")
    return folder


def _edit(folder: Path) -> None:
    (folder / "scripts" / "run.py").write_text("print(2)\n")


def _edit_with_a_forged_time(folder: Path) -> None:
    path = folder / "scripts" / "run.py"
    before = path.stat()
    path.write_text("print(2)\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _add(folder: Path) -> None:
    (folder / "scripts" / "new.py").write_text("")


def _remove(folder: Path) -> None:
    (folder / "scripts" / "run.py").unlink()


def _make_executable(folder: Path) -> None:
    (folder / "scripts" / "run.py").chmod(0o755)


def _rename(folder: Path) -> None:
    (folder / "scripts" / "run.py").rename(folder / "scripts" / "go.py")


def _swap_by_rename(folder: Path) -> None:
    other = folder.parent / "other.py"
    other.write_text("print(2)\n")
    shutil.copystat(folder / "scripts" / "run.py", other)
    other.replace(folder / "scripts" / "run.py")


def _replace_by_a_link(folder: Path) -> None:
    (folder / "scripts" / "run.py").unlink()
    (folder / "scripts" / "run.py").symlink_to("../SKILL.md")


_CHANGES: list[Callable[[Path], None]] = [
    *(_edit, _edit_with_a_forged_time, _add, _remove, _make_executable, _rename, _swap_by_rename, _replace_by_a_link)
]


@pytest.mark.parametrize("change", _CHANGES)
def test_fresh_skill_that_changes_has_another_digest_at_once(change: Callable[[Path], None], tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    digests = Digests()
    before = digests.of(_skill(folder))
    change(folder)
    after = digests.of(_skill(folder))
    assert before != after == read_skill_files(str(folder)).digest


def test_settled_skill_that_changes_has_another_digest_at_once(tmp_path: Path) -> None:
    """All kinds of change in one test: each needs a skill that has lain for a while."""
    folders = {change: _write(tmp_path / change.__name__) for change in _CHANGES}
    time.sleep(_SETTLING_SECONDS)
    digests = Digests(str(tmp_path / "cache"))
    before = {change: digests.of(_skill(folder)) for change, folder in folders.items()}
    digests.save()
    later = Digests(str(tmp_path / "cache"))
    for change, folder in folders.items():
        assert later.of(_skill(folder)) == before[change]
        change(folder)
        for known in (digests, later):
            assert before[change] != known.of(_skill(folder)) == read_skill_files(str(folder)).digest, change.__name__


_COUNT_READS = """
import json, os, sys
from pathlib import Path

opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
from prowess.catalog.digests import Digests
from tests.catalog.test_digests import _skill

digests, found = Digests(sys.argv[2]), []
for _ in range(2):
    if "fresh" in sys.argv:
        os.utime(sys.argv[1] + "/scripts/run.py")
    found.append(digests.of(_skill(Path(sys.argv[1]))))
digests.save()
print(json.dumps([found[0] == found[1], len([path for path in opened if path in (b"run.py", "run.py")])]))
"""


@pytest.mark.slow
def test_settled_files_are_read_once_across_processes(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    assert ask_child(_COUNT_READS, folder, tmp_path / "cache") == [True, 1]
    assert ask_child(_COUNT_READS, folder, tmp_path / "cache") == [True, 0]
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(b"damaged")
    assert ask_child(_COUNT_READS, folder, tmp_path / "cache") == [True, 1]


def test_fresh_files_are_read_each_time(tmp_path: Path) -> None:
    assert ask_child(_COUNT_READS, _write(tmp_path / "x"), tmp_path / "cache", "fresh") == [True, 2]
    assert not (tmp_path / "cache").exists()


# The files themselves


def _expected(folder: Path) -> tuple[tuple[SkillFile, ...], str]:
    found = read_skill_files(str(folder))
    return found.files, found.digest


def test_files_are_those_of_the_folder_whether_they_were_kept_or_not(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    _make_executable(folder)
    time.sleep(_SETTLING_SECONDS)
    digests = Digests(str(tmp_path / "cache"))
    first, again = digests.files(_skill(folder)), digests.files(_skill(folder))
    digests.save()
    later = Digests(str(tmp_path / "cache")).files(_skill(folder))
    for found in (first, again, later):
        assert (found.files, found.digest) == _expected(folder)
        assert found.problems == ()
    assert [(file.path, file.kind) for file in first.files] == [
        (b"SKILL.md", FileKind.FILE),
        (b"scripts/run.py", FileKind.EXECUTABLE),
    ]


def test_files_that_change_are_read_again(tmp_path: Path) -> None:
    """All kinds of change in one test: each needs a skill that has lain for a while."""
    folders = {change: _write(tmp_path / change.__name__) for change in _CHANGES}
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    for change, folder in folders.items():
        before = digests.files(_skill(folder))
        change(folder)
        after = digests.files(_skill(folder))
        assert before.files != after.files, change.__name__
        assert (after.files, after.digest) == _expected(folder), change.__name__


def test_files_that_could_not_be_read_are_tried_again_and_their_problems_told_each_time(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    (folder / "out").symlink_to("/etc/hostname")
    time.sleep(_SETTLING_SECONDS)
    digests = Digests(str(tmp_path / "cache"))
    found = [digests.files(_skill(folder)) for _ in range(2)]
    digests.save()
    found.append(Digests(str(tmp_path / "cache")).files(_skill(folder)))
    for one in found:
        assert one.digest == ""
        assert [problem.path for problem in one.problems] == ["out"]
    (folder / "out").unlink()
    mended = digests.files(_skill(folder))
    assert (mended.files, mended.digest, mended.problems) == (*_expected(folder), ())


@pytest.mark.slow
def test_settled_files_are_listed_without_reading_them_again(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    code = _COUNT_READS.replace("digests.of(", "digests.files(")
    assert ask_child(code, folder, tmp_path / "cache") == [True, 1]
    assert ask_child(code, folder, tmp_path / "cache") == [True, 0]


def test_skill_with_a_file_that_must_not_be_read_has_no_digest(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    os.mkfifo(folder / "pipe")
    found = Digests().read(_skill(folder))
    assert ([problem.code for problem in found.problems], found.digest) == (["not-a-file"], "")
    assert Digests().of(_skill(folder)) == ""
    (folder / "pipe").unlink()
    assert len(Digests().of(_skill(folder))) == 64


def test_skill_behind_a_link_has_the_digest_of_its_files(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    (tmp_path / "link").symlink_to(folder)
    linked = _skill(tmp_path / "link")._replace(elsewhere=str(folder))
    digests = Digests()
    assert digests.of(linked) == digests.of(_skill(folder))
    _edit(folder)
    assert digests.of(linked) == read_skill_files(str(folder)).digest


@pytest.mark.requirement("J5")
def test_skill_that_has_become_a_link_has_no_digest(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    assert len(digests.of(_skill(folder))) == 64
    folder.rename(tmp_path / "moved")
    folder.symlink_to("moved")
    assert digests.of(_skill(folder)) == ""


# Many threads


def test_threads_that_ask_and_save_at_once_get_the_digests_of_the_files(tmp_path: Path) -> None:
    skills = [_skill(_write(tmp_path / "roots" / str(number % 4) / f"x{number}")) for number in range(80)]
    expected = [read_skill_files(skill.folder).digest for skill in skills]
    time.sleep(_SETTLING_SECONDS)
    digests = Digests(str(tmp_path / "cache"))

    def ask(number: int) -> list[str]:
        found = [digests.of(skill) for skill in skills[number % 2 :: 2]]
        digests.save()
        return found

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(32)))
    assert answers == [expected[number % 2 :: 2] for number in range(32)]
    assert [Digests(str(tmp_path / "cache")).of(skill) for skill in skills] == expected


@pytest.mark.slow
def test_large_skill_keeps_nobody_from_the_digest_of_another(tmp_path: Path) -> None:
    small, large = _skill(_write(tmp_path / "small")), _skill(_write(tmp_path / "large"))
    with Path(large.folder, "hole").open("wb") as file:
        file.truncate(MAX_TOTAL_BYTES - 1_000)
    digests = Digests()
    reader = threading.Thread(target=digests.of, args=(large,))
    reader.start()
    for _ in range(20):
        digests.files(small)
    digests.save()
    is_reading = reader.is_alive()
    reader.join()
    assert is_reading


def test_digests_of_any_name_can_be_kept(tmp_path: Path) -> None:
    names = (b"plain", b"\xff")
    skills = [_skill(_write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)))) for name in names]
    time.sleep(_SETTLING_SECONDS)
    digests = Digests(str(tmp_path / "cache"))
    found = [digests.of(skill) for skill in skills]
    digests.save()
    later = Digests(str(tmp_path / "cache"))
    assert [later.of(skill) for skill in skills] == found


def test_cache_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    skill = _skill(Path(json.__file__).parent)  # Any folder that has lain for a while.
    digests = Digests("/proc/nothing/here")
    assert len(digests.of(skill)) == 64
    digests.save()
