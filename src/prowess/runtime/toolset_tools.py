"""Tools that active skills bring: listed and called in a sandbox, never in this process."""

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from prowess.activation.consent import Confirmation, Question
from prowess.activation.receipts import AskedBy
from prowess.activation.tools import Role, Tool
from prowess.containers.mounts import Mount
from prowess.copies.versions import Pin
from prowess.errors import ProwessError, Refused, ToolInputError
from prowess.execution.jobs import OutputFile
from prowess.execution.rules.tool_rules import ToolRule, covers, covers_all, find_prohibition, parse_rule
from prowess.execution.toolsets.toolset_arguments import check_arguments
from prowess.execution.toolsets.toolset_protocol import (
    COMMAND,
    HELPER_FOLDER,
    HELPER_SOURCE,
    MAX_RESULT_BYTES,
    REPLY_FILE,
    Failed,
    OfferedTool,
    Returned,
    ToolsetFault,
    ToolsetReference,
    make_request_to_call,
    make_request_to_list,
    parse_listing,
    parse_outcome,
    parse_reference,
    tool_name,
)
from prowess.runtime.gate import RunWish
from prowess.runtime.run_preparation import Prepared
from prowess.runtime.run_results import RunRequest, RunResult
from prowess.runtime.runner import Runner
from prowess.runtime.tool_checks import apply_rules
from prowess.skill.deception import make_printable
from prowess.skill.skill import Skill
from prowess.sources.private_folders import make_private_folder
from prowess.sources.skill_files import FileSet

__all__ = ["SkillTool", "Survey", "ToolOutcome", "ToolsetTools"]

_HELPER = Mount(HELPER_SOURCE, inside=HELPER_FOLDER)
_LIST_SECONDS = 20.0
"""How long a listing may take, where runs may take longer."""
_TRY_AGAIN_SECONDS = 60.0
"""How long it is believed that the world does not let tools be listed."""
_MAX_TOOLSETS = 8
"""Of one skill."""
_MAX_KEPT = 1_000
"""Listings that outlive the process; the oldest go."""
_MAX_NAMED = 50
_MAX_SAID_CHARACTERS = 300
"""Of what tools have written when they ended without an answer."""

_Key = tuple[str, str]
"""A digest, and a toolset of the skill that has it."""


@dataclass(frozen=True, slots=True)
class SkillTool:
    """A tool of an active skill, as a model is offered it."""

    tool: Tool
    skill: Skill
    reference: ToolsetReference
    offered: OfferedTool


