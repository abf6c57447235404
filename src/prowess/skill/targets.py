"""What another agent would lose of a skill: the answer to `prowess show NAME --for TARGET`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from prowess.skill.bounded_yaml import parse_yaml
from prowess.skill.dialects import CLAUDE, CODEX, COPILOT, FIELDS, HERMES, OPENCLAW, ROO, DialectField
from prowess.skill.field_values import look_up
from prowess.skill.manifest import STANDARD_FIELDS, Manifest
from prowess.skill.names import MAX_NAME_LENGTH, is_standard_name
from prowess.skill.problems import Problem
from prowess.skill.yaml_values import YamlMap

__all__ = ["AGENTS_MD", "TARGETS", "Loss", "LossKind", "find_losses"]


class LossKind(StrEnum):
    """How bad a loss is, worst first."""

    REFUSED = "refused"
    SAFETY = "safety"
    GATING = "gating"
    BEHAVIOUR = "behaviour"
    SHORTENED = "shortened"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that the target does not do as the skill asks."""

    kind: LossKind
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Target:
    """What an agent reads of the standard's fields, and what it refuses or cuts."""

    title: str
    standard: frozenset[str]
    max_name: int | None = None
    max_description: int | None = None
    cuts_description_at: int | None = None
    standard_names_only: bool = False
    folder_must_match: bool = False
    strict_yaml: bool = False
    body_variables: frozenset[str] = frozenset()


_NAME_AND_DESCRIPTION = frozenset({"name", "description"})

TARGETS: dict[str, Target] = {
    CLAUDE: Target(
        "Claude Code",
        frozenset(STANDARD_FIELDS),
        cuts_description_at=1_536,
        body_variables=frozenset({"$ARGUMENTS", "!`command`", "${CLAUDE_*}"}),
    ),
    CODEX: Target("Codex", _NAME_AND_DESCRIPTION, max_name=MAX_NAME_LENGTH, max_description=1_024, strict_yaml=True),
    OPENCLAW: Target("OpenClaw", _NAME_AND_DESCRIPTION | {"metadata"}, body_variables=frozenset({"{baseDir}"})),
    HERMES: Target("Hermes", _NAME_AND_DESCRIPTION | {"compatibility", "metadata"}, cuts_description_at=60),
    ROO: Target(
        "Roo Code",
        _NAME_AND_DESCRIPTION,
        max_name=MAX_NAME_LENGTH,
        max_description=1_024,
        standard_names_only=True,
        folder_must_match=True,
        strict_yaml=True,
    ),
    COPILOT: Target(
        "VS Code and Copilot",
        _NAME_AND_DESCRIPTION | {"license"},
        max_name=MAX_NAME_LENGTH,
        max_description=1_024,
        standard_names_only=True,
        folder_must_match=True,
    ),
}

AGENTS_MD = "agents-md"
_READERS = {AGENTS_MD: Target("An agent that reads AGENTS.md", _NAME_AND_DESCRIPTION)}
"""What is no agent of its own, and knows of a skill what it is told."""

_KINDS = {
    "model_invocable": LossKind.SAFETY,
    "disallowed_tools": LossKind.SAFETY,
    "permissions": LossKind.SAFETY,
    "hooks": LossKind.SAFETY,
    "requires": LossKind.GATING,
    "secrets": LossKind.GATING,
    "modes": LossKind.GATING,
    "paths": LossKind.GATING,
    "dependencies": LossKind.GATING,
    "interface": LossKind.DISPLAY,
    "argument_hint": LossKind.DISPLAY,
}
_EFFECTS = {
    "model_invocable": "the model may choose the skill by itself, which the skill forbids",
    "user_invocable": "people can invoke the skill directly, which the skill forbids",
    "forks": "the skill runs in the conversation instead of a subagent",
    "requires": "the skill is offered even where what it needs is missing",
    "secrets": "the variables with secrets are not asked for",
}
_VARIABLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("$ARGUMENTS", re.compile(r"\$ARGUMENTS\b")),
    ("!`command`", re.compile(r"(?m)(?:^|\s)!`[^`\n]+`")),
    ("${CLAUDE_*}", re.compile(r"\$\{CLAUDE_[A-Z_]+\}")),
    ("{baseDir}", re.compile(r"\{baseDir\}")),
)


