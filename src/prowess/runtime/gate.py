"""The gate before a skill: whoever wants it in a session gets past with consent to its exact files, or not at all."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

from prowess.activation.consent import (
    Allow,
    Answer,
    Ask,
    Confirmation,
    ConsentAsker,
    Deny,
    Question,
    Verdict,
    compare_files,
    decide_consent,
    decide_run,
)
from prowess.activation.grants import Act, Decision, Grant, Scope
from prowess.catalog.switches import switch_key
from prowess.catalog.views import Reason
from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import Refused
from prowess.policy import Consent, RunIn, ScriptConsent, SessionMemory, SourceKind
from prowess.runtime.forking import name_work
from prowess.runtime.keeper import SessionKey, SkillKeeper
from prowess.runtime.pending_questions import Call, PendingQuestions
from prowess.skill.problems import KINDS, Problem
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet
from prowess.state.store import StateStore

__all__ = ["NOT_ASKED", "Gate", "RunWish", "UseWish", "hint_at_files"]

_ASKS_ANEW = "each task asks anew"
_MEND_FOLDER = "mend the skill's folder; `prowess validate` shows what is wrong"
_MAX_CHANGES = 3
"""Changed files that a refusal names; a question names more."""
_MAX_PATH = 80
NOT_ASKED = ("not-asked", "trusted")
"""Reasons to let a skill pass whatever its files are."""


@dataclass(frozen=True, slots=True)
class UseWish:
    """What a call wants a skill for."""

    given: str = ""
    """Its arguments, the path of one of its files, or the prompt of a subagent."""
    run_in: RunIn = RunIn.HERE

    @property
    def text(self) -> str:
        """All of it, for a call to be told from others by."""
        return name_work(self.given) if self.run_in is RunIn.FORK else self.given


@dataclass(frozen=True, slots=True)
class RunWish:
    """What a call wants to run, and with what."""

    script: str
    """Its path in the skill's folder; empty for the tools that the skill brings."""
    arguments: tuple[str, ...] = ()
    powers: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    given: str = ""
    """A digest of what else the call hands over, so that a confirmation is for the very same."""
    input: str = ""
    """What a script gets of that, as JSON, for a person to see."""

    @property
    def text(self) -> str:
        """All of it, for a call to be told from others by."""
        return "\0".join((self.script, *self.arguments, "", *self.powers, "", *self.packages, self.given))


Wish = UseWish | RunWish


