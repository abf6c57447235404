"""The OpenAPI document, made from the table of operations."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from prowess.surfaces.web.api.operations import JSON, Operation
from prowess.version import __version__

__all__ = ["make_document"]

_PARAMETER = re.compile(r"{(\w+)(:path)?}")
_REFERENCE = "#/components/schemas/{name}"
_USUAL_ERRORS = (400, 401, 403, 408, 413, 414, 421, 429, 500, 503)
_MEANINGS = {
    400: "The request is wrong; the error says what is expected.",
    401: "Who asks is not logged in.",
    403: "A person or a policy said no.",
    404: "There is nothing of this name.",
    408: "The body did not come in time.",
    409: "Something else has happened meanwhile.",
    410: "It was there, and is not kept any more.",
    413: "The body is too large.",
    414: "The address is too long.",
    421: "The request is for another host.",
    422: "What was sent can be read, but not used.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "A fault of Prowess itself.",
    503: "The disk, the database, a sandbox or a model's provider failed.",
}


class Fault(msgspec.Struct, kw_only=True):
    """What went wrong."""

    code: str
    message: str
    hint: str = ""


class ErrorAnswer(msgspec.Struct, kw_only=True):
    """The answer of any operation that did not do what was asked."""

    error: Fault


def make_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of a table of operations."""
    types = list(_find_types(operations))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    known = dict(zip(map(id, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(_PARAMETER.sub(r"{\1}", one.path), {})[one.method.lower()] = _describe(one, known, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Prowess",
            "version": __version__,
            "description": "Skills, conversations that use them, and what people decide about them.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "prowess"},
            },
        },
    }


def _find_types(operations: Sequence[Operation]) -> Iterator[Any]:
    yield ErrorAnswer
    seen: set[int] = set()
    for one in operations:
        for kind in (one.query, one.body, one.answer):
            if kind is not None and id(kind) not in seen:
                seen.add(id(kind))
                yield kind


def _describe(one: Operation, known: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.about,
        "tags": [one.tag],
        "parameters": [*_describe_path(one), *_describe_query(one, known, components)],
        "responses": {str(one.status): _describe_answer(one, known)} | _describe_errors(one),
    }
    if one.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": known[id(one.body)]}}}
    return described


def _describe_path(one: Operation) -> Iterator[dict[str, Any]]:
    for found in _PARAMETER.finditer(one.path):
        schema = {"type": "string", "minLength": 1, "maxLength": 500}
        yield {"name": found[1], "in": "path", "required": True, "schema": schema}


def _describe_query(one: Operation, known: dict[int, Any], components: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if one.query is None:
        return
    schema = components[known[id(one.query)]["$ref"].rpartition("/")[2]]
    for name, described in schema["properties"].items():
        yield {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": described}


def _describe_answer(one: Operation, known: dict[int, Any]) -> dict[str, Any]:
    if one.answer is None and one.media == JSON:
        return {"description": "Done."}
    schema = {"type": "string"} if one.answer is None else known[id(one.answer)]
    return {"description": "Done.", "content": {one.media: {"schema": schema}}}


def _describe_errors(one: Operation) -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": _REFERENCE.format(name="ErrorAnswer")}}}
    codes = sorted({*_USUAL_ERRORS, *one.errors})
    return {str(code): {"description": _MEANINGS[code], "content": content} for code in codes}
