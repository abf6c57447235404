"""A made-up machine to ask, for decisions that need none."""

from dataclasses import dataclass, replace

__all__ = ["PaperProbe"]


@dataclass(frozen=True)
class PaperProbe:
    """Answers from a list."""

    binaries: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    operating_system: str = "linux"
    version: tuple[int, ...] = (3, 12, 4)
    tools_off: frozenset[str] = frozenset()

    def has_binary(self, name: str) -> bool:
        return name in self.binaries

    def has_variable(self, name: str) -> bool:
        return name in self.variables

    def has_tool(self, name: str) -> bool:
        return name not in self.tools_off

    def system(self) -> str:
        return self.operating_system

    def python(self) -> tuple[int, ...]:
        return self.version

    def state(self) -> object:
        return replace(self)
