"""The frontmatter of a SKILL.md as JSON, the way the skills extension of MCP sends and compares it.

Elsewhere in Prowess, text in YAML stays as it was written. Other hosts resolve it, so what is sent is resolved too, by
the core schema of YAML 1.2: null, booleans and numbers become what they are, and all else, dates included, is text.
"""

import math
import re
from typing import Any, cast

import yaml

from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.frontmatter import split_frontmatter
from prowess.skill.problems import Problem
from prowess.sources.mcp.wire import Fault

__all__ = ["matches_frontmatter", "resolve_frontmatter"]

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_OTHER_BASE = re.compile(r"0(?:o[0-7]{1,20}|x[0-9a-fA-F]{1,15})")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,300}|[0-9]{1,300}(?:\.[0-9]{0,300})?)(?:[eE][-+]?[0-9]{1,3})?")


def resolve_frontmatter(text: str) -> dict[str, Any] | Fault:
    """Return the text between the fences of a SKILL.md as JSON has it, or why it cannot be had."""
    bounded = parse_yaml(text)
    return Fault("bad-frontmatter", bounded.message) if isinstance(bounded, Problem) else _resolve(text)


def matches_frontmatter(claimed: object, raw: bytes) -> bool:
    """Whether an entry's frontmatter says what the SKILL.md says, its values resolved or as they were written."""
    text = _read_text(raw)
    if isinstance(text, Fault):
        return False
    written = parse_yaml(text)
    return _is_same(claimed, _resolve(text)) or (
        isinstance(written, YamlDocument) and _is_same(claimed, written.values)
    )


def _read_text(raw: bytes) -> str | Fault:
    """Return the text between the fences, which is known to be a map within the bounds for YAML."""
    found = split_frontmatter(raw)
    if isinstance(found, Problem):
        return Fault("bad-frontmatter", found.message)
    bounded = parse_yaml(found.text)
    return Fault("bad-frontmatter", bounded.message) if isinstance(bounded, Problem) else found.text


def _resolve(text: str) -> dict[str, Any]:
    root = cast("yaml.Node | None", yaml.compose(text, Loader=yaml.CBaseLoader))  # pyright: ignore[reportUnknownMemberType]
    return _make_value(root) if isinstance(root, yaml.MappingNode) else {}


def _make_value(node: yaml.Node) -> Any:
    match node:
        case yaml.MappingNode():
            found: dict[str, Any] = {}
            for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                found.setdefault(str(key.value), _make_value(value))  # Of two, the first counts, as everywhere here.
            return found
        case yaml.SequenceNode():
            return [_make_value(item) for item in cast("list[yaml.Node]", node.value)]
        case _:
            text = str(node.value)
            is_plain = isinstance(node, yaml.ScalarNode) and not node.style
            return _resolve_plain(text) if is_plain else text


def _resolve_plain(text: str) -> Any:
    if _NULL.fullmatch(text):
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; Python holds true and 1 for the same, JSON does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return first.keys() == second.keys() and all(_is_same(value, second[key]) for key, value in first.items())
    if isinstance(one, list) and isinstance(other, list):
        left, right = cast("list[Any]", one), cast("list[Any]", other)
        return len(left) == len(right) and all(map(_is_same, left, right))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
