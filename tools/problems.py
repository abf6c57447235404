"""Make docs/problems.md: every Problem that Prowess can find, why it is one, and what to do.

python tools/problems.py            write the page
python tools/problems.py --check    fail if the page is stale
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Started as a script, or imported by a test.

from prowess.skill.problems import KINDS, Kind
from tools.pages import write_or_check

__all__ = ["GROUPS", "render_page"]

GROUPS: dict[str, str] = {
    "skill-md-missing": "The file",
    "no-frontmatter": "The fences",
    "yaml-invalid": "YAML",
    "name-missing": "Fields",
    "invisible-characters": "What could deceive",
    "body-not-utf-8": "The body and the files",
    "evals-unusable": "Trigger tests",
    "source-missing": "The source",
    "mcp-unreachable": "Skills from MCP servers",
}
"""From the first code of a group, in the order of the table, to its title."""

_HEAD = """# Problems

<!-- Made by tools/problems.py from prowess.skill.problems; do not edit. -->

A Problem is a fault in a skill or its source. Its code is stable. An error keeps the skill from loading; how bad a
Problem is can depend on whether skills are read forgivingly, as most profiles do, or strictly, as `prowess validate
--strict` does.
"""


def render_page() -> str:
    """Return the page: a heading for each group and for each code."""
    parts = [_HEAD]
    for code, kind in KINDS.items():
        if code in GROUPS:
            parts.append(f"## {GROUPS[code]}\n")
        parts.append(_render_kind(code, kind))
    return "\n".join(parts)


def _render_kind(code: str, kind: Kind) -> str:
    return (
        f"### {code}\n\n{kind.what} {kind.why}\n\n"
        f"To mend it: {kind.remedy}.\n\n"
        f"Forgiving: {kind.lenient}. Strict: {kind.strict}.\n"
    )


if __name__ == "__main__":
    sys.exit(write_or_check({"problems.md": render_page()}, tool="problems.py"))