@dataclass(frozen=True, slots=True)
class Survey:
    """The tools that a skill brings, and why others are missing."""

    tools: tuple[SkillTool, ...]
    faults: tuple[ProwessError, ...] = ()

    @property
    def sentence(self) -> str:
        """What a model is told of it."""
        reasons = dict.fromkeys(map(_explain, self.faults))
        names = ", ".join(one.tool.name for one in self.tools)
        if not names and reasons:
            return f"Its tools cannot be called: {'; '.join(reasons)}."
        said = f"Tools of this skill that you can call now: {names or 'none'}."
        return said + (f" Others cannot be called: {'; '.join(reasons)}." if reasons else "")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call."""

    content: str
    is_error: bool
    value: Any
    notes: tuple[str, ...] = ()
    """What Prowess has to say of the call, for the model."""


class _Held(NamedTuple):
    """The version of a skill that is listed or called."""

    source: Skill
    files: FileSet
    pin: Pin


class ToolsetTools:
    """The tools of one session's active skills."""

    def __init__(self, runner: Runner, *, cache: str) -> None:
        self._runner = runner
        self._cache = os.path.join(cache, "toolsets-1")
        self._known: dict[_Key, tuple[OfferedTool, ...]] = {}
        self._silent_until: dict[_Key, float] = {}
        """Toolsets that gave no listing, and until when they are not tried again without a new activation."""

    def find(self, skill: Skill, *, label: str = "") -> tuple[SkillTool, ...]:
        """Return the tools of a skill, as far as they are known or may be listed without asking anybody.

        Why others are missing is told to whoever activates the skill. `label` stands for the skill in the names of its
        tools, where its own name will not do.
        """
        return self._list(skill, label or skill.name, ask=False).tools

    def survey(self, skill: Skill, *, label: str = "") -> Survey:
        """Return the tools of a skill, with consent to run them, and why others are missing."""
        return self._list(skill, label or skill.name, ask=True)

    def call(
        self, one: SkillTool, arguments: Mapping[str, object] | str, *, confirmation: Confirmation | None = None
    ) -> ToolOutcome:
        """Call a tool of a skill."""
        request, notices = self._make_request(one, arguments)
        self._runner.check_enabled()
        with ExitStack() as stack:
            held = self._hold(one.skill, stack)
            prepared = self._prepare(held, one.reference, request)
            result, reply = self._run(held, prepared, request, label=one.tool.name, confirmation=confirmation)
        return _conclude(result, _read_reply(result, reply), notices)

    def question(self, one: SkillTool, arguments: Mapping[str, object] | str) -> Question | None:
        """Return what a person would be asked before this call; None if nobody would be."""
        request, _ = self._make_request(one, arguments)
        with ExitStack() as stack:
            held = self._hold(one.skill, stack)
            prepared = self._prepare(held, one.reference, request)
            wish = _name_call(prepared.wish, one.tool.name, request)
            return self._runner.inquire(held.source, held.files, wish, tool=one.tool.name)

    def _make_request(
        self, one: SkillTool, arguments: Mapping[str, object] | str
    ) -> tuple[RunRequest, tuple[str, ...]]:
        """Return the request for a call that may be made, and what to say of it."""
        given = check_arguments(one.offered.schema, arguments, tool=one.tool.name)
        notices = self._check_rules(one)
        return RunRequest(input=json.loads(make_request_to_call(one.reference, one.offered.name, given))), notices

    def _list(self, skill: Skill, label: str, *, ask: bool) -> Survey:
        found: dict[str, SkillTool] = {}
        faults: list[ProwessError] = []
        declared = skill.manifest.behaviour.toolsets
        for text in declared[:_MAX_TOOLSETS]:
            try:
                reference = parse_reference(text)
                for offered in self._list_one(skill, reference, ask=ask):
                    one = _make_tool(skill, reference, offered, label=label)
                    found.setdefault(one.tool.name, one)
            except ProwessError as error:  # It takes nothing from the other toolsets.
                faults.append(error)
                if isinstance(error, Refused):
                    break  # But a no is for all of them.
        if len(declared) > _MAX_TOOLSETS:
            faults.append(ToolsetFault(f"only the first {_MAX_TOOLSETS} of its {len(declared)} toolsets are used"))
        return Survey(tuple(found.values()), tuple(faults))

    def _list_one(self, skill: Skill, reference: ToolsetReference, *, ask: bool) -> tuple[OfferedTool, ...]:
        self._runner.check_enabled()
        self._check_host(skill)
        key = (self._runner.take(skill)[1].digest, reference.text)
        known = self._known.get(key)
        known = self._recall(key, reference) if known is None else known
        if known is not None:
            return known
        if not ask and time.monotonic() < self._silent_until.get(key, 0.0):
            return ()
        with ExitStack() as stack:
            held = self._hold(skill, stack)
            key = (held.pin.digest, reference.text)  # It may have been changed meanwhile.
            try:
                raw = self._ask_for_listing(held, reference, ask=ask)
                if raw is None:
                    return ()
                listed = parse_listing(raw, ref=reference)
            except ProwessError as error:
                self._give_up(key, error, ask=ask)
                raise
        self._known[key] = listed
        self._keep(key, raw)
        return listed

    def _ask_for_listing(self, held: _Held, reference: ToolsetReference, *, ask: bool) -> bytes | None:
        """Return what the toolset answers; None if it would take a question that nobody wants asked."""
        request = self._request_to_list(reference)
        prepared = self._prepare(held, reference, request)
        if not ask and not self._runner.allows(held.source, held.files, prepared.wish):
            return None
        result, reply = self._run(held, prepared, request, label=reference.text)
        return _read_reply(result, reply)

    def _request_to_list(self, reference: ToolsetReference) -> RunRequest:
        seconds = min(_LIST_SECONDS, self._runner.workbench.policy.limits.timeout_seconds)
        return RunRequest(input=json.loads(make_request_to_list(reference)), timeout_seconds=seconds)

    def _give_up(self, key: _Key, error: ProwessError, *, ask: bool) -> None:
        """Remember that a listing failed: it must not be tried, and waited for, at every turn of a conversation."""
        if isinstance(error, ToolsetFault):
            self._silent_until[key] = math.inf
        elif not ask:
            self._silent_until[key] = time.monotonic() + _TRY_AGAIN_SECONDS

    def _check_host(self, skill: Skill) -> None:
        """Refuse to run anything where no rule of the host or the session speaks for a tool of the skill."""
        for rules in self._runner.rights.tools:
            if not any(_names_tool_of(skill, rule) for rule in map(parse_rule, rules) if rule is not None):
                raise Refused(
                    f"tools of skill '{skill.name}' are not allowed here",
                    hint="the operator allows more with execution.tools",
                    code="tool-not-allowed",
                )

    def _hold(self, skill: Skill, stack: ExitStack) -> _Held:
        return _Held(*self._runner.hold(skill, stack))

    def _prepare(self, held: _Held, reference: ToolsetReference, request: RunRequest) -> Prepared:
        preparation = self._runner.prepare(held.source, held.files, held.pin, request=request)
        return preparation.tools(_find_file(reference, held.files))

    def _run(
        self,
        held: _Held,
        prepared: Prepared,
        request: RunRequest,
        *,
        label: str,
        confirmation: Confirmation | None = None,
    ) -> tuple[RunResult, bytes | None]:
        """Run the helper, and return what came of it with its reply."""
        wish = _name_call(prepared.wish, label, request)
        consent = self._runner.permit(held.source, held.files, wish, tool=label, confirmation=confirmation)
        result = self._runner.carry_out(
            held.source,
            held.pin,
            prepared,
            (*prepared.command, *COMMAND),
            request=request,
            consent=consent,
            asked_by=AskedBy.MODEL,
            label=label,
            helper=_HELPER,
        )
        return result, _take_reply(result.outputs)

    def _check_rules(self, one: SkillTool) -> tuple[str, ...]:
        own = one.skill.manifest.allowed_tools
        name = one.tool.name
        return apply_rules(
            one.skill,
            self._runner.workbench.policy.allowed_tools,
            what=f"its tool {one.offered.name}",
            host=covers_all(self._runner.rights.tools, name),
            own=None if own is None else covers([*own, name], name),  # A skill's own tools are its own to call.
            forbidden_by=find_prohibition(one.skill.manifest.behaviour.disallowed_tools, name),
        )

    # Listings that outlive the process

    def _place(self, key: _Key) -> str:
        return os.path.join(self._cache, hashlib.sha256("\0".join(key).encode()).hexdigest())

    def _recall(self, key: _Key, reference: ToolsetReference) -> tuple[OfferedTool, ...] | None:
        """Return what was listed before; what cannot be read any more is listed again."""
        with suppress(OSError, ToolsetFault), open(self._place(key), "rb") as file:
            self._known[key] = parse_listing(file.read(MAX_RESULT_BYTES), ref=reference)
            return self._known[key]
        return None

    def _keep(self, key: _Key, raw: bytes) -> None:
        place = self._place(key)
        draft = f"{place}.{os.getpid()}-{os.urandom(4).hex()}"
        with suppress(OSError):  # What cannot be remembered is listed again.
            make_private_folder(self._cache)
            try:
                with open(draft, "xb") as file:
                    file.write(raw)
                os.replace(draft, place)
            except OSError:
                os.unlink(draft)
            self._collect()

    def _collect(self) -> None:
        """Forget the oldest listings, where there are too many."""
        with os.scandir(self._cache) as entries:
            found = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries)
        for _, path in found[:-_MAX_KEPT]:
            os.unlink(path)


