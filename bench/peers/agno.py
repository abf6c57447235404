"""Discovery by agno: its skills over one local loader."""
# pyright: basic, reportMissingImports=false

import json
from pathlib import Path

from agno.skills import LocalSkills, Skills


def discover(root: Path) -> dict[str, str]:
    """Without its validation, which refuses the standard's own spelling of allowed-tools: a string."""
    skills = Skills(loaders=[LocalSkills(str(root), validate=False)])
    return {skill.name: skill.description for skill in skills.get_all_skills()}


def examine(root: Path) -> tuple[dict[str, str], list[str]]:
    """As its documentation shows it, with validation."""
    skills = Skills(loaders=[LocalSkills(str(root))])
    return {skill.name: skill.description for skill in skills.get_all_skills()}, []


class Use:
    """Its skills with the texts that they have read, and their tools."""

    def __init__(self, root: Path) -> None:
        self._skills = Skills(loaders=[LocalSkills(str(root), validate=False)])
        self._tools = {tool.name: tool.entrypoint for tool in self._skills.get_tools()}

    def prompt(self) -> str:
        return self._skills.get_system_prompt_snippet()

    def activate(self, name: str) -> str:
        return json.loads(self._tools["get_skill_instructions"](name))["instructions"]

    def read(self, name: str, path: str) -> str:
        told = self._tools["get_skill_reference"](name, path.removeprefix("references/"))
        return json.loads(told)["content"]
