"""The steps that `bench.growth` takes at every size, each meant for a process of its own.

A step takes the folder of skills and a folder of its own, and returns seconds (or bytes, for what is named so) by what
was measured: one for each time that it was.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench.generate import make_description
from bench.measure import read_peak_rss_kb
from prowess import Runtime
from prowess.catalog.discovery import Discovery
from prowess.catalog.index import Index
from prowess.policy import PROFILES, Refresh, SourceKind
from prowess.settings import load_settings
from prowess.sources.source import Source

__all__ = ["COSTLY", "STEPS", "USERS", "USERS_BYTES", "Found", "measure_users", "take"]

LOOKS = 10
QUERIES = 100
SEARCHES = CHANGES = 3
SETTLING_SECONDS = 0.3
QUERY = "please review the invoices of last month and extract what accounting needs"
USERS = (10, 100)
"""Together; what one costs is known from the step."""
USERS_BYTES = "bytes of disk"
Found = dict[str, list[float]]


def _time(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _times(work: Callable[[], object], times: int) -> list[float]:
    return [_time(work) for _ in range(times)]


def _open(root: Path, home: Path, *, user: str = "one", refresh: Refresh = Refresh.WATCHED) -> Runtime:
    settings = load_settings(environ={"HOME": str(home), "PROWESS_HOME": str(home / "prowess")})
    settings = replace(settings, policy=replace(settings.policy, refresh=refresh))
    return Runtime(settings.for_user(user), skills=[root])


def discover(root: Path, home: Path) -> Found:
    """Without any cache; then the index that the next step finds."""
    source = Source(SourceKind.PROJECT, os.fspath(root))
    policy = PROFILES["standard"]

    def search(index: Index | None) -> None:
        discovery = Discovery(policy, index)
        discovery.assemble([(source, discovery.scan(source))], generation=1)
        discovery.save()

    search(None)
    found = {"discovery, no cache": _times(lambda: search(None), SEARCHES)}
    time.sleep(SETTLING_SECONDS)
    search(Index(str(home / "index")))
    return found


def discover_indexed(root: Path, home: Path) -> Found:
    """With the index of another process."""
    source = Source(SourceKind.PROJECT, os.fspath(root))

    def search() -> None:
        discovery = Discovery(PROFILES["standard"], Index(str(home / "index")))
        discovery.assemble([(source, discovery.scan(source))], generation=1)

    return {"discovery, cache of another process": _times(search, SEARCHES)}


def watch(root: Path, home: Path) -> Found:
    """The question before each turn: watched, and without watching; and when one skill has changed."""
    found: Found = {}
    for refresh, how in ((Refresh.WATCHED, "watched"), (Refresh.EACH_TURN, "unwatched")):
        with _open(root, home, refresh=refresh) as runtime:
            for _ in range(2):
                runtime.catalog()
            found[f"catalog asked for, {how}, nothing changed"] = _times(runtime.catalog, LOOKS)
            skill = root / runtime.catalog().skills[0].name / "SKILL.md"
            text = skill.read_text(encoding="utf-8")
            for number in range(CHANGES):
                skill.write_text(f"{text}More{'.' * number}\n", encoding="utf-8")
                found.setdefault(f"catalog asked for, {how}, one changed", []).append(_time(runtime.catalog))
            skill.write_text(text, encoding="utf-8")
    return found


def plan(root: Path, home: Path) -> Found:
    """What goes into the prompt, and the search that it may need."""
    import random

    with _open(root, home) as runtime:
        view = runtime.view()
        found = {"plan without a query": _times(lambda: runtime.planning.plan(view), LOOKS)}
        found["search index made"] = _times(lambda: runtime.search("nothing"), 1)
        found["plan with a query"] = _times(lambda: runtime.planning.plan(view, query=QUERY), LOOKS)
        rng = random.Random(1)
        asked = [make_description(rng).split(". ")[0] for _ in range(QUERIES)]
        times = sorted(_time(lambda query=query: runtime.search(query)) for query in asked)
        found |= {"search, median": [statistics.median(times)], "search, p99": [times[QUERIES * 99 // 100 - 1]]}
    return found


def list_all(root: Path, home: Path) -> Found:
    """The command, as a person starts it: the first time, and again."""
    command = [str(Path(sys.executable).with_name("prowess")), "--skills", str(root), "list"]
    environment = {**os.environ, "HOME": str(home), "PROWESS_HOME": str(home / "listing")}

    def run(*options: str) -> None:
        subprocess.run([*command, *options], env=environment, check=True, capture_output=True)

    return {
        "`prowess list`, first": _times(run, 1),
        "`prowess list`, again": _times(run, 1),
        "`prowess list --json`, first": _times(lambda: run("--json"), 1),
        "`prowess list --json`, again": _times(lambda: run("--json"), 1),
    }


def sync(root: Path, home: Path) -> Found:
    """The first user's copies, durable, and the look before each turn; before these, what the disk itself takes."""
    copied = home / "bare"

    def copy() -> None:
        subprocess.run(["cp", "-a", str(root), str(copied)], check=True)
        subprocess.run(["sync", "-f", str(copied)], check=True)

    bare = _times(copy, 1)  # It stays: to remove so many files takes minutes, and whoever comes next would pay for it.
    os.sync()
    with _open(root, home) as runtime:
        found = {"`cp -a` and a sync, for comparison": bare, "sync, first user": _times(runtime.sync, 1)}
        found[USERS_BYTES] = [float(_disk_bytes(home / "prowess"))]
        for _ in range(3):
            runtime.sync()
            time.sleep(SETTLING_SECONDS)
        found["sync, nothing changed"] = _times(runtime.sync, LOOKS)
    return found


def measure_users(root: Path, home: Path, users: int) -> Found:
    """All of so many users, one after the other on a new host: seconds, and bytes of disk."""
    times: list[float] = []
    for number in range(users):
        with _open(root, home, user=f"user-{number}") as runtime:
            times.append(_time(runtime.sync))
    return {"first": times[:1], "later": times[1:], USERS_BYTES: [float(_disk_bytes(home / "prowess"))]}


def _disk_bytes(folder: Path) -> int:
    """What a folder takes of the disk; what is linked several times counts once."""
    seen: dict[int, int] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(f"{place}/{name}")
            seen[status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


STEPS: dict[str, Callable[[Path, Path], Found]] = {
    "discovery": discover,
    "discovery, cached": discover_indexed,
    "watch": watch,
    "plan and search": plan,
    "list": list_all,
    "sync": sync,
}
"""By their names, in their order: the second needs the first."""
COSTLY = ("sync",)
"""Steps that take minutes where others take seconds."""


def take(name: str, root: Path, home: Path) -> tuple[Found, int]:
    """Take a step in this process; return what it found, and the most memory that the process has had, in kB."""
    return STEPS[name](root, home), read_peak_rss_kb()
