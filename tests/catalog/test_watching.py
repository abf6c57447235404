"""Changes are heard of from the kernel; whatever could hide one makes a root be searched each time instead."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from prowess.catalog.discovery import Discovery
from prowess.catalog.refresh import CatalogKeeper, find_coverage
from prowess.catalog.watching import Coverage, Watcher
from prowess.policy import Refresh
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.catalog.machine import STANDARD, discover, ids, user_source
from tests.sources.building import ask_child, draw, skill_text, without_rights, write_skill

_QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def _calm_watcher(root: Path, *skills: str) -> Watcher:
    watcher = Watcher()
    watcher.begin(str(root))
    watcher.cover(str(root), _coverage(root, *skills))
    watcher.begin(str(root))
    return watcher


def _coverage(root: Path, *skills: str) -> Coverage:
    return Coverage((str(root),), tuple(str(root / skill) for skill in skills))


def _is_restless(watcher: Watcher, root: Path) -> bool:
    return watcher.find_restless([str(root)]) == [str(root)]


def _touch_beside(root: Path) -> None:
    (root / "a" / "notes.md").write_text("x")


def _write_script(root: Path) -> None:
    (root / "a" / "run.py").write_text("x")
    (root / "a" / "run.py").chmod(0o755)


@pytest.mark.requirement("R36")
@pytest.mark.parametrize("change", [_touch_beside, _write_script])
def test_file_that_says_nothing_of_a_skill_leaves_the_root_calm(change: Callable[[Path], None], tmp_path: Path) -> None:
    watcher = _calm_watcher(draw(tmp_path, "a"), "a")
    change(tmp_path)
    assert not _is_restless(watcher, tmp_path)
    watcher.close()


def _edit(root: Path) -> None:
    (root / "a" / "SKILL.md").write_text(skill_text("a", description="edited"))


def _add(root: Path) -> None:
    (root / "b").mkdir()


def _link(root: Path) -> None:
    (root / "b").symlink_to("a")


def _remove(root: Path) -> None:
    shutil.rmtree(root / "a")


def _rename(root: Path) -> None:
    (root / "a").rename(root / "b")


def _chmod(root: Path) -> None:
    (root / "a" / "SKILL.md").chmod(0o600)


def _chmod_folder(root: Path) -> None:
    (root / "a").chmod(0o700)


def _add_agents(root: Path) -> None:
    (root / "a" / "agents").mkdir()


def _forge_time(root: Path) -> None:
    os.utime(root / "a" / "SKILL.md", (0, 0))


@pytest.mark.requirement("R36")
@pytest.mark.parametrize(
    "change", [_edit, _add, _link, _remove, _rename, _chmod, _chmod_folder, _add_agents, _forge_time]
)
def test_root_is_restless_after_a_change_until_it_is_called_calm(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    watcher = _calm_watcher(draw(tmp_path, "a"), "a")
    assert not _is_restless(watcher, tmp_path)
    change(tmp_path)
    assert _is_restless(watcher, tmp_path)
    assert _is_restless(watcher, tmp_path)
    watcher.begin(str(tmp_path))
    assert not _is_restless(watcher, tmp_path)
    watcher.close()


def _replace(root: Path) -> None:
    (root / "a" / "new").write_text(skill_text("a", description="replaced"))
    (root / "a" / "new").replace(root / "a" / "SKILL.md")


def _edit_and_add(root: Path) -> None:
    _edit(root)
    _add(root)
    _edit(root)


@pytest.mark.requirement("R36")
@pytest.mark.parametrize(
    ("change", "named"),
    [(_edit, True), (_replace, True), (_forge_time, True)]
    + [(change, False) for change in (_add, _link, _remove, _rename, _chmod_folder, _add_agents, _edit_and_add)],
)
def test_only_a_change_of_nothing_but_manifests_is_told_by_their_folders(
    change: Callable[[Path], None], named: bool, tmp_path: Path
) -> None:
    root = str(draw(tmp_path, "a", "b2"))
    watcher = _calm_watcher(tmp_path, "a", "b2")
    watcher.cover(root, _coverage(tmp_path, "a", "b2"))
    assert watcher.begin(root) == frozenset()
    watcher.cover(root, _coverage(tmp_path, "a", "b2"))
    change(tmp_path)
    assert watcher.begin(root) == (frozenset({f"{root}/a"}) if named else frozenset())
    watcher.close()


@pytest.mark.requirement("R36")
def test_change_that_is_heard_of_before_all_folders_are_watched_asks_for_a_search(tmp_path: Path) -> None:
    root = str(draw(tmp_path, "a", "b2"))
    watcher = _calm_watcher(tmp_path, "a")
    assert watcher.cover(root, _coverage(tmp_path, "a", "b2"))
    _edit(tmp_path)
    assert watcher.begin(root) == frozenset()
    watcher.close()


_ONE_EDITED = """
import json, sys, time
from dataclasses import replace
from pathlib import Path
from prowess.catalog.discovery import Discovery
from prowess.catalog.refresh import CatalogKeeper, find_coverage
from tests.catalog.machine import STANDARD, discover, user_source
from tests.sources.building import draw, write_skill

