"""A store that is away at times."""

from typing import Any

from prowess.errors import WorldError
from prowess.state.store import StateStore

__all__ = ["FlakyStore"]


class FlakyStore:
    """A real store, some of whose methods fail when they are called next."""

    def __init__(self, store: StateStore) -> None:
        self.real = store
        self.failures: dict[str, int] = {}
        """How often each method is to fail, by its name."""
        self.calls: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return self._watch(name, found) if callable(found) else found

    def _watch(self, name: str, method: Any) -> Any:
        def call(*arguments: Any, **others: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            if self.failures.get(name, 0) > 0:
                self.failures[name] -= 1
                raise WorldError("the state cannot be reached", code="state-unreachable")
            return method(*arguments, **others)

        return call
