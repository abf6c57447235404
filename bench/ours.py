"""Prowess as a contestant: the same work as the peers, without an index, with one, and watched.

What only some of the contestants need is loaded by them: each process holds what its own work takes, as the peers' do.
"""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.catalog.catalog import Catalog
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from prowess.policy import PROFILES, SourceKind
from prowess.sources.source import Source

if TYPE_CHECKING:
    from prowess import Runtime

_POLICY = PROFILES["standard"]
_HOME = tempfile.TemporaryDirectory(prefix="prowess-bench-")
"""Gone when the process ends."""
_INDEX = Index(f"{_HOME.name}/index")
_WATCHED: "dict[Path, Runtime]" = {}


def _discover(root: Path, index: Index | None) -> Catalog:
    source = Source(SourceKind.PROJECT, os.fspath(root))
    discovery = Discovery(_POLICY, index)
    catalog = discovery.assemble([(source, discovery.scan(source))], generation=1)
    discovery.save()
    return catalog


def discover(root: Path) -> dict[str, str]:
    """Nothing is known of the skills before."""
    return _names_and_descriptions(_discover(root, None))


def discover_indexed(root: Path) -> dict[str, str]:
    """An earlier process has left its index; the first call, which is not timed, makes it."""
    return _names_and_descriptions(_discover(root, _INDEX))


def _names_and_descriptions(catalog: Catalog) -> dict[str, str]:
    """Of every skill that goes by its name; who has lost it to another goes by its id."""
    return {name: skill.manifest.description for name, skill in catalog.by_name.items()}


def discover_watched(root: Path) -> dict[str, str]:
    """The question before each turn, while nothing changes."""
    if root not in _WATCHED:
        from prowess import Runtime
        from prowess.settings import load_settings

        settings = load_settings(environ={"HOME": _HOME.name})
        _WATCHED[root] = Runtime.open(settings, skills=[root])
        _WATCHED[root].catalog()  # Watching begins with the second question, which the warm-up asks.
    return _names_and_descriptions(_WATCHED[root].catalog())


def examine(root: Path) -> tuple[dict[str, str], list[str]]:
    """What was found, and what is said of everything that was not."""
    catalog = _discover(root, None)
    shadowed = [problem.message for one in catalog.shadowed for problem in catalog.by_id[one].problems]
    rejected = [problem.message for one in catalog.rejected for problem in one.problems]
    return _names_and_descriptions(catalog), [*rejected, *shadowed, *(problem.message for problem in catalog.problems)]
