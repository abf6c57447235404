"""Switch skills on in one session, with consent to their exact files and a receipt for each."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.activation.consent import Answer, Confirmation, Question, Verdict
from prowess.activation.grants import Act
from prowess.activation.receipts import AskedBy, Receipt, keep_arguments
from prowess.catalog.rereading import read_manifest
from prowess.disclosure.agreed_files import SkillChanged
from prowess.disclosure.instructions import (
    Instructions,
    read_instructions,
    render_folder,
    render_instructions,
    wrap_instructions,
)
from prowess.disclosure.resources import LineRange, Resource, list_resources, read_resource, read_whole
from prowess.disclosure.tokens import TokenCounter
from prowess.errors import BrokenSkill
from prowess.policy import RunIn, ToolSet
from prowess.runtime.gate import NOT_ASKED, Gate, UseWish
from prowess.runtime.keeper import SessionKey, SkillKeeper
from prowess.runtime.shelf import Shelf
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet
from prowess.sources.source import show_bytes
from prowess.state.store import StateStore

__all__ = ["Activation", "Activator"]

_LOG = logging.getLogger("prowess")
_WITH_ARGUMENTS = (ToolSet.STANDARD, ToolSet.PYTHON)
"""Whose instructions take arguments and stand in a tag; the others are as their documents have them."""
_ATTEMPTS = 3
"""How often a skill is looked at again because it was changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Activation:
    """What came of switching a skill on."""

    skill: Skill
    digest: str
    base_directory: str
    instructions: Instructions
    text: str
    """What the model reads: the instructions, or a note if it has them already."""
    folder_structure: str
    already_active: bool
    receipt: Receipt


class _Taken(NamedTuple):
    """A skill as it was taken from the shelf."""

    skill: Skill
    files: FileSet
    instructions: Instructions
    base: str
    """Where the model's code finds it; empty if it does not, or is not told."""


