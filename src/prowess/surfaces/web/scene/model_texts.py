"""What a person is shown of the texts that a model reads: the instructions without what is wrapped around them."""

import html
import json
import re
from typing import Any, cast

from prowess.disclosure.instructions import HEAD

__all__ = ["find_content", "find_instructions", "find_loaded"]

_WRAPPED = re.compile(r"<skill_content[^>\n]*>\n(?P<body>.*?)\n*</skill_content>", re.DOTALL)
_LOADED = re.compile(r'<skill_content name="(?P<name>[^"\n]*)"[^>\n]*>\n.*?\n</skill_content>', re.DOTALL)
_RESOURCES = re.compile(r"\n*<skill_resources>.*?</skill_resources>\s*\Z", re.DOTALL)
_ESCAPED = re.compile(r"&lt;(?=\s*/?\s*skill_)")


def find_instructions(content: str) -> str:
    """Return the instructions of a skill as its author wrote them, from the result of an activation."""
    said = _parse(content)
    for key in ("instructions", "body"):
        if isinstance(said.get(key), str):
            return str(said[key])
    wrapped = _WRAPPED.match(content)
    text = _RESOURCES.sub("", wrapped["body"]) if wrapped else content
    return _ESCAPED.sub("<", text[head.end() :] if (head := HEAD.match(text)) else text).strip("\n")


def find_loaded(context: str) -> dict[str, str]:
    """Return what a model gets of each skill, by its name, from what goes with a message; of two, the last."""
    return {html.unescape(found["name"]): found[0] for found in _LOADED.finditer(context)}


def find_content(content: str) -> str:
    """Return the text of a file, from the result of reading it."""
    said = _parse(content).get("content")
    return said if isinstance(said, str) else content


def _parse(content: str) -> dict[str, Any]:
    """Return what a result in JSON says; nothing for one that is text."""
    if not content.startswith('{"name": '):
        return {}
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
