"""Discovery by haystack-ai: its file system skill store."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from haystack.skill_stores.file_system import FileSystemSkillStore
from haystack.tools import SkillToolset


def discover(root: Path) -> dict[str, str]:
    return {name: skill.description for name, skill in FileSystemSkillStore(root).list_skills().items()}


class Use:
    """Its toolset, whose description of a tool is the catalog."""

    def __init__(self, root: Path) -> None:
        self._store = FileSystemSkillStore(root)
        self._toolset = SkillToolset(self._store)
        self._toolset.warm_up()

    def prompt(self) -> str:
        return "\n".join(tool.description for tool in self._toolset)

    def activate(self, name: str) -> str:
        return self._store.load_skill(name)[0]

    def read(self, name: str, path: str) -> str:
        return str(self._store.read_skill_file(name, path))
