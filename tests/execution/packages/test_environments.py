"""Locked packages are installed once, outside of any run, and found again by their digest."""

import dataclasses
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest

from prowess.errors import Refused, WorldError
from prowess.execution.packages.environments import Environments
from prowess.execution.packages.locking import Interpreter, Lock, Package, make_lock
from prowess.execution.packages.script_metadata import ScriptMetadata
from prowess.execution.packages.uv_command import find_uv, remove_tree
from tests.execution.packages.package_index import PackageIndex, isolate, serving

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K9")]

_PYTHON = Interpreter((3, 11, 2), "x86_64-manylinux_2_36")
_NOWHERE = "http://127.0.0.1:9/simple"
_INSTALLER = """
import json, sys
from prowess.execution.packages.environments import Environments
from prowess.execution.packages.locking import Lock, Package
from prowess.execution.packages.uv_command import find_uv
given = json.loads(sys.argv[2])
lock = Lock(**{**given, "packages": tuple(Package(**one) for one in given["packages"])})
print(Environments(sys.argv[1]).install(lock, uv=find_uv(), progress=lambda line: None))
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[PackageIndex]:
    """An index with a package that needs another."""
    isolate(monkeypatch, tmp_path / "home")
    made = PackageIndex()
    made.add_wheel("alpha", "1.1", requires=["beta>=1"], content={"alpha.py": "import beta\nversion = '1.1'\n"})
    for version in ("1.0", "2.0"):
        made.add_wheel("beta", version)
    with serving(made):
        monkeypatch.setenv("UV_DEFAULT_INDEX", made.address)
        yield made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _lock(cache: Path, *dependencies: str) -> Lock:
    metadata = ScriptMetadata(dependencies or ("alpha",))
    return make_lock(metadata, interpreter=_PYTHON, cache=str(cache), uv=find_uv(), progress=lambda _: None)


def _install(environments: Environments, lock: Lock, *, offline: bool = False) -> str:
    return environments.install(lock, uv=find_uv(), progress=lambda _: None, offline=offline)


def _refused(environments: Environments, lock: Lock, cache: Path, *, offline: bool = False) -> Refused:
    """Return the refusal, after making sure that nothing is left of the attempt."""
    with pytest.raises(Refused) as caught:
        _install(environments, lock, offline=offline)
    assert "\n" not in caught.value.message
    assert environments.find(lock) is None
    assert _names(cache) == set()
    return caught.value


def _names(cache: Path) -> set[str]:
    """Return what lies among the environments, but for the empty files that processes lock."""
    folder = cache / "environments-1"
    found = {str(path.relative_to(folder)) for path in folder.iterdir()} if folder.exists() else set[str]()
    making = folder / "making"
    assert not making.exists() or all(path.suffix == ".lock" for path in making.iterdir())
    return found - {"making", "in-use"}


def _import(folder: str, code: str) -> str:
    """Return what a Python prints that knows the packages and nothing of ours."""
    command = ["/usr/bin/python3", "-I", "-c", f"import sys; sys.path.insert(0, sys.argv[1]); {code}", folder]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def _start_installer(cache: Path, lock: Lock) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _INSTALLER, str(cache), json.dumps(dataclasses.asdict(lock))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _modes(folder: str) -> Mapping[str, str]:
    return {
        str(path.relative_to(folder)): stat.filemode(path.lstat().st_mode)
        for path in (Path(folder), *Path(folder).rglob("*"))
    }


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_locked_packages_are_installed_and_can_be_imported(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    environments = Environments(str(cache))
    assert environments.find(lock) is None
    folder = _install(environments, lock)
    assert folder == environments.find(lock) == str(cache / "environments-1" / lock.digest / "packages")
    assert _import(folder, "import alpha, beta; print(alpha.version, beta.version)") == "1.1 2.0"
    assert _names(cache) == {lock.digest}


def test_installed_packages_are_those_of_the_lock_though_the_index_has_newer_ones(
    index: PackageIndex, cache: Path
) -> None:
    lock = _lock(cache)
    index.add_wheel("beta", "3.0")
    folder = _install(Environments(str(cache)), lock)
    assert _import(folder, "import beta; print(beta.version)") == "2.0"


def test_progress_is_told_while_packages_are_installed(index: PackageIndex, cache: Path) -> None:
    heard: list[str] = []
    Environments(str(cache)).install(_lock(cache), uv=find_uv(), progress=heard.append)
    assert [line for line in heard if line.startswith("Installed 2 packages")]
    assert [line.strip() for line in heard if "==" in line] == ["+ alpha==1.1", "+ beta==2.0"]


def test_everything_in_an_environment_is_read_only(index: PackageIndex, cache: Path) -> None:
    index.add_wheel("tool", "1.0", content={"tool/__init__.py": "", "tool/run.sh": "#!/bin/sh\n"})
    modes = _modes(_install(Environments(str(cache)), _lock(cache, "tool")))
    assert {path: modes[path] for path in (".", "tool", "tool/__init__.py", "tool/run.sh")} == {
        ".": "dr-xr-xr-x",
        "tool": "dr-xr-xr-x",
        "tool/__init__.py": "-r--r--r--",
        "tool/run.sh": "-r-xr-xr-x",
    }
    assert {mode[1:] for mode in modes.values()} == {"r-xr-xr-x", "r--r--r--"}


def test_nothing_of_a_package_is_run_to_install_it(index: PackageIndex, cache: Path, tmp_path: Path) -> None:
    deed = f"import os; open({str(tmp_path / 'ran')!r}, 'w')\n"
    content = {"evil.pth": deed, "evil.py": deed, "sitecustomize.py": deed, "usercustomize.py": deed}
    index.add_wheel("evil", "1.0", content=content)
    folder = _install(Environments(str(cache)), _lock(cache, "evil"))
    assert not (tmp_path / "ran").exists()
    assert content.keys() <= set(os.listdir(folder))
    assert "__pycache__" not in os.listdir(folder)


def test_empty_lock_has_an_empty_environment(tmp_path: Path, cache: Path) -> None:
    lock = make_lock(ScriptMetadata(), interpreter=_PYTHON, cache=str(cache), uv="-", progress=lambda _: None)
    folder = Environments(str(cache)).install(lock, uv="-", progress=lambda _: None)
    assert os.listdir(folder) == []


def test_uv_that_cannot_be_started_is_an_error_of_the_world(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    with pytest.raises(WorldError) as caught:
        Environments(str(cache)).install(lock, uv="/nonexistent/uv", progress=lambda _: None)
    assert (caught.value.code, "/nonexistent/uv" in caught.value.message) == ("no-uv", True)
    assert _names(cache) == set()


# What is refused


@pytest.mark.parametrize("published", ["new hash", "old hash"])
def test_package_that_was_changed_since_it_was_locked_is_refused(
    index: PackageIndex, cache: Path, published: str
) -> None:
    lock = _lock(cache)
    if published == "old hash":
        index.pages["beta"] = index.render_page("beta")
    index.add_wheel("beta", "2.0", content={"beta.py": "version = 'evil'\n"})
    refused = _refused(Environments(str(cache)), lock, cache)
    assert refused.code == "packages-changed"
    assert "beta" in refused.message


def test_changed_package_is_refused_whatever_the_environment_says(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = _lock(cache)
    index.add_wheel("beta", "2.0", content={"beta.py": "version = 'evil'\n"})
    monkeypatch.setenv("UV_NO_VERIFY_HASHES", "1")
    monkeypatch.setenv("UV_REQUIRE_HASHES", "0")
    assert _refused(Environments(str(cache)), lock, cache).code == "packages-changed"


def test_package_that_has_left_the_index_is_refused(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    del index.files["beta-2.0-py3-none-any.whl"]
    refused = _refused(Environments(str(cache)), lock, cache)
    assert (refused.code, "beta" in refused.message) == ("packages-failed", True)


def test_offline_and_not_installed_is_refused(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    refused = _refused(Environments(str(cache)), lock, cache, offline=True)
    assert refused.code == "packages-offline"
    assert "connect to the network once" in refused.hint
    assert index.fetched == []


def test_index_that_cannot_be_reached_is_refused_as_offline(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = _lock(cache)
    monkeypatch.setenv("UV_DEFAULT_INDEX", _NOWHERE)
    assert _refused(Environments(str(cache)), lock, cache).code == "packages-offline"


def test_offline_and_installed_before_works(index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environments = Environments(str(cache))
    folder = _install(environments, _lock(cache))
    monkeypatch.setenv("UV_DEFAULT_INDEX", _NOWHERE)
    lock = _lock(cache)
    assert environments.find(lock) == _install(environments, lock, offline=True) == folder
    assert sorted(index.fetched) == ["alpha-1.1-py3-none-any.whl", "beta-2.0-py3-none-any.whl"]


def test_packages_that_take_too_much_room_are_refused_and_nothing_is_left(index: PackageIndex, cache: Path) -> None:
    index.add_wheel("large", "1.0", content={"large.bin": bytes(3_000_000)})
    lock = _lock(cache, "large")
    assert _refused(Environments(str(cache), max_bytes=1_000_000), lock, cache).code == "packages-too-large"
    assert _import(_install(Environments(str(cache), max_bytes=4_000_000), lock), "print('fine')") == "fine"


def test_very_many_files_count_as_room(index: PackageIndex, cache: Path) -> None:
    index.add_wheel("many", "1.0", content={f"many/{number}": "" for number in range(500)})
    assert _refused(Environments(str(cache), max_bytes=1_000_000), _lock(cache, "many"), cache).code == (
        "packages-too-large"
    )


def test_index_that_does_not_answer_in_time_is_refused(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    index.gate.clear()
    refused = _refused(Environments(str(cache), timeout_seconds=1), lock, cache)
    assert (refused.code, index.waiting.is_set()) == ("packages-timeout", True)


# Several at once, and crashes


def test_two_processes_at_once_install_once(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    index.gate.clear()
    processes = [_start_installer(cache, lock) for _ in range(2)]
    assert index.waiting.wait(30)
    time.sleep(1)  # The other one gets as far as it can.
    index.gate.set()
    said = [process.communicate(timeout=60) for process in processes]
    folder = Environments(str(cache)).find(lock)
    assert said == [(f"{folder}\n", "")] * 2
    assert sorted(index.fetched) == ["alpha-1.1-py3-none-any.whl", "beta-2.0-py3-none-any.whl"]


def test_installer_that_is_killed_leaves_nothing_broken(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    index.gate.clear()
    process = _start_installer(cache, lock)
    assert index.waiting.wait(30)
    process.kill()
    process.communicate(timeout=60)
    _wait_for(lambda: _processes_in(cache) == [])
    index.gate.set()
    environments = Environments(str(cache))
    assert environments.find(lock) is None
    assert _import(_install(environments, lock), "import alpha; print(alpha.version)") == "1.1"
    assert _names(cache) == {lock.digest}


def test_what_a_killed_installer_left_is_cleared_by_an_installation_of_others(index: PackageIndex, cache: Path) -> None:
    lock, other = _lock(cache), _lock(cache, "beta<2")
    index.gate.clear()
    process = _start_installer(cache, lock)
    assert index.waiting.wait(30)
    process.kill()
    process.communicate(timeout=60)
    _wait_for(lambda: _processes_in(cache) == [])
    index.gate.set()
    _install(Environments(str(cache)), other)
    assert _names(cache) == {other.digest}


def _processes_in(folder: Path) -> list[str]:
    """Return the processes whose working folder lies below a folder."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if place.startswith(str(folder)):
            found.append(entry.name)
    return found


