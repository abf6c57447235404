"""What tools answer, as schemas of their data.

Nothing in a schema is required, and nothing else forbidden: an error stands in the place of an answer, and profiles
name some things in their own way.
"""

from collections.abc import Mapping
from typing import Any

from prowess.activation.tools import Role, Schema

__all__ = ["OUTPUT_SCHEMAS"]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_COUNT: Schema = {"type": "integer"}
_COUNT_OR_NONE: Schema = {"type": ["integer", "null"]}
_NUMBER: Schema = {"type": "number"}
_TRUTH: Schema = {"type": "boolean"}
_ANYTHING: Schema = {"type": "object"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list_of(**properties: Schema) -> Schema:
    return {"type": "array", "items": _object(**properties)}


def _answer(**properties: Schema) -> Schema:
    """Return the schema of an answer, or of an error in its place."""
    error = _object(code=_TEXT, message=_TEXT, hint=_TEXT)
    return _object(**properties, error=error, available_skills=_TEXTS)


OUTPUT_SCHEMAS: Mapping[Role, dict[str, Any]] = {
    Role.ACTIVATE: _answer(
        name=_TEXT,
        id=_TEXT,
        digest=_TEXT_OR_NONE,
        base_directory=_TEXT_OR_NONE,
        instructions=_TEXT,
        folder_structure=_TEXT,
        frontmatter=_ANYTHING,
        truncated=_TRUTH,
        already_active=_TRUTH,
        receipt=_ANYTHING,
        tools=_TEXTS,
        hand_over=_TRUTH,
        text=_TEXT,
        outcome=_TEXT_OR_NONE,
    ),
    Role.READ: _answer(
        name=_TEXT,
        path=_TEXT,
        content=_TEXT,
        encoding=_TEXT,
        mime=_TEXT,
        size=_COUNT,
        truncated=_TRUTH,
        first_line=_COUNT_OR_NONE,
        last_line=_COUNT_OR_NONE,
        total_lines=_COUNT_OR_NONE,
    ),
    Role.SEARCH: _answer(results=_list_of(name=_TEXT, id=_TEXT, score=_NUMBER, description=_TEXT)),
    Role.DEACTIVATE: _answer(name=_TEXT, deactivated=_TRUTH),
    Role.RUN: _answer(
        name=_TEXT,
        script=_TEXT,
        run=_TEXT,
        exit_status=_COUNT_OR_NONE,
        stdout=_TEXT,
        stderr=_TEXT,
        stdout_truncated=_TRUTH,
        stderr_truncated=_TRUTH,
        timed_out=_TRUTH,
        seconds=_NUMBER,
        backend=_TEXT,
        network=_TRUTH,
        notices=_TEXTS,
        outputs=_list_of(path=_TEXT, size=_COUNT, sha256=_TEXT, mime=_TEXT),
    ),
}
"""By what a tool does. What tools of skills and of the application answer, and code, nobody here can say."""
