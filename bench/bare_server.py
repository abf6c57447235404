"""The least that a server does: bodies of given sizes, from memory, by Starlette on granian. Prints its port first."""

import asyncio
import json
import socket
import sys

from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router


def make_route(path: str, size: int) -> Route:
    body = b"x" * size

    async def answer(_: Request) -> Response:
        return Response(body, media_type="text/plain")

    return Route(path, answer)


async def serve(sizes: dict[str, int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    app = Router([make_route(path, size) for path, size in sizes.items()])
    server = Server(
        app,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        log_enabled=False,
    )
    serving = asyncio.create_task(server.serve())
    await asyncio.sleep(0.5)
    print(json.dumps({"port": port, "token": ""}), flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1])))
