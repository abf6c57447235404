"""Discovery by crewai: its scan of a folder, frontmatter only."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from crewai.skills import load_skills


def discover(root: Path) -> dict[str, str]:
    return {skill.name: skill.description for skill in load_skills([root], activate=False)}
