"""How Prowess behaves, as data: one frozen `Policy`, and the profiles that name sets of its values.

Every value is a plain enumeration or number, so a settings file can set each one on its own. Policies are read by the
stages they steer and changed by none of them.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "DEFAULT_PROFILE",
    "PROFILES",
    "STRICT_READING",
    "Anchor",
    "CatalogText",
    "Limits",
    "Links",
    "MissingDescription",
    "NameRule",
    "Parse",
    "Policy",
    "ProjectTrust",
    "Reading",
    "Refresh",
    "SameName",
    "Scan",
    "SourceKind",
    "SourceRule",
    "UnknownKeys",
]


class SourceKind(StrEnum):
    """The kind of place a skill comes from; the first part of its id."""

    CORE = "core"
    CONFIG = "config"
    PLUGIN = "plugin"
    AGENTS = "agents"
    USER = "user"
    PROJECT = "project"
    WORKSPACE = "workspace"
    MCP = "mcp"


class Parse(StrEnum):
    """What is tried when the frontmatter is not good YAML."""

    REPAIR = "repair"
    """Mend the usual faults, and warn."""
    FALLBACK = "fallback"
    """Take the lines that give a name and a description, and leave the rest."""
    PLAIN = "plain"
    """Nothing, and forgive what is merely unusual."""
    STRICT = "strict"
    """Nothing, and forgive nothing."""


class UnknownKeys(StrEnum):
    """What becomes of frontmatter keys that are not the standard's."""

    DIALECTS = "dialects"
    """Keys of known dialects are read, others warned about."""
    IGNORE = "ignore"
    WARN = "warn"
    REFUSE = "refuse"


class NameRule(StrEnum):
    """What becomes of a name that breaks the standard's rule."""

    WARN = "warn"
    FOLDER_DEFAULT = "folder-default"
    """Any name will do; without one, the folder's name is taken."""
    SANITISE = "sanitise"
    """The name is rewritten to fit the rule."""
    MUST_MATCH = "must-match"


class MissingDescription(StrEnum):
    """What becomes of a skill that does not describe itself."""

    REFUSE = "refuse"
    ALLOW = "allow"
    FIRST_PARAGRAPH = "first-paragraph"
    """The first paragraph of the instructions stands in, as far as the head of the file shows it."""


class Scan(StrEnum):
    """How deep a root is searched."""

    RECURSIVE = "recursive"
    """All folders, not below a skill."""
    ROOT_AND_CHILDREN = "root-and-children"
    CHILDREN = "children"


class Links(StrEnum):
    """What becomes of a link that is a skill's folder."""

    KNOWN_ROOTS = "known-roots"
    """Followed in the user's own sources; elsewhere while its target stays in the project or a known root."""
    SKIP = "skip"


class SameName(StrEnum):
    """Who wins when two skills have one name."""

    FIRST_WINS = "first-wins"
    LAST_WINS = "last-wins"
    KEEP_ALL = "keep-all"
    """All stay visible; a look-up by name gives the first."""


class ProjectTrust(StrEnum):
    """Whether a project's skills reach a model before a person has trusted the project."""

    ASK = "ask"
    ALWAYS = "always"


class CatalogText(StrEnum):
    """How the catalog is written for a model."""

    XML = "xml"
    XML_WITH_LOCATION = "xml-with-location"
    JSON = "json"
    MARKDOWN = "markdown"


class Refresh(StrEnum):
    """When changes on disk are noticed."""

    WATCHED = "watched"
    """Before each turn, from the kernel's events where there are any and by a scan where not."""
    EACH_TURN = "each-turn"
    """Before each turn, by a scan."""
    START = "start"
    """When the runtime opens, or when a rescan is asked for."""


class Anchor(StrEnum):
    """What a source rule's path is relative to."""

    PROJECT = "project"
    """Each folder from the working folder up to the repository's root, nearest first."""
    WORKING_FOLDER = "working-folder"
    HOME = "home"
    PROWESS_HOME = "prowess-home"
    USER_FOLDER = "user-folder"
    """`users/<user>/skills` in Prowess' home."""
    BUNDLED = "bundled"
    PLUGINS = "plugins"


