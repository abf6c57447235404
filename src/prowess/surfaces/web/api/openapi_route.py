"""The OpenAPI document, served."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prowess.surfaces.web.api.openapi import make_document
from prowess.surfaces.web.api.operations import Operation, json_response

__all__ = ["make_openapi_route"]


def make_openapi_route(operations: Sequence[Operation]) -> Route:
    """Return the route of the document."""
    document = make_document(operations)

    async def serve(_: Request) -> Response:
        return json_response(document)

    return Route("/api/openapi.json", serve, methods=["GET"], name="openapi")
