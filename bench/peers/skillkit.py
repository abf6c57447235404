"""Discovery by skillkit: its manager over one folder."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from skillkit import SkillManager


def discover(root: Path) -> dict[str, str]:
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="")
    manager.discover()
    return {skill.name: skill.description for skill in manager.list_skills()}
