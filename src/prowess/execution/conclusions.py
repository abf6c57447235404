"""What sandboxes have in common around a job: its secrets taken out of what it writes, and its end put into words."""

from collections.abc import Callable

from prowess.execution.draining import Drained, Filter
from prowess.execution.jobs import Job, Stream
from prowess.policy import RunLimits

__all__ = ["KILLED", "describe_bounds", "describe_memory", "describe_processes", "make_redaction"]

KILLED, _TOO_LONG, _TOO_LARGE_FILE = 137, 152, 153
"""Exit statuses of processes that a signal ended: SIGKILL, SIGXCPU, SIGXFSZ."""


def make_redaction(job: Job) -> tuple[dict[Stream, Filter], Callable[[bytes], tuple[str, ...]] | None]:
    """Return what takes a job's secrets out of its streams, and what finds them in its files."""
    if not job.secrets:
        return {}, None
    from prowess.execution.secrecy.redaction import Redactor

    redactor = Redactor(job.secrets)
    return {stream: redactor.stream() for stream in Stream}, redactor.found


def describe_memory(limits: RunLimits) -> str:
    """Say that the memory of a run was not enough for it."""
    return f"it was ended for using more than {limits.memory_bytes >> 20} MiB of memory"


def describe_processes(limits: RunLimits) -> str:
    """Say that a run wanted more processes than it may have."""
    return f"it tried to start more than {limits.processes:,} processes and threads"


def describe_bounds(drained: Drained, status: int, limits: RunLimits) -> tuple[str, ...]:
    """Return which bound ended a job, if that can be told from how it ended."""
    if drained.timed_out:
        return ("it was ended at its time limit",)
    if drained.fault:
        return (drained.fault,)
    if status == _TOO_LONG:
        return (f"it was ended for using more than {limits.cpu_seconds:,} seconds of processor time",)
    if status == _TOO_LARGE_FILE:
        return (f"it was ended for writing a file of more than {limits.file_bytes:,} bytes",)
    return ()
