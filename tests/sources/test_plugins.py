"""Skills that other code brings, without being imported."""

from pathlib import Path

import pytest

from prowess.errors import NotFound, SettingsError
from prowess.policy import SourceKind
from prowess.sources.plugins import Plugins
from prowess.sources.source import Source
from tests.sources.building import ask_child, write_skill


@pytest.mark.requirement("R19", "R30")
@pytest.mark.parametrize("end", ["", "/", "/SKILL.md", "/./scripts/..", "//SKILL.md"])
def test_skill_is_registered_by_its_folder_or_its_file(end: str, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "helper")
    source = Plugins().register(f"{folder}{end}", plugin="telegram")
    assert source == Source(SourceKind.PLUGIN, str(folder), plugin="telegram", expected=True)
    assert source.skill_id("") == "plugin:telegram/helper"


@pytest.mark.requirement("R19")
def test_registering_again_changes_nothing(tmp_path: Path) -> None:
    """D21."""
    plugins = Plugins()
    first = plugins.register(write_skill(tmp_path / "x"), plugin="a")
    generation = plugins.generation
    assert plugins.register(tmp_path / "x" / "SKILL.md", plugin="a") == first
    assert (list(plugins.registered.values()), plugins.generation) == ([first], generation)


@pytest.mark.requirement("R19", "R31")
def test_order_is_that_of_registration(tmp_path: Path) -> None:
    plugins = Plugins()
    for name in ("z", "a", "m"):
        plugins.register(write_skill(tmp_path / name), plugin="p")
    assert [Path(root).name for root in plugins.registered] == ["z", "a", "m"]
    assert plugins.generation == 3


@pytest.mark.requirement("R19")
def test_unregistered_skill_is_gone_and_cannot_go_twice(tmp_path: Path) -> None:
    plugins = Plugins()
    plugins.register(write_skill(tmp_path / "x"), plugin="a")
    plugins.unregister(tmp_path / "x" / "SKILL.md")
    assert (plugins.registered, plugins.generation) == ({}, 2)
    with pytest.raises(NotFound, match="no skill is registered at"):
        plugins.unregister(tmp_path / "x")
    assert plugins.generation == 2


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("path", ["x", "./x", "~/x", "", "x/SKILL.md"])
def test_relative_path_is_refused(path: str) -> None:
    plugins = Plugins()
    with pytest.raises(SettingsError, match="absolute path") as caught:
        plugins.register(path, plugin="a")
    assert (caught.value.code, plugins.generation) == ("relative-path", 0)
    with pytest.raises(SettingsError):
        plugins.unregister(path)


@pytest.mark.requirement("R19", "R30")
@pytest.mark.parametrize("plugin", ["", "a/b", "a:b", "/", ":"])
def test_plugins_id_that_would_confuse_ids_of_skills_is_refused(plugin: str, tmp_path: Path) -> None:
    plugins = Plugins()
    with pytest.raises(SettingsError) as caught:
        plugins.register(write_skill(tmp_path / "x"), plugin=plugin)
    assert (caught.value.code, plugins.registered) == ("bad-plugin-id", {})


@pytest.mark.requirement("R19")
def test_folder_without_a_skill_cannot_be_registered(tmp_path: Path) -> None:
    plugins = Plugins()
    for path in (tmp_path, tmp_path / "missing", tmp_path / "missing" / "SKILL.md"):
        with pytest.raises(NotFound, match=r"no SKILL\.md in"):
            plugins.register(path, plugin="a")
    assert plugins.generation == 0


# Installed packages

_FIND = """
import json, sys
sys.path.insert(0, sys.argv[1])
from prowess.sources.plugins import find_installed_plugins
from tests.catalog.machine import discover, ids

found = [source for source in find_installed_plugins() if source.root.startswith(sys.argv[1])]
imported = [name for name in ("tiny", "tiny.skills", "other", "bad") if name in sys.modules]
print(json.dumps([[source.plugin for source in found], ids(discover(found)), imported]))
"""


def _install(site: Path, *, entry: str, package: str, init: str = "raise SystemExit('imported')\n") -> None:
    """Make what an installer would leave: a package with skills, and the record of it."""
    name = package.partition("/")[0]
    (site / package).mkdir(parents=True, exist_ok=True)
    (site / name / "__init__.py").write_text(init)
    record = site / f"{name}-1.0.dist-info"
    record.mkdir(exist_ok=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(f"[prowess.skills]\n{entry}\n")


@pytest.mark.requirement("R19", "R30")
@pytest.mark.parametrize(("value", "package"), [("tiny", "tiny"), ("tiny.skills", "tiny/skills")])
def test_skills_of_an_installed_package_are_found_without_importing_it(
    value: str, package: str, tmp_path: Path
) -> None:
    _install(tmp_path, entry=f"tiny-plugin = {value}", package=package)
    write_skill(tmp_path / package / "one")
    write_skill(tmp_path / package / "group" / "two")
    assert ask_child(_FIND, tmp_path) == [
        ["tiny-plugin"],
        ["plugin:tiny-plugin/group/two", "plugin:tiny-plugin/one"],
        [],
    ]


@pytest.mark.requirement("R19", "R31")
def test_installed_plugins_are_sorted_by_id(tmp_path: Path) -> None:
    _install(tmp_path, entry="z = tiny", package="tiny")
    _install(tmp_path, entry="a = other", package="other")
    write_skill(tmp_path / "tiny" / "x")
    write_skill(tmp_path / "other" / "y")
    assert ask_child(_FIND, tmp_path) == [["a", "z"], ["plugin:a/y", "plugin:z/x"], []]


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("init", ["", "raise RuntimeError('broken')\n", "raise SystemExit(3)\n"])
def test_package_whose_skills_are_missing_does_no_harm_and_is_not_imported(init: str, tmp_path: Path) -> None:
    """The parent of a package that is not there must not be imported to look for it."""
    _install(tmp_path, entry="bad = bad.skills", package="bad", init=init)
    _install(tmp_path, entry="tiny = tiny", package="tiny")
    write_skill(tmp_path / "tiny" / "x")
    found = ask_child(_FIND, tmp_path)
    assert isinstance(found, list)
    assert found[1:] == [["plugin:tiny/x"], []]
