"""Grants, receipts and sessions as rows, and back."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from prowess.activation.grants import Decision, Grant
from prowess.activation.receipts import AskedBy, Receipt, SessionRecord
from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import WorldError
from prowess.skill.digest import SkillFile
from prowess.state.database import Row
from prowess.state.packing import pack, unpack

__all__ = ["pack_grant", "pack_receipt", "unpack_grant", "unpack_receipt", "unpack_sessions", "unpack_switch"]

_Choice = TypeVar("_Choice", bound=StrEnum)


def unpack_switch(row: Row) -> tuple[tuple[str, SwitchKey], Switch]:
    """Return a switch with its agent and skill: agent, skill, root, position."""
    agent, skill, root, position = unpack(row)
    return (agent, SwitchKey(skill, root)), _known(Switch, position)


def pack_grant(grant: Grant) -> tuple[object, ...]:
    """Return owner, digest, session, skill, root, name, decision, given_by, given_at, files."""
    import msgspec

    files = msgspec.json.encode(grant.files).decode()  # Paths are bytes, and become base 64.
    key = pack(grant.user, grant.digest, grant.session, grant.skill.skill, grant.skill.root, grant.name)
    return (*key, grant.decision.value, *pack(grant.given_by), grant.at, files)


def unpack_grant(row: Row) -> Grant:
    """Return the grant of a row as `pack_grant` made it."""
    import msgspec

    user, digest, session, skill, root, name, decision, given_by, at, files = unpack(row)
    return Grant(
        user=user,
        skill=SwitchKey(skill, root),
        name=name,
        digest=digest,
        decision=_known(Decision, decision),
        session=session,
        given_by=given_by,
        at=at,
        files=msgspec.json.decode(files, type=tuple[SkillFile, ...]),
    )


def pack_receipt(receipt: Receipt) -> tuple[object, ...]:
    """Return owner, session, id, skill, name, digest, asked_by, agent, triggered_by, and so on up to in_context."""
    return (
        *pack(receipt.user, receipt.session, receipt.id, receipt.skill, receipt.name, receipt.digest),
        receipt.asked_by.value,
        *pack(receipt.agent, receipt.trigger, receipt.arguments, receipt.consent),
        receipt.size_bytes,
        receipt.tokens,
        receipt.at,
        int(receipt.in_context),
    )


def unpack_receipt(row: Row) -> Receipt:
    """Return the receipt of a row as `pack_receipt` made it, with ended_at at its end."""
    user, session, id_, skill, name, digest, asked_by, agent, trigger, arguments, *numbers = unpack(row)
    consent, size_bytes, tokens, at, in_context, ended_at = numbers
    return Receipt(
        id=id_,
        user=user,
        session=session,
        skill=skill,
        name=name,
        digest=digest,
        asked_by=_known(AskedBy, asked_by),
        agent=agent,
        trigger=trigger,
        arguments=arguments,
        consent=consent,
        size_bytes=size_bytes,
        tokens=tokens,
        at=at,
        in_context=bool(in_context),
        ended_at=ended_at,
    )


def unpack_sessions(rows: Iterable[Row]) -> tuple[SessionRecord, ...]:
    """Return the sessions of rows that hold one active name each: owner, id, agent, created_at, used_at, name."""
    active: dict[Row, list[str]] = {}
    for *session, name in map(unpack, rows):
        names = active.setdefault(tuple(session), [])
        if name is not None:
            names.append(name)
    return tuple(SessionRecord(*session, active=tuple(names)) for session, names in active.items())


def _known(kind: type[_Choice], value: str) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        raise WorldError(
            f"the state knows a {kind.__name__.lower()} '{value}' that this Prowess does not",
            hint="update Prowess, or decide again",
            code="state-unusable",
        ) from None
