"""The profiles: named policies, each of which reproduces one document."""

from prowess.policy.choices import (
    AllowedTools,
    Anchor,
    BaseDirectory,
    BinaryResources,
    CatalogText,
    Consent,
    Links,
    Mentions,
    MissingDescription,
    NameRule,
    Parse,
    ProjectTrust,
    Refresh,
    SameName,
    Scan,
    SessionMemory,
    SourceKind,
    ToolSet,
    TriggerUse,
    UnknownKeys,
)
from prowess.policy.policy import STRICT_READING, Execution, Limits, Policy, Reading, SourceRule

__all__ = ["DEFAULT_PROFILE", "PROFILES"]


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
        same_name=SameName.LATER_SOURCE_WINS,
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
        execution=Execution(allowed_tools=AllowedTools.LOG),
        limits=Limits(max_skills=200),
    ),
}
