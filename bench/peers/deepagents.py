"""Discovery by deepagents: its middleware's loading before an agent starts."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from deepagents.backends import FilesystemBackend
from deepagents.middleware.skills import SkillsMiddleware


def discover(root: Path) -> dict[str, str]:
    backend = FilesystemBackend(root_dir=root, virtual_mode=True)
    middleware = SkillsMiddleware(backend=backend, sources=["/"])
    update = middleware.before_agent({"messages": []}, None, {})
    return {skill["name"]: skill["description"] for skill in update["skills_metadata"]}
