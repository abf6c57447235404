"""Discovery by crewai: its scan of a folder, frontmatter only."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from crewai.skills import load_skills
from crewai.skills.loader import format_skill_context
from crewai.skills.tool import create_skill_loader_tool


def discover(root: Path) -> dict[str, str]:
    return {skill.name: skill.description for skill in load_skills([root], activate=False)}


class Use:
    """Its catalog and the tool with which a model loads a skill; files are not its business."""

    def __init__(self, root: Path) -> None:
        self._skills = load_skills([root], activate=False)
        self._tool = create_skill_loader_tool(self._skills)

    def prompt(self) -> str:
        return "\n".join(format_skill_context(skill) for skill in self._skills)

    def activate(self, name: str) -> str:
        return self._tool.run(skill_name=name)
