"""A skill as a server lists it, judged: everything that must be known before a byte of it is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prowess.skill.digest import FileKind, SkillFile, digest_files
from prowess.skill.problems import Problem, make_problem
from prowess.sources.mcp.wire import SKILL_MD, Fault, SkillEntry, find_excess, find_path, parse_entry
from prowess.sources.portable_names import fold_path, judge_name, judge_paths

__all__ = [
    "MAX_FILES",
    "MAX_PATH_STEPS",
    "MAX_SKILLS",
    "Judged",
    "Listed",
    "ListedFile",
    "judge_entries",
    "judge_entry",
]

MAX_SKILLS = 2_000
"""Of one server."""
MAX_FILES = 20_000
"""Of all skills of one server together."""
MAX_PATH_STEPS = 6
"""Folders on the way to a skill: a search of the mirror goes no deeper."""
_SKIPPED = frozenset({"node_modules"})
_SHOWN = 200
_CODES = {"too-many-files": "mcp-too-large", "files-too-large": "mcp-too-large"}
"""What a fault of the wire is called here, if it is not just a bad entry."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a skill, as listed."""

    path: str
    """Below the skill's folder."""
    uri: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A skill as listed."""

    uri: str
    """Of its SKILL.md; with the server's name, what the skill is known by."""
    shelf: str
    """The folder of the mirror that it is kept in: one for each scheme, and for each level of skills in skills."""
    path: str
    """Of its own folder in that: what stands in the address."""
    frontmatter: Mapping[str, Any]
    files: tuple[ListedFile, ...]

    @property
    def name(self) -> str:
        """A label, and no key."""
        return str(self.frontmatter["name"])

    @property
    def size(self) -> int:
        """Of all files together, in bytes."""
        return sum(file.size for file in self.files)

    @property
    def skill_files(self) -> tuple[SkillFile, ...]:
        """The files as a digest is made of them. Nothing that comes from a server is executable by itself."""
        return tuple(SkillFile(file.path.encode(), FileKind.FILE, file.size, file.sha256) for file in self.files)

    @property
    def digest(self) -> str:
        """The digest that the fetched files will have."""
        return digest_files(self.skill_files)

    @property
    def content(self) -> tuple[Mapping[str, Any], tuple[ListedFile, ...]]:
        """What makes it another skill if it changes."""
        return self.frontmatter, self.files


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a list: the skills that can be taken, and why not the others."""

    skills: tuple[Listed, ...]
    problems: tuple[Problem, ...]


def judge_entries(entries: list[object], *, server: str) -> Judged:
    """Judge what a server has listed; skills in skills go to shelves of their own."""
    problems: list[Problem] = []
    found: dict[str, Listed] = {}
    room = MAX_FILES
    without_room = 0
    for value in entries[:MAX_SKILLS]:
        one = judge_entry(value, server=server)
        if isinstance(one, Problem):
            problems.append(one)
            continue
        key = fold_path(f"{one.shelf}/{one.path}")
        if key in found:
            what = f"the server '{server}' lists two skills at {one.path}; the first counts"
            problems.append(make_problem("mcp-listed-twice", what, path=f"mcp:{server}/{one.path}"))
        elif len(one.files) > room:
            without_room += 1
        else:
            found[key] = one
            room -= len(one.files)
    if without_room:
        what = f"the server '{server}' lists more than {MAX_FILES:,} files; {without_room:,} skills are left out"
        problems.append(make_problem("mcp-too-large", what, path=f"mcp:{server}"))
    if len(entries) > MAX_SKILLS:
        what = f"the server '{server}' lists more than {MAX_SKILLS:,} skills; the others are left out"
        problems.append(make_problem("mcp-too-many-skills", what, path=f"mcp:{server}"))
    levels = {f"{one.shelf}/{one.path}" for one in found.values()}
    return Judged(tuple(_put_on_shelf(one, levels) for one in found.values()), tuple(problems))


def judge_entry(value: object, *, server: str) -> Listed | Problem:
    """Return a listed skill, or why it cannot be taken."""
    entry = parse_entry(value)
    if isinstance(entry, Fault):
        code = _CODES.get(entry.code, "mcp-bad-entry")
        return make_problem(code, f"the server '{server}': {entry.message}", path=_name_place(server, value))
    place = f"mcp:{server}/{_find_path(entry.uri)}"
    if entry.resources is None:
        what = f"the server '{server}' makes {_show(entry.uri)} anew for each reader, so nobody can agree to it"
        return make_problem("mcp-dynamic", what, path=place)
    excess = find_excess(entry)
    if excess is not None:
        return make_problem(_CODES[excess.code], f"the server '{server}': {excess.message}", path=place)
    return _judge_paths(entry, server=server, place=place)


def _judge_paths(entry: SkillEntry, *, server: str, place: str) -> Listed | Problem:
    path = _find_path(entry.uri)
    steps = path.split("/")
    reasons = [judge_name(step) or ("is never searched" if step in _SKIPPED else "") for step in steps]
    reason = next((f"{step!r} {why}" for step, why in zip(steps, reasons, strict=True) if why), "")
    if len(steps) > MAX_PATH_STEPS:
        reason = f"it is more than {MAX_PATH_STEPS} folders deep"
    files: list[ListedFile] = []
    for record in entry.resources or ():
        raw = find_path(entry.root, record.uri) or b""
        try:
            files.append(ListedFile(raw.decode(), record.uri, record.sha256, record.size))
        except UnicodeDecodeError:
            reason = reason or f"{record.uri[-_SHOWN:]!r} is no text"
    reason = reason or judge_paths(file.path for file in files)
    if reason:
        return make_problem("mcp-bad-path", f"the server '{server}': {_show(entry.uri)}: {reason}", path=place)
    scheme = entry.uri.partition("://")[0]
    return Listed(entry.uri, f"{scheme}-0", path, entry.frontmatter, tuple(sorted(files, key=lambda one: one.path)))


def _put_on_shelf(one: Listed, paths: set[str]) -> Listed:
    """Count the skills that a skill lies in: no search enters a skill, so that each level needs a shelf."""
    steps = one.path.split("/")
    level = sum(f"{one.shelf}/{'/'.join(steps[:depth])}" in paths for depth in range(1, len(steps)))
    if not level:
        return one
    shelf = f"{one.shelf.rpartition('-')[0]}-{level}"
    return Listed(one.uri, shelf, one.path, one.frontmatter, one.files)


def _find_path(uri: str) -> str:
    """Return the path of a skill as its address has it, which is plain ASCII and so the same on every disk."""
    return uri.partition("://")[2].removesuffix(f"/{SKILL_MD}")


def _name_place(server: str, value: object) -> str:
    """Return where the Problem with an entry is, as well as the entry lets one say."""
    uri: object = value.get("uri") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return f"mcp:{server}/{_find_path(uri)[:_SHOWN]}" if isinstance(uri, str) and "://" in uri else f"mcp:{server}"


def _show(uri: str) -> str:
    return uri if len(uri) <= _SHOWN else f"{uri[:_SHOWN]}…"
