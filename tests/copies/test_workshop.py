"""What is on the way in or out lies outside of the mount, and does not stay for ever."""

import os
import time
from pathlib import Path

import pytest

from prowess.copies.workshop import GRACE_SECONDS, Workshop
from tests.copies.parts import names

_DIGEST = "d" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shop"


def _make(path: str) -> str:
    os.mkdir(path)
    Path(path, "file").touch()
    os.chmod(path, 0o555)
    return path


def _retired(folder: Path) -> list[str]:
    return sorted(names(folder / "retired"))


def _name(seconds_ago: float, digest: str = _DIGEST) -> str:
    return f"{int((time.time() - seconds_ago) * 1_000)}-{digest}-{os.urandom(6).hex()}"


def test_every_path_is_new_and_private(folder: Path) -> None:
    shop = Workshop(str(folder))
    paths = {shop.new_draft() for _ in range(50)} | {shop.new_swap() for _ in range(50)}
    assert len(paths) == 100
    assert not any(map(os.path.lexists, paths))
    assert [oct(place.stat().st_mode & 0o777) for place in (folder, folder / "staging")] == ["0o700", "0o700"]


@pytest.mark.requirement("K5")
def test_drafts_that_a_crash_left_go_and_former_copies_retire(folder: Path) -> None:
    shop = Workshop(str(folder))
    _make(shop.new_draft())
    _make(shop.new_swap())
    Path(shop.new_swap()).symlink_to("/etc")
    (folder / "staging" / "odd").touch()
    shop.clean_staging()
    assert names(folder / "staging") == set()
    assert [name.split("-")[1] for name in _retired(folder)] == ["", ""]
    assert os.path.isdir("/etc")


def test_nothing_to_clean_is_no_error(folder: Path) -> None:
    shop = Workshop(str(folder))
    shop.clean_staging()
    assert (shop.clean_retired(), list(shop.retired_digests()), shop.has_retired()) == ([], [], False)
    assert not folder.exists()


@pytest.mark.requirement("K5")
def test_retired_copy_stays_for_its_readers_and_then_goes(folder: Path) -> None:
    shop = Workshop(str(folder))
    copy = _make(shop.new_swap())
    handle = os.open(copy, os.O_RDONLY)
    try:
        shop.retire(copy, digest=_DIGEST)
        assert (shop.clean_retired(), list(shop.retired_digests()), shop.has_retired()) == ([], [_DIGEST], True)
        assert os.listdir(handle) == ["file"]
    finally:
        os.close(handle)
    (name,) = _retired(folder)
    (folder / "retired" / name).rename(folder / "retired" / _name(GRACE_SECONDS + 1))
    assert (shop.clean_retired(), _retired(folder)) == ([_DIGEST], [])


@pytest.mark.parametrize("seconds_ago", [GRACE_SECONDS + 1, 10**9])
def test_old_copies_go(folder: Path, seconds_ago: float) -> None:
    (folder / "retired" / _name(seconds_ago)).mkdir(parents=True)
    assert (Workshop(str(folder)).clean_retired(), _retired(folder)) == ([_DIGEST], [])


@pytest.mark.parametrize("seconds_ahead", [2 * GRACE_SECONDS, 10**6])
def test_time_of_those_from_the_future_begins_anew(folder: Path, seconds_ahead: float) -> None:
    """A clock that was set back must neither keep them for ever nor take them from who reads in them."""
    shop = Workshop(str(folder))
    (folder / "retired" / _name(-seconds_ahead)).mkdir(parents=True)
    assert (shop.clean_retired(), list(shop.retired_digests())) == ([], [_DIGEST])
    (name,) = _retired(folder)
    assert abs(int(name.split("-")[0]) / 1_000 - time.time()) < GRACE_SECONDS


def test_what_nobody_retired_goes_too(folder: Path) -> None:
    (folder / "retired" / "odd").mkdir(parents=True)
    (folder / "retired" / "odd-file").touch()
    assert (Workshop(str(folder)).clean_retired(), _retired(folder)) == ([], [])


def test_too_many_retired_copies_go_sooner(folder: Path) -> None:
    (folder / "retired").mkdir(parents=True)
    young, older = _name(2), [_name(30) for _ in range(2_005)]
    for name in (young, *older):
        (folder / "retired" / name).touch()
    assert len(Workshop(str(folder)).clean_retired()) == 6
    assert len(_retired(folder)) == 2_000
    assert young in _retired(folder)


@pytest.mark.parametrize("kind", ["file", "link", "fifo"])
def test_anything_can_be_retired(folder: Path, tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd"
    {"file": odd.touch, "link": lambda: odd.symlink_to("/etc"), "fifo": lambda: os.mkfifo(odd)}[kind]()
    Workshop(str(folder)).retire(str(odd))
    assert (len(_retired(folder)), os.path.lexists(odd)) == (1, False)


def test_what_is_disposed_of_is_gone(folder: Path, tmp_path: Path) -> None:
    target = _make(str(tmp_path / "version"))
    Workshop(str(folder)).dispose(target)
    assert (os.path.lexists(target), names(folder / "staging")) == (False, set())
