"""Discovery by strands-agents: its skills plugin's loader of a folder."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from strands.vended_plugins.skills import Skill


def discover(root: Path) -> dict[str, str]:
    return {skill.name: skill.description for skill in Skill.from_directory(root)}
