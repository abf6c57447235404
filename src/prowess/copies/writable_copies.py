"""Copy a skill as ordinary files that its owner can edit."""

import os

from prowess.copies.disk_failures import telling
from prowess.copies.disk_sync import sync_trees
from prowess.copies.trees import TreeWriter, remove_tree
from prowess.errors import BrokenSkill, Refused
from prowess.sources.real_paths import find_real_path
from prowess.sources.skill_files import FileSet, copy_skill_files
from prowess.sources.source import show_path

__all__ = ["copy_for_editing", "eject_skill"]

_MAX_SAID = 3


def copy_for_editing(source: str, target: str, *, apart: bool = False, called: str = "") -> FileSet:
    """Copy every file of a skill into a folder that is made for it, on disk when this returns.

    Links that stay inside are kept as links; if one leads out, or a file cannot be read, that is a BrokenSkill, and
    what was copied so far remains for the caller to remove. `source` is absolute and has no links on its way; `called`
    is how people know it.
    """
    called = called or show_path(source)
    with telling(f"{called} cannot be copied"):
        os.mkdir(target, 0o755)
        files = copy_skill_files(source, TreeWriter(os.fsencode(target), writable=True), apart=apart)
        if not files.digest:
            faults = "; ".join(problem.message for problem in files.problems[:_MAX_SAID])
            raise BrokenSkill(
                f"not all files of {called} can be copied: {faults}",
                problems=files.problems,
                hint="mend the skill's folder; `prowess validate` shows what is wrong",
                code="no-digest",
            )
        sync_trees([target])
    return files


def eject_skill(source: str, target: str, *, apart: bool = False, digest: str = "") -> FileSet:
    """Copy a skill to a folder that does not exist yet. It appears there whole or not at all.

    With a digest, it appears only if its files are still those.
    """
    target = os.path.abspath(target)
    if os.path.lexists(target):
        raise Refused(
            f"{show_path(target)} exists already",
            hint="move it away, or choose another place with --to",
            code="exists",
        )
    parent, name = os.path.split(target)
    draft = os.path.join(parent, f".{name}.{os.urandom(6).hex()}")
    with telling(f"{show_path(target)} cannot be written"):
        os.makedirs(parent, exist_ok=True)
        try:
            files = copy_for_editing(find_real_path(source) or source, draft, apart=apart)
            if digest and files.digest != digest:
                raise Refused(
                    f"the files of {show_path(name)} have changed meanwhile", hint="try again", code="changed"
                )
            os.rename(draft, target)  # Which takes the place of nothing but an empty folder.
        finally:
            if os.path.lexists(draft):
                remove_tree(draft)
    return files
