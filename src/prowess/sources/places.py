"""From a profile's rules to the folders of this machine."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from prowess.policy import Anchor, Policy, ProjectTrust, SourceKind, SourceRule
from prowess.sources.plugins import Plugins, find_installed_plugins
from prowess.sources.source import Source, is_below

__all__ = [
    "LOCAL_USER",
    "USER_NAME_HINT",
    "Place",
    "expand_path",
    "find_project_root",
    "is_user_name",
    "resolve_directories",
    "resolve_sources",
]

LOCAL_USER = "local"
"""Who uses an installation that knows no users."""
_USER_NAME = re.compile(r"(?!\.)[A-Za-z0-9._@-]{1,64}")
USER_NAME_HINT = "use letters, digits, '.', '_', '@' and '-', and no dot at the beginning"
_OF_A_PROJECT = frozenset({SourceKind.PROJECT, SourceKind.WORKSPACE})
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


def is_user_name(name: str) -> bool:
    """Whether somebody can have this name: a folder is named after each user."""
    return _USER_NAME.fullmatch(name) is not None


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
    found: list[Source] = []
    for rule, base in _place_rules(policy.sources, place):
        if rule.anchor is Anchor.PLUGINS:
            found += (*plugins.registered.values(), *find_installed_plugins()) if plugins else ()
        else:
            root = os.path.normpath(os.path.join(base, rule.path))
            found.append(_make_source(rule.kind, root, policy, place, trusted=trusted))
    # Who works in the home folder has the user's own sources before him, not a project's.
    claimed = {source.root for source in found if source.kind not in _OF_A_PROJECT}
    kept: dict[str, Source] = {}
    for source in found:
        if source.kind not in _OF_A_PROJECT or source.root not in claimed:
            kept.setdefault(source.root, source)
    return tuple(kept.values())


def _place_rules(rules: Iterable[SourceRule], place: Place) -> Iterator[tuple[SourceRule, str]]:
    """Return each rule with the folders that it starts from; those of the project level by level, the nearest first."""
    for anchor, group in groupby(rules, key=lambda rule: rule.anchor):
        same = list(group)
        yield from ((rule, base) for base in _bases(anchor, place) for rule in same)


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
            return [""]


def _make_source(kind: SourceKind, root: str, policy: Policy, place: Place, *, trusted: bool) -> Source:
    is_project = kind in _OF_A_PROJECT
    return Source(
        kind,
        root,
        trusted=trusted if is_project else True,
        scan=policy.scan,
        links=policy.links,
        project=place.project_root if is_project else "",
    )


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
        source = _make_source(_kind_of(root, place), root, policy, place, trusted=trusted)
        found.setdefault(root, replace(source, expected=True))
    return tuple(found.values())


def _kind_of(root: str, place: Place) -> SourceKind:
    if root == BUNDLED_SKILLS:
        return SourceKind.CORE
    if root == os.path.join(place.home, ".agents", "skills"):
        return SourceKind.AGENTS
    if is_below(root, place.project_root):
        return SourceKind.PROJECT
    return SourceKind.USER if is_below(root, place.home) else SourceKind.CONFIG
