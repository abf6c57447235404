"""From a profile's rules to the folders of this machine."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prowess.policy import Anchor, Policy, ProjectTrust, SourceKind, SourceRule
from prowess.sources.plugins import Plugins, find_installed_plugins
from prowess.sources.source import Source, is_below

__all__ = ["Place", "expand_path", "find_project_root", "resolve_directories", "resolve_sources"]

BUNDLED_SKILLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bundled")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a runtime stands: the folders that relative rules start from, all absolute."""

    working_folder: str
    home: str
    prowess_home: str
    user: str
    """Whose skills and copies are meant, where one installation serves many."""

    @property
    def project_root(self) -> str:
        """The repository around the working folder, or the working folder itself."""
        return find_project_root(self.working_folder)

    @property
    def user_folder(self) -> str:
        return os.path.join(self.prowess_home, "users", self.user, "skills")


def find_project_root(folder: str) -> str:
    """Return the nearest folder upwards that has a `.git`, or `folder` if there is none."""
    for candidate in _upwards(folder):
        if os.path.lexists(os.path.join(candidate, ".git")):
            return candidate
    return folder


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def expand_path(path: str, *, base: str, home: str) -> str:
    """Return an absolute path: `~` is the home, what is relative starts at `base`."""
    if path == "~" or path.startswith(("~/", "~" + os.sep)):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def resolve_sources(
    policy: Policy, place: Place, *, plugins: Plugins | None = None, trusted_projects: Iterable[str] = ()
) -> tuple[Source, ...]:
    """Return the sources of the policy's rules, highest precedence first."""
    trusted = policy.project_trust is ProjectTrust.ALWAYS or place.project_root in set(trusted_projects)
    found: dict[str, Source] = {}
    for rule in policy.sources:
        for source in _apply(rule, policy, place, plugins, trusted=trusted):
            found.setdefault(source.root, source)
    return tuple(found.values())


def _apply(
    rule: SourceRule, policy: Policy, place: Place, plugins: Plugins | None, *, trusted: bool
) -> Iterator[Source]:
    if rule.anchor is Anchor.PLUGINS:
        yield from (*plugins.registered.values(), *find_installed_plugins()) if plugins else ()
        return
    is_project = rule.kind is SourceKind.PROJECT
    for base in _bases(rule.anchor, place):
        yield Source(
            rule.kind,
            os.path.normpath(os.path.join(base, rule.path)),
            trusted=trusted if is_project else True,
            scan=policy.scan,
            links=policy.links,
            project=place.project_root if is_project else "",
        )


def _bases(anchor: Anchor, place: Place) -> list[str]:
    match anchor:
        case Anchor.PROJECT:
            levels: list[str] = []
            for level in _upwards(place.working_folder):
                levels.append(level)
                if level == place.project_root:
                    break
            return levels
        case Anchor.WORKING_FOLDER:
            return [place.working_folder]
        case Anchor.HOME:
            return [place.home]
        case Anchor.PROWESS_HOME:
            return [place.prowess_home]
        case Anchor.USER_FOLDER:
            return [place.user_folder]
        case Anchor.BUNDLED:
            return [BUNDLED_SKILLS]
        case Anchor.PLUGINS:
            return []


def resolve_directories(
    directories: Iterable[str], policy: Policy, place: Place, *, trusted_projects: Iterable[str] = ()
) -> tuple[Source, ...]:
    """Return a source for each folder of a settings file's own list, in its order.

    A folder inside the project counts as the project's; `~/.agents/skills` is of kind `agents`, other folders in the
    home of kind `user`, and all others of kind `config`.
    """
    trusted = policy.project_trust is ProjectTrust.ALWAYS or place.project_root in set(trusted_projects)
    found: dict[str, Source] = {}
    for directory in directories:
        root = expand_path(directory, base=place.project_root, home=place.home)
        kind = _kind_of(root, place)
        is_project = kind is SourceKind.PROJECT
        source = Source(
            kind,
            root,
            trusted=trusted if is_project else True,
            scan=policy.scan,
            links=policy.links,
            project=place.project_root if is_project else "",
            expected=True,
        )
        found.setdefault(root, source)
    return tuple(found.values())


def _kind_of(root: str, place: Place) -> SourceKind:
    if root == BUNDLED_SKILLS:
        return SourceKind.CORE
    if root == os.path.join(place.home, ".agents", "skills"):
        return SourceKind.AGENTS
    if is_below(root, place.project_root):
        return SourceKind.PROJECT
    return SourceKind.USER if is_below(root, place.home) else SourceKind.CONFIG
