"""The files of a skill as people see them before they agree: the tree, and what has changed in it, line by line."""

from collections.abc import Iterator, Sequence

from prowess.runtime.changed_texts import TextChange
from prowess.skill.digest import FileKind, SkillFile
from prowess.sources.source import show_bytes
from prowess.surfaces.cli.tones import Line, Tone

__all__ = ["render_diff", "render_tree"]

_MAX_LISTED = 20
"""Files of a tree."""
_MAX_TREE_LINES = 60
_MAX_COMPARED_LINES = 2_000
"""A longer text is not compared: that may take very long."""
_MAX_LINE = 400
_SIZE_WIDTH = 9
_KINDS = {FileKind.FILE: "", FileKind.EXECUTABLE: "  (executable)", FileKind.LINK: "  (link)"}
_NO_BREAK = "\\ no line break at the end"
_TONES = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.DIM}


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
    if not change.before and not change.after:
        return [Line("    an empty file", Tone.DIM)]
    if change.before == change.after:
        return [Line("    the same text; whether it is executable has changed", Tone.DOUBTFUL)]
    before, after = _split(change.before), _split(change.after)
    if max(len(before), len(after)) > _MAX_COMPARED_LINES:
        return [Line(f"    {len(before):,} lines became {len(after):,}: too many to compare", Tone.DOUBTFUL)]
    lines = list(_compare(before, after))
    shown = [Line(f"    {_shorten(line)}", _TONES.get(line[:1], Tone.PLAIN)) for line in lines[:most_lines]]
    if len(lines) > most_lines:
        shown.append(Line(f"    … and {len(lines) - most_lines:,} more lines of difference", Tone.DOUBTFUL))
    return shown


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    import difflib

    found = difflib.unified_diff(before, after, n=3, lineterm="")
    for index, line in enumerate(found):
        if index > 1:  # The first two name the files, which was done.
            yield line


def _split(text: str) -> list[str]:
    """Return the lines of a text; nothing but a line feed ends one, whatever else a line may hold."""
    if not text:
        return []
    lines = text.split("\n")
    return [*lines, _NO_BREAK] if lines[-1] else lines[:-1]


def _shorten(line: str) -> str:
    line = line.expandtabs(4)
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} … and {len(line) - _MAX_LINE:,} more characters"
