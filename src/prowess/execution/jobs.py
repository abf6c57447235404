"""A Job: one command for a sandbox, with all that it may see and use; and what came of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum

from prowess.containers.mounts import Mount
from prowess.policy import RunLimits

__all__ = [
    "INPUT_FILE",
    "INPUT_FOLDER",
    "OUTPUT_FOLDER",
    "PACKAGES_FOLDER",
    "SEARCH_PATH",
    "WORKSPACE_FOLDER",
    "Captured",
    "Ended",
    "Job",
    "Listener",
    "OutputFile",
    "Stream",
    "make_search_path",
]

OUTPUT_FOLDER = "/output"
"""The one folder, besides /tmp, where a run may write. The script knows it as PROWESS_OUTPUT."""
INPUT_FOLDER = "/input"
INPUT_FILE = f"{INPUT_FOLDER}/input.json"
"""What the caller gave the run as data. The script knows it as PROWESS_INPUT."""
WORKSPACE_FOLDER = "/workspace"
PACKAGES_FOLDER = "/packages"
"""The packages that a script declares."""
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"


def make_search_path(programs: Iterable[str], *, first: str = "") -> str:
    """Return where a run looks for programs: in the usual places, and in further folders and their `bin`."""
    further = [path for folder in programs for path in (f"{folder.rstrip('/')}/bin", folder)]
    return ":".join([*([first] if first else []), SEARCH_PATH, *further])


class Stream(StrEnum):
    """Which of its two streams a run has written to."""

    STDOUT = "stdout"
    STDERR = "stderr"


Listener = Callable[[Stream, bytes], None]
"""Hears what a run writes while it runs, secrets already taken out."""


@dataclass(frozen=True, slots=True)
class Job:
    """One command, and its world. What is not named here it cannot see."""

    command: tuple[str, ...]
    _: KW_ONLY
    work_folder: str = OUTPUT_FOLDER
    """Where it stands at the start, as a path inside."""
    mounts: tuple[Mount, ...] = ()
    """Folders of the host, besides the sandbox's own programs."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """All of its environment, but for the secrets."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further variables, whose values must be seen by nobody else."""
    input: bytes | None = field(default=None, repr=False)
    """What INPUT_FILE holds; None for no such file."""
    network: bool = False
    limits: RunLimits = field(default_factory=RunLimits)


@dataclass(frozen=True, slots=True)
class Captured:
    """What a stream held, as far as it was kept."""

    content: bytes = b""
    """The beginning and the end, with a notice between them where something was cut."""
    size_bytes: int = 0
    """Of all that was written."""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a run has left in its output folder."""

    path: str
    """Relative to that folder, and printable."""
    size_bytes: int
    sha256: str
    mime: str
    location: str
    """Where it is kept on the host."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a job."""

    exit_status: int
    """As shells tell it: 128 and the number of the signal for a process that one ended."""
    stdout: Captured
    stderr: Captured
    timed_out: bool
    seconds: float
    outputs: tuple[OutputFile, ...] = ()
    notices: tuple[str, ...] = ()
    """Bounds that it reached, and outputs that were left behind, a sentence each."""
