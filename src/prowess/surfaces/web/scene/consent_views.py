"""What a question of consent says, as values for its template."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prowess.activation.consent import Change
from prowess.activation.grants import Act
from prowess.skill.digest import FileKind
from prowess.surfaces.web.scene.addresses import find_skill
from prowess.surfaces.web.scene.blocks import ConsentQuestion
from prowess.surfaces.web.scene.card_views import Fact, show_size
from prowess.surfaces.web.scene.fields import Fields
from prowess.surfaces.wording import describe_power, describe_use, shorten_given

__all__ = ["ChangedFile", "ConsentView", "DiffView", "TreeNode", "show_consent"]

_MAX_FILES = 200
_MAX_CHANGES = 200
_MAX_DEPTH = 12
_SHORT_DIGEST = 12
_KINDS = {FileKind.EXECUTABLE.value: "executable", FileKind.LINK.value: "link"}
_MARKS = {Change.ADDED.value: "+", Change.REMOVED.value: "-", Change.CHANGED.value: "~"}


@dataclass(slots=True)
class TreeNode:
    """A file or a folder."""

    name: str
    note: str = ""
    children: "dict[str, TreeNode]" = field(default_factory=dict[str, "TreeNode"])


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is not as it was."""

    mark: str
    change: str
    path: str
    sizes: str


@dataclass(frozen=True, slots=True)
class DiffView:
    """What has changed in a file."""

    path: str
    lines: tuple[tuple[str, str], ...]
    """Kind and text."""


@dataclass(frozen=True, slots=True)
class ConsentView:
    """All that there is to answer by."""

    description: str
    on_behalf_of: str
    facts: tuple[Fact, ...]
    wants: tuple[str, ...]
    """What it may do, each in a few words."""
    limits: str
    """What a yes means, and what it does not."""
    tree: TreeNode
    count: int
    more_files: int
    former_digest: str
    changes: tuple[ChangedFile, ...]
    more_changes: int
    diffs: tuple[DiffView, ...]
    uncompared: tuple[str, ...]


def show_consent(block: ConsentQuestion) -> ConsentView:
    """Return what a question says."""
    record = Fields(block.record)
    files, changes = record.parts("files"), record.parts("changes")
    diffs = tuple(_show_diffs(Fields(block.details)))
    shown = {diff.path for diff in diffs}
    uncompared = [
        one.text("path")
        for one in changes
        if one.text("change") != Change.REMOVED.value and one.text("path") not in shown
    ]
    is_run = record.text("act") == Act.RUN.value
    return ConsentView(
        description=record.text("description"),
        on_behalf_of=record.text("on_behalf_of"),
        facts=tuple(_find_facts(record, is_run=is_run)),
        wants=tuple(_find_wishes(record)),
        limits=_describe_limits(record, is_run=is_run),
        tree=_grow_tree(files[:_MAX_FILES]),
        count=len(files) + int(record.number("more_files") or 0),
        more_files=max(0, len(files) - _MAX_FILES) + int(record.number("more_files") or 0),
        former_digest=record.text("former_digest")[:_SHORT_DIGEST],
        changes=tuple(_show_change(one) for one in changes[:_MAX_CHANGES]),
        more_changes=max(0, len(changes) - _MAX_CHANGES) + int(record.number("more_changes") or 0),
        diffs=diffs,
        uncompared=tuple(uncompared) if record.text("former_digest") else (),
    )


def _find_facts(record: Fields, *, is_run: bool) -> Iterator[Fact]:
    yield Fact("Skill", record.text("name"), find_skill(record.text("skill")))
    yield Fact("From", f"{record.text('source')}: {record.text('skill')}")
    yield Fact("Digest", record.text("digest")[:_SHORT_DIGEST])
    given = record.texts("arguments")
    if is_run:
        yield Fact("Script", record.text("script") or "the tools that the skill brings")
        if given:
            yield Fact("Arguments", shorten_given(shlex.join(given)))
        if record.text("input"):
            yield Fact("Input", shorten_given(record.text("input")))
    elif record.is_set("forks"):
        yield Fact("A subagent works it, with this prompt", shorten_given(" ".join(given)))
    elif any(given):
        yield Fact("Called with", shorten_given(" ".join(given)))
    packages = record.texts("packages")
    if packages:
        yield Fact("Packages", shorten_given(", ".join(packages)))


def _find_wishes(record: Fields) -> Iterator[str]:
    for power in record.texts("powers"):
        yield describe_power(power)
    if record.texts("allowed_tools"):
        yield f"use these tools: {shorten_given(' '.join(record.texts('allowed_tools')))}"
    if record.texts("permissions"):
        yield f"have these permissions: {shorten_given(' '.join(record.texts('permissions')))}"


def _describe_limits(record: Fields, *, is_run: bool) -> str:
    if not is_run:
        said = describe_use(spares_runs=record.is_set("spares_runs"))
        return f"{said[0].upper()}{said[1:]}."
    return "It runs in a sandbox" + ("." if record.texts("powers") else ", with nothing beyond its own files.")


def _grow_tree(files: Sequence[Fields]) -> TreeNode:
    root = TreeNode("")
    for file in files:
        *folders, name = file.text("path").split("/", _MAX_DEPTH)
        node = root
        for folder in folders:
            node = node.children.setdefault(f"{folder}/", TreeNode(f"{folder}/"))
        kind = _KINDS.get(file.text("kind"), "")
        note = ", ".join(part for part in (show_size(file.number("size")), kind) if part)
        node.children[name] = TreeNode(name, note)
    return root


def _show_change(one: Fields) -> ChangedFile:
    before, after = (show_size(one.number(key)) for key in ("former_size", "size"))
    change = one.text("change")
    sizes = f"{before} → {after}" if before and after else before or after
    return ChangedFile(_MARKS.get(change, "~"), change, one.text("path"), sizes)


def _show_diffs(details: Fields) -> Iterator[DiffView]:
    for diff in details.parts("diffs"):
        yield DiffView(diff.text("path"), tuple((line.text("kind"), line.text("text")) for line in diff.parts("lines")))
