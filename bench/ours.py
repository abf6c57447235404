"""Prowess as a contestant: the same work as the peers, without an index, with one, and watched."""

import os
import tempfile
from pathlib import Path

from prowess import Runtime
from prowess.catalog.catalog import Catalog
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from prowess.policy import PROFILES, SourceKind
from prowess.settings import load_settings
from prowess.sources.source import Source

_POLICY = PROFILES["standard"]
_INDEX = Index(tempfile.mkdtemp(prefix="prowess-bench-"))
_WATCHED: dict[Path, Runtime] = {}


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
    return {skill.manifest.name: skill.manifest.description for skill in catalog.skills}


def discover_watched(root: Path) -> tuple[object, ...]:
    """The question before each turn, while nothing changes."""
    if root not in _WATCHED:
        settings = load_settings(environ={"HOME": tempfile.mkdtemp(prefix="prowess-bench-")})
        _WATCHED[root] = Runtime.open(settings, skills=[root])
        _WATCHED[root].catalog()  # Watching begins with the second question, which the warm-up asks.
    return _WATCHED[root].catalog().skills
