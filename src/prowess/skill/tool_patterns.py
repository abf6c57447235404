"""`allowed-tools` in every spelling in use: separated by blanks or commas, or a list; parentheses keep their blanks."""

import re
from dataclasses import dataclass

from prowess.skill.yaml_values import YamlValue

__all__ = ["ToolPatterns", "parse_tool_patterns", "split_plain_patterns"]

_BLANK_SEPARATED = re.compile(r"(?:[^\s,()]++(?:\([^()]*+\))?+(?:\s++|\Z))*+\Z")
_PATTERN = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


@dataclass(frozen=True, slots=True)
class ToolPatterns:
    """The patterns, in order and each once, and how they were spelled."""

    patterns: tuple[str, ...]
    unbalanced: tuple[str, ...] = ()
    with_commas: bool = False
    as_list: bool = False


def parse_tool_patterns(value: YamlValue) -> ToolPatterns | None:
    """Return the patterns in `value`, or None if it is a map or holds anything but text."""
    if isinstance(value, str):
        plain = split_plain_patterns(value)
        if plain is not None:
            return ToolPatterns(plain)
        found, with_commas = _split(value)
        return _sort_out(found, with_commas=with_commas, as_list=False)
    if isinstance(value, dict):
        return None
    found: list[str] = []
    for item in value:
        if not isinstance(item, str):
            return None
        found.extend(_split(item)[0])
    return _sort_out(found, with_commas=False, as_list=True)


def split_plain_patterns(text: str) -> tuple[str, ...] | None:
    """Return the patterns of a text in the standard's own spelling; None if it is another."""
    if "(" not in text and ")" not in text and "," not in text:
        return tuple(dict.fromkeys(text.split()))
    return tuple(dict.fromkeys(_PATTERN.findall(text))) if _BLANK_SEPARATED.match(text) else None


def _split(text: str) -> tuple[list[str], bool]:
    """Cut at blanks and commas outside parentheses; say whether a comma was among the cuts."""
    parts: list[str] = []
    depth = start = 0
    with_commas = False
    for index, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth <= 0 and (char == "," or char.isspace()):
            with_commas = with_commas or char == ","
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part], with_commas


def _sort_out(found: list[str], *, with_commas: bool, as_list: bool) -> ToolPatterns:
    parts = {part: _is_balanced(part) for part in found}
    good = tuple(part for part, balanced in parts.items() if balanced)
    bad = tuple(part for part, balanced in parts.items() if not balanced)
    return ToolPatterns(good, bad, with_commas, as_list)


def _is_balanced(pattern: str) -> bool:
    """Whether the pattern is a name, or a name with one closed pair of parentheses at its end."""
    opened = pattern.find("(")
    if opened < 0:
        return ")" not in pattern
    depth = 0
    for index, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if depth < 0 or (depth == 0 and char == ")" and index != len(pattern) - 1):
            return False
    return depth == 0 and opened > 0
