"""The short cut for the many skills in which there is nothing to find fault with.

`read_faultless` answers only if no policy could complain; anything unusual is left to `reading`, which can say what
it is. A test reads every document both ways.
"""

import re
from typing import TypeGuard

from prowess.skill.deception import is_harmless
from prowess.skill.dialects import METADATA_KEYS, NO_ADDITIONS, Additions, read_behaviour
from prowess.skill.frontmatter import split_plain_frontmatter
from prowess.skill.manifest import (
    MAX_COMPATIBILITY_LENGTH,
    MAX_DESCRIPTION_LENGTH,
    STANDARD_FIELDS,
    Manifest,
)
from prowess.skill.names import MAX_NAME_LENGTH, is_standard_name
from prowess.skill.plain_yaml import PLAIN_KEY, PLAIN_TEXT, find_odd, parse_plain_yaml, parse_quoted
from prowess.skill.tool_patterns import split_plain_patterns
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = ["read_faultless"]

_STANDARD = frozenset(STANDARD_FIELDS)
_PLAIN = rf"({PLAIN_TEXT}(?<![ :]))"
_END = r"\n(?:#.*\n)*+"
_NOTES = rf"(?:  {PLAIN_KEY}: (?:(?!.*:){PLAIN_TEXT}|\"[^\"\\\n]+\"|'[^'\n]+')\n){{1,32}}"
"""What an author notes is short; a colon in it is left to others."""
_USUAL = re.compile(
    rf"name: ([a-z0-9]+(?:-[a-z0-9]+)*){_END}"
    rf"description: (?:{_PLAIN}|([\"'].++)|([>|])-?\n(  [^ \n].*+(?:\n  [^ \n].*+){{0,31}}+)){_END}"
    rf"(?:license: {_PLAIN}{_END})?(?:compatibility: {_PLAIN}{_END})?(?:allowed-tools: {_PLAIN}{_END})?"
    rf"(?:metadata:\n({_NOTES}))?",
    re.ASCII,
)
"""Most frontmatter: the standard's fields in the standard's order, each text on its line.

Nothing is given back, for a line ends where it ends: what does not match is declined at once.
"""
_NOTE = re.compile(r"  ([\w-]+):.*\n", re.ASCII)


def read_faultless(head: bytes, folder: str) -> Manifest | None:
    """Return the manifest if it is plain that no policy could find fault with it, else None."""
    raw = split_plain_frontmatter(head)
    if not raw or (b"#" in raw and b" #" in raw):  # One sign is looked for far faster than two.
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    odd = find_odd(raw).decode()  # Of what is good UTF-8, the characters beyond ASCII are too.
    if odd and not (odd.isprintable() and is_harmless(odd)):
        return None
    return _read_usual(text, folder) or _read_plain(text, folder)


def _read_usual(text: str, folder: str) -> Manifest | None:
    """Read the fields where they usually stand, at a fifth of the price; None says nothing of the others."""
    found = _USUAL.fullmatch(text)
    if found is None:
        return None
    name, plain, quoted, sign, block, licence, compatibility, tools, notes = found.groups()
    description = plain or (parse_quoted(quoted) if quoted else _join_block(block, sign))
    if description is None or not _has_length(description, MAX_DESCRIPTION_LENGTH):
        return None
    if name != folder or len(name) > MAX_NAME_LENGTH:
        return None
    if (plain and ": " in plain) or (licence and ": " in licence):
        return None
    if compatibility and (": " in compatibility or len(compatibility) > MAX_COMPATIBILITY_LENGTH):
        return None
    patterns = None
    if tools:
        patterns = split_plain_patterns(tools) if ": " not in tools else None
        if patterns is None:
            return None
    if notes:
        keys = _NOTE.findall(notes)
        if len(set(keys)) < len(keys) or not METADATA_KEYS.isdisjoint(keys):
            return None
    return Manifest(name, description, licence, compatibility, patterns, None, text)


def _join_block(block: str, sign: str) -> str:
    """Return a block text, each line of which begins with two blanks, on one line."""
    if sign == ">":
        return block[2:].replace("\n  ", " ")
    return " ".join(block.split()) if "\n" in block else block[2:]


def _read_plain(text: str, folder: str) -> Manifest | None:
    """Read the fields of plain YAML, however they stand there."""
    fields = parse_plain_yaml(text)
    if fields is None or not fields.keys() <= _STANDARD:
        return None
    get = fields.get
    description, licence, compatibility, tools = get("description"), get("license"), get("compatibility"), None
    if get("name") != folder or len(folder) > MAX_NAME_LENGTH or not is_standard_name(folder):
        return None
    if not _is_tidy(licence) or not _is_tidy(compatibility) or not isinstance(description, str):
        return None
    description = description.rstrip("\n")  # As much as a block text has at its end.
    if "\n" in description:
        description = " ".join(description.split())
    if not _has_length(description, MAX_DESCRIPTION_LENGTH) or not (
        compatibility is None or _has_length(compatibility, MAX_COMPATIBILITY_LENGTH)
    ):
        return None
    if "allowed-tools" in fields:
        given = fields["allowed-tools"]
        tools = split_plain_patterns(given) if isinstance(given, str) else None
        if tools is None:
            return None
    additions = _read_plain_metadata(fields) if "metadata" in fields else NO_ADDITIONS
    if additions is None:
        return None
    return Manifest(folder, description, licence, compatibility, tools, additions.behaviour, text)


def _is_tidy(value: YamlValue | None) -> TypeGuard[str | None]:
    """Whether a text is there to be taken as it is, or nothing is."""
    return value is None or (isinstance(value, str) and value == value.strip() and "\n" not in value)


def _has_length(text: str, limit: int) -> bool:
    """Whether a text is neither empty nor too long, and has no blanks around it that would count."""
    return 0 < len(text) <= limit and text[0] != " " and text[-1] != " "


def _read_plain_metadata(fields: YamlMap) -> Additions | None:
    """Return what metadata adds, or None if there is anything to complain of."""
    metadata = fields["metadata"]
    if not isinstance(metadata, dict):
        return None
    for item in metadata.values():
        if not isinstance(item, str):
            return None
    if METADATA_KEYS.isdisjoint(metadata):
        return NO_ADDITIONS
    additions = read_behaviour(fields, None, keys=())
    return None if additions.faults else additions
