"""Skills that other code brings: registered one by one while the program runs, or shipped by an installed package.

A package ships skills through an entry point in the group `prowess.skills`; its name is the plugin's id and its value
the package that holds the skill folders. The package is found without being imported.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from prowess.errors import NotFound, SettingsError
from prowess.policy import SourceKind
from prowess.sources.folders import SKILL_MD
from prowess.sources.source import Source

__all__ = ["ENTRY_POINT_GROUP", "Plugins", "find_installed_plugins"]

ENTRY_POINT_GROUP = "prowess.skills"


@dataclass(slots=True)
class Plugins:
    """The skills registered with one runtime, in the order of registration."""

    registered: dict[str, Source] = field(default_factory=dict[str, Source])
    generation: int = 0

    def register(self, path: str | os.PathLike[str], *, plugin: str) -> Source:
        """Add the skill at `path`, its folder or its SKILL.md; registering it again changes nothing."""
        folder = _skill_folder(path)
        if not os.path.lexists(os.path.join(folder, SKILL_MD)):
            raise NotFound(f"no {SKILL_MD} in {folder}", hint="give the folder of a skill, or its SKILL.md")
        if not plugin or "/" in plugin or ":" in plugin:
            raise SettingsError(
                f"'{plugin}' cannot be a plugin's id", hint="use a word without ':' and '/'", code="bad-plugin-id"
            )
        source = Source(SourceKind.PLUGIN, folder, plugin=plugin, expected=True)
        if self.registered.get(folder) != source:
            self.registered[folder] = source
            self.generation += 1
        return source

    def unregister(self, path: str | os.PathLike[str]) -> None:
        """Take a registered skill back."""
        folder = _skill_folder(path)
        if self.registered.pop(folder, None) is None:
            raise NotFound(f"no skill is registered at {folder}", hint="give the path that was registered")
        self.generation += 1


def _skill_folder(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not os.path.isabs(text):
        raise SettingsError(f"a registered skill needs an absolute path, not '{text}'", code="relative-path")
    text = os.path.normpath(text)
    return os.path.dirname(text) if os.path.basename(text) == SKILL_MD else text


def find_installed_plugins() -> Iterator[Source]:
    """Return a source for every installed package that ships skills, sorted by plugin id."""
    from importlib.metadata import entry_points  # Slow to import; wanted once.

    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        folder = _package_folder(entry.value, entry.dist)
        yield Source(SourceKind.PLUGIN, folder, plugin=entry.name, expected=True)


def _package_folder(package: str, distribution: "object | None") -> str:
    """Return where a package lies, or would lie, without importing it."""
    locate = getattr(distribution, "locate_file", None)
    guess = str(locate(package.replace(".", "/"))) if locate else ""
    if os.path.isdir(guess):
        return os.path.abspath(guess)
    from importlib.util import find_spec  # An editable install has its files elsewhere.

    top, _, rest = package.partition(".")
    try:
        spec = find_spec(top)  # Of a top-level package, which imports nothing.
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    folders = [os.path.join(place, *rest.split(".")) if rest else place for place in places]
    found = next((folder for folder in folders if os.path.isdir(folder)), guess or package)
    return os.path.abspath(found)