@dataclass(frozen=True, slots=True)
class SourceRule:
    """One line of a profile's list of sources."""

    kind: SourceKind
    anchor: Anchor
    path: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a SKILL.md is read and judged."""

    parse: Parse = Parse.REPAIR
    unknown_keys: UnknownKeys = UnknownKeys.DIALECTS
    name_rule: NameRule = NameRule.WARN
    missing_description: MissingDescription = MissingDescription.REFUSE

    @property
    def strict(self) -> bool:
        """Whether faults that other modes forgive are errors."""
        return self.parse is Parse.STRICT


STRICT_READING = Reading(parse=Parse.STRICT, unknown_keys=UnknownKeys.WARN, name_rule=NameRule.MUST_MATCH)
"""The open standard, read strictly: what `prowess validate --strict` judges by."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a catalog may cost. Reaching one is always reported."""

    max_depth: int = 6
    max_folders: int = 100_000
    max_skills: int = 1_000_000
    max_skill_md_bytes: int = 200_000
    max_resource_bytes: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that the profiles differ in."""

    enabled: bool = True
    sources: tuple[SourceRule, ...] = ()
    scan: Scan = Scan.RECURSIVE
    links: Links = Links.KNOWN_ROOTS
    reading: Reading = Reading()
    same_name: SameName = SameName.FIRST_WINS
    project_trust: ProjectTrust = ProjectTrust.ASK
    catalog_text: CatalogText = CatalogText.XML
    refresh: Refresh = Refresh.WATCHED
    limits: Limits = Limits()


def _rules(kind: SourceKind, anchor: Anchor, *paths: str) -> tuple[SourceRule, ...]:
    return tuple(SourceRule(kind, anchor, path) for path in paths)


_PLUGINS = SourceRule(SourceKind.PLUGIN, Anchor.PLUGINS)
_CORE = SourceRule(SourceKind.CORE, Anchor.BUNDLED)
_AGENTS = SourceRule(SourceKind.AGENTS, Anchor.HOME, ".agents/skills")

DEFAULT_PROFILE = "standard"

PROFILES: dict[str, Policy] = {
    "standard": Policy(
        sources=(
            *_rules(SourceKind.PROJECT, Anchor.PROJECT, ".prowess/skills", ".agents/skills", ".claude/skills"),
            *_rules(SourceKind.USER, Anchor.PROWESS_HOME, "skills"),
            _AGENTS,
            *_rules(SourceKind.USER, Anchor.HOME, ".claude/skills"),
            _PLUGINS,
            _CORE,
        ),
    ),
    "daycare": Policy(
        sources=(
            _CORE,
            *_rules(SourceKind.CONFIG, Anchor.PROWESS_HOME, "skills"),
            *_rules(SourceKind.USER, Anchor.USER_FOLDER, "personal"),
            _PLUGINS,
            _AGENTS,
        ),
        links=Links.SKIP,
        reading=Reading(
            parse=Parse.PLAIN,
            unknown_keys=UnknownKeys.IGNORE,
            name_rule=NameRule.FOLDER_DEFAULT,
            missing_description=MissingDescription.ALLOW,
        ),
        same_name=SameName.KEEP_ALL,
        project_trust=ProjectTrust.ALWAYS,
        refresh=Refresh.EACH_TURN,
    ),
    "workspace": Policy(
        sources=_rules(SourceKind.WORKSPACE, Anchor.WORKING_FOLDER, "skills"),
        scan=Scan.ROOT_AND_CHILDREN,
        links=Links.SKIP,
        reading=Reading(parse=Parse.FALLBACK, unknown_keys=UnknownKeys.IGNORE, name_rule=NameRule.SANITISE),
        same_name=SameName.LAST_WINS,
        project_trust=ProjectTrust.ALWAYS,
        catalog_text=CatalogText.MARKDOWN,
        refresh=Refresh.START,
    ),
    "agent-base": Policy(
        sources=(
            *_rules(SourceKind.PROJECT, Anchor.WORKING_FOLDER, ".agent/skills", ".claude/skills"),
            *_rules(SourceKind.USER, Anchor.HOME, ".agent/skills"),
            _CORE,
        ),
        scan=Scan.CHILDREN,
        links=Links.SKIP,
        reading=Reading(parse=Parse.STRICT, unknown_keys=UnknownKeys.REFUSE, name_rule=NameRule.MUST_MATCH),
        project_trust=ProjectTrust.ALWAYS,
        catalog_text=CatalogText.XML_WITH_LOCATION,
        refresh=Refresh.START,
    ),
    "remcochat": Policy(
        enabled=False,
        sources=(
            *_rules(SourceKind.PROJECT, Anchor.WORKING_FOLDER, ".skills"),
            *_rules(SourceKind.PROJECT, Anchor.PROJECT, ".agents/skills"),
            _AGENTS,
            *_rules(SourceKind.USER, Anchor.HOME, ".remcochat/skills"),
        ),
        scan=Scan.CHILDREN,
        links=Links.SKIP,
        reading=STRICT_READING,
        project_trust=ProjectTrust.ALWAYS,
        catalog_text=CatalogText.JSON,
        refresh=Refresh.START,
        limits=Limits(max_skills=200),
    ),
}
