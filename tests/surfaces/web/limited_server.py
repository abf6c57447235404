"""A server with limits of its own: `python -m tests.surfaces.web.limited_server JSON`."""

import asyncio
import json
import sys

from prowess.runtime import Runtime
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.web.serving import serve

__all__: list[str] = []
_TOKEN = "0123456789abcdef"


def _announce(options: HttpOptions) -> None:
    said = {"url": options.login_url, "host": options.host, "port": options.port, "token": options.token}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    limits = HttpLimits(**json.loads(sys.argv[1]))
    with Runtime.open() as runtime:
        asyncio.run(serve(runtime, HttpOptions(port=0, token=_TOKEN, limits=limits), announce=_announce))
