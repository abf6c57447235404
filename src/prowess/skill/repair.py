"""Mend the faults that people make most often in frontmatter.

A line is touched only if it cannot be read on its own, and then its whole value is put in quotes, so that nothing of it
is lost. The number of lines never changes: a place in the mended text is the same place in the file.
"""

import re
from dataclasses import dataclass

from prowess.skill.bounded_yaml import parse_yaml
from prowess.skill.problems import Problem

__all__ = ["Mend", "drop_unreadable", "mend_yaml", "quote_value", "strip_quotes"]

_MAX_LINES = 400
_ENTRY = re.compile(r"^(?P<lead> *(?:- +)?(?P<key>[A-Za-z_][\w.-]*) *:)(?P<gap>[ \t]+|$)(?P<value>.*)$")
_ITEM = re.compile(r"^(?P<lead> *-)(?P<gap>[ \t]+)(?P<value>.*)$")
_BLOCK_START = re.compile(r"[|>][+\-0-9]*\s*(?:#.*)?$")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
"""What no YAML may hold."""
_CLOSERS = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Mend:
    """One line as it was understood."""

    index: int
    """The line in the text, counted from 0."""
    line: str


def drop_unreadable(text: str) -> tuple[str, tuple[str, ...], int]:
    """Return `text` without characters that no YAML may hold, which those were, and the first line with one."""
    first = _UNREADABLE.search(text)
    if first is None:
        return text, (), 0
    found = tuple(dict.fromkeys(f"U+{ord(char):04X}" for char in _UNREADABLE.findall(text)))
    return _UNREADABLE.sub("", text), found, text.count("\n", 0, first.start())


def mend_yaml(text: str) -> tuple[str, list[Mend]]:
    """Return `text` with the lines mended that need it, and what was mended; no mends if there is nothing to do."""
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        return text, []
    mends = _expand_tabs(lines)
    index = 0
    while index < len(lines):
        found = _ENTRY.match(lines[index]) or _ITEM.match(lines[index])
        if found is None or not found["value"].strip():
            index += 1
            continue
        end = _end_of_value(
            lines, index, indent=found.start("key") if "key" in found.groupdict() else _indent(lines[index])
        )
        if not _BLOCK_START.match(found["value"]):
            mended = _mend_value(found, lines[index + 1 : end])
            if mended is not None:
                lines[index:end] = [mended, *[""] * (end - index - 1)]
                mends[index] = mended
        index = end
    return "\n".join(lines), [Mend(index, line) for index, line in sorted(mends.items())]


def _expand_tabs(lines: list[str]) -> dict[int, str]:
    """Turn the tabs that indent a line into blanks, in place, and return the lines that had some."""
    mends: dict[int, str] = {}
    for index, line in enumerate(lines):
        body = line.lstrip("\t ")
        if line.startswith("\t"):
            lines[index] = line[: len(line) - len(body)].replace("\t", "  ") + body
            mends[index] = lines[index]
    return mends


def _end_of_value(lines: list[str], index: int, *, indent: int) -> int:
    """Return the index after the last line that continues the value which begins on line `index`."""
    end = index + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    while end > index + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _mend_value(entry: re.Match[str], continuation: list[str]) -> str | None:
    """Return the line with its whole value in quotes, or None if it is fine or beyond repair."""
    value = entry["value"].strip()
    whole = " ".join([value, *(line.strip() for line in continuation if line.strip())])
    indented = "\n".join(f"  {line.strip()}" for line in continuation)
    alone = f"k: {value}\n{indented}\n" if continuation else f"k: {value}\n"
    if not isinstance(parse_yaml(alone), Problem) or _is_unfinished_flow(whole):
        return None
    return f"{entry['lead']} {quote_value(strip_quotes(whole))}"


def _is_unfinished_flow(value: str) -> bool:
    """Whether the value opens a list or map that never closes: what was meant cannot be known."""
    closer = _CLOSERS.get(value[0])
    return closer is not None and value.count(value[0]) > value.count(closer)


def strip_quotes(value: str) -> str:
    """Return a text without the quotes around it, if these are a pair: in `"a" and "b"` they are not."""
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    inner = value[1:-1]
    between = _APOSTROPHE.sub("", inner) if value[0] == "'" else inner
    first = between.find(value[0])
    opens_another = first > 0 and between[first - 1].isspace()
    return inner if first < 0 or opens_another else value


def quote_value(value: str) -> str:
    """Return `value` as a YAML text that means just that."""
    return "'" + value.replace("'", "''") + "'"
