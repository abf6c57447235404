"""A made-up machine: a home, a project in a repository, and core skills of its own."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prowess.catalog.catalog import Catalog
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from prowess.policy import PROFILES, Policy, SourceKind
from prowess.skill.problems import Problem
from prowess.sources.places import Place, resolve_sources
from prowess.sources.plugins import Plugins
from prowess.sources.source import Source
from tests.sources.building import skill_text

__all__ = ["STANDARD", "Machine", "discover", "ids", "messages", "user_source"]

STANDARD = PROFILES["standard"]


@dataclass(frozen=True)
class Machine:
    top: Path
    working: str = "project"

    @property
    def place(self) -> Place:
        home = self.top / "home"
        return Place(str(self.top / self.working), str(home), str(home / ".prowess"), "local")

    def draw(self, files: dict[str, str]) -> "Machine":
        """Write each SKILL.md; without a text of its own, a good one that is named after its folder."""
        (self.top / "project" / ".git").mkdir(parents=True, exist_ok=True)
        (self.top / self.working).mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            folder = self.top / path
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "SKILL.md").write_text(text or skill_text(folder.name, description=path))
        return self

    def sources(self, policy: Policy, plugins: Plugins | None = None) -> tuple[Source, ...]:
        """Return the policy's sources, the project being trusted, and core skills in a folder of the machine."""
        trusted = (self.place.project_root,)
        found = resolve_sources(policy, self.place, plugins=plugins, trusted_projects=trusted)
        core = str(self.top / "core")
        return tuple(replace(source, root=core) if source.kind is SourceKind.CORE else source for source in found)

    def catalog(self, profile: str, plugins: Plugins | None = None) -> Catalog:
        policy = PROFILES[profile]
        return discover(self.sources(policy, plugins), policy)


def discover(sources: Sequence[Source], policy: Policy = STANDARD, *, index: Index | None = None) -> Catalog:
    """Return the catalog of these sources, made from nothing but the disk and the index."""
    discovery = Discovery(policy, index)
    roots = [os.path.realpath(source.root) for source in sources]
    scans = [(one, discovery.scan(one, known_roots=roots)) for one in sources]
    discovery.save()
    return discovery.assemble(scans, generation=0)


def user_source(root: Path) -> Source:
    return Source(SourceKind.USER, str(root))


def ids(catalog: Catalog) -> list[str]:
    return [skill.id for skill in catalog.skills]


def messages(problems: Iterable[Problem]) -> str:
    return "\n".join(problem.message for problem in problems)
