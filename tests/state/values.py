"""Grants, receipts and sessions with little typing."""

from prowess.activation.grants import Decision, Grant
from prowess.activation.receipts import AskedBy, Receipt, SessionRecord
from prowess.catalog.switches import SwitchKey
from prowess.skill.digest import FileKind, SkillFile

__all__ = ["FILES", "make_grant", "make_receipt", "make_session"]

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


def make_session(session: str = "chat", *, user: str = "ann", agent: str = "main", at: float = 1.0) -> SessionRecord:
    return SessionRecord(user=user, id=session, agent=agent, created_at=at, used_at=at)
