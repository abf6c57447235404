"""`prowess serve` over a folder of skills, without a limit of requests a second. Prints its port and token first."""

import asyncio
import json
import os
import sys
from dataclasses import replace

from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.web.serving import serve

TOKEN = "0123456789abcdef0123456789abcdef"


def announce(options: HttpOptions) -> None:
    print(json.dumps({"port": options.port, "token": options.token}), flush=True)


def main(skills: str) -> None:
    limits = replace(HttpLimits(), requests_per_second=1e9, streams_per_client=1_000)
    options = HttpOptions(port=0, token=TOKEN, limits=limits)
    with Runtime(load_settings(), skills=[skills]) as runtime:
        asyncio.run(serve(runtime, options, announce=announce))
    os._exit(0)  # As the command does: a thread of the server may outlive it.


if __name__ == "__main__":
    main(sys.argv[1])
