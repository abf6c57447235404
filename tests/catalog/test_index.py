"""What was read once is not read again, in this process or another; what may have changed always is."""

import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from prowess.catalog.catalog import Catalog
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from prowess.policy import PROFILES, SourceKind
from prowess.skill.problems import make_problem
from prowess.sources.source import Source
from tests.catalog.machine import STANDARD, discover, ids, user_source
from tests.sources.building import ask_child, draw, skill_text, without_rights, write_skill

pytestmark = pytest.mark.slow  # Most tests start processes, or wait for the clock.

_SETTLING_SECONDS = 0.13

_COUNT_READS = """
import json, os, sys

opened, listed = [], []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
sys.addaudithook(lambda event, args: listed.append(str(args[0])) if event == "os.scandir" else None)

from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from tests.catalog.machine import STANDARD, discover, user_source

found = discover([user_source(sys.argv[1])], index=Index(sys.argv[2]))
skills = [os.path.basename(os.path.dirname(path)) for path in opened if str(path).endswith("/SKILL.md")]
told = {
    "read": sorted(skills),
    "listed": [path for path in listed if path.startswith(sys.argv[1])],
    "descriptions": [skill.description for skill in found.skills],
}
print(json.dumps([told[what] for what in sys.argv[3].split()]))
"""


def _read_in_a_new_process(root: Path, index: Path, tell: str = "read descriptions") -> object:
    return ask_child(_COUNT_READS, root, index, tell)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root of three skills whose stamps can be relied on."""
    drawn = draw(tmp_path / "root", "a", "b", "group/c")
    time.sleep(_SETTLING_SECONDS)
    return drawn


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _discover(root: Path, cache: Path) -> Catalog:
    return discover([user_source(root)], index=Index(str(cache)))


def _files(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def test_process_after_the_first_opens_no_skill_that_is_unchanged(root: Path, cache: Path) -> None:
    assert _read_in_a_new_process(root, cache) == [["a", "b", "c"], ["Does it."] * 3]
    assert _read_in_a_new_process(root, cache) == [[], ["Does it."] * 3]
    write_skill(root / "b", description="edited")
    time.sleep(_SETTLING_SECONDS)
    assert _read_in_a_new_process(root, cache) == [["b"], ["Does it.", "edited", "Does it."]]
    write_skill(root / "d")
    time.sleep(_SETTLING_SECONDS)
    assert _read_in_a_new_process(root, cache) == [["d"], ["Does it.", "edited", "Does it.", "Does it."]]
    assert _read_in_a_new_process(root, cache) == [[], ["Does it.", "edited", "Does it.", "Does it."]]


def test_process_that_finds_only_edited_skills_lists_no_folder(root: Path, cache: Path) -> None:
    _read_in_a_new_process(root, cache)
    write_skill(root / "b", description="edited")
    (root / "group" / "c" / "SKILL.md").write_text("no frontmatter")
    time.sleep(_SETTLING_SECONDS)
    tell = "read listed descriptions"
    assert _read_in_a_new_process(root, cache, tell) == [["b", "c"], [], ["Does it.", "edited"]]
    assert _read_in_a_new_process(root, cache, tell) == [[], [], ["Does it.", "edited"]]
    assert _discover(root, cache) == discover([user_source(root)])


def test_process_that_finds_a_skill_gone_searches(root: Path, cache: Path) -> None:
    _read_in_a_new_process(root, cache)
    write_skill(root / "b", description="edited")
    (root / "a" / "SKILL.md").unlink()
    assert _read_in_a_new_process(root, cache) == [["b"], ["edited", "Does it."]]


def test_catalog_from_the_index_is_the_catalog_from_the_files(tmp_path: Path, cache: Path) -> None:
    root = draw(tmp_path / "root", "a", "group/b")
    write_skill(root / "full", extra="license: MIT\ncompatibility: x\nallowed-tools: Bash(git:*) Read\nmodel: opus\n")
    write_skill(root / "needs", extra="metadata:\n  requires: git\n  openclaw:\n    os: [linux]\n")
    write_skill(root / "warned", name="Other Name", extra="colour: red\n")
    (root / "broken").mkdir()
    (root / "broken" / "SKILL.md").write_text("nothing\n")
    (root / "misnamed").mkdir()
    (root / "misnamed" / "skill.md").write_text("x")
    (root / "nowhere").symlink_to("missing")
    (root / "sidecar" / "agents").mkdir(parents=True)
    write_skill(root / "sidecar")
    (root / "sidecar" / "agents" / "openai.yaml").write_text("interface:\n  display_name: D\n")
    time.sleep(_SETTLING_SECONDS)
    from_files = _discover(root, cache)
    assert _discover(root, cache) == from_files == discover([user_source(root)])


_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: raw[:0],
    "truncated": lambda raw: raw[: len(raw) // 2],
    "one byte short": lambda raw: raw[:-1],
    "one byte long": lambda raw: raw + b"x",
    "changed": lambda raw: raw.replace(b"Does it.", b"Does not"),
    "older": lambda raw: raw.replace(b"prowess-index-", b"prowess-index-0"),
    "foreign": lambda raw: b"SQLite format 3\0" + raw,
    "zeros": lambda raw: bytes(len(raw)),
}


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES.keys())
def test_damaged_index_is_ignored_and_replaced(damage: Callable[[bytes], bytes], root: Path, cache: Path) -> None:
    expected = _discover(root, cache)
    (file,) = _files(cache)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert Index(str(cache)).load(user_source(root), STANDARD) is None
    assert _discover(root, cache) == expected
    assert Index(str(cache)).load(user_source(root), STANDARD) is not None


def test_index_of_another_kind_of_value_is_ignored(root: Path, cache: Path) -> None:
    _discover(root, cache)
    (file,) = _files(cache)
    header = file.read_bytes().partition(b"\n")[0] + b"\n"
    for value in ("{}", "[]", "[[], [], [], 1]", '[[["x"]], [], [], true]', "5", '"text"'):
        payload = msgspec.msgpack.encode(msgspec.json.decode(value))
        file.write_bytes(header + zlib.crc32(payload).to_bytes(4, "big") + payload)
        assert ids(_discover(root, cache)) == ["user:a", "user:b", "user:group/c"]


def test_folder_in_the_place_of_an_index_does_no_harm(root: Path, cache: Path) -> None:
    _discover(root, cache)
    (file,) = _files(cache)
    file.unlink()
    file.mkdir()
    assert ids(_discover(root, cache)) == ["user:a", "user:b", "user:group/c"]


def test_index_is_kept_by_root_and_by_what_steers_the_reading(root: Path, cache: Path) -> None:
    index = Index(str(cache))
    for policy in PROFILES.values():
        discover([user_source(root)], policy, index=index)
    discover([Source(SourceKind.CONFIG, str(root))], index=index)
    discover([Source(SourceKind.USER, str(root), trusted=False)], index=index)
    assert len({file.name for file in _files(cache)}) == len(PROFILES) + 2
    assert [skill.trusted for skill in _discover(root, cache).skills] == [True] * 3


_AS_NOBODY = without_rights("""
import json, sys
from pathlib import Path
from prowess.catalog.index import Index
from tests.catalog.machine import discover, ids, user_source

