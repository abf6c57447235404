"""Packages that a script declares are locked by version and hash, by the real uv and an index of the test's own."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from prowess.errors import Refused, WorldError
from prowess.execution.packages.locking import MAX_PACKAGES, Interpreter, Lock, Package, find_lock, make_lock
from prowess.execution.packages.script_metadata import ScriptMetadata
from prowess.execution.packages.uv_command import Failure, Ran, find_uv, run_uv, working
from tests.execution.packages.package_index import PackageIndex, isolate, serving

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K9")]

_PYTHON = Interpreter((3, 11, 2), "x86_64-manylinux_2_36")
_ALPHA = ScriptMetadata(("alpha",))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[PackageIndex]:
    """An index with a package that needs another, in several versions."""
    isolate(monkeypatch, tmp_path / "home")
    made = PackageIndex()
    for version in ("1.0", "1.1"):
        made.add_wheel("alpha", version, requires=["beta>=1"])
    for version in ("1.0", "2.0"):
        made.add_wheel("beta", version)
    with serving(made):
        monkeypatch.setenv("UV_DEFAULT_INDEX", made.address)
        yield made


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def _lock(metadata: ScriptMetadata, cache: str, *, interpreter: Interpreter = _PYTHON, offline: bool = False) -> Lock:
    return make_lock(
        metadata, interpreter=interpreter, cache=cache, uv=find_uv(), progress=lambda _: None, offline=offline
    )


def _refused(metadata: ScriptMetadata, cache: str, *, offline: bool = False) -> Refused:
    with pytest.raises(Refused) as caught:
        _lock(metadata, cache, offline=offline)
    assert find_lock(metadata, interpreter=_PYTHON, cache=cache) is None
    assert "\n" not in caught.value.message
    return caught.value


def _files(cache: str) -> list[str]:
    """Return what is kept of locking, but for the empty files that processes lock."""
    found = [path for path in Path(cache).rglob("*") if path.is_file() and path.suffix != ".lock"]
    return sorted(str(path.relative_to(cache)) for path in found)


def _rows(index: PackageIndex, *files: str) -> str:
    hashes = {file: hashlib.sha256(index.files[f"{file}-py3-none-any.whl"]).hexdigest() for file in files}
    return "".join(f"{file.replace('-', '==')} --hash=sha256:{digest}\n" for file, digest in hashes.items())


def test_lock_has_the_newest_packages_that_fit_with_their_hashes(index: PackageIndex, cache: str) -> None:
    lock = _lock(ScriptMetadata(("alpha",), ">=3.11"), cache)
    assert lock == Lock(
        _rows(index, "alpha-1.1", "beta-2.0"),
        lock.digest,
        (Package("alpha", "1.1"), Package("beta", "2.0")),
        "3.11.2",
        "x86_64-manylinux_2_36",
    )


def test_lock_keeps_to_the_versions_that_the_script_wants(index: PackageIndex, cache: str) -> None:
    lock = _lock(ScriptMetadata(("alpha<1.1", "beta==1.*", 'gamma; sys_platform == "win32"')), cache)
    assert lock.packages == (Package("alpha", "1.0"), Package("beta", "1.0"))


def test_only_the_lock_is_left_on_disk(index: PackageIndex, cache: str) -> None:
    lock = _lock(_ALPHA, cache)
    (kept,) = _files(cache)
    assert kept.startswith("locks-1/")
    assert Path(cache, kept).read_text("ascii") == lock.text


def test_progress_is_told_while_packages_are_looked_up(index: PackageIndex, cache: str) -> None:
    heard: list[str] = []
    make_lock(_ALPHA, interpreter=_PYTHON, cache=cache, uv=find_uv(), progress=heard.append)
    assert [line for line in heard if line.startswith("Resolved 2 packages")]
    assert not [line for line in heard if line.startswith("Using")]


def test_lock_stays_as_it_is_when_the_index_has_newer_packages(index: PackageIndex, cache: str) -> None:
    lock = _lock(_ALPHA, cache)
    index.add_wheel("alpha", "5.0")
    assert _lock(_ALPHA, cache) == lock
    assert find_lock(_ALPHA, interpreter=_PYTHON, cache=cache) == lock


def test_lock_does_not_depend_on_the_order_of_the_dependencies(index: PackageIndex, cache: str) -> None:
    lock = _lock(ScriptMetadata(("alpha", "beta<2")), cache)
    assert find_lock(ScriptMetadata(("beta<2", "alpha")), interpreter=_PYTHON, cache=cache) == lock


@pytest.mark.parametrize(
    ("metadata", "interpreter"),
    [
        (ScriptMetadata(("alpha<9",)), _PYTHON),
        (ScriptMetadata(("alpha",), ">=3.11"), _PYTHON),
        (_ALPHA, Interpreter((3, 11, 3), _PYTHON.platform)),
        (_ALPHA, Interpreter((3, 11, 2), "aarch64-unknown-linux-gnu")),
    ],
)
def test_lock_is_for_these_dependencies_this_python_and_this_platform(
    index: PackageIndex, cache: str, metadata: ScriptMetadata, interpreter: Interpreter
) -> None:
    _lock(_ALPHA, cache)
    assert find_lock(metadata, interpreter=interpreter, cache=cache) is None


def test_digest_changes_with_the_minor_version_of_python_and_the_platform(index: PackageIndex, cache: str) -> None:
    platform = _PYTHON.platform
    pythons = [_PYTHON, Interpreter((3, 11, 9), platform), Interpreter((3, 12, 2), platform)]
    pythons.append(Interpreter((3, 11, 2), "aarch64-unknown-linux-gnu"))
    locks = [_lock(_ALPHA, cache, interpreter=python) for python in pythons]
    assert len({lock.text for lock in locks}) == 1
    assert [locks.index(next(one for one in locks if one.digest == lock.digest)) for lock in locks] == [0, 0, 2, 3]


def test_script_without_dependencies_has_an_empty_lock(cache: str) -> None:
    lock = make_lock(ScriptMetadata(), interpreter=_PYTHON, cache=cache, uv="/nonexistent", progress=lambda _: None)
    assert (lock.text, lock.packages) == ("", ())


# What is refused


def test_offline_and_not_locked_before_is_refused(index: PackageIndex, cache: str) -> None:
    refused = _refused(_ALPHA, cache, offline=True)
    assert refused.code == "packages-offline"
    assert "connect to the network once" in refused.hint
    assert index.fetched == []


def test_offline_and_locked_before_works(index: PackageIndex, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = _lock(_ALPHA, cache)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    assert _lock(_ALPHA, cache, offline=True) == lock
    assert _lock(_ALPHA, cache) == lock


def test_index_that_cannot_be_reached_is_refused_as_offline(
    tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://name:password@127.0.0.1:9/simple")
    refused = _refused(_ALPHA, cache)
    assert refused.code == "packages-offline"
    assert "password" not in refused.message


@pytest.mark.parametrize(
    ("dependency", "reason"),
    [("alpha>=5", "only alpha<=1.1 is available"), ("nowhere", "nowhere was not found in the package registry")],
)
def test_packages_that_there_are_not_are_refused_with_the_reason(
    index: PackageIndex, cache: str, dependency: str, reason: str
) -> None:
    refused = _refused(ScriptMetadata((dependency,)), cache)
    assert refused.code == "packages-unresolved"
    assert reason in refused.message
    assert _files(cache) == []


def test_package_that_must_be_built_is_refused_and_none_of_its_code_runs(
    index: PackageIndex, cache: str, tmp_path: Path
) -> None:
    index.add_source("delta", "1.0", setup=f"open({str(tmp_path / 'ran')!r}, 'w')")
    refused = _refused(ScriptMetadata(("delta",)), cache)
    assert refused.code == "packages-unresolved"
    assert "no usable wheels" in refused.message
    assert not (tmp_path / "ran").exists()


def test_older_wheel_is_taken_where_the_newest_must_be_built(index: PackageIndex, cache: str) -> None:
    index.add_source("beta", "3.0", setup="raise SystemExit(1)")
    assert _lock(ScriptMetadata(("beta",)), cache).packages == (Package("beta", "2.0"),)


def test_package_that_needs_another_by_its_address_is_refused(index: PackageIndex, cache: str) -> None:
    index.add_wheel("epsilon", "1.0", requires=[f"beta @ {index.address}/../files/beta-2.0-py3-none-any.whl"])
    assert _refused(ScriptMetadata(("epsilon",)), cache).code == "packages-unresolved"


def test_python_that_the_script_cannot_use_is_refused_without_a_look_at_the_index(cache: str) -> None:
    with pytest.raises(Refused) as caught:
        make_lock(
            ScriptMetadata(("alpha",), ">=3.13"),
            interpreter=_PYTHON,
            cache=cache,
            uv="/nonexistent",
            progress=lambda _: None,
        )
    assert caught.value.message == "the script needs Python >=3.13, and the sandbox has 3.11.2"
    assert caught.value.code == "packages-unresolved"


def test_platform_that_uv_does_not_know_is_refused(index: PackageIndex, cache: str) -> None:
    with pytest.raises(Refused, match="invalid value 'pdp11'") as caught:
        _lock(_ALPHA, cache, interpreter=Interpreter((3, 11, 2), "pdp11"))
    assert caught.value.code == "packages-unresolved"


def test_more_packages_than_are_allowed_are_refused(index: PackageIndex, cache: str) -> None:
    names = [f"p{number}" for number in range(MAX_PACKAGES)]
    for name in names:
        index.add_wheel(name, "1.0")
    index.add_wheel("many", "1.0", requires=names)
    refused = _refused(ScriptMetadata(("many",)), cache)
    assert (refused.code, f"{MAX_PACKAGES + 1} of them" in refused.message) == ("packages-unresolved", True)


@pytest.mark.parametrize(
    "content",
    [
        b"alpha==1.1\n",
        b"alpha==1.1 --hash=md5:d41d8cd98f00b204e9800998ecf8427e\n",
        b"alpha==1.1 --hash=sha256:00\n",
        b"alpha>=1.1 --hash=sha256:" + b"0" * 64 + b"\n",
        b"alpha @ https://example.org/a.whl --hash=sha256:" + b"0" * 64 + b"\n",
        b"--index-url https://example.org\n",
        b"-r /etc/passwd\n",
        b"# nothing\n",
        b"alpha==1.1 --hash=sha256:" + b"0" * 64 + b" --hash=sha256:00\n",
        b"alpha==1.1 --hash=sha256:" + b"0" * 64 + b" --pre\n",
        2 * (b"alpha==1.1 --hash=sha256:" + b"0" * 64 + b"\n"),
        b"\xff\xfe",
        b"".join(b"p%d==1 --hash=sha256:%s\n" % (number, b"0" * 64) for number in range(MAX_PACKAGES + 1)),
        b"\n" * 5_000_000,
    ],
)
def test_damaged_lock_counts_for_nothing_and_is_made_again(index: PackageIndex, cache: str, content: bytes) -> None:
    lock = _lock(_ALPHA, cache)
    (kept,) = _files(cache)
    Path(cache, kept).write_bytes(content)
    assert find_lock(_ALPHA, interpreter=_PYTHON, cache=cache) is None
    assert _lock(_ALPHA, cache) == lock
    assert Path(cache, kept).read_text("ascii") == lock.text


def test_lock_is_not_read_through_a_link_or_from_a_pipe(index: PackageIndex, cache: str, tmp_path: Path) -> None:
    lock = _lock(_ALPHA, cache)
    path = Path(cache, *_files(cache))
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert find_lock(_ALPHA, interpreter=_PYTHON, cache=cache) is None
    path.unlink()
    os.mkfifo(path)
    assert find_lock(_ALPHA, interpreter=_PYTHON, cache=cache) is None
    path.unlink()
    (tmp_path / "elsewhere").rename(path)
    assert find_lock(_ALPHA, interpreter=_PYTHON, cache=cache) == lock


# Whose settings count


@pytest.mark.parametrize("settings", ["uv.toml", "pyproject.toml", "workspace"])
@pytest.mark.parametrize("place", ["working folder", "above the cache"])
def test_settings_of_a_project_are_not_obeyed(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, place: str
) -> None:
    evil = PackageIndex()
    evil.add_wheel("alpha", "9.0")
    project = tmp_path / "project"
    (project / "cache").mkdir(parents=True)
    with serving(evil):
        line = f'extra-index-url = ["{evil.address}"]\nindex-strategy = "unsafe-best-match"\n'
        files = {
            "uv.toml": {"uv.toml": line},
            "pyproject.toml": {"pyproject.toml": f'[project]\nname = "p"\nversion = "1"\n[tool.uv]\n{line}'},
            "workspace": {"pyproject.toml": '[tool.uv.workspace]\nmembers = ["**"]\n', "uv.toml": line},
        }
        for name, content in files[settings].items():
            (project / name).write_text(content)
        monkeypatch.chdir(project if place == "working folder" else tmp_path)
        monkeypatch.setenv("UV_WORKING_DIR", str(project))
        monkeypatch.setenv("UV_PROJECT", str(project))
        cache = str(project / "cache" if place == "above the cache" else tmp_path / "cache")
        assert _lock(_ALPHA, cache).packages == (Package("alpha", "1.1"), Package("beta", "2.0"))


def test_settings_of_the_user_are_obeyed(
    index: PackageIndex, tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    settings = tmp_path / "home" / ".config" / "uv" / "uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'index-url = "{index.address}"\n')
    assert _lock(_ALPHA, cache).packages == (Package("alpha", "1.1"), Package("beta", "2.0"))


# uv itself


def _program(tmp_path: Path, code: str) -> str:
    """Return a program in uv's place."""
    path = tmp_path / "uv"
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{code}\n")
    path.chmod(0o755)
    return str(path)


