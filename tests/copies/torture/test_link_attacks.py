"""Somebody swaps files and folders against links as fast as he can, in the skills or in the copies, during syncs."""

import shutil
from pathlib import Path

import pytest

from prowess.errors import WorldError
from tests.copies.torture.actors import acting, ask_actor
from tests.copies.torture.scenes import Place, snapshot
from tests.skills_on_disk import write_skill

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5", "R75", "R99")]

_SYNCS = 25
_SECRET = b"the-secret-that-must-not-leave"
_ENVIRONMENT = Path("/proc/self/environ").read_bytes()[:64]
"""As the process began with it: the kernel does not show there what is set later."""


def test_no_byte_from_outside_arrives_in_a_copy_while_links_are_swapped_into_a_skill(quick_disk: Path) -> None:
    assert len(_ENVIRONMENT) == 64
    place, secrets = Place(quick_disk / "place"), quick_disk / "secrets"
    secrets.mkdir()
    (secrets / "secret.txt").write_bytes(_SECRET)
    (quick_disk / "outside.txt").write_bytes(_SECRET)
    files = {"number.txt": "1", "data/inner.txt": "1", "data/secret.txt": "mine"}
    skill = write_skill(place.skills, "attacked", files=files)
    write_skill(place.skills, "steady")
    before = snapshot(secrets), snapshot(quick_disk / "outside.txt")
    place.sync()
    met: list[object] = []
    with place.open() as runtime, acting(1, "swap_sources", skill, secrets) as (attacker,):
        for _ in range(_SYNCS):
            met += [*runtime.sync(verify=True).skipped, *place.sync().skipped]
            assert _find_secret(place.home) == []
            assert (place.active / "project--steady" / "SKILL.md").exists()
        assert ask_actor(attacker)["count"] > _SYNCS
    assert met
    assert (snapshot(secrets), snapshot(quick_disk / "outside.txt")) == before
    place.expect_mended()


def test_the_users_own_skills_stay_whole_while_links_to_them_are_swapped_into_the_copies(quick_disk: Path) -> None:
    place = Place(quick_disk)
    for name in ("one", "two"):
        write_skill(place.skills, name, files={"data/inner.txt": "1"})
    write_skill(place.personal, "mine", files={"data/inner.txt": "mine"})
    place.sync()
    before = snapshot(place.personal)
    failures = 0
    with acting(1, "swap_copies", place.active, place.personal) as (attacker,):
        for number in range(_SYNCS):
            (place.skills / "one" / "data" / "inner.txt").write_text(str(number))
            try:
                place.sync()
            except WorldError:  # What was to be replaced was taken away; the next sync goes on.
                failures += 1
            assert snapshot(place.personal) == before
        assert ask_actor(attacker)["count"] > _SYNCS
    assert failures < _SYNCS
    asides = list(place.active.parent.glob("aside-*"))
    assert len(asides) > _SYNCS  # So often a copy was taken away, or the link that stood there.
    for aside in asides:
        aside.unlink() if aside.is_symlink() else shutil.rmtree(aside)
    place.expect_mended()
    assert snapshot(place.personal) == before


def _find_secret(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [str(path) for path in files if any(one in path.read_bytes() for one in (_SECRET, _ENVIRONMENT))]
