"""Change one table of a TOML document as text: whatever else stands in it, comments included, stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["TextFault", "parse_toml", "remove_toml_table", "set_toml_table"]

_ANY_HEADER = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)


class TextFault(ValueError):
    """The text is not what it should be, or cannot be changed without touching more than is wanted."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return what the document holds; raise `TextFault` if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TextFault(str(error)) from None


def set_toml_table(text: str, table: str, key: str, value: Mapping[str, Any]) -> str:
    """Return the text with a table of a table set."""
    rendered = _render(f"{table}.{_render_key(key)}", value)
    span = _find_span(text, table, key)
    if span is not None:
        begin, end = span
        rest = text[end:]
        is_apart = not rest.strip() or rest.startswith(("\n", "\r\n"))
        return text[:begin] + rendered + ("" if is_apart else "\n") + rest
    lead = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{lead}\n{rendered}" if lead.strip() else rendered


def remove_toml_table(text: str, table: str, key: str) -> str:
    """Return the text without a table of a table, and what lies below it; as it is, if there is none."""
    span = _find_span(text, table, key)
    if span is None:
        return text
    begin, end = span
    before, after = text[:begin], text[end:]
    return before.removesuffix("\n") + after if not after.strip() and before.endswith("\n\n") else before + after


def _find_span(text: str, table: str, key: str) -> tuple[int, int] | None:
    """Return where the lines of a table begin and end, with those of the tables below it."""
    above = r"[ \t]*\.[ \t]*".join(map(re.escape, table.split(".")))
    names = rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"
    own = re.compile(rf"^[ \t]*\[[ \t]*{above}[ \t]*\.[ \t]*{names}[ \t]*(?:\.[^\]]*)?\][^\n]*$", re.MULTILINE)
    first = own.search(text)
    if first is None:
        return None
    end = len(text)
    for header in _ANY_HEADER.finditer(text, first.end()):
        if own.match(text, header.start()) is None:
            end = header.start()
            break
    return first.start(), _leave_comments(text, first.end(), end)


def _leave_comments(text: str, begin: int, end: int) -> int:
    """Return an end before the comments that stand over the next table."""
    if end == len(text):
        return end
    lines = text[begin:end].split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    kept = begin + len("\n".join(lines)) + 1
    return min(kept, end)


def _render(header: str, value: Mapping[str, Any]) -> str:
    plain = {key: one for key, one in value.items() if not isinstance(one, Mapping)}
    tables = {key: cast("Mapping[str, Any]", one) for key, one in value.items() if isinstance(one, Mapping)}
    lines = [f"[{header}]", *(f"{_render_key(key)} = {_render_value(one)}" for key, one in plain.items())]
    text = "\n".join(lines) + "\n"
    return text + "".join(f"\n{_render(f'{header}.{_render_key(key)}', one)}" for key, one in tables.items())


def _render_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _render_value(key)


def _render_value(value: Any) -> str:
    """Return a text, or a list of texts; what JSON escapes, TOML escapes in the same way, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
