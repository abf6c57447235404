"""Carry out an order: ask a server, verify every answer, and change the mirror.

What was verified before stays in use whenever something goes wrong.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import anyio

from prowess.skill.problems import Problem, make_problem
from prowess.sources.locks import Hold, release_lock, try_lock
from prowess.sources.mcp.listed import Listed, judge_entries, judge_entry
from prowess.sources.mcp.mirror import Mirror
from prowess.sources.mcp.orders import Act, Order, Outcome, find_fetch_seconds
from prowess.sources.mcp.reading import Unfit, read_skill
from prowess.sources.mcp.record import MAX_LIST_BYTES, Record, RecordTooLarge, encode_record, read_record, write_record
from prowess.sources.mcp.servers import McpServer, mark_server
from prowess.sources.mcp.talks import Talk, TalkFailed, converse
from prowess.sources.source import show_path

__all__ = ["MAX_MIRROR_BYTES", "carry_out"]

MAX_MIRROR_BYTES = 1 << 30
"""Of all fetched files of one server."""


async def carry_out(order: Order, *, opened: Callable[[], None] = lambda: None) -> Outcome:
    """Do what the order says, within its time; a failure is in the outcome, and a list's in the record as well.

    `opened` is called when the server has been started, or is about to be called, before it says anything. Another
    process that is at work with the mirror is waited for; if that takes too long, nothing is known of the server.
    """
    try:
        lock = await _wait_for_lock(Mirror(order.folder).lock, seconds=order.seconds)
    except OSError as error:
        return Outcome(_name_disk_error(order, error))
    if lock is None:
        what = f"another process was at work with the server '{order.server.name}' for {order.seconds:g} seconds"
        return Outcome(make_problem("mcp-unreachable", what, path=f"mcp:{order.server.name}"), is_busy=True)
    try:
        return Outcome(await _work_in_time(order, opened))
    finally:
        release_lock(lock)


async def _wait_for_lock(path: str, *, seconds: float) -> int | None:
    """Return the lock; None if another process holds it for so long."""
    end = anyio.current_time() + seconds
    while (lock := try_lock(path, Hold.ALONE)) is None and anyio.current_time() < end:  # noqa: ASYNC110 - it is another process
        await anyio.sleep(0.02)
    return lock


async def _work_in_time(order: Order, opened: Callable[[], None]) -> Problem | None:
    scope = anyio.move_on_after(order.seconds)
    clock = _Clock(scope, order.seconds, order.more_seconds)
    with scope:
        return await _Work(order, opened, clock).run()
    what = f"the server '{order.server.name}' was not done within {clock.seconds:g} seconds"
    problem = make_problem("mcp-unreachable", what, path=f"mcp:{order.server.name}")
    if order.act is Act.LIST:
        note_failure(order, problem)
    return problem


@dataclass(slots=True)
class _Clock:
    """How long an order may take. To read files takes longer, the more there are."""

    scope: anyio.CancelScope
    seconds: float
    more_seconds: float
    """That are left to be allowed."""

    def allow(self, seconds: float) -> None:
        """Allow more time, as far as the order does."""
        more = min(seconds, self.more_seconds)
        self.more_seconds -= more
        self.seconds += more
        self.scope.deadline += more


def note_failure(order: Order, problem: Problem) -> None:
    """Remember that a server gave no list; what it gave before still counts. On a full disk, that is up to the host."""
    former = _read_former(order)
    with suppress(OSError, RecordTooLarge):
        write_record(order.folder, replace(former, failure=problem, tried_at=time.time()))


def _name_disk_error(order: Order, error: OSError) -> Problem:
    mirror = f"the mirror of the server '{order.server.name}'"
    what = f"{mirror} cannot be changed: {error.strerror or error} ({show_path(order.folder)})"
    return make_problem("disk-error", what, path=f"mcp:{order.server.name}")


def _read_former(order: Order) -> Record:
    """Return what is known of the server, if it is still the one that was asked."""
    former, mark = read_record(order.folder), mark_server(order.server)
    return former if former.asked == mark else Record(asked=mark)


class _NoRoom(Unfit):
    """A skill is not fetched, since the mirror would take too much."""


@dataclass(slots=True)
class _Work:
    order: Order
    opened: Callable[[], None]
    clock: _Clock
    size: int | None = None
    """Of the mirror, once it was measured."""

    @property
    def server(self) -> McpServer:
        return self.order.server

    @property
    def mirror(self) -> Mirror:
        return Mirror(self.order.folder)

    async def run(self) -> Problem | None:
        self.mirror.clean()
        try:
            work = self._list if self.order.act is Act.LIST else self._fetch
            return await converse(self.server, work, opened=self.opened)
        except TalkFailed as failure:
            problem = self._make_problem(failure.code, failure.message)
        except RecordTooLarge as error:
            problem = self._make_problem("mcp-too-large", str(error))
        except OSError as error:
            problem = _name_disk_error(self.order, error)
        if self.order.act is Act.LIST:
            note_failure(self.order, problem)
        return problem

    def _make_problem(self, code: str, what: str) -> Problem:
        return make_problem(code, f"the server '{self.server.name}': {what}", path=f"mcp:{self.server.name}")

    # The list

    async def _list(self, talk: Talk) -> None:
        former, now = _read_former(self.order), time.time()
        judged = judge_entries(await self._ask_for_entries(talk), server=self.server.name)
        problems = list(judged.problems)
        brought = [await self._bring_up_to_date(talk, one, former, problems) for one in judged.skills]
        kept = [one for one, _ in brought]
        self._check_size(Record(tuple(kept), tuple(problems)))
        self.mirror.keep_only(kept)
        skills = tuple(one for one, is_whole in brought if is_whole or self._place(one, problems))
        write_record(
            self.order.folder, Record(skills, tuple(problems), None, now, time.time(), mark_server(self.server))
        )

    def _check_size(self, record: Record) -> None:
        """Raise if a list is too much to remember, before anything is changed for it."""
        try:
            encode_record(record, most=MAX_LIST_BYTES)
        except RecordTooLarge as error:
            raise TalkFailed("mcp-too-large", f"it lists too much: {error}") from error

    async def _ask_for_entries(self, talk: Talk) -> list[object]:
        """Return what the server lists, and what it has besides of the skills that the settings name."""
        entries = await talk.list_skills()
        listed = {cast("dict[str, object]", one).get("uri") for one in entries if isinstance(one, dict)}
        return [*entries, *[await talk.get_skill(uri) for uri in self.server.skills if uri not in listed]]

    async def _bring_up_to_date(
        self, talk: Talk, one: Listed, former: Record, problems: list[Problem]
    ) -> tuple[Listed, bool]:
        """Fetch a skill again that has changed since it was fetched; if that fails, it stays as it was.

        Return with it whether all its files are known to be in their place.
        """
        was = former.find(one.shelf, one.path)
        if was is None or not self.mirror.is_fetched(one):
            return one, False
        if self.mirror.holds(one):
            return one, True
        try:
            await self._take(talk, one)
        except Unfit as unfit:
            problems.append(unfit.problem)
            return was, False
        return one, True

    def _place(self, one: Listed, problems: list[Problem]) -> bool:
        """Make sure that a skill is in its place, whole or as a placeholder."""
        if self.mirror.holds(one) or self.mirror.place_placeholder(one):
            return True
        what = f"the server '{self.server.name}': the frontmatter of {one.path} cannot be written as YAML"
        problems.append(make_problem("mcp-bad-entry", what, path=self._name(one)))
        return False

    # One skill

    async def _fetch(self, talk: Talk) -> Problem | None:
        record = _read_former(self.order)
        one = record.find(self.order.shelf, self.order.path)
        if one is None:
            what = f"the server '{self.server.name}' does not list {self.order.path} any more"
            return make_problem("mcp-changed", what, path=f"mcp:{self.server.name}/{self.order.path}")
        if self.mirror.holds(one):  # Another process was faster.
            return None
        try:
            await self._take(talk, one)
        except _NoRoom as excess:
            return excess.problem
        except Unfit as unfit:
            problem = await self._look_again(talk, one, record) or unfit.problem
            return self._remember(problem, one)
        return None

    async def _look_again(self, talk: Talk, one: Listed, record: Record) -> Problem | None:
        """Return that a skill has changed since it was listed, having taken note of it; None if it has not."""
        try:
            fresh = judge_entry(await talk.get_skill(one.uri), server=self.server.name)
        except TalkFailed:
            return None
        if isinstance(fresh, Problem) or fresh.uri != one.uri or fresh.content == one.content:
            return fresh if isinstance(fresh, Problem) else None
        fresh = replace(fresh, shelf=one.shelf)
        if self.mirror.place_placeholder(fresh):
            skills = tuple(fresh if other is one else other for other in record.skills)
            write_record(self.order.folder, replace(record, skills=skills))
        what = f"the server '{self.server.name}' has changed {one.path} since it listed it"
        return make_problem("mcp-changed", what, path=self._name(one))

    def _remember(self, problem: Problem, one: Listed) -> Problem:
        """Let the catalog tell what was found out about a skill."""
        record = _read_former(self.order)
        others = tuple(known for known in record.problems if known.path != self._name(one))
        write_record(self.order.folder, replace(record, problems=(*others, problem)))
        return problem

    async def _take(self, talk: Talk, one: Listed) -> None:
        """Fetch the files of a skill and put them in its place; raise `Unfit` if they are not what was listed."""
        more = one.size - self.mirror.measure(one)
        if self.size is None:
            self.size = self.mirror.measure()
        if self.size + more > MAX_MIRROR_BYTES:
            what = f"what was fetched from the server '{self.server.name}' takes more than {MAX_MIRROR_BYTES:,} bytes"
            raise _NoRoom(make_problem("mcp-too-large", what, path=self._name(one)))
        self.clock.allow(find_fetch_seconds(one))
        self.mirror.place(one, await read_skill(talk, one, server=self.server))
        self.size += more

    def _name(self, one: Listed) -> str:
        return f"mcp:{self.server.name}/{one.path}"
