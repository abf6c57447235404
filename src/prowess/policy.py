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
    "BaseDirectory",
    "BinaryResources",
    "CatalogText",
    "Consent",
    "Limits",
    "Links",
    "Mentions",
    "MissingDescription",
    "NameRule",
    "Parse",
    "Policy",
    "ProjectTrust",
    "Prompting",
    "Ranking",
    "Reading",
    "Refresh",
    "SameName",
    "Scan",
    "SessionMemory",
    "SourceKind",
    "SourceRule",
    "TokenCounting",
    "ToolSet",
    "TriggerUse",
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


class TokenCounting(StrEnum):
    """How tokens are counted."""

    ESTIMATE = "estimate"
    """From the length of the text, with a margin on the safe side."""
    TIKTOKEN = "tiktoken"
    """By OpenAI's tokenizer, from the extra `tokens`."""


class Ranking(StrEnum):
    """How a search ranks what it finds."""

    LEXICAL = "lexical"
    """By words, their stems, beginnings and misspellings."""
    FUSED = "fused"
    """By words and by meaning, with the word vectors of the extra `semantic`."""


class ToolSet(StrEnum):
    """Which tools a model is offered, and the guidance that goes with them."""

    STANDARD = "standard"
    """`activate_skill`, `read_skill_resource`, `search_skills`, `deactivate_skill`."""
    DAYCARE = "daycare"
    """`skill`."""
    WORKSPACE = "workspace"
    """`activateSkill`."""
    REMCOCHAT = "remcochat"
    """`skills.activate`, `skills.readResource`."""
    NONE = "none"
    """None: the application uses the three tiers itself."""


class Consent(StrEnum):
    """When a person is asked before a skill is activated."""

    ASK = "ask"
    """At the first activation of a digest, unless its source is trusted."""
    EACH_SESSION = "each-session"
    """At the first activation in each session, whatever was granted before."""
    NEVER = "never"


class SessionMemory(StrEnum):
    """How long a session remembers what it has switched on."""

    CHAT = "chat"
    """Until it is ended: a later process finds it again."""
    TASK = "task"
    """Until it is closed, and never longer than the process."""


class Mentions(StrEnum):
    """How a person calls for a skill by name in a message."""

    SLASH_AND_DOLLAR = "slash-and-dollar"
    SLASH = "slash"
    OFF = "off"


class TriggerUse(StrEnum):
    """What becomes of a skill whose triggers match a message."""

    SUGGEST = "suggest"
    """The planner prefers it."""
    ACTIVATE = "activate"
    OFF = "off"


class BinaryResources(StrEnum):
    """What becomes of a resource that is not text."""

    BASE64 = "base64"
    """It is returned with its type, within a cap."""
    REFUSE = "refuse"


class BaseDirectory(StrEnum):
    """Where the model's code finds an activated skill."""

    SHARED = "shared"
    """`/shared/skills/<key>`, the mount of all copies."""
    TASK_PRIVATE = "task-private"
    """`private:/.skills/<name>`, a mount of the task's own."""
    HOST = "host"
    """The folder on this machine, for code that runs outside of any sandbox."""
    NONE = "none"
    """Nowhere: the model is not told."""


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
class Prompting:
    """How much of a model's context skills may take, in tokens."""

    budget_tokens: int | None = None
    """For the catalog; None: 1% of the context window, and at least 2,000."""
    context_window: int = 200_000
    pins: tuple[str, ...] = ()
    """Names or ids that are always shown in full, as far as the budget goes."""
    counting: TokenCounting = TokenCounting.ESTIMATE
    reattach_tokens: int = 25_000
    """For all instructions that are given again after the conversation was compacted."""
    reattach_skill_tokens: int = 5_000
    """For those of one skill."""

    @property
    def budget(self) -> int:
        """How many tokens the catalog may take."""
        if self.budget_tokens is not None:
            return self.budget_tokens
        return max(_LEAST_BUDGET, self.context_window // 100)


_LEAST_BUDGET = 2_000


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
    tools: ToolSet = ToolSet.STANDARD
    consent: Consent = Consent.ASK
    trusted_kinds: tuple[SourceKind, ...] = (SourceKind.CORE, SourceKind.PLUGIN)
    """Sources whose skills are activated without a question; folders that a caller names are trusted as well."""
    sessions: SessionMemory = SessionMemory.CHAT
    ranking: Ranking = Ranking.LEXICAL
    mentions: Mentions = Mentions.SLASH_AND_DOLLAR
    triggers: TriggerUse = TriggerUse.SUGGEST
    binary: BinaryResources = BinaryResources.BASE64
    base_directory: BaseDirectory = BaseDirectory.SHARED
    prompting: Prompting = Prompting()
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
            *_rules(SourceKind.USER, Anchor.USER_FOLDER, "personal"),
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
        tools=ToolSet.DAYCARE,
        consent=Consent.NEVER,
        sessions=SessionMemory.TASK,
        mentions=Mentions.OFF,
        triggers=TriggerUse.OFF,
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
        tools=ToolSet.WORKSPACE,
        consent=Consent.EACH_SESSION,
        sessions=SessionMemory.TASK,
        mentions=Mentions.OFF,
        triggers=TriggerUse.OFF,
        base_directory=BaseDirectory.TASK_PRIVATE,
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
        tools=ToolSet.NONE,
        consent=Consent.NEVER,
        sessions=SessionMemory.TASK,
        mentions=Mentions.OFF,
        base_directory=BaseDirectory.NONE,
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
        tools=ToolSet.REMCOCHAT,
        consent=Consent.NEVER,
        mentions=Mentions.SLASH,
        triggers=TriggerUse.OFF,
        binary=BinaryResources.REFUSE,
        base_directory=BaseDirectory.NONE,
        limits=Limits(max_skills=200),
    ),
}
