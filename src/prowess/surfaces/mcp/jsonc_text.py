"""Change one member of a JSON document as text: whatever else stands in it, comments included, stays as it is."""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from prowess.settings.toml_text import TextFault

__all__ = ["TextFault", "parse_jsonc", "remove_json_member", "set_json_member"]

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_REMARK = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)")
"""A comment that belongs to the line on which it stands."""
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    begin: int
    """Of its key."""
    value: int
    end: int
    """Of its value."""
    inner: "_Object | None"


@dataclass(frozen=True, slots=True)
class _Object:
    begin: int
    end: int
    members: tuple[_Member, ...]
    """The last of which may be followed by a comma."""

    def find(self, key: str) -> _Member | None:
        return next((member for member in self.members if member.key == key), None)


def parse_jsonc(text: str) -> dict[str, Any]:
    """Return the object that the text holds; an empty text holds none. Raise `TextFault` if it is something else."""
    if not text.strip():
        return {}
    _scan(text)
    try:
        value: object = json.loads(_strip(text))
    except (ValueError, RecursionError) as error:
        raise TextFault(str(error)) from None
    if not isinstance(value, dict):
        raise TextFault("it is no object")
    return cast("dict[str, Any]", value)


def set_json_member(text: str, table: str, key: str, value: dict[str, Any]) -> str:
    """Return the text with a member set in one of the objects of its object."""
    if not text.strip():
        return json.dumps({table: {key: value}}, indent=2, ensure_ascii=False) + "\n"
    root = _scan(text)
    unit = _find_unit(text, root)
    outer = root.find(table)
    if outer is None:
        return _insert(text, root, table, {key: value}, unit=unit, depth=1)
    if outer.inner is None:
        raise TextFault(f"'{table}' is no object")
    known = outer.inner.find(key)
    if known is None:
        return _insert(text, outer.inner, key, value, unit=unit, depth=2)
    return text[: known.value] + _render(value, unit=unit, depth=2) + text[known.end :]


def remove_json_member(text: str, table: str, key: str) -> str:
    """Return the text without a member of one of the objects of its object; as it is, if there is none."""
    outer = _scan(text).find(table) if text.strip() else None
    if outer is None or outer.inner is None:
        return text
    members = outer.inner.members
    index = next((index for index, member in enumerate(members) if member.key == key), None)
    if index is None:
        return text
    member = members[index]
    end = _find_comma(text, member.end)
    if index + 1 < len(members):
        between = text[end or member.end : members[index + 1].begin]
        return text[: member.begin] + (between.lstrip() if "/" in between else "") + text[members[index + 1].begin :]
    if not index:
        return text[: outer.inner.begin + 1] + text[end or member.end :].lstrip()
    before = members[index - 1].end
    comma = _find_comma(text, before) or before
    kept = text[:before] if end is None else text[:comma]  # Where the last one has a comma, it goes on having one.
    return kept + text[comma : member.begin].rstrip() + text[end or member.end :]


def _find_comma(text: str, at: int) -> int | None:
    """Return where the comma ends that follows a value; None if there is none."""
    after = _skip(text, at)
    return after + 1 if text[after : after + 1] == "," else None


def _insert(text: str, into: _Object, key: str, value: Any, *, unit: str, depth: int) -> str:
    line = f"{json.dumps(key)}: {_render(value, unit=unit, depth=depth)}"
    if not into.members:
        inner = f"\n{unit * depth}{line}\n{unit * (depth - 1)}"
        kept = text[into.begin + 1 : into.end - 1].rstrip()
        return f"{text[: into.begin + 1]}{kept}{inner}{text[into.end - 1 :]}"
    last = into.members[-1].end
    comma = _find_comma(text, last)
    remark = _REMARK.match(text, comma or last)
    at = remark.end() if remark else comma or last
    if comma is not None:
        return f"{text[:at]}\n{unit * depth}{line},{text[at:]}"
    return f"{text[:last]},{text[last:at]}\n{unit * depth}{line}{text[at:]}"


def _render(value: Any, *, unit: str, depth: int) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{unit * depth}")


def _find_unit(text: str, root: _Object) -> str:
    """Return by what the document indents its lines."""
    first = root.members[0].begin if root.members else 0
    lead = text[:first].rpartition("\n")[2] if first else ""
    return lead if lead and not lead.strip() else "  "


def _strip(text: str) -> str:
    """Return plain JSON: without comments, and without commas before an end."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        string = _STRING.match(text, at)
        blank = _BLANK.match(text, at)
        if string is not None:
            parts.append(string[0])
            at = string.end()
        elif blank is not None and blank.end() > at:
            parts.append(" ")
            at = blank.end()
        else:
            if text[at] in "}]":
                while parts and parts[-1].strip() in ("", ","):
                    parts.pop()
            parts.append(text[at])
            at += 1
    return "".join(parts)


# Where things stand


def _scan(text: str) -> _Object:
    at = _skip(text, 0)
    found, end = _scan_object(text, at, 0)
    if _skip(text, end) != len(text):
        raise TextFault("something follows the end of the object")
    return found


def _scan_object(text: str, at: int, depth: int) -> tuple[_Object, int]:
    if text[at : at + 1] != "{" or depth > _MAX_DEPTH:
        raise TextFault("it is no object" if depth <= _MAX_DEPTH else "it is nested too deep")
    begin, at = at, _skip(text, at + 1)
    members: list[_Member] = []
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        colon = _skip(text, key.end()) if key else at
        if key is None or text[colon : colon + 1] != ":":
            raise TextFault(f"a key is expected in line {text.count(chr(10), 0, at) + 1}")
        value = _skip(text, colon + 1)
        inner, end = _scan_value(text, value, depth + 1)
        members.append(_Member(json.loads(key[0]), at, value, end, inner))
        at = _skip_comma(text, end, "}")
    return _Object(begin, at + 1, tuple(members)), at + 1


def _scan_value(text: str, at: int, depth: int) -> tuple[_Object | None, int]:
    sign = text[at : at + 1]
    if sign == "{":
        return _scan_object(text, at, depth)
    if sign == "[":
        return None, _scan_list(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise TextFault(f"a value is expected in line {text.count(chr(10), 0, at) + 1}")
    return None, found.end()


def _scan_list(text: str, at: int, depth: int) -> int:
    if depth > _MAX_DEPTH:
        raise TextFault("it is nested too deep")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        _, end = _scan_value(text, at, depth + 1)
        at = _skip_comma(text, end, "]")
    return at + 1


def _skip_comma(text: str, at: int, end: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != end:
        raise TextFault(f"a comma or {end} is expected in line {text.count(chr(10), 0, at) + 1}")
    return at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
