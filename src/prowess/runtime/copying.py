"""Keep copies of skills for one runtime: all of what an agent sees, or one that is needed now."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.catalog.catalog import Catalog
from prowess.catalog.digests import Digests, Recollection
from prowess.catalog.views import View
from prowess.copies.disk_failures import telling
from prowess.copies.layout import Layout, RootPlace
from prowess.copies.occupancy import Occupancy, is_claimed_otherwise
from prowess.copies.plan import Place, Placed, SyncPlan, Wanted
from prowess.copies.roots import CopyRoot
from prowess.copies.sync import SyncReport, Wishes, sync_root
from prowess.copies.task_copies import TaskCopies
from prowess.copies.upkeep import remove_view, tidy_copies
from prowess.copies.user_folders import ensure_user_folders
from prowess.copies.versions import Pin, Versions
from prowess.copies.workshop import GRACE_SECONDS
from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import BrokenSkill, WorldError
from prowess.settings import Settings
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.disk_errors import is_disk_error
from prowess.sources.mcp.placeholders import is_placeholder
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import Source, show_path
from prowess.sources.stamps import Stamp
from prowess.state.store import StateStore

__all__ = ["Copying", "Look", "Progress"]

_LOG = logging.getLogger("prowess")
_NOT_SEARCHED = frozenset({"source-missing", "source-unreadable"})
"""Problems with a folder in which nobody could look for skills."""
_MAX_FILE_LISTS = 256
"""How many versions' files are remembered."""

Progress = Callable[[int, int], None]
"""Told how many skills are done, of how many."""


class Look(NamedTuple):
    """What an agent sees at one moment."""

    view: View
    catalog: Catalog
    unrest: int | None
    """A number that is the same while every root is watched and none of them stirs."""


_Seer = Callable[[Mapping[str, Stamp] | None], Look]
"""Returns what is seen now; told which folders somebody has looked at a moment ago, with the stamps of SKILL.md."""


@dataclass(frozen=True, slots=True)
class _Settled:
    """A root that was found as it should be."""

    seen: "_Sight"
    mark: object
    report: SyncReport
    until: float
    """When it must be looked at again, whatever happens, on the clock that never goes back."""

    def is_still(self, seen: "_Sight", mark: object) -> bool:
        """Whether nothing has changed since, neither the skills nor the root."""
        return (
            time.monotonic() < self.until
            and seen.recollection is self.seen.recollection
            and not seen.failures
            and mark == self.mark
        )