class Gate:
    """Decides, asks and remembers for one session."""

    def __init__(
        self,
        keeper: SkillKeeper,
        store: StateStore,
        key: SessionKey,
        *,
        asker: ConsentAsker,
        pending: PendingQuestions,
        clock: Callable[[], float],
    ) -> None:
        self._keeper = keeper
        self._store = store
        self._key = key
        self._asker = asker
        self._pending = pending
        self._clock = clock

    def question(self, skill: Skill, files: FileSet, wish: Wish, *, tool: str, is_active: bool) -> Question | None:
        """Return what a person would be asked before this call; None if nobody would be."""
        match self._judge(skill, files, wish, is_active=is_active):
            case Ask():
                question = self._ask_about(skill, files, wish, tool=tool)
                self._pending.add(question.id, self._call(skill, files, tool, wish))
                return question
            case Allow() | Deny():
                return None

    def permit(
        self,
        skill: Skill,
        files: FileSet,
        wish: Wish,
        *,
        tool: str,
        is_active: bool,
        confirmation: Confirmation | None,
    ) -> str:
        """Return why the call is allowed, or raise. A no that comes with the call always counts."""
        match self._judge(skill, files, wish, is_active=is_active):
            case Allow(reason):
                if confirmation is not None:
                    self._honour(skill, files, wish, confirmation, tool=tool)
                return reason
            case Deny("no-digest"):
                raise _no_digest(skill, files)
            case Deny():
                raise _refused(skill, Scope.ALWAYS, wish)
            case Ask() if confirmation is not None:
                answer = self._pending.redeem(confirmation, self._call(skill, files, tool, wish))
                return self._settle(skill, files, wish, answer, given_by="confirmation")
            case Ask():
                return self._ask(skill, files, wish, tool=tool, is_active=is_active)

    def allows(self, skill: Skill, files: FileSet, wish: Wish, *, is_active: bool) -> bool:
        """Whether a call needs no question."""
        return isinstance(self._judge(skill, files, wish, is_active=is_active), Allow)

    def _ask(self, skill: Skill, files: FileSet, wish: Wish, *, tool: str, is_active: bool) -> str:
        """Ask the person, unless another call has the answer meanwhile."""
        with self._pending.asking(self._key.session, files.digest):
            match self._judge(skill, files, wish, is_active=is_active):
                case Allow(reason):
                    return reason
                case Deny():
                    raise _refused(skill, Scope.ALWAYS, wish)
                case Ask():
                    answer = self._asker.ask(self._ask_about(skill, files, wish, tool=tool))
                    return self._settle(skill, files, wish, answer, given_by=self._asker.name)

    def _judge(self, skill: Skill, files: FileSet, wish: Wish, *, is_active: bool) -> Verdict:
        use = self.decide(skill, files, is_active=is_active)
        match wish:
            case UseWish():
                return use
            case RunWish():
                consent = self._keeper.policy.execution.consent
                grant = self._find_grant(files, Act.RUN)
                return decide_run(consent, use=use, grant=grant, powers=wish.powers, digest=files.digest)

    def _find_grant(self, files: FileSet, act: Act) -> Grant | None:
        if not files.digest:
            return None
        return self._store.find_grant(user=self._key.user, digest=files.digest, session=self._key.session, act=act)

    def _call(self, skill: Skill, files: FileSet, tool: str, wish: Wish) -> Call:
        return Call(self._key.session, tool, skill.id, wish.text, files.digest)

    def _honour(self, skill: Skill, files: FileSet, wish: Wish, confirmation: Confirmation, *, tool: str) -> None:
        """Carry out an answer that comes with a call which needs none any more; a stale yes does no harm."""
        try:
            answer = self._pending.redeem(confirmation, self._call(skill, files, tool, wish))
        except Refused:
            if confirmation.answer.decision is Decision.REFUSE:
                raise
            return
        self._settle(skill, files, wish, answer, given_by="confirmation")

    def decide(self, skill: Skill, files: FileSet, *, is_active: bool) -> Verdict:
        """Return whether the skill may be used as it is now, must be asked about, or must not be used."""
        consent = self._choose_policy(skill)
        return decide_consent(
            consent,
            digest=files.digest,
            vouched=self._keeper.is_vouched(skill),
            trusted=skill.kind in self._keeper.policy.trusted_kinds and skill.kind is not SourceKind.MCP,
            is_active=is_active,
            grant=self._find_grant(files, Act.USE) if consent is not Consent.NEVER else None,
        )

    def denies(self, skill: Skill, files: FileSet) -> bool:
        """Whether a skill that is active must not be used any more."""
        return isinstance(self.decide(skill, files, is_active=True), Deny)

    def explain(self, skill: Skill, files: FileSet) -> Reason | None:
        """Return why the skill cannot simply be activated; None if it can."""
        match self.decide(skill, files, is_active=False):
            case Allow():
                return None
            case Deny("no-digest"):
                what = "not all its files can be read, so nobody can agree to them"
                return Reason("no-digest", what, hint_at_files(skill))
            case Deny():
                return Reason(
                    "refused", "the user refused it as it is now", f"prowess grants --revoke {shlex.quote(skill.name)}"
                )
            case Ask():
                what = "nobody has agreed to it as it is now, so its activation asks"
                what += self._tell_changes(skill, files, Act.USE)
                return Reason("consent-needed", what, _or_for_one_call(self._way_to_consent(skill)))

    def check_unchanged(self, skill: Skill, files: FileSet, consent: str, *, now: FileSet) -> None:
        """Raise if what was read may differ from what was agreed to: a person takes time to answer."""
        if consent in NOT_ASKED:
            return
        if (now.digest, now.stamps) != (files.digest, files.stamps):
            raise SkillChanged(f"skill '{skill.name}' was changed while it was read", hint="try again")

    def _choose_policy(self, skill: Skill) -> Consent:
        """Return when a person is asked about a skill: about one from an MCP server always, whatever the settings say.

        Its files are as much a stranger's as the server that sends them, and may be others tomorrow.
        """
        consent = self._keeper.policy.consent
        return Consent.ASK if skill.kind is SourceKind.MCP and consent is Consent.NEVER else consent

    def _settle(self, skill: Skill, files: FileSet, wish: Wish, answer: Answer | None, *, given_by: str) -> str:
        """Carry out what a person said: remember it as far as it reaches, and allow or refuse."""
        act, powers = (Act.RUN, wish.powers) if isinstance(wish, RunWish) else (Act.USE, ())
        if answer is None:
            way = self._find_way(skill, wish)
            raise Refused(
                f"{_describe_wish(skill, wish)} needs the user's consent, and nobody is there to give it"
                f"{self._tell_changes(skill, files, act)}",
                hint=_or_for_one_call(way),
                hint_elsewhere=way or _ASKS_ANEW,
                code="consent-needed",
            )
        self.keep(skill, files, answer, act=act, powers=powers, given_by=given_by)
        if answer.decision is Decision.REFUSE:
            raise _refused(skill, answer.scope, wish)
        return answer.scope.value

    def keep(
        self, skill: Skill, files: FileSet, answer: Answer, *, act: Act, powers: tuple[str, ...], given_by: str = ""
    ) -> None:
        """Remember what a person said, as far as it reaches: to the session's asker, if not `given_by` another way."""
        if answer.scope is Scope.ONCE:
            return
        grant = Grant(
            self._key.user,
            switch_key(skill),
            skill.name,
            files.digest,
            answer.decision,
            session=self._key.session if answer.scope is Scope.SESSION else "",
            given_by=given_by or self._asker.name,
            at=self._clock(),
            files=files.files,
            act=act,
            powers=powers,
        )
        self._store.set_grant(grant)

    def _find_way(self, skill: Skill, wish: Wish) -> str:
        return _way_to_run(skill, wish) if isinstance(wish, RunWish) else self._way_to_consent(skill)

    def _way_to_consent(self, skill: Skill) -> str:
        """Return by what command the user agrees to a skill; empty where nobody can for more than one call."""
        policy = self._keeper.policy
        if self._choose_policy(skill) is Consent.ASK:
            return f"`prowess grants --allow {shlex.quote(skill.name)}` gives it"
        if policy.sessions is SessionMemory.CHAT:
            return f"`prowess grants --allow {shlex.quote(skill.name)} --session ID` gives it"
        return ""

    def _find_former(self, skill: Skill, files: FileSet, act: Act) -> Grant | None:
        return self._store.find_former_grant(user=self._key.user, skill=switch_key(skill), digest=files.digest, act=act)

    def _tell_changes(self, skill: Skill, files: FileSet, act: Act) -> str:
        """Return what to add where the skill as it was had consent; the names of a server's files stay unsaid."""
        former = self._find_former(skill, files, act)
        if former is None:
            return ""
        changes = compare_files(former.files, files.files)
        shown = () if skill.server else changes[:_MAX_CHANGES]
        told = [f"{one.path[:_MAX_PATH]} {one.change}" for one in shown]
        more = len(changes) - len(told)
        if more:
            told.append(f"{more:,} {'more ' if told else ''}file{'' if more == 1 else 's'}")
        return "; it has changed since the user agreed to it" + (f": {', '.join(told)}" if told else "")

    def _ask_about(self, skill: Skill, files: FileSet, wish: Wish, *, tool: str) -> Question:
        act = Act.RUN if isinstance(wish, RunWish) else Act.USE
        former = self._find_former(skill, files, act)
        question = Question(
            os.urandom(16).hex(),
            self._key.session,
            tool,
            skill.id,
            skill.name,
            skill.description,
            skill.kind.value,
            files.digest,
            files.files,
            changes=compare_files(former.files, files.files) if former else (),
            former_digest=former.digest if former else "",
            allowed_tools=skill.manifest.allowed_tools or (),
            permissions=skill.manifest.behaviour.permissions,
            act=act,
            spares_runs=act is Act.USE and self._keeper.policy.execution.consent is not ScriptConsent.ASK,
        )
        match wish:
            case UseWish(given, run_in):
                return replace(question, arguments=(given,) if given else (), forks=run_in is RunIn.FORK)
            case RunWish(script, arguments, powers, packages):
                return replace(
                    question, script=script, arguments=arguments, powers=powers, packages=packages, input=wish.input
                )


