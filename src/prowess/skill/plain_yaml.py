"""A short cut through the plain YAML that most frontmatter is made of.

`parse_plain_yaml` answers only where it is certain to agree with `bounded_yaml`, and declines everything else: comments
after a value, rare escapes, flow collections, two levels of nesting, doubled keys. It takes a fraction of the time of a
full parser, which decides how fast a thousand skills are found. A differential test holds the two together.
"""

import re

from prowess.skill.yaml_values import YamlMap

__all__ = ["parse_plain_yaml"]

_SIGNS = " -?:,[]{}#&*!|>'\"%@`"
"""What cannot begin a plain text, or only under conditions."""
_LINE = re.compile(
    r"^(?: *(?:#.*)?|"  # blank, or a comment
    r"( *)(?:(- +)|([A-Za-z_][\w-]{0,63}):(?: +|$))"  # indent, then a dash or a key
    rf"(?:([^{re.escape(_SIGNS)}\n].*)|([\"'].+)|([>|]-?) *|)|"  # a plain text, one in quotes, a block's sign, nothing
    r"(.+))$",  # anything else
    re.MULTILINE | re.ASCII,
)
_ORDINARY = bytes((ord("\n"), *range(32, 127)))
_ESCAPE = re.compile(r"\\(.)")
_MAX_LINES = 500
"""Well below the number of values at which the full parser draws the line."""


def parse_plain_yaml(text: str) -> YamlMap | None:
    """Return the map that `text` means, or None if it is not plain enough to be sure."""
    if not _is_printable(text) or not text.endswith("\n") or text.count("\n") > _MAX_LINES:
        return None
    result: YamlMap = {}
    last_key = ""  # At the top level.
    is_open = False  # It has no value yet.
    child_indent: str | None = None
    skip = 0  # Lines of a block text that were read with its first.
    rows = _LINE.findall(text, 0, len(text) - 1)  # Without the last break, after which there is no line.
    for number, (indent, dash, key, plain, quoted, block, other) in enumerate(rows):
        if skip:
            skip -= 1
            continue
        if plain:
            value = plain if plain[-1] != " " else plain.rstrip(" ")
            if ": " in value or " #" in value or value[-1] == ":":
                return None
        elif quoted:
            value = _parse_quoted(quoted)
        elif block and not indent and key:
            value, skip = _parse_block(text, number, block)
        elif other:
            if not _go_on(result, last_key, other):
                return None
            continue
        elif key or dash:
            value = None if block else ""
        else:
            last_key, is_open = (last_key, True) if is_open else ("", False)
            continue
        if value is None:
            return None
        if key and not indent:
            if key in result:
                return None
            result[key] = value
            last_key, is_open, child_indent = (key if plain or not value else ""), not value, None
        elif not (is_open and value and child_indent in (None, indent) and _add(result, last_key, key, value)):
            return None
        else:
            child_indent = indent
    return result


def _is_printable(text: str) -> bool:
    """Whether the text has nothing but line breaks and what can be seen."""
    return text.encode().translate(None, _ORDINARY).decode().isprintable()


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


def _parse_block(text: str, number: int, sign: str) -> tuple[str | None, int]:
    """Return a block text and its number of lines; None if they are not indented alike, or a blank one follows."""
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


def _go_on(result: YamlMap, key: str, line: str) -> bool:
    """Add a line to the plain text before it, if it goes on there; say whether it does."""
    before = result.get(key)
    content = line.strip(" ")
    if not isinstance(before, str) or not before or line[0] != " " or content[0] in _SIGNS:
        return False
    if ": " in content or " #" in content or content[-1] == ":":
        return False
    result[key] = f"{before} {content}"
    return True


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
