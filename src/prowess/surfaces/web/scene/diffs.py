"""Changed files as the page shows them: unified diffs as plain data, within bounds."""

from collections.abc import Sequence
from typing import Any

from prowess.runtime.changed_texts import TextChange
from prowess.surfaces.differences import compare_texts

__all__ = ["make_diffs"]

_MAX_LINES = 2_000
"""Of all files together; what is cut is said."""
_MAX_FILE_LINES = 400


def make_diffs(texts: Sequence[TextChange]) -> list[dict[str, Any]]:
    """Return a diff for each file: `path`, `lines` of `kind` and `text`, and whether it is `truncated`.

    Files for which there is no room are left out; the question lists them as not compared.
    """
    diffs: list[dict[str, Any]] = []
    left = _MAX_LINES
    for change in texts:
        if left <= 0:
            break
        diff = _make_diff(change, most_lines=min(left, _MAX_FILE_LINES))
        left -= len(diff["lines"])
        diffs.append(diff)
    return diffs


def _make_diff(change: TextChange, *, most_lines: int) -> dict[str, Any]:
    found = compare_texts(change, most_lines=most_lines)
    lines = [{"kind": line.kind.value, "text": line.text} for line in found.lines]
    if found.remark:
        lines = [{"kind": "gap", "text": found.remark}]
    if found.more:
        lines.append({"kind": "gap", "text": f"… and {found.more:,} more lines of difference"})
    return {"path": change.path, "lines": lines, "truncated": bool(found.more)}
