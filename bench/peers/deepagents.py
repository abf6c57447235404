"""Discovery by deepagents: its middleware's loading before an agent starts."""
# pyright: basic, reportMissingImports=false

from pathlib import Path

from deepagents.backends import FilesystemBackend
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware import ModelRequest


def discover(root: Path) -> dict[str, str]:
    update = _middleware(root).before_agent({"messages": []}, None, {})
    return {skill["name"]: skill["description"] for skill in update["skills_metadata"]}


def _middleware(root: Path) -> SkillsMiddleware:
    return SkillsMiddleware(backend=FilesystemBackend(root_dir=root, virtual_mode=True), sources=["/"])


def examine(root: Path) -> tuple[dict[str, str], list[str]]:
    update = _middleware(root).before_agent({"messages": []}, None, {})
    found = {skill["name"]: skill["description"] for skill in update["skills_metadata"]}
    return found, list(update.get("skills_load_errors", []))


class Use:
    """Its middleware's addition to the system message; a model reads the files through the backend's own tool."""

    def __init__(self, root: Path) -> None:
        self._backend = FilesystemBackend(root_dir=root, virtual_mode=True)
        self._middleware = SkillsMiddleware(backend=self._backend, sources=["/"])
        self._state = self._middleware.before_agent({"messages": []}, None, {})

    def prompt(self) -> str:
        request = ModelRequest(model=None, messages=[], system_message=None, state=self._state)
        return str(self._middleware.modify_request(request).system_message.content)

    def activate(self, name: str) -> str:
        return self.read(name, "SKILL.md")

    def read(self, name: str, path: str) -> str:
        return str(self._backend.read(f"/{name}/{path}", limit=10_000))
