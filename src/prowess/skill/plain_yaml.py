"""A short cut through the plain YAML that most frontmatter is made of.

`parse_plain_yaml` answers only where it is certain to agree with `bounded_yaml`, and declines everything else: comments
after a value, rare escapes, flow collections, two levels of nesting, doubled keys. It takes a fraction of the time of a
full parser, which decides how fast a thousand skills are found. A differential test holds the two together.
"""

import re

from prowess.skill.yaml_values import YamlMap

__all__ = ["parse_plain_yaml"]

_KEY = r"[A-Za-z_][\w-]{0,63}"
_SIGNS = " -?:,[]{}#&*!|>'\"%@`"
"""What cannot begin a plain text, or only under conditions."""
_LINE = re.compile(
    r"^(?: *(?:#.*)?|"  # blank, or a comment
    rf"( *)(?:(- +)|({_KEY}):(?: +|$))(?:([^{re.escape(_SIGNS)}\n].*)|([\"'].+)|))$",
    re.MULTILINE | re.ASCII,
)
_CONTROLS = bytes(code for code in (*range(32), 127) if code != ord("\n"))
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_MAX_LINES = 500
"""Well below the number of values at which the full parser draws the line."""
_ESCAPE = re.compile(r"\\(.)")

# A top-level value of several lines with one indent and no blank line: a block text, or a plain text that goes on.
_BLOCK = r"([>|])(-?)\n(( +)[^ \n].*\n(?:\5[^ \n].*\n)*)"
_WRAPPED = r"([^ \n].*\n(?: +[^ \n].*\n)+)"
_SEVERAL_LINES = re.compile(rf"^({_KEY}): +(?:{_BLOCK}|{_WRAPPED})(?![ \n])", re.MULTILINE | re.ASCII)
_MARK = "\u2060"
"""Stands for a value that was set aside. No text that comes this far holds it, since it cannot be printed."""


def parse_plain_yaml(text: str) -> YamlMap | None:
    """Return the map that `text` means, or None if it is not plain enough to be sure."""
    if not _is_printable(text) or not text.endswith("\n") or text.count("\n") > _MAX_LINES:
        return None
    if ": >" not in text and ": |" not in text:
        found = _parse_lines(text)
        if found is not None or "\n " not in text:
            return found
    return _parse_with_several_lines(text)


def _is_printable(text: str) -> bool:
    """Whether the text has nothing but line breaks and what can be seen."""
    raw = text.encode()
    if len(raw.translate(None, _CONTROLS)) != len(raw):
        return False
    return text.isascii() or "".join(_NOT_ASCII.findall(text)).isprintable()


def _parse_lines(text: str) -> YamlMap | None:
    rows = _LINE.findall(text, 0, len(text) - 1)  # Without the last break, after which there is no line.
    if len(rows) != text.count("\n"):
        return None
    result: YamlMap = {}
    open_key = ""  # The last key at the top level, while it has no value.
    child_indent: str | None = None
    for indent, dash, key, plain, quoted in rows:
        if plain:
            value = plain if plain[-1] != " " else plain.rstrip(" ")
            if ": " in value or " #" in value or value[-1] == ":":
                return None
        elif quoted:
            value = _parse_quoted(quoted)
            if value is None:
                return None
        elif key or dash:
            value = ""
        else:
            continue
        if key and not indent:
            if key in result:
                return None
            result[key] = value
            open_key, child_indent = ("" if value else key), None
        elif not (open_key and value and child_indent in (None, indent) and _add(result, open_key, key, value)):
            return None
        else:
            child_indent = indent
    return result


def _add(result: YamlMap, parent: str, key: str, value: str) -> bool:
    """Add a line to the list or map below `parent`; say whether it belongs there."""
    child = result[parent]
    if isinstance(child, str):
        result[parent] = {key: value} if key else [value]
    elif isinstance(child, list) and not key:
        child.append(value)
    elif isinstance(child, dict) and key and key not in child:
        child[key] = value
    else:
        return False
    return True


def _parse_quoted(raw: str) -> str | None:
    """Return what a text in quotes means, or None if it is empty, does not end on the line, or has rare escapes."""
    text = raw.rstrip(" ")
    quote, inner = text[0], text[1:-1]
    if not inner or text[-1] != quote:
        return None
    if quote == "'":
        return None if "'" in inner.replace("''", "") else inner.replace("''", "'")
    if "\\" not in inner:
        return None if '"' in inner else inner
    bare = inner.replace("\\\\", "").replace('\\"', "")
    return None if "\\" in bare or '"' in bare else _ESCAPE.sub(r"\1", inner)


def _is_plain(line: str) -> bool:
    return line[0] not in _SIGNS and ": " not in line and " #" not in line and line[-1] != ":"


def _parse_with_several_lines(text: str) -> YamlMap | None:
    """Set the values of several lines aside, read the rest, and put them back."""
    aside: dict[str, str] = {}

    def set_aside(found: re.Match[str]) -> str:
        key, style, strip, block, indent, wrapped = found.groups()
        if wrapped:
            lines = [line.strip(" ") for line in wrapped.splitlines()]
            if not all(map(_is_plain, lines)):
                return found[0]
            aside[key] = " ".join(lines)
        else:
            cut = [line[len(indent) :] for line in block.splitlines()]
            aside[key] = (" " if style == ">" else "\n").join(cut) + ("" if strip else "\n")
        return f"{key}: {_MARK}\n"

    result = _parse_lines(_SEVERAL_LINES.sub(set_aside, text))
    if result is None or any(result.get(key) != _MARK for key in aside):
        return None
    return result | aside
