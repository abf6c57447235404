"""The data of an event, read with care: it may come from another version of ours, and parts of it from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Fields"]


@dataclass(frozen=True, slots=True)
class Fields:
    """Plain data whose fields may be missing, or of another kind."""

    data: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Return a text; empty if there is none."""
        found: object = self.data.get(key)
        return found if isinstance(found, str) else ""

    def number(self, key: str) -> int | float | None:
        """Return a number."""
        found: object = self.data.get(key)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def is_set(self, key: str) -> bool:
        """Whether it says yes."""
        return self.data.get(key) is True

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        return [str(item) for item in self._list(key)]

    def parts(self, key: str) -> "list[Fields]":
        """Return a list of objects."""
        return [Fields(cast("Mapping[str, Any]", item)) for item in self._list(key) if isinstance(item, Mapping)]

    def part(self, key: str) -> "Fields":
        """Return an object; an empty one if there is none."""
        found: object = self.data.get(key)
        return Fields(cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {})

    def _list(self, key: str) -> list[object]:
        found: object = self.data.get(key)
        return cast("list[object]", found) if isinstance(found, list) else []
