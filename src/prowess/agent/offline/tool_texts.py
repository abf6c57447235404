"""What the results of tools say, whether they are plain text or JSON."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, cast

__all__ = [
    "Instructions",
    "cut_instructions",
    "find_answers",
    "find_instructions",
    "find_noted",
    "find_plain_instructions",
    "find_refused",
    "read_activation",
    "read_answer",
    "read_content",
    "read_deactivation",
    "read_error",
    "read_run",
]

_INSTRUCTIONS, _ANSWER = "skill_content", "skill_answer"
_OPENING = re.compile(r'<(skill_content|skill_answer) name="([^"\n]*)">\n')
_RESOURCES = "<skill_resources>\n", "\n</skill_resources>"
_CUT = "\n[Cut after compaction"
_MORE = re.compile(r"… and [\d,]+ more\Z")
_HEAD = re.compile(r"(?:\A|(?<=\n\n))(?:Base directory for this skill: [^\n]*\n)?Skill name: ([^\n]+)(?:\n|\Z)")
_HEAD_LINE = re.compile(r"(?:Base directory for this skill|Skill name|Compatibility): [^\n]*(?:\n|\Z)")
_ALREADY = re.compile(r"Skill (.{1,300}) is already active\. Its instructions stand above in this conversation\.\Z")
_REFUSED = re.compile(
    r"^The user called for (.{1,300}?), which is not active: (.{0,2000}?)\.? Go on without it\.$",
    re.MULTILINE | re.DOTALL,
)
_OFF = re.compile(r"Skill (.{1,300}) is no longer active\.\Z")
_EXIT = re.compile(r"\b(?:Exit status (-?\d+)|Ended at its time limit) after [^\n]*")
_RAISED = re.compile(r"^\w*(?:Error|Exception): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of one skill, as a conversation holds them."""

    name: str
    body: str
    files: tuple[str, ...] | None = None
    """All that the skill has besides; None if that is not known."""


def find_instructions(text: str) -> tuple[Instructions, ...]:
    """Return the instructions that stand in tags, as they come with a message; nobody else can write such tags."""
    return tuple(_unwrap(one.name, one.text) for one in _find_wrapped(text) if one.tag == _INSTRUCTIONS)


def find_plain_instructions(text: str) -> tuple[Instructions, ...]:
    """Return the instructions that come with a message where they stand in no tags; never from what a subagent says."""
    return _read_heads(_cut_wrapped(text))


def read_activation(result: str, *, are_tagged: bool) -> Instructions | None:
    """Return the instructions that an activation has brought; None if it has brought something else.

    Where instructions stand in tags, whatever else comes is an answer, however it looks.
    """
    if are_tagged:
        found = find_instructions(result)
    else:
        found = _read_json(result) or (_read_heads(result, most=1) if _HEAD.match(result) else ())
    return found[0] if found else None


def find_answers(text: str) -> tuple[tuple[str, str], ...]:
    """Return the skills that subagents have worked, as the context of a message tells, and what they say."""
    return tuple((one.name, one.text) for one in _find_wrapped(text) if one.tag == _ANSWER)


def find_refused(text: str) -> tuple[tuple[str, str], ...]:
    """Return the skills that the user has called for in vain, and why each is not active."""
    return tuple((html.unescape(found[1]), found[2]) for found in _REFUSED.finditer(text))


def find_noted(text: str) -> tuple[str, ...]:
    """Return the skills of which a text says that they were active already."""
    return tuple(html.unescape(found[1]) for line in text.split("\n") if (found := _ALREADY.match(line)))


def cut_instructions(text: str) -> str:
    """Return a text without the instructions and the answers in it."""
    rest = _cut_wrapped(text)
    head = _HEAD.search(rest)
    return rest[: head.start()] if head else rest


def _cut_wrapped(text: str) -> str:
    start = 0
    parts: list[str] = []
    for one in _find_wrapped(text):
        parts.append(text[start : one.start])
        start = one.end
    return "".join([*parts, text[start:]])


class _Wrapped(NamedTuple):
    tag: str
    name: str
    text: str
    start: int
    end: int


def _find_wrapped(text: str) -> Iterator[_Wrapped]:
    """Return what stands in tags. None stands within another: they are kept from that when they are written."""
    start = 0
    while found := _OPENING.search(text, start):
        closing = f"\n</{found[1]}>"
        end = text.find(closing, found.end() - 1)
        if end < 0:
            return
        start = end + len(closing)
        yield _Wrapped(found[1], html.unescape(found[2]), text[found.end() : end], found.start(), start)


def _unwrap(name: str, text: str) -> Instructions:
    opening, closing = _RESOURCES
    at = text.rfind(opening) if text.endswith(closing) else -1
    if at < 0:
        return Instructions(name, _without_head(text), None if _CUT in text else ())
    paths = text[at + len(opening) : -len(closing)].split("\n")
    files = None if _MORE.match(paths[-1]) else tuple(paths)
    return Instructions(name, _without_head(text[:at]), files)


def _read_json(text: str) -> tuple[Instructions, ...]:
    fields = _parse_object(text)
    name, body = _text_of(fields, "name"), _text_of(fields, "instructions", "body")
    return (Instructions(name, body),) if name and body is not None and not _ALREADY.match(body) else ()


def _read_heads(text: str, *, most: int | None = None) -> tuple[Instructions, ...]:
    """Return what follows each head; beyond the most, a head is part of the text before it."""
    heads = list(islice(_HEAD.finditer(text), most))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return tuple(
        Instructions(html.unescape(head[1]), _without_head(text[head.start() : end]))
        for head, end in zip(heads, ends, strict=False)
    )


def _without_head(text: str) -> str:
    """Return what follows the lines that Prowess has put before the instructions."""
    start = 0
    while line := _HEAD_LINE.match(text, start):
        start = line.end()
    return text[start:].strip("\n")


def read_deactivation(text: str) -> str:
    """Return the name of the skill that a result says was switched off; empty if it says no such thing."""
    found = _OFF.match(text.rstrip())
    return html.unescape(found[1]) if found else ""


def read_answer(result: str) -> str:
    """Return what a subagent says that was called by a tool."""
    said = _text_of(_parse_object(result), "result")
    return result if said is None else said


def read_content(result: str) -> str:
    """Return what of a result was in the file that was read."""
    content = _text_of(_parse_object(result), "content")
    return result if content is None else content


def read_error(result: str) -> str:
    """Return what an error says, on one line; of one that Python has raised, the message."""
    text = _text_of(_parse_object(result), "error", "message") or result
    raised = _RAISED.findall(text) if text.lstrip().startswith("Traceback") else []
    return " ".join((raised[-1] if raised else text.strip().split("\n", 1)[0]).split())


def read_run(result: str) -> tuple[str, str]:
    """Return how a run ended, in words, and what it printed; both empty if the result tells of no run."""
    found = _EXIT.search(result)
    if found is None:
        return "", ""
    return f"exit status {found[1]}" if found[1] else "ended at its time limit", result[found.end() :]


def _parse_object(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text_of(fields: dict[str, Any], *keys: str) -> str | None:
    """Return the first of these that is a text; half characters, which JSON can spell, become question marks."""
    found = next((fields[key] for key in keys if isinstance(fields.get(key), str)), None)
    return None if found is None else str(found).encode("utf-8", "replace").decode()
