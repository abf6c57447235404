"""Tier 2: the instructions of one skill, read when it is activated.

The bytes that are read are held against the skill's file list, so that what a person agreed to is what a model gets.
"""

import codecs
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prowess.disclosure.agreed_files import check_bytes
from prowess.disclosure.arguments import substitute_arguments
from prowess.disclosure.names import show_name
from prowess.disclosure.refusals import HINTS, REFUSALS
from prowess.errors import BrokenSkill, WorldError
from prowess.skill.deception import strip_invisible
from prowess.skill.digest import SkillFile
from prowess.skill.frontmatter import split_frontmatter
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.folders import SKILL_MD
from prowess.sources.skill_files import MAX_TOTAL_BYTES

__all__ = [
    "CLOSING_TAG",
    "HEAD",
    "MAX_SKILL_MD_BYTES",
    "Instructions",
    "defuse",
    "read_instructions",
    "render_answer",
    "render_folder",
    "render_instructions",
    "wrap_instructions",
]

MAX_SKILL_MD_BYTES = 4_000_000
"""More than this is never shown of a SKILL.md, whatever the settings say."""
MAX_LISTED_FILES = 100
"""Files that a list of resources or a folder's summary names."""
MAX_LISTED_CHARACTERS = 8_000
"""Of such a list."""
_CHUNK = 1 << 18
_TAG = "skill_content"
CLOSING_TAG = f"</{_TAG}>"
HEAD = re.compile(r"(?:(?:Base directory for this skill|Skill name|Origin|Compatibility): [^\n]*\n)+\n?")
"""The lines above the instructions that say whose they are."""
_RESOURCES_TAG = "skill_resources"
_ANSWER_TAG = "skill_answer"
_TAG_LIKE = re.compile(rf"<(?=\s{{0,8}}+/?+\s{{0,8}}+(?:{_TAG}|{_RESOURCES_TAG}|{_ANSWER_TAG}))", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a skill's SKILL.md says, apart from its frontmatter."""

    body: str
    """Markdown, with arguments in their places; cut, with a notice, if it is too long."""
    size_bytes: int
    """Of the whole SKILL.md."""
    truncated: bool = False


def read_instructions(
    skill: Skill, *, files: Sequence[SkillFile], limit_bytes: int, arguments: str | None = None
) -> Instructions:
    """Read the instructions, with the arguments in their places.

    None leaves them as they are. An empty text empties them, but only in a skill that says it takes arguments: in
    others, a `$1` is more likely part of an example. `files` are those of the digest that was agreed to; empty if the
    skill has none. Raise SkillChanged if SKILL.md is not as listed.
    """
    limit = min(limit_bytes, MAX_SKILL_MD_BYTES)
    raw, size, sha256 = _read(skill, limit)
    if files:
        check_bytes(skill, sha256, path=os.fsencode(SKILL_MD), files=files)
    text = _LINE_BREAKS.sub("\n", _find_body(skill, raw).decode("utf-8", "replace"))
    if size > len(raw):
        text = text.rstrip("\ufffd")  # A character that the cut has halved.
    body, unseen = strip_invisible(text)
    if arguments is not None and (arguments or _takes_arguments(skill, body)):
        names = [argument.name for argument in skill.manifest.behaviour.arguments]
        body = substitute_arguments(body, arguments, names=names)
    too_long = len(body) > MAX_SKILL_MD_BYTES
    body = body[:MAX_SKILL_MD_BYTES]
    notices = [
        f"[Cut: the first {len(raw):,} of {size:,} bytes of {SKILL_MD} are shown.]" if size > len(raw) else "",
        f"[Cut: with the arguments in their places, {SKILL_MD} is too long.]" if too_long else "",
        f"[Characters that cannot be read or seen were removed: {unseen:,}.]" if unseen else "",
    ]
    body = "\n\n".join(part for part in (body.strip("\n"), *notices) if part)
    return Instructions(body, size, truncated=size > len(raw) or too_long)


def _takes_arguments(skill: Skill, body: str) -> bool:
    behaviour = skill.manifest.behaviour
    return bool(behaviour.arguments or behaviour.argument_hint or "$ARGUMENTS" in body or "${ARGUMENTS}" in body)


def _read(skill: Skill, limit: int) -> tuple[bytes, int, str]:
    """Return the beginning of the SKILL.md, and the size and the hash of all of it."""
    file = open_beneath(skill.real, path=os.fsencode(SKILL_MD))
    if isinstance(file, Obstacle):
        raise BrokenSkill(
            f"skill '{skill.name}': {SKILL_MD}: {REFUSALS[file][1].rstrip('.')}",
            problems=skill.problems,
            hint=HINTS.get(file) or "it may have gone since it was found; look at the list of skills again",
            code="skill-md-unreadable",
        )
    kept: list[bytes] = []
    whole, size = hashlib.sha256(), 0
    try:
        while size <= MAX_TOTAL_BYTES and (part := os.read(file, _CHUNK)):
            whole.update(part)
            if size < limit:
                kept.append(part[: limit - size])
            size += len(part)
    except OSError as error:
        raise WorldError(f"skill '{skill.name}': {SKILL_MD} cannot be read: {error.strerror}") from error
    finally:
        os.close(file)
    return b"".join(kept), size, whole.hexdigest()


def _find_body(skill: Skill, raw: bytes) -> bytes:
    """Return what follows the frontmatter: nothing if the cut came before its end."""
    found = split_frontmatter(raw)
    if isinstance(found, Problem):
        return b"" if skill.manifest.text else raw.removeprefix(codecs.BOM_UTF8)
    return raw[found.body_offset :]


def render_instructions(skill: Skill, instructions: Instructions, *, base_directory: str) -> str:
    """Return what a model reads when a skill is activated."""
    lines = [
        f"Base directory for this skill: {base_directory}" if base_directory else "",
        f"Skill name: {show_name(skill.name)}",
        f"Origin: the MCP server {skill.server}, and not the user" if skill.server else "",
        f"Compatibility: {skill.manifest.compatibility}" if skill.manifest.compatibility else "",
    ]
    head = "\n".join(line for line in lines if line)
    return "\n\n".join([head, *_documented_tools(skill), instructions.body])


def wrap_instructions(skill: Skill, text: str, *, resources: Sequence[str]) -> str:
    """Return instructions in a tag, so that they can be told apart from all else in a conversation, by machines too."""
    parts = [defuse(text), *([_render_resources(resources)] if resources else [])]
    origin = f' origin="mcp:{skill.server}"' if skill.server else ""
    return f'<{_TAG} name="{_attribute(skill.name)}"{origin}>\n' + "\n\n".join(parts) + f"\n{CLOSING_TAG}"


def render_answer(name: str, text: str) -> str:
    """Return what a subagent has answered that worked a skill, in a tag of its own."""
    shown, _ = strip_invisible(text)
    return f'<{_ANSWER_TAG} name="{_attribute(name)}">\n{defuse(shown)}\n</{_ANSWER_TAG}>'


def _documented_tools(skill: Skill) -> Iterable[str]:
    """Name the tools that the instructions are about, with a stub for each whose name can be called in Python."""
    tools = skill.manifest.behaviour.tools
    if not tools:
        return
    stubs = [f"def {tool}(): ..." for tool in tools if tool.isidentifier()]
    yield "\n".join([f"Skill-documented tools: {', '.join(tools)}", *stubs])


def _render_resources(resources: Sequence[str]) -> str:
    """List files without reading any."""
    shown: list[str] = []
    left = MAX_LISTED_CHARACTERS
    for path in resources[:MAX_LISTED_FILES]:
        left -= len(path) + 1
        if left < 0:
            break
        shown.append(defuse(path))
    rest = len(resources) - len(shown)
    more = [f"… and {rest:,} more"] if rest else []
    return "\n".join([f"<{_RESOURCES_TAG}>", *shown, *more, f"</{_RESOURCES_TAG}>"])


def defuse(text: str) -> str:
    """Keep a text from ending or forging the wrapping around it, in whatever spelling a model might take for it."""
    return _TAG_LIKE.sub("&lt;", text)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def render_folder(paths: Iterable[str]) -> str:
    """Return a summary of a skill's folder: its files under their folders, indented, as many as may be listed."""
    lines: list[str] = []
    known: set[str] = set()
    room = MAX_LISTED_CHARACTERS
    listed = left = 0
    for path in sorted(paths, key=lambda path: ("/" in path, path)):
        room -= len(path) + 1
        if listed >= MAX_LISTED_FILES or room < 0:
            left += 1
            continue
        listed += 1
        steps = path.split("/")
        for depth in range(1, len(steps)):
            folder = "/".join(steps[:depth])
            if folder not in known:
                known.add(folder)
                lines.append(f"{'  ' * (depth - 1)}{steps[depth - 1]}/")
        lines.append(f"{'  ' * (len(steps) - 1)}{steps[-1]}")
    return "\n".join([*lines, *([f"… and {left:,} more"] if left else [])])