become_nobody()
print(json.dumps(ids(discover([user_source(Path(sys.argv[1]))], index=Index(sys.argv[2])))))
""")


@pytest.mark.parametrize("made", [True, False])
def test_cache_that_cannot_be_written_does_no_harm(public_folder: Path, *, made: bool) -> None:
    root = draw(public_folder / "root", "a")
    cache = public_folder / "closed" / "cache"
    cache.parent.mkdir(mode=0o700)
    if made:
        cache.mkdir(mode=0o500)
    time.sleep(_SETTLING_SECONDS)
    assert ask_child(_AS_NOBODY, root, cache) == ["user:a"]
    assert ask_child(_AS_NOBODY, root, "/proc/nothing/here") == ["user:a"]


_FULL_DISK = """
import json, sys, resource, signal
from pathlib import Path
from prowess.catalog.index import Index
from tests.catalog.machine import discover, ids, user_source

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
discover([user_source(Path(sys.argv[1]))])  # Whatever is loaded late is loaded now.
resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
found = discover([user_source(Path(sys.argv[1]))], index=Index(sys.argv[2]))
print(json.dumps([ids(found), len(list(Path(sys.argv[2]).iterdir()))]))
"""


def test_disk_without_room_does_no_harm_and_leaves_nothing(root: Path, cache: Path) -> None:
    """The system lets this process write no file of more than 16 bytes."""
    assert ask_child(_FULL_DISK, root, cache) == [["user:a", "user:b", "user:group/c"], 0]


_WRITE_AGAIN_AND_AGAIN = """
import sys
from pathlib import Path
from prowess.catalog.index import Index, RootScan
from tests.catalog.machine import STANDARD, user_source
from prowess.catalog.discovery import Discovery

index, source = Index(sys.argv[2]), user_source(Path(sys.argv[1]))
scan = Discovery(STANDARD).scan(source)
for _ in range(300):
    index.save(source, STANDARD, scan)
    assert index.load(source, STANDARD).found == scan.found
