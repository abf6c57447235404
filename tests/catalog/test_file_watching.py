"""Files are watched so that nothing need be looked at, and whatever could hide a change makes a skill be looked at."""

import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from prowess.catalog.digests import Digests, Recollection
from prowess.catalog.file_watching import MAX_WATCHES, FileWatcher
from prowess.catalog.fingerprints import Fingerprint, know_digest
from prowess.catalog.refresh import CatalogKeeper
from prowess.catalog.watching import sends_no_events
from prowess.policy import Refresh, SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.sources.skill_files import read_skill_files
from prowess.sources.source import Source
from tests.catalog.machine import STANDARD, discover, user_source
from tests.sources.building import ask_child, skill_text, write_skill

_QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
_AHEAD = 10_000_000_000
"""Nanoseconds by which the tests' clock is ahead, so that files need not lie for a while before they are relied on.
Every edit here gives a file another size, so that no clock can hide it."""


def _now() -> int:
    return time.time_ns() + _AHEAD


def _write(folder: Path) -> Path:
    write_skill(folder)
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "references").mkdir(exist_ok=True)
    (folder / "scripts" / "run.py").write_text("print(1)\n")
    (folder / "references" / "notes.md").write_text("notes\n")
    return folder


def _skill(folder: Path) -> Skill:
    kind = SourceKind.USER
    return Skill(f"user:{folder.name}", kind, str(folder.parent), folder.name, str(folder), Manifest("x", "d"))


# One watcher


def _mark(folder: Path) -> Fingerprint:
    known = know_digest(_skill(folder), read_skill_files(str(folder)), taken=_now())
    assert known is not None
    return Fingerprint(str(folder), known)


def _calm(mark: Fingerprint, watcher: FileWatcher | None = None) -> FileWatcher:
    watcher = watcher or FileWatcher()
    ticket = watcher.follow(mark)
    assert ticket is not None
    assert mark.holds(now=_now())
    watcher.settle(mark, ticket)
    assert _is_calm(watcher, mark)
    return watcher


def _is_calm(watcher: FileWatcher, mark: Fingerprint) -> bool:
    watcher.listen()
    return watcher.is_calm(mark)


def _edit(folder: Path) -> None:
    (folder / "scripts" / "run.py").write_text("print(22)\n")


def _append(folder: Path) -> None:
    with (folder / "scripts" / "run.py").open("a") as file:
        file.write("print(3)\n")


def _truncate(folder: Path) -> None:
    os.truncate(folder / "references" / "notes.md", 1)


def _restore_an_older_file(folder: Path) -> None:
    older = folder.parent / "older.py"
    older.write_text("print('older')\n")
    os.utime(older, (1, 1))
    shutil.copy2(older, folder / "scripts" / "run.py")


