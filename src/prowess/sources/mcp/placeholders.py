"""Placeholders: what lies in a mirror for a skill that a server has listed and nobody has used yet.

The skills extension forbids to fetch files ahead of need, and its lists carry the whole frontmatter. So a placeholder
is a SKILL.md with that frontmatter alone, which a search reads like any other. Its last line tells it from the skill.
"""

import re
from collections.abc import Mapping
from typing import Any

from prowess.policy import SourceKind
from prowess.skill.frontmatter import MAX_FRONTMATTER_BYTES
from prowess.skill.skill import Skill

__all__ = ["MARK", "PLACEHOLDER_END", "is_placeholder", "render_placeholder"]

MARK = "# This skill is fetched from its MCP server when it is used."
PLACEHOLDER_END = f"\n{MARK}\n---\n".encode()
_ODD = re.compile("[^\t\n\r -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML takes for line breaks, or not at all."""
_MAX_KEY = 200


def is_placeholder(skill: Skill) -> bool:
    """Whether a skill was found as a placeholder; its files may have been fetched since."""
    return skill.kind is SourceKind.MCP and skill.manifest.text.rstrip("\n").endswith(MARK)


def render_placeholder(frontmatter: Mapping[str, Any]) -> bytes | None:
    """Return the SKILL.md with this frontmatter; None if it cannot be written as such."""
    if any(len(key) > _MAX_KEY for key in frontmatter):
        return None
    try:
        lines = [f"{_write(key)}: {_write(value)}" for key, value in frontmatter.items()]
        whole = "\n".join(["---", *lines, MARK, "---", ""]).encode()
    except (ValueError, RecursionError):
        return None
    return whole if len(whole) <= MAX_FRONTMATTER_BYTES else None


def _write(value: Any) -> str:
    """Write JSON, which is YAML too but for a few characters."""
    import json  # By those who fill mirrors only.

    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()  # Half a character has no place in YAML, however it is written.
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
