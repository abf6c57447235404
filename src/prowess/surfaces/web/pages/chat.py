"""The chat: a new conversation, or one that goes on."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from starlette.responses import Response

from prowess.surfaces.records import conversation_record
from prowess.surfaces.web.api.models import describe_models
from prowess.surfaces.web.conversations.following import describe_state
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from prowess.surfaces.web.pages.page import Page, Visit

__all__ = ["CHAT_PAGES"]

_Made = TypeVar("_Made")
_LISTED = 30
"""Conversations that a page lists at first, so that it stays small; the others come when they are asked for."""


async def _begin(visit: Visit) -> Response:
    return await _show(visit, None)


async def _go_on(visit: Visit) -> Response:
    one = await visit.site.desk.conversation(visit.request.path_params["conversation"])
    return await _show(visit, one)


async def _show(visit: Visit, one: LiveConversation | None) -> Response:
    site = visit.site
    patches = one.scene.patches("") if one else None
    show_blocks = site.choose_renderer(is_local=visit.is_local).page
    revision = site.desk.revisions.conversations  # Before the list, so that the page looks again rather than not.
    listed = await _work(visit, partial(site.desk.listed, limit=_LISTED + 1))
    known: dict[str, Any] = {
        "conversations": [{**conversation_record(record), "busy": busy} for record, busy in listed[:_LISTED]],
        "state": describe_state(one) if one else _new_state(visit),
    }
    models = await _work(visit, partial(describe_models, site.runtime, default=site.options.model))
    values: dict[str, Any] = {
        **visit.show_conversation(known),
        "conversation": one.id if one else "",
        "listed": _LISTED,
        "more": len(listed) > _LISTED,
        "revision": revision,
        "kept": site.desk.keeps,
        "logs_in": bool(site.options.token),
        "cursor": patches.cursor if patches else "",
        "blocks": await _work(visit, partial(show_blocks, patches)) if patches else "",
        "models": visit.show_record(models),
    }
    return visit.render("chat.html", values, page="chat")


async def _work(visit: Visit, work: Callable[[], _Made]) -> _Made:
    return await anyio.to_thread.run_sync(work, limiter=visit.site.threads)


def _new_state(visit: Visit) -> dict[str, Any]:
    return {"busy": False, "turn": "", "title": "", "model": visit.site.desk.default_model, "active": []}


CHAT_PAGES = (Page("/", "new_chat", _begin), Page("/chat/{conversation}", "chat", _go_on))
