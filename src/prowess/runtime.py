"""The Runtime: the one object that applications, and every surface of Prowess itself, hold.

It strings the rooms together: settings say which sources there are, the catalog keeper finds what they hold, the state
store remembers what people decided, and views say what an agent may see.
"""

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType

from prowess.catalog.catalog import Catalog
from prowess.catalog.digests import Digests
from prowess.catalog.eligibility import HostProbe, Probe, decide_eligibility
from prowess.catalog.index import Index
from prowess.catalog.reasons import Explanation, explain
from prowess.catalog.refresh import CatalogKeeper
from prowess.catalog.switches import EVERY_AGENT, Switch, Switches, switch_key
from prowess.catalog.views import Reason, View, make_view
from prowess.disclosure.catalog_text import render_catalog
from prowess.errors import NotFound, SettingsError
from prowess.policy import CatalogText, SourceKind
from prowess.settings import Settings, load_settings
from prowess.skill.skill import Skill
from prowess.sources.places import expand_path, find_project_root, resolve_directories, resolve_sources
from prowess.sources.plugins import Plugins
from prowess.sources.skill_files import FileSet
from prowess.sources.source import Source
from prowess.state.sqlite_store import SqliteStore
from prowess.state.store import StateStore

__all__ = ["Runtime"]


