"""The first paragraph of instructions, which some policies take for a description."""

import re

__all__ = ["find_first_paragraph"]

_NOT_PROSE = re.compile(r"[#`|<>*\-+=~]|\d+[.)]\s")
_ENDS_PROSE = re.compile(r"#{1,6}\s|[*\-+]\s|\d+[.)]\s|[>|]|```|~~~")
"""What in the middle of a text begins something else: fewer signs than at its beginning, for lines break anywhere."""
_UNDERLINE = re.compile(r"(?:=+|-+)")


def find_first_paragraph(text: str) -> str:
    """Return the first lines that are neither a heading, a list, a quotation, a table nor code, on one line."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        stripped = line.strip()
        if lines and _UNDERLINE.fullmatch(stripped):
            lines.clear()  # It was a heading.
        elif lines and (not stripped or _ENDS_PROSE.match(stripped)):
            break
        elif stripped.startswith(("```", "~~~")):
            in_code = not in_code
        elif stripped and not in_code and (lines or not _NOT_PROSE.match(stripped)):
            lines.append(stripped)
    return " ".join(lines)
