"""Serve skills over HTTP with bounds that a test gives: `python bounded_server.py FOLDER BOUNDS`, which is JSON."""

import json
import os
import sys
from typing import Any

from prowess.runtime import Runtime
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.mcp.options import McpLimits, McpOptions
from prowess.surfaces.mcp.serving import serve_http


def _announce(url: str) -> None:
    sys.stderr.write(f"MCP: {url}\n")
    sys.stderr.flush()


def main() -> None:
    folder, bounds = sys.argv[1], json.loads(sys.argv[2])
    web: dict[str, Any] = bounds.get("web", {})
    http = HttpOptions(port=0, token=os.environ["PROWESS_TOKEN"], limits=HttpLimits(**web))
    options = McpOptions(http=http, limits=McpLimits(**bounds.get("mcp", {})))
    with Runtime.open(skills=[folder] if folder else None) as runtime:
        serve_http(runtime, options, announce=_announce)


if __name__ == "__main__":
    main()
