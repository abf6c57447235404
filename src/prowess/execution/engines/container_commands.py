"""The commands of Docker and Podman: where the two differ, how they are asked, and what their failures mean."""

import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from prowess.execution.sandbox import NoSandbox

__all__ = ["KINDS", "Answer", "EngineCommand", "EngineFacts", "EngineKind", "explain_failure", "says"]

_ASK_SECONDS = 60.0
_MAX_REASON = 2_000
_MAX_PROCESSES_OF_A_USER = 4_096
"""Of all runs together: engines would ask for more than some kernels let them."""
_NO_ENGINE = (
    "cannot connect to the docker daemon",
    "error during connect",
    "connection refused",
    "is the docker daemon",
)
_NOT_ALLOWED = ("permission denied while trying to connect", "dial unix")
_NO_IMAGE = ("no such image", "image not known", "unable to find image", "failed to find image")
_NO_INIT = ("docker-init", "catatonit", "container-init binary not found")
_NO_SHELL = ('exec: "sh"', "executable file `sh` not found", "exec sh failed", "failed to exec pid1")
"""Of an engine, and of the programs that are process one of a container."""
_NO_FOLDER = ("bind source path does not exist", "statfs ")


@dataclass(frozen=True, slots=True)
class EngineKind:
    """What differs between the two engines."""

    label: str
    _: KW_ONLY
    package: str
    """Debian's."""
    images: str
    """Stands before the names of images that are made here."""
    network: str
    """The network of a run that may use one: the engine's own choice."""
    options: tuple[str, ...]
    """For every run."""
    remove: tuple[str, ...]
    options_of_a_user: tuple[str, ...] = ()
    """For a caller who is not root: files that a run makes shall be the caller's."""
    ulimits: tuple[str, ...] = ()
    """Those that one engine alone needs to be told."""


