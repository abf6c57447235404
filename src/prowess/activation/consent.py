"""Consent: whether a skill may be activated or its scripts run, and how a person is asked.

`decide_consent` and `decide_run` are pure. What they cannot decide becomes a `Question`, which carries all that a
person needs to answer, and which a `ConsentAsker` puts to one: a terminal, a callback of the application, or nobody at
all.
"""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol, runtime_checkable

from prowess.activation.grants import Act, Decision, Grant, Scope
from prowess.policy import Consent, ScriptConsent
from prowess.skill.deception import make_printable
from prowess.skill.digest import SkillFile
from prowess.sources.source import show_bytes

__all__ = [
    "Allow",
    "Answer",
    "Ask",
    "CallbackAsker",
    "Change",
    "Confirmation",
    "ConsentAsker",
    "Deny",
    "FileChange",
    "HeadlessAsker",
    "LastingAsker",
    "Question",
    "Verdict",
    "compare_files",
    "decide_consent",
    "decide_run",
]


class Change(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs from what was agreed to before."""

    path: str
    change: Change
    former_size: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """May this one call activate this skill, or run its scripts? The answer is for these files and no other call."""

    id: str
    session: str
    tool: str
    skill: str
    """The skill's id."""
    name: str
    description: str
    source: str
    """The kind of source that it comes from."""
    digest: str
    files: tuple[SkillFile, ...] = ()
    changes: tuple[FileChange, ...] = ()
    """Since the person last agreed to this skill; empty if that never was."""
    former_digest: str = ""
    allowed_tools: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    act: Act = Act.USE
    script: str = ""
    """What is to run, as its path in the skill's folder; empty for the tools that the skill brings."""
    arguments: tuple[str, ...] = ()
    """Those of the script; of an activation what it is called with, as one text, and of a fork the prompt."""
    powers: tuple[str, ...] = ()
    """What the run would have beyond a plain sandbox."""
    packages: tuple[str, ...] = ()
    """What would be installed for it, as `name==version`."""
    on_behalf_of: str = ""
    """The subagent that wants it, as in `deploy Skill`; empty for the conversation itself."""
    input: str = ""
    """The JSON that the script gets in a file; empty if it gets none."""
    forks: bool = False
    """Whether a subagent would work the skill."""
    spares_runs: bool = False
    """Whether a yes to its use lets its scripts run without another question, as far as a plain sandbox goes."""

    @property
    def title(self) -> str:
        """The question in a few words."""
        if self.act is Act.RUN:
            return f"Run {make_printable(shlex.quote(self.script or 'tools'))} of skill {_quote(self.name)}"
        return f"Activate skill {_quote(self.name)}"


def _quote(name: str) -> str:
    """Return a name in quotes that end where it ends, whatever it holds: it must not speak for Prowess."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{make_printable(escaped)}"'


class Answer(Enum):
    """What a person said, and how far it reaches."""

    ALLOW_ONCE = (Decision.ALLOW, Scope.ONCE)
    ALLOW_FOR_SESSION = (Decision.ALLOW, Scope.SESSION)
    ALLOW_ALWAYS = (Decision.ALLOW, Scope.ALWAYS)
    REFUSE = (Decision.REFUSE, Scope.ALWAYS)
    """It sticks: these files are not asked about again, until the refusal is revoked or they change."""
    REFUSE_ONCE = (Decision.REFUSE, Scope.ONCE)

    @property
    def decision(self) -> Decision:
        """Yes or no."""
        return self.value[0]

    @property
    def scope(self) -> Scope:
        """How far it reaches."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An answer to a question that was asked elsewhere, to go with the one call that it is about."""

    question: str
    """The question's id."""
    answer: Answer


class ConsentAsker(Protocol):
    """Puts a question to a person."""

    name: str
    """How the answer came, for the record."""

    def ask(self, question: Question) -> Answer | None:
        """Return the answer; None if there is nobody to give one.

        The skill cannot be used while the question is open: what is asked is all that there is to see.
        """
        ...


@runtime_checkable
class LastingAsker(ConsentAsker, Protocol):
    """Puts questions that outlive its process, so that an answer may come after it has ended."""

    def withdraw(self, question: str) -> Answer | None:
        """Return the answer that was given to a question which another process put; None if there is none.

        Nobody can answer it any more then.
        """
        ...


class HeadlessAsker:
    """Nobody is there: what was granted before counts, and all else is refused."""

    name = "headless"

    def ask(self, question: Question) -> Answer | None:  # noqa: ARG002 - the protocol's signature
        return None


class CallbackAsker:
    """Lets the application put the question in its own way."""

    name = "callback"

    def __init__(self, callback: Callable[[Question], Answer | None], *, name: str = "callback") -> None:
        self._callback = callback
        self.name = name

    def ask(self, question: Question) -> Answer | None:
        return self._callback(question)


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may go on: it is safe."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must be asked first: it is risky."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not go on."""

    reason: str


Verdict = Allow | Ask | Deny


def decide_consent(
    policy: Consent, *, digest: str, vouched: bool, trusted: bool, is_active: bool, grant: Grant | None
) -> Verdict:
    """Return whether a skill may be activated in a session.

    `vouched`: the caller named its folder itself. `trusted`: the policy trusts its source. `is_active`: the session has
    these very files switched on. `grant`: the decision that counts for the digest in the session.
    """
    if policy is Consent.NEVER:
        return Allow("not-asked")
    if grant is not None and grant.decision is Decision.REFUSE:
        return Deny("refused")
    if is_active:
        return Allow("active")
    if vouched or (trusted and policy is Consent.ASK):
        return Allow("trusted")
    if grant is not None and (policy is Consent.ASK or grant.scope is Scope.SESSION):
        return Allow(grant.scope.value)
    return Ask() if digest else Deny("no-digest")


def decide_run(
    policy: ScriptConsent, *, use: Verdict, grant: Grant | None, powers: Sequence[str], digest: str
) -> Verdict:
    """Return whether a script of a skill may run in a session with these powers.

    `use`: what `decide_consent` said of the skill itself. `grant`: the decision on runs that counts for the digest in
    the session. Under `ASK` it alone counts: scripts of trusted sources, and of folders that the caller named, ask too.
    """
    if isinstance(use, Deny):
        return use
    if not digest:  # Nothing would hold the files to what was agreed to, or to one version while they run.
        return Deny("no-digest")
    if grant is not None and grant.decision is Decision.REFUSE:
        return Deny("refused")
    if grant is not None and grant.covers(powers):
        return Allow(grant.scope.value)
    if powers or isinstance(use, Ask):  # A policy that spares the question of runs does not answer that of use.
        return Ask()
    match policy:
        case ScriptConsent.NEVER:
            return Allow("not-asked")
        case ScriptConsent.WITH_ACTIVATION:
            return Allow(use.reason)
        case ScriptConsent.ASK:
            return Ask()


def compare_files(before: Iterable[SkillFile], after: Sequence[SkillFile]) -> tuple[FileChange, ...]:
    """Return what has changed, by path."""
    old, new = {file.path: file for file in before}, {file.path: file for file in after}
    found: list[FileChange] = []
    for path in sorted(old.keys() | new.keys()):
        was, now, shown = old.get(path), new.get(path), show_bytes(path)
        if was is None and now is not None:
            found.append(FileChange(shown, Change.ADDED, size=now.size))
        elif was is not None and now is None:
            found.append(FileChange(shown, Change.REMOVED, former_size=was.size))
        elif was is not None and now is not None and (was.sha256, was.kind) != (now.sha256, now.kind):
            found.append(FileChange(shown, Change.CHANGED, was.size, now.size))
    return tuple(found)