def _edit_and_set_the_time_back(folder: Path) -> None:
    path = folder / "scripts" / "run.py"
    before = path.stat()
    path.write_text("print(2)\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _set_a_time(folder: Path) -> None:
    os.utime(folder / "scripts" / "run.py", (1, 1))


def _change_the_mode(folder: Path) -> None:
    (folder / "scripts" / "run.py").chmod(0o755)


def _change_the_mode_of_a_folder(folder: Path) -> None:
    (folder / "scripts").chmod(0o700)


def _add(folder: Path) -> None:
    (folder / "references" / "new.md").write_text("new")


def _add_an_empty_folder(folder: Path) -> None:
    (folder / "assets").mkdir()


def _remove(folder: Path) -> None:
    (folder / "scripts" / "run.py").unlink()


def _rename(folder: Path) -> None:
    (folder / "scripts" / "run.py").rename(folder / "scripts" / "go.py")


def _replace_by_rename(folder: Path) -> None:
    other = folder.parent / "other.py"
    other.write_text("print('other')\n")
    other.replace(folder / "scripts" / "run.py")


def _replace_by_a_link(folder: Path) -> None:
    (folder / "scripts" / "run.py").unlink()
    (folder / "scripts" / "run.py").symlink_to("../SKILL.md")


def _swap_a_subfolder(folder: Path) -> None:
    other = shutil.copytree(folder / "scripts", folder.parent / "other-scripts")
    (other / "run.py").write_text("print('other')\n")
    (folder / "scripts").rename(folder.parent / "former-scripts")
    other.rename(folder / "scripts")


def _swap_the_folder(folder: Path) -> None:
    other = shutil.copytree(folder, folder.parent / "other")
    _edit(other)
    folder.rename(folder.parent / "former")
    other.rename(folder)


def _write_through_a_new_name(folder: Path) -> None:
    other = folder.parent / "linked.py"
    other.hardlink_to(folder / "scripts" / "run.py")
    other.write_text("print('linked')\n")


def _make_executable_by_a_new_name(folder: Path) -> None:
    other = folder.parent / "linked.py"
    other.hardlink_to(folder / "scripts" / "run.py")
    other.chmod(0o755)


def _remove_it(folder: Path) -> None:
    shutil.rmtree(folder)


_CHANGES: list[Callable[[Path], None]] = [
    *(_edit, _append, _truncate, _restore_an_older_file, _edit_and_set_the_time_back, _set_a_time, _change_the_mode),
    *(_change_the_mode_of_a_folder, _add, _add_an_empty_folder, _remove, _rename, _replace_by_rename),
    *(_replace_by_a_link, _swap_a_subfolder, _swap_the_folder, _write_through_a_new_name, _remove_it),
    _make_executable_by_a_new_name,
]


@pytest.mark.requirement("R36", "R77")
@pytest.mark.parametrize("change", _CHANGES)
def test_change_of_any_file_ends_the_calm_of_its_skill_only(change: Callable[[Path], None], tmp_path: Path) -> None:
    mark, other = _mark(_write(tmp_path / "x")), _mark(_write(tmp_path / "y"))
    watcher = _calm(other, _calm(mark))
    before = watcher.stirs
    change(tmp_path / "x")
    assert (_is_calm(watcher, mark), _is_calm(watcher, other)) == (False, True)
    assert watcher.stirs > before
    watcher.close()


def _read_everything(folder: Path) -> None:
    read_skill_files(str(folder))


def _work_in_its_repository(folder: Path) -> None:
    (folder / ".git" / "index").write_text("x")
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "index").rename(folder / ".git" / "objects" / "index")


def _work_beside_it(folder: Path) -> None:
    (folder.parent / "notes.md").write_text("x")


@pytest.mark.requirement("R36")
@pytest.mark.parametrize("act", [_read_everything, _work_in_its_repository, _work_beside_it])
def test_what_changes_no_file_of_a_skill_leaves_it_calm(act: Callable[[Path], None], tmp_path: Path) -> None:
    (_write(tmp_path / "x") / ".git").mkdir()
    mark = _mark(tmp_path / "x")
    watcher = _calm(mark)
    act(tmp_path / "x")
    assert _is_calm(watcher, mark)
    watcher.close()


def test_file_that_two_skills_share_ends_the_calm_of_both_and_stays_watched_for_the_other(tmp_path: Path) -> None:
    one, other = _write(tmp_path / "one"), _write(tmp_path / "other")
    (other / "scripts" / "run.py").unlink()
    (other / "scripts" / "run.py").hardlink_to(one / "scripts" / "run.py")
    marks = [_mark(one), _mark(other)]
    watcher = _calm(marks[1], _calm(marks[0]))
    watcher.forget_all_but([str(other)])
    assert [_is_calm(watcher, mark) for mark in marks] == [False, True]
    _edit(one)
    assert not _is_calm(watcher, marks[1])
    watcher.close()


