"""Discovery by langchain-skills-adapters: the loader behind its middleware and its tool."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from langchain_skills_adapters import SkillsLoader


def discover(root: Path) -> dict[str, str]:
    return {name: skill.description for name, skill in SkillsLoader(root).skill_map.items()}