root = draw(Path(sys.argv[1]), *(f"s{n}" for n in range(9)))
sources = [user_source(root)]
keeper = CatalogKeeper(STANDARD, lambda: sources)
keeper.current(), time.sleep(0.15), keeper.rescan(), keeper.current()
listed, opened, told = [], [], []
sys.addaudithook(lambda event, args: listed.append(args) if event == "os.scandir" else None)
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
for pause in (0, 0, 0.15, 0.15):
    time.sleep(pause)
    write_skill(root / "s8", description=f"edited after {pause}")
    listed.clear(), opened.clear()
    found = replace(keeper.current(), generation=0)
    told.append([len(listed), sorted(path for path in opened if str(path).endswith("SKILL.md"))])
    assert found == discover(sources)
print(json.dumps(told))
"""


@pytest.mark.requirement("R36")
def test_edited_skill_is_read_again_and_no_folder_listed(tmp_path: Path) -> None:
    edited = str(tmp_path / "s8" / "SKILL.md")
    assert ask_child(_ONE_EDITED, tmp_path) == [[0, [edited]]] * 4


@pytest.mark.requirement("R36")
def test_change_during_a_search_is_heard_of(tmp_path: Path) -> None:
    watcher = _calm_watcher(draw(tmp_path, "a"), "a")
    watcher.begin(str(tmp_path))
    _edit(tmp_path)  # While somebody searches.
    watcher.cover(str(tmp_path), _coverage(tmp_path, "a"))
    assert _is_restless(watcher, tmp_path)
    watcher.close()


@pytest.mark.requirement("R36")
def test_folder_that_is_watched_for_the_first_time_asks_for_another_search(tmp_path: Path) -> None:
    draw(tmp_path, "a", "b")
    watcher = Watcher()
    watcher.begin(str(tmp_path))
    steps = (("a",), ("a",), ("a", "b"), ("a",), ("a", "b"))
    asked = [watcher.cover(str(tmp_path), _coverage(tmp_path, *skills)) for skills in steps]
    assert asked == [True, False, True, False, True]
    watcher.close()


@pytest.mark.requirement("R36")
def test_one_root_does_not_make_another_restless(tmp_path: Path) -> None:
    one, other = draw(tmp_path / "one", "a"), draw(tmp_path / "other", "a")
    watcher = Watcher()
    for root in (one, other):
        watcher.begin(str(root))
        watcher.cover(str(root), _coverage(root, "a"))
    _edit(one)
    assert watcher.find_restless([str(one), str(other)]) == [str(one)]
    watcher.forget([str(other)])
    _edit(one)
    assert watcher.find_restless([str(other)]) == []
    watcher.close()


@pytest.mark.requirement("R36")
def test_folder_that_two_roots_share_makes_both_restless_and_stays_watched_for_the_other(tmp_path: Path) -> None:
    one, other = draw(tmp_path / "one", "a"), tmp_path / "other"
    other.mkdir()
    (other / "link").symlink_to(one / "a")
    watcher = Watcher()
    for _ in range(2):
        for root, skill in ((one, "a"), (other, "link")):
            watcher.begin(str(root))
            watcher.cover(str(root), _coverage(root, skill))
    roots = [str(one), str(other)]
    assert watcher.find_restless(roots) == []
    _edit(one)
    assert watcher.find_restless(roots) == roots
    watcher.forget(roots[:1])
    watcher.begin(roots[0])
    _edit(one)
    assert watcher.find_restless(roots[:1]) == roots[:1]
    watcher.close()


@pytest.mark.requirement("R36")
def test_root_with_something_that_cannot_be_watched_is_always_restless_until_it_can(tmp_path: Path) -> None:
    watcher = _calm_watcher(draw(tmp_path, "a"), "a")
    watcher.cover(str(tmp_path), replace(_coverage(tmp_path, "a"), certain=False))
    assert (watcher.is_reliable(str(tmp_path)), _is_restless(watcher, tmp_path)) == (False, True)
    watcher.begin(str(tmp_path))
    assert _is_restless(watcher, tmp_path)
    watcher.cover(str(tmp_path), _coverage(tmp_path, "a"))
    watcher.begin(str(tmp_path))
    assert (watcher.is_reliable(str(tmp_path)), _is_restless(watcher, tmp_path)) == (True, False)
    _edit(tmp_path)
    assert _is_restless(watcher, tmp_path)
    watcher.close()


@pytest.mark.requirement("R36", "J5")
def test_link_that_leads_elsewhere_makes_its_root_restless(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    targets = draw(tmp_path / "targets", "one", "two")
    (tmp_path / "now").symlink_to(targets / "one")
    (root / "link").symlink_to(tmp_path / "now")
    watcher = Watcher()
    for _ in range(2):
        watcher.begin(str(root))
        watcher.cover(str(root), replace(_coverage(root, "link"), links=(str(root / "link"),)))
    assert not _is_restless(watcher, root)
    (tmp_path / "now").unlink()  # Nothing of this is heard in the root.
    (tmp_path / "now").symlink_to(targets / "two")
    assert _is_restless(watcher, root)
    watcher.close()


@pytest.mark.requirement("R36", "J5")
def test_link_that_leads_elsewhere_is_seen_beside_an_edited_skill(tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a")
    targets = draw(tmp_path / "targets", "v1/b", "v2/b")
    (tmp_path / "now").symlink_to(targets / "v1")
    (root / "b").symlink_to(tmp_path / "now" / "b")
    write_skill(targets / "v2" / "b", description="another")
    sources = [user_source(root)]
    keeper = CatalogKeeper(STANDARD, lambda: sources)
    assert keeper.current() is keeper.current()
    assert keeper.watches
    (tmp_path / "now").unlink()  # Nothing of this is heard in the root.
    (tmp_path / "now").symlink_to(targets / "v2")
    _edit(root)
    assert [skill.description for skill in keeper.current().skills] == ["edited", "another"]
    keeper.close()


def test_closed_watcher_calls_everything_restless(tmp_path: Path) -> None:
    watcher = _calm_watcher(draw(tmp_path, "a"), "a")
    watcher.close()
    watcher.close()
    assert (watcher.works, _is_restless(watcher, tmp_path)) == (False, True)


@pytest.mark.requirement("R36")
def test_keeper_watches_plain_roots_and_says_so(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    keeper = CatalogKeeper(STANDARD, lambda: [user_source(tmp_path)])
    assert keeper.current() is keeper.current()
    assert keeper.watches
    keeper.close()


def test_file_system_without_events_that_is_mounted_later_or_below_a_root_is_noticed(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    mounts = [("/", "ext4")]
    watcher = Watcher(list_mounts=lambda: mounts)
    coverage = replace(_coverage(tmp_path, "a"), places=(str(tmp_path), str(tmp_path / "a")))

    def is_reliable() -> bool:
        watcher.find_restless([str(tmp_path)])
        watcher.begin(str(tmp_path))
        watcher.cover(str(tmp_path), coverage)
        return watcher.is_reliable(str(tmp_path))

    assert is_reliable()
    mounts = [("/", "ext4"), (str(tmp_path / "a"), "nfs4")]
    assert (is_reliable(), _is_restless(watcher, tmp_path)) == (False, True)
    mounts = [("/", "ext4"), (str(tmp_path), "nfs4"), (str(tmp_path / "a"), "ext4")]
    assert not is_reliable()
    mounts = [("/", "ext4")]
    assert is_reliable()
    watcher.close()


def test_search_tells_of_one_folder_for_each_device(tmp_path: Path) -> None:
    draw(tmp_path, "a", "b", "c/d")
    scan = Discovery(STANDARD).scan(user_source(tmp_path), known_roots=[str(tmp_path)])
    (place,) = find_coverage(scan).places
    assert Path(place).is_relative_to(tmp_path)
    found = [
        entry._replace(stamp=(7, *entry.stamp[1:])) if entry.folder.endswith("d") else entry for entry in scan.found
    ]
    assert find_coverage(scan._replace(found=tuple(found))).places == (place, str(tmp_path / "c" / "d"))


_FORK = """
import json, os, sys
from pathlib import Path
from prowess.catalog.refresh import CatalogKeeper
from tests.catalog.machine import STANDARD, user_source
count = lambda: len(os.listdir("/proc/self/fd"))
keeper = CatalogKeeper(STANDARD, lambda: [user_source(Path(sys.argv[1]))])
keeper.current(), keeper.current()
before = count()
child = os.fork()
if not child:
    keeper.current()
    os._exit(count() - before if keeper.watches else 99)
