"""Many syncs at once, while skills change and old versions are collected."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from prowess.copies.layout import Layout
from prowess.copies.upkeep import tidy_copies
from prowess.copies.versions import Versions
from tests.copies.torture.actors import acting, ask_actor, write_numbered
from tests.copies.torture.scenes import Place
from tests.skills_on_disk import write_skill

_PROCESSES = 8
_SYNCS = 10


@pytest.mark.slow
@pytest.mark.requirement("K5", "R73")
@pytest.mark.parametrize("users", [("local",), ("local", "anna")], ids=["one-user", "two-users"])
def test_eight_processes_that_sync_at_once_all_succeed_and_leave_nothing(
    quick_disk: Path, users: tuple[str, ...]
) -> None:
    places = [Place(quick_disk, user) for user in users]
    skills = places[0].skills
    for name in ("one", "two", "three"):
        write_skill(skills, name, files={"data.txt": name})
    versions = Versions(Layout(os.path.realpath(places[0].home)))
    with ExitStack() as stack:
        share = _PROCESSES // len(users)
        rivals = [
            rival for user in users for rival in stack.enter_context(acting(share, "sync", quick_disk, user, _SYNCS))
        ]
        number = 0
        while any(rival.poll() is None for rival in rivals):
            number += 1
            _change(skills, number)
            (places[0].workshop / "tidied").unlink(missing_ok=True)
            tidy_copies(versions, held=frozenset)
        assert sum(ask_actor(rival)["copied"] for rival in rivals) >= 3 * len(users)
    for place in places:
        place.sync()
        place.expect_exact()
    _expect_only_needed_versions(places)


def _change(skills: Path, number: int) -> None:
    if number % 3 == 0:
        write_numbered(skills, number)
    (skills / "one" / "data.txt").write_text(str(number))
    (skills / "two" / f"file-{number % 5}.txt").write_text(str(number))


def _expect_only_needed_versions(places: list[Place]) -> None:
    places[0].let_a_day_pass()
    for place in places:
        assert not place.sync().changed
    needed = {digest for place in places for digest, _ in place.recorded().values()}
    assert (places[0].kept_versions(), places[0].retired()) == (needed, [])
