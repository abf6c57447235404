"""Outputs: whatever a run leaves in its folder, plain files come out whole, and nothing is written but below `keep`."""

import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.execution.jobs import OutputFile
from prowess.execution.outputs import collect_outputs, measure_folder
from prowess.execution.secrecy.redaction import Redactor
from prowess.policy import RunLimits

_LIMITS = RunLimits()
_NOBODY = 65_534
Collected = tuple[tuple[OutputFile, ...], tuple[str, ...]]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder of a run."""
    folder = tmp_path / "left"
    folder.mkdir()
    return folder


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Path]:
    """Where outputs are kept; around it nothing changes."""
    (tmp_path / "outside").write_text("outside")
    before = sorted(os.listdir(tmp_path))
    yield tmp_path / "kept" / "run"
    assert sorted({*os.listdir(tmp_path)} - {"kept"}) == before
    assert (tmp_path / "outside").read_text() == "outside"


def _collect(
    left: Path,
    keep: Path | str,
    *,
    limits: RunLimits = _LIMITS,
    secrecy: Callable[[bytes], tuple[str, ...]] | None = None,
) -> Collected:
    handle = os.open(left, os.O_RDONLY)
    try:
        return collect_outputs(handle, str(keep), limits=limits, secrecy=secrecy)
    finally:
        os.close(handle)


def _measure(folder: Path) -> tuple[int, int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        return measure_folder(handle)
    finally:
        os.close(handle)


def _file(
    keep: Path, path: str, content: bytes, mime: str = "application/octet-stream", *, on_disk: str = ""
) -> OutputFile:
    location = os.path.join(keep, on_disk or path)
    return OutputFile(path, len(content), hashlib.sha256(content).hexdigest(), mime, location)


def _read_tree(folder: Path) -> dict[bytes, bytes]:
    """Return all files below a folder, by their paths."""
    top = os.fsencode(folder)
    return {
        os.path.relpath(os.path.join(place, name), top): Path(os.fsdecode(os.path.join(place, name))).read_bytes()
        for place, _, names in os.walk(top)
        for name in names
    }


def _nest(folder: Path, depth: int) -> None:
    """Make folders in folders, deeper than a path can say."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


# Plain files


@pytest.mark.requirement("R96")
def test_plain_files_are_copied_in_the_order_of_their_names(left: Path, keep: Path) -> None:
    (left / "sub" / "inner").mkdir(parents=True)
    (left / "sub" / "inner" / "table.csv").write_bytes(b"a,b\n")
    (left / "report.html").write_bytes(b"<p>")
    (left / "a.bin").write_bytes(b"\0" * 3_000_000)
    (left / "empty").write_bytes(b"")
    assert _collect(left, keep) == (
        (
            _file(keep, "a.bin", b"\0" * 3_000_000),
            _file(keep, "empty", b""),
            _file(keep, "report.html", b"<p>", "text/html"),
            _file(keep, "sub/inner/table.csv", b"a,b\n", "text/csv"),
        ),
        (),
    )
    assert _read_tree(keep) == _read_tree(left)


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("a.TXT", "text/plain"),
        ("a.json", "application/json"),
        ("a.md", "text/markdown"),
        ("a.ts", "text/plain"),
        ("a.csv.gz", "application/gzip"),
        ("a.csv.xz", "application/octet-stream"),
        ("data:text/html,x", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_type_is_that_of_the_ending(left: Path, keep: Path, name: str, mime: str) -> None:
    path = left / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    assert _collect(left, keep) == ((_file(keep, name, b"x", mime),), ())


def test_kept_files_are_for_their_owner_alone_and_stay_executable(left: Path, keep: Path) -> None:
    modes = {"plain": 0o644, "open": 0o666, "tool": 0o755, "strange": 0o4777, "for others": 0o611}
    (left / "sub").mkdir(mode=0o777)
    for name, mode in modes.items():
        (left / "sub" / name).write_bytes(b"")
        (left / "sub" / name).chmod(mode)
    _collect(left, keep)
    assert {name: stat.S_IMODE((keep / "sub" / name).stat().st_mode) for name in modes} == {
        "plain": 0o600,
        "open": 0o600,
        "tool": 0o700,
        "strange": 0o700,
        "for others": 0o600,
    }
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (keep, keep / "sub")} == {0o700}


