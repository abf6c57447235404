"""A root that somebody uses is not taken away, and runtimes with other sources keep off it."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prowess.copies.layout import Layout, RootPlace
from prowess.copies.occupancy import Occupancy, is_claimed_otherwise, taking_over
from tests.copies.forks import do_in_fork, idle_fork
from tests.copies.parts import names


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(str(tmp_path / "home"))


@pytest.fixture
def place(layout: Layout) -> RootPlace:
    return layout.active("ann")


def _is_free(layout: Layout, place: RootPlace) -> bool:
    with taking_over(layout, place) as is_free:
        return is_free


@contextmanager
def _using(layout: Layout, place: RootPlace, *claims: str) -> Generator[None]:
    held = [Occupancy(layout, place, claim=claim) for claim in claims]
    try:
        yield
    finally:
        for one in held:
            one.close()


def test_root_that_nobody_has_used_is_free(layout: Layout, place: RootPlace) -> None:
    assert (_is_free(layout, place), is_claimed_otherwise(layout, place, "mine")) == (True, False)


def test_root_is_free_when_the_last_of_its_users_is_gone(layout: Layout, place: RootPlace) -> None:
    first, second = Occupancy(layout, place), Occupancy(layout, place)
    seen = [_is_free(layout, place)]
    for one in (first, first, second, second):
        one.close()
        seen.append(_is_free(layout, place))
    assert seen == [False, False, False, True, True]
    assert names(Path(place.book, "in-use")) == set()


@pytest.mark.parametrize(
    ("claims", "is_otherwise"),
    [((), False), (("mine",), False), (("theirs",), True), (("mine", "theirs"), True), (("mine", "mine"), False)],
)
def test_root_is_claimed_otherwise_by_who_fills_it_from_other_sources(
    layout: Layout, place: RootPlace, claims: tuple[str, ...], *, is_otherwise: bool
) -> None:
    with _using(layout, place, *claims):
        assert is_claimed_otherwise(layout, place, "mine") == is_otherwise
        assert _is_free(layout, place) == (not claims)
    assert not is_claimed_otherwise(layout, place, "mine")


def test_use_of_one_root_is_no_use_of_another(layout: Layout, place: RootPlace) -> None:
    others = [layout.active("bob"), layout.active("ann", view="cook"), layout.task("task-1", user="ann")]
    with _using(layout, place, "theirs"):
        assert [_is_free(layout, other) for other in others] == [True] * 3
        assert [is_claimed_otherwise(layout, other, "mine") for other in others] == [False] * 3


def test_question_does_not_end_the_use(layout: Layout, place: RootPlace) -> None:
    with _using(layout, place, "theirs"):
        for _ in range(3):
            assert is_claimed_otherwise(layout, place, "mine")
            assert not _is_free(layout, place)


def test_fork_does_not_go_on_using_what_its_parent_has_left(layout: Layout, place: RootPlace) -> None:
    occupancy = Occupancy(layout, place)
    with idle_fork():
        assert not _is_free(layout, place)
        occupancy.close()
        assert _is_free(layout, place)


def test_fork_that_leaves_a_root_leaves_its_parent_there(layout: Layout, place: RootPlace) -> None:
    occupancy = Occupancy(layout, place)
    do_in_fork(occupancy.close)
    assert not _is_free(layout, place)
    occupancy.close()
    assert _is_free(layout, place)


_USING = """
import sys
from prowess.copies.layout import Layout
from prowess.copies.occupancy import Occupancy
layout = Layout(sys.argv[1])
held = Occupancy(layout, layout.active("ann"), claim="theirs")
print("here", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_use_by_another_process_ends_with_it(layout: Layout, place: RootPlace, end: signal.Signals | None) -> None:
    command = [sys.executable, "-c", _USING, layout.home]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdin is not None
            assert child.stdout.readline() == "here\n"
            assert (is_claimed_otherwise(layout, place, "mine"), _is_free(layout, place)) == (True, False)
            if end is None:
                child.stdin.close()
            else:
                os.kill(child.pid, end)
            child.wait(30)
        finally:
            child.kill()
    assert (is_claimed_otherwise(layout, place, "mine"), _is_free(layout, place)) == (False, True)
