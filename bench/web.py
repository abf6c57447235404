"""Measures the web app: requests a second, their slowest hundredth, what an open stream takes, and a large catalog.

Beside it, taking turns in the same run: a bare Starlette app on the same server that sends bodies of the same size from
memory, which is the least that any answer takes. `python -m bench.web` writes the section.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.effort import choose
from bench.generate import generate
from bench.grown_skills import has_room, skills_of
from bench.peer_environments import installed_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.timing import measure_spread

SKILLS = choose(1_000, quick=50)
MANY = choose((1_000, 10_000, 100_000), quick=(50, 200))
"""How the table of skills grows."""
LOOKS = choose(8, quick=2)
ROUNDS = choose(8, quick=1)
REQUESTS = choose(150, quick=8)
CLIENTS = 4
STREAMS = choose(500, quick=20)
SETTLING_SECONDS = 3
PATIENCE_SECONDS = 600
GOAL_MB = 100
PATHS = {
    "skills page": "/skills",
    "skills page, searched": "/skills?query=deploy",
    "one skill": "/skills/project--{first}",
    "API: list of 100": "/api/skills?limit=100",
    "API: search": "/api/search?query=plan%20a%20meeting",
    "API: one skill": "/api/skills/project--{first}",
    "chat page": "/",
    "static file": "/static/chat.js",
}
TABLE = {
    "first page": "/skills",
    "a later page": "/skills?page=5",
    "searched": "/skills?query=deploy",
    "sorted by name, falling": "/skills?sort=-name",
    "sorted by state": "/skills?sort=state",
    "sorted by tokens, falling": "/skills?sort=-tokens",
    "API: list of 100": "/api/skills?limit=100",
}
"""What is asked of the table at each size."""
ROOT = Path(__file__).resolve().parents[1]


@dataclass(slots=True)
class Server:
    """A server under load."""

    process: "subprocess.Popen[bytes]"
    port: int
    token: str
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Of each request, by what was asked for."""
    rates: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Requests a second, by what was asked for."""

    def request(self, path: str) -> bytes:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        return head.encode()

    def memory_mb(self) -> float:
        """Return what all of it takes, shared pages counted by share."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1]) / 1_024


@contextmanager
def start_ours(home: Path, skills: Path) -> Generator[Server]:
    """`prowess serve` on a free port."""
    command = [sys.executable, "-m", "bench.unhurried_server", str(skills)]
    env = {**os.environ, "HOME": str(home), "PROWESS_HOME": str(home / ".prowess"), "PYTHONPATH": str(ROOT)}
    yield from _run(command, env)


@contextmanager
def start_bare(sizes: dict[str, int]) -> Generator[Server]:
    """An app that sends so many bytes for each path."""
    command = [sys.executable, "-m", "bench.bare_server", json.dumps(sizes)]
    yield from _run(command, {**os.environ, "PYTHONPATH": str(ROOT)})


def _run(command: Sequence[str], env: dict[str, str]) -> Generator[Server]:
    process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        yield Server(process, said["port"], said["token"])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


async def load(server: Server, path: str, *, requests: int, clients: int) -> tuple[list[float], float, int]:
    """Ask again and again over kept connections; return the seconds of each, requests a second, and a body's bytes."""
    seconds: list[float] = []
    size = 0

    async def ask() -> None:
        nonlocal size
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(requests // clients):
            begun = time.perf_counter()
            writer.write(server.request(path))
            size = await read_answer(reader)
            seconds.append(time.perf_counter() - begun)
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(clients)))
    return seconds, len(seconds) / (time.perf_counter() - begun), size


