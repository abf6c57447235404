"""Whatever happened before, one sync makes `active` exactly what is visible, and touches nothing else."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.catalog.switches import Switch
from prowess.copies.plan import Wanted, plan_sync
from prowess.runtime import Runtime
from prowess.settings import Settings, load_settings
from prowess.skill.activation_keys import make_activation_key
from tests.copies.parts import Workplace, contents, names, skill_of
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow  # Many examples, each with files of its own.

_NAMES = ("a", "b", "c")
_TEXTS = ("", "x", "yy")


class _World:
    """Sources, switches and copies that things happen to."""

    def __init__(self, folder: Path, base: Settings) -> None:
        self.sources = folder / "skills"
        self.sources.mkdir()
        place = replace(base.place, prowess_home=str(folder / "home"))
        self.settings = replace(base, place=place, durable_copies=False, database="memory")
        self.active = folder / "home" / "users" / "local" / "skills" / "active"
        self.personal = self.active.parent / "personal"

    def happen(self, runtime: Runtime, step: tuple[str, str, str]) -> None:
        what, name, text = step
        skill, copy = self.sources / name, self.active / f"project--{name}"
        deeds: dict[str, Callable[[], object]] = {
            "write": lambda: write_skill(self.sources, name, body=text + "\n", files={"data/a": text}),
            "edit": lambda: (skill / "data" / "a").write_text(text) if skill.exists() else None,
            "add": lambda: (skill / f"more{text}").touch() if skill.exists() else None,
            "delete": lambda: shutil.rmtree(skill, ignore_errors=True),
            "break": lambda: (skill / "SKILL.md").write_text(text) if skill.exists() else None,
            "link": lambda: _force_link(skill / "out", "/etc") if skill.exists() else None,
            "off": lambda: _switch(runtime, name, Switch.OFF),
            "on": lambda: _switch(runtime, name, Switch.ON),
            "sync": runtime.sync,
            "tamper": lambda: _tamper(copy, text, self.personal),
            "litter": lambda: (self.active / f"junk{text}").mkdir(parents=True, exist_ok=True),
        }
        deeds[what]()


def _force_link(path: Path, target: str) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def _switch(runtime: Runtime, name: str, position: Switch) -> None:
    if runtime.catalog().find(name) is not None:
        runtime.set_switch(name, position)


def _tamper(copy: Path, text: str, personal: Path) -> None:
    """Do to a copy what can be seen without reading it: take it away, or put something else in its place."""
    if copy.is_symlink() or copy.is_file():
        copy.unlink()
    elif copy.exists():
        os.chmod(copy, 0o755)
        for folder in copy.glob("*/"):
            folder.chmod(0o755)
        shutil.rmtree(copy)
    copy.parent.mkdir(parents=True, exist_ok=True)
    if text == "x":
        copy.symlink_to(personal)
    elif text:
        copy.write_text("no folder")


def _moments(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in (folder, *folder.rglob("*"))}


_STEPS = st.tuples(
    st.sampled_from(
        ["write", "write", "edit", "add", "delete", "break", "link", "off", "on", "sync", "tamper", "litter"]
    ),
    st.sampled_from(_NAMES),
    st.sampled_from(_TEXTS),
)


@pytest.mark.requirement("R73", "R77", "R78", "R79", "K5")
@settings(max_examples=40)
@given(steps=st.lists(_STEPS, min_size=1, max_size=12))
@pytest.mark.parametrize("anew", [False, True])
def test_after_a_sync_active_is_what_is_visible(steps: list[tuple[str, str, str]], *, anew: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="prowess-") as made:
        world = _World(Path(made), load_settings(profile="standard"))
        write_skill(world.personal, "mine")
        with Runtime(world.settings, skills=[world.sources]) as runtime:
            for step in steps:
                world.happen(runtime, step)
            before = [(contents(folder), _moments(folder)) for folder in (world.sources, world.personal)]
            if anew:  # As another process would, which remembers nothing.
                runtime.copying._settled.clear()  # pyright: ignore[reportPrivateUsage]
            report = runtime.sync()
            visible = {
                skill.id: Path(skill.folder)
                for skill in runtime.view().visible
                if not (Path(skill.folder) / "out").is_symlink()
            }
            expected = {make_activation_key(one): contents(folder) for one, folder in visible.items()}
            assert {name: contents(world.active / name) for name in names(world.active)} == expected
            assert {one.problem.code for one in report.skipped} <= {"link-escape"}
            assert [(contents(folder), _moments(folder)) for folder in (world.sources, world.personal)] == before
            assert runtime.sync().changed is False
            assert names(Path(made) / "home" / "copies" / "staging") == set()
            assert names(Path(made) / "home" / "versions") >= {
                runtime.digest(runtime.view().get(one)) for one in visible
            }


@pytest.mark.requirement("K5")
@settings(max_examples=30)
@given(
    before=st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_TEXTS)),
    after=st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_TEXTS)),
    junk=st.sets(st.sampled_from(["junk", "user--b", ".x"])),
)
def test_plan_applied_twice_is_applied_once(before: dict[str, str], after: dict[str, str], junk: set[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="prowess-") as made:
        place = Workplace(Path(made) / "home")
        skills = Path(made) / "skills"
        place.sync(*(write_skill(skills, name, body=text, files={"f": text}) for name, text in before.items()))
        for name in junk:
            (place.active() / name).mkdir(exist_ok=True)
        wanted = [skill_of(write_skill(skills, name, body=text, files={"f": text})) for name, text in after.items()]
        root = place.root()
        plan = plan_sync([Wanted(skill) for skill in wanted], root.look())
        with root.locked(), place.versions.in_use():
            root.apply(plan, digest_of=place.digest)
            again = root.apply(plan, digest_of=place.digest)
        assert (again.copied, again.removed) == ([], [])
        assert {name: contents(place.active() / name) for name in names(place.active())} == {
            f"user--{name}": contents(skills / name) for name in after
        }
        known = [Wanted(skill, root.look().copies[f"user--{skill.name}"].digest) for skill in wanted]
        assert plan_sync(known, root.look()).changes_nothing


@pytest.fixture(autouse=True)
def _at_home(home: Home) -> None:
    """No settings but those of the test count."""
