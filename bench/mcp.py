"""Measures the MCP server beside bare servers of the SDK: its start, and its calls.

All are started as clients start them, over pipes, and spoken to line by line. One bare server has the same tool, by way
of the library; the other opens a file by its path, which is the least that there is to do. `python -m bench.mcp` writes
the section.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.effort import choose
from bench.generate import generate
from bench.peer_environments import installed_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_section
from bench.timing import measure_spread

SKILLS = choose(100, quick=20)
STARTS = choose(15, quick=2)
CALLS = choose(400, quick=20)
WARM_UP = choose(20, quick=2)
GOAL = 1.3
PROWESS = Path(sys.executable).with_name("prowess")
OURS, SAME, LEAST = "prowess mcp", "SDK server, same tool", "SDK server, file by its path"
_HEAD = """
import sys
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")
"""
BARE = {
    SAME: _HEAD
    + """
from mcp.types import CallToolResult, TextContent
from prowess import Runtime

session = Runtime.open(skills=[sys.argv[1]]).session()

@server.tool()
def read_skill_resource(name: str, path: str) -> CallToolResult:
    "Return a file that belongs to a skill."
    result = session.call("read_skill_resource", {"name": name, "path": path})
    return CallToolResult(content=[TextContent(text=result.content)], structured_content=result.data)

server.run()
""",
    LEAST: _HEAD
    + """
root = Path(sys.argv[1])

@server.tool()
def read_skill_resource(name: str, path: str) -> str:
    "Return a file that belongs to a skill."
    return (root / name / path).read_text()

server.run()
""",
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Pipes:
    """A client that says as little as it can."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        self._number += 1
        self.tell(method, params, number=self._number)
        while True:
            answer = json.loads(self._stdout.readline())
            if answer.get("id") == self._number:
                return answer["result"]

    def tell(self, method: str, params: dict[str, Any], *, number: int | None = None) -> None:
        """Send a notification, or a request."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._stdin.write(json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n")
        self._stdin.flush()


@contextmanager
def serving(command: list[str]) -> Generator[Pipes]:
    """Start a server, and shake hands."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        pipes = Pipes(process)
        pipes.ask("initialize", HELLO)
        pipes.tell("notifications/initialized", {})
        yield pipes


def time_start(command: list[str]) -> float:
    """Return the seconds from the start of a server to its first list of tools."""
    begun = time.perf_counter()
    with serving(command) as pipes:
        pipes.ask("tools/list", {})
        return time.perf_counter() - begun


def time_call(pipes: Pipes, arguments: dict[str, str]) -> float:
    """Return the seconds of one call."""
    begun = time.perf_counter()
    result = pipes.ask("tools/call", {"name": "read_skill_resource", "arguments": arguments})
    seconds = time.perf_counter() - begun
    assert not result.get("isError"), result
    return seconds


def measure() -> dict[str, tuple[list[float], list[float]]]:
    """Return the times of starts and calls of both, taking turns."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root, names = prepare(place)
        os.environ["PROWESS_HOME"] = str(place / "home")
        commands = {OURS: [str(PROWESS), "--skills", str(root), "mcp"]}
        commands |= {name: [sys.executable, str(place / f"{name}.py"), str(root)] for name in BARE}
        times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in commands}
        for number in range(-1, STARTS):
            for name in shuffled(commands, number):
                seconds = time_start(commands[name])
                times[name][0].extend([seconds] if number >= 0 else [])
        opened = {name: stack.enter_context(serving(command)) for name, command in commands.items()}
        for number in range(-WARM_UP, CALLS):
            given = {"name": names[number % len(names)], "path": "references/guide.md"}
            for name in shuffled(commands, number):
                seconds = time_call(opened[name], given)
                times[name][1].extend([seconds] if number >= 0 else [])
        return times


def prepare(place: Path) -> tuple[Path, list[str]]:
    """Write the skills and the bare server; return the skills' folder and their names."""
    root = place / "skills"
    generate(root, count=SKILLS)
    names = sorted(folder.name for folder in root.iterdir())
    for name in names:
        guide = root / name / "references" / "guide.md"
        guide.parent.mkdir(exist_ok=True)
        guide.write_text("A guide of a few lines.\n" * 40, encoding="utf-8")
    for name, text in BARE.items():
        (place / f"{name}.py").write_text(text, encoding="utf-8")
    return root, names


def shuffled(commands: dict[str, list[str]], seed: int) -> list[str]:
    """Return the contestants in a new order."""
    names = list(commands)
    random.Random(seed).shuffle(names)
    return names


def compare(times: dict[str, tuple[list[float], list[float]]], base: str) -> tuple[float, float]:
    """Return how many times as long as another ours takes to start, and for a call."""
    start, call = (statistics.median(times[OURS][index]) / statistics.median(times[base][index]) for index in (0, 1))
    return start, call


def render(times: dict[str, tuple[list[float], list[float]]]) -> str:
    """Return the table, and what it says of the goal."""
    rows: list[tuple[str, ...]] = []
    for index, what in enumerate(("start to first tool list", "one call")):
        for name, both in times.items():
            spread = measure_spread(both[index])
            quartiles = f"{spread.first_quartile * 1_000:.2f} to {spread.third_quartile * 1_000:.2f}"
            ratios = [f"{spread.median / statistics.median(times[base][index]):.2f}" for base in BARE]
            rows.append((what, name, f"{spread.median * 1_000:.2f}", quartiles, *ratios))
    start, call = compare(times, SAME)
    least = compare(times, LEAST)
    table = render_table(("what", "server", "median ms", "quartiles ms", "times the same tool", "times the file"), rows)
    load = f"{os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores"
    return "\n".join(
        (
            table,
            "",
            f"- The goal is {GOAL} times a bare server with the same tool: the start takes {start:.2f} times as long,",
            f"  a call {call:.2f} times. Beside the one that does nothing but open a file, it is {least[0]:.2f} and",
            f"  {least[1]:.2f} times.",
            f"- The load average was {load}.",
        )
    )


ABOUT = f"""Milliseconds over pipes; {STARTS} starts and {CALLS} calls of each, taking turns, {SKILLS} skills. The bare
servers are the SDK's own with one tool. That of the first calls the same session by way of the library; that of the
second opens a file by its path. Ours has five tools, and finds and judges the skills, decides on consent, and reads by
a walk that follows no link out of the skill."""


def main() -> None:
    parts = [f"`python -m bench.mcp` — {render_machine(describe_machine())}", ABOUT, render(measure())]
    write_section("MCP server", "\n\n".join(parts), installed_versions("mcp"))


if __name__ == "__main__":
    main()
