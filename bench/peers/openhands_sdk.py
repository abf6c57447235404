"""Discovery by openhands-sdk: its loader of a folder of skills."""
# pyright: basic, reportMissingImports=false

import os
from pathlib import Path

# A banner and a list of prices from the network are no part of the work; without it, its import sometimes fails.
os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LITELLM_LOCAL_MODEL_COST_MAP="True")

from openhands.sdk.skills import load_skills_from_dir, to_prompt


def discover(root: Path) -> dict[str, str]:
    return {name: skill.description for name, skill in _load(root).items()}


def _load(root: Path) -> dict[str, object]:
    return load_skills_from_dir(root)[2]


class Use:
    """Its catalog, and the text of a skill as its tool renders it; files are read by a general tool."""

    def __init__(self, root: Path) -> None:
        self._skills = _load(root)

    def prompt(self) -> str:
        return to_prompt(list(self._skills.values()))

    def activate(self, name: str) -> str:
        return self._skills[name].render_content()
