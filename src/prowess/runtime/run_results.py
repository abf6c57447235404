"""A run of a script as a caller asks for it, and what came of it."""

from dataclasses import dataclass, field
from typing import Any

from prowess.activation.receipts import RunReceipt
from prowess.execution.jobs import Ended, OutputFile
from prowess.policy import Backend, WorkspaceAccess
from prowess.skill.skill import Skill
from prowess.sources.source import show_path

__all__ = ["RunRequest", "RunResult", "make_result", "run_record"]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a caller wants of a run, besides the script and its arguments. What is not said is as in the settings."""

    input: Any = None
    """Anything that JSON can say; the script finds it in the file that PROWESS_INPUT names."""
    timeout_seconds: float | None = None
    """Instead of the settings' own limit; the tools of a model cannot ask for it."""
    backend: Backend | None = None
    network: bool = False
    """Asked for beyond what the skill itself asks for."""
    workspace: WorkspaceAccess | None = None
    """Never more than the settings allow."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run."""

    skill: Skill
    script: str
    exit_status: int
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    timed_out: bool
    seconds: float
    backend: str
    outputs: tuple[OutputFile, ...]
    network: bool
    notices: tuple[str, ...]
    """What a person or a model should know of the run: bounds that it reached, what it asked for and did not get."""
    receipt: RunReceipt = field(repr=False)

    @property
    def succeeded(self) -> bool:
        """Whether the script ended by itself, and says that all went well."""
        return self.exit_status == 0 and not self.timed_out


def make_result(
    skill: Skill,
    ended: Ended,
    *,
    backend: str,
    network: bool,
    notices: tuple[str, ...],
    receipt: RunReceipt,
) -> RunResult:
    """Return the result of a job that has ended."""
    return RunResult(
        skill,
        receipt.script,
        ended.exit_status,
        ended.stdout.content.decode("utf-8", "replace"),
        ended.stderr.content.decode("utf-8", "replace"),
        ended.stdout.truncated,
        ended.stderr.truncated,
        ended.timed_out,
        ended.seconds,
        backend,
        ended.outputs,
        network,
        (*notices, *ended.notices),
        receipt,
    )


def run_record(result: RunResult) -> dict[str, Any]:
    """Return a result as plain data, under the names of the contract; `network` and `notices` only if there are any."""
    record: dict[str, Any] = {
        "exit_status": result.exit_status,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "stdout_truncated": result.stdout_truncated,
        "stderr_truncated": result.stderr_truncated,
        "timed_out": result.timed_out,
        "seconds": round(result.seconds, 6),
        "backend": result.backend,
        "outputs": [
            {
                "path": file.path,
                "size": file.size_bytes,
                "sha256": file.sha256,
                "mime": file.mime,
                "location": show_path(file.location),
            }
            for file in result.outputs
        ],
    }
    if result.network:
        record["network"] = True
    return record | ({"notices": list(result.notices)} if result.notices else {})
