"""The Skill: one folder, read and judged."""

from typing import NamedTuple

from prowess.policy import SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.problems import Problem

__all__ = ["Skill"]


class Skill(NamedTuple):
    """A skill that can be used, with where it came from.

    `folder`, `root` and `real` are paths on the host and are never shown to a model. The digest of the files is not
    here: it takes reading them all, so it is asked for when it is needed.
    """

    id: str
    kind: SourceKind
    root: str
    relative: str
    """The folder below the root, with `/`; empty if the root itself is the skill."""
    folder: str
    manifest: Manifest
    problems: tuple[Problem, ...] = ()
    trusted: bool = True
    elsewhere: str = ""
    """The folder with all links resolved, if that is another."""
    apart: bool = False
    """Folders directly below that have a SKILL.md are skills of their own, and not part of this one."""
    called: str = ""
    """What it goes by instead of its own name, if it must not have that."""

    @property
    def real(self) -> str:
        """The folder with all links resolved as it was found: what is opened, so that no later link leads astray."""
        return self.elsewhere or self.folder

    @property
    def server(self) -> str:
        """The MCP server that it comes from, as the settings name it; empty for a skill of this machine."""
        return self.id.removeprefix("mcp:").partition("/")[0] if self.kind is SourceKind.MCP else ""

    @property
    def name(self) -> str:
        """What people and models call it; a label, not a key."""
        return self.called or self.manifest.name

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self.manifest.description

    @property
    def category(self) -> str:
        """The first folder of a nested path; empty for a skill at the top of its root."""
        first, slash, _ = self.relative.partition("/")
        return first if slash else ""