found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
Path(sys.argv[1], "b").mkdir()
Path(sys.argv[1], "b", "SKILL.md").write_text("---\\nname: b\\ndescription: x\\n---\\n")
print(json.dumps([found, [skill.name for skill in keeper.current().skills]]))
"""


def test_fork_gives_its_copy_of_the_queue_back_and_its_parent_hears_as_before(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    assert ask_child(_FORK, tmp_path) == [0, ["a", "b"]]


@pytest.mark.requirement("R36")
def test_linked_file_is_searched_for_each_time(tmp_path: Path) -> None:
    """Nothing tells of a change in a file of another name."""
    draw(tmp_path, "a")
    (tmp_path / "a" / "SKILL.md").rename(tmp_path / "a" / "text.md")
    (tmp_path / "a" / "SKILL.md").symlink_to("text.md")
    keeper = CatalogKeeper(STANDARD, lambda: [user_source(tmp_path)])
    assert keeper.current() is keeper.current()
    assert not keeper.watches
    (tmp_path / "a" / "text.md").write_text(skill_text("a", description="edited"))
    assert keeper.current().get("a").description == "edited"
    keeper.close()


@pytest.mark.slow
@pytest.mark.requirement("R36")
def test_more_events_than_the_queue_holds_are_as_good_as_a_change(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    keeper = CatalogKeeper(STANDARD, lambda: [user_source(tmp_path)])
    assert keeper.current() is keeper.current()
    noise = [tmp_path / "a" / "noise-one", tmp_path / "a" / "noise-two"]
    for number in range(_QUEUE // 2 + 100):
        noise[number % 2].touch()
        noise[number % 2].unlink()
    write_skill(tmp_path / "a", description="edited after the queue was full")
    assert keeper.current().get("a").description == "edited after the queue was full"
    assert keeper.watches
    write_skill(tmp_path / "b")
    assert ids(keeper.current()) == ["user:a", "user:b"]
    keeper.close()


_FEW_WATCHES = """
import ctypes, json, sys
from dataclasses import replace
from pathlib import Path
from prowess.catalog.discovery import Discovery
from prowess.catalog.refresh import CatalogKeeper, find_coverage
from tests.catalog.machine import STANDARD, discover, user_source
from tests.sources.building import draw, write_skill

