"""The short cut for the many skills in which there is nothing to find fault with.

`read_faultless` answers only if no policy could complain; anything unusual is left to `reading`, which can say what
it is. A test reads every document both ways.
"""

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
from prowess.skill.plain_yaml import parse_plain_yaml
from prowess.skill.tool_patterns import split_plain_patterns
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = ["read_faultless"]

_STANDARD = frozenset(STANDARD_FIELDS)


def read_faultless(head: bytes, folder: str) -> Manifest | None:
    """Return the manifest if it is plain that no policy could find fault with it, else None."""
    text = split_plain_frontmatter(head)
    fields = parse_plain_yaml(text) if text else None  # Which lets only printable texts pass.
    if text is None or fields is None or not fields.keys() <= _STANDARD or " #" in text or not is_harmless(text):
        return None
    get = fields.get
    description, licence, compatibility, tools = get("description"), get("license"), get("compatibility"), None
    if get("name") != folder or len(folder) > MAX_NAME_LENGTH or not is_standard_name(folder):
        return None
    if not _is_tidy(licence) or not _is_tidy(compatibility) or not isinstance(description, str):
        return None
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
