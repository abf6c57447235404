"""The catalog, read back from what a model is told of it: XML, JSON or Markdown."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

__all__ = ["Entry", "parse_catalog", "parse_gone"]

_XML = re.compile(r"<skill>\s*<name>([^<]*)</name>\s*(?:<description>([^<]*)</description>)?")
_JSON = re.compile(r'\{\s*"available_skills":')
_MARKDOWN = re.compile(r"- \*\*((?:\\.|[^\\*\n])+)\*\*(?:: (.*?))?(?: \((`+)(?!`).*?(?<!`)\3(?:, from [^`)]*)?\))?\Z")
_MARKDOWN_TITLE = "## Available Skills"
_MAX_LISTS = 10
_MAX_ROW = 20_000
"""Characters of a row that is looked at."""
_ESCAPE = re.compile(r"\\(.)")
_GONE = re.compile(r"^No longer available: (.+)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A skill as the catalog shows it."""

    name: str
    description: str = ""
    """Empty where only the name is shown."""


def parse_catalog(text: str) -> tuple[Entry, ...]:
    """Return the skills that a text lists, in its order, in whatever form it does."""
    return tuple({entry.name: entry for entry in _find_entries(text) if entry.name}.values())


def _find_entries(text: str) -> Iterator[Entry]:
    for found in _XML.finditer(text):
        yield Entry(html.unescape(found[1]), html.unescape(found[2] or ""))
    for found in islice(_JSON.finditer(text), _MAX_LISTS):
        yield from _read_json(text, found.start())
    _, title, rows = text.partition(_MARKDOWN_TITLE)
    for row in rows.split("\n") if title else ():
        if len(row) <= _MAX_ROW and (found := _MARKDOWN.match(row)):
            yield Entry(_ESCAPE.sub(r"\1", found[1]), _ESCAPE.sub(r"\1", found[2] or ""))


def _read_json(text: str, start: int) -> Iterator[Entry]:
    try:
        value = cast("dict[str, Any]", json.JSONDecoder().raw_decode(text, start)[0])
    except (ValueError, RecursionError):
        return
    rows = value.get("available_skills")
    for row in cast("list[object]", rows) if isinstance(rows, list) else ():
        if isinstance(row, dict):
            fields = cast("dict[str, object]", row)
            name, description = fields.get("name"), fields.get("description", "")
            if isinstance(name, str) and isinstance(description, str):
                # JSON can spell half a character, which no text can hold.
                yield Entry(*(text.encode("utf-8", "replace").decode() for text in (name, description)))


def parse_gone(text: str) -> tuple[str, ...]:
    """Return the names that a change of the catalog gives as no longer available."""
    return tuple(html.unescape(name) for found in _GONE.finditer(text) for name in found[1].split(", "))
