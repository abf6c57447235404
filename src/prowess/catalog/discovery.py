"""From sources to a Catalog: search, read what is new, settle precedence."""

import gc
import os
import stat
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from prowess.catalog.catalog import Catalog, RejectedSkill
from prowess.catalog.index import Entry, Index, RootScan
from prowess.catalog.precedence import rank_skills
from prowess.catalog.verdicts import find_sidecar, judge_folder, name_folder
from prowess.policy import Policy, Scan, UnknownKeys
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.disk_errors import is_disk_error
from prowess.sources.folders import SKILL_MD, Candidate, Findings, scan_folder
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import Source, is_text, show_path
from prowess.sources.stamps import Stamp, are_reliable, is_reliable, stamp_file

__all__ = ["Discovery"]


@dataclass(slots=True)
class Discovery:
    """Searches sources again and again, and reads only what is new since the last time or another process' search."""

    policy: Policy
    index: Index | None = None
    private: frozenset[str] = frozenset()
    """Folders of Prowess' own that no search enters: what lies there are copies of skills."""
    known: dict[Source, RootScan] = field(default_factory=dict[Source, RootScan])
    unsaved: set[Source] = field(default_factory=set[Source])

    def scan(
        self, source: Source, *, known_roots: Iterable[str] = (), vouched: Mapping[str, Stamp] | None = None
    ) -> RootScan:
        """Return what the root holds now: the very same value as before if nothing has changed.

        Folders in `vouched` are not looked at: somebody saw a moment ago that their SKILL.md still has this stamp, and
        that there is no sidecar.
        """
        with _collector_paused():
            place = _place_of(source)
            known = self.known.get(place)
            if known is None and self.index is not None:
                known = self.index.load(place, self.policy)
            if known is None:
                return self._search(source, RootScan(), known_roots)
            self.known[place] = known
            stirred = self._find_stirred(source, known, vouched or {})
            found = self.look_again(source, stirred) if stirred else known
            if stirred is None or found is None:
                return self._search(source, known, known_roots)
            return found

    def _find_stirred(self, source: Source, known: RootScan, vouched: Mapping[str, Stamp]) -> list[str] | None:
        """Return the folders whose SKILL.md has changed, if a look at what is known tells that nothing else has."""
        if not known.settled or known.loose or not known.listed:
            return None
        # The same folder by another way tells nothing by its stamp, and skills are opened by their real paths.
        if find_real_path(source.root) != known.real:
            return None
        sidecars = self._reads_sidecars()
        stirred: list[str] = []
        lstat, access, exists = os.lstat, os.access, os.F_OK  # Asked thousands of times.
        try:
            for folder, stamp in known.listed:
                if stamp_file(os.stat(folder)) != stamp:
                    return None
            for folder, stamp, _, _, sidecar, elsewhere, via_link in known.found:
                if sidecar is None and not elsewhere and vouched.get(folder) == stamp:
                    continue
                if via_link:
                    return None
                if stamp_file(lstat(f"{folder}/SKILL.md")) != stamp:
                    stirred.append(folder)
                if not sidecars or (sidecar is None and not access(f"{folder}/agents/openai.yaml", exists)):
                    continue
                if find_sidecar(folder, self.policy.reading) != sidecar:
                    return None
        except OSError:
            return None
        return stirred

    def _search(self, source: Source, known: RootScan, known_roots: Iterable[str]) -> RootScan:
        taken = time.time_ns()
        before = {entry.folder: entry for entry in known.found if _can_be_kept(entry, taken=known.taken)}
        found: list[Entry] = []

        def judge(candidate: Candidate) -> None:
            found.append(self._judge(source, candidate, before.get(candidate.folder)))

        limits = self.policy.limits
        findings = scan_folder(source, limits=limits, known_roots=known_roots, private=self.private, visit=judge)
        if not findings.in_order:
            found.sort(key=_by_path)
        return self._keep(source, _settle(tuple(found), findings, taken), known)

    def look_again(self, source: Source, folders: Collection[str]) -> RootScan | None:
        """Return what the root holds now if nothing has changed in it but the SKILL.md in these folders.

        Those that were too young to be relied on at the last look are read as well. None: the root must be searched.
        """
        known = self.known.get(_place_of(source))
        taken = time.time_ns()
        if known is None or known.loose or taken < known.taken or find_real_path(source.root) != known.real:
            return None
        if not known.settled and not are_reliable([stamp for _, stamp in known.listed], taken=known.taken):
            return None
        found = list(known.found)
        places = {place for place, entry in enumerate(found) if entry.folder in folders}
        if len(places) < len(folders):
            return None
        if not known.settled:
            places.update(place for place, entry in enumerate(found) if not _is_reliable(entry, taken=known.taken))
        for place in places:
            judged = self._judge_again(source, found[place])
            if judged is None:
                return None
            found[place] = judged
        news = found if not known.settled else [found[place] for place in places]  # The others are settled already.
        settled = _is_settled(news, known.listed, known.real, taken)
        return self._keep(source, known._replace(found=tuple(found), taken=taken, settled=settled), known)

    def _judge_again(self, source: Source, entry: Entry) -> Entry | None:
        """Return what has become of a SKILL.md; None if it is gone or a link, or the disk fails."""
        try:
            status = os.lstat(f"{entry.folder}/{SKILL_MD}")
        except OSError:
            return None
        relative = entry.folder.removeprefix(source.root).lstrip("/")
        candidate = Candidate(entry.folder, relative, entry.real, status)
        judged = self._judge(source, candidate, None)
        return None if entry.via_link or judged.via_link or _has_failed(judged) else judged

    def _keep(self, source: Source, scan: RootScan, before: RootScan) -> RootScan:
        place = _place_of(source)
        self.known[place] = scan
        if scan.settled and scan != before and is_text(source.root):
            self.unsaved.add(place)
        return scan

    def save(self) -> None:
        """Keep what was found for other processes. It is not done at once, since the answer does not depend on it."""
        for source in self.unsaved:
            if self.index is not None:
                self.index.save(source, self.policy, self.known[source])
        self.unsaved.clear()

    def _reads_sidecars(self) -> bool:
        return self.policy.reading.unknown_keys is UnknownKeys.DIALECTS

    def _judge(self, source: Source, candidate: Candidate, known: Entry | None) -> Entry:
        folder, relative, real, status = candidate
        reading = self.policy.reading
        stamp, sidecar = stamp_file(status), find_sidecar(folder, reading)
        elsewhere = "" if real == folder else real
        if (
            known is not None
            and (known.stamp, known.sidecar, known.elsewhere) == (stamp, sidecar, elsewhere)
            and not known.via_link
        ):
            return known
        via_link = (real != folder and os.path.islink(folder)) or stat.S_ISLNK(status.st_mode)
        name = name_folder(relative, folder)
        (manifest, problems), _ = judge_folder(folder, status, name=name, reading=reading, sidecar=sidecar)
        if manifest is None:
            return Entry(folder, stamp, None, problems, sidecar, elsewhere, via_link)
        identity = source.skill_id(relative)
        skill = Skill(
            identity,
            source.kind,
            source.root,
            relative,
            folder,
            manifest,
            problems,
            source.trusted,
            elsewhere,
            apart=not relative and source.scan is Scan.ROOT_AND_CHILDREN,
        )
        return Entry(folder, stamp, skill, (), sidecar, elsewhere, via_link)

    def assemble(self, scans: Sequence[tuple[Source, RootScan]], *, generation: int) -> Catalog:
        """Put the roots together, highest precedence first. A folder reached twice counts once, at its first place."""
        skills: list[Skill] = []
        rejected: list[RejectedSkill] = []
        problems: list[Problem] = []
        reached: set[str] = set()
        owners = _find_owners(scans)
        if not self.policy.enabled and not scans:
            problems.append(make_problem("skills-off", "skills are switched off"))
        for source, scan in scans:
            problems.extend((*source.problems, *scan.problems))
            for entry in scan.found:
                real = entry.elsewhere or entry.folder
                if real in reached or (owners and owners.get(real, source) is not source):
                    message = f"{show_path(entry.folder)} was reached before by another way"
                    problems.append(make_problem("reached-twice", message, path=show_path(entry.folder)))
                    continue
                reached.add(real)
                if entry.skill is not None:
                    skills.append(entry.skill)
                else:
                    rejected.append(RejectedSkill(show_path(entry.folder), source.root, entry.problems))
        limit = self.policy.limits.max_skills
        if len(skills) > limit:
            message = f"{len(skills):,} skills were found, {limit:,} are allowed; the last ones are left out"
            cut = make_problem("too-many-skills", message)
            problems.append(cut)
            rejected += [RejectedSkill(show_path(skill.folder), skill.root, (cut,)) for skill in skills[limit:]]
            del skills[limit:]
        ranking = rank_skills(skills, self.policy.same_name)
        return Catalog(
            skills=tuple(ranking.skills),
            shadowed=ranking.shadowed,
            rejected=tuple(rejected),
            problems=tuple(problems),
            by_name=ranking.by_name,
            by_id=ranking.by_id,
            generation=generation,
        )


