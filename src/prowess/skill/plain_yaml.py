"""A short cut through the plain YAML that most frontmatter is made of.

`parse_plain_yaml` answers only where it is certain to agree with `bounded_yaml`, and declines everything else: comments
after a value, rare escapes, flow maps, three levels of nesting, doubled keys. It takes a fraction of the time of a
full parser, which decides how fast a thousand skills are found. A differential test holds the two together.
"""

import re

from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = ["PLAIN_KEY", "PLAIN_TEXT", "find_odd", "find_plain_key", "parse_plain_yaml", "parse_quoted"]

_SIGNS = " -?:,[]{}#&*!|>'\"%@`"
"""What cannot begin a plain text, or only under conditions."""
_SIGNS_OF_OTHERS = _SIGNS.replace("'", "").replace('"', "")
"""The same in a line that goes on with a plain text."""
PLAIN_KEY = r"[A-Za-z_][\w-]{0,63}+"
PLAIN_TEXT = rf"[^{re.escape(_SIGNS)}\n].*+"
"""Pattern of what may be a text without quotes, if there is neither `: ` nor ` #` in it, nor a colon at its end."""
_LINE = re.compile(
    rf"( *)({PLAIN_KEY}:|-)"  # indent, then a key or a dash
    rf"(?: ({PLAIN_TEXT})|(.*))\n"  # a plain text, or the rest of the line
    r"|(.*)\n",  # anything else
    re.ASCII,
)
_ITEM = r"\"[^\"\\\n]+\"|'[^'\n]+'|[A-Za-z0-9_][\w./+-]*(?: +[\w./+-]+)*"
_FLOW_LIST = re.compile(rf"\[ *(?:{_ITEM})(?: *, *(?:{_ITEM}))* *\]", re.ASCII)
_FLOW_ITEM = re.compile(_ITEM, re.ASCII)
_NEXT_CHILD = re.compile(r"\n( +)[^ #\n]")
_NEXT_AT_THE_TOP = re.compile(r"\n[^ #\n]")
_BLOCK_SIGNS = frozenset({">", "|", ">-", "|-"})
_ORDINARY = bytes((ord("\n"), *range(32, 127)))
_ESCAPE = re.compile(r"\\(.)")
_MAX_LINES = 500
"""Well below the number of values at which the full parser draws the line."""


def parse_plain_yaml(text: str) -> YamlMap | None:
    """Return the map that `text` means, or None if it is not plain enough to be sure."""
    if not find_odd(text.encode()).decode().isprintable() or not text.endswith("\n") or text.count("\n") > _MAX_LINES:
        return None
    result: YamlMap = {}
    going = ""  # The key at the top level whose plain text may go on in the next line.
    parent = ""  # The key at the top level that has no value yet, or a list or map that may go on.
    child_indent: str | None = None
    child = ""  # The same below the parent.
    grandchild_indent: str | None = None
    skip = 0  # Lines of a block text that were read with its first.
    for number, (indent, sign, plain, rest, other) in enumerate(_LINE.findall(text)):
        if skip:
            skip -= 1
            continue
        if not plain and (not sign or (rest and rest[0] != " ")):
            line = other or f"{indent}{sign}{rest}"
            content = line.strip(" ")
            if not content or content[0] == "#":
                going = ""
                continue
            if line[0] != " " or content[0] in (_SIGNS_OF_OTHERS if going else _SIGNS) or not _is_plain(content):
                return None
            if going:
                result[going] = f"{result[going]} {content}"
            elif parent and child_indent is None:
                result[parent] = content
                going, parent = parent, ""
            else:
                return None
            continue
        value = _parse_value(plain or rest)
        if value is None and not indent and sign != "-":
            value, skip = _parse_block(text, number, rest.strip(" "))
        if value is None:
            return None
        if not indent and sign != "-":
            key = sign[:-1]
            if key in result:
                return None
            result[key] = value
            going, parent, child_indent, child = (key if plain else ""), ("" if value else key), None, ""
            continue
        key, going = sign[:-1], ""
        if child and child_indent is not None and len(indent) > len(child_indent):
            family = result[parent]
            if not (value and grandchild_indent in (None, indent) and _add(family, child, key, value)):
                return None
            grandchild_indent = indent
        elif parent and (value or key) and child_indent in (None, indent) and _add(result, parent, key, value):
            child_indent, child, grandchild_indent = indent, ("" if value else key), None
        else:
            return None
    return result