"""


@pytest.mark.slow
def test_two_processes_that_write_at_once_leave_a_usable_file(root: Path, cache: Path) -> None:
    command = [sys.executable, "-c", _WRITE_AGAIN_AND_AGAIN, str(root), str(cache)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    assert [writer.communicate(timeout=60)[1] for writer in writers] == [b"", b""]
    assert _read_in_a_new_process(root, cache) == [[], ["Does it."] * 3]
    assert len(_files(cache)) == 1


# What may have changed is read


def _rewrite_in_the_same_size(path: Path, description: str) -> None:
    path.write_text(skill_text("a", description=description))


def test_forged_time_does_not_hide_an_edit(root: Path, cache: Path) -> None:
    path = root / "a" / "SKILL.md"
    _discover(root, cache)
    before = path.stat()
    _rewrite_in_the_same_size(path, "Does_it.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert _discover(root, cache).get("a").description == "Does_it."


def test_swapped_file_of_the_same_size_and_time_is_seen(root: Path, cache: Path) -> None:
    path, other = root / "a" / "SKILL.md", root.parent / "other"
    _discover(root, cache)
    _rewrite_in_the_same_size(other, "Does_it.")
    shutil.copystat(path, other)
    other.replace(path)
    assert _discover(root, cache).get("a").description == "Does_it."


_SAME_TICK = """
import ctypes, json, os, sys
from pathlib import Path
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from tests.catalog.machine import STANDARD, user_source
from tests.sources.building import write_skill

# A file system with coarse time: whatever happens within some milliseconds has one stamp.
NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(NEW_MOUNTS | (NEW_USERS if os.geteuid() else 0)) == 0
assert libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None) == 0  # What is mounted stays here.
assert libc.mount(b"ramfs", os.fsencode(sys.argv[1]), b"ramfs", 0, None) == 0, os.strerror(ctypes.get_errno())
root, what = Path(sys.argv[1]), sys.argv[2]
source, same, unseen = user_source(root), 0, 0
for number in range(200):
    write_skill(root / "a", description=f"one {number:04}")
    sidecar = root / "a" / "agents" / "openai.yaml"
    sidecar.parent.mkdir(exist_ok=True)
    changed = sidecar if what == "sidecar" else root / "a" / "SKILL.md"
    sidecar.write_text(f"interface: {{display_name: 'one {number:04}'}}\\n")
    discovery = Discovery(STANDARD, Index(sys.argv[3]))
    first, stamp = discovery.scan(source), os.stat(changed)
    changed.write_text(changed.read_text().replace("one", "two"))
    now = os.stat(changed)
    same += (stamp.st_ctime_ns, stamp.st_mtime_ns) == (now.st_ctime_ns, now.st_mtime_ns)
    (entry,) = discovery.scan(source).found
    said = entry.skill.description if what == "file" else entry.skill.manifest.behaviour.interface.display_name
    unseen += said != f"two {number:04}"