class Copying:
    """All roots of one user, and the versions behind them. Any thread may use it."""

    def __init__(
        self, settings: Settings, store: StateStore, digests: Digests, *, sources: Callable[[], Sequence[Source]]
    ) -> None:
        self.user = settings.place.user
        self.layout = Layout(os.path.realpath(settings.place.prowess_home))
        self.versions = Versions(self.layout, durable=settings.durable_copies)
        self.digests = digests
        self.store = store
        self._sources = sources
        self._roots: dict[str, CopyRoot] = {}
        self._occupancies: list[Occupancy] = []
        self._passing: list[RootPlace] = []
        """Roots that nobody will ask for again."""
        self._is_tidied = False
        self._settled: dict[str, _Settled] = {}
        self._wanted: dict[str, _Wanted] = {}
        self._files: dict[str, FileSet] = {}
        self._tasks: dict[str, TaskCopies] = {}
        self._lock = threading.Lock()

    def find_active(self, view: str = "") -> CopyRoot | None:
        """Return the root of all that the user's agents see, or of what one view shows, if this runtime has used it."""
        return self._roots.get(view)

    def active(self, view: str = "") -> CopyRoot:
        """Return that root, and keep it in use until the runtime is closed.

        While somebody fills the usual root from other sources, it is one of this runtime's own.
        """
        with self._lock:
            known = self._roots.get(view)
            if known is None:
                known = self._roots[view] = CopyRoot(self._occupy(view), self.versions)
            return known

    def _occupy(self, view: str) -> RootPlace:
        claim = self._make_claim()
        place = self.layout.active(self.user, view=view)
        occupancy = Occupancy(self.layout, place, claim=claim)
        is_aside = is_claimed_otherwise(self.layout, place, claim)
        if is_aside:
            occupancy.close()
            place = self.layout.active(self.user, view=f"{view}/{claim}")
            occupancy = Occupancy(self.layout, place, claim=claim)
        self._occupancies.append(occupancy)
        if is_aside or "/" in view:
            self._passing.append(place)
        return place

    def _make_claim(self) -> str:
        """Return a name for the folders that skills come from here."""
        roots = [root for root in self.roots() if os.path.isdir(root)]
        return hashlib.sha256(os.fsencode("\n".join(roots))).hexdigest()[:16]

    def roots(self) -> tuple[str, ...]:
        """Return the folders that skills come from here."""
        return tuple(source.root for source in self._sources())

    def is_synced(self, root: CopyRoot) -> bool:
        """Whether this runtime has brought the root up to date, so that it is what the model's code sees."""
        return root.folder in self._settled

    def task(self, task: str) -> TaskCopies:
        """Return the private copies of a task, which are kept until it ends."""
        self.tidy()
        with self._lock:
            if task not in self._tasks:
                self._tasks[task] = TaskCopies(self.versions, task, user=self.user)
            return self._tasks[task]

    def find_task(self, task: str) -> TaskCopies | None:
        """Return the private copies of a task, if it has any."""
        return self._tasks.get(task)

    def end_task(self, task: str) -> None:
        """Remove what was placed for a task alone."""
        with self._lock:
            private = self._tasks.pop(task, None)
        if private is not None:
            self._let_go(private.close(), private.root)

    def close(self) -> None:
        """End all tasks, and remove the roots that were made for this runtime alone."""
        for task in list(self._tasks):
            self.end_task(task)
        for occupancy in self._occupancies:
            occupancy.close()
        released = [digest for place in self._passing for digest in remove_view(self.versions, place)]
        if released:
            self.versions.collect(released, held=self.store.held_digests)
        self._occupancies.clear()
        self._passing.clear()
        self._roots.clear()

    def tidy(self) -> None:
        """Clear away what others have left over, once in the life of the runtime; what cannot be is logged."""
        if self._is_tidied:
            return
        self._is_tidied = True
        try:
            self.versions.clean_staging()
            tidy_copies(self.versions, held=self.store.held_digests)
        except (OSError, WorldError) as error:
            _LOG.warning("what was left over among the copies cannot be cleared away: %s", error)

    def _let_go(self, released: Sequence[str], root: CopyRoot) -> None:
        self.versions.collect([*released, *root.clean()], held=self.store.held_digests)

    # All that an agent sees

    def sync(
        self,
        see: "_Seer",
        *,
        view: str = "",
        progress: Progress = lambda _done, _total: None,
    ) -> SyncReport:
        """Make a root hold what is seen and nothing else. While nothing changes, that costs next to nothing."""
        with telling("the copies of skills cannot be brought up to date"):
            return self._sync(see, view, progress)

    def _sync(self, see: "_Seer", view: str, progress: Progress) -> SyncReport:
        begun = time.monotonic()
        root = self.active(view)
        settled = self._settled.get(root.folder)
        source = _Seen(self, root, see, view, before=settled.seen if settled else None)
        if settled is None and not view:
            ensure_user_folders(self.layout, self.user)
        mark, taken = root.mark(), time.time_ns()
        seen = source.look()
        if settled is not None and settled.is_still(seen, mark):
            return replace(settled.report, seconds=time.monotonic() - begun)
        root.make()
        report = sync_root(root, self.versions, source, mark=mark, progress=progress)
        self.tidy()
        self._settled[root.folder] = self._settle(source.seen, mark, report, certain=root.is_certain(taken))
        return replace(report, seconds=time.monotonic() - begun)

    def _settle(self, seen: "_Sight", mark: object, report: SyncReport, *, certain: bool) -> _Settled:
        """Return that nothing is to be done until something changes; at once again if a change might not show."""
        now = time.monotonic()
        is_waiting = self.versions.workshop.has_retired() or self.versions.has_waiting()
        until = now + GRACE_SECONDS if is_waiting else float("inf")
        is_sure = certain and not report.changed and seen.recollection.is_complete and not seen.failures
        return _Settled(seen, mark, report, until if is_sure else now)

    def verify(self) -> None:
        """Read every copy of the user's; what is not as it should be is placed anew at the next sync."""
        places = [self.layout.active(self.user), *self.layout.views(self.user)]
        for place in places:
            root = CopyRoot(place, self.versions)
            with telling("the copies of skills cannot be verified"), root.locked(), self.versions.in_use():
                root.verify()
        self._settled.clear()

    def wanted(self, view: View, name: str) -> tuple[Skill, ...]:
        """Return the skills that must have a copy: what the model sees, and what a person has switched on for it.

        Of a skill from an MCP server that nobody has used yet, there is nothing to copy.

        While these are the same, it is the very same tuple.
        """
        former = self._wanted.get(name)
        if former is None or former.view is not view:
            listed = frozenset(skill.id for skill in view.visible if is_placeholder(skill))
            former = _Wanted(view, listed, None, ())
        on = self.store.open_skills(user=self.user) if view.for_people or former.listed else frozenset[str]()
        if former.on != on:
            left_out = former.listed - on
            visible = tuple(skill for skill in view.visible if skill.id not in left_out) if left_out else view.visible
            former = former._replace(on=on, skills=(*visible, *(one for one in view.for_people if one.id in on)))
        self._wanted[name] = former
        return former.skills

    # One skill that is needed now

    def place(self, root: CopyRoot, key: str, skill: Skill, files: FileSet) -> None:
        """Make sure that a root holds these very files of a skill; whatever else it holds stays."""
        with telling("copies that were made cannot be found"):
            placed = root.placed(key)
        if placed is not None and not root.holds(key, placed):
            placed = None
        if placed is not None and placed.id != skill.id:
            problem = make_problem("key-taken", f"the folder '{key}' is taken by {placed.id}")
            raise BrokenSkill(problem.message, problems=(problem,), hint=problem.remedy)
        if placed is not None and (placed.digest, placed.folder) == (files.digest, skill.real):
            return
        with telling("a copy cannot be made"):
            root.make()
            with root.locked(), self.versions.in_use():
                changes = root.apply(SyncPlan(places=(Place(key, skill),)), digest_of=self.digests.of)
            self._let_go(changes.released, root)
        for one, found, taken in changes.learned:
            self.digests.learn(one, found, taken=taken)
        if changes.skipped:
            raise _not_copied(skill, changes.skipped[0].problem)
        now = root.placed(key)
        if now is None or now.digest != files.digest:
            raise SkillChanged(f"skill '{skill.name}' was changed while it was copied", hint="try again")

    def find_files(self, root: CopyRoot, key: str, placed: Placed) -> tuple[str, FileSet] | None:
        """Return a folder with the files of a copy, and their list, having read them once; None if it is damaged.

        That is its version, which nothing changes; where there is none, as on another disk, the copy itself.
        """
        version = self.versions.folder(placed.digest)
        folder = version if self.versions.has(placed.digest) else os.path.join(root.folder, key)
        known = self._files.get(folder)
        if known is None or known.digest != placed.digest:
            known = read_skill_files(folder)
            if known.digest != placed.digest:
                return None
            with self._lock:
                self._files[folder] = known
                if len(self._files) > _MAX_FILE_LISTS:
                    del self._files[next(iter(self._files))]
        return folder, known

    def pin(self, skill: Skill, files: FileSet) -> Pin:
        """Return a hold on the version with these files of a skill, which is made if it is missing."""
        with telling("a version cannot be kept"), self.versions.in_use():
            if not self.versions.is_whole(files.digest):
                draft = self.versions.draft(skill)
                faults = [problem for problem in draft.files.problems if problem.code != "keeps-changing"]
                if faults:
                    raise _not_copied(skill, faults[0])
                if not files.digest or draft.files.digest != files.digest:
                    self.versions.drop([draft])
                    raise SkillChanged(f"skill '{skill.name}' was changed while it was copied", hint="try again")
                self.versions.seal([draft])
            return self.versions.pin_in_use(files.digest)