NEW_USER_NAMESPACE = 0x10000000
assert ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0
Path("/proc/sys/user", sys.argv[2]).write_text(sys.argv[3])
root = draw(Path(sys.argv[1]), *(f"s{n}" for n in range(9)))
sources = [user_source(root)]
keeper = CatalogKeeper(STANDARD, lambda: sources)
first, second, watches = keeper.current(), keeper.current(), keeper.watches
write_skill(root / "s8", description="edited")
write_skill(root / "new")
found = replace(keeper.current(), generation=0)
print(json.dumps([len(first.skills), watches, found == discover(sources), len(found.skills)]))
"""


@pytest.mark.requirement("R36")
@pytest.mark.parametrize(("limit", "value"), [("max_inotify_watches", 4), ("max_inotify_instances", 0)])
def test_without_room_for_watches_a_root_is_searched_each_time(limit: str, value: int, tmp_path: Path) -> None:
    """In a namespace of users, where the limit can be lowered without harm to others."""
    assert ask_child(_FEW_WATCHES, tmp_path, limit, value) == [9, False, True, 10]


_UNREADABLE = without_rights("""
import json, sys
from dataclasses import replace
from pathlib import Path
from prowess.catalog.discovery import Discovery
from prowess.catalog.refresh import CatalogKeeper, find_coverage
from tests.catalog.machine import STANDARD, discover, user_source
from tests.sources.building import draw