class Activator:
    """Switches skills on and off for one session. What it knows is in the store."""

    def __init__(
        self,
        keeper: SkillKeeper,
        store: StateStore,
        key: SessionKey,
        *,
        gate: Gate,
        shelf: Shelf,
        counter: Callable[[], TokenCounter],
        clock: Callable[[], float],
    ) -> None:
        self._keeper = keeper
        self._store = store
        self._key = key
        self._gate = gate
        self._shelf = shelf
        self._counter = counter
        self._clock = clock

    # What is on

    def active(self) -> tuple[Receipt, ...]:
        """Return the open receipts of the session, in the order of activation."""
        return self._store.active(user=self._key.user, session=self._key.session)

    def deactivate(self, skill_id: str) -> Receipt | None:
        """Switch a skill off."""
        return self._store.deactivate(user=self._key.user, session=self._key.session, skill=skill_id, at=self._clock())

    def mark_context(self, receipts: frozenset[str]) -> None:
        """Say which receipts' instructions the conversation still holds."""
        self._store.mark_context(user=self._key.user, session=self._key.session, in_context=receipts)

    # Switching on

    def activate(
        self,
        skill: Skill,
        *,
        tool: str,
        asked_by: AskedBy,
        arguments: str | None = None,
        trigger: str = "",
        confirmation: Confirmation | None = None,
    ) -> Activation:
        """Switch a skill on and return its instructions; a note if the conversation has them already."""
        source = skill
        for _ in range(_ATTEMPTS):
            skill, files = self._shelf.take(source)
            current = self._find_current(skill, files)
            consent = self._gate.permit(
                skill,
                files,
                UseWish(arguments or ""),
                tool=tool,
                is_active=current is not None,
                confirmation=confirmation,
            )
            try:
                if current is not None and _is_known(current, arguments or ""):
                    return self._already(skill, current, files, base=self._shelf.resume(source, files))
                instructions = self._read(skill, files, arguments)
                self._gate.check_unchanged(skill, files, consent, now=self._shelf.take(source)[1])
                taken = _Taken(skill, files, instructions, self._shelf.place(source, files))
            except SkillChanged:
                confirmation = None  # It was about other files.
                continue
            draft = self._draft(skill, files, instructions, asked_by=asked_by, arguments=arguments, trigger=trigger)
            return self._enter(taken, replace(draft, consent=consent), current)
        raise SkillChanged(f"skill '{skill.name}' keeps changing while it is read", hint="try again when it is settled")

    def _enter(self, taken: _Taken, draft: Receipt, current: Receipt | None) -> Activation:
        """Record an activation; of several at once, one counts and the others find the skill active already."""
        skill = taken.skill
        if current is not None and draft.arguments != current.arguments:
            self.deactivate(skill.id)
            current = None
        text = self._render(taken)
        draft = replace(draft, tokens=self._counter().count(text))
        self._keeper.tidy()
        if skill.manifest.allowed_tools is not None:
            _LOG.info("skill '%s' allows itself these tools: %s", skill.name, " ".join(skill.manifest.allowed_tools))
        receipt = self._store.activate(draft)
        if receipt.id != draft.id and current is None and draft.digest:
            if _is_known(receipt, draft.arguments):
                return self._already(skill, receipt, taken.files, base=taken.base)
            return self._enter(taken, draft, receipt)
        if not receipt.in_context:
            self._store.enter_context(user=self._key.user, session=self._key.session, receipt=receipt.id)
        return _describe(taken, text, receipt, already=False)

    def permit(self, skill: Skill, wish: UseWish, *, tool: str, confirmation: Confirmation | None) -> str:
        """Return the digest of a skill's files, which may be used; whoever must be is asked first, or it raises."""
        source = skill
        skill, files = self._shelf.take(source)
        is_active = self._find_current(skill, files) is not None
        consent = self._gate.permit(skill, files, wish, tool=tool, is_active=is_active, confirmation=confirmation)
        self._gate.check_unchanged(skill, files, consent, now=self._shelf.take(source)[1])
        return files.digest

    def judge(self, skill: Skill) -> tuple[Skill, FileSet]:
        """Return a skill as its files declare it that the session sees now, and these.

        The catalog may have found others since: what those ask for, nobody has agreed to.
        """
        taken, files = self._shelf.take(skill)
        manifest = read_manifest(skill, taken.real, reading=self._keeper.policy.reading)
        now = self._shelf.take(skill)[1]
        if manifest is None or (now.digest, now.stamps) != (files.digest, files.stamps):
            raise SkillChanged(f"skill '{skill.name}' was changed while it was read", hint="try again")
        return skill._replace(manifest=manifest), files

    def look(self, skill: Skill) -> tuple[FileSet, bool]:
        """Return the files of a skill that the session sees now, and whether the user has refused it."""
        taken, files = self._shelf.take(skill)
        return files, self._gate.denies(taken, files)

    def is_active(self, skill: Skill, files: FileSet) -> bool:
        """Whether these very files of a skill are switched on."""
        return self._find_current(skill, files) is not None

    def peek(self, skill: Skill) -> str:
        """Return the instructions of a skill without switching it on; whoever may activate it may look."""
        source = skill
        skill, files = self._shelf.take(source)
        is_active = self._find_current(skill, files) is not None
        consent = self._gate.permit(skill, files, UseWish(), tool="peek", is_active=is_active, confirmation=None)
        instructions = self._read(skill, files, None)
        self._gate.check_unchanged(skill, files, consent, now=self._shelf.take(source)[1])
        return self._render(_Taken(skill, files, instructions, self._shelf.offer(source, files)))

    def recall(self, receipt: Receipt, skill: Skill) -> str | None:
        """Return the instructions of an active skill once more; None if its files are not those agreed to."""
        source = skill
        skill, files = self._shelf.take(source)
        if files.digest != receipt.digest or self._gate.denies(skill, files):
            return None
        try:
            instructions = self._read(skill, files, receipt.arguments or None)
            return self._render(_Taken(skill, files, instructions, self._shelf.place(source, files)))
        except (BrokenSkill, SkillChanged):
            return None

    def read(
        self, skill: Skill, path: str, *, tool: str, lines: LineRange | None, confirmation: Confirmation | None
    ) -> Resource:
        """Return a file of a skill; whoever may activate the skill may read it."""
        source = skill
        skill, files = self._shelf.take(source)
        is_active = self._find_current(skill, files) is not None
        consent = self._gate.permit(
            skill, files, UseWish(path), tool=tool, is_active=is_active, confirmation=confirmation
        )
        policy = self._keeper.policy
        found = read_resource(
            skill,
            path,
            limit_bytes=policy.limits.max_resource_bytes,
            lines=lines,
            binary=policy.binary,
            files=files.files if consent not in NOT_ASKED else (),
        )
        self._gate.check_unchanged(skill, files, consent, now=self._shelf.take(source)[1])
        if found.truncated and found.notice:
            self._keeper.warn_once((skill.id, found.path), f"skill '{skill.name}': {found.path}: {found.notice}")
        return found

    def fetch(self, skill: Skill, path: bytes, *, tool: str) -> bytes:
        """Return a file of a skill byte by byte, by its path as it is on disk; whoever may activate the skill may."""
        source = skill
        skill, files = self._shelf.take(source)
        is_active = self._find_current(skill, files) is not None
        wish = UseWish(show_bytes(path))
        consent = self._gate.permit(skill, files, wish, tool=tool, is_active=is_active, confirmation=None)
        raw = read_whole(skill, path, files=files.files if consent not in NOT_ASKED else ())
        self._gate.check_unchanged(skill, files, consent, now=self._shelf.take(source)[1])
        return raw

    def files(self, skill: Skill) -> FileSet:
        """Return the files of a skill that the session sees now."""
        return self._shelf.take(skill)[1]

    def decide(self, skill: Skill) -> Verdict:
        """Return whether a skill may be used as it is now, must be asked about, or must not be used."""
        skill, files = self._shelf.take(skill)
        return self._gate.decide(skill, files, is_active=self._find_current(skill, files) is not None)

    def keep_answer(self, skill: Skill, digest: str, answer: Answer, *, act: Act, powers: tuple[str, ...]) -> None:
        """Remember what a person said of these files of a skill, unless it has others now."""
        skill, files = self._shelf.take(skill)
        if digest and files.digest == digest:
            self._gate.keep(skill, files, answer, act=act, powers=powers)

    def question(self, skill: Skill, *, tool: str, arguments: str, run_in: RunIn = RunIn.HERE) -> Question | None:
        """Return what a person would be asked before this call; None if nobody would be."""
        skill, files = self._shelf.take(skill)
        is_active = self._find_current(skill, files) is not None
        return self._gate.question(skill, files, UseWish(arguments, run_in), tool=tool, is_active=is_active)

    # Texts

    def _read(self, skill: Skill, files: FileSet, arguments: str | None) -> Instructions:
        policy = self._keeper.policy
        limit = policy.limits.max_skill_md_bytes
        found = read_instructions(
            skill,
            files=files.files if files.digest else (),
            limit_bytes=limit,
            arguments=(arguments or "") if policy.tools in _WITH_ARGUMENTS else None,
        )
        if found.size_bytes > limit:
            message = f"skill '{skill.name}': SKILL.md has {found.size_bytes:,} bytes and was cut at {limit:,}"
            self._keeper.warn_once((skill.id, "SKILL.md"), message)
        return found

    def _render(self, taken: _Taken) -> str:
        text = render_instructions(taken.skill, taken.instructions, base_directory=taken.base)
        if self._keeper.policy.tools not in _WITH_ARGUMENTS:
            return text
        return wrap_instructions(taken.skill, text, resources=list_resources(taken.files.files))

    def _already(self, skill: Skill, receipt: Receipt, files: FileSet, *, base: str) -> Activation:
        note = f"Skill {skill.name} is already active. Its instructions stand above in this conversation."
        return _describe(_Taken(skill, files, Instructions(note, 0), base), note, receipt, already=True)

    def _find_current(self, skill: Skill, files: FileSet) -> Receipt | None:
        """Return the receipt by which the very files that the skill has now are active; none if they have no digest."""
        if not files.digest:
            return None
        return next((one for one in self.active() if (one.skill, one.digest) == (skill.id, files.digest)), None)

    def _draft(
        self,
        skill: Skill,
        files: FileSet,
        instructions: Instructions,
        *,
        asked_by: AskedBy,
        arguments: str | None,
        trigger: str,
    ) -> Receipt:
        return Receipt(
            os.urandom(16).hex(),
            self._key.user,
            self._key.session,
            skill.id,
            skill.name,
            files.digest,
            asked_by,
            agent=self._key.agent,
            trigger=trigger,
            arguments=keep_arguments(arguments or ""),
            size_bytes=instructions.size_bytes,
            at=self._clock(),
        )


def _describe(taken: _Taken, text: str, receipt: Receipt, *, already: bool) -> Activation:
    skill, files, instructions, base = taken
    folder = render_folder(show_bytes(file.path) for file in files.files)
    return Activation(skill, files.digest, base, instructions, text, folder, already, receipt)


def _is_known(receipt: Receipt, arguments: str) -> bool:
    """Whether the conversation holds the instructions already, for these arguments or for a call without any."""
    return receipt.in_context and arguments in ("", receipt.arguments)
