"""Discovery by openai-agents: the lazy source of its sandbox's skills capability."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from agents.sandbox import SandboxPathGrant
from agents.sandbox.capabilities import LocalDirLazySkillSource
from agents.sandbox.entries import LocalDir


def discover(root: Path) -> dict[str, str]:
    source = LocalDirLazySkillSource(source=LocalDir(src=root))
    # Folders outside the working directory need a grant.
    grants = (SandboxPathGrant(path=str(root), read_only=True),)
    skills = source.list_skill_metadata(skills_path=".agents", source_grants=grants)
    return {skill.name: skill.description for skill in skills}