def test_skill_that_stirs_while_it_is_looked_at_is_not_called_calm(tmp_path: Path) -> None:
    mark = _mark(_write(tmp_path / "x"))
    watcher = FileWatcher()
    ticket = watcher.follow(mark)
    assert ticket is not None
    _set_a_time(tmp_path / "x")
    watcher.listen()
    watcher.settle(mark, ticket)
    assert not watcher.is_calm(mark)
    again = watcher.follow(mark)
    assert again not in (None, ticket)
    watcher.close()


def test_calm_is_that_of_one_fingerprint(tmp_path: Path) -> None:
    former, later = _mark(_write(tmp_path / "x")), _mark(tmp_path / "x")
    watcher = _calm(former)
    assert not watcher.is_calm(later)
    _calm(later, watcher)
    assert not watcher.is_calm(former)
    _edit(tmp_path / "x")
    assert not _is_calm(watcher, later)
    watcher.close()


def test_skill_that_lost_its_calm_is_followed_by_the_watches_that_it_has(tmp_path: Path) -> None:
    mark = _mark(_write(tmp_path / "x"))
    watcher = _calm(mark)
    watcher.unsettle()
    assert not watcher.is_calm(mark)
    _calm(mark, watcher)
    _edit(tmp_path / "x")
    assert not _is_calm(watcher, mark)
    watcher.close()


def test_more_watches_than_allowed_leave_a_skill_unwatched_and_the_others_calm(tmp_path: Path) -> None:
    mark, other = _mark(_write(tmp_path / "x")), _mark(_write(tmp_path / "y"))
    watcher = _calm(mark, FileWatcher(max_watches=8))
    assert (watcher.follow(other), watcher.works, _is_calm(watcher, mark)) == (None, True, True)
    watcher.forget_all_but([])
    _calm(other, watcher)
    watcher.close()


def test_closed_watcher_follows_nothing(tmp_path: Path) -> None:
    mark = _mark(_write(tmp_path / "x"))
    watcher = _calm(mark)
    watcher.close()
    watcher.close()
    assert (watcher.works, _is_calm(watcher, mark), watcher.follow(mark)) == (False, False, None)


@pytest.mark.parametrize(
    ("path", "silent"), [("/a", False), ("/net/a", True), ("/net/local/a", False), ("/far", True), ("/network", False)]
)
def test_file_systems_that_tell_of_no_changes_are_known(path: str, *, silent: bool) -> None:
    mounts = [("/", "ext4"), ("/net", "nfs4"), ("/far", "fuse.sshfs"), ("/net/local", "tmpfs")]
    assert sends_no_events(path, mounts) is silent


# With the catalog, before every turn


class _Turns:
    """Asks as a runtime does before every turn."""

    def __init__(
        self, sources: Sequence[Source], refresh: Refresh = Refresh.WATCHED, *, max_watches: int = MAX_WATCHES
    ) -> None:
        self.keeper = CatalogKeeper(replace(STANDARD, refresh=refresh), lambda: sources)
        self.digests = Digests(clock=_now, max_watches=max_watches)
        self._skills: tuple[Skill, ...] = ()

    def recall(self) -> Recollection:
        if self.keeper.unrest is not None:
            self._skills = self.keeper.current().skills
            return self.digests.recall(self._skills, unrest=self.keeper.unrest)
        found = self.digests.recall(self._skills)
        skills = self.keeper.current(vouched=found.vouched).skills
        if skills is not self._skills:
            found = self.digests.recall(skills, unrest=self.keeper.unrest)
        self._skills = skills
        return found

    def ask(self) -> dict[str, str]:
        found = self.recall()
        rest = {skill.id: self.digests.of(skill) for skill in found.skills if skill.id not in found.digests}
        return {**found.digests, **rest}

    def calm(self) -> Recollection:
        """Ask until nothing need be looked at, and return the last answer."""
        for _ in range(6):
            self.ask()
        found = self.recall()
        assert (found.is_complete, self.digests.is_calm(found.skills)) == (True, True)
        return found

    def close(self) -> None:
        self.keeper.close()
        self.digests.close()


