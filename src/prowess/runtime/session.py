"""The Session: one chat or task, with its prompt, its tools and its calls."""

import threading
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from prowess.activation.consent import Answer, Confirmation, ConsentAsker, Question, Verdict
from prowess.activation.grants import Act
from prowess.activation.mentions import Completion, complete_mention
from prowess.activation.receipts import AskedBy, Receipt
from prowess.activation.tool_dialects import Dialect, render_tools, wire_name
from prowess.activation.tools import Tool
from prowess.catalog.views import View
from prowess.containers.mounts import Mount, Permissions, make_permissions
from prowess.copies.sync import SyncReport
from prowess.copies.versions import Pin
from prowess.disclosure.deltas import CatalogDelta
from prowess.disclosure.guidance import add_functions, choose_guidance, render_active_names, render_prompt
from prowess.disclosure.planner import Plan
from prowess.disclosure.reattachment import Reattachment, plan_reattachment
from prowess.disclosure.resources import LineRange, Resource, list_resources
from prowess.errors import Refused, ToolInputError, WorldError
from prowess.execution.jobs import Listener
from prowess.execution.rules.permission_tags import normalise_tags
from prowess.execution.rules.rights import Rights, check_tags, intersect
from prowess.execution.sandbox import hear_nothing
from prowess.policy import AllowedTools, Policy, SessionMemory, ToolSet
from prowess.runtime.activator import Activation, Activator
from prowess.runtime.calling import Caller
from prowess.runtime.copying import Progress
from prowess.runtime.delegation import Delegation
from prowess.runtime.forking import Forker, ForkResult, ForkWish
from prowess.runtime.gate import Gate
from prowess.runtime.given_values import check_text
from prowess.runtime.host_tools import HostTool, HostTools, taken_names
from prowess.runtime.inline_python import InlinePython, show_functions, show_skill_functions
from prowess.runtime.keeper import SessionKey
from prowess.runtime.planning import Found
from prowess.runtime.prompter import Prompter
from prowess.runtime.reception import Reception, ToolUse, receive
from prowess.runtime.run_results import RunRequest, RunResult
from prowess.runtime.runner import Runner
from prowess.runtime.session_keys import make_fork_id
from prowess.runtime.shelf import Shelf, name_view
from prowess.runtime.skill_names import find_by_path, unknown_skill
from prowess.runtime.tool_checks import check_tool
from prowess.runtime.tool_results import ToolResult
from prowess.runtime.toolset_tools import ToolsetTools
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet

if TYPE_CHECKING:
    from prowess.runtime.runtime import Runtime

__all__ = ["Session"]

_FOUND = 10
_MAX_FOUND = 50
_TOUCH_SECONDS = 3_600
"""How often it is remembered that a session is in use."""


class _Active(NamedTuple):
    """A skill that is on."""

    receipt: Receipt
    skill: Skill
    digest: str
    """Of the files that it has now."""

    @property
    def is_held(self) -> bool:
        """Whether the conversation has its instructions as they are now."""
        receipt = self.receipt
        return receipt.in_context and bool(receipt.digest) and self.digest == receipt.digest