def _run(uv: str, tmp_path: Path, *, timeout_seconds: float = 30, max_bytes: int = 1 << 20) -> tuple[Ran, list[str]]:
    heard: list[str] = []
    with working(str(tmp_path / "work"), "00", progress=heard.append) as folder:
        ran = run_uv(uv, (), folder=folder, progress=heard.append, timeout_seconds=timeout_seconds, max_bytes=max_bytes)
    assert not (tmp_path / "work" / "making" / "00").exists()
    return ran, heard


def test_uv_sees_what_it_needs_of_the_environment_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    kept = {"UV_DEFAULT_INDEX": "i", "https_proxy": "p", "SSL_CERT_FILE": "c", "PIP_CERT": "c", "XDG_CONFIG_HOME": "x"}
    dropped = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "UV_NO_VERIFY_HASHES", "UV_PYTHON", "API_KEY")
    for name, value in {**kept, **dict.fromkeys(dropped, "no")}.items():
        monkeypatch.setenv(name, value)
    show = f"for name in {[*kept, *dropped]!r}:\n    if name in os.environ: print(name, file=sys.stderr)"
    assert _run(_program(tmp_path, show), tmp_path) == (Ran(None), list(kept))


def test_uv_has_no_standard_input_and_a_folder_of_its_own(tmp_path: Path) -> None:
    show = "print(repr(sys.stdin.read()), os.getcwd().split('/')[-3:-1], sorted(os.listdir()), file=sys.stderr)"
    assert _run(_program(tmp_path, show), tmp_path)[1] == ["'' ['making', '00'] ['pyproject.toml']"]


