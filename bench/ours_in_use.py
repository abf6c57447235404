"""Prowess as a contestant in use: one session, which is asked for its prompt, for skills and for their files."""

import tempfile
from dataclasses import replace
from pathlib import Path

from prowess import Runtime
from prowess.settings import load_settings

_HOME = tempfile.TemporaryDirectory(prefix="prowess-bench-")
"""Gone when the process ends."""


class Use:
    """One session on SQLite, with consent decided and receipts written; the prompt is kept within its budget."""

    budget_tokens: int | None = None

    def __init__(self, root: Path) -> None:
        settings = load_settings(environ={"HOME": _HOME.name})
        prompting = replace(settings.policy.prompting, budget_tokens=self.budget_tokens)
        settings = replace(settings, policy=replace(settings.policy, prompting=prompting))
        self._session = Runtime.open(settings, skills=[root]).session("bench")
        self._session.view()

    def prompt(self) -> str:
        return self._session.prompt()

    def activate(self, name: str) -> str:
        return self._session.activate(name).instructions.body

    def read(self, name: str, path: str) -> str:
        return self._session.read(name, path).content


class UseWhole(Use):
    """The same with room for all descriptions, as the peers take it."""

    budget_tokens = 100_000_000