def test_folder_to_keep_is_made_only_for_a_file(left: Path, keep: Path) -> None:
    (left / "empty folder").mkdir()
    assert (_collect(left, keep), keep.exists()) == (((), ()), False)


def test_nothing_is_kept_where_no_folder_is_named(left: Path, keep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (left / "sub").mkdir()
    (left / "sub" / "file").write_bytes(b"x")
    monkeypatch.chdir(keep.parent.parent)
    assert _collect(left, "") == ((), ())


def test_folder_to_keep_may_be_relative(left: Path, keep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (left / "file").write_bytes(b"x")
    monkeypatch.chdir(keep.parent.parent)
    assert _collect(left, "kept/run") == ((_file(keep, "file", b"x"),), ())


def test_file_that_was_kept_before_is_not_overwritten(left: Path, keep: Path) -> None:
    keep.mkdir(parents=True)
    (keep / "file").write_bytes(b"before")
    (left / "file").write_bytes(b"x")
    assert _collect(left, keep) == ((), ("output file cannot be copied: File exists and was left behind",))
    assert _read_tree(keep) == {b"file": b"before"}


def test_link_below_the_folder_to_keep_is_not_written_through(left: Path, keep: Path) -> None:
    keep.mkdir(parents=True)
    (keep / "file").symlink_to("../../outside")
    (left / "file").write_bytes(b"x")
    assert _collect(left, keep) == ((), ("output file cannot be copied: File exists and was left behind",))


# What is not a plain file


def test_links_are_left_behind_wherever_they_lead(left: Path, keep: Path) -> None:
    (left / "file").write_bytes(b"x")
    links = {
        "absolute": "/etc/passwd",
        "dangling": "nowhere",
        "folder": ".",
        "inside": "file",
        "loop": "loop",
        "out": "../outside",
        "ping": "pong",
        "pong": "ping",
        "up": "..",
    }
    for name, target in links.items():
        (left / name).symlink_to(target)
    notices = tuple(f"output {name} is a link and was left behind" for name in links)
    assert _collect(left, keep) == ((_file(keep, "file", b"x"),), notices)
    assert _read_tree(keep) == {b"file": b"x"}


def test_pipes_and_sockets_are_left_behind_and_not_waited_for(
    left: Path, keep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(left / "pipe")
    monkeypatch.chdir(left)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    assert _collect(left, keep) == (
        (),
        ("output pipe is no plain file and was left behind", "output socket is no plain file and was left behind"),
    )
    assert _measure(left)[0] == 2


def test_folders_that_lie_too_deep_are_left_behind(left: Path, keep: Path) -> None:
    _nest(left, 32)
    assert _collect(left, keep) == ((_file(keep, "d/" * 32 + "deep.txt", b"", "text/plain"),), ())
    assert _measure(left) == (33, 0)


def test_endless_nesting_is_told_once_and_measures_as_too_much(left: Path, keep: Path) -> None:
    _nest(left, 1_000)
    too_deep = "/".join(["d"] * 33)
    assert _collect(left, keep) == ((), (f"output {too_deep} lies too deep and was left behind",))
    files, _ = _measure(left)
    assert files > 1 << 39
    subprocess.run(["rm", "-rf", left / "d"], check=True)  # Python's own way is too deep a recursion.


def test_path_too_long_to_keep_is_left_behind(left: Path, keep: Path) -> None:
    handle = os.open(left, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=handle)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    files, notices = _collect(left, keep)
    assert (files, [notice[-53:] for notice in notices]) == (
        (),
        [" cannot be copied: File name too long and was left behind"[-53:]],
    )
    subprocess.run(["rm", "-rf", left / ("n" * 250)], check=True)


# Names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"new\nline", "new\\nline"),
        (b"\x1b[2Jescape", "\\x1b[2Jescape"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"...", "..."),
        (b"-rf", "-rf"),
        (b" ", " "),
        (b"\\..\\..\\x", "\\..\\..\\x"),
        ("\u202etxt.exe".encode(), "\\u202etxt.exe"),
        ("é".encode(), "é"),
        (b"n" * 255, "n" * 255),
    ],
)
def test_odd_names_are_kept_as_they_are_and_shown_in_print(left: Path, keep: Path, name: bytes, shown: str) -> None:
    Path(os.fsdecode(os.path.join(os.fsencode(left), name))).write_bytes(b"x")
    files, notices = _collect(left, keep)
    assert (files, notices) == (
        (replace(_file(keep, shown, b"x", files[0].mime), location=os.path.join(keep, os.fsdecode(name))),),
        (),
    )
    assert shown.isprintable()
    assert _read_tree(keep) == {name: b"x"}


_NAMES = st.binary(min_size=1, max_size=20).map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
_PATHS = st.lists(_NAMES.filter(lambda name: name not in (b".", b"..")), min_size=1, max_size=4).map(b"/".join)


@settings(max_examples=50)
@given(st.dictionaries(_PATHS, st.binary(max_size=50), max_size=8))
def test_every_tree_comes_out_as_it_is(tmp_path_factory: pytest.TempPathFactory, tree: Mapping[bytes, bytes]) -> None:
    top = tmp_path_factory.mktemp("tree")
    left, keep = top / "left", top / "keep"
    left.mkdir()
    for path, content in tree.items():
        place = os.path.join(os.fsencode(left), path)
        if not os.path.isdir(place):
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                Path(os.fsdecode(place)).write_bytes(content)
            except (FileExistsError, NotADirectoryError):
                continue  # Another path has a file where this one has a folder.
    files, notices = _collect(left, keep)
    assert notices == ()
    assert _read_tree(keep) == _read_tree(left)
    assert {os.fsencode(file.location): file.sha256 for file in files} == {
        os.path.join(os.fsencode(keep), path): hashlib.sha256(content).hexdigest()
        for path, content in _read_tree(left).items()
    }
    assert sorted(os.listdir(top)) == (["keep", "left"] if files else ["left"])


# Bounds


@pytest.mark.requirement("R96")
def test_more_bytes_than_are_kept_are_left_behind(left: Path, keep: Path) -> None:
    for name, size in (("a", 600), ("b", 500), ("c", 400)):
        (left / name).write_bytes(b"x" * size)
    assert _collect(left, keep, limits=RunLimits(folder_bytes=1_000)) == (
        (_file(keep, "a", b"x" * 600), _file(keep, "c", b"x" * 400)),
        ("output b would make more than the 1,000 bytes that are kept and was left behind",),
    )


@pytest.mark.requirement("R96")
def test_sparse_file_of_a_tebibyte_is_left_behind_at_once(left: Path, keep: Path) -> None:
    with (left / "huge").open("wb") as file:
        file.truncate(1 << 40)
    left_behind = (
        f"output huge would make more than the {_LIMITS.folder_bytes:,} bytes that are kept and was left behind"
    )
    assert _collect(left, keep) == ((), (left_behind,))
    assert _measure(left) == (1, 0)


@pytest.mark.slow
@pytest.mark.requirement("R96")
def test_more_files_than_are_kept_are_counted_and_left_behind(left: Path, keep: Path) -> None:
    for number in range(3_000):
        (left / f"{number:04}").write_bytes(b"x")
    files, notices = _collect(left, keep, limits=RunLimits(output_files=1_000))
    assert [file.path for file in files] == [f"{number:04}" for number in range(1_000)]
    told = tuple(
        f"output {number:04} is more than the 1,000 files that are kept and was left behind"
        for number in range(1_000, 1_020)
    )
    assert notices == (*told, "… and 1,980 more were left behind")
    assert _measure(left)[0] == 3_000


@pytest.mark.slow
def test_names_without_end_are_not_all_looked_at(left: Path, keep: Path) -> None:
    (left / "first").write_bytes(b"x")
    (left / "many").mkdir()
    handle = os.open(left / "many", os.O_RDONLY)
    for number in range(100_010):
        os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    files, notices = _collect(left, keep, limits=RunLimits(output_files=1))
    assert files == (_file(keep, "first", b"x"),)
    assert notices[0] == (
        "output many holds more names than are looked at (100,000): the rest was not seen and was left behind"
    )
    assert notices[-1] == "… and 99,979 more were left behind"
    assert _measure(left)[0] == 100_012


def test_file_that_cannot_be_copied_whole_is_not_kept_in_part(left: Path, keep: Path) -> None:
    import resource

    (left / "large").write_bytes(b"x" * 3_000_000)
    (left / "small").write_bytes(b"x")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, before[1]))  # As a disk that is full in the middle.
    try:
        collected = _collect(left, keep)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert collected == (
        (_file(keep, "small", b"x"),),
        ("output large cannot be copied: File too large and was left behind",),
    )
    assert _read_tree(keep) == {b"small": b"x"}


