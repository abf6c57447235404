"""The tools of skills as a client lists and calls them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import mcp_types as types

from prowess.activation.receipts import AskedBy
from prowess.activation.tool_arguments import parse_arguments
from prowess.activation.tool_dialects import find_tool, render_tools
from prowess.activation.tools import Role
from prowess.disclosure.instructions import defuse
from prowess.errors import ProwessError
from prowess.runtime.tool_results import ToolResult, render_error
from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import SCHEME, make_file_uri
from prowess.surfaces.mcp.asking import InputWanted
from prowess.surfaces.mcp.faults import telling_faults
from prowess.surfaces.mcp.forks import delegate, hand_over, is_for_fork
from prowess.surfaces.mcp.requests import ClientContext, ClientRequest
from prowess.surfaces.mcp.visits import Hall, Visit
from prowess.surfaces.mcp.watching import tell_tools

if TYPE_CHECKING:
    from prowess.agent.chat import TurnAnswer

__all__ = ["ToolDesk"]

_CHANGING = (Role.ACTIVATE, Role.DEACTIVATE, Role.PYTHON)
"""What may change which tools there are."""


class ToolDesk:
    """Answers `tools/list` and `tools/call`."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    async def list(self, ctx: ClientContext, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return the tools that the client's model is offered now."""
        request = await self._hall.begin(ctx)
        with telling_faults():
            offered = await request.look(request.visit.session.offered)
        request.visit.tools_told = tuple(tool.name for tool in offered)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in render_tools(offered, "mcp")])

    async def call(
        self, ctx: ClientContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Carry out a call. Whatever goes wrong is a result from which a model can learn."""
        request = await self._hall.begin(ctx, responses=params.input_responses, state=params.request_state)
        visit, arguments = request.visit, params.arguments or {}
        try:
            call = _Call(request, params.name, arguments)
            done = await request.run(call.carry_out)
            if isinstance(done, Skill):
                answer = await delegate(request, done, call.prompt, asked_by=AskedBy.MODEL)
                return _render_answer(done, answer)
        except InputWanted as wanted:
            return await self._hall.suspend(request, wanted.question)
        except ProwessError as error:  # The disk or the database: the model is told.
            done = _Done(_render(render_error(params.name, None, visit.session.policy.tools, error, names=()), ""))
        if done.role in _CHANGING:
            await tell_tools(self._hall, visit)
        return done.result


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of a call, as the client gets it."""

    result: types.CallToolResult
    role: Role | None = None


class _Call:
    """One call of a tool. Its methods block."""

    def __init__(self, request: ClientRequest, name: str, arguments: Mapping[str, Any]) -> None:
        self.request = request
        self.name = name
        self.arguments = arguments
        self.prompt = ""
        """What a subagent is to do, if one is to work the skill."""
        self._session = request.visit.session

    def carry_out(self) -> _Done | Skill:
        """Return what came of the call; the skill, if a subagent is to work it and there can be one."""
        role = self.request.visit.hall.roles.get(self.name, Role.TOOLSET)
        request, session = self.request, self._session
        if role is Role.ACTIVATE:
            skill = self._find_fork()
            if skill is not None:
                return skill
            session.forget_context()  # A client begins new conversations without a word.
        request.runs_scripts = role in (Role.RUN, Role.TOOLSET)
        request.is_repeatable = role is not Role.PYTHON  # What the code did before the question would happen twice.
        result = session.call(self.name, self.arguments, listener=request.hear)
        result = _hand_over(request.visit, result)
        uri = _find_uri(result.data, request.visit) if _is_binary(result) else ""
        return _Done(_render(result, uri), result.role)

    def _find_fork(self) -> Skill | None:
        """Return the skill that a subagent is to work. A call that is wrong is for none, and the session says why."""
        try:
            given = parse_arguments(find_tool(self._session.offered(), self.name), self.arguments)
            skill = self._session.find_usable(given["name"])
            self.prompt = given.get("prompt") or given.get("arguments") or ""
            asked = given.get("run_in", "")
            return skill if is_for_fork(skill, self.request.visit, prompt=self.prompt, asked=asked) else None
        except ProwessError:
            return None


def _hand_over(visit: Visit, result: ToolResult) -> ToolResult:
    """Say with the instructions of a skill for subagents that there are none here."""
    if result.receipt is None or visit.chat is not None:
        return result
    skill = visit.session.view().find(result.receipt.skill)
    if skill is None or not skill.manifest.behaviour.forks or result.content.startswith("{"):
        return result
    return replace(result, content=hand_over(result.content, visit), data={**result.data, "hand_over": True})


# Results


def _render(result: ToolResult, uri: str) -> types.CallToolResult:
    """Return a result as the client gets it; a file that is no text has its address."""
    data = result.data
    content: list[types.ContentBlock] = [types.TextContent(text=_tell(result))]
    if _is_binary(result):
        content = _render_binary(data, uri)
        data = {key: value for key, value in data.items() if key != "content"}
    return types.CallToolResult(content=content, structured_content=data, is_error=result.is_error)


def _is_binary(result: ToolResult) -> bool:
    return result.role is Role.READ and result.data.get("encoding") == "base64"


def _tell(result: ToolResult) -> str:
    """Return what the model reads; of consent that is missing, also how the user gives it."""
    error = result.data.get("error")
    if not result.refused or not error or error.get("code") != "consent-needed":
        return result.content
    return f"{result.content}\n\nFor the user: {defuse(error['hint'])}."


def _render_binary(data: Mapping[str, Any], uri: str) -> list[types.ContentBlock]:
    mime, content = str(data["mime"]), str(data["content"])
    said = types.TextContent(text=f"{data['path']} is {mime}, {data['size']:,} bytes.")
    if mime.startswith("image/"):
        return [said, types.ImageContent(data=content, mime_type=mime)]
    if mime.startswith("audio/"):
        return [said, types.AudioContent(data=content, mime_type=mime)]
    return [
        said,
        types.EmbeddedResource(resource=types.BlobResourceContents(uri=uri, mime_type=mime, blob=content)),
    ]


def _find_uri(data: Mapping[str, Any], visit: Visit) -> str:
    """Return the address of a file that a call has read. Blocks."""
    skill = visit.session.view().find(str(data["name"]))
    published = visit.hall.publication(visit)
    root = published.roots.get(skill.id) if skill else None
    return make_file_uri(root or f"{SCHEME}unlisted", str(data["path"]).encode())


def _render_answer(skill: Skill, answer: "TurnAnswer") -> types.CallToolResult:
    data = {"name": skill.name, "id": skill.id, "text": answer.text, "outcome": answer.outcome.value}
    return types.CallToolResult(content=[types.TextContent(text=defuse(answer.text))], structured_content=data)
