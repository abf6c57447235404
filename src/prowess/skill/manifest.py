"""The Manifest: all that a SKILL.md says of itself, in one model for every dialect.

The six fields of the standard stand in `Manifest`; what our own documents and other agents add is in `Behaviour`. Most
skills have no such additions and share one default.
"""

from dataclasses import dataclass
from typing import NamedTuple

from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = [
    "MAX_COMPATIBILITY_LENGTH",
    "MAX_DESCRIPTION_LENGTH",
    "PLAIN_BEHAVIOUR",
    "STANDARD_FIELDS",
    "Argument",
    "Behaviour",
    "Command",
    "Interface",
    "Manifest",
    "Requirements",
    "Secret",
    "ToolDependency",
    "Triggers",
    "parse_metadata",
]

MAX_DESCRIPTION_LENGTH = 1_024
MAX_COMPATIBILITY_LENGTH = 500
STANDARD_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")


@dataclass(frozen=True, slots=True)
class Argument:
    """A named argument of an explicit invocation."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Triggers:
    """What in a message speaks for the skill."""

    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must be there for the skill to work."""

    binaries: tuple[str, ...] = ()
    any_binaries: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    """Operating systems as `linux`, `macos`, `windows`; none means any."""
    python: str = ""
    """A version specifier such as `>=3.11`."""
    configuration: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    always: bool = False
    """The skill is offered whatever is missing, the operating system excepted."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A variable with a secret that the skill's scripts need."""

    name: str
    prompt: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ToolDependency:
    """A tool server that the skill relies on."""

    type: str
    value: str
    description: str = ""
    transport: str = ""
    command: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """How an explicit invocation goes straight to a tool."""

    tool: str


@dataclass(frozen=True, slots=True)
class Interface:
    """How the skill presents itself to people."""

    display_name: str = ""
    short_description: str = ""
    default_prompt: str = ""
    icon: str = ""
    brand_color: str = ""
    emoji: str = ""
    homepage: str = ""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a skill asks for beyond the standard's six fields."""

    model_invocable: bool = True
    user_invocable: bool = True
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[Argument, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    forks: bool = False
    """The skill is worked by a subagent."""
    background: bool = True
    permissions: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Tools that the instructions are about."""
    triggers: Triggers = Triggers()
    requires: Requirements = Requirements()
    secrets: tuple[Secret, ...] = ()
    dependencies: tuple[ToolDependency, ...] = ()
    model: str = ""
    effort: str = ""
    agent: str = ""
    shell: str = ""
    paths: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    """The events that the skill wants to hook; Prowess runs none of them."""
    command: Command | None = None
    interface: Interface = Interface()


PLAIN_BEHAVIOUR = Behaviour()


class Manifest(NamedTuple):
    """A skill's own account of itself, cleaned of what could deceive.

    A named tuple and no dataclass, like `Skill`: thousands are made at a time, in a third of the time.
    """

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    """Patterns such as `Bash(git:*)`. None: the skill says nothing. Empty: it asks for none."""
    additions: Behaviour | None = None
    """What it asks for beyond the standard; None for the many that ask for nothing."""
    text: str = ""
    """The frontmatter as it was read, mended where it had to be."""

    @property
    def behaviour(self) -> Behaviour:
        """What it asks for beyond the standard, the defaults included."""
        return self.additions or PLAIN_BEHAVIOUR

    @property
    def frontmatter(self) -> YamlMap:
        """Everything that was written, as values; read anew each time, since few ask."""
        found = parse_yaml(self.text)
        return found.values if isinstance(found, YamlDocument) else {}

    @property
    def metadata(self) -> YamlMap:
        """The author's own notes; empty if there are none."""
        return parse_metadata(self.frontmatter.get("metadata", "")) or {}

    @property
    def version(self) -> str:
        """The version that the author gave, at the top or under metadata; empty if none."""
        return self._note("version")

    @property
    def author(self) -> str:
        """Who wrote it, at the top or under metadata; empty if not said."""
        return self._note("author")

    @property
    def tags(self) -> tuple[str, ...]:
        """Words that the author filed it under, from `tags` and `keywords` in any of their places."""
        frontmatter, metadata = self.frontmatter, self.metadata
        hermes = metadata.get("hermes")
        places = (frontmatter, metadata, hermes if isinstance(hermes, dict) else {})
        words = [word for place in places for key in ("tags", "keywords") for word in _split_words(place.get(key, []))]
        return tuple(dict.fromkeys(words))

    def _note(self, key: str) -> str:
        value = self.frontmatter.get(key) or self.metadata.get(key) or ""
        return value if isinstance(value, str) else ""


def _split_words(value: YamlValue) -> list[str]:
    """Return the texts of a list, or of a text that is one with commas or in brackets."""
    if isinstance(value, str):
        value = [*value.strip().removeprefix("[").removesuffix("]").split(",")]
    words = [item.strip().strip("\"'") for item in value if isinstance(item, str)]
    return [word for word in words if word]


def parse_metadata(value: YamlValue) -> YamlMap | None:
    """Return the map that `metadata` holds, which OpenClaw also takes as JSON in a text; None if it is no map."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        inner = parse_yaml(value)  # JSON is YAML.
        return inner.values if isinstance(inner, YamlDocument) else None
    return value if isinstance(value, dict) else None
