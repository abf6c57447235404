"""Skills that a person can call for, as prompts with arguments."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mcp_types as types

from prowess.activation.receipts import AskedBy
from prowess.catalog.views import View
from prowess.disclosure.instructions import defuse
from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import SCHEME
from prowess.sources.source import show_bytes
from prowess.surfaces.mcp.asking import InputWanted
from prowess.surfaces.mcp.faults import no_such, telling_faults
from prowess.surfaces.mcp.forks import delegate, hand_over, is_for_fork
from prowess.surfaces.mcp.paging import cut_page
from prowess.surfaces.mcp.requests import ClientContext, ClientRequest
from prowess.surfaces.mcp.visits import Hall, Visit

__all__ = ["PromptDesk", "make_prompts"]

_PAGE = 200
_MAX_VALUES = 100
"""Of one completion, as the protocol has it."""
_ARGUMENTS = "arguments"
"""The one argument of a skill that declares none by name."""


class PromptDesk:
    """Answers the requests about prompts, and completes what a person types."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    async def list(self, ctx: ClientContext, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Return the skills that a person can call for."""
        request = await self._hall.begin(ctx)
        with telling_faults():
            prompts = await request.look(lambda: make_prompts(request.visit.session.view()))
        page, cursor = cut_page(prompts, params.cursor if params else None, size=_PAGE)
        return types.ListPromptsResult(prompts=list(page), next_cursor=cursor)

    async def get(
        self, ctx: ClientContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Switch a skill on for the person who calls for it, and return its instructions.

        Of a skill that a subagent of our own works, return its answer.
        """
        request = await self._hall.begin(ctx, responses=params.input_responses, state=params.request_state)
        try:
            with telling_faults():
                found = await request.run(lambda: _carry_out(request, params))
                text = found.text if isinstance(found, _Told) else await _have_worked(request, found)
        except InputWanted as wanted:
            return await self._hall.suspend(request, wanted.question)
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=found.skill.description, messages=[message])

    async def complete(self, ctx: ClientContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return what a person may want to type: arguments by their hint, and addresses by what there is."""
        request = await self._hall.begin(ctx)

        def find() -> Sequence[str]:
            match params.ref:
                case types.PromptReference(name=name):
                    return _suggest(_name_skills(request.visit.session.view()).get(name), params.argument.name)
                case types.ResourceTemplateReference():
                    given = (params.context.arguments if params.context else None) or {}
                    return self._find_addresses(request.visit, params.argument.name, given)

        with telling_faults():
            found = await request.look(find)
        values = [value for value in found if value.startswith(params.argument.value)]
        more = len(values) > _MAX_VALUES
        return types.CompleteResult(
            completion=types.Completion(values=values[:_MAX_VALUES], total=len(values), has_more=more)
        )

    def _find_addresses(self, visit: Visit, argument: str, given: Mapping[str, str]) -> Sequence[str]:
        published = self._hall.publication(visit)
        if argument == "skill":
            return [root.removeprefix(SCHEME) for root in published.by_root]
        skill = published.by_root.get(f"{SCHEME}{given.get('skill', '')}")
        if argument != "path" or skill is None:
            return []
        return [show_bytes(file.path) for file in visit.session.files(skill).files]


@dataclass(frozen=True, slots=True)
class _Told:
    """A skill whose instructions the client gets."""

    skill: Skill
    text: str


@dataclass(frozen=True, slots=True)
class _Wish:
    """A skill that a subagent of our own is to work."""

    skill: Skill
    prompt: str


def _carry_out(request: ClientRequest, params: types.GetPromptRequestParams) -> _Told | _Wish:
    """Switch a skill on, unless a subagent is to work it. Blocks."""
    visit, session = request.visit, request.visit.session
    view = session.view()
    skill = _name_skills(view).get(params.name)
    if skill is None:
        raise no_such(f"There is no prompt {params.name[:200]!r}")
    given = _join_arguments(skill, params.arguments or {})
    prompt = given or ""
    if view.find(skill.id) is not None and is_for_fork(skill, visit, prompt=prompt):
        return _Wish(skill, prompt)
    session.forget_context()  # A client begins new conversations without a word.
    text = session.activate(skill.id, arguments=given, asked_by=AskedBy.USER).text
    return _Told(skill, hand_over(text, visit) if skill.manifest.behaviour.forks else text)


async def _have_worked(request: ClientRequest, wish: _Wish) -> str:
    """Return the answer of a subagent, with what it was asked."""
    answer = await delegate(request, wish.skill, wish.prompt, asked_by=AskedBy.USER)
    head = f"[A subagent has worked the skill {wish.skill.name} on: {wish.prompt}\nThis is its answer.]"
    return f"{head}\n\n{defuse(answer.text)}"


def make_prompts(view: View) -> tuple[types.Prompt, ...]:
    """Return the skills of a view that a person can call for, as they are listed."""
    return tuple(_make_prompt(name, skill) for name, skill in _name_skills(view).items())


def _name_skills(view: View) -> dict[str, Skill]:
    """Return the skills that a person can call for, by name; of those with the same, all but the first by id."""
    found: dict[str, Skill] = {}
    for skill in view.invocable:
        found.setdefault(skill.id if skill.name in found else skill.name, skill)
    return found


def _make_prompt(name: str, skill: Skill) -> types.Prompt:
    behaviour = skill.manifest.behaviour
    declared = [
        types.PromptArgument(name=one.name, description=one.description or None, required=one.required)
        for one in behaviour.arguments
    ]
    about = behaviour.argument_hint or "What the skill is to be applied to, if its instructions take arguments."
    return types.Prompt(
        name=name,
        title=behaviour.interface.display_name or None,
        description=skill.description,
        arguments=declared or [types.PromptArgument(name=_ARGUMENTS, description=about, required=False)],
    )


def _join_arguments(skill: Skill, given: Mapping[str, str]) -> str | None:
    """Return arguments as a person would have typed them after the skill's name."""
    declared = [one.name for one in skill.manifest.behaviour.arguments]
    unknown = [name for name in given if name not in (declared or [_ARGUMENTS])]
    missing = [one.name for one in skill.manifest.behaviour.arguments if one.required and not given.get(one.name)]
    if unknown or missing:
        what = f"has no argument {unknown[0][:100]!r}" if unknown else f"needs the argument {missing[0]!r}"
        raise no_such(f"The prompt {skill.name!r} {what}; it takes {', '.join(declared or [_ARGUMENTS])}")
    if not declared:
        return given.get(_ARGUMENTS) or None
    values = [given.get(name, "") for name in declared]
    while values and not values[-1]:
        values.pop()
    return shlex.join(values) or None


def _suggest(skill: Skill | None, argument: str) -> Sequence[str]:
    """Return what the hint of a skill offers for an argument, as in `[draft|final]`."""
    if skill is None:
        return []
    behaviour = skill.manifest.behaviour
    declared = [one.name for one in behaviour.arguments] or [_ARGUMENTS]
    words = behaviour.argument_hint.replace("]", " ").replace("[", " ").replace("<", " ").replace(">", " ").split()
    if argument not in declared or declared.index(argument) >= len(words):
        return []
    word = words[declared.index(argument)]
    return [choice for choice in word.split("|") if choice] if "|" in word else []
