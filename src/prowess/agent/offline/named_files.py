"""Which files of a skill its instructions name for reading.

Files count where they stand in backticks, in links, or plainly under a customary folder; those in code are examples.
Where a list follows a sentence that asks for each of its paths or files, what its items begin with is taken to the
letter, whatever it is: whether it may be read is for the tool to say.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from prowess.agent.offline.customary_folders import READ_FOLDERS, is_script
from prowess.agent.offline.markdown_blocks import CODE_SPAN, Block, Kind

__all__ = ["NamedFile", "find_named_files", "match_file"]

_LINK = re.compile(r"\[[^\[\]\n]*\]\(<?([^()<>\s]+)>?(?:\s+\"[^\"\n]*\")?\)")
_BARE = re.compile(rf"(?<![\w/.-])(?:\./)?(?:{'|'.join(READ_FOLDERS)})/[\w./-]{{0,200}}\w\.\w{{1,8}}\b")
_FILE = re.compile(r"(?:\./)?(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,7}")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:ask|fetch|load|open|read|request|try)\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:all|each|every|following|these|those)\b", re.IGNORECASE)
_PATHS = re.compile(r"\b(?:documents?|files?|paths?|references?|resources?)\b", re.IGNORECASE)
_LEADING = re.compile(r"(?:\[[ xX]\]\s+)?(?:\*\*|__)?`([^`\n]+)`")
_EMPTY = re.compile(r"(?:an|the)?\s*empty\s+(?:file name|name|path|string|text)\b", re.IGNORECASE)
_OWN = "SKILL.md"
_MAX_PATH = 300
_MAX_NAMED = 200
"""Files, and further words in backticks beside each."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that instructions name."""

    path: str
    hints: tuple[str, ...] = ()
    """What else stands in backticks beside it, which may be what is looked for in it."""
    step: int | None = None


def find_named_files(blocks: Iterable[Block], *, files: Sequence[str] | None = None) -> tuple[NamedFile, ...]:
    """Return the files that are named, each once, in the order of the text; `files` are all that the skill has."""
    found: dict[str, NamedFile] = {}
    for block in blocks:
        if len(found) >= _MAX_NAMED:
            break
        for file in _find_in_block(block, files):
            known = found.get(file.path)
            if known is None:
                found[file.path] = file
            elif len(known.hints) < _MAX_NAMED:
                found[file.path] = replace(known, hints=tuple(dict.fromkeys((*known.hints, *file.hints))))
    return tuple(found.values())


def match_file(asked: str, *, known: Iterable[str]) -> str:
    """Return the one known path that somebody means by a path or a bare name; empty if there is none such."""
    path = asked.removeprefix("./")
    paths = tuple(dict.fromkeys(known))
    if path in paths:
        return path
    ends = [one for one in paths if one.rsplit("/", 1)[-1] == path]
    return ends[0] if len(ends) == 1 else ""


def _find_in_block(block: Block, files: Sequence[str] | None) -> Iterator[NamedFile]:
    if block.kind is Kind.CODE:
        return
    paths = list(_asked_in_list(block)) or list(_mentioned(block.text, files))
    spans = [span.strip() for span in CODE_SPAN.findall(block.text)]
    hints = tuple(dict.fromkeys(span for span in spans if span not in paths and " " not in span))
    for path in paths:
        yield NamedFile(path, hints, block.step)


def _asked_in_list(block: Block) -> Iterator[str]:
    """Return the path that an item begins with, if its list was to be asked for one by one."""
    if block.kind is not Kind.ITEM or not _calls_for_each(block.intro):
        return
    leading = _LEADING.match(block.text)
    if leading is not None:
        if not is_script(leading[1]):
            yield leading[1]
    elif _EMPTY.match(block.text):
        yield ""


def _calls_for_each(intro: str) -> bool:
    return all(pattern.search(intro) for pattern in (_ASKS, _EACH, _PATHS))


def _mentioned(text: str, files: Sequence[str] | None) -> Iterator[str]:
    without_spans = CODE_SPAN.sub(_blank, text)
    places = [(span.start(), span[1].strip()) for span in CODE_SPAN.finditer(text)]
    places += [(link.start(), link[1].split("#", 1)[0]) for link in _LINK.finditer(text) if not _ADDRESS.match(link[1])]
    places += [(bare.start(), bare[0]) for bare in _BARE.finditer(_LINK.sub(_blank, without_spans))]
    for _, path in sorted(places):
        if _is_file(path, files):
            yield path.removeprefix("./")


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _is_file(path: str, files: Sequence[str] | None) -> bool:
    """Whether a text is the path of a file that the skill has, or would have if its author has not erred."""
    plain = path.removeprefix("./")
    if plain == _OWN or len(path) > _MAX_PATH or is_script(plain) or not _FILE.fullmatch(path):
        return False
    if files is not None and plain in files:
        return True
    return "/" in plain and plain.split("/", 1)[0] in READ_FOLDERS
