"""Discovery by google-adk: its listing of a folder, frontmatter only."""
# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path
from types import SimpleNamespace

from google.adk.skills import list_skills_in_dir, load_skills_from_dir
from google.adk.skills.prompt import format_skills_as_xml
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.skill_toolset import LoadSkillResourceTool, LoadSkillTool, SkillToolset


def discover(root: Path) -> dict[str, str]:
    return {name: frontmatter.description for name, frontmatter in list_skills_in_dir(root).items()}


class Use:
    """Its toolset over skills that are loaded whole."""

    def __init__(self, root: Path) -> None:
        self._skills = load_skills_from_dir(root)
        self._loop = asyncio.new_event_loop()
        toolset = SkillToolset(skills=self._skills)
        self._load, self._resource = LoadSkillTool(toolset), LoadSkillResourceTool(toolset)
        # All that these two tools take from who calls them.
        self._context = SimpleNamespace(state={}, agent_name="bench", invocation_id="1")

    def prompt(self) -> str:
        return format_skills_as_xml(self._skills)

    def activate(self, name: str) -> str:
        return self._call(self._load, {"skill_name": name})["instructions"]

    def read(self, name: str, path: str) -> str:
        return self._call(self._resource, {"skill_name": name, "file_path": path})["content"]

    def _call(self, tool: BaseTool, args: dict[str, str]) -> dict[str, str]:
        return self._loop.run_until_complete(tool.run_async(args=args, tool_context=self._context))
