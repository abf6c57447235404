"""A root: a folder of copies that is mounted somewhere, and so is never replaced itself.

Each copy is swapped as a whole. At every instant a reader who opens `<root>/<key>` has one whole version in hand, and
keeps it whole for as long as any reading takes: what was swapped out is not removed at once.
"""

import errno
import os
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from prowess.copies.disk_failures import disk_failure
from prowess.copies.entries import (
    Entry,
    find_entry,
    is_leftover_name,
    list_entries,
    list_names,
    tells_case,
    unlock_entry,
)
from prowess.copies.layout import RootPlace
from prowess.copies.plan import Place, Placed, Present, Remove, Skipped, SyncPlan, may_stay
from prowess.copies.record import Record
from prowess.copies.trees import lock_folder, place_tree, remove_tree
from prowess.copies.versions import Draft, Versions
from prowess.copies.workshop import Workshop
from prowess.errors import WorldError
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.durable_names import fsync_folder
from prowess.sources.locks import Hold, hold_lock
from prowess.sources.private_folders import make_private_folder
from prowess.sources.renaming import exchange
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import show_path
from prowess.sources.stamps import Stamp, is_reliable, stamp_file

__all__ = ["Changes", "CopyRoot"]

_BATCH = 250
"""How many skills are copied before they are placed: so much of a long sync can be lost, and no more."""


@dataclass(slots=True)
class Changes:
    """What a sync has changed."""

    copied: list[str] = field(default_factory=list[str])
    """Ids of skills."""
    removed: list[str] = field(default_factory=list[str])
    """Ids of skills, or names of what was no copy."""
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    unchanged: int = 0
    released: list[str] = field(default_factory=list[str])
    """Digests of copies that are gone."""
    learned: list[tuple[Skill, FileSet, int]] = field(default_factory=list[tuple[Skill, FileSet, int]])
    """Files that were read on the way, with the moment."""


