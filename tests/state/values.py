"""Grants, receipts, runs, sessions, events, turns and questions with little typing."""

import json
from dataclasses import replace

from prowess.activation.grants import Act, Decision, Grant
from prowess.activation.receipts import AskedBy, Receipt, RunReceipt, SessionRecord
from prowess.catalog.switches import SwitchKey
from prowess.skill.digest import FileKind, SkillFile
from prowess.state.conversations import LoggedEvent, Outcome, TokenUse, TurnReceipt
from prowess.state.live_turns import LiveTurn, OpenQuestion

__all__ = [
    "FILES",
    "end_run",
    "end_turn",
    "make_event",
    "make_events",
    "make_grant",
    "make_live_turn",
    "make_question",
    "make_receipt",
    "make_run",
    "make_session",
    "make_turn",
]

FILES = (
    SkillFile(b"SKILL.md", FileKind.FILE, 120, "a" * 64),
    SkillFile(b"scripts/\xff\n.sh", FileKind.EXECUTABLE, 7, "b" * 64),
    SkillFile("ссылка".encode(), FileKind.LINK, 0, "c" * 64),
)


def make_grant(
    digest: str = "d1",
    *,
    user: str = "ann",
    session: str = "",
    decision: Decision = Decision.ALLOW,
    skill: str = "core:pdf",
    root: str = "",
    at: float = 1.0,
    act: Act = Act.USE,
    powers: tuple[str, ...] = (),
) -> Grant:
    return Grant(
        user=user,
        skill=SwitchKey(skill, root),
        name="pdf",
        digest=digest,
        decision=decision,
        session=session,
        given_by="terminal",
        at=at,
        files=FILES,
        act=act,
        powers=powers,
    )


def make_receipt(
    receipt_id: str = "r1",
    *,
    user: str = "ann",
    session: str = "chat",
    skill: str = "core:pdf",
    name: str = "",
    digest: str = "d1",
    tokens: int = 25,
    at: float = 1.0,
) -> Receipt:
    return Receipt(
        id=receipt_id,
        user=user,
        session=session,
        skill=skill,
        name=name or skill.partition(":")[2],
        digest=digest,
        asked_by=AskedBy.USER,
        agent="main",
        trigger="fill the form",
        arguments="form.pdf --all",
        consent="always",
        size_bytes=100,
        tokens=tokens,
        at=at,
    )


def make_run(
    run_id: str = "x1",
    *,
    user: str = "ann",
    session: str = "chat",
    skill: str = "core:pdf",
    name: str = "",
    at: float = 1.0,
) -> RunReceipt:
    """Return a run that has just begun."""
    return RunReceipt(
        id=run_id,
        user=user,
        session=session,
        skill=skill,
        name=name or skill.partition(":")[2],
        digest="d1",
        script="scripts/fill.py",
        arguments="form.pdf --all",
        asked_by=AskedBy.MODEL,
        agent="main",
        consent="always",
        backend="bubblewrap",
        powers=("network", "secret:TOKEN"),
        at=at,
    )


def end_run(run: RunReceipt, *, exit_status: int | None = 0) -> RunReceipt:
    """Return the same run, half a second later."""
    return replace(
        run,
        ended_at=run.at + 0.5,
        exit_status=exit_status,
        timed_out=exit_status is None,
        seconds=0.5,
        stdout_bytes=1 << 40,
        stderr_bytes=7,
        output_files=2,
        output_bytes=300,
    )


def make_session(session: str = "chat", *, user: str = "ann", agent: str = "main", at: float = 1.0) -> SessionRecord:
    return SessionRecord(user=user, id=session, agent=agent, created_at=at, used_at=at)


def make_event(
    number: int = 1,
    *,
    kind: str = "begun",
    turn: str = "t1",
    message: str = "Fill in the form",
    within: str = "",
    at: float = 1.0,
) -> LoggedEvent:
    data = json.dumps({"event": kind, "message": message, "model": "offline"}, ensure_ascii=False)
    return LoggedEvent(number, turn, kind, data, at, within)


def make_events(first: int, last: int, *, turn: str = "t1", at: float = 1.0) -> tuple[LoggedEvent, ...]:
    """Return the events of one turn, with these numbers."""
    kinds = ["begun", *["answer"] * (last - first)]
    return tuple(make_event(number, kind=kind, turn=turn, at=at) for number, kind in enumerate(kinds, first))


def make_turn(
    turn_id: str = "t1",
    *,
    user: str = "ann",
    session: str = "chat",
    model: str = "offline",
    parent: str = "",
    at: float = 1.0,
) -> TurnReceipt:
    """Return a turn, or a fork of another, that has just begun."""
    turn = TurnReceipt(turn_id, user, session, model, agent="main", at=at, parent=parent)
    if not parent:
        return turn
    return replace(
        turn,
        skill="core:deploy",
        name="deploy",
        digest="d1",
        permissions=("@network", "@workspace"),
        granted_by="deploy Skill",
    )


def end_turn(
    turn: TurnReceipt, *, outcome: Outcome = Outcome.ANSWERED, tokens: int = 100, cost_usd: float | None = None
) -> TurnReceipt:
    """Return the same turn, half a second later."""
    use = TokenUse(2, tokens, tokens // 10, tokens // 2, cost_usd)
    return replace(turn, ended_at=turn.at + 0.5, outcome=outcome, steps=2, calls=3, use=use)


def make_live_turn(
    turn_id: str = "t1", *, user: str = "ann", session: str = "chat", holder: str = "one", at: float = 1.0
) -> LiveTurn:
    """Return a turn that its holder is about to begin."""
    return LiveTurn(user, session, turn_id, "Fill in the form", "offline", holder, begun_at=at, beat_at=at)


def make_question(
    question_id: str = "q1", *, user: str = "ann", session: str = "chat", turn: str = "t1", at: float = 1.0
) -> OpenQuestion:
    return OpenQuestion(user, session, question_id, turn, '{"skill": "core:pdf"}', at)
