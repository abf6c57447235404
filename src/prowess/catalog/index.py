"""The index: what every root was found to hold, kept across processes, one file a root."""

import hashlib
import os
from dataclasses import dataclass
from typing import NamedTuple

from prowess.catalog.cache_file import read_cache, write_cache
from prowess.policy import Policy
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.source import Source
from prowess.sources.stamps import Stamp
from prowess.version import __version__

__all__ = ["Entry", "Index", "RootScan"]

_HEADER = b"prowess-index-3\n"


class Entry(NamedTuple):
    """What came of one SKILL.md, and the stamps for which that holds."""

    folder: str
    stamp: Stamp
    skill: Skill | None
    problems: tuple[Problem, ...] = ()
    """Of a folder that gave no skill; a skill carries its own."""
    sidecar: Stamp | None = None
    """None: there is no sidecar."""
    elsewhere: str = ""
    """The folder with all links resolved, if that is another."""
    via_link: bool = False
    """The folder, or the SKILL.md in it, is a link: what it leads to may change unseen."""

    @property
    def real(self) -> str:
        """The folder with all links resolved."""
        return self.elsewhere or self.folder


class RootScan(NamedTuple):
    """What one root held when it was searched."""

    found: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    listed: tuple[tuple[str, Stamp], ...] = ()
    """The folders that were searched. While none of them changes, no skill can appear in them or vanish."""
    taken: int = 0
    """When the search began, in nanoseconds."""
    settled: bool = True
    """Every stamp was old enough then that a later change must show in it."""
    loose: bool = False
    """What was found may change without any sign in these folders: links lead to no skill yet, or the disk failed."""
    real: str = ""
    """The root with all links resolved."""


@dataclass(frozen=True, slots=True)
class Index:
    """Scans on disk, by source and by the policy they were made under."""

    folder: str
    """Where the files lie; it need not exist."""

    def load(self, source: Source, policy: Policy) -> RootScan | None:
        """Return the last scan of a root, if there is one that can be used."""
        return read_cache(self._file(source, policy), header=_HEADER, kind=RootScan)

    def save(self, source: Source, policy: Policy, scan: RootScan) -> None:
        """Keep the scan of a root in place of the former one."""
        write_cache(self._file(source, policy), header=_HEADER, value=scan)

    def _file(self, source: Source, policy: Policy) -> str:
        key = repr((__version__, source, policy.reading, policy.limits)).encode("utf-8", "surrogateescape")
        return os.path.join(self.folder, hashlib.sha256(key).hexdigest()[:32])
