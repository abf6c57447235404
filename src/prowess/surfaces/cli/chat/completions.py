"""What may be meant by the line that is being typed: a command, or a skill that is called for by its name."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prowess.activation.mentions import Completion

__all__ = ["Candidate", "complete_line"]

_MENTION = re.compile(r"(?:^|(?<=\s))(?P<sign>[/$])(?P<part>\S*)\Z")
_ONLY_MENTIONS = re.compile(r"\s*(?:[/$]\S+\s+)*\Z")
_ABOUT_A_SKILL = re.compile(r"/(?:why|off)\s+(?P<part>\S*)\Z")

Complete = Callable[[str], Sequence[Completion]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of the menu."""

    text: str
    """What stands there if it is chosen."""
    replaced: int
    """How many of the characters before the cursor it takes the place of."""
    about: str


def complete_line(typed: str, *, commands: Mapping[str, str], complete: Complete) -> tuple[Candidate, ...]:
    """Return the candidates for what stands before the cursor; `complete` is the session's, `commands` say what for.

    `/` counts at the start of a line and `$` anywhere, as in a message.
    """
    return tuple(one for one in _find(typed, commands, complete) if one.text.isprintable())


def _find(typed: str, commands: Mapping[str, str], complete: Complete) -> Iterator[Candidate]:
    asked = _ABOUT_A_SKILL.match(typed)
    if asked:
        for skill in complete(asked["part"]):
            yield Candidate(skill.name, len(asked["part"]), skill.description)
        return
    mention = _MENTION.search(typed)
    if mention is None:
        return
    sign, part = mention["sign"], mention["part"]
    before = typed[: mention.start()]
    if sign == "/" and not _ONLY_MENTIONS.match(before):
        return
    if sign == "/" and not before.strip():
        for name, about in commands.items():
            if name.startswith(part):
                yield Candidate(f"/{name}", len(part) + 1, about)
    for skill in complete(f"{sign}{part}"):
        if sign == "$" or skill.name not in commands:
            about = " · ".join(text for text in (skill.argument_hint, skill.description) if text)
            yield Candidate(f"{sign}{skill.name}", len(part) + 1, about)
