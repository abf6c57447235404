"""Discovery by skills-ref, the standard's own reference library; it has no listing of its own."""
# pyright: basic, reportMissingImports=false

import os
from pathlib import Path

from skills_ref import read_properties, validate


def discover(root: Path) -> dict[str, str]:
    """Its quickest way: reading alone, which checks no more than that name and description are there."""
    skills = [read_properties(folder) for folder in _list_folders(root)]
    return {skill.name: skill.description for skill in skills}


def discover_validated(root: Path) -> dict[str, str]:
    """Its documented pair, validate then read, which parses each file twice."""
    skills = [read_properties(folder) for folder in _list_folders(root) if not validate(folder)]
    return {skill.name: skill.description for skill in skills}


def _list_folders(root: Path) -> list[Path]:
    with os.scandir(root) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir()]
