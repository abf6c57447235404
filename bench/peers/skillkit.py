"""Discovery by skillkit: its manager over one folder."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from skillkit import SkillManager


def discover(root: Path) -> dict[str, str]:
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="")
    manager.discover()
    return {skill.name: skill.description for skill in manager.list_skills()}


class Use:
    """Its manager; a catalog's text and the reading of files are left to whoever uses it."""

    def __init__(self, root: Path) -> None:
        self._manager = SkillManager(project_skill_dir=root, anthropic_config_dir="")
        self._manager.discover()

    def activate(self, name: str) -> str:
        return self._manager.invoke_skill(name)
