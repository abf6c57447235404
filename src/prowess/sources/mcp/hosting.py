"""The servers that skills are taken from: their mirrors as sources, and when they are asked again.

A server is asked for its list when it is first wanted, which whoever waits for the catalog waits for, within bounds;
later in the background. A skill's files are asked for when it is used.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from prowess.policy import Links, SourceKind
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.locks import Hold, release_lock, try_lock
from prowess.sources.mcp.listed import Listed
from prowess.sources.mcp.mirror import Mirror
from prowess.sources.mcp.orders import LONGEST_FETCH_SECONDS, Act, Order, find_fetch_seconds
from prowess.sources.mcp.record import Record, RecordTooLarge, read_record, stamp_record, write_record
from prowess.sources.mcp.servers import McpServer, mark_server
from prowess.sources.mcp.workers import Workers
from prowess.sources.source import Source
from prowess.sources.stamps import Stamp

__all__ = ["Hosting"]

_LOG = logging.getLogger("prowess")
_FIRST_SHELF = "skill-0"
_PATIENCE = 3
"""How many times the time of one answer a list in the background may take, or, with what its size needs, a skill."""
_LEAST_PAUSE_SECONDS = 1.0
_SOON_SECONDS = 30
"""After which a server is asked again that another process was at work with."""
_MOST_SECONDS = 600.0
"""For the files of all skills that have changed, when a list is asked for."""


class _Known(NamedTuple):
    stamp: Stamp | None
    record: Record
    skills: dict[tuple[str, str], Listed]
    """The skills of the record by shelf and path."""


class Hosting:
    """All servers of one runtime. Any thread may use it."""

    def __init__(self, servers: Iterable[McpServer], *, folder: str, clock: Callable[[], float] = time.time) -> None:
        self.servers = tuple(server for server in servers if server.enabled)
        self._folder = folder
        self._clock = clock
        self._workers = Workers()
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._tried: dict[str, float] = {}
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    # What is known

    def sources(self) -> tuple[Source, ...]:
        """Return a source for each shelf of each mirror, with what is wrong with the server."""
        return tuple(source for server in self.servers for source in self._find_sources(server))

    def _find_sources(self, server: McpServer) -> Iterable[Source]:
        record, mirror = self.record(server), self.mirror(server)
        shelves = sorted({_FIRST_SHELF, *(one.shelf for one in record.skills)})
        failure = (record.failure,) if record.failure is not None else ()
        for shelf in shelves:
            yield Source(
                SourceKind.MCP,
                os.path.join(mirror.folder, shelf),
                links=Links.SKIP,
                plugin=server.name,
                problems=(*failure, *record.problems) if shelf == shelves[0] else (),
            )

    def state(self) -> tuple[Stamp | None, ...]:
        """Return what changes whenever the record of a server does, in this process or another."""
        return tuple(stamp_record(self.mirror(server).folder) for server in self.servers)

    def record(self, server: McpServer) -> Record:
        """Return what is known of a server."""
        return self._look_up(server).record

    def _look_up(self, server: McpServer) -> _Known:
        folder = self.mirror(server).folder
        stamp = stamp_record(folder)
        with self._lock:
            known = self._known.get(server.name)
        if known is not None and known.stamp == stamp:
            return known
        record = read_record(folder)
        if record.asked != mark_server(server):
            record = Record()
        known = _Known(stamp, record, {(one.shelf, one.path): one for one in record.skills})
        with self._lock:
            self._known[server.name] = known
        return known

    def mirror(self, server: McpServer) -> Mirror:
        """Return the mirror of a server."""
        return Mirror(os.path.join(self._folder, server.name))

    def digest(self, skill: Skill) -> str:
        """Return the digest that the files of a skill have as they are listed; empty if it is not listed any more."""
        found = self._find(skill)
        return found[1].digest if found else ""

    def _find(self, skill: Skill) -> tuple[McpServer, Listed] | None:
        server = self._find_server(skill)
        if server is None:
            return None
        one = self._look_up(server).skills.get((os.path.basename(skill.root), skill.relative))
        return (server, one) if one is not None else None

    def _find_server(self, skill: Skill) -> McpServer | None:
        return next((server for server in self.servers if server.name == skill.server), None)

    # What is asked

    def fetch(self, skill: Skill) -> Problem | None:
        """Fetch the files of a skill; return why that was not possible."""
        found = self._find(skill)
        if found is None:
            what = f"no server that is configured lists {skill.id} any more"
            return make_problem("mcp-changed", what, path=skill.id)
        server, one = found
        seconds = server.timeout_seconds * _PATIENCE + find_fetch_seconds(one)
        order = Order(Act.FETCH, server, self.mirror(server).folder, seconds, one.shelf, one.path)
        return self._workers.carry_out(order).problem

    def refresh(self, names: Sequence[str] | None = None) -> None:
        """Ask servers for their lists now, all at once, and wait for them.

        One answer may take its time, twice if another process is at work, and more where fetched skills have changed.
        """
        wanted = [server for server in self.servers if names is None or server.name in names]
        threads = [
            threading.Thread(target=self._list, args=(server, float(server.timeout_seconds))) for server in wanted
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _list(self, server: McpServer, seconds: float) -> None:
        began = self._tried[server.name] = self._clock()
        folder = self.mirror(server).folder
        order = Order(Act.LIST, server, folder, seconds, more_seconds=self._find_more_seconds(server))
        outcome = self._workers.carry_out(order)
        if outcome.problem is None or self._ends.is_set():
            return
        if outcome.is_busy:
            self._tried[server.name] = began - server.refresh_seconds + min(server.refresh_seconds, _SOON_SECONDS)
            _LOG.warning("%s; it is asked again later", outcome.problem.message)
        else:
            self._note(server, outcome.problem, began)

    def _find_more_seconds(self, server: McpServer) -> float:
        """Return how long the files of skills may take that were fetched, if all of them have changed."""
        mirror = self.mirror(server)
        fetched = sum(mirror.is_fetched(one) for one in self.record(server).skills)
        return min(fetched * LONGEST_FETCH_SECONDS, _MOST_SECONDS)

    def _note(self, server: McpServer, problem: Problem, began: float) -> None:
        """Remember a failure that the worker could not remember itself.

        Another process that is at work now, or was since, knows better.
        """
        mirror, lock = self.mirror(server), None
        try:
            lock = try_lock(mirror.lock, Hold.ALONE)
            if lock is None:
                return
            record = self.record(server)
            if record.failure == problem or record.tried_at > began:
                return
            failed = replace(record, failure=problem, tried_at=self._clock(), asked=mark_server(server))
            write_record(mirror.folder, failed)
        except (OSError, RecordTooLarge) as error:
            _LOG.warning("%s; and that cannot be written down: %s", problem.message, error)
        finally:
            if lock is not None:
                release_lock(lock)

    # When

    def attend(self) -> None:
        """Ask the servers that were never asked, and wait for them; have a thread ask all of them again in time."""
        if self._thread is not None or not self.servers or self._ends.is_set():
            return
        self._thread = threading.Thread(target=self._keep_asking, name="prowess-mcp", daemon=True)
        self.ask_first()
        self._thread.start()

    def ask_first(self) -> None:
        """Ask the servers that were never asked, and wait for them."""
        fresh = [server.name for server in self.servers if not self.record(server).tried_at]
        if fresh:
            self.refresh(fresh)

    def _keep_asking(self) -> None:
        while not self._ends.is_set():
            for server in self.servers:
                if self._is_due(server) and not self._ends.is_set():
                    self._list(server, float(server.timeout_seconds * _PATIENCE))
            soonest = min(self._last_tried(one) + one.refresh_seconds for one in self.servers)
            self._ends.wait(max(_LEAST_PAUSE_SECONDS, soonest - self._clock()))

    def _is_due(self, server: McpServer) -> bool:
        age = self._clock() - self._last_tried(server)
        return age < 0 or age >= server.refresh_seconds

    def _last_tried(self, server: McpServer) -> float:
        """Return when a server was last asked, by this process or another."""
        return max(self.record(server).tried_at, self._tried.get(server.name, 0.0))

    def close(self) -> None:
        """Ask no more, and end what is being asked."""
        self._ends.set()
        self._workers.close()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join()
