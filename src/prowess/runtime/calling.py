"""The tools of a session and the calls of them: which there are now, and what each does."""

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prowess.activation.consent import Confirmation, Question
from prowess.activation.receipts import AskedBy
from prowess.activation.tool_arguments import parse_arguments
from prowess.activation.tool_dialects import find_tool
from prowess.activation.tools import Role, Tool, make_python_tool, make_tools
from prowess.catalog.views import View
from prowess.disclosure.agreed_files import SkillChanged
from prowess.disclosure.guidance import render_functions
from prowess.disclosure.resources import parse_lines
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, ToolInputError, WorldError
from prowess.execution.inline.python_workers import require_interpreter
from prowess.execution.interpreters import is_script_name
from prowess.execution.jobs import Listener
from prowess.execution.sandbox import hear_nothing
from prowess.policy import ToolSet
from prowess.runtime.activator import Activation, Activator
from prowess.runtime.delegation import Delegation
from prowess.runtime.host_tools import HostTools, check_call
from prowess.runtime.inline_python import InlinePython, name_functions, show_functions
from prowess.runtime.planning import Planning
from prowess.runtime.run_results import RunRequest
from prowess.runtime.runner import Runner
from prowess.runtime.skill_names import callable_names
from prowess.runtime.tool_results import (
    ToolResult,
    render_activation,
    render_deactivation,
    render_error,
    render_fork,
    render_found,
    render_host_tool,
    render_resource,
    render_run,
    render_skill_tool,
    with_skill_tools,
)
from prowess.runtime.toolset_tools import SkillTool, Survey, ToolsetTools
from prowess.skill.skill import Skill

if TYPE_CHECKING:
    from prowess.runtime.session import Session

__all__ = ["Caller", "has_scripts"]

_FOUND = 10
_SCRIPTS = "scripts"
_RUNNING = (Role.RUN, Role.TOOLSET)


