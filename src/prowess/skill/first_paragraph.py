"""The first paragraph of instructions, which some policies take for a description."""

import re

__all__ = ["find_first_paragraph"]

_NOT_PROSE = re.compile(r"[#`|<>*\-+=~]|\d+[.)]\s")


def find_first_paragraph(text: str) -> str:
    """Return the first lines that are neither a heading, a list, a quotation, a table nor code, on one line."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            in_code = not in_code
        elif stripped and not in_code and (lines or not _NOT_PROSE.match(stripped)):
            lines.append(stripped)
        elif lines:
            break
    return " ".join(lines)
