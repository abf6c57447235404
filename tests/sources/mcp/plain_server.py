"""An MCP server of a few lines that says what a script tells it, be it the truth or not.

python plain_server.py SCRIPT LOG

The script is a JSON file, read anew when another has taken its place. Every request is written to the log, a method and
an address a line.
"""

import base64
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

EXTENSION = "io.modelcontextprotocol/skills"
NEVER = 600.0
PART = "x" * (1 << 16)
WRITING = threading.Lock()


def main() -> None:
    script_file, log = Path(sys.argv[1]), Path(sys.argv[2])
    known, script = (0, 0), dict[str, Any]()
    for line in sys.stdin:
        request = json.loads(line)
        status = script_file.stat()
        if known != (status.st_ino, status.st_mtime_ns):
            known = (status.st_ino, status.st_mtime_ns)
            script = json.loads(script_file.read_text("utf-8"))
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{request['method']} {request.get('params', {}).get('uri', '')}".rstrip() + "\n")
        if "id" in request:
            answer(request, script)


def answer(request: dict[str, Any], script: dict[str, Any]) -> None:
    method = request["method"]
    misdeed = script["misdeeds"].get(method, "")
    if misdeed:
        misbehave(misdeed)
    params = request.get("params", {})
    match method:
        case "initialize":
            say(request, result=introduce(script))
        case "skills/list":
            if script["pause_at"] == method:
                time.sleep(script["pause"])
            say(request, result=page(script, params.get("cursor")))
        case "skills/get":
            found = [one for one in script["gets"] or script["entries"] if one["uri"] == params["uri"]]
            if found:
                say(request, result={"skill": found[0], "resultType": "complete", "ttlMs": 0, "cacheScope": "public"})
            else:
                say(request, error={"code": -32602, "message": "no such skill"})
        case "resources/read" if script["threads"]:
            threading.Thread(target=read, args=(request, script, params["uri"])).start()
        case "resources/read":
            read(request, script, params["uri"])
        case _:
            say(request, error={"code": -32601, "message": f"no method {method}"})


def introduce(script: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {script["speaks"]: {EXTENSION: {}}} if script["speaks"] else {}
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"resources": {}, **told},
        "serverInfo": {"name": "plain", "version": "1"},
    }


def page(script: dict[str, Any], cursor: str | None) -> dict[str, Any]:
    entries, size = script["entries"], script["page_size"]
    start = int(cursor or 0)
    result: dict[str, Any] = {"skills": entries[start : start + size], "resultType": "complete"}
    if script["endless"] or start + size < len(entries):
        result["nextCursor"] = str(start + size)
    return result


def read(request: dict[str, Any], script: dict[str, Any], uri: str) -> None:
    if uri not in script["files"]:
        say(request, error={"code": -32602, "message": f"nothing at {uri}"})
        return
    if script["pause_at"] in uri:
        time.sleep(script["pause"])
    raw = base64.b64decode(script["files"][uri])
    content = {"uri": script["answers_as"] or uri}
    try:
        content["text"] = raw.decode()
    except UnicodeDecodeError:
        content["blob"] = base64.b64encode(raw).decode()
    say(request, result={"contents": [content] * script["copies"]})


def misbehave(misdeed: str) -> None:
    match misdeed:
        case "hang":
            time.sleep(NEVER)
        case "die":
            sys.exit(3)
        case "garbage":
            write("{]\n\n\x00 no JSON at all\n" + '{"jsonrpc": "2.0", "id": "unheard of", "result": 7}\n')
        case "chatter":
            while True:
                write("still no JSON\n")
        case "endless line":
            write('{"jsonrpc": "2.0", "id": 1, "result": {"skills": "')
            while True:
                write(PART)
        case "deep":
            write('{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 100_000 + "\n")
        case _:
            raise AssertionError(misdeed)


def say(request: dict[str, Any], **answer: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")


def write(text: str) -> None:
    with WRITING:
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