def _find_file(reference: ToolsetReference, files: FileSet) -> str:
    """Return the file of a skill that a reference means."""
    package = f"{reference.path}/__init__.py"
    return package if any(file.path == package.encode() for file in files.files) else f"{reference.path}.py"


def _take_reply(outputs: tuple[OutputFile, ...]) -> bytes | None:
    """Return the reply among the outputs of a run, and remove it; the rest stays for the user."""
    for file in outputs:
        if file.path == REPLY_FILE:
            with open(file.location, "rb") as reply:
                raw = reply.read(MAX_RESULT_BYTES + 1)
            if len(outputs) == 1:
                shutil.rmtree(os.path.dirname(file.location), ignore_errors=True)
            else:
                os.unlink(file.location)
            return raw
    return None


def _read_reply(result: RunResult, reply: bytes | None) -> bytes:
    """Return the reply, or raise with the reason why there is none."""
    if reply is not None:
        return reply
    said = make_printable(result.stderr.strip().rpartition("\n")[2][:_MAX_SAID_CHARACTERS])
    told = "; ".join(filter(None, (*result.notices, said))) or f"they ended with status {result.exit_status}"
    why = "it took too long" if result.timed_out else told
    raise ToolsetFault(
        f"the tools of skill '{result.skill.name}' gave no answer: {why}",
        hint="go on without them, and tell the user so",
    )


def _conclude(result: RunResult, reply: bytes, notices: tuple[str, ...]) -> ToolOutcome:
    notes = [f"[{notice}]" for notice in (*notices, *result.notices)]
    files = [file.path for file in result.outputs if file.path != REPLY_FILE]
    more = f" and {len(files) - _MAX_NAMED:,} more" if len(files) > _MAX_NAMED else ""
    notes += [f"Files kept for the user: {', '.join(files[:_MAX_NAMED])}{more}"] if files else []
    match parse_outcome(reply):
        case Returned(value):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return ToolOutcome(text, is_error=False, value=value, notes=tuple(notes))
        case Failed() as failed:
            return ToolOutcome(failed.message, is_error=True, value=None, notes=tuple(notes))


def _name_call(wish: RunWish, tool: str, request: RunRequest) -> RunWish:
    """Return a wish that says which tool is called and with what, so that a person knows what is asked."""
    if request.input["do"] != "call":
        return wish
    return replace(wish, script=tool, arguments=(json.dumps(request.input["arguments"], ensure_ascii=False),))


def _make_tool(skill: Skill, reference: ToolsetReference, offered: OfferedTool, *, label: str) -> SkillTool:
    name = tool_name(label, offered.name)
    tool = Tool(name, Role.TOOLSET, offered.name, offered.description, offered.schema, group=skill.name)
    return SkillTool(tool, skill, reference, offered)


def _names_tool_of(skill: Skill, rule: ToolRule) -> bool:
    """Whether a rule may be for a tool of the skill, of which none is known by name yet."""
    name = rule.tool.casefold()
    return name == "*" or name.startswith(f"{skill.name}__".casefold()) or "__0" in name  # As `tool_name` may spell it.


def _explain(error: ProwessError) -> str:
    return error.message + (f" ({error.hint})" if isinstance(error, ToolInputError) and error.hint else "")