@pytest.mark.parametrize("damage", ["no marker", "other marker", "no packages"])
def test_environment_that_is_not_complete_is_installed_again(index: PackageIndex, cache: Path, damage: str) -> None:
    lock, environments = _lock(cache), Environments(str(cache))
    folder = Path(_install(environments, lock))
    match damage:
        case "no marker":
            (folder.parent / "complete").unlink()
        case "other marker":
            (folder.parent / "complete").write_text("0" * 64)
        case _:
            remove_tree(str(folder))
    assert environments.find(lock) is None
    assert _import(_install(environments, lock), "import alpha; print(alpha.version)") == "1.1"


# Collecting


def _three(index: PackageIndex, cache: Path) -> tuple[Environments, list[Lock]]:
    """Return environments that were asked for one after another."""
    environments = Environments(str(cache))
    for name in ("one", "two", "three"):
        index.add_wheel(name, "1.0")
    locks = [_lock(cache, name) for name in ("one", "two", "three")]
    for second, lock in enumerate(locks):
        folder = _install(environments, lock)
        os.utime(Path(folder).parent / "complete", (second, second))
    return environments, locks


def test_environments_that_were_not_asked_for_longest_are_collected(index: PackageIndex, cache: Path) -> None:
    environments, (one, two, three) = _three(index, cache)
    environments.find(one)
    assert environments.collect(keep=2) == 1
    assert [environments.find(lock) is not None for lock in (one, two, three)] == [True, False, True]
    assert environments.collect(keep=0) == 2
    assert _names(cache) == set()


