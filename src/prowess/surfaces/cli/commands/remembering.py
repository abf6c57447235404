"""`prowess sessions`."""

import click

from prowess.activation.receipts import SessionRecord
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.runtime.tool_results import receipt_record, run_receipt_record, show_moment
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text
from prowess.surfaces.records import Record

__all__ = ["command"]


@click.command("sessions")
@click.argument("session_id", required=False, metavar="[ID]")
@click.option("--end", "ended", metavar="ID", help="Switch everything off in a session and forget it.")
@json_option
@click.pass_obj
def command(invocation: Invocation, session_id: str | None, ended: str | None) -> None:
    """Show the sessions and what they have switched on; with an ID, the receipts of that session.

    \b
    prowess sessions
    prowess sessions monday
    prowess sessions --end monday
    """
    if session_id and ended:
        raise click.UsageError("give an ID to look at, or one to --end")
    with invocation.open() as runtime:
        if ended:
            _end(invocation, runtime, ended)
        elif session_id:
            _show(invocation, runtime, session_id)
        else:
            _list(invocation, runtime)


def _end(invocation: Invocation, runtime: Runtime, session_id: str) -> None:
    if not runtime.end_session(session_id):
        raise NotFound(f"no session '{session_id}'", hint="`prowess sessions` shows all", code="unknown-session")
    if invocation.as_json:
        print_json({"id": session_id, "ended": True})
    else:
        print_text(f"session {session_id} is ended")


def _show(invocation: Invocation, runtime: Runtime, session_id: str) -> None:
    receipts = [receipt_record(receipt) for receipt in runtime.receipts(session_id)]
    runs = [run_receipt_record(run) for run in runtime.runs(session_id)]
    if not receipts and not runs:
        raise NotFound(f"no session '{session_id}'", hint="`prowess sessions` shows all", code="unknown-session")
    if invocation.as_json:
        print_json({"id": session_id, "receipts": receipts, "runs": runs})
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


def _describe_end(row: Record) -> str:
    if row["timed_out"]:
        return "timed out"
    if row["exit_status"] is None:
        return "running" if row["ended_at"] is None else "not started"
    return str(row["exit_status"])


def _list(invocation: Invocation, runtime: Runtime) -> None:
    rows = [_record(session) for session in runtime.sessions()]
    if invocation.as_json:
        print_json({"sessions": rows})
        return
    if not rows:
        note("No sessions yet.")
    shown = [[row["id"], row["used_at"], row["agent"] or "", ", ".join(row["active"])] for row in rows]
    print_rows(["ID", "LAST USED", "AGENT", "ACTIVE"], shown)


def _record(session: SessionRecord) -> Record:
    return {
        "id": session.id,
        "agent": session.agent or None,
        "created_at": show_moment(session.created_at),
        "used_at": show_moment(session.used_at),
        "active": list(session.active),
    }
