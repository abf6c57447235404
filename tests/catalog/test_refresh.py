"""A keeper's answer is always the one that a fresh search would give; while nothing changes, it is the same object."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.catalog.catalog import Catalog
from prowess.catalog.index import Index
from prowess.catalog.refresh import CatalogKeeper
from prowess.policy import Policy, Refresh, Scan, SourceKind
from prowess.sources.source import Source
from tests.catalog.changes import (
    CHANGES,
    CHANGES_OF_LINKS,
    SHALLOW_CHANGES,
    Tree,
    draw_links,
    draw_tree,
    edit_one_by_one,
)
from tests.catalog.machine import STANDARD, discover, ids, user_source
from tests.sources.building import write_skill

_SETTLING_SECONDS = 0.13
"""After so long, the stamps of files and folders are relied on."""


def _policy(refresh: Refresh) -> Policy:
    return replace(STANDARD, refresh=refresh)


def _plain(catalog: Catalog) -> Catalog:
    return replace(catalog, generation=0)


def _settled_keeper(policy: Policy, sources: Sequence[Source]) -> CatalogKeeper:
    """Return a keeper that has looked twice: at once, and when all stamps could be relied on."""
    keeper = CatalogKeeper(policy, lambda: sources)
    keeper.current()
    time.sleep(_SETTLING_SECONDS)
    keeper.rescan()
    assert keeper.current() is keeper.current()
    return keeper


def _check(tree: Tree, change: Callable[[Tree], None], policy: Policy, source: Source) -> None:
    """Check that the change is seen, and what is edited after it too: what has moved is watched where it is now."""
    keeper = _settled_keeper(policy, (source,))
    change(tree)
    assert _plain(keeper.current()) == discover((source,))
    for edited in edit_one_by_one(tree):
        assert _plain(keeper.current()) == discover((source,)), f"after an edit of {edited}"
    keeper.close()


@pytest.mark.slow
@pytest.mark.requirement("R18", "R36")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_change_made_before_the_question_is_seen(
    change: Callable[[Tree], None], refresh: Refresh, tmp_path: Path
) -> None:
    tree = draw_tree(tmp_path)
    _check(tree, change, _policy(refresh), user_source(tree.root))


@pytest.mark.requirement("R36", "J5")
@pytest.mark.slow
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("change", CHANGES_OF_LINKS.values(), ids=CHANGES_OF_LINKS.keys())
def test_change_of_a_link_or_behind_it_is_seen(
    change: Callable[[Tree], None], refresh: Refresh, tmp_path: Path
) -> None:
    tree = draw_links(tmp_path)
    _check(tree, change, _policy(refresh), user_source(tree.root))


@pytest.mark.requirement("R36", "J5")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("target", ["missing", "without-a-skill"])
def test_link_that_led_to_no_skill_is_followed_once_it_does(target: str, refresh: Refresh, tmp_path: Path) -> None:
    tree = draw_tree(tmp_path)
    (tree.outside / "without-a-skill").mkdir()
    (tree.root / "link").symlink_to(tree.outside / target)
    _check(tree, lambda tree: write_skill(tree.outside / target) and None, _policy(refresh), user_source(tree.root))


@pytest.mark.requirement("R25", "R36")
@pytest.mark.slow
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("mode", [Scan.CHILDREN, Scan.ROOT_AND_CHILDREN])
@pytest.mark.parametrize("change", SHALLOW_CHANGES.values(), ids=SHALLOW_CHANGES.keys())
def test_change_is_seen_in_the_shallow_modes_too(
    change: Callable[[Tree], None], mode: Scan, refresh: Refresh, tmp_path: Path
) -> None:
    tree = draw_tree(tmp_path)
    if mode is Scan.ROOT_AND_CHILDREN:
        write_skill(tree.root)
    _check(tree, change, _policy(refresh), replace(user_source(tree.root), scan=mode))


@pytest.mark.requirement("R36")
@pytest.mark.parametrize("refresh", list(Refresh))
def test_same_object_is_returned_while_nothing_changes(refresh: Refresh, tmp_path: Path) -> None:
    tree = draw_tree(tmp_path)
    keeper = CatalogKeeper(_policy(refresh), lambda: [user_source(tree.root)])
    first = keeper.current()
    (tree.root / "a" / "notes.md").write_text("not judged")
    (tree.root / "README.md").write_text("not judged")
    assert keeper.current() is first
    time.sleep(_SETTLING_SECONDS)
    assert keeper.current() is first
    assert keeper.rescan() is first
    keeper.close()


@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_generation_grows_by_one_with_every_change(refresh: Refresh, tmp_path: Path) -> None:
    write_skill(tmp_path / "a")
    keeper = CatalogKeeper(_policy(refresh), lambda: [user_source(tmp_path)])
    generations = [keeper.current().generation]
    for name in ("b", "c"):
        write_skill(tmp_path / name)
        generations += [keeper.current().generation, keeper.current().generation]
    assert generations == [1, 2, 2, 3, 3]
    keeper.close()


@pytest.mark.requirement("R20", "R36")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_root_that_appears_later_is_seen(refresh: Refresh, tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    keeper = CatalogKeeper(_policy(refresh), lambda: [user_source(root)])
    assert ids(keeper.current()) == []
    root.mkdir(parents=True)
    assert ids(keeper.current()) == []
    write_skill(root / "a")
    assert ids(keeper.current()) == ["user:a"]
    keeper.close()


@pytest.mark.requirement("R35")
def test_policy_of_the_start_looks_once_until_a_rescan_is_asked_for(tmp_path: Path) -> None:
    write_skill(tmp_path / "a")
    keeper = CatalogKeeper(_policy(Refresh.START), lambda: [user_source(tmp_path)])
    first = keeper.current()
    write_skill(tmp_path / "b")
    assert keeper.current() is first
    assert ids(keeper.rescan()) == ["user:a", "user:b"]


@pytest.mark.requirement("R36", "J2")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_sources_may_come_go_and_change_places(refresh: Refresh, tmp_path: Path) -> None:
    one, other = write_skill(tmp_path / "one" / "x").parent, write_skill(tmp_path / "other" / "x").parent
    sources = [user_source(one)]
    keeper = CatalogKeeper(_policy(refresh), lambda: tuple(sources))
    assert [skill.root for skill in keeper.current().skills] == [str(one)]
    sources.append(user_source(other))
    assert keeper.current().get("x").root == str(one)
    sources.reverse()
    assert keeper.current().get("x").root == str(other)
    sources.pop()
    assert [skill.root for skill in keeper.current().skills] == [str(other)]
    write_skill(other / "y")
    assert keeper.current() == replace(discover(sources), generation=keeper.current().generation)
    keeper.close()


@pytest.mark.requirement("R36", "J5")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
@pytest.mark.parametrize("linked_first", [True, False])
def test_edit_of_a_skill_that_two_sources_share_is_seen(
    refresh: Refresh, tmp_path: Path, *, linked_first: bool
) -> None:
    """As installers make them: `.claude/skills/x -> ../../.agents/skills/x`."""
    home = write_skill(tmp_path / ".agents" / "skills" / "x").parent
    links = tmp_path / ".claude" / "skills"
    links.mkdir(parents=True)
    (links / "x").symlink_to("../../.agents/skills/x")
    sources = (user_source(links), user_source(home)) if linked_first else (user_source(home), user_source(links))
    keeper = _settled_keeper(_policy(refresh), sources)
    for words in ("first edit", "second edit"):
        write_skill(home / "x", description=words)
        assert [skill.description for skill in keeper.current().skills] == [words]
    keeper.close()


@pytest.mark.requirement("R36")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_source_inside_another_source_sees_its_changes(refresh: Refresh, tmp_path: Path) -> None:
    inner = tmp_path / "group"
    write_skill(inner / "x")
    sources = (user_source(inner), Source(SourceKind.CONFIG, str(tmp_path)))
    keeper = _settled_keeper(_policy(refresh), sources)
    for name in ("y", "z"):
        write_skill(inner / name)
        write_skill(inner / "x", description=f"edited with {name}")
        assert _plain(keeper.current()) == discover(sources)
    keeper.close()


@pytest.mark.requirement("R36")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_keeper_with_an_index_sees_what_one_without_sees(refresh: Refresh, tmp_path: Path) -> None:
    tree = draw_tree(tmp_path)
    sources = (user_source(tree.root),)
    time.sleep(_SETTLING_SECONDS)
    index = Index(str(tmp_path / "cache"))
    first = CatalogKeeper(_policy(refresh), lambda: sources, index=index)
    first.current()
    first.close()
    keeper = CatalogKeeper(_policy(refresh), lambda: sources, index=index)
    assert _plain(keeper.current()) == discover(sources)
    for edited in edit_one_by_one(tree):
        assert _plain(keeper.current()) == discover(sources), f"after an edit of {edited}"
    keeper.close()


@pytest.mark.requirement("R33")
def test_disabled_policy_never_looks(tmp_path: Path) -> None:
    write_skill(tmp_path / "a")
    keeper = CatalogKeeper(replace(STANDARD, enabled=False), lambda: [user_source(tmp_path)])
    assert (keeper.current().skills, keeper.rescan().skills) == ((), ())
    assert keeper.current() is keeper.current()


@pytest.mark.requirement("J5")
@pytest.mark.parametrize("refresh", [Refresh.WATCHED, Refresh.EACH_TURN])
def test_root_that_is_the_same_folder_by_another_way_is_searched_again(refresh: Refresh, tmp_path: Path) -> None:
    """Nothing in it has changed, but its skills are opened by their real paths."""
    write_skill(tmp_path / "first" / "skills" / "a")
    (tmp_path / "way").symlink_to("first")
    keeper = _settled_keeper(_policy(refresh), (user_source(tmp_path / "way" / "skills"),))
    assert keeper.current().get("a").real == str(tmp_path / "first" / "skills" / "a")
    (tmp_path / "first").rename(tmp_path / "second")
    (tmp_path / "way").unlink()
    (tmp_path / "way").symlink_to("second")
    assert keeper.current().get("a").real == str(tmp_path / "second" / "skills" / "a")
    assert keeper.current() is keeper.current()
    keeper.close()