def test_environment_in_use_is_not_collected(index: PackageIndex, cache: Path) -> None:
    environments, locks = _three(index, cache)
    with environments.hold(locks[0]), Environments(str(cache)).hold(locks[0]):
        folder = environments.find(locks[0])
        Environments(str(cache)).collect(keep=0)
        assert folder == environments.find(locks[0])
        assert _import(str(folder), "import one; print(one.version)") == "1.0"
    environments.collect(keep=0)
    assert _names(cache) == set()


def test_incomplete_environment_is_collected_first(index: PackageIndex, cache: Path) -> None:
    environments, (one, two, three) = _three(index, cache)
    (cache / "environments-1" / three.digest / "complete").unlink()
    assert environments.collect(keep=2) == 1
    assert _names(cache) == {one.digest, two.digest}


def test_nothing_is_collected_where_nothing_is(cache: Path) -> None:
    assert Environments(str(cache)).collect(keep=0) == 0


def test_lock_of_another_python_has_an_environment_of_its_own(index: PackageIndex, cache: Path) -> None:
    lock = _lock(cache)
    environments = Environments(str(cache))
    _install(environments, lock)
    newer = make_lock(
        ScriptMetadata(("alpha",)),
        interpreter=Interpreter((3, 12, 0), _PYTHON.platform),
        cache=str(cache),
        uv=find_uv(),
        progress=lambda _: None,
    )
    assert newer.packages == lock.packages == (Package("alpha", "1.1"), Package("beta", "2.0"))
    assert environments.find(newer) is None