def test_uv_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"os.fork()\nopen({str(pids)!r}, 'a').write(str(os.getpid()) + '\\n')\ntime.sleep(60)"
    assert _run(_program(tmp_path, code), tmp_path, timeout_seconds=1)[0] == Ran(Failure.TIME, "it takes too long")
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 2
    assert _living(started) == []


def test_uv_that_writes_too_much_is_ended(tmp_path: Path) -> None:
    code = "open('large', 'wb').write(bytes(2 << 20))\ntime.sleep(60)"
    assert _run(_program(tmp_path, code), tmp_path)[0] == Ran(Failure.SIZE, "more than 1,048,576 bytes were fetched")


def test_endless_complaints_are_kept_within_bounds(tmp_path: Path) -> None:
    code = "sys.stderr.write('x' * 100_000 + '\\n' + 'y\\x1b\\n' * 5_000 + 'error: enough\\n'); sys.exit(2)"
    ran, heard = _run(_program(tmp_path, code), tmp_path)
    assert ran == Ran(Failure.OTHER, "enough")
    assert (max(map(len, heard)), heard[-2:]) == (2_000, ["y\\x1b", "error: enough"])


def test_uv_dies_with_the_process_that_runs_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    uv = _program(tmp_path, f"open({str(pids)!r}, 'w').write(str(os.getpid()) + '\\n')\ntime.sleep(60)")
    code = "import sys; from tests.execution.packages.test_locking import _run; from pathlib import Path; "
    code += "_run(sys.argv[1], Path(sys.argv[2]))"
    with subprocess.Popen([sys.executable, "-c", code, uv, str(tmp_path)]) as child:
        _wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
        child.kill()
    _wait_for(lambda: _living([int(pids.read_text())]) == [])


def test_uv_that_is_not_there_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", ".")
    monkeypatch.chdir(tmp_path)
    _program(tmp_path, "")  # One in the working folder does not count.
    with pytest.raises(WorldError) as caught:
        find_uv()
    assert (caught.value.code, caught.value.hint) == ("no-uv", "pip install 'prowess[scripts]'")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_uv() == str(tmp_path / "uv")


def _living(pids: list[int]) -> list[int]:
    """Return those that still run; a zombie that nobody has reaped does not."""
    found: list[int] = []
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            continue
        if status.rpartition(")")[2].split()[0] != "Z":
            found.append(pid)
    return found


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
