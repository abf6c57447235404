"""Conversations over HTTP: what there are, what happens in them, messages, questions and their answers."""

import asyncio
from functools import partial
from typing import Any

import anyio.to_thread
import msgspec
from starlette.responses import Response

from prowess.activation.mentions import Completion
from prowess.errors import NotFound, Refused
from prowess.state.live_turns import OpenQuestion
from prowess.surfaces.records import conversation_record
from prowess.surfaces.web.api.conversation_answers import (
    AnswerBody,
    Answered,
    BegunTurn,
    Cancelled,
    Completions,
    ConversationList,
    ConversationQuery,
    ConversationState,
    Deactivated,
    Deleted,
    EventsQuery,
    History,
    HistoryQuery,
    Message,
    NewConversation,
    Nothing,
    Questions,
    Renamed,
    Title,
    TypedQuery,
)
from prowess.surfaces.web.api.operations import Call, Operation, bad_request
from prowess.surfaces.web.conversations.following import (
    describe_state,
    follow_blocks,
    follow_changes,
    follow_records,
    follow_turn,
    read_since,
)
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from prowess.surfaces.web.conversations.streams import STREAM, stream_response, take_slot

__all__ = ["CONVERSATION_OPERATIONS"]

_row = partial(Operation, tag="conversations", show=Call.show_conversation)


async def _find(call: Call) -> LiveConversation:
    return await call.site.desk.conversation(call.path["conversation"])


def _list(call: Call) -> dict[str, Any]:
    listed = call.site.desk.listed(call.query.query, limit=call.query.limit)
    rows = [{**conversation_record(one), "busy": busy} for one, busy in listed]
    return {"conversations": rows, "kept": call.site.desk.keeps}


async def _begin(call: Call) -> dict[str, Any]:
    return {"id": call.site.desk.new_id()}


async def _show(call: Call) -> dict[str, Any]:
    one = await _find(call)
    return {"id": one.id, "last_event": one.scene.last, **describe_state(one)}


def _unknown(chat_id: str) -> NotFound:
    return NotFound(f"no conversation '{chat_id}'", hint="/api/conversations lists them", code="unknown-conversation")


async def _rename(call: Call) -> dict[str, Any]:
    chat_id = call.path["conversation"]
    if not await call.site.desk.rename(chat_id, call.body.title):
        raise _unknown(chat_id)
    one = await _find(call)
    await one.refresh()  # While a message is answered here, nobody else looks.
    return {"id": chat_id, "title": one.title}


async def _delete(call: Call) -> dict[str, Any]:
    return {"deleted": await call.site.desk.forget(call.path["conversation"])}


async def _say(call: Call) -> object:
    if not call.body.text.strip():
        raise bad_request("the message is empty", code="empty-message")
    one = await _find(call)
    desk = call.site.desk
    if STREAM not in call.request.headers.get("accept", ""):
        return {"turn": await desk.say(one, call.body.text, model=call.body.model)}
    with take_slot(call.site, call.request) as held:  # First: who is refused must not be answered all the same.
        feed = one.feeds.follow(asyncio.Event())  # So that nothing of it is missed.
        held.callback(one.feeds.leave, feed)
        turn = await desk.say(one, call.body.text, model=call.body.model)
        messages = follow_turn(desk, one, feed, turn, show=call.show_conversation)
        return stream_response(call.site, held.pop_all(), messages)


async def _cancel(call: Call) -> dict[str, Any]:
    one = await _find(call)
    return {"cancelled": await one.turns.cancel()}


async def _follow(call: Call) -> Response:
    one = await _find(call)
    desk, site = call.site.desk, call.site
    known = call.request.headers.get("last-event-id", "")
    if call.query.form == "blocks":
        renderer = site.choose_renderer(is_local=call.is_local)
        cursor = known or call.query.cursor
        messages = follow_blocks(desk, one, renderer, cursor, show=call.show_conversation)
        return stream_response(site, take_slot(site, call.request), messages)
    after = int(known) if known.isascii() and known.isdigit() and len(known) < 16 else call.query.after
    messages = follow_records(desk, one, after, show=call.show_conversation)
    return stream_response(site, take_slot(site, call.request), messages)


async def _read_history(call: Call) -> dict[str, Any]:
    one = await _find(call)
    happenings = await one.work(partial(read_since, one, call.query.after))
    return {"events": [happening.record() for happening in happenings]}


async def _list_questions(call: Call) -> dict[str, Any]:
    one = await _find(call)
    return {"questions": [_question_row(question) for question in await one.open_questions()]}


