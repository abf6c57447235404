"""Find the skills that a person calls for by name in a message, and complete names while one is typed.

`/name` counts only at the very start, where several may stand in a row and are taken off the message; `$name` counts
there and anywhere else in the text, which then stays as it is. A name that nobody knows is plain text.
"""

import heapq
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from prowess.skill.skill import Skill

__all__ = [
    "MAX_COMPLETIONS",
    "MAX_MENTIONS",
    "Completion",
    "Mention",
    "ParsedMessage",
    "complete_mention",
    "parse_message",
]

MAX_MENTIONS = 16
"""Further mentions in a message are plain text."""
MAX_COMPLETIONS = 20
_MAX_DESCRIPTION = 100
_ANYWHERE = "$"
_LEADING = re.compile(r"(?P<sign>[/$])(?P<name>\S{1,256})(?=(?P<blanks>\s+)|\Z)")
_INSIDE = re.compile(r"(?<![\w-])\$(?P<name>[\w-]{1,256}+)(?![\w-])")


@dataclass(frozen=True, slots=True)
class Mention:
    """A skill that was called for by name."""

    name: str
    sign: str
    """`/` or `$`."""
    arguments: str = ""
    """The rest of the line."""


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A message, taken apart."""

    mentions: tuple[Mention, ...]
    """Each name once, in the order of the text."""
    text: str
    """What remains for the model: the message without the mentions at its start."""

    @property
    def bare(self) -> bool:
        """Whether there are mentions and nothing else, so that no model has to be asked."""
        return bool(self.mentions) and not self.text.strip()


@dataclass(frozen=True, slots=True)
class Completion:
    """One row of a picker."""

    name: str
    description: str
    """On one line, shortened."""
    argument_hint: str = ""


def parse_message(message: str, *, names: Container[str], signs: str = "/$") -> ParsedMessage:
    """Return the mentions in the latest message of a user; `names` are the skills that a person may call for."""
    leading, start = _take_leading(message, names, signs)
    found: dict[str, Mention] = {}
    for name, sign, end in leading:
        found.setdefault(name, Mention(name, sign, _rest_of_line(message, start, line_from=end)))
    if _ANYWHERE in signs:
        for dollar in _INSIDE.finditer(message, start):
            if len(found) == MAX_MENTIONS:
                break
            name, end = dollar["name"], dollar.end()
            if name not in found and name in names:
                found[name] = Mention(name, _ANYWHERE, _rest_of_line(message, end, line_from=end))
    return ParsedMessage(tuple(found.values()), message[start:] if leading else message)


def _take_leading(message: str, names: Container[str], signs: str) -> tuple[list[tuple[str, str, int]], int]:
    """Return name, sign and end of the mentions at the start, and where the rest of the message begins."""
    taken: list[tuple[str, str, int]] = []
    start = 0
    while len(taken) < MAX_MENTIONS and (found := _LEADING.match(message, start)):
        if found["sign"] not in signs or found["name"] not in names:
            break
        taken.append((found["name"], found["sign"], found.end()))
        start = found.end() + len(found["blanks"] or "")
    return taken, start


def _rest_of_line(message: str, start: int, *, line_from: int) -> str:
    """Return what stands from `start` to the end of the line that `line_from` is in; empty if `start` is beyond it."""
    line_break = message.find("\n", line_from)
    return message[start : len(message) if line_break < 0 else line_break].strip()


def complete_mention(typed: str, *, skills: Sequence[Skill]) -> tuple[Completion, ...]:
    """Return the skills that a person may mean by what is typed so far, with or without its sign.

    Names that begin so come first, then names that hold it; each name once, and a bounded number.
    """
    part = typed[1:] if typed.startswith(("/", "$")) else typed
    ranked = _rank(part.casefold(), skills)
    best = heapq.nsmallest(MAX_COMPLETIONS, ranked, key=lambda row: row[:2])
    return tuple(_complete(skill) for _, _, skill in best)


def _rank(part: str, skills: Sequence[Skill]) -> Iterator[tuple[bool, str, Skill]]:
    seen: set[str] = set()
    for skill in skills:
        name = skill.name.casefold()
        if part in name and skill.name not in seen and skill.manifest.behaviour.user_invocable:
            seen.add(skill.name)
            yield not name.startswith(part), skill.name, skill


def _complete(skill: Skill) -> Completion:
    behaviour = skill.manifest.behaviour
    description = " ".join((behaviour.interface.short_description or skill.description).split())
    if len(description) > _MAX_DESCRIPTION:
        description = description[: _MAX_DESCRIPTION - 1].rstrip() + "…"
    declared = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in behaviour.arguments)
    return Completion(skill.name, description, behaviour.argument_hint or declared)