KINDS = {
    "docker": EngineKind(
        "Docker",
        package="docker.io",
        images="",
        network="bridge",
        options=(),
        remove=("rm", "--force", "--volumes"),
    ),
    "podman": EngineKind(
        "Podman",
        package="podman",
        images="localhost/",
        network="private",
        # Podman makes further folders writable, passes on the host's proxies, and leaves a container to itself when two
        # certain characters come through standard input.
        options=("--read-only-tmpfs=false", "--http-proxy=false", "--detach-keys="),
        remove=("rm", "--force", "--volumes", "--time=0"),
        options_of_a_user=("--userns=keep-id",),
        ulimits=("nproc",),
    ),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has said."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What is asked of an engine once."""

    version: str
    mount_words: tuple[str, ...]
    """Say that a mount shows no file systems mounted below it; Docker's command has changed the words for it."""
    rootless: bool
    """Whether the engine itself runs as the caller, who is root in its containers then."""


class EngineCommand:
    """The command of an engine, with the options and the environment that reach the engine meant. Thread-safe."""

    def __init__(self, kind: EngineKind, program: Sequence[str], environment: Mapping[str, str] | None) -> None:
        self.kind = kind
        self.program = tuple(program)
        self._environment = environment
        self._facts: EngineFacts | None = None
        self._lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        """Of the command; a container sees nothing of it."""
        return dict(os.environ if self._environment is None else self._environment)

    def ask(self, *arguments: str, text: bytes = b"", timeout_seconds: float = _ASK_SECONDS) -> Answer:
        """Run the command to its end; raise `NoSandbox` only if there is no such command, or it hangs."""
        try:
            done = subprocess.run(
                [*self.program, *arguments],
                env=self.environment,
                input=text,
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise NoSandbox(
                f"{self.kind.label} has not answered `{arguments[0]}` for {timeout_seconds:g} seconds",
                hint=f"see whether the engine works: `{self.program[-1]} info`",
            ) from error
        except OSError as error:
            raise self.no_command(error) from error
        return Answer(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def start(self, *arguments: str, folder: str) -> subprocess.Popen[bytes]:
        """Start the command with pipes to all of its streams, apart from the terminal and its signals.

        It stands in `folder`: Podman's monitor leaves a file wherever it was started when memory runs out.
        """
        try:
            return subprocess.Popen(
                [*self.program, *arguments],
                env=self.environment,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise self.no_command(error) from error

    def no_command(self, error: OSError) -> NoSandbox:
        """Return why the command cannot be started."""
        shown = f"there is no command '{self.program[0]}'"
        message = shown if isinstance(error, FileNotFoundError) else f"'{self.program[0]}' cannot be started: {error}"
        return NoSandbox(message, hint=f"install {self.kind.label} (Debian: apt-get install {self.kind.package})")

    def facts(self) -> EngineFacts:
        """Return what the engine is, asked once; raise if it cannot be reached."""
        with self._lock:
            if self._facts is None:
                self._facts = self._read_facts()
            return self._facts

    def forget(self) -> None:
        """See `Forgetful`."""
        self._lock = threading.Lock()

    def _read_facts(self) -> EngineFacts:
        import json

        answer = self.ask("version", "--format={{json .}}")
        if answer.status != 0:
            raise explain_failure(self, answer.stderr)
        try:
            return self._parse_facts(json.loads(answer.stdout))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoSandbox(f"'{self.program[0]}' does not answer as {self.kind.label} does") from error

    def _parse_facts(self, told: Mapping[str, Any]) -> EngineFacts:
        if self.kind is KINDS["podman"]:
            return EngineFacts(str(told["Client"]["Version"]), ("bind-nonrecursive",), rootless=False)
        server = told.get("Server")
        if server is None:  # Some machines have a command `docker` that is Podman, which would bound less.
            raise NoSandbox(f"'{self.program[0]}' is not Docker but Podman here", hint="use podman")
        major = re.match(r"\d+", str(told["Client"]["Version"]))
        word = "bind-nonrecursive" if major and int(major[0]) < 25 else "bind-recursive=disabled"
        rootless = any(part.get("Name") == "rootlesskit" for part in server.get("Components") or ())
        return EngineFacts(str(server["Version"]), (word,), rootless=rootless)

    def list_own_ulimits(self) -> tuple[str, ...]:
        """Return the limits that this engine alone needs to be told."""
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        bound = _MAX_PROCESSES_OF_A_USER if most == resource.RLIM_INFINITY else min(most, _MAX_PROCESSES_OF_A_USER)
        return tuple(f"{name}={bound}:{bound}" for name in self.kind.ulimits)


def explain_failure(command: EngineCommand, said: str, *, image: str = "") -> NoSandbox:
    """Return a failure of the engine's own, with its reason and what to do."""
    reason = _find_reason(said)
    kind = command.kind
    if image and says(said, _NO_IMAGE):
        hint = f"{kind.label.casefold()} pull {image}"
        return NoSandbox(f"{kind.label} has no image '{image}'", hint=hint, code="no-image")
    if image and says(said, _NO_SHELL):
        return NoSandbox(f"image '{image}' has no `sh`, which begins each run", hint="use an image that has it")
    return NoSandbox(f"{kind.label} cannot run a script: {reason}", hint=_find_hint(kind, said))


def says(text: str, phrases: Sequence[str]) -> bool:
    """Whether a message holds one of these phrases."""
    folded = text.casefold()
    return any(phrase in folded for phrase in phrases)


def _find_hint(kind: EngineKind, said: str) -> str:
    if says(said, _NOT_ALLOWED[:1]):
        return "join the group of the engine's socket (Debian: adduser YOU docker), or use podman"
    if says(said, _NO_ENGINE) or says(said, _NOT_ALLOWED):
        return "start the engine, or name another with DOCKER_HOST"
    if says(said, _NO_INIT):
        return f"install an init for containers (Debian: apt-get install {'tini' if not kind.images else 'catatonit'})"
    if says(said, _NO_FOLDER):
        return "the engine must see the folders of this machine"
    return "`prowess doctor` tries all sandboxes"


def _find_reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(("Run '", "See '"))]
    reason = " ".join(lines)
    for prefix in ("docker: ", "Error: ", "Error response from daemon: "):
        reason = reason.removeprefix(prefix)
    return reason[:_MAX_REASON].rstrip(".") or "it ended without a word"
