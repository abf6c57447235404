"""Every key that `prowess.toml` knows, as a table: the template and the reference in the docs are made from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar, cast

from prowess.catalog.switches import Switch
from prowess.policy import (
    PROFILES,
    AllowedTools,
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
    "AGENT_SETTINGS",
    "REMCOCHAT",
    "REMCOCHAT_DIRECTORIES",
    "SETTINGS",
    "SWITCH_SETTING",
    "OpenSetting",
    "Setting",
    "WrongValue",
    "one_of",
    "read_flag",
    "read_positive",
    "read_text",
    "read_texts",
]

REMCOCHAT_DIRECTORIES = ("./.skills", "./.agents/skills", "~/.agents/skills", "~/.remcochat/skills")
"""What RemcoChat searches if its table names no folders."""
_MAX_PORT = 65_535

_E = TypeVar("_E", bound=StrEnum)


class WrongValue(Exception):
    """A value that a reader cannot take; says what it would."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the file."""

    path: str
    target: str
    """Where the value goes: a field of Settings, or `policy.…`, `policy.reading.…`, `policy.limits.…` and the like."""
    read: Callable[[object], object]
    about: str
    sample: str


@dataclass(frozen=True, slots=True)
class OpenSetting:
    """What stands in a table whose name, or whose keys, are the user's own."""

    wanted: str
    about: str
    sample: str


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("true or false")
    return value


def read_text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongValue("a text")
    return value


