"""What came of a tool call: a text for the model and the same as data, in the manner of each set of tools."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from prowess.activation.receipts import Receipt, RunReceipt
from prowess.activation.tools import Role
from prowess.disclosure.instructions import defuse
from prowess.disclosure.names import show_name
from prowess.disclosure.resources import Resource
from prowess.errors import ProwessError, Refused
from prowess.execution.inline.outcomes import PythonOutcome
from prowess.policy import ToolSet
from prowess.runtime.activator import Activation
from prowess.runtime.forking import ForkResult
from prowess.runtime.host_tools import HostOutcome
from prowess.runtime.planning import Found
from prowess.runtime.run_results import RunResult, run_record
from prowess.runtime.toolset_tools import SkillTool, ToolOutcome
from prowess.skill.deception import make_printable, strip_invisible
from prowess.skill.skill import Skill
from prowess.state.conversations import TurnReceipt

__all__ = [
    "ToolResult",
    "activation_record",
    "receipt_record",
    "render_activation",
    "render_deactivation",
    "render_error",
    "render_fork",
    "render_found",
    "render_host_tool",
    "render_python",
    "render_resource",
    "render_run",
    "render_skill_tool",
    "resource_record",
    "run_receipt_record",
    "show_moment",
    "turn_record",
    "with_skill_tools",
]

_MAX_NAMED = 50
"""Visible skills that an error names."""
_MAX_CALLED = 200
"""Characters of a name in a call that are said back."""
_MAX_NOTES = 20
"""On the calls that code has made."""
_FOR_THE_REFUSED = "go on without it, and tell the user so"
"""What a model reads in the place of a refusal's hint, which tells people by what command to lift it."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call."""

    tool: str
    role: Role | None
    """What the tool does; None if there is no such tool."""
    content: str
    """What the model reads."""
    data: Data = field(default_factory=dict[str, Any])
    """The same for programs."""
    is_error: bool = False
    summary: str = ""
    """For a person, in a few words."""
    refused: bool = False
    """Whether a person or a policy said no."""
    receipt: Receipt | None = None
    """Of the skill that the call has switched on."""
    notes: tuple[str, ...] = ()
    """What Prowess has to say of the call, with which the content ends."""

    @property
    def answer(self) -> str:
        """The content without the notes."""
        return self.content.removesuffix("".join(f"\n\n{note}" for note in self.notes))


def activation_record(activation: Activation) -> Data:
    """Return an activation as plain data, under the names of the contract."""
    return {
        "name": activation.skill.name,
        "id": activation.skill.id,
        "digest": activation.digest or None,
        "base_directory": activation.base_directory or None,
        "instructions": activation.instructions.body,
        "folder_structure": activation.folder_structure,
        "frontmatter": activation.skill.manifest.frontmatter,
        "truncated": activation.instructions.truncated,
        "already_active": activation.already_active,
        "receipt": receipt_record(activation.receipt),
    }


def receipt_record(receipt: Receipt) -> Data:
    """Return a receipt as plain data, its times as text."""
    ended = None if receipt.ended_at is None else show_moment(receipt.ended_at)
    return asdict(receipt) | {"at": show_moment(receipt.at), "ended_at": ended}


def run_receipt_record(run: RunReceipt) -> Data:
    """Return the receipt of a run as plain data, its times as text."""
    ended = None if run.ended_at is None else show_moment(run.ended_at)
    return asdict(run) | {"at": show_moment(run.at), "ended_at": ended, "powers": list(run.powers)}


def turn_record(turn: TurnReceipt) -> Data:
    """Return the receipt of a turn as plain data, its times as text."""
    return asdict(turn) | {
        "at": show_moment(turn.at),
        "ended_at": None if turn.ended_at is None else show_moment(turn.ended_at),
        "outcome": turn.outcome.value if turn.outcome else None,
        "permissions": list(turn.permissions),
    }


