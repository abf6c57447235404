"""One sync: look, plan, and if something must change, do it under the root's lock."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from prowess.copies.plan import Skipped, SyncPlan, Wanted, plan_sync
from prowess.copies.roots import Changes, CopyRoot
from prowess.copies.versions import Versions
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet

__all__ = ["SyncReport", "WishSource", "Wishes", "sync_root"]


class Wishes(NamedTuple):
    """Which skills a root must hold now, and which folders nobody could search."""

    wanted: Sequence[Wanted]
    failures: Sequence[tuple[str, Problem]] = ()


class WishSource(Protocol):
    """Who knows the skills."""

    def wishes(self) -> Wishes:
        """Return what is wanted now."""
        ...

    def digest(self, skill: Skill) -> str:
        """Return a skill's digest if that is certain without reading its files; else nothing."""
        ...

    def learn(self, skill: Skill, files: FileSet, taken: int) -> None:
        """Take note of files that were read on the way."""
        ...

    def held(self) -> frozenset[str]:
        """Return the digests that sessions need, whatever the disk looks like."""
        ...


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync has done."""

    active_root: str
    copied: tuple[str, ...] = ()
    """Ids of the skills whose copy is new."""
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    """Ids of the skills whose copy is gone, and names of what was no copy."""
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether anything is different from before."""
        return bool(self.copied or self.removed)


def sync_root(
    root: CopyRoot,
    versions: Versions,
    source: WishSource,
    *,
    mark: object,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> SyncReport:
    """Make the root hold the wanted skills and nothing else.

    `mark` is the root's mark from before the source was asked. While nothing must change, nothing is locked or written.
    If another sync has changed the root meanwhile, everything is looked at again under the lock: of several syncs at
    once the last one has the last word, with what is true then.
    """
    begun = time.monotonic()
    plan = _plan(root, source)
    changes = Changes(skipped=list(plan.skipped), unchanged=plan.unchanged)
    if not plan.changes_nothing:
        with root.locked(), versions.in_use():
            if root.mark() != mark:
                plan = _plan(root, source)
            changes = root.apply(plan, digest_of=source.digest, progress=progress)
        for skill, files, taken in changes.learned:
            source.learn(skill, files, taken)
    versions.collect([*changes.released, *root.clean()], held=source.held)
    return SyncReport(
        root.folder,
        tuple(changes.copied),
        changes.unchanged,
        tuple(changes.removed),
        tuple(changes.skipped),
        time.monotonic() - begun,
    )


def _plan(root: CopyRoot, source: WishSource) -> SyncPlan:
    wishes = source.wishes()
    return plan_sync(wishes.wanted, root.look(), failures=wishes.failures)
