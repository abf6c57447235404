"""Which sources there are now: those that the caller named, or those of the settings, as far as they are trusted."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from prowess.errors import NotFound, SettingsError
from prowess.policy import Policy, Refresh, SameName, SourceKind
from prowess.runtime.given_values import bad_argument, check_path
from prowess.settings import Settings
from prowess.skill.skill import Skill
from prowess.sources.places import expand_path, find_project_root, resolve_directories, resolve_sources
from prowess.sources.plugins import Plugins
from prowess.sources.source import Source
from prowess.state.store import StateStore

if TYPE_CHECKING:
    from prowess.sources.mcp.hosting import Hosting

__all__ = ["SourceChoice"]


class SourceChoice:
    """Answers which sources count, and looks again only if a plugin or a person has changed something."""

    def __init__(
        self,
        settings: Settings,
        store: StateStore,
        plugins: Plugins,
        *,
        given: Sequence[str | os.PathLike[str]] | None,
        hosting: "Hosting | None" = None,
    ) -> None:
        self._hosting = hosting
        self._settings = settings
        self._store = store
        self._plugins = plugins
        self._given = None if given is None else _given_sources(given, settings)
        self._known: tuple[object, tuple[Source, ...]] | None = None

    def current(self) -> tuple[Source, ...]:
        """Return the sources, highest precedence first."""
        servers = self._ask_servers()
        key = (self._plugins.generation, self._store.version(), servers)
        if self._known is None or self._known[0] != key:
            self._known = (key, tuple(self._find()))
        return self._known[1]

    def _ask_servers(self) -> object:
        """Have the servers that skills are taken from asked when it is time; return what changes with their answers."""
        if self._hosting is None:
            return None
        if self._settings.policy.refresh is Refresh.START:
            self._hosting.ask_first()
        else:
            self._hosting.attend()
        return self._hosting.state()

    def forget(self) -> None:
        """Look again the next time, whatever has changed."""
        self._known = None

    def is_given(self, skill: Skill) -> bool:
        """Whether the caller named the folder that the skill is in."""
        return self._given is not None and any(source.root == skill.root for source in self._given)

    def find_project(self, path: str | os.PathLike[str] | None) -> str:
        """Return the root of the project around a path; of the working folder's without one."""
        place = self._settings.place
        if path is None:
            return place.project_root
        folder = os.path.realpath(expand_path(os.fspath(path), base=place.working_folder, home=place.home))
        if folder in self._store.trusted_projects(user=place.user):
            return folder
        if not os.path.isdir(folder):
            raise NotFound(f"no folder at {folder}", hint="give the folder of a project")
        return find_project_root(folder)

    def _find(self) -> Iterable[Source]:
        settings, registered = self._settings, self._plugins.registered.values()
        if self._given is not None:
            return (*self._given, *registered)
        policy, place = settings.policy, settings.place
        trusted = self._store.trusted_projects(user=place.user)
        hosted = self._hosting.sources() if self._hosting is not None else ()
        extra = _rank(resolve_directories(settings.extra_directories, policy, place, trusted_projects=trusted), policy)
        if settings.directories is not None:
            named = _rank(resolve_directories(settings.directories, policy, place, trusted_projects=trusted), policy)
            return (*extra, *named, *registered, *hosted)
        found = resolve_sources(policy, place, plugins=self._plugins, trusted_projects=trusted)
        return (*extra, *found, *hosted)


def _given_sources(folders: Sequence[str | os.PathLike[str]], settings: Settings) -> tuple[Source, ...]:
    """Return sources for folders that the caller named: they count as a project's, and as trusted."""
    if isinstance(folders, str | os.PathLike):  # The letters of a path would be folders too, and `/` is one.
        message = f"skills is one path, '{os.fspath(folders)}'"
        raise SettingsError(message, hint="give a list of folders", code="bad-setting")
    place, policy = settings.place, settings.policy
    if not isinstance(folders, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - of a caller without types
        raise bad_argument("folders of skills", folders, hint="give a list of folders")
    named = [check_path("a folder of skills", folder) for folder in folders]
    if "" in named:  # It would be the working folder, which nobody has named.
        hint = "name a folder; '.' is the working folder. A variable that is not set gives an empty text"
        raise SettingsError("a folder of skills is given as an empty text", hint=hint, code="bad-setting")
    roots = dict.fromkeys(expand_path(folder, base=place.working_folder, home=place.home) for folder in named)
    given = tuple(
        Source(
            SourceKind.PROJECT,
            root,
            scan=policy.scan,
            links=policy.links,
            project=find_project_root(root),
            expected=True,
        )
        for root in roots
    )
    return _rank(given, policy)


def _rank(named: tuple[Source, ...], policy: Policy) -> tuple[Source, ...]:
    """Return sources in the order of precedence; they come in the order in which somebody named their folders."""
    return named[::-1] if policy.same_name is SameName.LATER_SOURCE_WINS else named