class Caller:
    """Offers the tools of one session, and carries out calls of them."""

    def __init__(
        self,
        session: "Session",
        planning: Planning,
        *,
        activator: Activator,
        runner: Runner,
        toolsets: ToolsetTools,
        delegation: Delegation,
        host: HostTools,
        python: InlinePython,
    ) -> None:
        self._session = session
        self._planning = planning
        self._activator = activator
        self._runner = runner
        self._toolsets = toolsets
        self._delegation = delegation
        self._host = host
        self._python = python
        self._lock = threading.Lock()
        self._tools_of: tuple[View, tuple[Skill, ...], bool, tuple[Tool, ...]] | None = None

    # Which there are

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools that the model is offered now: those of the policy, of the application, of active skills.

        Where it writes Python, it is offered only what runs that, and these are functions for it.
        """
        if self._is_python:
            require_interpreter()
            return (make_python_tool(),) if self.standing_tools() else ()
        return self._all_tools()

    @property
    def _is_python(self) -> bool:
        return self._session.policy.tools is ToolSet.PYTHON

    def _all_tools(self) -> tuple[Tool, ...]:
        return (*self.standing_tools(), *self.skill_tools())

    def standing_tools(self) -> tuple[Tool, ...]:
        """Return the tools that do not depend on what is active, as a model or its code can call them."""
        return (*self._general_tools(), *self._host.tools)

    def skill_tools(self) -> tuple[Tool, ...]:
        """Return the tools that active skills bring, as a model or its code can call them."""
        return tuple(one.tool for one in self._skill_tools())

    def _general_tools(self) -> tuple[Tool, ...]:
        view = self._session.view()
        # A skill that only people see has files for the model too, once a person has switched it on.
        active = self._session.active_skills()
        hidden = active if view.for_people else ()
        # What is active may have got its first script since; to look at all that is visible again would be slow.
        scripted = any(map(has_scripts, active))
        with self._lock:
            known = self._tools_of
        if known is not None and known[0] is view and known[1:3] == (hidden, scripted):
            return known[3]
        seen = (*view.visible, *hidden)
        names = callable_names(view) or tuple(skill.name for skill in seen)
        runs = self._runner.workbench.policy.enabled and any(map(has_scripts, seen))
        made = make_tools(
            self._session.policy.tools,
            names=names,
            without=() if runs else (Role.RUN,),
            forks=self._delegation.possible,
        )
        with self._lock:
            self._tools_of = (view, hidden, scripted, made)
        return made

    def _skill_tools(self) -> tuple[SkillTool, ...]:
        skills = self._session.active_skills()
        bringing = [skill for skill in skills if skill.manifest.behaviour.toolsets]
        found = (one for skill in bringing for one in self._toolsets.find(skill, label=_label(skill, skills)))
        taken = {tool.name for tool in self._host.tools}
        return tuple(one for one in found if one.tool.name not in taken)

    # Calls

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | str,
        *,
        confirmation: Confirmation | None = None,
        listener: Listener = hear_nothing,
    ) -> ToolResult:
        """Carry out a tool call of a model. What the model or the user can set right comes back as an error result."""
        if self._is_python:
            return self._run_python(tool, arguments, listener)
        return self._call(tool, arguments, confirmation, listener)

    def _run_python(self, tool: str, arguments: Mapping[str, object] | str, listener: Listener) -> ToolResult:
        """Run code whose functions are the tools that would be offered one by one."""
        found: Tool | None = None
        try:
            found = find_tool(self.tools(), tool)
            given = parse_arguments(found, arguments)
            return self._python.run(
                found,
                given["code"],
                functions=self._all_tools(),
                call=lambda name, inner: self._call(name, inner, None, listener),
            )
        except (ToolInputError, Refused) as error:
            return self._fail(tool, found, error)

    def _call(
        self,
        tool: str,
        arguments: Mapping[str, object] | str,
        confirmation: Confirmation | None,
        listener: Listener,
    ) -> ToolResult:
        found: Tool | None = None
        try:
            found, one = self._find(tool)
            if one is not None:
                return render_skill_tool(
                    found.name, one, self._toolsets.call(one, arguments, confirmation=confirmation)
                )
            if found.role is Role.HOST:
                return self._call_host(found, arguments)
            given = parse_arguments(replace(found, name=tool), arguments)  # Complaints use the name that was called.
            return self._carry_out(found, given, confirmation, listener)
        except (ToolInputError, Refused, NotFound, BrokenSkill, SkillChanged) as error:
            return self._fail(tool, found, error)
        except WorldError as error:
            if found is None or found.role not in _RUNNING:
                raise
            return self._fail(tool, found, error)  # A sandbox that does not work is no reason to end a conversation.

    def _find(self, name: str) -> tuple[Tool, SkillTool | None]:
        """Return the tool of this name, with its skill if one brings it. Those are listed only if no other is meant."""
        general = self.standing_tools()
        with suppress(ToolInputError):
            return find_tool(general, name), None
        brought = {one.tool.name: one for one in self._skill_tools()}
        found = find_tool((*general, *(one.tool for one in brought.values())), name)
        return found, brought[found.name]

    def _fail(self, tool: str, found: Tool | None, error: ProwessError) -> ToolResult:
        role = found.role if found else None
        names = callable_names(self._session.view())
        return render_error(tool, role, self._session.policy.tools, error, names=names)

    def _carry_out(
        self, tool: Tool, given: Mapping[str, Any], confirmation: Confirmation | None, listener: Listener
    ) -> ToolResult:
        tool_set = self._session.policy.tools
        match tool.role:
            case Role.ACTIVATE:
                skill = self._session.find_usable(given["name"])
                if self._delegation.decides(skill, asked=given.get("run_in", "")):
                    return self._delegate(tool, skill, _find_prompt(given), confirmation)
                activation = self._activator.activate(
                    skill,
                    tool=tool.name,
                    asked_by=AskedBy.MODEL,
                    arguments=given.get("arguments"),
                    confirmation=confirmation,
                )
                return self._add_tools(render_activation(tool.name, tool_set, activation), activation)
            case Role.READ:
                skill = self._session.find_usable(given["name"])
                lines = parse_lines(given["lines"]) if given.get("lines") else None
                resource = self._activator.read(
                    skill, given["path"], tool=tool.name, lines=lines, confirmation=confirmation
                )
                return render_resource(tool.name, tool_set, skill, resource)
            case Role.SEARCH:
                found = self._session.search(given["query"], limit=given.get("limit", _FOUND))
                text = self._planning.render_found(self._session.view(), found)
                return render_found(tool.name, given["query"], found, text=text)
            case Role.DEACTIVATE:
                return render_deactivation(tool.name, given["name"], self._session.deactivate(given["name"]))
            case Role.RUN:
                result = self._runner.run(
                    self._session.find_usable(given["name"]),
                    given["script"],
                    given.get("arguments", ()),
                    request=RunRequest(input=given.get("input")),
                    tool=tool.name,
                    asked_by=AskedBy.MODEL,
                    confirmation=confirmation,
                    listener=listener,
                )
                return render_run(tool.name, result)
            case Role.TOOLSET | Role.HOST | Role.PYTHON:
                raise AssertionError("unreachable")

    def _call_host(self, tool: Tool, arguments: Mapping[str, object] | str) -> ToolResult:
        given, subject = self._host.prepare(tool, arguments)
        notices = check_call(
            tool.name,
            subject,
            skills=self._session.ruling_skills(),
            policy=self._session.policy.execution.allowed_tools,
            rights=self._session.rights,
            workspace=self._runner.workbench.workspace,
        )
        return render_host_tool(tool.name, self._host.call(tool, given, notices=notices))

    def _delegate(self, tool: Tool, skill: Skill, prompt: str, confirmation: Confirmation | None) -> ToolResult:
        result = self._delegation.delegate(
            skill, prompt, tool=tool.name, asked_by=AskedBy.MODEL, confirmation=confirmation
        )
        return render_fork(tool.name, self._session.policy.tools, skill, result)

    def announce(self, activation: Activation) -> Activation:
        """Return what a user's activation tells the model, with the tools that it brings; whoever must be is asked."""
        found = self._survey(activation)
        return activation if found is None else replace(activation, text=f"{activation.text}\n\n{self._tell(found)}")

    def _tell(self, found: Survey) -> str:
        """Return what a model is told of the tools that a skill brings; code calls them by the names of functions."""
        if not self._is_python or not found.tools:
            return found.sentence
        functions = name_functions(self._all_tools())
        names = {tool.name: name for name, tool in functions.items() if tool.role is Role.TOOLSET}
        known = [(one, names[one.tool.name]) for one in found.tools if one.tool.name in names]
        called = tuple(replace(one, tool=replace(one.tool, name=name)) for one, name in known)
        declared = render_functions(show_functions(one.tool for one in called))
        return "\n\n".join(part for part in (replace(found, tools=called).sentence, declared) if part)

    def _survey(self, activation: Activation) -> Survey | None:
        """List the tools of a skill that was switched on now; None if it brings none."""
        if not activation.skill.manifest.behaviour.toolsets or activation.already_active:
            return None
        return self._toolsets.survey(activation.skill, label=_label(activation.skill, self._session.active_skills()))

    def _add_tools(self, result: ToolResult, activation: Activation) -> ToolResult:
        """Say with an activation which tools it brings, or why it does not."""
        found = self._survey(activation)
        if found is None:
            return result
        names = [one.tool.name for one in found.tools]
        return with_skill_tools(result, self._session.policy.tools, names=names, said=self._tell(found))

    def question(self, tool: str, arguments: Mapping[str, object] | str) -> Question | None:
        """Return what a person must be asked before this call; None if the call is safe, or hopeless, as it is."""
        if self._is_python:
            return None  # Nobody knows what code will call.
        try:
            found, one = self._find(tool)
            if found.role is Role.HOST:
                return None
            if one is not None:
                return self._toolsets.question(one, arguments)
            given = parse_arguments(found, arguments)
            match found.role:
                case Role.ACTIVATE | Role.READ:
                    skill = self._session.find_usable(given["name"])
                    if found.role is Role.ACTIVATE and self._delegation.decides(skill, asked=given.get("run_in", "")):
                        return self._delegation.question(skill, _find_prompt(given), tool=found.name)
                    about = given.get("path" if found.role is Role.READ else "arguments", "")
                    return self._activator.question(skill, tool=found.name, arguments=about)
                case Role.RUN:
                    return self._runner.question(
                        self._session.find_usable(given["name"]),
                        given["script"],
                        given.get("arguments", ()),
                        request=RunRequest(input=given.get("input")),
                        tool=found.name,
                    )
                case _:
                    return None
        except (ToolInputError, Refused, NotFound, BrokenSkill, WorldError):
            return None


def _label(skill: Skill, active: Sequence[Skill]) -> str:
    """Return what a skill is called in the names of its tools: by its id, if one was active before that has its name.

    Else a call would reach the code of the other.
    """
    first = next((other for other in active if other.name == skill.name), skill)
    return skill.name if first.id == skill.id else skill.id


def _find_prompt(given: Mapping[str, Any]) -> str:
    """Return what a skill is to be applied to, under whichever name the tool has it."""
    return given.get("prompt") or given.get("arguments") or ""


def has_scripts(skill: Skill) -> bool:
    """Whether a skill has files that can be run, as far as its folder and `scripts` in it show."""
    try:
        with os.scandir(skill.real) as entries:
            for entry in entries:
                if entry.name == _SCRIPTS and entry.is_dir(follow_symlinks=False) and os.listdir(entry.path):
                    return True
                if is_script_name(entry.name) and entry.is_file(follow_symlinks=False):
                    return True
    except OSError:
        pass  # It says so itself when it is used.
    return False
