"""What is wrong with a skill's instructions, beyond the frontmatter: asked by those who write skills."""

import posixpath
import re
from collections.abc import Iterator, Set
from itertools import islice
from urllib.parse import unquote

from prowess.skill.problems import Problem, make_problem
from prowess.skill.token_estimate import estimate_tokens

__all__ = ["find_references", "judge_body", "judge_reference"]

MAX_LINES = 500
MAX_TOKENS = 5_000
_LINK = re.compile(r"\]\( {0,3}<?([^()<>\[\]\s]{1,512})")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
"""However far it is indented: in a list it may be far."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAX_REPORTED = 20


def judge_body(text: str, *, files: Set[str], first_line: int) -> Iterator[Problem]:
    """Return the Problems of the instructions; `files` are the skill's own, and lines count from `first_line`."""
    if not text.strip():
        yield make_problem("body-empty", "there are no instructions", line=first_line, column=1)
        return
    lines = text.count("\n") + (not text.endswith("\n"))
    tokens = estimate_tokens(text)
    if lines > MAX_LINES or tokens > MAX_TOKENS:
        message = f"the instructions have {lines:,} lines and about {tokens:,} tokens"
        yield make_problem("body-too-long", message, line=first_line, column=1)
    known = files | _folders_of(files)
    missing = ((path, line) for path, line in find_references(text) if path not in known)
    for path, line in islice(missing, _MAX_REPORTED):
        message = f"the instructions link to '{path}', which the skill does not have"
        yield make_problem("broken-reference", message, line=first_line + line, column=1)


def judge_reference(name: str, text: str, *, files: Set[str]) -> Iterator[Problem]:
    """Return a Problem if a file that the instructions name leads on to further files of the skill."""
    folder = posixpath.dirname(name)
    for path, line in find_references(text):
        target = posixpath.normpath(posixpath.join(folder, path))
        if target in files and target not in (name, "SKILL.md"):
            message = f"{name} links on to '{target}'"
            yield make_problem("deep-reference", message, line=line + 1, column=1, path=name)
            return


def find_references(text: str) -> Iterator[tuple[str, int]]:
    """Return the relative paths that Markdown links lead to, outside of code, each with its line counted from 0."""
    fence = ""
    for number, line in enumerate(text.split("\n")):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence and "](" in line:
            yield from ((path, number) for path in _find_paths(line))


def _find_paths(line: str) -> Iterator[str]:
    for found in _LINK.finditer(line):
        target = unquote(found[1].partition("#")[0].partition("?")[0])
        if target and not _SCHEME.match(target) and not target.startswith(("/", "#", "{", "$", "~")):
            yield posixpath.normpath(target)


def _folders_of(files: Set[str]) -> set[str]:
    """Return every folder that holds one of the files, and the top."""
    folders = {"."}
    for path in files:
        while (path := posixpath.dirname(path)) and path not in folders:
            folders.add(path)
    return folders
