"""What a stream of one conversation says: as blocks for a page, or as records for a program."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Any

from prowess.agent.events import Done, Happening
from prowess.agent.log import read_happenings
from prowess.surfaces.web.conversations.desk import Desk
from prowess.surfaces.web.conversations.feeds import Feed
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from prowess.surfaces.web.conversations.streams import render_message, wait_for
from prowess.surfaces.web.scene.rendering import BlockRenderer

__all__ = ["describe_state", "follow_blocks", "follow_changes", "follow_records", "follow_turn", "read_since"]

Show = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes a record fit for whoever follows: others than people at this machine see no paths of it."""
_SETTLE_SECONDS = 0.06
"""So long a page's stream collects what comes: text arrives word by word, and is drawn at once."""


async def follow_blocks(
    desk: Desk, one: LiveConversation, renderer: BlockRenderer, cursor: str, *, show: Show
) -> AsyncGenerator[bytes, None]:
    """Yield what a page needs to stay up to date."""
    bell = asyncio.Event()
    told_state: object = None
    told_changes: object = None
    with one.bells.hung(bell), desk.bells.hung(bell):
        while True:
            news = one.scene.patches(cursor)
            if news.reset or news.patches:
                cursor = news.cursor
                yield render_message("blocks", await one.work(partial(renderer.record, news)), id_=cursor)
            state = show(describe_state(one))
            if state != told_state:
                told_state = state
                yield render_message("state", state)
            changes = _describe_changes(desk)
            if changes != told_changes:
                told_changes = changes
                yield render_message("changed", changes)
            if desk.closing.is_set() or one.is_gone:
                yield render_message("ended", {})
                return
            if not await wait_for(bell):
                yield b""
            await asyncio.sleep(_SETTLE_SECONDS)


def describe_state(one: LiveConversation) -> dict[str, Any]:
    """Return what a page shows around the blocks."""
    return {
        "busy": one.is_busy,
        "turn": one.live.turn if one.live else "",
        "title": one.title,
        "model": one.model,
        "active": [asdict(skill) for skill in one.active],
    }


def _describe_changes(desk: Desk) -> dict[str, int]:
    now = desk.revisions
    return {"catalog": now.catalog, "conversations": now.conversations, "decisions": now.decisions}


async def follow_changes(desk: Desk) -> AsyncGenerator[bytes, None]:
    """Yield that the pages should look again."""
    bell = asyncio.Event()
    told: object = None
    with desk.bells.hung(bell):
        while not desk.closing.is_set():
            changes = _describe_changes(desk)
            if changes != told:
                told = changes
                yield render_message("changed", changes)
            elif not await wait_for(bell):
                yield b""
        yield render_message("ended", {})


async def follow_records(desk: Desk, one: LiveConversation, after: int, *, show: Show) -> AsyncGenerator[bytes, None]:
    """Yield all that happens, event by event: what is kept from a number on, and what is heard meanwhile."""
    bell = asyncio.Event()
    feed = one.feeds.follow(bell)
    try:
        with one.bells.hung(bell), desk.bells.hung(bell):
            async with aclosing(_follow_feed(desk, one, feed, after)) as happenings:
                async for happening in happenings:
                    yield _render(one, happening, show) if happening else b""
    finally:
        one.feeds.leave(feed)
    yield render_message("ended", {})


async def _follow_feed(
    desk: Desk, one: LiveConversation, feed: Feed, last: int
) -> AsyncGenerator[Happening | None, None]:
    for happening in await one.work(partial(read_since, one, last)):
        yield happening
        last = max(last, happening.number or 0)
    while not (desk.closing.is_set() or feed.is_late or one.is_gone):
        for happening in feed.take():
            if happening.number is None or happening.number > last:
                last = max(last, happening.number or 0)
                yield happening
        if not await wait_for(feed.bell):
            yield None


def read_since(one: LiveConversation, after: int) -> Sequence[Happening]:
    """Return what has happened in a conversation since the event of this number. Blocks."""
    if one.is_kept and not one.is_own:
        return read_happenings(one.runtime.store, user=one.key.user, session=one.key.session, after=after)
    # What is told here may not be written yet.
    return [happening for happening in one.chat.happenings() if (happening.number or 0) > after]


async def follow_turn(
    desk: Desk, one: LiveConversation, feed: Feed, turn: str, *, show: Show
) -> AsyncGenerator[bytes, None]:
    """Yield the events of one turn, the last of them `done`, and leave the feed. Then the next message can be said."""
    is_done = False
    try:
        with one.bells.hung(feed.bell):  # It is watched, so that a turn which another process takes is followed too.
            while not (desk.closing.is_set() or feed.is_late or one.is_gone):
                for happening in feed.take():
                    if happening.turn == turn and not is_done:
                        yield _render(one, happening, show)
                        is_done = isinstance(happening.event, Done) and not happening.within
                if is_done and one.turns.has_ended(turn):
                    return
                if not await wait_for(feed.bell):
                    yield b""
        yield render_message("ended", {})
    finally:
        one.feeds.leave(feed)


def _render(one: LiveConversation, happening: Happening, show: Show) -> bytes:
    """Return an event; its number is its id only once it is written, since until then it may become void."""
    record = show(happening.record())
    is_written = happening.number is not None and one.is_written(happening.number)
    return render_message(record["event"], record, id_=str(happening.number) if is_written else "")