become_nobody()
root = draw(Path(sys.argv[1]), "a", "b", "group/c")
sources = [user_source(root)]
keeper = CatalogKeeper(STANDARD, lambda: sources)
seen = [len(keeper.current().skills) for _ in range(2)]
for path, mode in (("b/SKILL.md", 0), ("group", 0), ("group", 0o755), ("a", 0), ("a", 0o755), ("b/SKILL.md", 0o644)):
    (root / path).chmod(mode)
    found = keeper.current()
    assert replace(found, generation=0) == discover(sources), (path, mode)
    seen.append(len(found.skills))
print(json.dumps(seen))
""")


@pytest.mark.requirement("R36")
def test_rights_that_are_taken_and_given_back_are_seen(public_folder: Path) -> None:
    folder = public_folder / "root"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert ask_child(_UNREADABLE, folder) == [3, 3, 2, 1, 2, 1, 2, 3]


# At random


@dataclass(frozen=True)
class _Accident:
    """Something that happens to a tree of few names, so that things collide."""

    chance: random.Random
    root: Path
    outside: Path

    def happen(self) -> None:
        names = ["a", "b", "group/c", "group/d", "group"]
        path = self.root / self.chance.choice(names)
        if not (self.root / "group").exists():
            (self.root / "group").mkdir(parents=True)
        acts = [
            *(self._make, self._make, self._edit, self._edit, self._remove, self._rename, self._move_out),
            *(self._link, self._empty, self._add_sidecar, self._remove_file, self._swap_root),
        ]
        self.chance.choice(acts)(path)

    def _make(self, path: Path) -> None:
        self._remove(path)
        write_skill(path, description=f"new {self.chance.random()}")

    def _edit(self, path: Path) -> None:
        if (path / "SKILL.md").is_file():
            write_skill(path, description=f"edited {self.chance.random()}")

    def _remove(self, path: Path) -> None:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)

    def _rename(self, path: Path) -> None:
        other = self.root / f"other-{self.chance.randrange(3)}"
        if path.exists() and not other.exists() and not other.is_symlink():
            path.rename(other)

    def _move_out(self, path: Path) -> None:
        if path.exists() and not path.is_symlink():
            path.rename(self.outside / f"moved {self.chance.random()}")

    def _link(self, path: Path) -> None:
        self._remove(path)
        path.symlink_to(write_skill(self.outside / f"target {self.chance.random()}"))

    def _empty(self, path: Path) -> None:
        self._remove(path)
        path.mkdir()

    def _add_sidecar(self, path: Path) -> None:
        if path.is_dir():
            (path / "agents").mkdir(exist_ok=True)
            (path / "agents" / "openai.yaml").write_text(f"interface: {{display_name: '{self.chance.random()}'}}\n")

    def _remove_file(self, path: Path) -> None:
        (path / "SKILL.md").unlink(missing_ok=True)

    def _swap_root(self, _: Path) -> None:
        if self.chance.random() < 0.2:
            self.root.rename(self.outside / f"root {self.chance.random()}")
            self.root.mkdir()


@pytest.mark.slow
@pytest.mark.requirement("R18", "R36")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("seed", range(4))
def test_after_each_of_many_random_changes_the_answer_is_that_of_a_fresh_search(
    seed: int, refresh: Refresh, tmp_path: Path
) -> None:
    root, outside = draw(tmp_path / "root", "a", "b", "group/c"), tmp_path / "outside"
    outside.mkdir()
    accident = _Accident(random.Random(seed), root, outside)
    sources = (user_source(root), user_source(root / "group"))
    keeper = CatalogKeeper(replace(STANDARD, refresh=refresh), lambda: sources)
    for step in range(300):
        accident.happen()
        assert replace(keeper.current(), generation=0) == discover(sources), f"step {step}"
    keeper.close()


@pytest.mark.slow
def test_somebody_who_never_stops_changing_files_does_not_hold_the_answer_back(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills" / "a")
    code = (
        "import os, sys\n"
        "os.chdir(sys.argv[1]); open('x', 'w').close(); print('ready', flush=True)\n"
        "while True:\n    os.rename('x', 'y'); os.rename('y', 'x')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "skills")], stdout=subprocess.PIPE, text=True
    ) as restless:
        try:
            assert restless.stdout is not None
            assert restless.stdout.readline() == "ready\n"
            settings = load_settings(environ={"HOME": str(tmp_path)})
            with Runtime.open(settings, skills=[tmp_path / "skills"]) as runtime:
                for _ in range(5):
                    assert runtime.catalog().names() == ("a",)
            assert restless.poll() is None
        finally:
            restless.kill()