def _from_scratch(sources: Sequence[Source]) -> dict[str, str]:
    return {skill.id: read_skill_files(skill.real).digest for skill in discover(sources).skills}


@pytest.mark.requirement("R73", "R77")
@pytest.mark.parametrize("change", _CHANGES)
def test_change_made_before_the_question_is_in_the_answer(change: Callable[[Path], None], tmp_path: Path) -> None:
    root = tmp_path / "root"
    _write(root / "x")
    _write(root / "y")
    sources = (user_source(root),)
    turns = _Turns(sources)
    before = turns.calm()
    assert (turns.recall(), turns.ask()) == (before, _from_scratch(sources))
    change(root / "x")
    for _ in range(4):
        assert turns.ask() == _from_scratch(sources)
    turns.close()


def _replace_the_root(root: Path) -> None:
    other = shutil.copytree(root, root.parent / "other")
    _edit(other / "group" / "x")
    root.rename(root.parent / "former")
    other.rename(root)


def _replace_what_holds_the_root(root: Path) -> None:
    other = shutil.copytree(root.parent, root.parent.parent / "other")
    _edit(other / root.name / "group" / "x")
    root.parent.rename(root.parent.parent / "former")
    other.rename(root.parent)


def _replace_a_group(root: Path) -> None:
    other = shutil.copytree(root / "group", root.parent / "other")
    _edit(other / "x")
    (root / "group").rename(root.parent / "former")
    other.rename(root / "group")


@pytest.mark.requirement("R73", "R77")
@pytest.mark.parametrize("replace_it", [_replace_the_root, _replace_what_holds_the_root, _replace_a_group])
def test_folder_above_a_skill_that_is_replaced_while_it_is_watched_is_noticed(
    replace_it: Callable[[Path], None], tmp_path: Path
) -> None:
    root = tmp_path / "home" / "root"
    _write(root / "group" / "x")
    sources = (user_source(root),)
    turns = _Turns(sources)
    turns.calm()
    replace_it(root)
    for _ in range(3):
        assert turns.ask() == _from_scratch(sources)
    turns.calm()
    _edit_and_set_the_time_back(root / "group" / "x")
    assert turns.ask() == _from_scratch(sources)
    turns.close()


@pytest.mark.requirement("R77")
def test_skill_behind_a_link_is_noticed_when_the_link_leads_elsewhere(tmp_path: Path) -> None:
    root, one, two = tmp_path / "root", _write(tmp_path / "one" / "x"), _write(tmp_path / "two" / "x")
    root.mkdir()
    _edit(two)
    (tmp_path / "now").symlink_to("one")
    (root / "x").symlink_to(tmp_path / "now" / "x")
    sources = (user_source(root),)
    turns = _Turns(sources)
    turns.calm()
    _append(one)
    assert turns.ask() == _from_scratch(sources)
    turns.calm()
    (tmp_path / "now").unlink()
    (tmp_path / "now").symlink_to("two")
    assert turns.ask() == _from_scratch(sources)
    turns.close()