class Runtime:
    """Finds skills and answers for them. Open it, keep it, close it; any thread may use it.

    `Runtime.open()` reads the settings of this machine; `Runtime.open(skills=["./skills"])` uses just these folders.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        skills: Sequence[str | os.PathLike[str]] | None = None,
        store: StateStore | None = None,
        probe: Probe | None = None,
    ) -> None:
        self.settings = settings
        self._given = None if skills is None else _given_sources(skills, settings)
        self._plugins = Plugins()
        self._store = store or SqliteStore(settings.state_file)
        self._probe: Probe = probe or HostProbe()
        self._lock = threading.RLock()
        self._sources: tuple[object, tuple[Source, ...]] | None = None
        self._views: dict[str, tuple[object, View]] = {}
        index = Index(os.path.join(settings.cache_folder, "index-1"))
        self._keeper = CatalogKeeper(settings.policy, self._resolve_sources, index=index)
        self._digests = Digests(os.path.join(settings.cache_folder, "digests-1"))

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        skills: Sequence[str | os.PathLike[str]] | None = None,
        profile: str | None = None,
    ) -> "Runtime":
        """Return a runtime with the given settings, or those of this machine."""
        if settings is not None and profile is not None:
            raise SettingsError("give either settings or a profile", hint="settings name their profile themselves")
        return cls(settings or load_settings(profile=profile), skills=skills)

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching, and keep what was learned."""
        with self._lock:
            self._digests.save()
            self._keeper.close()
            self._store.close()

    # Skills

    def catalog(self) -> Catalog:
        """Return which skills there are now. While nothing changes, it is the very same object."""
        with self._lock:
            return self._keeper.current()

    def rescan(self) -> Catalog:
        """Search all sources, even under a policy that looks only once."""
        with self._lock:
            self._sources = None
            return self._keeper.rescan()

    def view(self, agent: str = EVERY_AGENT) -> View:
        """Return what the agent of this name may see; its list of skills and its switches are in the settings."""
        with self._lock:
            catalog = self._keeper.current()
            basis = (catalog.generation, self._store.version())
            known = self._views.get(agent)
            if known is not None and known[0] == (*basis, self._probe.state()):
                return known[1]
            made = make_view(
                catalog, probe=self._probe, switches=self.switches(), allowlist=self._allowlist(agent), agent=agent
            )
            self._views[agent] = ((*basis, self._probe.state()), made)
            return made

    def filtered(self, allowlist: Sequence[str] | None, *, agent: str = EVERY_AGENT) -> View:
        """Return a view for one task: None or `["*"]` allows all, names or ids only these, an empty list nothing.

        It never shows more than the settings let the agent see.
        """
        with self._lock:
            whole = self.view(agent)
            task = make_view(
                self._keeper.current(), probe=self._probe, switches=self.switches(), allowlist=allowlist, agent=agent
            )
        visible = tuple(skill for skill in task.visible if skill.id not in whole.hidden)
        return replace(task, visible=visible, hidden={**whole.hidden, **task.hidden})

    def why(self, name: str, *, agent: str = EVERY_AGENT) -> Explanation:
        """Explain why the skill of this name is visible to the model, or why not."""
        if not self.settings.policy.enabled:
            off = Reason("disabled", "skills are switched off", "set enabled = true in the settings")
            return Explanation(name, visible=False, reasons=(off,))
        return explain(name, self.catalog(), self.view(agent))

    def catalog_text(self, form: CatalogText | None = None, *, agent: str = EVERY_AGENT) -> str:
        """Return what a model is told of the visible skills; empty if there are none."""
        return render_catalog(self.view(agent), form or self.settings.policy.catalog_text)

    def digest(self, skill: Skill) -> str:
        """Return the digest of the skill's files; empty if some of them cannot or must not be read."""
        with self._lock:
            return self._digests.of(skill)

    def files(self, skill: Skill) -> FileSet:
        """Return every file of the skill with its own digest, and the Problems among them."""
        with self._lock:
            return self._digests.read(skill)

    def sources(self) -> tuple[Source, ...]:
        """Return where skills are looked for, highest precedence first."""
        with self._lock:
            return self._resolve_sources()

    # Plugins

    def register_skill(self, path: str | os.PathLike[str], *, plugin: str = "app") -> str:
        """Add the skill at this absolute path, its folder or its SKILL.md.

        Return its id, which is its own as long as the plugin brings no other folder of the same name.
        """
        with self._lock:
            return self._plugins.register(path, plugin=plugin).skill_id("")

    def unregister_skill(self, path: str | os.PathLike[str]) -> None:
        """Take a registered skill back; it is gone from the next catalog."""
        with self._lock:
            self._plugins.unregister(path)

    # What people decide

    def switches(self) -> Switches:
        """Return all switches, from the settings and from people."""
        return Switches(self.settings.switches, self._store.switches())

    def set_switch(self, name: str, position: Switch, *, agent: str = EVERY_AGENT) -> Skill:
        """Set the switch of a skill for everybody or for one agent."""
        skill = self.catalog().get(name)
        self._store.set_switch(agent, switch_key(skill), position)
        return skill

    def is_eligible(self, skill: Skill) -> bool:
        """Whether what the skill needs is there."""
        return not self.missing(skill)

    def missing(self, skill: Skill) -> tuple[str, ...]:
        """Return what the skill needs and does not find here."""
        if skill.manifest.additions is None:
            return ()
        self._probe.state()
        return decide_eligibility(skill.manifest.additions.requires, self._probe)

    def trust(self, path: str | os.PathLike[str] | None = None) -> tuple[str, bool]:
        """Trust the project around a folder; return its root and whether that is new."""
        project = self._project(path)
        with self._lock:
            return project, self._store.trust(project)

    def untrust(self, path: str | os.PathLike[str] | None = None) -> tuple[str, bool]:
        """Trust the project around a folder no more; return its root and whether it was trusted."""
        project = self._project(path)
        with self._lock:
            return project, self._store.untrust(project)

    def trusted_projects(self) -> frozenset[str]:
        """Return the roots of the trusted projects."""
        return self._store.trusted_projects()

    # How the rooms are strung together

    def _project(self, path: str | os.PathLike[str] | None) -> str:
        place = self.settings.place
        if path is None:
            return place.project_root
        folder = os.path.realpath(expand_path(os.fspath(path), base=place.working_folder, home=place.home))
        if folder in self._store.trusted_projects():
            return folder
        if not os.path.isdir(folder):
            raise NotFound(f"no folder at {folder}", hint="give the folder of a project")
        return find_project_root(folder)

    def _allowlist(self, agent: str) -> Sequence[str] | None:
        known = self.settings.agents.get(agent)
        return known.skills if known else None

    def _resolve_sources(self) -> tuple[Source, ...]:
        key = (self._plugins.generation, self._store.version())
        if self._sources is None or self._sources[0] != key:
            self._sources = (key, tuple(self._find_sources()))
        return self._sources[1]

    def _find_sources(self) -> Iterable[Source]:
        settings = self.settings
        if self._given is not None:
            return (*self._given, *self._plugins.registered.values())
        trusted = self._store.trusted_projects()
        extra = resolve_directories(
            settings.extra_directories, settings.policy, settings.place, trusted_projects=trusted
        )
        if settings.directories is not None:
            named = resolve_directories(settings.directories, settings.policy, settings.place, trusted_projects=trusted)
            return (*extra, *named, *self._plugins.registered.values())
        return (
            *extra,
            *resolve_sources(settings.policy, settings.place, plugins=self._plugins, trusted_projects=trusted),
        )


def _given_sources(folders: Sequence[str | os.PathLike[str]], settings: Settings) -> tuple[Source, ...]:
    """Return sources for folders that the caller named: they count as a project's, and as trusted."""
    place, policy = settings.place, settings.policy
    roots = (expand_path(os.fspath(folder), base=place.working_folder, home=place.home) for folder in folders)
    return tuple(
        Source(SourceKind.PROJECT, root, scan=policy.scan, links=policy.links, expected=True)
        for root in dict.fromkeys(roots)
    )
