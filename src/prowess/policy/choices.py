"""The choices that a policy is made of, each an enumeration whose values are the words of the settings file."""

from enum import StrEnum

__all__ = [
    "AllowedTools",
    "Anchor",
    "Backend",
    "BaseDirectory",
    "BinaryResources",
    "CatalogText",
    "Consent",
    "Links",
    "Mentions",
    "MissingDescription",
    "NameRule",
    "NetworkUse",
    "Packages",
    "Parse",
    "ProjectTrust",
    "Ranking",
    "Refresh",
    "RunIn",
    "SameName",
    "Scan",
    "ScriptConsent",
    "SecretKeeping",
    "SessionMemory",
    "SourceKind",
    "TokenCounting",
    "ToolSet",
    "TriggerUse",
    "UnknownKeys",
    "WorkFolder",
    "WorkspaceAccess",
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
    LATER_SOURCE_WINS = "later-source-wins"
    """Of folders that somebody names, in the settings or for one call, the later ones come first; else as above."""
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
    """`activate_skill`, `read_skill_resource`, `run_skill_script`, `search_skills`, `deactivate_skill`."""
    DAYCARE = "daycare"
    """`skill`."""
    WORKSPACE = "workspace"
    """`activateSkill`."""
    REMCOCHAT = "remcochat"
    """`skills.activate`, `skills.readResource`."""
    PYTHON = "python"
    """`run_python` alone, whose code calls `skill`, `read_resource`, `run_script`, `search_skills`, `end_skill`."""
    NONE = "none"
    """None: the application uses the three tiers itself."""


class RunIn(StrEnum):
    """Where an agent works a skill."""

    DECLARED = "declared"
    """As the skill itself says, and as a model asks for it."""
    FORK = "fork"
    """Always in a subagent, which answers for it."""
    HERE = "here"
    """Always in the conversation itself."""


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


class Backend(StrEnum):
    """What runs scripts. The host itself is no choice."""

    AUTO = "auto"
    """The first of the others that works here."""
    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"
    PODMAN = "podman"


class ScriptConsent(StrEnum):
    """When a person is asked before a script of a skill runs."""

    ASK = "ask"
    """At the first run of a digest with the same powers, whatever its source."""
    WITH_ACTIVATION = "with-activation"
    """Whoever agreed to the skill agreed to its scripts; only more powers than a plain run has are asked about."""
    NEVER = "never"


class WorkFolder(StrEnum):
    """Where a script stands when it starts."""

    SKILL = "skill"
    WORKSPACE = "workspace"
    """The workspace, where the run may see it; else the skill's folder."""


class WorkspaceAccess(StrEnum):
    """What a script may do with the workspace."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


class NetworkUse(StrEnum):
    """Whether scripts may reach a network at all; a skill must also ask for it, and a person agree."""

    NONE = "none"
    GRANTED = "granted"


class AllowedTools(StrEnum):
    """What becomes of a call that a skill's `allowed-tools` do not cover."""

    LOG = "log"
    ADVISE = "advise"
    """It goes on, and its result says so."""
    ENFORCE = "enforce"
    """It is refused."""


class Packages(StrEnum):
    """Whether packages that a script declares are installed for it."""

    ASK = "ask"
    """Once a person has agreed to the exact versions."""
    OFF = "off"


class SecretKeeping(StrEnum):
    """Where secrets are kept."""

    FILE = "file"
    """In a file that only its owner may read."""
    KEYRING = "keyring"
    """In the keyring of the system, through the package `keyring`."""