def _name(wish: RunWish) -> str:
    return wish.script or "tools"


def _way_to_run(skill: Skill, wish: RunWish) -> str:
    powers = "".join(f" --power {shlex.quote(power)}" for power in wish.powers)
    return f"`prowess grants --allow {shlex.quote(skill.name)} --run{powers}` gives it"


def _or_for_one_call(way: str) -> str:
    """Return a hint for whoever typed a command, and can type it again."""
    return f"{way}, or --yes for one call" if way else f"--yes gives it for one call; {_ASKS_ANEW}"


def hint_at_files(skill: Skill) -> str:
    """Say what can be done about files that cannot be read."""
    if not skill.server:
        return _MEND_FOLDER
    return f"`prowess mcp servers refresh {skill.server}` asks its MCP server again, and says what is wrong with it"


def _no_digest(skill: Skill, files: FileSet) -> Refused:
    faults = "; ".join(_describe(skill, problem) for problem in files.problems[:3])
    return Refused(
        f"skill '{skill.name}' cannot be agreed to, since not all its files can be read: {faults}",
        hint=hint_at_files(skill),
        code="no-digest",
    )


def _describe(skill: Skill, problem: Problem) -> str:
    """Say what is wrong, for a model: of a server in our words alone, since nobody has agreed to its own yet."""
    return f"{KINDS[problem.code].what.rstrip('.')} [{problem.code}]" if skill.server else problem.message


def _describe_wish(skill: Skill, wish: Wish) -> str:
    return f"running {_name(wish)} of skill '{skill.name}'" if isinstance(wish, RunWish) else f"skill '{skill.name}'"


def _refused(skill: Skill, scope: Scope, wish: Wish) -> Refused:
    revoke = (
        f"; `prowess grants --revoke {shlex.quote(skill.name)}` takes the refusal back" if scope is Scope.ALWAYS else ""
    )
    what = f"to run {_name(wish)} of skill '{skill.name}'" if isinstance(wish, RunWish) else f"skill '{skill.name}'"
    return Refused(f"the user refused {what}", hint=f"do without it{revoke}", code="refused")
