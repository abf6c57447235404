"""The Policy: everything that the profiles differ in, as one frozen value."""

from dataclasses import dataclass

from prowess.policy.choices import (
    AllowedTools,
    Anchor,
    Backend,
    BaseDirectory,
    BinaryResources,
    CatalogText,
    Consent,
    Links,
    Mentions,
    MissingDescription,
    NameRule,
    NetworkUse,
    Packages,
    Parse,
    ProjectTrust,
    Ranking,
    Refresh,
    RunIn,
    SameName,
    Scan,
    ScriptConsent,
    SecretKeeping,
    SessionMemory,
    SourceKind,
    TokenCounting,
    ToolSet,
    TriggerUse,
    UnknownKeys,
    WorkFolder,
    WorkspaceAccess,
)

__all__ = [
    "STRICT_READING",
    "Execution",
    "Limits",
    "Policy",
    "Prompting",
    "Reading",
    "RunLimits",
    "SourceRule",
    "Turns",
]


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


_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run of a script may use. Reaching a bound ends the run, or cuts its output, and is always told."""

    timeout_seconds: float = 60.0
    output_bytes: int = 1_000_000
    """Of standard output, and again of standard error."""
    memory_bytes: int = 512 * _MIB
    """Of all its processes together."""
    processes: int = 128
    cpu_seconds: int = 120
    """Of one process."""
    file_bytes: int = 64 * _MIB
    """Of one file that it writes."""
    folder_bytes: int = 64 * _MIB
    """Of all that it leaves in its output folder."""
    output_files: int = 1_000
    scratch_bytes: int = 64 * _MIB
    """Of its /tmp."""


@dataclass(frozen=True, slots=True)
class Execution:
    """How scripts of skills are run."""

    enabled: bool = True
    backend: Backend = Backend.AUTO
    consent: ScriptConsent = ScriptConsent.ASK
    work_folder: WorkFolder = WorkFolder.SKILL
    workspace: WorkspaceAccess = WorkspaceAccess.NONE
    network: NetworkUse = NetworkUse.NONE
    allowed_tools: AllowedTools = AllowedTools.ADVISE
    tools: tuple[str, ...] = ("*",)
    """Patterns of what the host lets any skill call, in the words of `allowed-tools`."""
    packages: Packages = Packages.ASK
    secrets: SecretKeeping = SecretKeeping.FILE
    host_variables: tuple[str, ...] = ()
    """Variables of this process that may be given to skills which declare them as secrets."""
    programs: tuple[str, ...] = ()
    """Further folders of the host that runs see read-only, at the same path, such as /opt."""
    image: str = ""
    """For containers; empty for the programs of this machine."""
    spare_containers: bool = False
    """Whether the next container of a skill is started before it is needed."""
    keep_outputs_days: int = 7
    """How long files that runs have left are kept."""
    limits: RunLimits = RunLimits()


@dataclass(frozen=True, slots=True)
class Turns:
    """How an agent leads a conversation, and how far it may go in one turn."""

    instructions: str = ""
    """What the model is told before it is told of skills."""
    run_in: RunIn = RunIn.DECLARED
    max_steps: int = 50
    """Requests to the model in one turn."""
    request_seconds: int = 120
    """For an answer to begin, and again between any two pieces of it."""
    attempts: int = 4
    """How often a provider that fails is asked, in all."""
    compact_tokens: int | None = None
    """Length of a conversation at which it is compacted; None: 80% of the context window."""
    keep_tokens: int = 20_000
    """Of the latest messages, which compaction leaves as they are."""
    max_forks: int = 16
    """Subagents in one turn, those of subagents included."""
    fork_depth: int = 2
    """Subagents of subagents; one cannot work the skill of any that it is part of."""
    fork_seconds: int = 600


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
    execution: Execution = Execution()
    turns: Turns = Turns()
    limits: Limits = Limits()
