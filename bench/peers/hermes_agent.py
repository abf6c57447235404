"""Discovery by hermes-agent: the listing tool of its agent, with the folder as an external one."""
# pyright: basic, reportMissingImports=false

import json
import os
import tempfile
from importlib import import_module
from pathlib import Path

# It reads its home at import and keeps files of its own there; a user's real one stays untouched.
_home = tempfile.TemporaryDirectory(prefix="hermes-home-")
os.environ["HERMES_HOME"] = _home.name
_skills_tool = import_module("tools.skills_tool")
_skill_utils = import_module("agent.skill_utils")


def discover(root: Path) -> dict[str, str]:
    _write_settings(Path(_home.name), root=root)
    _skills_tool._SKILLS_CACHE.clear()
    _skill_utils._external_dirs_cache_clear()
    listed = json.loads(_skills_tool.skills_list())
    return {skill["name"]: skill["description"] for skill in listed["skills"]}


def _write_settings(home: Path, *, root: Path) -> None:
    (home / "skills").mkdir(exist_ok=True)
    config = home / "config.yaml"
    text = f"skills:\n  external_dirs:\n    - {root}\n"
    if not config.exists() or config.read_text(encoding="utf-8") != text:
        config.write_text(text, encoding="utf-8")


class Use:
    """The two views of its agent's tool: a skill, and a file of a skill."""

    def __init__(self, root: Path) -> None:
        discover(root)

    def activate(self, name: str) -> str:
        return json.loads(_skills_tool.skill_view(name))["content"]

    def read(self, name: str, path: str) -> str:
        return json.loads(_skills_tool.skill_view(name, file_path=path))["content"]