class _Wanted(NamedTuple):
    """The skills of a view that must have copies."""

    view: View
    listed: frozenset[str]
    """Ids of those that were only listed by a server when the view was made."""
    on: frozenset[str] | None
    """Ids of those that are switched on somewhere, as far as that matters."""
    skills: tuple[Skill, ...]


class _Sight(NamedTuple):
    """What must have copies at one moment, and what is known of it."""

    recollection: Recollection
    failures: Sequence[tuple[str, Problem]]
    unrest: int | None


class _Seen:
    """What a view wants copies of. A `WishSource`."""

    def __init__(self, copying: Copying, root: CopyRoot, see: _Seer, name: str, *, before: _Sight | None) -> None:
        self._copying = copying
        self._root = root
        self._see = see
        self._name = name
        self._before = before
        self._fresh: _Sight | None = None
        self.seen: _Sight = before or _Sight(Recollection((), {}, {}), (), None)

    def look(self) -> _Sight:
        """Find out what is there now."""
        digests, before = self._copying.digests, self._before
        recalled, self._before = None, None
        if before is not None and before.unrest is None:
            # Nobody watches. Who looks at all files of the known skills first spares the search a look at each.
            recalled = digests.recall(before.recollection.skills)
        view, catalog, unrest = self._see(recalled.vouched if recalled is not None else None)
        skills = self._copying.wanted(view, self._name)
        if recalled is None or recalled.skills != skills or unrest is not None:
            recalled = digests.recall(skills, unrest=unrest)
        failures = _find_failures(catalog, self._copying.roots())
        self._fresh = self.seen = _Sight(recalled, failures, unrest)
        return self.seen

    def wishes(self) -> Wishes:
        seen, self._fresh = self._fresh or self.look(), None
        known = seen.recollection.digests
        return Wishes([self._want(skill, known.get(skill.id)) for skill in seen.recollection.skills], seen.failures)

    def _want(self, skill: Skill, digest: str | None) -> Wanted:
        if digest == "":
            return Wanted(skill, problems=self._copying.digests.files(skill).problems)
        return Wanted(skill, digest or "")

    def digest(self, skill: Skill) -> str:
        """Return the digest, read if need be where a copy is there to be compared with: mostly nothing has changed."""
        digests = self._copying.digests
        has_copy = self._root.placed(make_activation_key(skill.id)) is not None
        return digests.of(skill) if has_copy else digests.certain(skill)

    def learn(self, skill: Skill, files: FileSet, taken: int) -> None:
        self._copying.digests.learn(skill, files, taken=taken)

    def held(self) -> frozenset[str]:
        return self._copying.store.held_digests()


