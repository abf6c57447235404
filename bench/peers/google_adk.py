"""Discovery by google-adk: its listing of a folder, frontmatter only."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from google.adk.skills import list_skills_in_dir


def discover(root: Path) -> dict[str, str]:
    return {name: frontmatter.description for name, frontmatter in list_skills_in_dir(root).items()}