class Session:
    """One chat or task of one agent. Made by `Runtime.session`; any thread may use it.

    What it has switched on is remembered under its id, as long as the policy says. Skills that the agent may no longer
    see are gone from it at once.
    """

    def __init__(
        self,
        runtime: "Runtime",
        session_id: str,
        key: SessionKey,
        *,
        memory: SessionMemory,
        asker: ConsentAsker,
        allowlist: Sequence[str] | None = None,
        rights: Rights,
        forker: Forker | None = None,
        tools: Sequence[HostTool] = (),
        bound_by: Sequence[Skill] = (),
    ) -> None:
        self.id = session_id
        self.agent = key.agent
        self.key = key
        """Whose it is, and under which name its state is kept."""
        self.rights = rights
        """What may be done in it: no more than the host lets anybody do, nor than whoever opened it may."""
        self._runtime = runtime
        self._memory = memory
        self._allowlist = None if allowlist is None else tuple(allowlist)
        self._bound_by = tuple(bound_by)
        """For a fork: the skill that it works, and those whose rules on tools hold for whoever has it do so."""
        gate = Gate(runtime, runtime.store, key, asker=asker, pending=runtime.pending, clock=runtime.clock)
        self._shelf = Shelf(runtime, runtime.copying, view=name_view(key.agent, allowlist), task=session_id)
        self._activator = Activator(
            runtime,
            runtime.store,
            key,
            gate=gate,
            shelf=self._shelf,
            counter=lambda: runtime.planning.counter,
            clock=runtime.clock,
        )
        self._prompter = Prompter(runtime.planning, runtime.store, key, memory=memory)
        self._runner = Runner(
            runtime.workbench,
            runtime.store,
            key,
            gate=gate,
            shelf=self._shelf,
            rights=rights,
            is_active=self._activator.is_active,
            clock=runtime.clock,
        )
        self._host = HostTools(tools, taken=taken_names(runtime.policy.tools))
        toolsets = ToolsetTools(self._runner, cache=runtime.settings.cache_folder)
        self._delegation = Delegation(
            self, runtime.store, key, activator=self._activator, forker=forker, clock=runtime.clock
        )
        self._caller = Caller(
            self,
            runtime.planning,
            activator=self._activator,
            runner=self._runner,
            toolsets=toolsets,
            delegation=self._delegation,
            host=self._host,
            python=InlinePython(runtime.python, key, activator=self._activator),
        )
        self._lock = threading.Lock()
        self._filtered: tuple[View, View] | None = None
        self._touched_at: float | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the session. A task is over then; a chat can be opened again by its id."""
        if self._memory is SessionMemory.TASK and not self._runtime.is_closed:  # Which has ended it, and all others.
            self.end()

    def end(self) -> None:
        """Switch everything off and forget the session; its receipts stay."""
        self._runtime.end_session(self.id)

    @property
    def policy(self) -> Policy:
        """How the runtime behaves."""
        return self._runtime.policy

    # What the model is told

    def view(self) -> View:
        """Return what the session may see now."""
        return self._narrow(self._runtime.view(self.agent))

    def _narrow(self, whole: View) -> View:
        if self._allowlist is None:
            return whole
        with self._lock:
            if self._filtered is None or self._filtered[0] is not whole:
                self._filtered = (whole, self._runtime.filtered(self._allowlist, agent=self.agent))
            return self._filtered[1]

    def plan(self, query: str = "") -> Plan:
        """Return what of the catalog is in the prompt, and why.

        While nothing visible changes, it is the same plan: a session's first query shapes it, and later ones are served
        by `catalog_delta`.
        """
        return self._prompter.plan(self.view(), query)

    def prompt(self, query: str = "", *, dialect: Dialect | None = None) -> str:
        """Return what the system prompt says of skills: guidance, catalog, active names. Empty if nothing is visible.

        With a dialect, tools are called by the names that its provider allows.
        """
        standing = self.standing_prompt(query, dialect=dialect)
        active = self.active_text() if standing else ""
        return f"{standing}\n\n{active}" if active else standing

    def standing_prompt(self, query: str = "", *, dialect: Dialect | None = None) -> str:
        """Return what `prompt` says but for the active names: it stays, to the byte, while nothing visible changes."""
        self._touch()
        tools = self._caller.standing_tools()
        guidance = choose_guidance(self.policy.tools, offered=[tool.name for tool in tools])
        if dialect is not None:
            for tool in tools:
                guidance = guidance.replace(f"`{tool.name}`", f"`{wire_name(tool.name, dialect)}`")
        plan = self._prompter.tell(self.view(), query)
        if self.policy.tools is ToolSet.PYTHON and self._caller.tools():
            guidance = add_functions(guidance if plan.text else "", stubs=show_functions(tools))
            return render_prompt(guidance=guidance, catalog=plan.text) or guidance
        return render_prompt(guidance=guidance, catalog=plan.text)

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, by the count that the settings name."""
        return self._runtime.planning.counter.count(text)

    def active_text(self) -> str:
        """Return what a model is told of the skills that are active; empty if there are none."""
        active, faded = self._sort_active()
        names = render_active_names(active, faded=faded)
        if self.policy.tools is not ToolSet.PYTHON:
            return names
        functions = show_skill_functions(self._caller.skill_tools(), standing=self._caller.standing_tools())
        return "\n\n".join(part for part in (names, functions) if part)

    def _sort_active(self) -> tuple[list[str], list[str]]:
        """Return the names of active skills whose instructions hold, and of those that must be activated again."""
        active: list[str] = []
        faded: list[str] = []
        for one in self._find_active():
            (active if one.is_held else faded).append(one.receipt.name)
        return active, faded

    def catalog_delta(self, query: str = "") -> CatalogDelta:
        """Return what has changed since the model was last told, so that the prompt it has can stay.

        With a query, also the skills that fit it and that the prompt does not describe in full.
        """
        return self._prompter.tell_changes(self.view(), query)

    # Tools

    def tools(self, dialect: Dialect = "openai") -> list[dict[str, Any]]:
        """Return the tools as a provider takes them; none if no skill is visible and the application lends none."""
        return render_tools(self.offered(), dialect)

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools that the model is offered now, which `tools` renders for a provider."""
        return self._caller.tools()

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | str,
        *,
        confirmation: Confirmation | None = None,
        listener: Listener = hear_nothing,
    ) -> ToolResult:
        """Carry out a tool call of a model. What the model or the user can set right comes back as an error result.

        `listener` hears what a script writes while it runs. Where the model writes Python, that is all that it can have
        run, each function in it goes the way of a tool call, and a confirmation says nothing: it is for one call of one
        tool, and code may make many. Questions come up while it runs.
        """
        return self._caller.call(str(tool), arguments, confirmation=confirmation, listener=listener)

    def question(self, tool: str, arguments: Mapping[str, object] | str) -> Question | None:
        """Return what a person must be asked before this call; None if the call is safe, or hopeless, as it is.

        The answer goes back with `call(…, confirmation=Confirmation(question.id, answer))`, once. Of code there is no
        question beforehand.
        """
        return self._caller.question(tool, arguments)

    # What calls do, for those who call from Python

    def activate(
        self,
        name: str,
        *,
        arguments: str | None = None,
        asked_by: AskedBy = AskedBy.USER,
        trigger: str = "",
    ) -> Activation:
        """Switch a skill on by its name or id. Raise if it is unknown, refused or broken."""
        skill = self._invocable(name) if asked_by is AskedBy.USER else self.find_usable(name)
        activation = self._activator.activate(
            skill,
            tool="activate",
            asked_by=asked_by,
            arguments=arguments,
            trigger=trigger,
        )
        return self._caller.announce(activation)

    def read(self, name: str, path: str, *, lines: LineRange | None = None) -> Resource:
        """Return a file of a skill."""
        path = check_text("the path of a file", path)
        return self._activator.read(self._invocable(name), path, tool="read", lines=lines, confirmation=None)

    def fetch(self, name: str, path: bytes) -> bytes:
        """Return a file of a skill byte by byte, by its path as it is on disk. Raise if it is too large."""
        return self._activator.fetch(self._invocable(name), path, tool="read")

    def files(self, skill: Skill) -> FileSet:
        """Return the files of a skill that the session sees now."""
        self._runtime.check_open()
        return self._activator.files(skill)

    def decide(self, skill: Skill) -> Verdict:
        """Return whether a skill may be used as it is now, must be asked about, or must not be used."""
        self._runtime.check_open()
        return self._activator.decide(skill)

    def keep_answer(self, skill: str, digest: str, answer: Answer, *, act: Act, powers: tuple[str, ...]) -> None:
        """Remember what a person said of these files of a skill, as far as it reaches, if it still has them."""
        found = self.view().find(skill)
        if found is not None:
            self._activator.keep_answer(found, digest, answer, act=act, powers=powers)

    def search(self, query: str, *, limit: int = _FOUND) -> tuple[Found, ...]:
        """Return the visible skills that fit a query, best first."""
        query = check_text("a query", query)
        return self._runtime.planning.search(self.view(), query, limit=min(limit, _MAX_FOUND))

    def run(
        self,
        name: str,
        script: str,
        arguments: Sequence[str] = (),
        *,
        request: RunRequest | None = None,
        asked_by: AskedBy = AskedBy.USER,
        listener: Listener = hear_nothing,
        progress: Callable[[str], None] = lambda _: None,
    ) -> RunResult:
        """Run a script of a skill in a sandbox. Raise if it is unknown, refused, or if there is no sandbox.

        A script that fails is no error: the result says so. `listener` hears what it writes while it runs, `progress`
        what is done before.
        """
        return self._runner.run(
            self._invocable(name),
            check_text("the path of a script", script),
            arguments,
            request=request or RunRequest(),
            tool="run",
            asked_by=asked_by,
            listener=listener,
            progress=progress,
        )

    def check_tool(self, name: str, tool: str, subject: str = "") -> tuple[str, ...]:
        """Refuse a tool call that an agent wants to make under a skill, by the rules of the host, the session and it.

        `subject` is the command or the path that the tool is to be called with. What comes back is to be told.
        """
        execution = self.policy.execution
        return check_tool(
            self.find_usable(name),
            execution.allowed_tools,
            self.rights,
            tool,
            subject,
            workspace=self._runtime.settings.place.working_folder,
        )

    def check_permissions(self, name: str) -> None:
        """Refuse a skill that asks for permissions which this session does not have, and so cannot pass on."""
        check_tags(normalise_tags(self.find_usable(name).manifest.behaviour.permissions), self.rights)

    # Forks

    def delegate(self, name: str, prompt: str, *, asked_by: AskedBy = AskedBy.USER) -> ForkResult:
        """Have a subagent work a skill, and return its answer. Raise if it is refused, or if there can be none here."""
        skill = self._invocable(name) if asked_by is AskedBy.USER else self.find_usable(name)
        if not self._delegation.possible:
            raise Refused(
                f"skill '{skill.name}' cannot be worked by a subagent here",
                hint='an Agent can: `prowess chat`, or prowess.Agent; see that turns.run_in is not "here"',
                code="no-forks",
            )
        return self._delegation.delegate(skill, prompt, tool="delegate", asked_by=asked_by)

    def question_delegate(self, name: str, prompt: str, *, asked_by: AskedBy = AskedBy.USER) -> Question | None:
        """Return what a person must be asked before `delegate`; None if nobody must be. Raise if it is hopeless."""
        skill = self._invocable(name) if asked_by is AskedBy.USER else self.find_usable(name)
        return self._delegation.question(skill, prompt, tool="delegate")

    def open_fork(self, wish: ForkWish, *, asker: ConsentAsker, forker: Forker) -> "Session":
        """Return the session of a fork of this one: it sees what this one sees, and may do what the wish says.

        Whoever opens it ends it.
        """
        fork = make_fork_id()
        session = Session(
            self._runtime,
            fork,
            replace(self.key, session=fork),
            memory=SessionMemory.TASK,
            asker=asker,
            allowlist=self._allowlist,
            rights=intersect(self.rights, wish.rights),
            forker=forker,
            tools=self._host.given,
            bound_by=(*self.ruling_skills(), wish.skill),
        )
        try:
            self._delegation.hand_over(wish, session.key)
        except BaseException:
            session.end()
            raise
        return session

    def deactivate(self, name: str) -> Receipt | None:
        """Switch a skill off; return its receipt, or None if it was not on."""
        for receipt in self.active():
            if name in (receipt.name, receipt.skill):
                return self._activator.deactivate(receipt.skill)
        return None

    def active(self) -> tuple[Receipt, ...]:
        """Return what is switched on, of all that the session may still see and the user has not refused since.

        It is in the order of activation.
        """
        return tuple(one.receipt for one in self._find_active())

    def active_skills(self) -> tuple[Skill, ...]:
        """Return the skills that are switched on, in the order of activation."""
        return tuple(one.skill for one in self._find_active())

    def ruling_skills(self) -> tuple[Skill, ...]:
        """Return the skills whose own rules on tools hold: those that are on.

        Where such rules are enforced, also those that a fork is bound by: it cannot shake them off by a deactivation.
        """
        is_enforced = self.policy.execution.allowed_tools is AllowedTools.ENFORCE
        return (*(self._bound_by if is_enforced else ()), *self.active_skills())

    def _find_active(self) -> list[_Active]:
        """Return the skills that are on and that nobody has refused, in the order of activation."""
        self._runtime.check_open()
        receipts = self._activator.active()
        skills = self._seen() if receipts else {}
        found: list[_Active] = []
        for receipt in receipts:
            if (skill := skills.get(receipt.skill)) is None:
                continue
            files, is_refused = self._activator.look(skill)
            if not is_refused:
                found.append(_Active(receipt, skill, files.digest))
        return found

    def _seen(self) -> dict[str, Skill]:
        """Return the skills that the model or the user may call, by id."""
        view = self.view()
        return {skill.id: skill for skill in (*view.visible, *view.for_people)}

    # Copies

    def sync(self, *, progress: Progress | None = None) -> SyncReport:
        """Bring the copies that the model's code sees up to date; meant to be called before every turn.

        What the session reads comes from these copies from then on. Under a policy without a shared folder, where only
        what is activated is copied, nothing happens.
        """
        return self._runtime.sync_view(self._narrow, agent=self.agent, view=self._shelf.view, progress=progress)

    def mounts(self) -> tuple[Mount, ...]:
        """Return what a sandbox must mount for the model's code to find the session's skills."""
        self._runtime.check_open()
        return self._shelf.mounts()

    def permissions(self) -> Permissions:
        """Return the folders that a sandbox policy must let the model's code read."""
        return make_permissions(self.mounts())

    def pin(self, name: str) -> Pin:
        """Return a hold on the version of a skill that the session uses now: it stays as it is until it is let go."""
        return self._shelf.pin(self.find_usable(name))

    # The conversation

    def complete(self, typed: str) -> tuple[Completion, ...]:
        """Return the skills that a person may mean while typing a mention, for a picker."""
        return complete_mention(check_text("what is typed", typed), skills=self.view().invocable)

    def receive(self, message: str, *, tools: ToolUse = ToolUse.ON) -> Reception:
        """Take a user's message: mentioned skills are activated, and triggered ones where the policy says so.

        What comes back is the message for the model, and the instructions that go with it.
        """
        self._touch()
        return receive(
            check_text("a message", message),
            view=self.view(),
            activator=self._activator,
            announce=self._caller.announce,
            policy=self._runtime.policy,
            planning=self._runtime.planning,
            tools=tools,
            delegation=self._delegation,
        )

    def reattach(self, *, held: Container[str] = (), most_tokens: int | None = None) -> Reattachment[Receipt]:
        """Say that the conversation was compacted; return the instructions that it must be given again.

        The newest come first, as far as the budget goes, or `most_tokens` if that is less. Those that are dropped come
        again when they are activated. `held` are the ids of receipts whose instructions still stand in what was kept of
        the conversation.
        """
        active = self._find_active()[::-1]
        still = frozenset(one.receipt.id for one in active if one.receipt.id in held and one.is_held)
        texts = [
            (one.receipt, self._activator.recall(one.receipt, one.skill))
            for one in active
            if one.receipt.id not in still
        ]
        prompting = self._runtime.policy.prompting
        planned = plan_reattachment(
            texts,
            budget=min(prompting.reattach_tokens, most_tokens or prompting.reattach_tokens),
            budget_each=prompting.reattach_skill_tokens,
            counter=self._runtime.planning.counter,
        )
        self._activator.mark_context(still | {receipt.id for receipt in planned.kept})
        return planned

    def forget_context(self) -> None:
        """Say that nobody knows what the conversation still holds: the next activation gives the instructions again."""
        self._runtime.check_open()
        self._activator.mark_context(frozenset())

    def _touch(self) -> None:
        """Remember that a session with active skills is in use: one that is idle for long is forgotten."""
        self._runtime.check_open()
        now = self._runtime.clock()
        if self._touched_at is not None and now - self._touched_at < _TOUCH_SECONDS:
            return
        if not self._activator.active():
            return
        self._touched_at = now
        try:
            self._runtime.store.touch_session(user=self.key.user, session=self.key.session, at=now)
        except WorldError as error:  # State that may only be read serves a conversation all the same.
            self._runtime.warn_once((self.id, "touch"), f"session '{self.id}': its use is not noted: {error.message}")

    # The three tiers, for those who disclose skills themselves

    def tier1_context(self) -> str:
        """Return the catalog of the visible skills; empty if there are none."""
        return self.plan().text

    def tier2_context(self, name: str) -> str | None:
        """Return the instructions of a skill, without switching it on; None if no visible skill has this name."""
        skill = self.view().find(name)
        return self._activator.peek(skill) if skill else None

    def tier3_resources(self, name: str, part: str) -> tuple[str, ...]:
        """Return the paths of a skill's files in `scripts`, `references` or `assets`; none for an unknown skill."""
        skill = self.view().find(name)
        return list_resources(self._shelf.take(skill)[1].files, part) if skill else ()

    def tier3_resource(self, name: str, path: str) -> str | None:
        """Return the text of a file of a skill; None if there is none, if it is no text, or if it must not be read."""
        skill = self.view().find(name)
        try:
            found = self.read(skill.id, path) if skill else None
        except (ToolInputError, Refused):
            return None
        return found.content if found and found.encoding != "base64" else None

    # Names

    def find_usable(self, name: str) -> Skill:
        """Return the skill that a model means: one that it sees, or that a person has switched on for it."""
        name = check_text("the name of a skill", name)
        view = self.view()
        skill = view.find(name) or find_by_path(view, name, copies=self._shelf.inside)
        if skill is not None:
            return skill
        switched_on = {receipt.skill for receipt in self.active()}
        for hidden in view.for_people:
            if name in (hidden.name, hidden.id) and hidden.id in switched_on:
                return hidden
        raise unknown_skill(self._runtime.policy.tools, view, name)

    def _invocable(self, name: str) -> Skill:
        """Return the skill that a person means."""
        name = check_text("the name of a skill", name)
        view = self.view()
        for skill in view.for_people:
            if name in (skill.name, skill.id) and view.find(name) is None:
                return skill
        return self.find_usable(name)