def find_plain_key(text: str, key: str, below: str = "") -> tuple[int, int] | None:
    """Return line and column, counted from 0, of a key at the top of a text that `parse_plain_yaml` has read.

    With `below`, that of a key in the map that the first one has. In such a text nothing else that begins a line at the
    top, or in a map, looks like a key.
    """
    lines = f"\n{text}"
    start = lines.find(f"\n{key}:")
    if start < 0 or not below:
        return (lines.count("\n", 0, start), 0) if start >= 0 else None
    end = _NEXT_AT_THE_TOP.search(lines, start + 1)
    child = _NEXT_CHILD.search(lines, start + 1, end.start() if end else len(lines))
    if child is None:
        return None
    at = lines.find(f"\n{child[1]}{below}:", child.start(), end.start() if end else len(lines))
    return (lines.count("\n", 0, at), len(child[1])) if at >= 0 else None


def find_odd(raw: bytes) -> bytes:
    """Return what of a text in UTF-8 is neither line breaks nor visible ASCII."""
    return raw.translate(None, _ORDINARY)


def _is_plain(text: str) -> bool:
    """Whether a text without blanks at its end means no more than itself."""
    return ": " not in text and " #" not in text and text[-1] != ":"


def _parse_value(text: str) -> YamlValue | None:
    """Return what stands behind a key or a dash: nothing, a plain text, one in quotes, or a list; None if neither."""
    text = text.strip(" ")
    if not text:
        return ""
    if text[0] in "\"'":
        return parse_quoted(text)
    if text[0] == "[":
        return _parse_list(text)
    return text if text[0] not in _SIGNS and _is_plain(text) else None


def _parse_list(text: str) -> YamlValue | None:
    """Return the items of a list in brackets, each of which is a few words or a text in quotes."""
    if not _FLOW_LIST.fullmatch(text):
        return None
    return [item[1:-1] if item[0] in "\"'" else item for item in _FLOW_ITEM.findall(text)]


def parse_quoted(text: str) -> str | None:
    """Return what a text in quotes means; None if it is empty, does not end where it should, or has rare escapes."""
    quote, inner = text[0], text[1:-1]
    if not inner or text[-1] != quote:
        return None
    if quote == "'":
        return None if "'" in inner.replace("''", "") else inner.replace("''", "'")
    if "\\" not in inner:
        return None if '"' in inner else inner
    bare = inner.replace("\\\\", "").replace('\\"', "")
    return None if "\\" in bare or '"' in bare else _ESCAPE.sub(r"\1", inner)


def _parse_block(text: str, number: int, sign: str) -> tuple[str | None, int]:
    """Return a block text and its number of lines; None if they are not indented alike, or a blank one follows."""
    if sign not in _BLOCK_SIGNS:
        return None, 0
    lines = text.split("\n")[number + 1 : -1]
    first = lines[0] if lines else ""
    width = len(first) - len(first.lstrip(" "))
    count = 0
    for line in lines:
        if not line.strip(" ") or (line[0] == " " and len(line) - len(line.lstrip(" ")) != width):
            return None, 0
        if line[0] != " ":
            break
        count += 1
    if not width:
        return None, 0
    joined = (" " if sign[0] == ">" else "\n").join(line[width:] for line in lines[:count])
    return joined + ("" if sign.endswith("-") else "\n"), count


def _add(result: YamlValue, parent: str, key: str, value: YamlValue) -> bool:
    """Add a line to the list or map below `parent`; say whether it belongs there."""
    if not isinstance(result, dict):
        return False
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
