"""Delegate skills of one session to subagents: with consent to their files, and rights that the session itself has."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from prowess.activation.consent import Confirmation, Question
from prowess.activation.grants import Act, Decision, Grant
from prowess.activation.receipts import AskedBy
from prowess.catalog.switches import switch_key
from prowess.disclosure.agreed_files import SkillChanged
from prowess.policy import RunIn
from prowess.runtime.activator import Activator
from prowess.runtime.forking import (
    Forker,
    ForkResult,
    ForkWish,
    decide_fork,
    limit_powers,
    need_prompt,
    pass_on,
)
from prowess.runtime.gate import UseWish
from prowess.runtime.keeper import SessionKey
from prowess.skill.skill import Skill
from prowess.state.store import StateStore

if TYPE_CHECKING:
    from prowess.runtime.session import Session

__all__ = ["Delegation"]


class Delegation:
    """Hands skills of one session to subagents; to none, without a forker."""

    def __init__(
        self,
        session: "Session",
        store: StateStore,
        key: SessionKey,
        *,
        activator: Activator,
        forker: Forker | None,
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._store = store
        self._key = key
        self._activator = activator
        self._forker = forker
        self._clock = clock

    @property
    def possible(self) -> bool:
        """Whether there can be subagents."""
        return self._forker is not None and self._session.policy.turns.run_in is not RunIn.HERE

    def decides(self, skill: Skill, *, asked: str = "") -> bool:
        """Whether a skill is for a subagent, here and now, by what the files say that the session sees."""
        if not self.possible:
            return False
        return decide_fork(self._session.policy.turns.run_in, self._activator.judge(skill)[0], asked=asked)

    def question(self, skill: Skill, prompt: str, *, tool: str) -> Question | None:
        """Return what a person would be asked before `delegate`; None if nobody would be. Raise if it is hopeless."""
        prompt = need_prompt(skill, prompt)
        skill, _ = self._activator.judge(skill)
        pass_on(skill, self._session.rights)
        return self._activator.question(skill, tool=tool, arguments=prompt, run_in=RunIn.FORK)

    def delegate(
        self,
        skill: Skill,
        prompt: str,
        *,
        tool: str,
        asked_by: AskedBy,
        confirmation: Confirmation | None = None,
    ) -> ForkResult:
        """Return what a subagent makes of a prompt with a skill. Raise if it is refused, or if none can be had."""
        assert self._forker is not None
        prompt = need_prompt(skill, prompt)
        skill, files = self._activator.judge(skill)
        permissions, rights = pass_on(skill, self._session.rights)  # Before anybody is asked.
        self._forker.check(skill)
        agreed = self._activator.permit(skill, UseWish(prompt, RunIn.FORK), tool=tool, confirmation=confirmation)
        if agreed != files.digest:
            raise SkillChanged(f"skill '{skill.name}' was changed while it was asked about", hint="try again")
        return self._forker.fork(ForkWish(skill, agreed, prompt, asked_by, permissions, rights))

    def hand_over(self, wish: ForkWish, fork: SessionKey) -> None:
        """Let what the session was allowed with the skill's files hold in its fork too, attributed to the skill.

        What it was refused holds there as well, of whichever skill.
        """
        at = self._clock()  # Whoever refuses the skill from now on is heard before what is handed over.
        for grant in self._find_grants(wish):
            self._store.set_grant(replace(grant, session=fork.session, given_by=wish.granted_by, at=at))
        for refusal in self._find_refusals():
            self._store.set_grant(replace(refusal, session=fork.session))

    def _find_grants(self, wish: ForkWish) -> list[Grant]:
        """Return what the session itself was allowed with these files: at least to use them, or there were no fork."""
        if not wish.digest:
            return []
        user, session = self._key.user, self._key.session
        use = self._store.find_grant(user=user, digest=wish.digest, session=session) or self._make_grant(wish)
        runs = self._store.find_grant(user=user, digest=wish.digest, session=session, act=Act.RUN)
        if runs is None or not runs.session:  # What holds in all sessions needs no handing over.
            return [use]
        return [use, replace(runs, powers=limit_powers(runs.powers, wish.rights))]

    def _make_grant(self, wish: ForkWish) -> Grant:
        """Return the consent that a fork begins with, where none was kept."""
        _, files = self._activator.judge(wish.skill)
        listed = files.files if files.digest == wish.digest else ()
        skill = wish.skill
        return Grant(self._key.user, switch_key(skill), skill.name, wish.digest, Decision.ALLOW, files=listed)

    def _find_refusals(self) -> list[Grant]:
        return [
            grant
            for grant in self._store.grants(user=self._key.user)
            if grant.session == self._key.session and grant.decision is Decision.REFUSE
        ]
