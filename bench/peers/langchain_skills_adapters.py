"""Discovery by langchain-skills-adapters: the loader behind its middleware and its tool."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from langchain_skills_adapters import SkillsLoader


def discover(root: Path) -> dict[str, str]:
    return {name: skill.description for name, skill in SkillsLoader(root).skill_map.items()}


class Use:
    """Its loader, which keeps what it has read; files are read by a general tool."""

    def __init__(self, root: Path) -> None:
        self._loader = SkillsLoader(root)

    def prompt(self) -> str:
        return str(self._loader.get_catalog())

    def activate(self, name: str) -> str:
        return self._loader.get_skill(name).to_content()