_AS_A_USER = """
import json, mimetypes, os, sys
from prowess.execution.outputs import collect_outputs, measure_folder
from prowess.policy import RunLimits
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
handle = int(sys.argv[1])
files, notices = collect_outputs(handle, sys.argv[2], limits=RunLimits())
print(json.dumps([[file.path for file in files], notices, measure_folder(handle)[0]]))
"""


def test_what_cannot_be_read_is_left_behind(left: Path) -> None:
    for name in ("locked file", "open file"):
        (left / name).write_bytes(b"")
    for name in ("locked folder", "unlisted folder"):
        (left / name).mkdir()
        (left / name / "inner").write_bytes(b"")
    (left / "locked file").chmod(0)
    (left / "locked folder").chmod(0)
    (left / "unlisted folder").chmod(0o311)
    handle = os.open(left, os.O_RDONLY)
    with tempfile.TemporaryDirectory() as keep:
        if os.getuid() == 0:
            for path in (left, *left.iterdir(), Path(keep)):
                os.chown(path, _NOBODY, _NOBODY)
        command = [sys.executable, "-c", _AS_A_USER, str(handle), keep]
        done = subprocess.run(command, pass_fds=[handle], capture_output=True, check=True)
    os.close(handle)
    assert json.loads(done.stdout) == [
        ["open file"],
        [
            "output locked file cannot be opened: Permission denied and was left behind",
            "output locked folder cannot be opened: Permission denied and was left behind",
            "output unlisted folder cannot be opened: Permission denied and was left behind",
        ],
        1 << 40,  # What cannot be looked into is taken for too much.
    ]
    for folder in left.iterdir():
        folder.chmod(0o700)  # So that any user can clear them away.


