"""Containers of Docker and Podman as sandboxes, through their commands."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from prowess.errors import ProwessError
from prowess.execution.conclusions import KILLED, describe_bounds, make_redaction
from prowess.execution.draining import Drained, drain
from prowess.execution.engines.container_arguments import Shape, render_job
from prowess.execution.engines.container_commands import KINDS, EngineCommand
from prowess.execution.engines.container_images import HostPrograms, NamedImage
from prowess.execution.engines.job_containers import Exit, JobContainer, get_runs_folder, remove_folder
from prowess.execution.engines.leftovers import remove_leftovers
from prowess.execution.engines.run_guard import RunGuard, forget_in_forks
from prowess.execution.engines.spare_containers import SpareContainers
from prowess.execution.jobs import SEARCH_PATH, Ended, Job, Listener
from prowess.execution.outputs import collect_outputs, measure_folder
from prowess.execution.sandbox import NoSandbox, Probed, hear_nothing
from prowess.execution.stopping import stoppable
from prowess.policy import RunLimits

__all__ = ["ContainerSandbox", "docker_sandbox", "podman_sandbox"]

_TRIAL_SECONDS = 20
_END_SECONDS = 15.0
_LOOK_SECONDS = 0.1
_RENEW_SECONDS = 1.0
_LOG = logging.getLogger("prowess")


class ContainerSandbox:
    """Runs each job in a container of its own.

    `program` is the engine's command, with options that reach the engine meant; `environment` is for that command
    alone. `programs` are folders of the host, besides /usr, that hold interpreters.
    """

    def __init__(
        self,
        name: str,
        program: Sequence[str],
        *,
        image: str = "",
        programs: Sequence[str] = (),
        spares: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._command = command = EngineCommand(KINDS[name], program, environment)
        self._image = (
            NamedImage(command, image, programs=programs) if image else HostPrograms(command, programs=programs)
        )
        remove = (*command.program, *command.kind.remove)
        self._guard = RunGuard(remove, folder=get_runs_folder(), environment=command.environment)
        self.spares = SpareContainers(self._launch) if spares else None
        """Containers that wait for a job."""
        self._reaped = False
        self._lock = threading.Lock()
        forget_in_forks(self)

    def probe(self) -> Probed:
        """Run nothing much in a container as it would be for a script."""
        limits = RunLimits(timeout_seconds=_TRIAL_SECONDS)
        job = Job(("sh", "-c", ":"), environment={"PATH": SEARCH_PATH}, limits=limits)
        try:
            facts = self._command.facts()
            with stoppable(lambda: False):  # Who stops a call does not judge the sandbox.
                ended = self.run(job, keep="")
        except ProwessError as error:
            return Probed(works=False, detail=error.message, hint=error.hint)
        label = self._command.kind.label
        if ended.exit_status != 0:
            said = ended.stderr.content.decode("utf-8", "replace").strip()
            return Probed(works=False, detail=said or f"a trial of {label} ended with {ended.exit_status}")
        return Probed(
            works=True, detail=f"{label} {facts.version}, memory by control groups, with a filter of system calls"
        )

    def identity(self) -> str:
        """Return what changes when the image does, or a program of this machine is installed or removed."""
        return f"{self.name} {self._image.identity()}"

    def run(self, job: Job, *, keep: str, listener: Listener = hear_nothing) -> Ended:
        """Carry out a job in a container that is gone afterwards."""
        if os.name != "posix":
            raise NoSandbox("containers for scripts are not run from Windows", hint="run Prowess on Linux")
        render_job(job)  # What cannot be said is refused before anything is started.
        self._remove_leftovers_once()
        shape = self._choose_shape(job)
        container = (self.spares.take(shape) if self.spares else None) or self._launch(shape)
        try:
            return self._carry_out(job, container, keep=keep, listener=listener)
        finally:
            if not container.remove():
                _LOG.warning("container '%s' cannot be removed now; it will be when this process ends", container.name)
            if self.spares:
                self.spares.prepare(shape)

    def close(self) -> None:
        """Remove the containers that wait for a job, and end the guard."""
        if self.spares:
            self.spares.close()
        self._guard.close()

    def forget(self) -> None:
        """See `Forgetful`."""
        self._lock = threading.Lock()
        self._command.forget()
        self._image.forget()

    def _choose_shape(self, job: Job) -> Shape:
        mounts = (*self._image.list_mounts(network=job.network), *job.mounts)
        return Shape(self._image.get(), mounts, job.work_folder, job.network, job.limits)

    def _launch(self, shape: Shape) -> JobContainer:
        """Start a container; an image that can be made here is made if it is missing."""
        try:
            return JobContainer(shape, self._command, self._guard)
        except NoSandbox as error:
            if error.code != "no-image" or not self._image.supply(shape.image):
                raise
        return JobContainer(shape, self._command, self._guard)

    def _carry_out(self, job: Job, container: JobContainer, *, keep: str, listener: Listener) -> Ended:
        begun_at = time.monotonic()
        deadline = begun_at + job.limits.timeout_seconds
        filters, secrecy = make_redaction(job)
        container.begin(job)
        drained = drain(
            container.process,
            deadline=deadline,
            limit_bytes=job.limits.output_bytes,
            filters=filters,
            listener=listener,
            check=self._make_check(container, job.limits),
            end=container.end,
        )
        ended = self._settle(container, drained)
        seconds = time.monotonic() - begun_at
        outputs, left = collect_outputs(container.output, keep, limits=job.limits, secrecy=secrecy)
        notices = (*_describe_end(drained, ended, job.limits), *left)
        return Ended(ended.status, drained.stdout, drained.stderr, drained.timed_out, seconds, outputs, notices)

    def _settle(self, container: JobContainer, drained: Drained) -> Exit:
        """Return how the job has ended, all of it; raise if that is not so, or the engine has failed."""
        status = container.wait(_END_SECONDS)
        if drained.timed_out or drained.fault:
            if container.remove_container():
                return Exit(KILLED, out_of_memory=False)
            raise NoSandbox(f"{self._command.kind.label} could not end container '{container.name}'")
        if status == 0:
            return Exit(0, out_of_memory=False)
        ended = container.read_exit()
        if ended is None:
            said = drained.stderr.content.decode("utf-8", "replace").strip().splitlines() or ["it gave no reason"]
            raise NoSandbox(
                f"{self._command.kind.label} has failed in the middle of a run: {said[-1]}",
                hint="see whether the engine works, and run the script again",
            )
        return ended

    def _make_check(self, container: JobContainer, limits: RunLimits) -> Callable[[], str]:
        looked_at = renewed_at = time.monotonic()

        def check() -> str:
            nonlocal looked_at, renewed_at
            now = time.monotonic()
            if now - renewed_at >= _RENEW_SECONDS:
                renewed_at = now
                self._guard.renew()
            if now - looked_at < _LOOK_SECONDS:
                return ""
            files, size_bytes = measure_folder(container.output)
            looked_at = time.monotonic()
            if size_bytes > limits.folder_bytes:
                return f"it was ended for leaving more than {limits.folder_bytes:,} bytes in its output folder"
            if files > limits.output_files:
                return f"it was ended for leaving more than {limits.output_files:,} files in its output folder"
            return ""

        return check

    def _remove_leftovers_once(self) -> None:
        with self._lock:
            if self._reaped:
                return
            self._reaped = True
        threading.Thread(target=self._remove_leftovers, name="prowess-leftovers", daemon=True).start()

    def _remove_leftovers(self) -> None:
        try:
            for name in remove_leftovers(self._command):
                remove_folder(os.path.join(get_runs_folder(), name))
        except NoSandbox:
            return  # Who wants to run something is told so.
        except ProwessError as error:
            _LOG.warning("containers that were left behind cannot be removed: %s", error.message)


def docker_sandbox(
    program: Sequence[str] = ("docker",),
    *,
    image: str = "",
    programs: Sequence[str] = (),
    spares: bool = False,
    environment: Mapping[str, str] | None = None,
) -> ContainerSandbox:
    """Return a sandbox of the Docker engine that its command reaches."""
    return ContainerSandbox("docker", program, image=image, programs=programs, spares=spares, environment=environment)


def podman_sandbox(
    program: Sequence[str] = ("podman",),
    *,
    image: str = "",
    programs: Sequence[str] = (),
    spares: bool = False,
    environment: Mapping[str, str] | None = None,
) -> ContainerSandbox:
    """Return a sandbox of Podman, which needs no service."""
    return ContainerSandbox("podman", program, image=image, programs=programs, spares=spares, environment=environment)


def _describe_end(drained: Drained, ended: Exit, limits: RunLimits) -> tuple[str, ...]:
    """Return which bound ended a job. Engines do not always know of a kill whether memory was the reason."""
    told = describe_bounds(drained, ended.status, limits)
    if told or not (ended.out_of_memory or ended.status == KILLED):
        return told
    return (f"it was killed, probably for using more than {limits.memory_bytes >> 20} MiB of memory",)
