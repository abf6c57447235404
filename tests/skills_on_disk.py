"""Skills as real folders, and the folders around them."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Home", "write_skill"]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a test stands."""

    path: Path
    prowess: Path
    project: Path
    """The working folder; a repository."""

    def write_settings(self, text: str) -> Path:
        """Write prowess.toml where it is looked for."""
        self.prowess.mkdir(exist_ok=True)
        file = self.prowess / "prowess.toml"
        file.write_text(text, "utf-8")
        return file


def write_skill(
    root: Path,
    name: str,
    *,
    description: str = "Does a thing. Use when the thing is asked for.",
    extra: str = "",
    body: str = "Do the thing.\n",
    text: str | bytes | None = None,
    files: Mapping[str, str | bytes] | None = None,
) -> Path:
    """Write the skill `name` below `root` and return its folder.

    `name` may be a path with `/`; `extra` is further frontmatter, `text` the whole SKILL.md instead. Files that begin
    with `#!` are executable.
    """
    folder = root / name
    if text is None:
        text = f"---\nname: {folder.name}\ndescription: {description}\n{extra}---\n{body}"
    for path, content in {"SKILL.md": text, **(files or {})}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        raw = content.encode() if isinstance(content, str) else content
        file.write_bytes(raw)
        if raw.startswith(b"#!"):
            os.chmod(file, file.stat().st_mode | stat.S_IXUSR)
    return folder