def _question_row(question: OpenQuestion) -> dict[str, Any]:
    return {
        "id": question.id,
        "turn": question.turn,
        "answer": question.answer or None,
        "record": msgspec.json.decode(question.record),
    }


async def _answer(call: Call) -> dict[str, Any]:
    one = await _find(call)
    question, mine = await one.answer(call.path["question"], call.body.answer)
    if question is None:
        raise NotFound("no such question", hint="it may have been withdrawn", code="unknown-question")
    if not mine:
        raise Refused(
            f"it was answered already: {question.answer}", hint="the first answer counts", code="question-answered"
        )
    return {"answer": question.answer}


async def _complete(call: Call) -> dict[str, Any]:
    one = await _find(call)
    found = await anyio.to_thread.run_sync(one.chat.session.complete, call.query.typed)
    sign = call.query.typed[:1] if call.query.typed[:1] in ("/", "$") else "/"
    return {"completions": [_completion_row(row, sign) for row in found]}


def _completion_row(row: Completion, sign: str) -> dict[str, Any]:
    return {
        "name": row.name,
        "mention": f"{sign}{row.name} ",
        "description": row.description,
        "hint": row.argument_hint,
    }


async def _deactivate(call: Call) -> dict[str, Any]:
    one = await _find(call)
    wanted = call.path["skill"]
    for skill in one.active:
        if wanted in (skill.key, skill.name, skill.id):
            return {"deactivated": await one.deactivate(skill.id) is not None}
    return {"deactivated": False}


async def _follow_changes(call: Call) -> Response:
    return stream_response(call.site, take_slot(call.site, call.request), follow_changes(call.site.desk))


_ONE = "/api/conversations/{conversation}"

CONVERSATION_OPERATIONS = (
    _row(
        "GET",
        "/api/conversations",
        "list_conversations",
        "List the conversations that were used last, or those of them that hold some words.",
        _list,
        query=ConversationQuery,
        answer=ConversationList,
    ),
    _row(
        "POST",
        "/api/conversations",
        "begin_conversation",
        "Get an id for a new conversation.",
        _begin,
        body=Nothing,
        answer=NewConversation,
    ),
    _row("GET", _ONE, "show_conversation", "Show one conversation as it is now.", _show, answer=ConversationState),
    _row(
        "PATCH",
        _ONE,
        "rename_conversation",
        "Give a conversation a title.",
        _rename,
        body=Title,
        answer=Renamed,
        errors=(404,),
    ),
    _row(
        "DELETE", _ONE, "delete_conversation", "Delete a conversation with all that was said.", _delete, answer=Deleted
    ),
    _row(
        "GET",
        f"{_ONE}/history",
        "read_conversation",
        "Read what happened in a conversation.",
        _read_history,
        query=HistoryQuery,
        answer=History,
    ),
    _row(
        "GET",
        f"{_ONE}/events",
        "follow_conversation",
        "Follow a conversation, as server-sent events.",
        _follow,
        query=EventsQuery,
        media=STREAM,
    ),
    _row(
        "POST",
        f"{_ONE}/messages",
        "say",
        "Say something. With Accept: text/event-stream the answer is the stream of its events, the last of them done.",
        _say,
        body=Message,
        answer=BegunTurn,
        status=202,
        errors=(409, 422),
    ),
    _row("POST", f"{_ONE}/cancel", "cancel", "Stop the answer that is under way.", _cancel, answer=Cancelled),
    _row(
        "GET",
        f"{_ONE}/questions",
        "list_questions",
        "List the questions of consent that wait.",
        _list_questions,
        answer=Questions,
    ),
    _row(
        "POST",
        f"{_ONE}/questions/{{question}}",
        "answer_question",
        "Answer a question of consent; the first answer counts.",
        _answer,
        body=AnswerBody,
        answer=Answered,
        errors=(404, 409),
    ),
    _row(
        "GET",
        f"{_ONE}/completions",
        "complete_mention",
        "Complete the mention of a skill.",
        _complete,
        query=TypedQuery,
        answer=Completions,
    ),
    _row(
        "DELETE",
        f"{_ONE}/active/{{skill}}",
        "deactivate_skill",
        "Switch a skill off in a conversation.",
        _deactivate,
        answer=Deactivated,
    ),
    _row(
        "GET",
        "/api/changes",
        "follow_changes",
        "Hear that skills, conversations or decisions have changed, as server-sent events.",
        _follow_changes,
        media=STREAM,
    ),
)