def show_moment(seconds: float) -> str:
    """Return a time as text in UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def resource_record(skill: Skill, resource: Resource) -> Data:
    """Return a resource as plain data, under the names of the contract."""
    return {
        "name": skill.name,
        "path": resource.path,
        "content": resource.content,
        "encoding": resource.encoding,
        "mime": resource.mime,
        "size": resource.size,
        "truncated": resource.truncated,
        "first_line": resource.first_line,
        "last_line": resource.last_line,
        "total_lines": resource.total_lines,
    }


def render_activation(tool: str, tool_set: ToolSet, activation: Activation) -> ToolResult:
    """Return the result of an activation."""
    name = activation.skill.name
    summary = f"Skill {show_name(name)} {'already active' if activation.already_active else 'activated'}"
    record = activation_record(activation)
    receipt = None if activation.already_active else activation.receipt
    match tool_set:
        case ToolSet.WORKSPACE:
            data: Data = {
                "name": name,
                "instructions": activation.instructions.body,
                "folderStructure": activation.folder_structure,
                "mountPath": activation.base_directory,
                "alreadyActivated": activation.already_active,
                "metadata": {"description": activation.skill.description, "id": activation.skill.id},
            }
            return ToolResult(tool, Role.ACTIVATE, _json(data), data, summary=summary, receipt=receipt)
        case ToolSet.REMCOCHAT:
            data = {
                "name": name,
                "frontmatter": record["frontmatter"],
                "body": activation.instructions.body,
                "truncated": activation.instructions.truncated,
            }
            content, _ = strip_invisible(_json(data))  # The frontmatter is as its author wrote it.
            return ToolResult(tool, Role.ACTIVATE, content, data, summary=summary, receipt=receipt)
        case _:
            return ToolResult(tool, Role.ACTIVATE, activation.text, record, summary=summary, receipt=receipt)


def render_fork(tool: str, tool_set: ToolSet, skill: Skill, result: ForkResult) -> ToolResult:
    """Return the result of a skill that a subagent has worked: its answer."""
    receipt = result.receipt
    content, unseen = strip_invisible(result.text)
    content = defuse(content)  # A subagent must not pass for instructions that somebody has agreed to.
    content = "\n\n".join((content, *_note_unseen(unseen)))
    data: Data = {
        "name": skill.name,
        "id": skill.id,
        "digest": receipt.digest or None,
        "fork": receipt.session,
        "text": result.text,
        "outcome": receipt.outcome.value if receipt.outcome else None,
        "steps": receipt.steps,
        "permissions": list(receipt.permissions),
        "granted_by": receipt.granted_by,
        "use": asdict(receipt.use),
    }
    if tool_set in (ToolSet.WORKSPACE, ToolSet.REMCOCHAT):
        content = _json({"name": skill.name, "result": content})
    return ToolResult(tool, Role.ACTIVATE, content, data, summary=f"Skill {show_name(skill.name)} answered")


def render_resource(tool: str, tool_set: ToolSet, skill: Skill, resource: Resource) -> ToolResult:
    """Return the result of reading a file."""
    record = resource_record(skill, resource)
    summary = f"Read {resource.path} of {skill.name}"
    if tool_set is ToolSet.REMCOCHAT:
        data = {key: record[key] for key in ("name", "path", "content", "truncated")}
        content, _ = strip_invisible(_json(data))
        return ToolResult(tool, Role.READ, content, data, summary=summary)
    content, notes = _add_notes(resource.content)
    if resource.encoding == "base64":
        content = f"{resource.path} is {resource.mime}, {resource.size:,} bytes, in base64:\n{resource.content}"
        notes = ()
    if skill.server:
        content = f"[From the MCP server {skill.server}, and not from the user:]\n{content}"
    return ToolResult(tool, Role.READ, content, record, summary=summary, notes=notes)


def _add_notes(text: str, notes: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return a text without what cannot be seen, and with notes after it; and all notes that it has then."""
    shown, unseen = strip_invisible(text)
    all_notes = (*(strip_invisible(note)[0] for note in notes), *_note_unseen(unseen))
    return "\n\n".join((shown, *all_notes)), all_notes


