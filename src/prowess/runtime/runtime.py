"""The Runtime: it strings the rooms together and answers for the skills of a machine.

Settings say which sources there are, the catalog keeper finds what they hold, the state store remembers what people
decided, views say what an agent may see, and sessions use it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from prowess.activation.consent import ConsentAsker, HeadlessAsker, Question
from prowess.activation.grants import POWERS, Act, Decision, Grant, find_unknown_power, sort_powers
from prowess.activation.receipts import DayUsage, Receipt, RunReceipt, SessionRecord, UsageReport
from prowess.catalog.catalog import Catalog
from prowess.catalog.digests import Digests
from prowess.catalog.eligibility import Probe, decide_eligibility
from prowess.catalog.index import Index
from prowess.catalog.reasons import Explanation, explain
from prowess.catalog.refresh import CatalogKeeper
from prowess.catalog.switches import EVERY_AGENT, Switch, Switches, switch_key
from prowess.catalog.views import Reason, View, make_view
from prowess.containers.mounts import Mount
from prowess.copies.layout import Layout
from prowess.copies.personal import PersonalSkills
from prowess.copies.sync import SyncReport
from prowess.disclosure.planner import Plan
from prowess.errors import NotFound, ProwessError, Refused, SettingsError
from prowess.execution.inline.python_workers import PythonWorkers
from prowess.execution.rules.rights import EVERYTHING, Rights, intersect
from prowess.policy import BaseDirectory, CatalogText, NetworkUse, Policy, SessionMemory
from prowess.runtime.changed_texts import TextChange, read_changed_texts
from prowess.runtime.copying import Copying, Look, Progress
from prowess.runtime.forking import Forker
from prowess.runtime.gate import Gate, hint_at_files
from prowess.runtime.given_values import check_budget, check_path, check_text, read_choice
from prowess.runtime.host_tools import HostTool
from prowess.runtime.hosting import explain_origin, open_hosting
from prowess.runtime.keeper import SessionKey
from prowess.runtime.own_skills import find_own, open_personal
from prowess.runtime.pending_questions import PendingQuestions
from prowess.runtime.planning import Found, Planning
from prowess.runtime.run_powers import explain_secrets
from prowess.runtime.script_problems import find_script_problems
from prowess.runtime.session import Session
from prowess.runtime.session_keys import SessionKeys
from prowess.runtime.source_choice import SourceChoice
from prowess.runtime.workbench import Workbench
from prowess.settings import Settings, load_settings
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.mcp.placeholders import is_placeholder
from prowess.sources.plugins import Plugins
from prowess.sources.skill_files import FileSet
from prowess.sources.source import Source
from prowess.sources.stamps import Stamp
from prowess.state.conversations import ConversationRecord, ModelUsage, TurnReceipt
from prowess.state.opening import open_store
from prowess.state.store import StateStore

if TYPE_CHECKING:
    from prowess.runtime.evaluation import Evaluation

__all__ = ["Runtime"]

_LOG = logging.getLogger("prowess")
_DAY_SECONDS = 86_400
_SHARED = (BaseDirectory.SHARED, BaseDirectory.HOST)
"""Where all visible skills have copies."""
_MAX_WARNED = 1_000
_warned: dict[tuple[str, str], None] = {}
"""What was warned of in this process, the latest last."""
_warned_lock = threading.Lock()


class Runtime:
    """Finds skills and answers for them. Open it, keep it, close it; any thread may use it.

    `Runtime.open()` reads the settings of this machine; `Runtime.open(skills=["./skills"])` uses just these folders.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        skills: Sequence[str | os.PathLike[str]] | None = None,
        store: StateStore | None = None,
        asker: ConsentAsker | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        settings = settings if skills is None else settings.with_named_folders()
        self.settings = settings
        self.clock = clock
        self._is_closed = False
        self._store: StateStore = store or open_store(settings.database, state_file=settings.state_file)
        self._plugins = Plugins()
        self.hosting = open_hosting(settings) if skills is None else None
        """The MCP servers that skills are taken from; None if there are none."""
        self._choice = SourceChoice(settings, self.store, self._plugins, given=skills, hosting=self.hosting)
        self.asker: ConsentAsker = asker or HeadlessAsker()
        """Who puts questions of consent to a person, unless a session has another."""
        self.workbench = Workbench(settings)
        self.python = PythonWorkers()
        self._probe: Probe = self.workbench.make_probe()
        self._lock = threading.RLock()
        self._views: dict[str, tuple[object, View]] = {}
        index = Index(os.path.join(settings.cache_folder, "index-3"))
        private = frozenset(Layout(os.path.realpath(settings.place.prowess_home)).own_folders)
        self._keeper = CatalogKeeper(settings.policy, self._choice.current, index=index, private=private)
        self._digests = Digests(os.path.join(settings.cache_folder, "digests-3"))
        self.copying = Copying(settings, self.store, self._digests, sources=self._choice.current)
        self.planning = Planning(settings, self.store, clock=clock)
        self._keys = SessionKeys(settings.policy.sessions)
        self.pending = PendingQuestions()
        self._tidied_at: float | None = None

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        skills: Sequence[str | os.PathLike[str]] | None = None,
        profile: str | None = None,
        asker: ConsentAsker | None = None,
    ) -> "Runtime":
        """Return a runtime with the given settings, or those of this machine.

        `asker` puts questions of consent to a person; without one, what was granted before counts.
        """
        if settings is not None and profile is not None:
            raise SettingsError("give either settings or a profile", hint="settings name their profile themselves")
        return cls(settings or load_settings(profile=profile), skills=skills, asker=asker)

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the tasks that have an id, stop watching, and keep what was learned; what fails leaves nothing open.

        Whoever uses the runtime or a session of it afterwards is told that it is closed.
        """
        if self._is_closed:
            return
        try:
            self.python.close()  # Without the lock, which code that comes to its end may need.
        finally:
            try:
                self._close_parts()
            finally:
                self._is_closed = True

    def _close_parts(self) -> None:
        with self._lock, ExitStack() as parts:  # The last one is closed first.
            parts.callback(self._store.close)
            parts.callback(self._keeper.close)
            parts.callback(self.planning.close)
            parts.callback(self._digests.close)
            parts.callback(self.copying.close)
            parts.callback(self.workbench.close)
            if self.hosting is not None:
                parts.callback(self.hosting.close)
            for task in self._keys.open_tasks():
                self.end_session(task)

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be done with it any more."""
        return self._is_closed

    def check_open(self) -> None:
        """Raise if it is closed: what was kept of its state meanwhile would be written anew."""
        if self._is_closed:
            raise ProwessError("the runtime is closed", hint="open another one", code="runtime-closed")

    @property
    def store(self) -> StateStore:
        """What is remembered."""
        self.check_open()
        return self._store

    @property
    def policy(self) -> Policy:
        """How it behaves."""
        return self.settings.policy

    @property
    def rights(self) -> Rights:
        """What the settings let scripts and tools of skills do."""
        execution = self.policy.execution
        return replace(
            EVERYTHING,
            network=execution.network is NetworkUse.GRANTED,
            workspace=execution.workspace,
            tools=(execution.tools,),
        )

    # Sessions

    def session(
        self,
        session_id: str | None = None,
        *,
        agent: str = EVERY_AGENT,
        skills: Sequence[str] | None = None,
        asker: ConsentAsker | None = None,
        rights: Rights = EVERYTHING,
        forker: Forker | None = None,
        tools: Sequence[HostTool] = (),
    ) -> Session:
        """Return the chat or task of this id; without one, a task of its own that nobody finds again.

        `skills` narrows what the agent may see: names or ids. `asker` counts for this session only. `rights` are those
        of whoever opens it: scripts and tools get nothing beyond them, nor beyond what the settings allow. `forker` has
        subagents work skills, as an `Agent` does. `tools` are the application's own, offered beside those for skills.
        """
        self.check_open()
        with self._lock:
            key = SessionKey(self.settings.place.user, self._keys.choose(session_id), agent)
        memory = self.policy.sessions if session_id else SessionMemory.TASK
        return Session(
            self,
            session_id or key.session,
            key,
            memory=memory,
            asker=asker or self.asker,
            allowlist=skills,
            rights=intersect(self.rights, rights),
            forker=forker,
            tools=tools,
        )

    def end_session(self, session_id: str) -> bool:
        """Switch everything off in a session and forget it, but keep its receipts; say whether it was known."""
        with self._lock:
            key = self._keys.drop(session_id)
        try:
            return self.store.end_session(user=self.settings.place.user, session=key, at=self.clock())
        finally:
            self.python.forget(key)
            self.copying.end_task(session_id)  # Now that no receipt holds the versions behind its copies.

    def sessions(self) -> tuple[SessionRecord, ...]:
        """Return the sessions that are remembered, the one used last first."""
        return self.store.sessions(user=self.settings.place.user)

    def receipts(self, session_id: str | None = None, *, limit: int = 1_000) -> tuple[Receipt, ...]:
        """Return the receipts of a session, or of all, newest first."""
        key = None if session_id is None else self._keys.find(session_id)
        return self.store.receipts(user=self.settings.place.user, session=key, limit=limit)

    def runs(self, session_id: str | None = None, *, limit: int = 1_000) -> tuple[RunReceipt, ...]:
        """Return the receipts of runs of a session, or of all, newest first."""
        key = None if session_id is None else self._keys.find(session_id)
        return self.store.runs(user=self.settings.place.user, session=key, limit=limit)

    def usage(self, *, days: int | None = None) -> UsageReport:
        """Return how much skills were used, in the last days or ever."""
        since, user = self._days_ago(days), self.settings.place.user
        return UsageReport(self.store.count_sessions(user=user, since=since), self.store.usage(user=user, since=since))

    def usage_by_day(self, *, days: int = 30) -> tuple[DayUsage, ...]:
        """Return how much each skill was used on each of the last days, today included, in UTC; the oldest first."""
        first = self.clock() // _DAY_SECONDS - days + 1
        return self.store.usage_by_day(user=self.settings.place.user, since=first * _DAY_SECONDS)

    def _days_ago(self, days: int | None) -> float:
        return 0.0 if days is None else self.clock() - days * _DAY_SECONDS

    # Conversations

    def conversations(self, *, limit: int = 1_000) -> tuple[ConversationRecord, ...]:
        """Return the conversations that are remembered, the one used last first."""
        return self.store.conversations(user=self.settings.place.user, limit=limit)

    def find_conversation(self, session_id: str) -> ConversationRecord | None:
        """Return one conversation; None if nothing was said in it."""
        return self.store.find_conversation(user=self.settings.place.user, session=self._keys.find(session_id))

    def search_conversations(self, query: str, *, limit: int = 100) -> tuple[ConversationRecord, ...]:
        """Return the conversations in whose title, messages or answers a text stands, the one used last first."""
        return self.store.search_conversations(user=self.settings.place.user, query=query, limit=limit)

    def name_conversation(self, session_id: str, title: str) -> bool:
        """Give a conversation a title; an empty one takes it back. Say whether the conversation is known."""
        key = self._keys.find(session_id)
        return self.store.name_conversation(user=self.settings.place.user, session=key, title=title)

    def forget_conversation(self, session_id: str) -> bool:
        """Forget what was said in a conversation, and end its session; say whether either was known.

        Receipts, which hold none of it, stay.
        """
        key = self._keys.find(session_id)
        forgotten = self.store.forget_conversation(user=self.settings.place.user, session=key)
        return self.end_session(session_id) or forgotten

    def turns(
        self, session_id: str | None = None, *, parent: str | None = None, limit: int = 1_000
    ) -> tuple[TurnReceipt, ...]:
        """Return the receipts of turns of a session, of the forks of a turn by its id, or of all, newest first."""
        key = None if session_id is None else self._keys.find(session_id)
        return self.store.turns(user=self.settings.place.user, session=key, parent=parent, limit=limit)

    def model_usage(self, *, days: int | None = None) -> tuple[ModelUsage, ...]:
        """Return how much each model was used, in the last days or ever, the one with most tokens first."""
        return self.store.model_usage(user=self.settings.place.user, since=self._days_ago(days))

    # Skills

    def catalog(self) -> Catalog:
        """Return which skills there are now. While nothing changes, it is the very same object."""
        self.check_open()
        with self._lock:
            return self._keeper.current()

    def rescan(self) -> Catalog:
        """Search all sources, even under a policy that looks only once, and ask MCP servers what they have now."""
        self.check_open()
        if self.hosting is not None:
            self.hosting.refresh()
        with self._lock:
            self._choice.forget()
            return self._keeper.rescan()

    def view(self, agent: str = EVERY_AGENT) -> View:
        """Return what the agent of this name may see; its list of skills and its switches are in the settings."""
        return self._look(agent).view

    def _look(self, agent: str, vouched: Mapping[str, Stamp] | None = None) -> Look:
        self.check_open()
        with self._lock:
            catalog = self._keeper.current(vouched=vouched)
            return Look(self._make_view(catalog, agent), catalog, self._keeper.unrest)

    def _make_view(self, catalog: Catalog, agent: str) -> View:
        basis = (catalog.generation, self.store.version())
        known = self._views.get(agent)
        if known is not None and known[0] == (*basis, self._probe.state()):
            return known[1]
        made = make_view(
            catalog, probe=self._probe, switches=self.switches(), allowlist=self._allowlist(agent), agent=agent
        )
        self._views[agent] = ((*basis, self._probe.state()), made)
        return made

    def filtered(self, allowlist: Sequence[str] | None, *, agent: str = EVERY_AGENT) -> View:
        """Return a view for one task: None or `["*"]` allows all, names or ids only these, an empty list nothing.

        It never shows more than the settings let the agent see.
        """
        with self._lock:
            whole = self.view(agent)
            task = make_view(
                self._keeper.current(), probe=self._probe, switches=self.switches(), allowlist=allowlist, agent=agent
            )
        visible = tuple(skill for skill in task.visible if skill.id not in whole.hidden)
        known = {skill.id for skill in whole.for_people}
        for_people = tuple(skill for skill in task.for_people if skill.id in known)
        return replace(task, visible=visible, hidden={**whole.hidden, **task.hidden}, for_people=for_people)

    def why(self, name: str, *, agent: str = EVERY_AGENT, query: str = "") -> Explanation:
        """Explain why the skill of this name is visible to the model, or why not, and how much the prompt shows of it.

        With a query, also whether it triggers the skill, and what the prompt shows for it.
        """
        name = check_text("the name of a skill", name)
        if not self.settings.policy.enabled:
            off = Reason("disabled", "skills are switched off", "set enabled = true in the settings")
            return Explanation(name, visible=False, reasons=(off,))
        view = self.view(agent)
        explanation = explain(name, self.catalog(), view)
        shown = view.find(name)
        if shown is None:
            return explanation
        more = [*self.planning.explain(view, shown, query)]
        key = SessionKey(self.settings.place.user, "", agent)
        gate = Gate(self, self.store, key, asker=self.asker, pending=self.pending, clock=self.clock)
        consent = gate.explain(shown, self.files(shown))
        more += [*explain_origin(shown), *([consent] if consent else [])]
        problems = (*self.files(shown).problems, *self.script_problems(shown))
        more += [Reason(one.code, one.message, one.remedy) for one in problems]
        more += explain_secrets(self.workbench, shown)
        return replace(explanation, reasons=(explanation.reasons[0], *more, *explanation.reasons[1:]))

    def plan(
        self,
        *,
        agent: str = EVERY_AGENT,
        query: str = "",
        form: CatalogText | None = None,
        budget: int | None = None,
    ) -> Plan:
        """Return what of the catalog goes into a prompt, and why the rest does not."""
        form = None if form is None else read_choice(CatalogText, "a form of the catalog", form)
        budget = None if budget is None else check_budget(budget)
        return self.planning.plan(self.view(agent), query=query, form=form, budget=budget)

    def catalog_text(self, form: CatalogText | None = None, *, agent: str = EVERY_AGENT) -> str:
        """Return what a model is told of the visible skills, within the budget; empty if there are none."""
        return self.plan(agent=agent, form=form).text

    def search(self, query: str, *, agent: str = EVERY_AGENT, limit: int = 10) -> tuple[Found, ...]:
        """Return the visible skills that fit a query, best first."""
        return self.planning.search(self.view(agent), check_text("a query", query), limit=limit)

    def evaluate(
        self, *names: str, agent: str = EVERY_AGENT, progress: Callable[[int, int], None] | None = None
    ) -> "Evaluation":
        """Measure the trigger tests that skills ship, of those that are named or of all, by the planner and the search.

        `progress` is told how many queries are done, of how many.
        """
        from prowess.runtime.evaluating import evaluate

        return evaluate(self, names, agent=agent, progress=progress or (lambda _done, _total: None))

    def tier1_context(self, *, agent: str = EVERY_AGENT) -> str:
        """Return the catalog of what an agent sees; empty if that is nothing."""
        return self.session(agent=agent).tier1_context()

    def tier2_context(self, name: str, *, agent: str = EVERY_AGENT) -> str | None:
        """Return the instructions of a skill; None if the agent sees none of this name."""
        return self.session(agent=agent).tier2_context(name)

    def tier3_resources(self, name: str, part: str, *, agent: str = EVERY_AGENT) -> tuple[str, ...]:
        """Return the paths of a skill's files in `scripts`, `references` or `assets`."""
        return self.session(agent=agent).tier3_resources(name, part)

    def tier3_resource(self, name: str, path: str, *, agent: str = EVERY_AGENT) -> str | None:
        """Return the text of a file of a skill; None if there is none, or if it must not be read."""
        return self.session(agent=agent).tier3_resource(name, path)

    def digest(self, skill: Skill) -> str:
        """Return the digest of the skill's files; empty if some of them cannot or must not be read."""
        if self.hosting is not None and is_placeholder(skill):
            return self.hosting.digest(skill)
        return self._digests.of(skill)

    def files(self, skill: Skill) -> FileSet:
        """Return every file of the skill with its own digest, and the Problems among them.

        Files of a skill from an MCP server are fetched, if they have not been before.
        """
        found = self._digests.files(skill)
        if self.hosting is None or not is_placeholder(skill) or found.digest == self.hosting.digest(skill):
            return found
        problem = self.hosting.fetch(skill)
        return self._digests.files(skill) if problem is None else FileSet((), (problem,), "", ())

    def script_problems(self, skill: Skill) -> tuple[Problem, ...]:
        """Return why scripts of the skill could not run, as the sandbox that would run them sees it."""
        return find_script_problems(self.workbench, skill, self.files(skill))

    def is_vouched(self, skill: Skill) -> bool:
        """Whether the caller named the skill's folder itself, so that nobody is asked about it."""
        return self._choice.is_given(skill)

    def tidy(self) -> None:
        """Forget the user's ended receipts and idle sessions that are older than the settings want; once a day."""
        now = self.clock()
        if self._tidied_at is not None and now - self._tidied_at < _DAY_SECONDS:
            return
        self._tidied_at = now
        oldest = now - self.settings.keep_receipts_days * _DAY_SECONDS
        self.store.forget_receipts(user=self.settings.place.user, before=oldest)
        self.workbench.tidy_outputs()

    def warn_once(self, key: tuple[str, str], message: str) -> None:
        """Log a warning, once in the life of the process, unless very many others came since."""
        with _warned_lock:
            if key in _warned:
                return
            _warned[key] = None
            if len(_warned) > _MAX_WARNED:
                del _warned[next(iter(_warned))]
        _LOG.warning(message)

    # Copies

    def sync(self, *, progress: Progress | None = None, verify: bool = False) -> SyncReport:
        """Bring the user's copies of all visible skills up to date; `progress` is told how many are done, of how many.

        With `verify`, every copy is read, and placed anew if it is not what it should be.
        """
        if verify and self.policy.base_directory in _SHARED:
            self.copying.verify()
        return self.sync_view(lambda whole: whole, agent=EVERY_AGENT, view="", progress=progress)

    def sync_view(
        self, narrow: Callable[[View], View], *, agent: str, view: str, progress: Progress | None
    ) -> SyncReport:
        """Bring the copies of what a session sees up to date; for sessions."""
        self.check_open()
        if self.policy.base_directory not in _SHARED:
            self.copying.tidy()
            return SyncReport("")

        def see(vouched: Mapping[str, Stamp] | None) -> Look:
            look = self._look(agent, vouched)
            return look._replace(view=narrow(look.view))

        return self.copying.sync(see, view=view, progress=progress or (lambda _done, _total: None))

    def mounts(self) -> tuple[Mount, ...]:
        """Return what a sandbox must mount for the model's code to find all visible skills; a session says its own."""
        return self.session().mounts() if self.policy.base_directory in _SHARED else ()

    def sources(self) -> tuple[Source, ...]:
        """Return where skills are looked for, highest precedence first."""
        self.check_open()
        with self._lock:
            return self._choice.current()

    # Plugins

    def register_skill(self, path: str | os.PathLike[str], *, plugin: str = "app") -> str:
        """Add the skill at this absolute path, its folder or its SKILL.md.

        Return its id, which is its own as long as the plugin brings no other folder of the same name.
        """
        path = check_path("the folder of a skill", path)
        with self._lock:
            return self._plugins.register(path, plugin=plugin).skill_id("")

    def unregister_skill(self, path: str | os.PathLike[str]) -> None:
        """Take a registered skill back; it is gone from the next catalog."""
        with self._lock:
            self._plugins.unregister(path)

    # The user's own

    def personal(self) -> PersonalSkills:
        """Return the user's own skills, to add to them and to take from them; raise if none are looked for."""
        return open_personal(self)

    def find_own(self, name: str) -> str:
        """Return the folder's name of one of the user's own skills, that may be called by its name or id as well."""
        return find_own(self, self.personal(), name)

    # What people decide

    def switches(self) -> Switches:
        """Return all switches, from the settings and from people."""
        return Switches(self.settings.switches, self.store.switches())

    def set_switch(self, name: str, position: Switch, *, agent: str = EVERY_AGENT) -> Skill:
        """Set the switch of a skill for everybody or for one agent."""
        position = read_choice(Switch, "the position of a switch", position)
        skill = self.catalog().get(check_text("the name of a skill", name))
        self.store.set_switch(agent, switch_key(skill), position)
        return skill

    def is_eligible(self, skill: Skill) -> bool:
        """Whether what the skill needs is there."""
        return not self.missing(skill)

    def missing(self, skill: Skill) -> tuple[str, ...]:
        """Return what the skill needs and does not find here."""
        if skill.manifest.additions is None:
            return ()
        self._probe.state()
        return decide_eligibility(skill.manifest.additions.requires, self._probe)

    def trust(self, path: str | os.PathLike[str] | None = None) -> tuple[str, bool]:
        """Trust the project around a folder; return its root and whether that is new."""
        project = self._find_project(path)
        with self._lock:
            return project, self.store.trust(project, user=self.settings.place.user)

    def untrust(self, path: str | os.PathLike[str] | None = None) -> tuple[str, bool]:
        """Trust the project around a folder no more; return its root and whether it was trusted."""
        project = self._find_project(path)
        with self._lock:
            return project, self.store.untrust(project, user=self.settings.place.user)

    def _find_project(self, path: str | os.PathLike[str] | None) -> str:
        self.check_open()
        return self._choice.find_project(None if path is None else check_path("the folder of a project", path))

    def trusted_projects(self) -> frozenset[str]:
        """Return the roots of the projects that the user trusts."""
        return self.store.trusted_projects(user=self.settings.place.user)

    def grants(self) -> tuple[Grant, ...]:
        """Return what the user has agreed to and refused, newest first."""
        return self.store.grants(user=self.settings.place.user)

    def decide(
        self,
        name: str,
        decision: Decision,
        *,
        session_id: str = "",
        given_by: str = "application",
        act: Act = Act.USE,
        powers: Sequence[str] = (),
    ) -> Grant:
        """Agree to the files that a skill has now, or refuse them, before anybody asks.

        To run its scripts is an act of its own, with what powers they may have beyond a plain sandbox.
        """
        decision, act = read_choice(Decision, "a decision", decision), read_choice(Act, "an act", act)
        unknown = find_unknown_power(powers)
        if unknown is not None:
            raise SettingsError(f"no power '{unknown}'", hint=f"powers: {', '.join(POWERS)}", code="bad-power")
        skill = self.catalog().get(check_text("the name of a skill", name))
        files = self.files(skill)
        if not files.digest:
            faults = "; ".join(problem.message for problem in files.problems[:3])
            raise Refused(
                f"not all files of '{skill.name}' can be read: {faults}",
                hint=hint_at_files(skill),
                code="no-digest",
            )
        if session_id and self.policy.sessions is SessionMemory.TASK:
            raise SettingsError(
                "a decision cannot be kept for a task, which ends with its process",
                hint='decide for all sessions, or set activation.sessions = "chat"',
                code="bad-session",
            )
        session = self._keys.choose(session_id) if session_id else ""
        user = self.settings.place.user
        grant = Grant(
            user,
            switch_key(skill),
            skill.name,
            files.digest,
            decision,
            session,
            given_by,
            self.clock(),
            files.files,
            act,
            sort_powers(powers),
        )
        self.store.set_grant(grant)
        return grant

    def changed_texts(self, question: Question) -> tuple[TextChange, ...]:
        """Return the new and the changed texts that a question is about, where the former version is still kept."""
        if not question.changes:
            return ()
        return read_changed_texts(question, self.catalog().find(question.skill), self.copying.versions)

    def revoke(self, name: str | None = None) -> int:
        """Forget what the user decided on a skill, or on all; return how many decisions there were.

        Decisions on the files that the skill has now go too, even if they were given for another skill with the same.
        """
        user = self.settings.place.user
        if name is None:
            return self.store.revoke_grants(user=user)
        skill = self.catalog().find(check_text("the name of a skill", name))
        if skill is not None:
            return self.store.revoke_grants(user=user, skill=switch_key(skill), digest=self.digest(skill) or None)
        keys = {one.skill for one in self.grants() if name in (one.name, one.skill.skill)}
        if not keys:
            message = f"nothing was decided on '{name}', and there is no skill of this name"
            hint = f"{self.catalog().suggest(name)}; `prowess grants` shows what was decided".replace("?;", "?")
            raise NotFound(message, hint=hint, code="unknown-skill")
        return sum(self.store.revoke_grants(user=user, skill=key) for key in keys)

    def _allowlist(self, agent: str) -> Sequence[str] | None:
        known = self.settings.agents.get(agent)
        return known.skills if known else None