async def read_answer(reader: asyncio.StreamReader) -> int:
    """Read one answer; return the bytes of its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").lower().split("\r\n")
    assert " 200 " in status, status
    headers = dict(line.split(": ", 1) for line in lines if line)
    if "content-length" in headers:
        return len(await reader.readexactly(int(headers["content-length"])))
    size = 0
    while length := int((await reader.readline()).strip(), 16):
        size += len(await reader.readexactly(length))
        await reader.readline()
    await reader.readline()
    return size


async def measure(ours: Server, bare: Server, paths: dict[str, str]) -> None:
    """Have both take turns."""
    for number in range(ROUNDS):
        for name, path in paths.items():
            for server, asked in ((ours, path), (bare, f"/{name}".replace(" ", "-")))[:: 1 if number % 2 else -1]:
                seconds, rate, _ = await load(server, asked, requests=REQUESTS, clients=CLIENTS)
                server.seconds.setdefault(name, []).extend(seconds)
                server.rates.setdefault(name, []).append(rate)


def measure_streams(server: Server) -> tuple[float, float]:
    """Return the megabytes that a server takes before and while so many streams are open."""
    before = server.memory_mb()
    streams = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(STREAMS)]
    for number, stream in enumerate(streams):
        stream.sendall(server.request(f"/api/conversations/idle-{number % 50}/events?form=blocks"))
    for stream in streams:
        assert b"200 OK" in stream.recv(4_096)
    time.sleep(3)
    after = server.memory_mb()
    for stream in streams:
        stream.close()
    return before, after


@dataclass(frozen=True, slots=True)
class Grown:
    """The table at one number of skills."""

    until_first_seconds: float
    """From the start of the server, which has no index, to its first page."""
    seconds: dict[str, tuple[float, ...]]
    """Of each request, one at a time, by what was asked for."""
    largest_kb: float
    memory_mb: float


async def measure_table(server: Server, begun: float) -> Grown:
    """Ask for each part of the table again and again, in turn."""
    await load(server, TABLE["first page"], requests=1, clients=1)
    until_first = time.perf_counter() - begun
    await asyncio.sleep(SETTLING_SECONDS)
    found: dict[str, list[float]] = {name: [] for name in TABLE}
    largest = 0
    for number in range(-1, LOOKS):  # The first search makes an index; it is not counted.
        for name, path in TABLE.items():
            seconds, _, size = await load(server, path, requests=1, clients=1)
            found[name] += seconds if number >= 0 else []
            largest = max(largest, size)
    seconds = {name: tuple(taken) for name, taken in found.items()}
    return Grown(until_first, seconds, largest / 1_000, server.memory_mb())


def measure_growth() -> tuple[dict[int, Grown], list[str]]:
    """The table at every size that the disk has room for, and what was left out."""
    found: dict[int, Grown] = {}
    for size in MANY:
        if not has_room(size):
            return found, [f"- {size:,} skills were left out: the disk has no room for them."]
        with skills_of(size) as root, tempfile.TemporaryDirectory() as home:
            begun = time.perf_counter()
            with start_ours(Path(home), root) as server:
                found[size] = asyncio.run(asyncio.wait_for(measure_table(server, begun), PATIENCE_SECONDS))
    return found, []


def render_growth(found: dict[int, Grown]) -> str:
    """Return a row for each thing asked, and for what the server took."""
    rows: list[list[str]] = [["start without an index, and the first page"]]
    rows[0] += [f"{one.until_first_seconds * 1_000:,.0f}" for one in found.values()]
    for name in TABLE:
        spreads = [measure_spread(one.seconds[name]) for one in found.values()]
        cells = [f"{_ms(one.median)} ({_ms(one.first_quartile)}-{_ms(one.third_quartile)})" for one in spreads]
        rows.append([name, *cells])
    rows.append(["largest answer, kB", *(f"{one.largest_kb:.0f}" for one in found.values())])
    rows.append(["memory of the server, MB", *(f"{one.memory_mb:,.0f}" for one in found.values())])
    return render_table(("ms, where nothing else is said", *(f"{size:,} skills" for size in found)), rows)


ABOUT_GROWTH = f"""The table as the catalog grows: one request at a time, medians and quartiles of {LOOKS}, all kinds in
turn. The page shows a part of the table, whatever the number of skills; a later page is the fifth."""

HEADINGS = ("what", "kB", "a second", "p50 ms", "p99 ms", "bare: a second", "bare: p99 ms", "rate of the bare one")


def render_rows(ours: Server, bare: Server, sizes: dict[str, int]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in PATHS:
        own, floor = statistics.median(ours.rates[name]), statistics.median(bare.rates[name])
        cuts, bare_cuts = (statistics.quantiles(one.seconds[name], n=100) for one in (ours, bare))
        figures = (
            f"{own:,.0f}",
            _ms(cuts[49]),
            _ms(cuts[98]),
            f"{floor:,.0f}",
            _ms(bare_cuts[98]),
            f"{own / floor:.2f}",
        )
        rows.append((name, f"{sizes[name] / 1_000:.1f}", *figures))
    return rows


def _ms(seconds: float) -> str:
    return f"{seconds * 1_000:.1f}"


ABOUT = f"""{SKILLS:,} skills of three files; {CLIENTS} clients on kept connections, {ROUNDS} rounds of {REQUESTS}
requests, taking turns with a bare Starlette app on the same server that sends as many bytes from memory. The clients
run on the same {os.cpu_count()} cores. The limit of requests a second is lifted, all other guards stand."""


def main() -> None:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = generate(place / "skills", count=SKILLS)
        ours = stack.enter_context(start_ours(place, place / "skills"))
        paths = {name: path.format(first=made[0].name) for name, path in PATHS.items()}
        sizes = {name: asyncio.run(load(ours, path, requests=4, clients=1))[2] for name, path in paths.items()}
        bare = stack.enter_context(start_bare({f"/{name}".replace(" ", "-"): size for name, size in sizes.items()}))
        asyncio.run(measure(ours, bare, paths))
        before, after = measure_streams(ours)
    streams = (
        f"- {STREAMS} idle streams of pages, on 50 conversations: {before:.0f} MB before, {after:.0f} MB with them,\n"
        f"  {(after - before) * 1_024 / STREAMS:.0f} kB a stream. The goal is {GOAL_MB} MB for all of it."
    )
    grown, notes = measure_growth()
    parts = [
        f"`python -m bench.web` — {render_machine(describe_machine())}",
        ABOUT,
        render_table(HEADINGS, render_rows(ours, bare, sizes)),
        streams,
        ABOUT_GROWTH,
        render_growth(grown),
        "\n".join(notes),
    ]
    versions = installed_versions("starlette", "granian")
    write_section("Web app", "\n\n".join(part for part in parts if part), versions)
    medians = {name: {size: statistics.median(one.seconds[name]) for size, one in grown.items()} for name in TABLE}
    write_figures("web", {"table_seconds": medians}, versions)


if __name__ == "__main__":
    main()