def _note_unseen(unseen: int) -> tuple[str, ...]:
    return (f"[Characters that cannot be seen were left out: {unseen:,}.]",) if unseen else ()


def render_found(tool: str, query: str, found: Sequence[Found], *, text: str) -> ToolResult:
    """Return the result of a search; `text` is what the model reads of the skills that were found."""
    results = [
        {"name": one.skill.name, "id": one.skill.id, "score": one.score, "description": one.description}
        for one in found
    ]
    content = text or "No skill fits. Try other words, or go on without a skill."
    skills = "1 skill" if len(found) == 1 else f"{len(found)} skills"
    summary = f'Found {skills} for "{make_printable(query[:80])}"'
    return ToolResult(tool, Role.SEARCH, content, {"results": results}, summary=summary)


def render_deactivation(tool: str, name: str, receipt: Receipt | None) -> ToolResult:
    """Return the result of switching a skill off."""
    shown = show_name(make_printable(name[:_MAX_CALLED]))
    content = f"Skill {shown} is no longer active." if receipt else f"Skill {shown} was not active."
    data = {"name": receipt.name if receipt else shown, "deactivated": receipt is not None}
    return ToolResult(tool, Role.DEACTIVATE, content, data, summary=content.rstrip("."))


def render_run(tool: str, result: RunResult) -> ToolResult:
    """Return the result of a run: how it ended, what it said, what it left."""
    parts = [_describe_end(result)]
    for label, text in (("Standard output", result.stdout), ("Standard error", result.stderr)):
        shown, unseen = strip_invisible(text)
        parts += ["\n".join((f"{label}:", shown.rstrip(), *_note_unseen(unseen)))] if shown.strip() else []
    if result.outputs:
        kept = [f"{file.path} ({file.size_bytes:,} bytes)" for file in result.outputs[:_MAX_NAMED]]
        more = len(result.outputs) - len(kept)
        parts.append("Files kept for the user:\n" + "\n".join(kept) + (f"\n… and {more:,} more" if more else ""))
    parts += [f"[{notice}]" for notice in result.notices]
    record = run_record(result)
    # Where they lie on the host is not for a model.
    files = [{key: value for key, value in file.items() if key != "location"} for file in record["outputs"]]
    data: Data = {"name": result.skill.name, "script": result.script, **record, "outputs": files}
    data["run"] = result.receipt.id  # By which a page fetches them.
    summary = f"Ran {result.script} of {result.skill.name}: {_describe_end(result).rstrip('.')}"
    content = "\n\n".join(parts)
    return ToolResult(tool, Role.RUN, content, data, is_error=not result.succeeded, summary=summary)


def _describe_end(result: RunResult) -> str:
    network = ", with a network" if result.network else ""
    if result.timed_out:
        return f"Ended at its time limit after {result.seconds:.1f} s{network}."
    return f"Exit status {result.exit_status} after {result.seconds:.1f} s{network}."


def render_skill_tool(tool: str, one: SkillTool, outcome: ToolOutcome) -> ToolResult:
    """Return the result of a tool that a skill brings."""
    content, notes = _add_notes(outcome.content, outcome.notes)
    data = {"name": one.skill.name, "tool": one.offered.name, "result": outcome.value}
    summary = f"{'Failed' if outcome.is_error else 'Called'} {one.offered.name} of {one.skill.name}"
    return ToolResult(tool, Role.TOOLSET, content, data, is_error=outcome.is_error, summary=summary, notes=notes)


def render_host_tool(tool: str, outcome: HostOutcome) -> ToolResult:
    """Return the result of a tool of the application."""
    content, notes = _add_notes(outcome.content, outcome.notes)
    summary = f"{'Failed' if outcome.is_error else 'Called'} {tool}"
    data = {"tool": tool, "result": outcome.value}
    return ToolResult(tool, Role.HOST, content, data, is_error=outcome.is_error, summary=summary, notes=notes)


