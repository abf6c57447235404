"""Skills with scripts, and short ways to run them."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.consent import Answer
from prowess.errors import ProwessError
from prowess.runtime import Runtime, Session
from prowess.runtime.run_results import RunResult
from tests.runtime.people import Person
from tests.skills_on_disk import write_skill

__all__ = ["Agreeable", "find_processes", "is_gone", "open_agreed", "refusal", "said", "try_run", "write_scripts"]


class Agreeable(Person):
    """Says yes to each question, once."""

    def ask(self, question: Any) -> Answer | None:
        self.questions.append(question)
        return Answer.ALLOW_ONCE


def write_scripts(root: Path, name: str, scripts: Mapping[str, str | bytes], *, extra: str = "") -> Path:
    """Write a skill with these files; a name without a folder is that of a script."""
    files = {path if "/" in path else f"scripts/{path}": text for path, text in scripts.items()}
    return write_skill(root, name, files=files, extra=extra)


def open_agreed(runtime: Runtime, session_id: str | None = None, **options: Any) -> Session:
    """Return a session whose user says yes to everything."""
    return runtime.session(session_id, asker=Agreeable(), **options)


def said(result: RunResult) -> Any:
    """Return the JSON that a script has printed, and that went well."""
    assert (result.exit_status, result.stderr) == (0, "")
    return json.loads(result.stdout)


def refusal(call: Callable[[], object], kind: type[ProwessError] = ProwessError) -> ProwessError:
    """Return the error that a call ends in."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.message
    return caught.value


def try_run(session: Session, name: str, script: str, *arguments: str, **options: Any) -> str:
    """Run a script; return why it was allowed, or the code of the refusal."""
    try:
        return session.run(name, script, arguments, **options).receipt.consent
    except ProwessError as error:
        return error.code


def find_processes(marker: str) -> list[int]:
    """Return the processes of this machine that were given an argument with this text in it."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # It has ended.
            continue
    return found


def is_gone(marker: str, *, seconds: float = 10.0) -> bool:
    """Whether no process is left that was given this text, after a while for the last to end."""
    deadline = time.monotonic() + seconds
    while find_processes(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
