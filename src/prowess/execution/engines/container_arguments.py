"""How a container that waits for a job is said to an engine, and the job to the container.

Its first program is a shell that waits. Environment, secrets and command come through its standard input, so that they
are in no engine's state, on no command line and on no disk.
"""

import os
import re
import shlex
from dataclasses import dataclass

from prowess.containers.arguments import render_options
from prowess.containers.mounts import Access, Mount
from prowess.containers.spec import ContainerSpec, check_places
from prowess.errors import ToolInputError
from prowess.execution.engines.container_commands import EngineCommand
from prowess.execution.engines.container_images import Image
from prowess.execution.engines.leftovers import make_owner_labels
from prowess.execution.host_world import MAX_OPEN_FILES, find_owner
from prowess.execution.jobs import INPUT_FOLDER, OUTPUT_FOLDER, SEARCH_PATH, Job
from prowess.policy import RunLimits

__all__ = ["RunFolder", "Shape", "choose_user", "render_container", "render_job"]

_MAX_TEXT_BYTES = (1 << 17) - 1
"""Of one argument, and of one variable with its name: Linux starts no program with more."""
_MAX_TEXTS_BYTES = 1 << 20
_NOBODY = 65_534
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# All of the environment that the image and the engine gave goes first. Only words that the shell itself knows are used,
# since an image may have no program besides. A text without its last line, the token, is never carried out.
_WAIT_FOR_JOB = f"""
set -f
IFS='
'
for line in $(export -p); do
  name=${{line#export }}
  name=${{name#declare -x }}
  name=${{name%%=*}}
  case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) ;; *) unset "$name" ;; esac
done
echo "$1"
echo "$1" >&2
text=
while :; do
  IFS= read -r line || exit 1
  [ "$line" = "$1" ] && break
  text="$text$line
"
done
unset IFS
set +f
PATH={SEARCH_PATH}
eval "$text"
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """All that a container is made with. Before their jobs, containers of one shape are all the same."""

    image: Image
    mounts: tuple[Mount, ...]
    work_folder: str
    network: bool
    limits: RunLimits


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run, on the host and open to this user alone."""

    path: str

    @property
    def output(self) -> str:
        return os.path.join(self.path, "output")

    @property
    def input(self) -> str:
        return os.path.join(self.path, "input")

    @property
    def profile(self) -> str:
        """The system calls that are refused."""
        return os.path.join(self.path, "seccomp.json")


def render_container(
    shape: Shape, command: EngineCommand, *, name: str, folder: RunFolder, user: tuple[int, int], token: str
) -> list[str]:
    """Return the arguments that start a container, which says the token on both streams and waits for a job."""
    limits, kind, facts = shape.limits, command.kind, command.facts()
    mounts = (
        *shape.mounts,
        Mount(folder.output, inside=OUTPUT_FOLDER, access=Access.READ_WRITE),
        Mount(folder.input, inside=INPUT_FOLDER),
    )
    check_places(mounts)
    spec = ContainerSpec(
        name,
        image=shape.image.name,
        mounts=mounts,
        labels=make_owner_labels(),
        user="0:0" if facts.rootless else f"{user[0]}:{user[1]}",
        work_folder=shape.work_folder,
        network=kind.network if shape.network else "none",
        root_access=Access.READ_ONLY,
        security_options=("no-new-privileges", f"seccomp={folder.profile}"),
        pids_limit=limits.processes + 1,  # The container's init is one of them.
        memory_bytes=limits.memory_bytes,
    )
    return [
        *("run", "--interactive", "--pull=never", "--log-driver=none", "--no-healthcheck", "--entrypoint=sh"),
        *render_options(spec, mount_words=facts.mount_words),
        *("--hostname=sandbox", "--ipc=private", f"--shm-size={limits.scratch_bytes}"),
        f"--tmpfs=/tmp:rw,exec,size={limits.scratch_bytes},mode=1777,nosuid,nodev",
        *(f"--tmpfs={volume}:ro,size=4096" for volume in shape.image.volumes),
        *(f"--ulimit={bound}" for bound in (*_list_ulimits(limits), *command.list_own_ulimits())),
        *(kind.options if os.getuid() == 0 else (*kind.options, *kind.options_of_a_user)),
        *(shape.image.name, "-c", _WAIT_FOR_JOB, "sh", token),
    ]


def render_job(job: Job) -> bytes:
    """Return what makes the waiting shell become the job; raise `ToolInputError` if no program can be given that."""
    variables = {**job.environment, **job.secrets}
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            raise _bad_arguments(f"no variable can be named '{name}'", hint="use A-Z, 0-9 and '_'")
    texts = [os.fsencode(text) for text in (*(f"{name}={value}" for name, value in variables.items()), *job.command)]
    if any(b"\0" in text for text in texts):
        raise _bad_arguments("the arguments cannot be passed on: embedded null byte")
    if max(map(len, texts)) > _MAX_TEXT_BYTES or sum(map(len, texts)) > _MAX_TEXTS_BYTES:
        raise _bad_arguments("the arguments are too long for a program", hint="give long data as input")
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += ["set -- " + " ".join(map(shlex.quote, job.command)), 'exec "$@" </dev/null']
    return os.fsencode("\n".join(lines) + "\n")


def _bad_arguments(message: str, *, hint: str = "") -> ToolInputError:
    return ToolInputError(message, hint=hint, code="bad-arguments")


def choose_user(mounts: tuple[Mount, ...], command: EngineCommand) -> tuple[int, int]:
    """Return as whom a job is run: never as root, and as the owner of what it may write."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    return find_owner(mounts, may_be_root=lambda: command.facts().rootless) or (_NOBODY, _NOBODY)


def _list_ulimits(limits: RunLimits) -> tuple[str, ...]:
    """Return the bounds of each process. One second lies between a signal that tells why, and the end."""
    files = limits.file_bytes
    return (
        f"nofile={MAX_OPEN_FILES}:{MAX_OPEN_FILES}",
        "core=0:0",
        f"fsize={files}:{files}",
        f"cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
    )
