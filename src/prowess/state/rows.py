"""Grants, receipts, runs and sessions as rows, and back."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from prowess.activation.grants import Act, Decision, Grant
from prowess.activation.receipts import AskedBy, DayUsage, Receipt, RunReceipt, SessionRecord, Usage
from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import WorldError
from prowess.skill.digest import SkillFile
from prowess.state.database import Row
from prowess.state.packing import pack, pack_texts, unpack, unpack_texts

__all__ = [
    "known_choice",
    "pack_grant",
    "pack_receipt",
    "pack_run",
    "unpack_day_usage",
    "unpack_grant",
    "unpack_receipt",
    "unpack_run",
    "unpack_sessions",
    "unpack_switch",
    "unpack_usage",
]

_Choice = TypeVar("_Choice", bound=StrEnum)


def unpack_switch(row: Row) -> tuple[tuple[str, SwitchKey], Switch]:
    """Return a switch with its agent and skill: agent, skill, root, position."""
    agent, skill, root, position = unpack(row)
    return (agent, SwitchKey(skill, root)), known_choice(Switch, position)


def pack_grant(grant: Grant) -> tuple[object, ...]:
    """Return owner, digest, session, act, skill, root, name, decision, given_by, given_at, files, powers."""
    import msgspec

    files = msgspec.json.encode(grant.files).decode()  # Paths are bytes, and become base 64.
    return (
        *pack(grant.user, grant.digest, grant.session, grant.act.value),
        *pack(grant.skill.skill, grant.skill.root, grant.name, grant.decision.value, grant.given_by),
        grant.at,
        files,
        pack_texts(grant.powers),
    )


def unpack_grant(row: Row) -> Grant:
    """Return the grant of a row as `pack_grant` made it."""
    import msgspec

    user, digest, session, act, skill, root, name, decision, given_by, at, files, powers = unpack(row)
    return Grant(
        user=user,
        skill=SwitchKey(skill, root),
        name=name,
        digest=digest,
        decision=known_choice(Decision, decision),
        session=session,
        given_by=given_by,
        at=at,
        files=msgspec.json.decode(files, type=tuple[SkillFile, ...]),
        act=known_choice(Act, act),
        powers=unpack_texts(powers),
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
        asked_by=known_choice(AskedBy, asked_by),
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


def pack_run(run: RunReceipt) -> tuple[object, ...]:
    """Return owner, session, id, skill, name, digest, script, arguments, asked_by, and so on up to output_bytes."""
    return (
        *pack(run.user, run.session, run.id, run.skill, run.name, run.digest, run.script, run.arguments),
        run.asked_by.value,
        *pack(run.agent, run.consent, run.backend),
        pack_texts(run.powers),
        run.at,
        run.ended_at,
        run.exit_status,
        int(run.timed_out),
        run.seconds,
        run.stdout_bytes,
        run.stderr_bytes,
        run.output_files,
        run.output_bytes,
    )


def unpack_run(row: Row) -> RunReceipt:
    """Return the run of a row as `pack_run` made it."""
    user, session, id_, skill, name, digest, script, arguments, asked_by, *others = unpack(row)
    agent, consent, backend, powers, at, ended_at, exit_status, timed_out, seconds, *sizes = others
    stdout_bytes, stderr_bytes, output_files, output_bytes = sizes
    return RunReceipt(
        id=id_,
        user=user,
        session=session,
        skill=skill,
        name=name,
        digest=digest,
        script=script,
        arguments=arguments,
        asked_by=known_choice(AskedBy, asked_by),
        agent=agent,
        consent=consent,
        backend=backend,
        powers=unpack_texts(powers),
        at=at,
        ended_at=ended_at,
        exit_status=exit_status,
        timed_out=bool(timed_out),
        seconds=seconds,
        stdout_bytes=stdout_bytes,
        stderr_bytes=stderr_bytes,
        output_files=output_files,
        output_bytes=output_bytes,
    )


def unpack_usage(rows: Iterable[Row]) -> tuple[Usage, ...]:
    """Return usage, most used first, of rows whose numbers are added up for each skill; its latest name counts.

    They hold skill, name, activations, sessions, tokens, last_used_at, runs.
    """
    found: dict[str, Usage] = {}
    for usage in (Usage(*unpack(row)) for row in rows):
        known = found.get(usage.skill)
        found[usage.skill] = usage if known is None else _add_usage(known, usage)
    return tuple(sorted(found.values(), key=lambda one: (-one.activations, -one.runs, -one.last_used_at, one.skill)))


def unpack_day_usage(rows: Iterable[Row]) -> tuple[DayUsage, ...]:
    """Return usage by day of rows whose numbers are added up for each day and skill; the last name of a day counts.

    They hold day, skill, name, activations, runs.
    """
    found: dict[tuple[int, str], DayUsage] = {}
    for day, skill, name, activations, runs in map(unpack, rows):
        known = found.get((day, skill), DayUsage(day, skill, name, 0, 0))
        found[day, skill] = DayUsage(day, skill, name, known.activations + activations, known.runs + runs)
    return tuple(found.values())


def unpack_sessions(rows: Iterable[Row]) -> tuple[SessionRecord, ...]:
    """Return the sessions of rows that hold one active name each: owner, id, agent, created_at, used_at, name."""
    active: dict[Row, list[str]] = {}
    for *session, name in map(unpack, rows):
        names = active.setdefault(tuple(session), [])
        if name is not None:
            names.append(name)
    return tuple(SessionRecord(*session, active=tuple(names)) for session, names in active.items())


def _add_usage(one: Usage, other: Usage) -> Usage:
    latest = other if other.last_used_at > one.last_used_at else one
    return Usage(
        skill=one.skill,
        name=latest.name,
        activations=one.activations + other.activations,
        sessions=one.sessions + other.sessions,
        tokens=one.tokens + other.tokens,
        last_used_at=latest.last_used_at,
        runs=one.runs + other.runs,
    )


def known_choice(kind: type[_Choice], value: str) -> _Choice:
    """Return what a column means, unless a newer Prowess wrote it."""
    try:
        return kind(value)
    except ValueError:
        raise WorldError(
            f"the state knows a {kind.__name__.lower()} '{value}' that this Prowess does not",
            hint="update Prowess, or decide again",
            code="state-unusable",
        ) from None
