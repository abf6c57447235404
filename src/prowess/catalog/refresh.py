"""Keep a catalog current: the answer to "which skills are there now?", at the price that the policy sets."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from prowess.catalog.catalog import Catalog
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index, RootScan
from prowess.catalog.watching import Coverage, Watcher
from prowess.policy import Policy, Refresh
from prowess.skill.dialects import SIDECAR_PATH
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import Source
from prowess.sources.stamps import Stamp

__all__ = ["CatalogKeeper", "find_coverage"]

_MAX_ROUNDS = 5
"""How often a root is searched again because folders appeared in it meanwhile."""


class CatalogKeeper:
    """Holds the present catalog and replaces it when something has changed.

    While nothing has changed, the very same object is returned, so that whatever was made from it can be kept too.
    Watching begins with the second question: many programs ask only once, and watches take time.
    """

    def __init__(
        self,
        policy: Policy,
        sources: Callable[[], Sequence[Source]],
        *,
        index: Index | None = None,
        private: frozenset[str] = frozenset(),
    ) -> None:
        self._policy = policy
        self._sources = sources
        self._discovery = Discovery(policy, index, private)
        self._watcher: Watcher | None = None
        self._scans: dict[Source, RootScan] = {}
        self._catalog: Catalog | None = None
        self._unrest = 0

    @property
    def unrest(self) -> int | None:
        """A number that stays the same while every root is watched and none of them stirs; None if nobody watches.

        While it is the same after two questions, each folder in which skills were found was the same one at both.
        """
        return self._unrest if self._watcher is not None and self._watcher.is_mine else None

    @property
    def watches(self) -> bool:
        """Whether changes are heard of from the kernel, for every root."""
        return self._watcher is not None and all(self._watcher.is_reliable(source.root) for source in self._scans)

    def current(self, *, vouched: Mapping[str, Stamp] | None = None) -> Catalog:
        """Return the catalog as of now.

        Where nobody watches, the folders in `vouched` (of skills without a sidecar, with the stamps of their SKILL.md)
        are not looked at: somebody did so a moment ago, and nothing in them had changed.
        """
        if not self._policy.enabled:
            return self._settle(())
        if self._catalog is not None and self._policy.refresh is Refresh.START:
            return self._catalog
        return self._refresh(vouched)

    def rescan(self) -> Catalog:
        """Search all roots, whatever the policy says."""
        if not self._policy.enabled:
            return self._settle(())
        self._scans.clear()
        return self._refresh()

    def close(self) -> None:
        """Stop watching, and keep what was learned for other processes."""
        self._discovery.save()
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def _refresh(self, vouched: Mapping[str, Stamp] | None = None) -> Catalog:
        if self._catalog is not None:
            self._discovery.save()
            if self._policy.refresh is Refresh.WATCHED and (self._watcher is None or not self._watcher.is_mine):
                if self._watcher is not None:  # The fork keeps its own descriptors of a queue that it may not read.
                    self._watcher.close()
                self._watcher = Watcher()
        sources = tuple(self._sources())
        changed = self._restless(sources)
        if not changed and self._catalog is not None and tuple(self._scans) == sources:
            return self._catalog
        self._unrest += 1
        known_roots = [real for source in sources if (real := find_real_path(source.root)) is not None]
        before = self._scans
        self._scans = {
            source: self._scan(source, known_roots, vouched) if source in changed else before[source]
            for source in sources
        }
        if self._watcher is not None:
            self._watcher.forget(source.root for source in sources)
        return self._settle(sources)

    def _restless(self, sources: Sequence[Source]) -> set[Source]:
        if self._watcher is None:
            return set(sources)
        roots = set(self._watcher.find_restless(source.root for source in sources))
        return {source for source in sources if source.root in roots or self._is_moved(source)}

    def _is_moved(self, source: Source) -> bool:
        """Whether the root is new, or the same folder by another way: skills are opened by the real one."""
        scan = self._scans.get(source)
        return scan is None or (scan.real != "" and scan.real != find_real_path(source.root))

    def _scan(self, source: Source, known_roots: Sequence[str], vouched: Mapping[str, Stamp] | None) -> RootScan:
        watcher = self._watcher
        if watcher is None:
            return self._discovery.scan(source, known_roots=known_roots, vouched=vouched)
        for _ in range(_MAX_ROUNDS):
            stirred = watcher.begin(source.root)  # From here on, what somebody saw before does not count.
            scan = self._look_again(source, stirred)
            if scan is not None:
                return scan
            scan = self._discovery.scan(source, known_roots=known_roots)
            if not watcher.cover(source.root, find_coverage(scan)):
                return scan
        return self._discovery.scan(source, known_roots=known_roots)

    def _look_again(self, source: Source, stirred: Collection[str]) -> RootScan | None:
        """Return the scan of a root in which only these skills have stirred; None if it must be searched."""
        if not stirred or source not in self._scans:
            return None
        if sum(known.root == source.root for known in self._scans) > 1:  # The other one has been told of them.
            return None
        return self._discovery.look_again(source, stirred)

    def _settle(self, sources: Sequence[Source]) -> Catalog:
        generation = self._catalog.generation if self._catalog else 0
        fresh = self._discovery.assemble([(source, self._scans[source]) for source in sources], generation=generation)
        if self._catalog is None or fresh != self._catalog:
            self._catalog = replace(fresh, generation=generation + 1)
        return self._catalog


def find_coverage(scan: RootScan) -> Coverage:
    """Return what must be watched for the scan to stay true."""
    skills: list[str] = []
    links: list[str] = []
    places = {stamp[0]: folder for folder, stamp in scan.listed}
    certain = not scan.loose
    for entry in scan.found:
        skills.append(entry.folder)
        places.setdefault(entry.stamp[0], entry.folder)
        agents = f"{entry.folder}/{os.path.dirname(SIDECAR_PATH)}"
        if os.path.isdir(agents):
            skills.append(agents)
        if entry.via_link and os.path.islink(entry.folder):
            links.append(entry.folder)
        elif entry.via_link:
            certain = False  # The SKILL.md links to a file of another name, or somewhere else.
    listed = tuple(folder for folder, _ in scan.listed)
    return Coverage(listed, tuple(skills), tuple(links), certain, tuple(places.values()))
