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

from prowess.catalog.digests import Digests, Recollection
from prowess.policy import SourceKind
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.sources.skill_files import MAX_TOTAL_BYTES, read_skill_files
from prowess.sources.stamps import stamp_file
from tests.sources.building import ask_child, without_rights, write_skill

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


def _restore_an_older_file(folder: Path) -> None:
    older = folder.parent / f"{folder.name}.older.py"
    older.write_text("print(0)\n")
    os.utime(older, (1, 1))
    shutil.copy2(older, folder / "scripts" / "run.py")


def _swap_a_subfolder(folder: Path) -> None:
    other = folder.parent / f"{folder.name}.scripts"
    shutil.copytree(folder / "scripts", other)
    (other / "run.py").write_text("print(2)\n")
    shutil.copystat(folder / "scripts" / "run.py", other / "run.py")
    (folder / "scripts").rename(folder.parent / f"{folder.name}.former")
    other.rename(folder / "scripts")


def _write_through_another_name(folder: Path) -> None:
    other = folder.parent / f"{folder.name}.linked.py"
    other.hardlink_to(folder / "scripts" / "run.py")
    other.write_text("print(2)\n")


_CHANGES: list[Callable[[Path], None]] = [
    *(_edit, _edit_with_a_forged_time, _add, _remove, _make_executable, _rename, _swap_by_rename, _replace_by_a_link),
    *(_restore_an_older_file, _swap_a_subfolder, _write_through_another_name),
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


def test_skills_that_are_gone_are_forgotten_when_something_new_is_kept(tmp_path: Path) -> None:
    digests = Digests(str(tmp_path / "cache"), clock=lambda: time.time_ns() + 10_000_000_000)
    root = tmp_path / "root"
    folders = [_write(root / f"skill-{number}") for number in range(20)]
    skills = tuple(map(_skill, folders))
    before = [digests.of(skill) for skill in skills]
    digests.recall(skills)
    digests.save()
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.read_bytes().count(b"/skill-") == 20
    for folder in folders[1:]:
        shutil.rmtree(folder)
    digests.recall(skills[:1])
    digests.of(_skill(_write(root / "new")))
    digests.save()
    assert kept.read_bytes().count(b"/skill-") == 1
    assert digests.certain(skills[0]) == before[0]
    assert not any(map(digests.certain, skills[1:]))


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


def test_skill_that_was_a_link_for_a_while_has_its_digest_again(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    folder.rename(tmp_path / "moved")
    folder.symlink_to("moved")
    assert digests.of(_skill(folder)) == ""
    folder.unlink()
    (tmp_path / "moved").rename(folder)
    assert digests.of(_skill(folder)) == read_skill_files(str(folder)).digest


_WITHOUT_THE_RIGHT = without_rights("""
import json, sys
from pathlib import Path
from prowess.catalog.digests import Digests
from tests.catalog.test_digests import _skill

digests, skill, above = Digests(), _skill(Path(sys.argv[1])), Path(sys.argv[1]).parent
become_nobody()
above.chmod(0o000)
found = [digests.of(skill)]
above.chmod(0o755)
found.append(digests.of(skill))
print(json.dumps([len(digest) for digest in found]))
""")


def test_right_given_to_a_folder_above_shows_though_no_stamp_changes(public_folder: Path) -> None:
    above = public_folder / "above"
    folder = _write(above / "x")
    if os.geteuid() == 0:
        os.chown(above, 65534, 65534)
    time.sleep(_SETTLING_SECONDS)
    assert ask_child(_WITHOUT_THE_RIGHT, folder) == [0, 64]


_WITHOUT_DESCRIPTORS = """
import json, os, resource, sys
from pathlib import Path
from prowess.catalog.digests import Digests
from tests.catalog.test_digests import _skill

digests, skill = Digests(), _skill(Path(sys.argv[1]))
taken = [os.open("/", os.O_RDONLY)]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 3, hard))  # Enough for the files at the top, not for a folder.
found = digests.read(skill)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
problems = [problem.code for problem in found.problems]
print(json.dumps([problems, len(found.stamps), digests.recall((skill,)).digests, len(digests.of(skill))]))
"""


def test_failure_of_the_machine_is_not_remembered(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    assert ask_child(_WITHOUT_DESCRIPTORS, folder) == [["disk-error"], 3, {}, 64]


def test_root_that_is_a_skill_beside_others_is_told_from_one_that_holds_them(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    _write(folder / "inner")
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    whole, alone = _skill(folder), _skill(folder)._replace(apart=True)
    for _ in range(2):
        assert digests.of(whole) == read_skill_files(str(folder)).digest
        assert digests.of(alone) == read_skill_files(str(folder), apart=True).digest
    (folder / "inner" / "SKILL.md").unlink()
    assert digests.of(alone) == digests.of(whole) == read_skill_files(str(folder)).digest


# What is certain without reading


def _settled(top: Path, *names: str) -> tuple[tuple[Skill, ...], Digests]:
    skills = tuple(_skill(_write(top / name)) for name in names)
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    for skill in skills:
        digests.read(skill)
    return skills, digests


def _scratch(*skills: Skill) -> dict[str, str]:
    return {skill.id: read_skill_files(skill.real).digest for skill in skills}


def test_unchanged_skills_are_recalled_and_the_answer_is_the_same_object_while_they_stay_so(tmp_path: Path) -> None:
    skills, digests = _settled(tmp_path, "x", "y")
    first = digests.recall(skills)
    assert (first.digests, first.is_complete) == (_scratch(*skills), True)
    assert digests.recall(skills) is first
    assert digests.recall((*skills,)) is first
    assert digests.recall(skills[:1]).digests == _scratch(skills[0])


@pytest.mark.slow
@pytest.mark.requirement("R77")
@pytest.mark.parametrize("change", _CHANGES)
def test_changed_skill_is_recalled_no_more_until_it_was_read(change: Callable[[Path], None], tmp_path: Path) -> None:
    (x, y), digests = _settled(tmp_path, "x", "y")
    skills = (x, y)
    first = digests.recall(skills)
    change(Path(x.real))
    left = digests.recall(skills)
    assert (left.digests, left.is_complete) == (_scratch(y), False)
    time.sleep(_SETTLING_SECONDS)
    digests.read(x)
    again = digests.recall(skills)
    assert again.digests == _scratch(x, y) != first.digests
    assert digests.recall(skills) is again


def _close_to_others(folder: Path) -> None:
    (folder / "scripts" / "run.py").chmod(0o600)


def _add_an_empty_folder(folder: Path) -> None:
    (folder / "assets").mkdir()


def _touch(folder: Path) -> None:
    (folder / "scripts" / "run.py").touch()


def _start_a_repository(folder: Path) -> None:
    (folder / ".git").mkdir()


@pytest.mark.parametrize("change", [_close_to_others, _add_an_empty_folder, _touch, _start_a_repository])
def test_change_that_leaves_the_digest_makes_the_files_be_read_again(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    skills, digests = _settled(tmp_path, "x")
    before = digests.recall(skills).digests
    change(Path(skills[0].real))
    assert digests.recall(skills).digests == {}
    assert digests.of(skills[0]) == before["user:x"]


def test_files_below_a_repository_of_the_skill_do_not_count(tmp_path: Path) -> None:
    _start_a_repository(_write(tmp_path / "x"))
    time.sleep(_SETTLING_SECONDS)
    digests, skill = Digests(), _skill(tmp_path / "x")
    digests.read(skill)
    (tmp_path / "x" / ".git" / "index").write_text("x")
    assert digests.recall((skill,)).digests == _scratch(skill)


def test_fault_that_lies_in_the_files_is_recalled_with_its_problems(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    (folder / "out").symlink_to("/etc/hostname")
    skill = _skill(folder)
    time.sleep(_SETTLING_SECONDS)
    digests = Digests()
    found = digests.read(skill)
    assert digests.recall((skill,)).digests == {"user:x": ""}
    assert digests.files(skill) == found
    (folder / "out").unlink()
    assert digests.recall((skill,)).digests == {}


def test_clock_that_was_set_back_makes_the_files_be_read_again(tmp_path: Path) -> None:
    folder = _write(tmp_path / "x")
    skills = (_skill(folder),)
    now = [time.time_ns() + 10_000_000_000]
    digests = Digests(str(tmp_path / "cache"), clock=lambda: now[0])
    expected = {"user:x": digests.of(skills[0])}
    assert digests.recall(skills).digests == expected
    digests.save()
    now[0] -= 1
    later = Digests(str(tmp_path / "cache"), clock=lambda: now[0])
    assert (digests.recall(skills).digests, later.recall(skills).digests) == ({}, {})
    digests.read(skills[0])
    assert digests.recall(skills).digests == expected
    now[0] -= 3_600_000_000_000  # Now the files are of the future, and nothing is certain about them.
    assert digests.of(skills[0]) == expected["user:x"]
    now[0] += 7_200_000_000_000
    assert digests.recall(skills).digests == {}


def test_what_another_has_read_is_recalled_if_it_is_certain(tmp_path: Path) -> None:
    skill = _skill(_write(tmp_path / "x"))
    digests = Digests()
    digests.learn(skill, read_skill_files(skill.real), taken=time.time_ns())
    assert digests.recall((skill,)).digests == {}
    time.sleep(_SETTLING_SECONDS)
    digests.learn(skill, read_skill_files(skill.real), taken=time.time_ns())
    assert digests.recall((skill,)).digests == _scratch(skill)


_CHANGE_WHILE_READ = """
import json, sys, time
from pathlib import Path
from prowess.catalog.digests import Digests
from prowess.sources.skill_files import read_skill_files
from tests.catalog.test_digests import _skill

folder = Path(sys.argv[1])
at, what, waiting = sys.argv[2].encode(), folder / sys.argv[3], []
def change(event, args):
    if waiting and event == "open" and args[0] == at:
        waiting.clear()
        what.write_text("print(9)\\n")
sys.addaudithook(change)
digests, skill = Digests(), _skill(folder)
waiting.append(True)
digests.read(skill)
recalled = digests.recall((skill,)).digests
print(json.dumps([not waiting, recalled, digests.of(skill) == read_skill_files(str(folder)).digest]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opened", "changed"), [("run.py", "scripts/run.py"), ("run.py", "SKILL.md"), ("SKILL.md", "scripts/run.py")]
)
def test_file_that_changes_while_the_skill_is_read_makes_it_be_read_again(
    opened: str, changed: str, tmp_path: Path
) -> None:
    """Between its stamp and its reading, after its reading, and before its stamp."""
    folder = _write(tmp_path / "x")
    time.sleep(_SETTLING_SECONDS)
    assert ask_child(_CHANGE_WHILE_READ, folder, opened, changed) == [True, {}, True]


def test_skills_are_vouched_for_with_the_stamp_of_a_lone_manifest(tmp_path: Path) -> None:
    _write(tmp_path / "with-sidecar")
    (tmp_path / "with-sidecar" / "agents").mkdir()
    _, digests = _settled(tmp_path, "x")
    skills = (_skill(tmp_path / "x"), _skill(tmp_path / "with-sidecar"))
    digests.read(skills[1])
    found: Recollection = digests.recall(skills)
    stamp = stamp_file(os.lstat(tmp_path / "x" / "SKILL.md"))
    assert (found.is_complete, found.vouched) == (True, {str(tmp_path / "x"): stamp})


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
