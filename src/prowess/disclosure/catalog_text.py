"""The catalog as a model reads it: names and descriptions, never instructions, and nothing at all for an empty view."""

import json
import os
from collections.abc import Callable, Sequence

from prowess.catalog.views import View
from prowess.policy import CatalogText
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD
from prowess.sources.source import show_path

__all__ = ["render_catalog"]

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


def render_catalog(view: View, form: CatalogText) -> str:
    """Return the visible skills as text, in the view's order; empty if there are none."""
    return _RENDERERS[form](view) if view.visible else ""


def _render_xml(view: View) -> str:
    return _xml(view, locations=False)


def _render_xml_with_location(view: View) -> str:
    return _xml(view, locations=True)


def _xml(view: View, *, locations: bool) -> str:
    lines = ["<available_skills>"]
    for skill in view.visible:
        lines += ["<skill>", f"<name>{_escaped(skill.name)}</name>"]
        if skill.id not in view.name_only:
            lines.append(f"<description>{_escaped(skill.description)}</description>")
        if locations:
            lines.append(f"<location>{_escaped(_location(skill))}</location>")
        lines.append("</skill>")
    return "\n".join([*lines, "</available_skills>"])


def _render_json(view: View) -> str:
    rows = [
        {"name": skill.name} | ({} if skill.id in view.name_only else {"description": skill.description})
        for skill in view.visible
    ]
    return json.dumps({"available_skills": rows}, ensure_ascii=False, indent=2)


def _render_markdown(view: View) -> str:
    lines: Sequence[str] = [
        f"- **{_inline(skill.name)}**"
        + ("" if skill.id in view.name_only else f": {_inline(skill.description)}")
        + f" (`{_location(skill).replace('`', '')}`)"
        for skill in view.visible
    ]
    return "\n".join(["## Available Skills", "", *lines])


def _location(skill: Skill) -> str:
    return show_path(os.path.join(skill.folder, SKILL_MD))


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)


def _inline(text: str) -> str:
    """Keep a text from starting Markdown of its own."""
    for sign in "\\`*_[]<>":
        text = text.replace(sign, f"\\{sign}")
    return text


_RENDERERS: dict[CatalogText, Callable[[View], str]] = {
    CatalogText.XML: _render_xml,
    CatalogText.XML_WITH_LOCATION: _render_xml_with_location,
    CatalogText.JSON: _render_json,
    CatalogText.MARKDOWN: _render_markdown,
}