# Secrets

_SECRET = "hunter2-correct-horse"


def test_file_that_holds_a_secret_is_left_behind(left: Path, keep: Path) -> None:
    (left / "clean.txt").write_bytes(b"hunter2")
    (left / "env.txt").write_bytes(b"x" * 2_000_000 + f"TOKEN={_SECRET}\n".encode())
    (left / "hex.txt").write_bytes(_SECRET.encode().hex().encode())
    across = 2 * (1 << 20) - 4  # Where one part that is read ends and the next begins.
    (left / "torn.bin").write_bytes(b"\0" * across + _SECRET.encode())
    assert _collect(left, keep, secrecy=Redactor({"TOKEN": _SECRET}).found) == (
        (_file(keep, "clean.txt", b"hunter2", "text/plain"),),
        tuple(
            f"output {name} holds the secret TOKEN and was left behind" for name in ("env.txt", "hex.txt", "torn.bin")
        ),
    )
    assert _read_tree(keep) == {b"clean.txt": b"hunter2"}


def test_name_that_holds_a_secret_is_neither_kept_nor_shown(left: Path, keep: Path) -> None:
    (left / _SECRET).write_bytes(b"")
    (left / f"folder-{_SECRET}").mkdir()
    (left / f"folder-{_SECRET}" / "file").write_bytes(b"")
    (left / f"link-{_SECRET}").symlink_to("nowhere")
    (left / "clean").write_bytes(b"")
    unnamed = "output a file whose name holds a secret"
    assert _collect(left, keep, secrecy=Redactor({"TOKEN": _SECRET}).found) == (
        (_file(keep, "clean", b""),),
        (
            f"{unnamed} holds the secret TOKEN and was left behind",
            f"{unnamed} holds the secret TOKEN and was left behind",
            f"{unnamed} is a link and was left behind",
        ),
    )
    assert os.listdir(keep) == ["clean"]


# Measuring


def test_measure_counts_names_and_the_blocks_that_they_take(left: Path) -> None:
    (left / "sub").mkdir()
    (left / "sub" / "file").write_bytes(b"x" * 10_000)
    (left / "other").write_bytes(b"x" * 100)
    (left / "link").symlink_to("/usr")
    (left / "loop").symlink_to(".")
    with (left / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    taken = sum(os.lstat(path).st_blocks * 512 for path in (left / "sub" / "file", left / "other", left / "link"))
    assert _measure(left) == (6, taken)
    assert _measure(left) == (6, taken)  # A handle can be measured again and again.
