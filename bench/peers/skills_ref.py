"""Discovery by skills-ref, the standard's own reference library; it has no listing of its own."""
# pyright: basic, reportMissingImports=false

import os
from pathlib import Path

from skills_ref import read_properties, to_prompt, validate


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


def examine(root: Path) -> tuple[dict[str, str], list[str]]:
    """Its documented pair for each folder, as its command does it, and what it says of those it refuses."""
    found: dict[str, str] = {}
    reasons: list[str] = []
    for folder in _list_folders(root):
        try:
            errors = validate(folder)
            skill = None if errors else read_properties(folder)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - it reads one folder at a time, so a caller would go on
            errors, skill = [f"{type(error).__name__}: {error}"], None
        reasons += errors
        if skill is not None:
            found[skill.name] = skill.description
    return found, reasons


class Use:
    """It renders a catalog, from the folders each time, and nothing else."""

    def __init__(self, root: Path) -> None:
        self._folders = sorted(_list_folders(root))

    def prompt(self) -> str:
        return to_prompt(self._folders)