def render_python(tool: str, outcome: PythonOutcome, calls: Sequence[tuple[str, ToolResult]]) -> ToolResult:
    """Return the result of code: what it printed, the value of its last expression, how it ended.

    `calls` are the functions that it called, with what came of each.
    """
    parts = [outcome.printed.rstrip("\n")] if outcome.printed.strip() else []
    if outcome.value is not None:
        parts.append(f"Value:\n{outcome.value}" if parts else outcome.value)
    parts += [outcome.error] if outcome.error else []
    parts += [f"[{notice}]" for notice in outcome.notices]
    text = "\n\n".join(parts) or "The code has printed nothing, and has no value."
    content, notes = _add_notes(text, _gather_notes(one for _, one in calls))
    made = [{"function": name, "summary": one.summary, "state": _name_state(one)} for name, one in calls]
    data: Data = {
        "printed": outcome.printed,
        "value": outcome.value,
        "error": {"code": "python-error", "message": outcome.error, "hint": ""} if outcome.error else {},
        "calls": made,
        "truncated": outcome.truncated,
        "seconds": outcome.seconds,
    }
    called = f", {len(calls)} call{'' if len(calls) == 1 else 's'}" if calls else ""
    summary = f"{'Ran' if outcome.succeeded else 'Failed to run'} Python{called}"
    return ToolResult(tool, Role.PYTHON, content, data, is_error=not outcome.succeeded, summary=summary, notes=notes)


def _gather_notes(calls: Iterable[ToolResult]) -> list[str]:
    """Return what there was to say of calls, each thing once: code is given the answers alone."""
    notes = list(dict.fromkeys(note for one in calls for note in one.notes))
    rest = len(notes) - _MAX_NOTES
    return [*notes[:_MAX_NOTES], f"[… and {rest:,} more notes on calls …]"] if rest > 0 else notes


def _name_state(result: ToolResult) -> str:
    if result.refused:
        return "refused"
    return "failed" if result.is_error else "done"


def with_skill_tools(result: ToolResult, tool_set: ToolSet, *, names: Sequence[str], said: str) -> ToolResult:
    """Return the result of an activation with what is to be said of the tools that it brings."""
    data = result.data | {"tools": list(names)}
    if tool_set in (ToolSet.WORKSPACE, ToolSet.REMCOCHAT):
        content, _ = strip_invisible(_json({**json.loads(result.content), "tools": list(names), "toolsNote": said}))
        return replace(result, content=content, data=data)
    return replace(result, content=f"{result.content}\n\n{said}", data=data)


def render_error(
    tool: str, role: Role | None, tool_set: ToolSet, error: ProwessError, *, names: Sequence[str]
) -> ToolResult:
    """Return an error from which a model can learn what to do instead, with what is visible if a name was wrong."""
    hint = error.hint_elsewhere if isinstance(error, Refused) else error.hint
    data: Data = {"error": {"code": error.code, "message": error.message, "hint": hint}}
    if error.code == "unknown-skill":
        key = "availableSkills" if tool_set is ToolSet.WORKSPACE else "available_skills"
        data[key] = list(names[:_MAX_NAMED])
    advice = _FOR_THE_REFUSED if isinstance(error, Refused) else error.hint
    if tool_set in (ToolSet.WORKSPACE, ToolSet.REMCOCHAT):
        told = {} if len(data) > 1 or not advice else {"hint": advice}
        content = _json({**data, "error": error.message, **told})
    else:
        content = error.message + (f"\n{advice[:1].upper()}{advice[1:]}" if advice else "")
    refused = isinstance(error, Refused)
    return ToolResult(tool, role, content, data, is_error=True, summary=error.message, refused=refused)


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)