def _find_owners(scans: Sequence[tuple[Source, RootScan]]) -> dict[str, Source]:
    """Return which source a folder belongs to, where an untrusted one could claim it first.

    A project that nobody trusts may link to a skill of the user's own; it must not take it away from the user.
    """
    if all(source.trusted for source, _ in scans):
        return {}
    return {entry.real: source for source, scan in reversed(scans) if source.trusted for entry in scan.found}


def _by_path(entry: Entry) -> list[str]:
    return entry.folder.split("/")


def _place_of(source: Source) -> Source:
    """Return what a scan is remembered by: what is wrong with a source today makes it no other place."""
    return replace(source, problems=()) if source.problems else source


def _can_be_kept(entry: Entry, *, taken: int) -> bool:
    """Whether what was found then still holds while the stamps are the same; a disk that failed may work by now."""
    return _is_reliable(entry, taken=taken) and not _has_failed(entry)


def _is_reliable(entry: Entry, *, taken: int) -> bool:
    sidecar = entry.sidecar
    return is_reliable(entry.stamp, taken=taken) and (sidecar is None or is_reliable(sidecar, taken=taken))


def _has_failed(entry: Entry) -> bool:
    return any(is_disk_error(problem) for problem in entry.problems)


def _settle(found: tuple[Entry, ...], findings: Findings, taken: int) -> RootScan:
    """Return the scan, with the stamps of the folders that were listed, and whether all stamps can be relied on."""
    listed = tuple((folder, stamp_file(status)) for folder, status in findings.folders)
    settled = _is_settled(found, listed, findings.real, taken)
    loose = findings.loose or any(_has_failed(entry) for entry in found if entry.problems)
    return RootScan(found, tuple(findings.problems), listed, taken, settled, loose, findings.real)


def _is_settled(found: Sequence[Entry], listed: Iterable[tuple[str, Stamp]], real: str, taken: int) -> bool:
    """Whether all stamps can be relied on, and all names can be written."""
    stamps = [*(stamp for _, stamp in listed), *(entry.stamp for entry in found)]
    stamps += [entry.sidecar for entry in found if entry.sidecar is not None]
    names = [*(folder for folder, _ in listed), *(entry.real for entry in found if entry.elsewhere)]
    names += [real, *(entry.folder for entry in found)]
    return are_reliable(stamps, taken=taken) and (all(map(str.isascii, names)) or all(map(is_text, names)))


@contextmanager
def _collector_paused() -> Generator[None]:
    """Keep the garbage collector from looking through thousands of new values, none of which is garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
