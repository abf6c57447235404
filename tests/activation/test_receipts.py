"""Receipts as values."""

from dataclasses import fields, replace

import pytest

from prowess.activation.receipts import (
    MAX_KEPT_ARGUMENTS,
    AskedBy,
    Receipt,
    RunReceipt,
    SessionRecord,
    Usage,
    keep_arguments,
)

_RECEIPT = Receipt("r1", "ann", "chat", "user:pdf", "pdf", "d", AskedBy.USER)
_RUN = RunReceipt("x1", "ann", "chat", "user:pdf", "pdf", "d", "scripts/fill.py", "form.pdf", AskedBy.MODEL)


@pytest.mark.requirement("K6")
def test_receipt_is_open_until_it_has_an_end() -> None:
    assert _RECEIPT.is_open
    assert not replace(_RECEIPT, ended_at=0.0).is_open
    assert not replace(_RECEIPT, ended_at=1.5).is_open


@pytest.mark.requirement("K6")
def test_receipt_says_who_what_why_and_how_much() -> None:
    assert [field.name for field in fields(Receipt)] == [
        "id",
        "user",
        "session",
        "skill",
        "name",
        "digest",
        "asked_by",
        "agent",
        "trigger",
        "arguments",
        "consent",
        "size_bytes",
        "tokens",
        "at",
        "in_context",
        "ended_at",
    ]


@pytest.mark.requirement("K6")
def test_run_is_open_until_it_has_an_end() -> None:
    assert _RUN.is_open
    assert not replace(_RUN, ended_at=0.0).is_open
    assert not replace(_RUN, ended_at=1.5, exit_status=None, timed_out=True).is_open


@pytest.mark.requirement("K6")
def test_receipt_of_a_run_says_who_what_why_and_how_it_ended() -> None:
    assert [field.name for field in fields(RunReceipt)] == [
        "id",
        "user",
        "session",
        "skill",
        "name",
        "digest",
        "script",
        "arguments",
        "asked_by",
        "agent",
        "consent",
        "backend",
        "powers",
        "at",
        "ended_at",
        "exit_status",
        "timed_out",
        "seconds",
        "stdout_bytes",
        "stderr_bytes",
        "output_files",
        "output_bytes",
    ]


@pytest.mark.requirement("K6")
def test_very_long_arguments_are_kept_by_their_beginning() -> None:
    longest = "a" * MAX_KEPT_ARGUMENTS
    assert keep_arguments(longest) == longest
    assert keep_arguments(longest + "b") == longest[:-1] + "…"


@pytest.mark.requirement("R92")
def test_nothing_that_is_remembered_has_room_for_instructions_or_output() -> None:
    kinds = (Receipt, RunReceipt, SessionRecord, Usage)
    remembered = {field.name for kind in kinds for field in fields(kind)}
    assert remembered.isdisjoint({"text", "content", "body", "instructions", "stdout", "stderr", "output", "outputs"})
