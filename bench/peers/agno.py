"""Discovery by agno: its skills over one local loader."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from agno.skills import LocalSkills, Skills


def discover(root: Path) -> dict[str, str]:
    """Without its validation, which refuses the standard's own spelling of allowed-tools: a string."""
    skills = Skills(loaders=[LocalSkills(str(root), validate=False)])
    return {skill.name: skill.description for skill in skills.get_all_skills()}
