"""How the tests of this room and of the catalog's draw folders, and ask questions in a process of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from prowess.policy import Limits, SourceKind
from prowess.skill.problems import Problem
from prowess.sources.folders import Findings, scan_folder
from prowess.sources.source import Source, show_path

__all__ = [
    "ask_child",
    "codes",
    "draw",
    "make_socket",
    "relatives",
    "scan",
    "skill_text",
    "without_rights",
    "write_skill",
]


def skill_text(name: str, *, description: str = "Does it.", extra: str = "", body: str = "Do it.\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}"


def write_skill(folder: Path, *, name: str = "", description: str = "Does it.", extra: str = "") -> Path:
    """Make a skill that nobody can complain of, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(skill_text(name or show_path(folder.name), description=description, extra=extra))
    return folder


def draw(root: Path, *skills: str) -> Path:
    """Make a skill in each of these folders below the root."""
    for skill in skills:
        write_skill(root / skill)
    return root


def scan(root: Path, kind: SourceKind = SourceKind.USER, *, limits: Limits | None = None) -> Findings:
    return scan_folder(Source(kind, str(root)), limits=limits or Limits())


def relatives(findings: Findings) -> list[str]:
    return [candidate.relative for candidate in findings.candidates]


def codes(problems: Iterable[Problem]) -> list[str]:
    return [problem.code for problem in problems]


def make_socket(path: Path) -> None:
    """Leave a socket in the file system, where it stays when its maker is gone."""
    here = os.open(path.parent, os.O_RDONLY)  # An address is short, a path may be long.
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/.socket")
        os.rename(".socket", path.name, src_dir_fd=here, dst_dir_fd=here)
    finally:
        os.close(here)


def ask_child(code: str, *arguments: object, environ: Mapping[str, str] | None = None) -> object:
    """Run the code in a fresh process, and return what it writes as JSON. A process that hangs fails the test."""
    child = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert child.returncode == 0, child.stderr.decode()[-2_000:]
    return msgspec.json.decode(child.stdout)


def without_rights(code: str) -> str:
    """Return the code so that it runs as nobody from the line `become_nobody()` on."""
    return (
        "import os\n"
        "def become_nobody():\n"
        "    if os.geteuid() == 0:\n"
        "        os.setgroups([])\n"
        "        os.setgid(65534)\n"
        "        os.setuid(65534)\n" + code
    )