print(json.dumps([same > 0, unseen]))
"""


@pytest.mark.parametrize("what", ["file", "sidecar"])
def test_edit_in_the_same_tick_of_the_clock_is_seen(what: str, tmp_path: Path) -> None:
    """Write, look, rewrite in the same size, look: where the clock of files is coarse, their stamps are the same."""
    (tmp_path / "root").mkdir()
    assert ask_child(_SAME_TICK, tmp_path / "root", what, tmp_path / "cache") == [True, 0]


def _display_name(root: Path, cache: Path) -> str:
    return _discover(root, cache).get("a").manifest.behaviour.interface.display_name


def test_sidecar_that_comes_changes_and_goes_is_seen(root: Path, cache: Path) -> None:
    sidecar = root / "a" / "agents" / "openai.yaml"
    seen = [_display_name(root, cache)]
    sidecar.parent.mkdir()
    for name in ("one", "two"):
        sidecar.write_text(f"interface:\n  display_name: {name}\n")
        time.sleep(_SETTLING_SECONDS)
        seen += [_display_name(root, cache), _display_name(root, cache)]
    sidecar.unlink()
    seen.append(_display_name(root, cache))
    assert seen == ["", "one", "one", "two", "two", ""]


def test_sidecar_that_was_written_a_moment_ago_is_not_relied_on(root: Path, cache: Path) -> None:
    sidecar = root / "a" / "agents" / "openai.yaml"
    sidecar.parent.mkdir()
    sidecar.write_text("interface:\n  display_name: one\n")
    time.sleep(_SETTLING_SECONDS)
    discovery = Discovery(STANDARD, Index(str(cache)))
    settled = discovery.scan(user_source(root)).settled
    sidecar.write_text("interface:\n  display_name: two\n")
    assert (settled, discovery.scan(user_source(root)).settled) == (True, False)


def test_what_is_wrong_with_a_source_today_makes_it_no_other_place(root: Path, cache: Path) -> None:
    discovery = Discovery(STANDARD, Index(str(cache)))
    source = user_source(root)
    scans = [discovery.scan(source)]
    for message in ("no answer", "no answer for an hour"):
        complaint = make_problem("mcp-unreachable", message)
        scans.append(discovery.scan(replace(source, problems=(complaint,))))
    discovery.save()
    assert all(scan is scans[0] for scan in scans)
    assert len(_files(cache)) == len(discovery.known) == 1


def test_linked_file_is_read_each_time(root: Path, cache: Path) -> None:
    """Its own stamp says nothing of the file that it leads to."""
    (root / "a" / "SKILL.md").rename(root / "a" / "text.md")
    (root / "a" / "SKILL.md").symlink_to("text.md")
    time.sleep(_SETTLING_SECONDS)
    assert _discover(root, cache).get("a").description == "Does it."
    (root / "a" / "text.md").write_text(skill_text("a", description="edited"))
    assert _discover(root, cache).get("a").description == "edited"


def test_linked_folder_is_read_each_time(root: Path, cache: Path) -> None:
    target = write_skill(root.parent / "elsewhere" / "x")
    (root / "x").symlink_to(target)
    time.sleep(_SETTLING_SECONDS)
    assert _discover(root, cache).get("x").description == "Does it."
    write_skill(target, description="edited")
    assert _discover(root, cache).get("x").description == "edited"


@pytest.mark.requirement("J5")
def test_skill_knows_its_real_folder_with_an_index_too(root: Path, cache: Path, tmp_path: Path) -> None:
    (root / "x").symlink_to(write_skill(tmp_path / "elsewhere" / "x"))
    (tmp_path / "way").symlink_to("root")
    time.sleep(_SETTLING_SECONDS)
    for _ in range(2):
        found = _discover(tmp_path / "way", cache)
        assert [(skill.folder, skill.real) for skill in found.skills] == [
            (str(tmp_path / "way" / "a"), str(root / "a")),
            (str(tmp_path / "way" / "b"), str(root / "b")),
            (str(tmp_path / "way" / "group" / "c"), str(root / "group" / "c")),
            (str(tmp_path / "way" / "x"), str(tmp_path / "elsewhere" / "x")),
        ]


@pytest.mark.requirement("J5")
def test_folder_that_is_reached_by_another_way_has_another_real_path(root: Path, cache: Path, tmp_path: Path) -> None:
    """No stamp tells of it: the root is the same folder, and its skills are the same files."""
    (tmp_path / "first").symlink_to(tmp_path)
    way = tmp_path / "first" / "root"
    assert _discover(way, cache).skills[0].real == str(root / "a")
    (tmp_path / "home").mkdir()
    root.rename(tmp_path / "home" / "root")
    (tmp_path / "first").unlink()
    (tmp_path / "first").symlink_to("home")
    assert _discover(way, cache).skills[0].real == str(tmp_path / "home" / "root" / "a")


@pytest.mark.requirement("J5")
def test_folder_that_is_replaced_by_a_link_to_itself_has_another_real_path(root: Path, cache: Path) -> None:
    assert _discover(root, cache).get("a").real == str(root / "a")
    (root / "a").rename(root.parent / "moved")
    (root / "a").symlink_to("../moved")
    assert _discover(root, cache).get("a").real == str(root.parent / "moved")


def test_names_that_are_no_text_are_found_with_an_index_too(root: Path, cache: Path) -> None:
    odd = os.fsdecode(os.fsencode(root) + b"/\xff\xfe")
    write_skill(Path(odd), name="odd")
    time.sleep(_SETTLING_SECONDS)
    for _ in range(2):
        assert _discover(root, cache).names() == ("a", "b", "c", "odd")


def test_link_to_a_name_that_is_no_text_is_followed_with_an_index_too(root: Path, cache: Path) -> None:
    target = write_skill(Path(os.fsdecode(os.fsencode(root.parent) + b"/\xff\xfe")), name="odd")
    (root / "odd").symlink_to(target)
    time.sleep(_SETTLING_SECONDS)
    for _ in range(2):
        assert _discover(root, cache).names() == ("a", "b", "c", "odd")


def test_root_known_later_is_where_a_link_may_lead(tmp_path: Path, cache: Path) -> None:
    """What a link may lead to depends on the other sources, so an index from before must not decide."""
    shared = write_skill(tmp_path / "shared" / "x").parent
    project = tmp_path / "project"
    project.mkdir()
    (project / "x").symlink_to(shared / "x")
    time.sleep(_SETTLING_SECONDS)
    mine = Source(SourceKind.PROJECT, str(project), project=str(project))
    assert ids(discover([mine], index=Index(str(cache)))) == []
    both = [mine, Source(SourceKind.CONFIG, str(shared))]
    assert ids(discover(both, index=Index(str(cache)))) == ids(discover(both)) == ["project:x"]


def test_search_that_finds_nothing_new_gives_the_same_value(root: Path) -> None:
    discovery = Discovery(STANDARD)
    first = discovery.scan(user_source(root))
    assert discovery.scan(user_source(root)) is first