class CopyRoot:
    """The copies in one root. Who changes them holds the root's lock."""

    def __init__(self, place: RootPlace, versions: Versions) -> None:
        self.folder = place.folder
        self._book = place.book
        self._versions = versions
        self._record = Record(os.path.join(place.book, "record"), durable=versions.durable)
        self._shop: Workshop | None = None

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep others from changing the root."""
        with hold_lock(os.path.join(self._book, "lock"), Hold.ALONE):
            yield

    def make(self) -> None:
        """Make the folder if it is missing, so that it can be mounted; a container's user must be able to read it."""
        if not os.path.lexists(self.folder):
            make_private_folder(os.path.dirname(self.folder))
            try:
                os.mkdir(self.folder, 0o755)
                os.chmod(self.folder, 0o755)  # noqa: S103 - the folders above keep others out
            except FileExistsError:
                return

    # Looking

    def mark(self) -> object:
        """Return something that changes whenever the root does, by a sync in any process or by hand; in two looks."""
        return self._record.version(), self._stamp()

    def is_certain(self, taken: int) -> bool:
        """Whether any change of the root after a moment, in nanoseconds, must show in its mark."""
        stamp = self._stamp()
        return stamp is not None and is_reliable(stamp, taken=taken)

    def _stamp(self) -> Stamp | None:
        try:
            return stamp_file(os.lstat(self.folder))
        except FileNotFoundError:
            return None

    def look(self) -> Present:
        """Return what is in the root now."""
        return self._sort(list_entries(self.folder))

    def _look_at(self, names: Collection[str]) -> Present:
        """Return what is in the root under these names: a small change has a small price."""
        found = [entry for name in names if (entry := find_entry(self.folder, name)) is not None]
        return self._sort(found)

    def _sort(self, found: Iterable[Entry]) -> Present:
        """Tell copies that are certain from all else."""
        recorded = self._record.read()
        copies: dict[str, Placed] = {}
        strangers: list[str] = []
        for name, inode, changed in found:
            placed = recorded.get(name)
            if placed is not None and (placed.inode, placed.changed) == (inode, changed):
                copies[name] = placed
            else:
                strangers.append(name)
        odd = frozenset(name for name in strangers if not self._holds_leftovers_only(name))
        return Present(copies, odd, tells_case=tells_case(self.folder))

    def placed(self, key: str) -> Placed | None:
        """Return what was last placed under a key, as the record says."""
        return self._record.read().get(key)

    def holds(self, key: str, placed: Placed) -> bool:
        """Whether a copy is still the one that was placed."""
        entry = find_entry(self.folder, key)
        return entry is not None and (entry.inode, entry.changed) == (placed.inode, placed.changed)

    def _holds_leftovers_only(self, name: str) -> bool:
        """Whether a folder is all that a network file system has left of a removed one."""
        if is_leftover_name(name):
            return True
        names = list_names(os.path.join(self.folder, name))
        return bool(names) and all(map(is_leftover_name, names))

    # Changing, under the lock and while the versions are in use

    def apply(
        self,
        plan: SyncPlan,
        *,
        digest_of: Callable[[Skill], str],
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Changes:
        """Carry out a plan. Applied twice, it is applied once.

        `digest_of` gives a skill's digest if that is certain without reading; `progress` is told how many skills are
        done, of how many. A disk that fails is a WorldError; what is in the root by then is whole, and the next sync
        goes on.
        """
        changes = Changes(skipped=list(plan.skipped), unchanged=plan.unchanged)
        done = count(1)

        def tell() -> None:
            progress(next(done), len(plan.places))

        present = self._look_at({*(place.key for place in plan.places), *(remove.name for remove in plan.removes)})
        try:
            self.make()
            if self._workshop() is not self._versions.workshop:
                self._workshop().clean_staging()  # Only who holds this root's lock works there.
            for start in range(0, len(plan.places), _BATCH):
                batch = plan.places[start : start + _BATCH]
                self._place(batch, present, changes, digest_of, tell)
            self._remove(plan.removes, present, changes)
            if self._versions.durable:
                fsync_folder(self.folder)
        except OSError as error:
            raise disk_failure("a copy cannot be placed", error) from error
        return changes

    def _place(
        self,
        batch: Sequence[Place],
        present: Present,
        changes: Changes,
        digest_of: Callable[[Skill], str],
        tell: Callable[[], None],
    ) -> None:
        """Bring a number of copies up to date: first all versions, then all swaps."""
        digests: dict[str, str] = {}
        drafts: list[Draft] = []
        withdrawn: list[Remove] = []
        try:
            for place in batch:
                digest = digest_of(place.skill)
                if not self._versions.is_whole(digest):
                    draft = self._versions.draft(place.skill)
                    drafts.append(draft)
                    changes.learned.append((place.skill, draft.files, draft.taken))
                    digest = draft.files.digest
                    if draft.files.problems:
                        withdrawn += self._skip(place, draft.files.problems, present, changes)
                digests[place.key] = digest
                tell()
        except BaseException:
            self._versions.drop(drafts)
            raise
        self._versions.seal(drafts)
        self._swap([place for place in batch if digests[place.key]], digests, present, changes)
        self._remove(withdrawn, present, changes)

    def _skip(self, place: Place, problems: Sequence[Problem], present: Present, changes: Changes) -> Iterable[Remove]:
        """Report a skill that cannot be copied; return what must go because of that."""
        changes.skipped.append(Skipped(place.skill.id, problems[0]))
        there = present.copies.get(place.key)
        is_kept = there is not None and there.id == place.skill.id and may_stay(problems)
        if not is_kept and (there is not None or place.key in present.strangers):
            yield Remove(place.key, there.id if there else "")

    def _swap(self, places: Sequence[Place], digests: Mapping[str, str], present: Present, changes: Changes) -> None:
        due: list[Place] = []
        sure: dict[str, Placed] = {}
        for place in places:
            there = present.copies.get(place.key)
            found = there.digest if there else self._identify(place.key, present)
            if found != digests[place.key]:
                due.append(place)
                continue
            changes.unchanged += 1
            if there is None or (there.id, there.folder) != (place.skill.id, place.skill.real):
                lock_folder(os.path.join(self.folder, place.key))  # Who placed it may not have come so far.
                sure[place.key] = self._describe(place, found)
        self._record.doubt(place.key for place in due)
        for place in due:
            before = present.copies.get(place.key)
            try:
                self._put(place.key, digests[place.key], former=before.digest if before else "")
            except OSError as error:
                self._report_busy(error, place.key, place.skill.id, changes)
                continue
            sure[place.key] = self._describe(place, digests[place.key])
            changes.copied.append(place.skill.id)
            changes.released += [before.digest] if before else []
        self._record.note(sure)

    def _identify(self, key: str, present: Present) -> str:
        """Return the digest of a copy that a sync has placed without a note of it, and that is whole; else nothing."""
        return read_skill_files(os.path.join(self.folder, key)).digest if key in present.strangers else ""

    def _describe(self, place: Place, digest: str) -> Placed:
        status = os.lstat(os.path.join(self.folder, place.key))
        return Placed(place.skill.id, digest, status.st_ino, status.st_ctime_ns, place.skill.real)

    def _put(self, key: str, digest: str, *, former: str) -> None:
        """Put a version in the place of whatever has the key."""
        shop, target = self._workshop(), os.path.join(self.folder, key)
        staged = shop.new_swap()
        place_tree(self._versions.folder(digest), staged)
        if not unlock_entry(target):
            os.rename(staged, target)
        else:
            exchange(staged, target)
            self._carry_leftovers(staged, target)
            shop.retire(staged, digest=former)
        lock_folder(target)

    def _remove(self, removes: Iterable[Remove], present: Present, changes: Changes) -> None:
        due = [remove for remove in removes if remove.name in present.copies or remove.name in present.strangers]
        self._record.doubt(remove.name for remove in due)
        for remove in due:
            path = os.path.join(self.folder, remove.name)
            if not unlock_entry(path):
                continue
            before = present.copies.get(remove.name)
            try:
                self._take_out(path, digest=before.digest if before else "")
            except OSError as error:
                self._report_busy(error, remove.name, remove.id or remove.name, changes)
                continue
            changes.removed.append(remove.id or remove.name)
            changes.released += [before.digest] if before else []

    def _report_busy(self, error: OSError, name: str, whose: str, changes: Changes) -> None:
        """Report what the system keeps where it is; raise whatever else went wrong."""
        if error.errno != errno.EBUSY:
            raise error
        message = f"'{show_path(name)}' cannot be removed: {error.strerror}"
        changes.skipped.append(Skipped(whose, make_problem("not-removable", message)))

    def _take_out(self, path: str, *, digest: str) -> None:
        shop = self._workshop()
        has_leftovers = any(map(is_leftover_name, list_names(path)))
        staged = shop.new_swap()
        os.rename(path, staged)
        if has_leftovers:
            os.mkdir(path, 0o755)
            self._carry_leftovers(staged, path)
        shop.retire(staged, digest=digest)

    def _carry_leftovers(self, old: str, new: str) -> None:
        """Leave what a network file system keeps of open files where its clients look for it."""
        for name in filter(is_leftover_name, list_names(old)):
            os.rename(os.path.join(old, name), os.path.join(new, name))

    def _workshop(self) -> Workshop:
        """Return the workshop on the root's own disk: what lies on another cannot be moved in."""
        if self._shop is None:
            make_private_folder(self._versions.layout.workshop)
            beside = os.stat(os.path.dirname(self.folder)).st_dev
            if os.path.ismount(self.folder):
                raise WorldError(
                    f"{show_path(self.folder)} is a disk of its own, so that nothing can be moved into it in one step",
                    hint="mount that disk one level higher, or on the whole of Prowess' home",
                    code="not-a-folder",
                )
            if beside == os.stat(self._versions.layout.workshop).st_dev:
                self._shop = self._versions.workshop
            else:
                self._shop = Workshop(self._beside)
        return self._shop

    @property
    def _beside(self) -> str:
        """The workshop of a root on another disk than the versions."""
        return os.path.join(os.path.dirname(self.folder), ".copies")

    def verify(self) -> None:
        """Read every copy and its version, and forget those that are not what they should be.

        The next sync makes them anew.
        """
        copies = self.look().copies
        for digest in {placed.digest for placed in copies.values()}:
            if self._versions.has(digest) and self._versions.read(digest) is None:
                self._versions.discard(digest)
        self._record.doubt(
            key
            for key, placed in copies.items()
            if read_skill_files(os.path.join(self.folder, key)).digest != placed.digest
            or not self._versions.has(placed.digest)
        )

    def clean(self) -> list[str]:
        """Remove retired copies whose time is over; return their digests."""
        return self._workshop().clean_retired()

    def remove(self) -> tuple[str, ...]:
        """Remove the root with all its copies, which nobody may use any more; return the digests let go of."""
        released = tuple(placed.digest for placed in self._record.read().values())
        if os.path.lexists(self.folder):
            staged = self._workshop().new_draft()
            os.rename(self.folder, staged)
            remove_tree(staged)
        if os.path.lexists(self._beside):
            remove_tree(self._beside)  # Nobody reads any more in what was retired there.
        remove_tree(self._book)
        return released
