"""The catalog as a model reads it: names and descriptions, never instructions.

A form writes one entry at a time, so that a planner can tell what each would cost.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prowess.policy import CatalogText
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD
from prowess.sources.source import show_path

__all__ = ["FORMS", "Form", "render_catalog"]

_BACKTICKS = re.compile("`+")
_DOUBLE_HYPHEN = re.compile("-(?=-)")
"""What no XML comment may hold."""
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a catalog."""

    opening: str
    closing: str
    separator: str
    entry: Callable[[Skill, str | None], str]
    """From a skill and the description to show, None for its name alone."""
    note: Callable[[str], str]
    """From a remark on the whole to the closing that holds it."""
    locate: Callable[[Skill], str]
    """From a skill to the location that is shown; empty where none is."""


def render_catalog(entries: Iterable[tuple[Skill, str | None]], form: CatalogText, *, remark: str = "") -> str:
    """Return the skills as text, in the given order; empty if there are none and nothing is to be remarked."""
    chosen = FORMS[form]
    parts = [chosen.entry(skill, description) for skill, description in entries]
    if not parts:
        return f"{chosen.opening.rstrip()}\n{chosen.note(remark).lstrip()}" if remark else ""
    return chosen.opening + chosen.separator.join(parts) + (chosen.note(remark) if remark else chosen.closing)


def _xml_entry(skill: Skill, description: str | None) -> str:
    return (
        f"<skill>\n<name>{_escaped(skill.name)}</name>\n{_xml_description(description)}{_xml_origin(skill)}</skill>\n"
    )


def _xml_entry_with_location(skill: Skill, description: str | None) -> str:
    name, location = _escaped(skill.name), _escaped(_location(skill))
    text = _xml_description(description)
    return f"<skill>\n<name>{name}</name>\n{text}<location>{location}</location>\n{_xml_origin(skill)}</skill>\n"


def _xml_description(description: str | None) -> str:
    return "" if description is None else f"<description>{_escaped(description)}</description>\n"


def _xml_origin(skill: Skill) -> str:
    """Name the server of a skill that comes from one: its words are not the user's."""
    return f"<origin>MCP server {skill.server}</origin>\n" if skill.server else ""


def _xml_note(remark: str) -> str:
    """A comment: whoever parses the block still finds skills and nothing else."""
    return f"<!-- {_DOUBLE_HYPHEN.sub('- ', remark)} -->\n</available_skills>"


def _json_entry(skill: Skill, description: str | None) -> str:
    row = {"name": skill.name} | ({} if description is None else {"description": description})
    row |= {"origin": f"MCP server {skill.server}"} if skill.server else {}
    lines = json.dumps(row, ensure_ascii=False, indent=2).split("\n")
    return "\n".join(f"    {line}" for line in lines)


def _json_note(remark: str) -> str:
    return f'\n  ],\n  "more": {json.dumps(remark, ensure_ascii=False)}\n}}'


def _markdown_entry(skill: Skill, description: str | None) -> str:
    text = "" if description is None else f": {_inline(description)}"
    origin = f", from the MCP server {skill.server}" if skill.server else ""
    return f"- **{_inline(skill.name)}**{text} ({_code(_location(skill))}{origin})"


def _markdown_note(remark: str) -> str:
    return f"\n\n{remark}"


def _location(skill: Skill) -> str:
    return show_path(os.path.join(skill.folder, SKILL_MD))


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)


def _inline(text: str) -> str:
    """Keep a text from starting Markdown of its own."""
    for sign in "\\`*_[]<>":
        text = text.replace(sign, f"\\{sign}")
    return text


def _code(text: str) -> str:
    """Write a text as code, to the letter: with a longer fence than any row of backticks in it."""
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, _BACKTICKS.findall(text))) + 1)
    margin = " " if "`" in (text[0], text[-1]) else ""
    return f"{fence}{margin}{text}{margin}{fence}"


def _nowhere(skill: Skill) -> str:  # noqa: ARG001 - of the same shape as `_location`
    return ""


_XML_FRAME = ("<available_skills>\n", "</available_skills>", "")
FORMS: dict[CatalogText, Form] = {
    CatalogText.XML: Form(*_XML_FRAME, _xml_entry, _xml_note, _nowhere),
    CatalogText.XML_WITH_LOCATION: Form(*_XML_FRAME, _xml_entry_with_location, _xml_note, _location),
    CatalogText.JSON: Form('{\n  "available_skills": [\n', "\n  ]\n}", ",\n", _json_entry, _json_note, _nowhere),
    CatalogText.MARKDOWN: Form("## Available Skills\n\n", "", "\n", _markdown_entry, _markdown_note, _location),
}
