"""Search one root for folders that hold a SKILL.md, within bounds.

Every folder is asked for its SKILL.md directly, and listed only if it has none: for a root of a thousand skills that is
one listing and a thousand look-ups. The order of the results depends on names alone.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from prowess.policy import Limits, Links, Scan, SourceKind
from prowess.skill.problems import Problem, Severity, make_problem
from prowess.sources.disk_errors import is_passing, name_fault
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import Source, is_below, show_path

__all__ = ["SKILL_MD", "Candidate", "Findings", "find_root_problem", "scan_folder"]

SKILL_MD = "SKILL.md"

_MOST_ODDITIES = 100
"""How many links, and how many misnamed files, of one root are told of one by one."""
_SKIPPED = frozenset({".git", "node_modules"})
_OWN_SOURCES = frozenset({SourceKind.USER, SourceKind.AGENTS, SourceKind.CONFIG, SourceKind.CORE})
_EXACT_NAMES = os.path.normcase("A") == "A" and not os.path.exists(__file__.upper())
"""Whether this disk tells `SKILL.md` from `skill.md`."""


class Candidate(NamedTuple):
    """A folder with something named SKILL.md in it."""

    folder: str
    relative: str
    real: str
    """The folder with all links resolved: the same for two ways to one place."""
    status: os.stat_result
    """Of the SKILL.md, links not followed."""


class _Folder(NamedTuple):
    path: str
    relative: str
    real: str
    depth: int


@dataclass(slots=True)
class Findings:
    """What a search of one root gave."""

    real: str = ""
    """The root with all links resolved, before it was searched; empty if it could not be."""
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    """In the order of their paths; none if each was visited as it was found."""
    in_order: bool = True
    """Whether they were found in the order of their paths."""
    problems: list[Problem] = field(default_factory=list[Problem])
    folders: list[tuple[str, os.stat_result]] = field(default_factory=list[tuple[str, os.stat_result]])
    """The folders in which skills were looked for, as they were before that: a change may add or remove skills."""
    links: int = 0
    """How many links were looked at."""
    loose: bool = False
    """What was found may change unseen: links lead to no skill by now, or the disk failed."""


def scan_folder(
    source: Source,
    *,
    limits: Limits,
    known_roots: Iterable[str] = (),
    private: Collection[str] = (),
    visit: Callable[[Candidate], None] | None = None,
) -> Findings:
    """Search the source's root. Links are followed as its policy says, `known_roots` being real paths.

    The folders in `private`, real paths too, are not entered, though they may be roots themselves. `visit` is given
    each candidate as it is found: what the system has just looked up is read sooner than among thousands of others.
    """
    findings = Findings()
    _Search(source, limits, tuple(known_roots), private, findings, visit or findings.candidates.append).run()
    return findings


def find_root_problem(root: str) -> Problem | None:
    """Return why no skills can be looked for in a root: it is not there, or no folder."""
    if os.path.isdir(root):
        return None
    shown = show_path(root)
    if os.path.isfile(root):
        remedy = "give the folder that the skills are in"
        return make_problem("source-unreadable", f"{shown} is a file, and no folder", path=shown, remedy=remedy)
    if os.path.lexists(root):
        return make_problem("source-unreadable", f"not a folder that can be read: {shown}", path=shown)
    return make_problem("source-missing", f"no such folder: {shown}", path=shown, severity=Severity.WARNING)


@dataclass(slots=True)
class _Search:
    source: Source
    limits: Limits
    known_roots: tuple[str, ...]
    private: Collection[str]
    findings: Findings
    visit: Callable[[Candidate], None]
    too_deep: int = 0
    asked: int = 0
    """How many folders, links and misnamed files were looked at."""
    oddities: Counter[str] = field(default_factory=Counter[str])
    """How many Problems with links and misnamed files there are, by their codes."""

    def run(self) -> None:
        root = self.source.root
        real = find_real_path(root)
        if real is None or not self._is_there(root):
            return
        self.findings.real = real
        top = _Folder(root, "", root if real == root else real, 0)
        is_skill = self.source.scan is not Scan.CHILDREN and self._take(root, "", real)
        if is_skill and self.source.scan is Scan.RECURSIVE:
            return
        self._descend(top)
        if len(self.findings.folders) > 1 or self.findings.links:
            self.findings.in_order = False
            self.findings.candidates.sort(key=_by_path)
        if self.too_deep:
            message = f"{self.too_deep} folders below {show_path(root)} are deeper than {self.limits.max_depth} levels"
            self._report("scan-too-deep", message, root)
        self._sum_up_oddities(root)

    def _is_there(self, root: str) -> bool:
        """Whether the root is a folder; report if it should be one."""
        try:
            if stat.S_ISDIR(os.stat(root).st_mode):
                return True
        except OSError as error:
            if is_passing(error):
                self._report_failure(root, error)
                return False
        problem = find_root_problem(root)
        if problem is not None and (self.source.expected or problem.code != "source-missing"):
            self.findings.problems.append(problem)
        return False

    def _report_failure(self, path: str, error: OSError) -> None:
        """Report a folder that could not be searched; one that the disk failed on is searched again the next time."""
        code = name_fault(error, otherwise="source-unreadable")
        self.findings.loose |= is_passing(error)
        message = f"cannot search {show_path(path)}: {error.strerror}"
        self._report(code, message, path, severity=Severity.WARNING)

    def _descend(self, top: _Folder) -> None:
        recursive = self.source.scan is Scan.RECURSIVE
        deepest = self.limits.max_depth if recursive else 1
        pending = [top]
        while pending:
            folder = pending.pop()
            barren = self._take_children(folder)
            if self.asked > self.limits.max_folders:
                message = f"stopped after {self.limits.max_folders:,} folders below {show_path(top.path)}"
                self._report("scan-too-many-folders", message, folder.path)
                return
            if folder.depth + 1 < deepest:
                pending.extend(reversed(barren))
            else:
                with_folders = sum(self._look_into(below) for below in barren)
                self.too_deep += with_folders if recursive else 0

    def _take_children(self, folder: _Folder) -> list[_Folder]:
        """Note the skills directly in a folder, and return its folders that are none."""
        path, relative, real, depth = folder
        barren: list[_Folder] = []
        prefix = f"{relative}/" if relative else ""
        for name in self._list(folder):
            self.asked += 1
            if self.asked > self.limits.max_folders:
                break
            inner = f"{path}/{name}"
            inner_real = inner if path is real else f"{real}/{name}"
            if inner_real in self.private:
                continue
            if not self._take(inner, prefix + name, inner_real):
                barren.append(_Folder(inner, prefix + name, inner_real, depth + 1))
        return barren

    def _list(self, folder: _Folder) -> list[str]:
        """Return the names of the folders in a folder, sorted; follow its links, and report misnamed files."""
        path = folder.path
        names: list[str] = []
        odd: list[os.DirEntry[str]] = []
        try:
            self._note_folder(path)
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
                    elif entry.is_symlink() or entry.name.lower() == "skill.md":
                        odd.append(entry)
        except OSError as error:
            self._report_failure(path, error)
            return []
        for entry in sorted(odd, key=lambda entry: entry.name):
            self.asked += 1
            if self.asked > self.limits.max_folders:
                break
            self._note_oddity(folder, entry)
        names.sort()
        return [name for name in names if name not in _SKIPPED]

    def _note_folder(self, path: str) -> None:
        """Remember how a folder is before it is searched."""
        with suppress(OSError):
            self.findings.folders.append((path, os.stat(path)))

    def _note_oddity(self, folder: _Folder, entry: "os.DirEntry[str]") -> None:
        if entry.is_symlink() and folder.depth < self.limits.max_depth:
            relative = f"{folder.relative}/{entry.name}" if folder.relative else entry.name
            self._follow(f"{folder.path}/{entry.name}", relative)
        elif entry.name != SKILL_MD:
            message = f"{show_path(folder.path)} has a {show_path(entry.name)}, but no SKILL.md"
            self._report_oddity("skill-md-misnamed", message, folder.path, severity=Severity.WARNING)

    def _take(self, path: str, relative: str, real: str) -> bool:
        """Note the folder if it has a SKILL.md; say whether it needs no further search."""
        try:
            status = os.lstat(f"{path}/{SKILL_MD}")
        except FileNotFoundError:  # By far the most frequent.
            return False
        except OSError as error:
            if not isinstance(error, PermissionError) and not is_passing(error):
                return False
            self._note_folder(path)
            self._report_failure(path, error)
            return True
        if not _EXACT_NAMES and SKILL_MD not in os.listdir(path):
            return False
        self.visit(Candidate(path, relative, real, status))
        return True

    def _look_into(self, folder: _Folder) -> bool:
        """Report a misnamed file in a folder at the deepest level; say whether a search would go on below it."""
        self._note_folder(folder.path)
        goes_on = False
        try:
            with os.scandir(folder.path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        goes_on = goes_on or entry.name not in _SKIPPED
                    elif entry.name.lower() == "skill.md":
                        self._note_oddity(folder, entry)
        except OSError:
            return False
        return goes_on

    def _follow(self, path: str, relative: str) -> None:
        """Take the skill behind a link if the link leads to one, and where the policy allows."""
        self.findings.links += 1
        if os.path.exists(path) and not os.path.isdir(path):
            return  # A linked file is no skill, and nobody will miss it.
        real = find_real_path(path)
        if self.source.links is Links.SKIP:
            why = "is a link; the policy follows none"
        elif real is None or not os.path.isdir(real):
            why = "leads nowhere"
            self.findings.loose = True
        elif not self._may_lead_to(real):
            why = "leads out of the project and of every known root"
            self.findings.loose = True
        elif not self._take(path, relative, real):
            why = "leads to a folder without a SKILL.md"
            self.findings.loose = True
        else:
            return
        self._report_oddity("link-not-followed", f"{show_path(path)} {why}", path)

    def _may_lead_to(self, real: str) -> bool:
        if self.source.kind in _OWN_SOURCES:
            return True
        project = self.source.project or self.source.root
        inside = (find_real_path(project), *self.known_roots)
        return any(root is not None and is_below(real, root) for root in inside)

    def _report_oddity(self, code: str, message: str, path: str, *, severity: Severity | None = None) -> None:
        self.oddities[code] += 1
        if self.oddities[code] <= _MOST_ODDITIES:
            self._report(code, message, path, severity=severity)

    def _sum_up_oddities(self, root: str) -> None:
        for code, word in (("link-not-followed", "links"), ("skill-md-misnamed", "misnamed files")):
            rest = self.oddities[code] - _MOST_ODDITIES
            if rest > 0:
                message = f"{rest:,} more {word} below {show_path(root)}"
                self._report(code, message, root, severity=Severity.WARNING)

    def _report(self, code: str, message: str, path: str, *, severity: Severity | None = None) -> None:
        self.findings.problems.append(make_problem(code, message, path=show_path(path), severity=severity))


def _by_path(candidate: Candidate) -> list[str]:
    return candidate.relative.split("/")
