"""`prowess sessions`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from prowess.activation.receipts import SessionRecord
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.runtime.tool_results import receipt_record, run_receipt_record, show_moment, turn_record
from prowess.state.conversations import ConversationRecord, TurnReceipt
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text
from prowess.surfaces.records import Record, conversation_record
from prowess.surfaces.wording import show_cost

__all__ = ["command"]


@click.command("sessions")
@click.argument("session_id", required=False, metavar="[ID]")
@click.option("--end", "ended", metavar="ID", help="Switch everything off in a session and forget it.")
@click.option("--forget", "forgotten", metavar="ID", help="End a session, and delete what was said in it.")
@json_option
@click.pass_obj
def command(invocation: Invocation, session_id: str | None, ended: str | None, forgotten: str | None) -> None:
    """Show the sessions, their conversations and what they have switched on; with an ID, the receipts of that session.

    \b
    prowess sessions
    prowess sessions monday
    prowess sessions --end monday
    prowess sessions --forget monday
    """
    if len([given for given in (session_id, ended, forgotten) if given]) > 1:
        raise click.UsageError("give an ID to look at, or one to --end, or one to --forget")
    with invocation.open() as runtime:
        if ended:
            _end(invocation, runtime, ended)
        elif forgotten:
            _forget(invocation, runtime, forgotten)
        elif session_id:
            _show(invocation, runtime, session_id)
        else:
            _list(invocation, runtime)


def _end(invocation: Invocation, runtime: Runtime, session_id: str) -> None:
    if not runtime.end_session(session_id):
        raise _unknown(session_id)
    if invocation.as_json:
        print_json({"id": session_id, "ended": True})
    else:
        print_text(f"session {session_id} is ended")


def _forget(invocation: Invocation, runtime: Runtime, session_id: str) -> None:
    known = runtime.find_conversation(session_id)
    if not runtime.forget_conversation(session_id):
        raise _unknown(session_id)
    if invocation.as_json:
        print_json({"id": session_id, "ended": True, "forgotten": known and conversation_record(known)})
    elif known is None:
        print_text(f"session {session_id} is ended; it had no conversation to delete")
    else:
        turns = "1 turn" if known.turns == 1 else f"{known.turns:,} turns"
        print_text(f'conversation {session_id} is deleted: "{known.title}", {turns}; its receipts stay')


def _unknown(session_id: str) -> NotFound:
    return NotFound(f"no session '{session_id}'", hint="`prowess sessions` shows all", code="unknown-session")


def _show(invocation: Invocation, runtime: Runtime, session_id: str) -> None:
    receipts = [receipt_record(receipt) for receipt in runtime.receipts(session_id)]
    runs = [run_receipt_record(run) for run in runtime.runs(session_id)]
    turns = [_with_forks(runtime, turn) for turn in runtime.turns(session_id)]
    if not receipts and not runs and not turns:
        raise _unknown(session_id)
    if invocation.as_json:
        print_json({"id": session_id, "receipts": receipts, "runs": runs, "turns": turns})
        return
    rows = [
        [row["at"], row["name"], row["asked_by"], row["consent"], str(row["tokens"]), row["ended_at"] or "active"]
        for row in receipts
    ]
    if rows:
        print_rows(["WHEN", "SKILL", "ASKED BY", "CONSENT", "TOKENS", "ENDED"], rows)
    ran = [
        [row["at"], row["name"], row["script"], row["consent"], _describe_end(row), f"{row['seconds']:.2f} s"]
        for row in runs
    ]
    if ran:
        print_rows(["WHEN", "SKILL", "SCRIPT", "CONSENT", "STATUS", "TIME"], ran)
    took = list(_turn_rows(turns))
    if took:
        print_rows(["WHEN", "MODEL", "OUTCOME", "STEPS", "CALLS", "TOKENS IN", "TOKENS OUT", "COST", "FORK"], took)


def _describe_end(row: Record) -> str:
    if row["timed_out"]:
        return "timed out"
    if row["exit_status"] is None:
        return "running" if row["ended_at"] is None else "not started"
    return str(row["exit_status"])


def _with_forks(runtime: Runtime, turn: TurnReceipt) -> Record:
    """Return a turn with the forks that it has called for, and theirs."""
    return turn_record(turn) | {"forks": [_with_forks(runtime, fork) for fork in runtime.turns(parent=turn.id)]}


def _turn_rows(turns: Sequence[Record], *, depth: int = 0) -> Iterator[list[str]]:
    for row in turns:
        use = row["use"]
        yield [
            "  " * depth + row["at"],
            row["model"],
            row["outcome"] or "open",
            *map(str, (row["steps"], row["calls"], use["input_tokens"], use["output_tokens"])),
            show_cost(use["cost_usd"]),
            _describe_fork(row) if row["parent"] else "",
        ]
        yield from _turn_rows(row["forks"], depth=depth + 1)


def _describe_fork(row: Record) -> str:
    permissions = " ".join(row["permissions"])
    return f"{row['name']}: {permissions or 'no permissions'}, granted by {row['granted_by']}"


def _list(invocation: Invocation, runtime: Runtime) -> None:
    rows = _session_records(runtime)
    if invocation.as_json:
        print_json({"sessions": rows})
        return
    if not rows:
        note("No sessions yet.")
    shown = [
        [row["id"], row["used_at"], row["agent"] or "", ", ".join(row["active"]), str(row["turns"]), row["title"] or ""]
        for row in rows
    ]
    print_rows(["ID", "LAST USED", "AGENT", "ACTIVE", "TURNS", "TITLE"], shown)


def _session_records(runtime: Runtime) -> list[Record]:
    """Return sessions and conversations, which outlive them, as one list: the one used last first."""
    conversations = {one.id: one for one in runtime.conversations()}
    sessions = [_touched(session, conversations.get(session.id)) for session in runtime.sessions()]
    known = {session.id for session in sessions}
    sessions += [_session_of(one) for one in conversations.values() if one.id not in known]
    sessions.sort(key=lambda session: session.used_at, reverse=True)
    return [_record(session, conversations.get(session.id)) for session in sessions]


def _touched(session: SessionRecord, conversation: ConversationRecord | None) -> SessionRecord:
    used_at = max(session.used_at, conversation.used_at if conversation else 0.0)
    return replace(session, used_at=used_at)


def _session_of(conversation: ConversationRecord) -> SessionRecord:
    """Return what there is to say of a session that has ended since."""
    return SessionRecord(
        conversation.user, conversation.id, created_at=conversation.created_at, used_at=conversation.used_at
    )


def _record(session: SessionRecord, conversation: ConversationRecord | None) -> Record:
    return {
        "id": session.id,
        "agent": session.agent or None,
        "created_at": show_moment(session.created_at),
        "used_at": show_moment(session.used_at),
        "active": list(session.active),
        "title": conversation.title if conversation else None,
        "model": conversation.model if conversation else None,
        "turns": conversation.turns if conversation else 0,
    }
