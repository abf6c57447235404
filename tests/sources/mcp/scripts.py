"""Scripts for the plain server: skills as it tells of them, truly or not."""

import base64
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from prowess.skill.problems import Problem
from prowess.sources.mcp.orders import Act, Order
from prowess.sources.mcp.record import Record, read_record
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.work import carry_out

__all__ = ["SERVER", "Acted", "entry", "skill_md"]

SERVER = Path(__file__).with_name("plain_server.py")


def skill_md(name: str, *, description: str = "Does it.", extra: str = "", body: str = "Do it.\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}"


def entry(uri: str, files: Mapping[str, str | bytes], **frontmatter: Any) -> dict[str, Any]:
    """Return the entry of a skill, with the address of its folder and its files."""
    name = uri.rpartition("/")[2]
    raw = {path: content.encode() if isinstance(content, str) else content for path, content in files.items()}
    return {
        "uri": f"{uri}/SKILL.md",
        "frontmatter": {"name": name, "description": "Does it.", **frontmatter},
        "resources": [
            {"uri": f"{uri}/{path}", "digest": f"sha256:{hashlib.sha256(one).hexdigest()}", "size": len(one)}
            for path, one in raw.items()
        ],
    }


class Acted:
    """A plain server with its script, and a mirror of it."""

    def __init__(self, folder: Path, *, name: str = "acme", timeout_seconds: int = 20) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.mirror = folder / "mirror"
        self.log = folder / "log"
        self.script: dict[str, Any] = {
            "entries": [],
            "gets": [],
            "files": {},
            "misdeeds": {},
            "speaks": "extensions",
            "endless": False,
            "page_size": 100,
            "answers_as": "",
            "copies": 1,
            "pause": 0.0,
            "pause_at": "",
            "threads": False,
        }
        self.command = (sys.executable, str(SERVER), str(folder / "script.json"), str(self.log))
        self.server = McpServer(name, self.command, timeout_seconds=timeout_seconds)
        self.log.touch()
        self.write()

    def write(self) -> None:
        """Let the server say what the script says by now."""
        file = self.folder / "script.json"
        (file.with_suffix(".new")).write_text(json.dumps(self.script), "utf-8")
        file.with_suffix(".new").rename(file)

    def add(self, uri: str, files: Mapping[str, str | bytes] | None = None, **frontmatter: Any) -> dict[str, Any]:
        """Let the server have a skill, whose SKILL.md is made up unless it is given; return its entry."""
        name = uri.rpartition("/")[2]
        given: dict[str, str | bytes] = {"SKILL.md": skill_md(name), **(files or {})}
        made = entry(uri, given, **frontmatter)
        self.script["entries"] = [one for one in self.script["entries"] if one["uri"] != made["uri"]] + [made]
        for path, content in given.items():
            self._keep(f"{uri}/{path}", content)
        self.write()
        return made

    def serve(self, uri: str, content: str | bytes) -> None:
        """Let a file have other bytes, whatever was listed."""
        self._keep(uri, content)
        self.write()

    def _keep(self, uri: str, content: str | bytes) -> None:
        raw = content.encode() if isinstance(content, str) else content
        self.script["files"][uri] = base64.b64encode(raw).decode()

    def change(self, **script: Any) -> None:
        """Change the script."""
        self.script.update(script)
        self.write()

    def refresh(self, *, seconds: float = 60.0) -> Problem | None:
        """Bring the mirror in line with the list, in this process."""
        order = Order(Act.LIST, self.server, str(self.mirror), seconds)
        return anyio.run(lambda: carry_out(order)).problem

    def fetch(self, path: str, *, shelf: str = "skill-0", seconds: float = 60.0) -> Problem | None:
        """Fetch the files of a skill, in this process."""
        order = Order(Act.FETCH, self.server, str(self.mirror), seconds, shelf, path)
        return anyio.run(lambda: carry_out(order)).problem

    @property
    def record(self) -> Record:
        return read_record(str(self.mirror))

    @property
    def codes(self) -> list[str]:
        """The codes of what is wrong with what was listed."""
        return [problem.code for problem in self.record.problems]

    def asked(self) -> list[str]:
        """Return what the server was asked, a method and an address each."""
        return self.log.read_text("utf-8").splitlines()

    def held(self) -> dict[str, bytes]:
        """Return every file on the shelves of the mirror."""
        shelves = (
            [one for one in self.mirror.iterdir() if one.is_dir() and one.name != "staging"]
            if self.mirror.exists()
            else []
        )
        files = [path for shelf in shelves for path in shelf.rglob("*") if path.is_file()]
        return {path.relative_to(self.mirror).as_posix(): path.read_bytes() for path in sorted(files)}