@pytest.mark.requirement("R36")
def test_unrest_is_a_number_that_stays_while_every_root_is_watched_and_quiet(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _write(root / "x")
    keeper = CatalogKeeper(STANDARD, lambda: [user_source(root)])
    numbers: list[int | None] = []

    def ask() -> None:
        keeper.current()
        numbers.append(keeper.unrest)

    ask()
    assert numbers == [None]
    for act in (lambda: None, lambda: None, lambda: _edit(root / "x"), lambda: _write(root / "y"), lambda: None):
        act()
        ask()
    _, first, *rest = numbers
    assert first is not None
    assert rest == [first, first, first + 1, first + 1]
    (root / "broken").symlink_to("nowhere")  # From here on, silence tells nothing.
    for _ in range(3):
        ask()
    assert len(set(numbers[-4:])) == 4
    keeper.close()
    assert keeper.unrest is None


@pytest.mark.parametrize("refresh", [Refresh.EACH_TURN, Refresh.START])
def test_nothing_is_watched_where_the_policy_does_not_say_so(refresh: Refresh, tmp_path: Path) -> None:
    _write(tmp_path / "x")
    turns = _Turns((user_source(tmp_path),), refresh)
    for _ in range(4):
        turns.ask()
    assert (turns.keeper.unrest, turns.digests.watches) == (None, False)
    turns.close()


def test_who_asks_once_or_twice_does_not_pay_for_watches(tmp_path: Path) -> None:
    _write(tmp_path / "x")
    turns = _Turns((user_source(tmp_path),))
    turns.ask()
    turns.ask()
    assert not turns.digests.watches
    turns.close()


def test_answers_to_several_views_stay_the_same_objects_side_by_side(tmp_path: Path) -> None:
    for name in ("x", "y", "z"):
        _write(tmp_path / name)
    turns = _Turns((user_source(tmp_path),))
    whole = turns.calm()
    some = whole.skills[:2]
    asked = [turns.digests.recall(some, unrest=turns.keeper.unrest) for _ in range(3)]
    assert (asked[0] is asked[2], turns.recall() is whole) == (True, True)
    _edit(tmp_path / "z")
    changed = turns.recall()
    assert changed.digests == {key: whole.digests[key] for key in ("user:x", "user:y")}
    assert turns.digests.recall(some, unrest=turns.keeper.unrest) is asked[0]
    turns.close()


@pytest.mark.slow
@pytest.mark.requirement("R77")
def test_more_events_than_the_queue_holds_are_as_good_as_a_change(tmp_path: Path) -> None:
    x, y = _write(tmp_path / "x"), _write(tmp_path / "y")
    sources = (user_source(tmp_path),)
    turns = _Turns(sources)
    turns.calm()
    for _ in range(_QUEUE // 2 + 100):
        (x / "scripts" / "noise").touch()
        (x / "scripts" / "noise").unlink()
    _edit(y)
    assert turns.ask() == _from_scratch(sources)
    turns.calm()
    for folder in (x, y):
        _append(folder)
        assert turns.ask() == _from_scratch(sources)
    turns.close()


_DROPPED = """
import json, sys
from pathlib import Path
from prowess.catalog.file_watching import FileWatcher
from tests.catalog.test_file_watching import _calm, _edit, _is_calm, _mark, _write

folder, watcher = _write(Path(sys.argv[1])), FileWatcher()
watcher.follow(_mark(folder))
for _ in range(int(sys.argv[2])):
    (folder / "scripts" / "noise").touch()
    (folder / "scripts" / "noise").unlink()
mark = _mark(folder)
watcher.settle(mark, watcher.follow(mark))
for number in range(1, 100):
    watcher._queue.unwatch(number)  # As the kernel does when a file system goes away, to come back the same.
found = [_is_calm(watcher, mark)]
_calm(mark, watcher)
_edit(folder)
print(json.dumps([*found, _is_calm(watcher, mark)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0, _QUEUE // 2 + 100])
def test_watches_that_were_dropped_are_made_again_even_if_nobody_heard_of_it(noise: int, tmp_path: Path) -> None:
    assert ask_child(_DROPPED, tmp_path / "x", noise) == [False, False]


def test_skills_beyond_the_allowed_watches_are_looked_at_each_time(tmp_path: Path) -> None:
    folders = [_write(tmp_path / name) for name in ("x", "y")]
    sources = (user_source(tmp_path),)
    turns = _Turns(sources, max_watches=8)
    for _ in range(5):
        turns.ask()
    found = turns.recall()
    assert (found.is_complete, turns.digests.watches, turns.digests.is_calm(found.skills)) == (True, True, False)
    for folder in folders:
        _edit(folder)
        assert turns.ask() == _from_scratch(sources)
    turns.close()


def test_what_a_former_watcher_counted_is_not_taken_for_calm(tmp_path: Path) -> None:
    one, other = (_skill(_write(tmp_path / "x")),), (_skill(_write(tmp_path / "y")),)
    digests = Digests(clock=_now)
    for skills in (one, other):
        digests.read(skills[0])
        for _ in range(3):
            digests.recall(skills, unrest=1)
        assert digests.is_calm(skills)
        digests.close()
        _edit(Path(one[0].real))
    for _ in range(3):
        digests.recall(other, unrest=1)
    assert digests.recall(one, unrest=1).digests == {}
    digests.close()


_FEW_WATCHES = """
import ctypes, json, sys
from pathlib import Path
from tests.catalog.machine import user_source
from tests.catalog.test_file_watching import _Turns, _edit, _from_scratch, _write

NEW_USER_NAMESPACE = 0x10000000
assert ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0
Path("/proc/sys/user/max_inotify_" + sys.argv[2]).write_text(sys.argv[3])
root = Path(sys.argv[1])
for n in range(9):
    _write(root / f"s{n}")
sources = (user_source(root),)
turns = _Turns(sources)
for _ in range(5):
    turns.ask()
watcher = turns.digests._watcher
found = [turns.keeper.watches, turns.digests.watches]
turns.recall()
found.append(turns.digests._watcher is watcher)
_edit(root / "s8")
found.append(turns.ask() == _from_scratch(sources))
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.requirement("R77")
@pytest.mark.parametrize(("limit", "value"), [("watches", 30), ("instances", 1)])
def test_without_room_for_watches_files_are_looked_at_each_time_and_no_more_room_is_asked_for(
    limit: str, value: int, tmp_path: Path
) -> None:
    """The catalog has its watches, and there is no room for those of the files."""
    assert ask_child(_FEW_WATCHES, tmp_path, limit, value) == [True, False, True, True]


_FORK = """
import json, os, sys
from pathlib import Path
from tests.catalog.machine import user_source
from tests.catalog.test_file_watching import _Turns, _append, _edit, _from_scratch, _write

root = Path(sys.argv[1])
_write(root / "x")
_write(root / "y")
sources = (user_source(root),)
turns = _Turns(sources)
turns.calm()
child = os.fork()
found = [turns.keeper.unrest is None]
for change in (_edit, _append):
    if not child:
        change(root / "x")
        found += [turns.ask() == _from_scratch(sources) for _ in range(4)]
        turns.calm()
if not child:
    os._exit(0 if all(found) else 1)
status = os.waitpid(child, 0)[1]
seen = turns.ask() == _from_scratch(sources)
turns.calm()
print(json.dumps([status, seen]))
"""


@pytest.mark.slow
@pytest.mark.requirement("R77")
def test_fork_has_a_watcher_of_its_own_and_takes_no_events_from_its_parent(tmp_path: Path) -> None:
    assert ask_child(_FORK, tmp_path) == [0, True]


def _digest_with(folder: Path, script: str) -> str:
    (folder / "scripts" / "run.py").write_text(script)
    return read_skill_files(str(folder)).digest


def test_threads_that_ask_while_a_file_changes_are_told_of_versions_that_there_were(tmp_path: Path) -> None:
    folders = [_write(tmp_path / f"x{number}") for number in range(12)]
    sources = (user_source(tmp_path),)
    texts = [f"print({'1' * number})\n" for number in range(1, 40)]
    there_were = {_digest_with(folders[0], text) for text in ("", *texts)}
    there_were.update(read_skill_files(str(folder)).digest for folder in folders)
    turns = _Turns(sources)
    skills, unrest = turns.calm().skills, turns.keeper.unrest
    ended, strange = threading.Event(), list[str]()

    def ask() -> None:
        while not ended.is_set():
            found = turns.digests.recall(skills, unrest=unrest)
            strange.extend(set(found.digests.values()) - there_were)
            for skill in skills:
                if skill.id not in found.digests:
                    turns.digests.read(skill)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for text in texts:
        now = _digest_with(folders[0], text)
        assert turns.digests.recall(skills, unrest=unrest).digests.get(skills[0].id) in (None, now)
    ended.set()
    for thread in threads:
        thread.join()
    assert (strange, turns.ask()) == ([], _from_scratch(sources))
    turns.close()


# What it takes


_ONE_QUESTION = """
import os, sys
from pathlib import Path
from tests.catalog.machine import user_source
from tests.catalog.test_file_watching import _Turns, _write

root = Path(sys.argv[1])
for n in range(int(sys.argv[2])):
    _write(root / f"skill-{n}")
turns = _Turns((user_source(root),))
turns.calm()
os.access("/begin", os.F_OK)
turns.recall()
os.access("/end", os.F_OK)
"""


def _trace(root: Path, skills: int) -> list[str]:
    """Return the names of the system calls of one question, nothing having changed."""
    assert shutil.which("strace"), "install strace"
    log = root.parent / f"{root.name}.trace"
    command = ["strace", "-f", "-o", str(log), sys.executable, "-c", _ONE_QUESTION, str(root), str(skills)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    text = log.read_text(errors="replace")
    question = text[text.index('"/begin"') : text.index('"/end"')].splitlines()[1:-1]
    return [match[1] for line in question if (match := re.match(r"\d+ +(\w+)\(", line))]


@pytest.mark.slow
@pytest.mark.requirement("R73")
def test_question_while_nothing_changes_takes_the_same_system_calls_for_any_number_of_skills(tmp_path: Path) -> None:
    few, many = _trace(tmp_path / "few", 10), _trace(tmp_path / "mny", 300)
    assert few == many
    assert {"read", "getpid"} < set(few)


# At random


@dataclass(frozen=True)
class _Accident:
    """Something that happens to skills of few names, so that things collide; no edit leaves a file its size."""

    chance: random.Random
    root: Path
    outside: Path

    def happen(self, step: int) -> None:
        (self.root / "group").mkdir(parents=True, exist_ok=True)
        folder = self.root / self.chance.choice(["a", "b", "group/c"])
        if not folder.is_dir() or folder.is_symlink():
            self._remove(folder)
            _write(folder)
            return
        acts = [
            *(self._edit, self._edit, self._edit_in_place, self._edit_elsewhere, self._link_and_edit, self._describe),
            *(self._change_mode, self._set_time, self._rename, self._remove_file, self._make_link, self._add_folder),
            *(self._swap_folder, self._swap_skill, self._swap_root, self._remove_skill, self._keep_a_repository),
            *(self._add_sidecar, self._escape),
        ]
        self.chance.choice(acts)(folder, f"step {'.' * step}")

    def _files(self, folder: Path) -> list[Path]:
        return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

    def _any(self, folder: Path) -> Path:
        return self.chance.choice([*self._files(folder), folder / "scripts" / "made.py"])

    def _fresh(self) -> Path:
        return self.outside / f"{self.chance.random()}"

    def _edit(self, folder: Path, text: str) -> None:
        (folder / "scripts").mkdir(exist_ok=True)
        (folder / "scripts" / self.chance.choice(["run.py", "go.py"])).write_text(text)

    def _edit_in_place(self, folder: Path, text: str) -> None:
        path = self._any(folder)
        if path.parent.is_dir() and path.name != "SKILL.md":
            before = path.stat() if path.exists() else None
            with path.open("a") as file:
                file.write(text)
            if before:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _edit_elsewhere(self, folder: Path, text: str) -> None:
        path = self._any(folder)
        if path.parent.is_dir() and path.name != "SKILL.md":
            other = self._fresh()
            other.write_text(text)
            os.utime(other, (1, 1))
            other.replace(path)

    def _link_and_edit(self, folder: Path, text: str) -> None:
        for path in self._files(folder)[-1:]:
            other = self._fresh()
            other.hardlink_to(path)
            if self.chance.random() < 0.7:
                other.write_text(text)

    def _describe(self, folder: Path, text: str) -> None:
        (folder / "SKILL.md").unlink(missing_ok=True)
        (folder / "SKILL.md").write_text(skill_text(folder.name, description=text))

    def _change_mode(self, folder: Path, _: str) -> None:
        path = self._any(folder)
        if path.exists():
            path.chmod(self.chance.choice([0o600, 0o644, 0o755]))

    def _set_time(self, folder: Path, _: str) -> None:
        path = self._any(folder)
        if path.exists():
            os.utime(path, (self.chance.randrange(9), self.chance.randrange(9)))

    def _rename(self, folder: Path, _: str) -> None:
        path = self._any(folder)
        if path.exists():
            path.rename(path.with_name(self.chance.choice(["run.py", "go.py", "notes.md"])))

    def _remove_file(self, folder: Path, _: str) -> None:
        self._any(folder).unlink(missing_ok=True)

    def _make_link(self, folder: Path, _: str) -> None:
        path = folder / "link"
        path.unlink(missing_ok=True)
        path.symlink_to(self.chance.choice(["SKILL.md", "scripts/run.py", "scripts"]))

    def _add_folder(self, folder: Path, _: str) -> None:
        (folder / f"folder-{self.chance.randrange(3)}").mkdir(exist_ok=True)

    def _swap_folder(self, folder: Path, text: str) -> None:
        if (folder / "scripts").is_dir():
            other = shutil.copytree(folder / "scripts", self._fresh())
            (other / "run.py").write_text(text)
            (folder / "scripts").rename(self._fresh())
            other.rename(folder / "scripts")

    def _swap_skill(self, folder: Path, text: str) -> None:
        other = shutil.copytree(folder, self._fresh(), symlinks=True)
        self._edit(other, text)
        folder.rename(self._fresh())
        other.rename(folder)

    def _swap_root(self, folder: Path, text: str) -> None:
        if self.chance.random() < 0.3:
            other = shutil.copytree(self.root, self._fresh(), symlinks=True)
            self._edit(other / folder.relative_to(self.root), text)
            self.root.rename(self._fresh())
            other.rename(self.root)

    def _remove_skill(self, folder: Path, _: str) -> None:
        self._remove(folder)

    def _keep_a_repository(self, folder: Path, text: str) -> None:
        (folder / ".git").mkdir(exist_ok=True)
        (folder / ".git" / "index").write_text(text)

    def _add_sidecar(self, folder: Path, text: str) -> None:
        (folder / "agents").mkdir(exist_ok=True)
        (folder / "agents" / "openai.yaml").write_text(f"interface: {{display_name: '{text}'}}\n")

    def _escape(self, folder: Path, _: str) -> None:
        if (folder / "out").is_symlink():
            (folder / "out").unlink()
        else:
            (folder / "out").symlink_to("/etc/hostname")

    def _remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@pytest.mark.requirement("R73", "R77")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_after_each_of_many_random_changes_watched_and_unwatched_answers_are_those_of_the_files(
    seed: int, tmp_path: Path
) -> None:
    root, outside, chance = tmp_path / "root", tmp_path / "outside", random.Random(seed)
    outside.mkdir()
    for name in ("a", "b", "group/c"):
        _write(root / name)
    accident = _Accident(chance, root, outside)
    sources = (user_source(root),)
    watched, unwatched = _Turns(sources), _Turns(sources, Refresh.EACH_TURN)
    for step in range(250):
        accident.happen(step)
        expected = _from_scratch(sources)
        for _ in range(chance.randrange(1, 4)):
            assert watched.ask() == expected, f"watched, step {step}"
            assert unwatched.ask() == expected, f"unwatched, step {step}"
        for turns in (watched, unwatched):
            assert replace(turns.keeper.current(), generation=0) == discover(sources), f"catalog, step {step}"
    watched.close()
    unwatched.close()