def read_positive(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise WrongValue("a whole number from 1 up")
    return value


def _port(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_PORT:
        raise WrongValue(f"a whole number from 0 to {_MAX_PORT}")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise WrongValue("a list of texts")
    return tuple(cast("list[str]", value))


def one_of(choices: type[_E]) -> Callable[[object], _E]:
    def read(value: object) -> _E:
        try:
            return choices(value)
        except ValueError:
            raise WrongValue("one of " + ", ".join(f'"{choice}"' for choice in choices)) from None

    return read


def _kinds(value: object) -> tuple[SourceKind, ...]:
    try:
        return tuple(one_of(SourceKind)(item) for item in read_texts(value))
    except WrongValue:
        raise WrongValue("a list of " + ", ".join(f'"{kind}"' for kind in SourceKind)) from None


SETTINGS: tuple[Setting, ...] = (
    Setting("profile", "profile", read_text, "the set of policies to start from: " + ", ".join(PROFILES), '"standard"'),
    Setting("enabled", "policy.enabled", read_flag, "whether there are any skills at all", "true"),
    Setting(
        "user",
        "place.user",
        read_text,
        "whose personal skills, copies and decisions are used; without it local, and the login name with PostgreSQL",
        '"local"',
    ),
    Setting(
        "database",
        "database",
        read_text,
        "where state is kept, if not in ~/.prowess/state.db: memory, sqlite:///PATH or postgresql://…",
        '"postgresql://prowess@db.example/prowess"',
    ),
    Setting(
        "model",
        "model",
        read_text,
        "the model that answers: offline, or provider:name, such as openai:…, anthropic:…, google:…, ollama:…",
        '"offline"',
    ),
    Setting(
        "model_url",
        "model_url",
        read_text,
        "the address of a server that speaks OpenAI's protocol, for a model openai-chat:… or ollama:…",
        '"http://127.0.0.1:11434/v1"',
    ),
    Setting("models", "models", read_texts, "further models to choose from in the web app", '["ollama:llama3.2"]'),
    Setting(
        "keep_receipts_days",
        "keep_receipts_days",
        read_positive,
        "how long ended receipts and idle sessions are kept",
        "365",
    ),
    Setting(
        "sources.directories",
        "directories",
        read_texts,
        "folders of skills, highest precedence first, instead of the profile's; absolute, ~ or relative to the project",
        '["./skills", "~/.agents/skills"]',
    ),
    Setting(
        "sources.extra", "extra_directories", read_texts, "folders searched before the profile's", '["~/work/skills"]'
    ),
    Setting(
        "reading.parse",
        "policy.reading.parse",
        one_of(Parse),
        "what is tried with frontmatter that is not valid YAML",
        '"repair"',
    ),
    Setting(
        "reading.unknown_keys",
        "policy.reading.unknown_keys",
        one_of(UnknownKeys),
        "what becomes of keys outside the standard",
        '"dialects"',
    ),
    Setting(
        "reading.name_rule",
        "policy.reading.name_rule",
        one_of(NameRule),
        "what becomes of names that break the rule",
        '"warn"',
    ),
    Setting(
        "reading.missing_description",
        "policy.reading.missing_description",
        one_of(MissingDescription),
        "what becomes of skills without a description",
        '"refuse"',
    ),
    Setting("catalog.scan", "policy.scan", one_of(Scan), "how deep a root is searched", '"recursive"'),
    Setting(
        "catalog.links", "policy.links", one_of(Links), "which links to skill folders are followed", '"known-roots"'
    ),
    Setting(
        "catalog.same_name", "policy.same_name", one_of(SameName), "who wins a name that is used twice", '"first-wins"'
    ),
    Setting(
        "catalog.project_trust",
        "policy.project_trust",
        one_of(ProjectTrust),
        "whether a project's skills reach a model before `prowess trust`",
        '"ask"',
    ),
    Setting(
        "catalog.text", "policy.catalog_text", one_of(CatalogText), "how the catalog is written for a model", '"xml"'
    ),
    Setting("catalog.refresh", "policy.refresh", one_of(Refresh), "when changes on disk are noticed", '"watched"'),
    Setting("catalog.ranking", "policy.ranking", one_of(Ranking), "how a search ranks what it finds", '"lexical"'),
    Setting(
        "prompt.budget_tokens",
        "policy.prompting.budget_tokens",
        read_positive,
        "tokens that the catalog may take; without it 1% of the context window, and at least 2000",
        "2000",
    ),
    Setting(
        "prompt.context_window",
        "policy.prompting.context_window",
        read_positive,
        "tokens that the model's context holds",
        "200000",
    ),
    Setting(
        "prompt.pins",
        "policy.prompting.pins",
        read_texts,
        "names or ids that come first when room is short",
        '["repo-survey"]',
    ),
    Setting(
        "prompt.counting", "policy.prompting.counting", one_of(TokenCounting), "how tokens are counted", '"estimate"'
    ),
    Setting(
        "prompt.reattach_tokens",
        "policy.prompting.reattach_tokens",
        read_positive,
        "tokens for the instructions that are given again after a conversation was compacted",
        "25000",
    ),
    Setting(
        "prompt.reattach_skill_tokens",
        "policy.prompting.reattach_skill_tokens",
        read_positive,
        "tokens for those instructions of any one skill",
        "5000",
    ),
    Setting(
        "activation.tools",
        "policy.tools",
        one_of(ToolSet),
        "which tools a model is offered, with their guidance",
        '"standard"',
    ),
    Setting(
        "activation.consent", "policy.consent", one_of(Consent), "when a person is asked before an activation", '"ask"'
    ),
    Setting(
        "activation.trusted_sources",
        "policy.trusted_kinds",
        _kinds,
        "kinds of sources whose skills are activated without a question",
        '["core", "plugin"]',
    ),
    Setting(
        "activation.sessions",
        "policy.sessions",
        one_of(SessionMemory),
        "how long a session remembers what it has switched on",
        '"chat"',
    ),
    Setting(
        "activation.mentions",
        "policy.mentions",
        one_of(Mentions),
        "how a person calls for a skill by name in a message",
        '"slash-and-dollar"',
    ),
    Setting(
        "activation.triggers",
        "policy.triggers",
        one_of(TriggerUse),
        "what becomes of a skill whose triggers match a message",
        '"suggest"',
    ),
    Setting(
        "activation.base_directory",
        "policy.base_directory",
        one_of(BaseDirectory),
        "where the model is told that it finds an activated skill",
        '"shared"',
    ),
    Setting(
        "resources.binary",
        "policy.binary",
        one_of(BinaryResources),
        "what becomes of resources that are not text",
        '"base64"',
    ),
    Setting(
        "copies.durable",
        "durable_copies",
        read_flag,
        "whether copies of skills must outlive a crash of the machine; without it, the first sync is faster",
        "true",
    ),
    Setting(
        "execution.enabled",
        "policy.execution.enabled",
        read_flag,
        "whether scripts of skills can be run at all",
        "true",
    ),
    Setting(
        "execution.backend",
        "policy.execution.backend",
        one_of(Backend),
        "which sandbox runs them; auto takes the first that works",
        '"auto"',
    ),
    Setting(
        "execution.consent",
        "policy.execution.consent",
        one_of(ScriptConsent),
        "when a person is asked before a script runs",
        '"ask"',
    ),
    Setting(
        "execution.work_folder",
        "policy.execution.work_folder",
        one_of(WorkFolder),
        "where a script stands when it starts",
        '"skill"',
    ),
    Setting(
        "execution.workspace",
        "policy.execution.workspace",
        one_of(WorkspaceAccess),
        "what scripts may do with the working folder, which they see at /workspace",
        '"none"',
    ),
    Setting(
        "execution.network",
        "policy.execution.network",
        one_of(NetworkUse),
        "whether a run can have a network, if its skill asks for it and a person agrees",
        '"none"',
    ),
    Setting(
        "execution.allowed_tools",
        "policy.execution.allowed_tools",
        one_of(AllowedTools),
        "what becomes of a run that the skill's own allowed-tools do not cover",
        '"advise"',
    ),
    Setting(
        "execution.tools",
        "policy.execution.tools",
        read_texts,
        "patterns of what any skill may run or call, in the words of allowed-tools",
        '["*"]',
    ),
    Setting(
        "execution.packages",
        "policy.execution.packages",
        one_of(Packages),
        "whether packages that a script declares are installed for it",
        '"ask"',
    ),
    Setting(
        "execution.secrets",
        "policy.execution.secrets",
        one_of(SecretKeeping),
        "where secrets are kept",
        '"file"',
    ),
    Setting(
        "execution.host_variables",
        "policy.execution.host_variables",
        read_texts,
        "variables of this process that a skill which declares them as secrets may be given",
        '["GITHUB_TOKEN"]',
    ),
    Setting(
        "execution.programs",
        "policy.execution.programs",
        read_texts,
        "folders, besides /usr, whose programs scripts may use",
        '["/opt"]',
    ),
    Setting(
        "execution.image",
        "policy.execution.image",
        read_text,
        "the image for containers, which must be there; without it the programs of this machine",
        '"python:3.13-slim"',
    ),
    Setting(
        "execution.spare_containers",
        "policy.execution.spare_containers",
        read_flag,
        "whether the next container of a skill is started before it is needed",
        "false",
    ),
    Setting(
        "execution.keep_outputs_days",
        "policy.execution.keep_outputs_days",
        read_positive,
        "how long files that runs have left are kept",
        "7",
    ),
    Setting(
        "execution.timeout_seconds",
        "policy.execution.limits.timeout_seconds",
        read_positive,
        "seconds that a run may take",
        "60",
    ),
    Setting(
        "execution.output_bytes",
        "policy.execution.limits.output_bytes",
        read_positive,
        "bytes of standard output, and of standard error, that are kept of a run",
        "1000000",
    ),
    Setting(
        "execution.memory_bytes",
        "policy.execution.limits.memory_bytes",
        read_positive,
        "bytes of memory for all processes of a run",
        "536870912",
    ),
    Setting(
        "execution.processes",
        "policy.execution.limits.processes",
        read_positive,
        "processes and threads of a run",
        "128",
    ),
    Setting(
        "execution.cpu_seconds",
        "policy.execution.limits.cpu_seconds",
        read_positive,
        "seconds of computing of any one process",
        "120",
    ),
    Setting(
        "execution.file_bytes",
        "policy.execution.limits.file_bytes",
        read_positive,
        "bytes of any one file that a run writes",
        "67108864",
    ),
    Setting(
        "execution.folder_bytes",
        "policy.execution.limits.folder_bytes",
        read_positive,
        "bytes of all files that a run leaves",
        "67108864",
    ),
    Setting(
        "execution.output_files",
        "policy.execution.limits.output_files",
        read_positive,
        "files that a run may leave",
        "1000",
    ),
    Setting(
        "execution.scratch_bytes",
        "policy.execution.limits.scratch_bytes",
        read_positive,
        "bytes of a run's /tmp",
        "67108864",
    ),
    Setting(
        "turns.instructions",
        "policy.turns.instructions",
        read_text,
        "what the model is told before it is told of skills",
        '"You are a helpful assistant."',
    ),
    Setting(
        "turns.run_in",
        "policy.turns.run_in",
        one_of(RunIn),
        "where an agent works a skill: as the skill declares, always in a subagent, or always in the conversation",
        '"declared"',
    ),
    Setting("turns.max_steps", "policy.turns.max_steps", read_positive, "requests to the model in one turn", "50"),
    Setting(
        "turns.request_seconds",
        "policy.turns.request_seconds",
        read_positive,
        "seconds for an answer to begin, and again between any two pieces of it",
        "120",
    ),
    Setting(
        "turns.attempts",
        "policy.turns.attempts",
        read_positive,
        "how often a provider that fails is asked, in all",
        "4",
    ),
    Setting(
        "turns.compact_tokens",
        "policy.turns.compact_tokens",
        read_positive,
        "length at which a conversation is compacted; without it 80% of the context window",
        "160000",
    ),
    Setting(
        "turns.keep_tokens",
        "policy.turns.keep_tokens",
        read_positive,
        "tokens of the latest messages, which compaction leaves as they are",
        "20000",
    ),
    Setting(
        "turns.max_forks",
        "policy.turns.max_forks",
        read_positive,
        "subagents in one turn, those of subagents included",
        "16",
    ),
    Setting("turns.fork_depth", "policy.turns.fork_depth", read_positive, "levels of subagents", "2"),
    Setting(
        "turns.fork_seconds", "policy.turns.fork_seconds", read_positive, "seconds that a subagent may take", "600"
    ),
    Setting("limits.max_depth", "policy.limits.max_depth", read_positive, "levels of folders below a root", "6"),
    Setting("limits.max_folders", "policy.limits.max_folders", read_positive, "folders listed in a root", "100000"),
    Setting("limits.max_skills", "policy.limits.max_skills", read_positive, "skills in the catalog", "1000000"),
    Setting(
        "limits.max_skill_md_bytes",
        "policy.limits.max_skill_md_bytes",
        read_positive,
        "size over which a SKILL.md is reported as too large, and cut when it is shown",
        "200000",
    ),
    Setting(
        "limits.max_resource_bytes",
        "policy.limits.max_resource_bytes",
        read_positive,
        "size over which a file of a skill is cut when it is read",
        "2000000",
    ),
    Setting("web.host", "web.host", read_text, "the address that `prowess serve` listens on", '"127.0.0.1"'),
    Setting("web.port", "web.port", _port, "its port; 0 takes any that is free", "8765"),
    Setting(
        "web.public_url",
        "web.public_url",
        read_text,
        "the address under which browsers reach it, if a proxy stands before it",
        '"https://skills.example.org"',
    ),
    Setting("web.hosts", "web.hosts", read_texts, "further names that it answers to", '["skills.internal"]'),
)

_POSITIONS = ", ".join(f'"{switch}"' for switch in Switch)

SWITCH_SETTING = OpenSetting(
    f"one of {_POSITIONS}", "a switch for a skill, by name or id: on, name-only, user-only or off", '"off"'
)
"""In the table `skills`, with a skill for its key."""

AGENT_SETTINGS: dict[str, OpenSetting] = {
    "skills": OpenSetting(
        "a list of texts",
        "the skills that this agent may see; without the line all, with [] none",
        '["repo-survey", "safe-edit"]',
    ),
    "switches": OpenSetting(
        f"a table from skills to one of {_POSITIONS}",
        "switches for this agent alone, which count before those for everybody",
        '{ repo-survey = "name-only" }',
    ),
}
"""In the table of an agent, `agents.NAME`, by their keys."""

REMCOCHAT: dict[str, tuple[str, Callable[[object], object]]] = {
    "enabled": ("policy.enabled", read_flag),
    "directories": ("directories", read_texts),
    "max_skills": ("policy.limits.max_skills", read_positive),
    "max_skill_md_bytes": ("policy.limits.max_skill_md_bytes", read_positive),
    "max_resource_bytes": ("policy.limits.max_resource_bytes", read_positive),
}
