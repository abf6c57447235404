"""Inline Python in one session: code whose functions are the tools that a model would be offered one by one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from prowess.activation.tools import Role, Schema, Tool
from prowess.disclosure.guidance import render_functions
from prowess.disclosure.python_stubs import Stub, is_python_name, order_parameters, render_stubs
from prowess.execution.inline.python_workers import PythonWorkers
from prowess.execution.inline.snippets import CallFailed, Function
from prowess.runtime.activator import Activator
from prowess.runtime.keeper import SessionKey
from prowess.runtime.tool_results import ToolResult, render_python

__all__ = ["InlinePython", "name_functions", "show_functions", "show_skill_functions"]

CallTool = Callable[[str, Mapping[str, object]], ToolResult]
"""Carries out a call of a tool by its name."""


class InlinePython:
    """Runs the code of one session."""

    def __init__(self, workers: PythonWorkers, key: SessionKey, *, activator: Activator) -> None:
        self._workers = workers
        self._key = key
        self._activator = activator

    def run(self, tool: Tool, code: str, *, functions: Sequence[Tool], call: CallTool) -> ToolResult:
        """Run code and return what came of it. Whatever a function does is done by `call`, with all its checks."""
        log = _Log(call)
        callable_ = {name: log.offer(name, one) for name, one in name_functions(functions).items()}
        outcome = self._workers.run(code, session=self._key.session, functions=callable_)
        result = render_python(tool.name, outcome, log.results)
        told = [one for _, one in log.results if one.receipt is not None]
        read = [one.receipt for one in told if one.content in result.content]
        self._forget_unread({one.receipt.id for one in told if one.receipt and one.receipt not in read})
        return replace(result, receipt=read[0] if len(read) == 1 else None)

    def _forget_unread(self, unread: set[str]) -> None:
        """Take it that the conversation does not hold instructions that the code got, but did not print whole."""
        if unread:
            held = (receipt.id for receipt in self._activator.active() if receipt.in_context)
            self._activator.mark_context(frozenset(held) - unread)


@dataclass(slots=True)
class _Log:
    """What the functions of one snippet have done."""

    call: CallTool
    results: list[tuple[str, ToolResult]] = field(default_factory=list[tuple[str, ToolResult]])

    def offer(self, name: str, tool: Tool) -> Function:
        """Return a tool as a function for code."""

        def call(given: dict[str, Any]) -> str:
            result = self.call(tool.name, given)
            self.results.append((name, result))
            if result.is_error:
                raise CallFailed(result.answer)
            return result.answer

        return Function(order_parameters(tool.schema), call)


def name_functions(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return the tools that code can call, by the names that it calls them by; others cannot be called from code.

    Skills are named with hyphens, which Python does not take: underscores stand for them in the names of the tools that
    they bring. Of two that would share a name, the first has it, and the other one with a number. So the tools must be
    all that there are, in the order of activation: else a call would reach the code of another skill.
    """
    found: dict[str, Tool] = {}
    for tool in tools:
        name = tool.name.replace("-", "_") if tool.role is Role.TOOLSET else tool.name
        if is_python_name(name):
            found[_find_free(name, found)] = tool
    return found


def _find_free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that nothing else has: the one that is wanted, or the next with a number."""
    if name not in taken:
        return name
    return next(free for number in count(2) if (free := f"{name}_{number}") not in taken)


def show_functions(tools: Iterable[Tool], *, after: Iterable[Tool] = ()) -> str:
    """Return the declarations of the tools that code can call; empty if there are none.

    `after` are those that have got their names before, and are not shown.
    """
    before = tuple(after)
    named = list(name_functions((*before, *tools)).items())[len(name_functions(before)) :]
    return render_stubs([Stub(name, tool.description, _simplify(tool)) for name, tool in named])


def show_skill_functions(tools: Iterable[Tool], *, standing: Iterable[Tool]) -> str:
    """Return what is told of the functions that active skills bring; empty if they bring none."""
    stubs = show_functions(tools, after=standing)
    return f"Functions of active skills, for your code:\n\n{render_functions(stubs)}" if stubs else ""


def _simplify(tool: Tool) -> Schema:
    """Return a tool's schema as its stub shows it: the names of skills are in the catalog, and there only."""
    if tool.role in (Role.TOOLSET, Role.HOST):
        return tool.schema
    required = tool.schema["required"]
    properties: Schema = {}
    for name, inner in tool.schema["properties"].items():
        listed = name == "name"
        shown = {key: value for key, value in inner.items() if not (listed and key == "enum")}
        optional_text = name not in required and inner["type"] == "string" and "enum" not in inner
        properties[name] = shown | ({"default": ""} if optional_text else {})
    return tool.schema | {"properties": properties}