def _not_copied(skill: Skill, problem: Problem) -> BrokenSkill:
    message = f"skill '{skill.name}' cannot be copied: {problem.message}"
    return BrokenSkill(message, problems=(problem,), hint=problem.remedy)


def _find_failures(catalog: Catalog, roots: Collection[str]) -> tuple[tuple[str, Problem], ...]:
    """Return the folders that the disk failed on when they were searched, and those that are not there to be searched.

    If that is true of every root, nothing is known of any skill: then the whole disk counts.
    """
    shown = {show_path(root): root for root in roots}
    found: list[tuple[str, Problem]] = []
    missing: dict[str, Problem] = {}
    for problem in catalog.problems:
        path = problem.path or ""
        if is_disk_error(problem):
            found.append((path, problem))
        if path in shown and (is_disk_error(problem) or problem.code in _NOT_SEARCHED):
            missing[path] = problem
    for path, problem in missing.items():  # Copies are known by the real folder that they were made from.
        found += [(path, problem), (show_path(os.path.realpath(shown[path])), problem)]
    if shown and len(missing) == len(shown):
        found += [(os.sep, problem) for problem in missing.values()]
    for rejected in catalog.rejected:
        found += [(rejected.path, problem) for problem in rejected.problems if is_disk_error(problem)]
    return tuple(found)
