"""Discovery by haystack-ai: its file system skill store."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from haystack.skill_stores.file_system import FileSystemSkillStore


def discover(root: Path) -> dict[str, str]:
    return {name: skill.description for name, skill in FileSystemSkillStore(root).list_skills().items()}
