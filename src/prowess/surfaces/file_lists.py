"""The files of a skill as people see them before they agree: the tree, and what has changed in it, line by line."""

from collections.abc import Sequence

from prowess.runtime.changed_texts import TextChange
from prowess.skill.digest import FileKind, SkillFile
from prowess.sources.source import show_bytes
from prowess.surfaces.differences import LineKind, compare_texts
from prowess.surfaces.tones import Line, Tone

__all__ = ["render_diff", "render_tree"]

_MAX_LISTED = 20
"""Files of a tree."""
_MAX_TREE_LINES = 60
_SIZE_WIDTH = 9
_KINDS = {FileKind.FILE: "", FileKind.EXECUTABLE: "  (executable)", FileKind.LINK: "  (link)"}
_MARKS = {LineKind.CONTEXT: " ", LineKind.ADDED: "+", LineKind.REMOVED: "-", LineKind.GAP: ""}
_TONES = {
    LineKind.CONTEXT: Tone.PLAIN,
    LineKind.ADDED: Tone.GOOD,
    LineKind.REMOVED: Tone.BAD,
    LineKind.GAP: Tone.DIM,
}


def render_tree(files: Sequence[SkillFile]) -> list[Line]:
    """Return a line for each file, with its size, and one for each folder; the cut shows if there are too many."""
    lines: list[Line] = []
    above: list[bytes] = []
    listed = 0
    for file in files[:_MAX_LISTED]:
        *folders, name = file.path.split(b"/")
        common = _count_common(above, folders)
        if len(lines) + len(folders) - common >= _MAX_TREE_LINES:
            break
        lines += [_row("", depth, f"{show_bytes(folders[depth])}/") for depth in range(common, len(folders))]
        lines.append(_row(f"{file.size:,}", len(folders), show_bytes(name) + _KINDS[file.kind]))
        above = folders
        listed += 1
    if listed < len(files):
        lines.append(Line(f"    … and {len(files) - listed:,} more"))
    return lines


def _row(size: str, depth: int, name: str) -> Line:
    return Line(f"    {size:>{_SIZE_WIDTH}}  {'  ' * depth}{name}")


def _count_common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (here, there) in pairs if here != there), min(len(one), len(other)))


def render_diff(change: TextChange, *, most_lines: int) -> list[Line]:
    """Return what has changed in a file as a unified diff; the cut shows if it is long."""
    found = compare_texts(change, most_lines=most_lines)
    if found.remark:
        is_empty = not change.before and not change.after
        return [Line(f"    {found.remark}", Tone.DIM if is_empty else Tone.DOUBTFUL)]
    shown = [Line(f"    {_MARKS[line.kind]}{line.text}", _TONES[line.kind]) for line in found.lines]
    if found.more:
        shown.append(Line(f"    … and {found.more:,} more lines of difference", Tone.DOUBTFUL))
    return shown
