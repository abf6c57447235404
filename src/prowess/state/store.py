"""The protocol of a state store: what the runtime asks of whatever keeps its state."""

from collections.abc import Mapping
from typing import Protocol

from prowess.catalog.switches import Switch, SwitchKey

__all__ = ["StateStore"]


class StateStore(Protocol):
    """Remembers what people decided. Every change is complete and durable when the call returns."""

    def switches(self) -> Mapping[tuple[str, SwitchKey], Switch]:
        """Return all switches by agent and skill."""
        ...

    def set_switch(self, agent: str, key: SwitchKey, position: Switch) -> None:
        """Set one switch."""
        ...

    def trusted_projects(self) -> frozenset[str]:
        """Return the roots of the projects that a person trusts."""
        ...

    def trust(self, project: str) -> bool:
        """Trust a project; say whether that is new."""
        ...

    def untrust(self, project: str) -> bool:
        """Trust a project no more; say whether it was trusted."""
        ...

    def version(self) -> int:
        """Return a number that changes whenever another process may have changed something."""
        ...

    def close(self) -> None:
        """Give back what the store holds."""
        ...
