"""Everything that can happen to a folder of skills between two questions."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.sources.building import skill_text, write_skill

__all__ = ["CHANGES", "CHANGES_OF_LINKS", "SHALLOW_CHANGES", "Tree", "draw_links", "draw_tree", "edit_one_by_one"]


@dataclass(frozen=True)
class Tree:
    """A root of skills, and a place beside it that its links lead to."""

    root: Path
    outside: Path


def draw_tree(top: Path) -> Tree:
    tree = Tree(top / "root", top / "outside")
    write_skill(tree.root / "a")
    write_skill(tree.root / "group" / "b")
    write_skill(tree.root / "with-sidecar")
    (tree.root / "with-sidecar" / "agents").mkdir()
    (tree.root / "with-sidecar" / "agents" / "openai.yaml").write_text("interface:\n  display_name: First\n")
    write_skill(tree.root / "with-agents")
    (tree.root / "with-agents" / "agents").mkdir()
    (tree.root / "empty").mkdir()
    write_skill(tree.outside / "spare", name="a", description="spare")
    return tree


def draw_links(top: Path) -> Tree:
    tree = Tree(top / "root", top / "outside")
    write_skill(tree.root / "a")
    write_skill(tree.outside / "spare", name="a", description="spare")
    write_skill(tree.outside / "v1" / "linked", description="one")
    write_skill(tree.outside / "v2" / "linked", description="two")
    (tree.outside / "nothing-yet").mkdir()
    (tree.root / "linked").symlink_to(tree.outside / "v1" / "linked")
    (tree.root / "broken").symlink_to(tree.outside / "missing")
    (tree.root / "barren").symlink_to(tree.outside / "nothing-yet")
    (tree.root / "neighbour").symlink_to("a")
    return tree


def edit_one_by_one(tree: Tree) -> Iterator[str]:
    """Rewrite every skill and every sidecar in place, then add skills, and stop after each step."""
    for number, folder in enumerate(sorted(_skill_folders(tree))):
        (folder / "SKILL.md").write_text(skill_text(folder.name, description=f"edit {number}"))
        yield str(folder)
    for sidecar in sorted(tree.root.glob("*/agents/openai.yaml")):
        sidecar.write_text("interface:\n  display_name: edited\n")
        yield str(sidecar)
    for folder in (tree.root, tree.root / "group", tree.root / "empty"):
        if folder.is_dir():
            yield str(write_skill(folder / "late"))


def _skill_folders(tree: Tree) -> set[Path]:
    walks = [*os.walk(tree.root, followlinks=True), *os.walk(tree.outside)]
    return {Path(folder).resolve() for folder, _, files in walks if "SKILL.md" in files}


def _edit_in_place(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").write_text(skill_text("a", description="edited"))


def _append(tree: Tree) -> None:
    with (tree.root / "a" / "SKILL.md").open("r+") as file:
        file.write("---\nname: z")


def _replace_by_rename(tree: Tree) -> None:
    fresh = tree.root / "a" / "SKILL.md.tmp"
    fresh.write_text(skill_text("a", description="renamed over"))
    fresh.replace(tree.root / "a" / "SKILL.md")


def _replace_from_outside(tree: Tree) -> None:
    (tree.outside / "spare" / "SKILL.md").replace(tree.root / "a" / "SKILL.md")


def _add(tree: Tree) -> None:
    write_skill(tree.root / "new")


def _add_nested(tree: Tree) -> None:
    write_skill(tree.root / "deep" / "er" / "new")


def _add_to_a_group(tree: Tree) -> None:
    write_skill(tree.root / "group" / "new")


def _fill_an_empty_folder(tree: Tree) -> None:
    write_skill(tree.root / "empty")


def _remove(tree: Tree) -> None:
    shutil.rmtree(tree.root / "a")


def _remove_a_group(tree: Tree) -> None:
    shutil.rmtree(tree.root / "group")


def _remove_the_file(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").unlink()


def _make_a_group_a_skill(tree: Tree) -> None:
    write_skill(tree.root / "group")


def _make_the_root_a_skill(tree: Tree) -> None:
    write_skill(tree.root)


def _rename_a_skill(tree: Tree) -> None:
    (tree.root / "a").rename(tree.root / "z")


def _rename_a_group(tree: Tree) -> None:
    (tree.root / "group").rename(tree.root / "band")


def _move_a_group_and_remake_it(tree: Tree) -> None:
    (tree.root / "group").rename(tree.root / "band")
    (tree.root / "group").mkdir()


def _move_a_skill_out(tree: Tree) -> None:
    (tree.root / "a").rename(tree.outside / "a")


def _swap_a_skill_for_another(tree: Tree) -> None:
    (tree.root / "a").rename(tree.outside / "a.old")
    (tree.outside / "spare").rename(tree.root / "a")


def _turn_the_file_into_a_folder(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").unlink()
    (tree.root / "a" / "SKILL.md").mkdir()


def _misname_the_file(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").rename(tree.root / "a" / "skill.md")


def _break_the_file(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").write_text("no frontmatter\n")


def _truncate_the_file(tree: Tree) -> None:
    os.truncate(tree.root / "a" / "SKILL.md", 0)


def _make_the_file_a_link(tree: Tree) -> None:
    path = tree.root / "a" / "SKILL.md"
    path.rename(tree.root / "a" / "text.md")
    path.symlink_to("text.md")


def _remove_the_root(tree: Tree) -> None:
    shutil.rmtree(tree.root)


def _remove_and_remake_the_root(tree: Tree) -> None:
    shutil.rmtree(tree.root)
    write_skill(tree.root / "again")


def _move_and_remake_the_root(tree: Tree) -> None:
    tree.root.rename(tree.outside / "former-root")
    write_skill(tree.root / "again")


def _replace_the_root_by_a_link(tree: Tree) -> None:
    tree.root.rename(tree.outside / "former-root")
    tree.root.symlink_to(tree.outside)


def _replace_the_root_by_a_file(tree: Tree) -> None:
    shutil.rmtree(tree.root)
    tree.root.write_text("x")


def _change_the_mode(tree: Tree) -> None:
    (tree.root / "a" / "SKILL.md").chmod(0o600)


def _add_a_sidecar(tree: Tree) -> None:
    (tree.root / "a" / "agents").mkdir()
    (tree.root / "a" / "agents" / "openai.yaml").write_text("interface:\n  display_name: New\n")


def _add_a_sidecar_to_its_folder(tree: Tree) -> None:
    (tree.root / "with-agents" / "agents" / "openai.yaml").write_text("interface:\n  display_name: New\n")


def _change_a_sidecar(tree: Tree) -> None:
    (tree.root / "with-sidecar" / "agents" / "openai.yaml").write_text("interface:\n  display_name: Other\n")


def _remove_a_sidecar(tree: Tree) -> None:
    (tree.root / "with-sidecar" / "agents" / "openai.yaml").unlink()


def _swap_the_folder_of_a_sidecar(tree: Tree) -> None:
    agents = tree.root / "with-sidecar" / "agents"
    agents.rename(tree.outside / "agents.old")
    agents.mkdir()
    (agents / "openai.yaml").write_text("interface:\n  display_name: Other\n")


def _retarget_a_link(tree: Tree) -> None:
    (tree.root / "linked").unlink()
    (tree.root / "linked").symlink_to(tree.outside / "v2" / "linked")


def _retarget_a_link_in_one_step(tree: Tree) -> None:
    fresh = tree.root / "linked.tmp"
    fresh.symlink_to(tree.outside / "v2" / "linked")
    fresh.replace(tree.root / "linked")


def _edit_behind_a_link(tree: Tree) -> None:
    (tree.outside / "v1" / "linked" / "SKILL.md").write_text(skill_text("linked", description="edited"))


def _remove_behind_a_link(tree: Tree) -> None:
    shutil.rmtree(tree.outside / "v1" / "linked")


def _move_what_holds_a_links_target(tree: Tree) -> None:
    (tree.outside / "v1").rename(tree.outside / "v0")


def _swap_what_holds_a_links_target(tree: Tree) -> None:
    (tree.outside / "v1").rename(tree.outside / "v0")
    (tree.outside / "v2").rename(tree.outside / "v1")


def _make_a_missing_target(tree: Tree) -> None:
    write_skill(tree.outside / "missing", name="broken")


def _make_a_target_a_skill(tree: Tree) -> None:
    write_skill(tree.outside / "nothing-yet", name="barren")


def _remove_a_link_to_a_neighbour(tree: Tree) -> None:
    (tree.root / "neighbour").unlink()


def _replace_a_link_by_a_copy(tree: Tree) -> None:
    (tree.root / "linked").unlink()
    shutil.copytree(tree.outside / "v1" / "linked", tree.root / "linked")


def _replace_a_skill_by_a_link(tree: Tree) -> None:
    shutil.rmtree(tree.root / "a")
    (tree.root / "a").symlink_to(tree.outside / "spare")


def _named(*changes: Callable[[Tree], None]) -> dict[str, Callable[[Tree], None]]:
    return {change.__name__.strip("_").replace("_", " "): change for change in changes}


SHALLOW_CHANGES = _named(
    *(_edit_in_place, _add, _add_nested, _fill_an_empty_folder, _make_a_group_a_skill, _make_the_root_a_skill),
    *(_remove_the_file, _misname_the_file, _swap_a_skill_for_another),
)
"""Those that a search of one level might miss."""

CHANGES = SHALLOW_CHANGES | _named(
    *(_append, _replace_by_rename, _replace_from_outside, _truncate_the_file, _break_the_file, _change_the_mode),
    *(_add_to_a_group, _remove, _remove_a_group, _turn_the_file_into_a_folder, _make_the_file_a_link),
    *(_rename_a_skill, _rename_a_group, _move_a_group_and_remake_it, _move_a_skill_out),
    *(_remove_the_root, _remove_and_remake_the_root, _move_and_remake_the_root),
    *(_replace_the_root_by_a_link, _replace_the_root_by_a_file, _replace_a_skill_by_a_link),
    *(_add_a_sidecar, _add_a_sidecar_to_its_folder, _change_a_sidecar, _remove_a_sidecar),
    _swap_the_folder_of_a_sidecar,
)

CHANGES_OF_LINKS = _named(
    *(_retarget_a_link, _retarget_a_link_in_one_step, _edit_behind_a_link, _remove_behind_a_link),
    *(_move_what_holds_a_links_target, _swap_what_holds_a_links_target),
    *(_make_a_missing_target, _make_a_target_a_skill, _remove_a_link_to_a_neighbour, _replace_a_link_by_a_copy),
)
"""To be made in a tree with links."""