def find_losses(
    manifest: Manifest, *, target: str, folder: str, original: str, sidecar: YamlMap | None = None, body: str = ""
) -> tuple[Loss, ...]:
    """Return what `target` would refuse, ignore or cut, worst first.

    `original` is the frontmatter as it stands in the file, before any mending.
    """
    rules = TARGETS.get(target) or _READERS[target]
    document: YamlMap = {**manifest.frontmatter, "sidecar": sidecar or {}}
    if "metadata" in document:
        document["metadata"] = manifest.metadata
    losses = [
        *_refusals(manifest, rules, folder, original),
        *_ignored_standard(document, rules),
        *_ignored_additions(document, target, rules),
        *_body_losses(body, rules),
    ]
    order = list(LossKind)
    return tuple(sorted(losses, key=lambda loss: (order.index(loss.kind), loss.field)))


def _refusals(manifest: Manifest, rules: Target, folder: str, original: str) -> Iterator[Loss]:
    checks: tuple[tuple[str, Callable[[], bool], str], ...] = (
        (
            "name",
            lambda: rules.max_name is not None and len(manifest.name) > rules.max_name,
            f"names over {rules.max_name} characters are refused",
        ),
        (
            "name",
            lambda: rules.standard_names_only and not is_standard_name(manifest.name),
            "names must be lower-case letters, digits and single hyphens",
        ),
        ("name", lambda: rules.folder_must_match and manifest.name != folder, f"the folder is '{folder}'"),
        ("name", lambda: rules.folder_must_match and "name" not in manifest.frontmatter, "there is no name"),
        (
            "description",
            lambda: rules.max_description is not None and len(manifest.description) > rules.max_description,
            f"descriptions over {rules.max_description} characters are refused",
        ),
        (
            "frontmatter",
            lambda: rules.strict_yaml and isinstance(parse_yaml(original), Problem),
            "the YAML is not valid, and this agent does not mend it",
        ),
    )
    for field, refused, why in checks:
        if refused():
            yield Loss(LossKind.REFUSED, field, f"{rules.title} does not load the skill: {why}")
    limit = rules.cuts_description_at
    length = len(manifest.description) + len(manifest.behaviour.when_to_use)
    if limit is not None and length > limit:
        message = f"{rules.title} shows the first {limit} of {length} characters"
        yield Loss(LossKind.SHORTENED, "description", message)


def _ignored_standard(document: YamlMap, rules: Target) -> Iterator[Loss]:
    for key in STANDARD_FIELDS:
        if key in document and key not in rules.standard:
            kind = LossKind.BEHAVIOUR if key == "allowed-tools" else LossKind.DISPLAY
            yield Loss(kind, key, f"{rules.title} does not read {key}")


def _ignored_additions(document: YamlMap, target: str, rules: Target) -> Iterator[Loss]:
    present = [row for row in FIELDS if look_up(document, *row.path) not in (None, "")]
    understood = {row.meaning for row in present if target in row.readers}
    for row in present:
        if target in row.readers or row.meaning in understood or not _asks_for_something(row, document):
            continue
        part = row.meaning.partition(".")[0]
        effect = _EFFECTS.get(part, "it has no effect")
        kind = _KINDS.get(part, LossKind.BEHAVIOUR)
        yield Loss(kind, ".".join(row.path), f"{rules.title} does not read {'.'.join(row.path)}: {effect}")


def _asks_for_something(row: DialectField, document: YamlMap) -> bool:
    """Whether the value differs from what an agent does anyway."""
    value = look_up(document, *row.path)
    meant = row.reader(value) if value is not None else None
    return meant is not None and meant is not (row.meaning in ("model_invocable", "user_invocable", "background"))


def _body_losses(body: str, rules: Target) -> Iterator[Loss]:
    for name, pattern in _VARIABLES:
        if name not in rules.body_variables and pattern.search(body):
            yield Loss(LossKind.BEHAVIOUR, name, f"{rules.title} does not replace {name} in the instructions")
