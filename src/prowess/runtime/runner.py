"""Run scripts of skills for one session: with consent to their exact files and powers, in a sandbox, with a receipt."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from prowess.activation.consent import Confirmation, Question
from prowess.activation.grants import Act, Decision
from prowess.activation.receipts import AskedBy, RunReceipt, SessionRecord, keep_arguments
from prowess.catalog.rereading import read_manifest
from prowess.containers.mounts import Mount
from prowess.copies.versions import Pin
from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import Refused, WorldError
from prowess.execution.jobs import (
    Ended,
    Job,
    Listener,
    OutputFile,
)
from prowess.execution.rules.rights import Rights
from prowess.execution.sandbox import hear_nothing
from prowess.execution.stopping import check_stopped
from prowess.execution.toolsets.toolset_protocol import REPLY_FILE
from prowess.runtime.gate import Gate, RunWish
from prowess.runtime.job_making import World, locate_inside, make_job
from prowess.runtime.keeper import SessionKey
from prowess.runtime.run_powers import Progress
from prowess.runtime.run_preparation import Preparation, Prepared
from prowess.runtime.run_results import RunRequest, RunResult, make_result
from prowess.runtime.shelf import Shelf
from prowess.runtime.workbench import Workbench
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet
from prowess.state.store import StateStore

__all__ = ["Runner"]

_ATTEMPTS = 3
"""How often a skill is taken again because it was changed meanwhile."""


class Runner:
    """Runs scripts for one session."""

    def __init__(
        self,
        workbench: Workbench,
        store: StateStore,
        key: SessionKey,
        *,
        gate: Gate,
        shelf: Shelf,
        rights: Rights,
        is_active: Callable[[Skill, FileSet], bool],
        clock: Callable[[], float],
    ) -> None:
        self.workbench = workbench
        self.rights = rights
        self._store = store
        self._key = key
        self._gate = gate
        self._shelf = shelf
        self._is_active = is_active
        self._clock = clock

    def run(
        self,
        skill: Skill,
        script: str,
        arguments: Sequence[str] = (),
        *,
        request: RunRequest,
        tool: str,
        asked_by: AskedBy,
        confirmation: Confirmation | None = None,
        listener: Listener = hear_nothing,
        progress: Progress = lambda _: None,
    ) -> RunResult:
        """Run a script of a skill, if that is allowed; what it may not do is told before anything of it has run."""
        self.check_enabled()
        with ExitStack() as stack:
            source, files, pin = self.hold(skill, stack, script=script)
            preparation = self.prepare(source, files, pin, request=request, progress=progress)
            prepared = preparation.script(self._shorten(source, script), arguments)
            consent = self.permit(source, files, _tell_input(prepared), tool=tool, confirmation=confirmation)
            command = (*prepared.command, f"{locate_inside(source)}/{prepared.wish.script}", *arguments)
            return self.carry_out(
                source,
                pin,
                prepared,
                command,
                request=request,
                consent=consent,
                asked_by=asked_by,
                listener=listener,
                progress=progress,
            )

    def question(
        self, skill: Skill, script: str, arguments: Sequence[str], *, request: RunRequest, tool: str
    ) -> Question | None:
        """Return what a person would be asked before this run; None if nobody would be."""
        with ExitStack() as stack:
            source, files, pin = self.hold(skill, stack, script=script)
            preparation = self.prepare(source, files, pin, request=request)
            prepared = preparation.script(self._shorten(source, script), arguments)
            return self.inquire(source, files, _tell_input(prepared), tool=tool)

    def _shorten(self, skill: Skill, script: str) -> str:
        """Return a script's path in its skill's folder, which may be named by where a run or the model sees that."""
        for folder in filter(None, (locate_inside(skill), self._shelf.locate(skill))):
            script = script.removeprefix(f"{folder}/")
        return script

    # What runs of scripts and of tools have in common

    def check_enabled(self) -> None:
        """Raise if scripts are switched off."""
        if not self.workbench.policy.enabled:
            raise Refused(
                "scripts of skills are not run here",
                hint="set execution.enabled = true in the settings",
                code="no-runs",
            )

    def take(self, skill: Skill, *, script: str = "") -> tuple[Skill, FileSet]:
        """Return a skill and its files as the session sees them now.

        Raise if nobody can agree to it, or somebody has said no: then nothing more is found out about it, nor told of
        it.
        """
        taken, files = self._shelf.take(skill)
        if not files.digest or self.is_refused(taken, files):
            self._gate.permit(taken, files, RunWish(script), tool="run", is_active=False, confirmation=None)
        return taken, files

    def hold(self, skill: Skill, stack: ExitStack, *, script: str = "") -> tuple[Skill, FileSet, Pin]:
        """Return a skill and its files as the session sees them, with a hold on that very version.

        What the skill asks for is what that version asks for, whatever the catalog has found since.
        """
        for _ in range(_ATTEMPTS):
            taken, files = self.take(skill, script=script)
            pin = stack.enter_context(self._shelf.pin(skill))
            manifest = read_manifest(skill, pin.folder, reading=self.workbench.reading)
            if pin.digest == files.digest and manifest is not None:
                return taken._replace(manifest=manifest), files, pin
        raise SkillChanged(f"skill '{skill.name}' keeps changing", hint="try again when it is settled")

    def prepare(
        self,
        skill: Skill,
        files: FileSet,
        pin: Pin,
        *,
        request: RunRequest,
        progress: Progress = lambda _: None,
    ) -> Preparation:
        """Return what finds out all that a run of a skill needs."""
        return Preparation(self.workbench, skill, files, pin.folder, request, self.rights, progress)

    def permit(
        self, skill: Skill, files: FileSet, wish: RunWish, *, tool: str, confirmation: Confirmation | None
    ) -> str:
        """Return why a run is allowed, or raise."""
        return self._gate.permit(
            skill, files, wish, tool=tool, is_active=self._is_active(skill, files), confirmation=confirmation
        )

    def inquire(self, skill: Skill, files: FileSet, wish: RunWish, *, tool: str) -> Question | None:
        """Return what a person would be asked before a run; None if nobody would be."""
        return self._gate.question(skill, files, wish, tool=tool, is_active=self._is_active(skill, files))

    def is_refused(self, skill: Skill, files: FileSet) -> bool:
        """Whether somebody has said no to the skill, or to running what it brings."""
        grant = self._store.find_grant(user=self._key.user, digest=files.digest, session=self._key.session, act=Act.RUN)
        return self._gate.denies(skill, files) or (grant is not None and grant.decision is Decision.REFUSE)

    def allows(self, skill: Skill, files: FileSet, wish: RunWish) -> bool:
        """Whether a run needs no question."""
        return self._gate.allows(skill, files, wish, is_active=self._is_active(skill, files))

    def carry_out(
        self,
        skill: Skill,
        pin: Pin,
        prepared: Prepared,
        command: Sequence[str],
        *,
        request: RunRequest,
        consent: str,
        asked_by: AskedBy,
        label: str = "",
        helper: Mount | None = None,
        listener: Listener = hear_nothing,
        progress: Progress = lambda _: None,
    ) -> RunResult:
        """Run a command that was allowed, and keep a receipt: from its beginning, so that none goes unseen."""
        receipt = self._draft(skill, pin, prepared, consent=consent, asked_by=asked_by, label=label)
        with ExitStack() as stack:
            packages = self._install(prepared, stack, progress)
            world = World(self.workbench.policy, self.workbench.workspace, pin.folder, packages, helper)
            job = make_job(skill, prepared, command, request, world=world)
            check_stopped()  # A person may have taken longer to agree than anybody wanted to wait.
            self._store.open_session(
                SessionRecord(receipt.user, receipt.session, receipt.agent, receipt.at, receipt.at)
            )
            self._store.record_run(receipt)
            try:
                ended = self._start(job, prepared, keep=self.workbench.output_folder(receipt.id), listener=listener)
            except BaseException:
                self._store.record_run(replace(receipt, ended_at=self._clock()))
                raise
        # What tools of a skill answer is no file for the user.
        left = [file for file in ended.outputs if helper is None or file.path != REPLY_FILE]
        receipt = _finish(receipt, ended, left, at=self._clock())
        self._store.record_run(receipt)
        self.workbench.tidy_outputs()
        return make_result(
            skill,
            ended,
            backend=prepared.sandbox.name,
            network=prepared.network,
            notices=prepared.notices,
            receipt=receipt,
        )

    def _start(self, job: Job, prepared: Prepared, *, keep: str, listener: Listener) -> Ended:
        try:
            return prepared.sandbox.run(job, keep=keep, listener=listener)
        except BrokenPipeError:
            raise  # Nobody listens any more, which is for the listener's owner to judge.
        except OSError as error:
            raise WorldError(f"the run failed: {error}", hint="see to what the message names, and try again") from error

    def _install(self, prepared: Prepared, stack: ExitStack, progress: Progress) -> str:
        """Return the folder with the packages of a run, which stays while it is needed; empty if there are none."""
        if prepared.lock is None:
            return ""
        from prowess.execution.packages.uv_command import find_uv

        environments = self.workbench.environments()
        stack.enter_context(environments.hold(prepared.lock))
        return environments.find(prepared.lock) or environments.install(prepared.lock, uv=find_uv(), progress=progress)

    def _draft(
        self, skill: Skill, pin: Pin, prepared: Prepared, *, consent: str, asked_by: AskedBy, label: str
    ) -> RunReceipt:
        arguments = shlex.join(prepared.wish.arguments)
        if prepared.secrets:
            from prowess.execution.secrecy.redaction import Redactor

            arguments = Redactor(prepared.secrets).redact_text(arguments)
        return RunReceipt(
            os.urandom(16).hex(),
            self._key.user,
            self._key.session,
            skill.id,
            skill.name,
            pin.digest,
            label or prepared.wish.script,
            keep_arguments(arguments),
            asked_by,
            agent=self._key.agent,
            consent=consent,
            backend=prepared.sandbox.name,
            powers=prepared.wish.powers,
            at=self._clock(),
        )


def _tell_input(prepared: Prepared) -> RunWish:
    """Return the wish of a script with what it is given, so that a person sees all that it would work on."""
    return replace(prepared.wish, input=prepared.input.decode()) if prepared.input is not None else prepared.wish


def _finish(receipt: RunReceipt, ended: Ended, left: Sequence[OutputFile], *, at: float) -> RunReceipt:
    return replace(
        receipt,
        ended_at=at,
        exit_status=ended.exit_status,
        timed_out=ended.timed_out,
        seconds=ended.seconds,
        stdout_bytes=ended.stdout.size_bytes,
        stderr_bytes=ended.stderr.size_bytes,
        output_files=len(left),
        output_bytes=sum(file.size_bytes for file in left),
    )
