"""Receipts as values."""

from dataclasses import fields, replace

import pytest

from prowess.activation.receipts import AskedBy, Receipt, SessionRecord, Usage

_RECEIPT = Receipt("r1", "ann", "chat", "user:pdf", "pdf", "d", AskedBy.USER)


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


@pytest.mark.requirement("R92")
def test_nothing_that_is_remembered_has_room_for_instructions() -> None:
    remembered = {field.name for kind in (Receipt, SessionRecord, Usage) for field in fields(kind)}
    assert remembered.isdisjoint({"text", "content", "body", "instructions"})
