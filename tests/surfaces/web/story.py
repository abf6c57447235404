"""A skill that checks invoices, and a model that works by it: a conversation with cards of all kinds."""

import struct
import zlib
from pathlib import Path
from typing import Any, cast

from tests.agent.openai_server import Reply, call, say
from tests.skills_on_disk import write_skill

__all__ = ["AGAIN", "ANSWER", "FIRST", "NAME", "WHAT", "check_invoices", "write_invoice_skill"]

NAME = "invoice-check"
WHAT = "Checks a folder of invoices against the rules of the office. Use when invoices are to be checked or summed up."
FIRST = "Check the invoices of March and tell me what is wrong with them."
AGAIN = "Check them again, please."
ANSWER = """Two of the **14 invoices** of March need a second look:

| Invoice | Amount | What is wrong |
| --- | ---: | --- |
| 2025-031 | 1,240.00 | no date |
| 2025-037 | 86.50 | paid twice |

This adds up the others:

```python
def total(invoices: list[Invoice]) -> float:
    return sum(one.amount for one in invoices if not one.faults)  # 12 of 14
```
"""
_BODY = """# Check invoices

1. Read `references/rules.md`.
2. Run `scripts/check.sh MONTH`; it leaves a report.
3. Tell what is wrong, in a table.
"""
_RULES = """# Rules of the office

- Every invoice has a date and a number.
- No number comes twice.
- Amounts over 1,000 need a second signature.
"""
_SCRIPT = """#!/bin/sh
echo "month: $1"
echo "14 invoices read"
sleep {pause}
echo "2025-031: no date"
echo "2025-037: paid twice"
{more}printf 'invoice,fault\\n2025-031,no date\\n2025-037,paid twice\\n' > "$PROWESS_OUTPUT/report.csv"
"""


def write_invoice_skill(root: Path, *, pause_seconds: float = 0, more: str = "") -> Path:
    """Write the skill; `more` is a further line of its script."""
    return write_skill(
        root,
        NAME,
        description=WHAT,
        body=_BODY,
        files={
            "references/rules.md": _RULES,
            "assets/stamp.png": _make_picture(),
            "scripts/check.sh": _SCRIPT.format(pause=pause_seconds, more=f"{more}\n" if more else ""),
        },
    )


def check_invoices(body: dict[str, Any]) -> Reply:
    """Do what the skill says; a second time, only run its script."""
    messages = cast("list[dict[str, Any]]", body["messages"])
    users = [at for at, one in enumerate(messages) if one["role"] == "user"]
    done = sum(one["role"] == "tool" for one in messages[users[-1] :])
    run = call("run_skill_script", {"name": NAME, "script": "scripts/check.sh", "arguments": ["march"]})
    if AGAIN in str(messages[users[-1]]["content"]):
        return run if not done else say("The same two are wrong.")
    steps = (
        call("activate_skill", {"name": NAME}),
        call("read_skill_resource", {"name": NAME, "path": "references/rules.md"}),
        call("read_skill_resource", {"name": NAME, "path": "assets/stamp.png"}),
        run,
        say(ANSWER),
    )
    return steps[done]


def _make_picture() -> bytes:
    """Return a PNG of 96 by 48 points in two colours."""
    line = b"\0" + b"\x3b\x5b\xdb" * 48 + b"\xe8\xed\xfc" * 48
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", 96, 48, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(line * 48)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
