"""How mounts and containers are said to a command: Docker, Podman and bubblewrap."""

import os
import re
from collections.abc import Mapping, Sequence

from prowess.containers.mounts import Access, Mount, by_depth
from prowess.containers.spec import ContainerSpec, check_mounts, check_places
from prowess.errors import SettingsError

__all__ = [
    "render_binds",
    "render_bubblewrap",
    "render_docker_mounts",
    "render_docker_run",
    "render_options",
    "render_podman_create",
    "render_podman_mounts",
    "render_podman_run",
    "render_scratch",
]

_NEEDS_QUOTES = re.compile(r'[,"\n]')
_NO_NESTED = "bind-nonrecursive"
"""Podman would leave file systems that are mounted below a read-only folder writable: they are not shown at all.

Docker's command has had two words for this and takes the other one from version 29 on, so its list has none; an engine
from version 25 on makes nested file systems read-only by itself, and `DockerEngine` asks every engine not to show them.
"""


def render_binds(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Return the mounts as Docker's API and `-v` take them: `<host>:<inside>`, with `:ro` where that is so."""
    check_mounts(mounts)
    return tuple(_bind(mount) for mount in by_depth(mounts))


def render_docker_mounts(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Return the options of `docker run` that show the mounts, for a container that somebody else describes."""
    check_mounts(mounts)
    return tuple(f"--mount={_mount_option(mount, ())}" for mount in by_depth(mounts))


def render_podman_mounts(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Return the options of `podman run` that show the mounts, for a container that somebody else describes."""
    check_mounts(mounts)
    return tuple(f"--mount={_mount_option(mount, (_NO_NESTED,))}" for mount in by_depth(mounts))


def render_docker_run(spec: ContainerSpec, *, program: Sequence[str] = ("docker",)) -> tuple[str, ...]:
    """Return the command that starts the container in the background."""
    return (*program, "run", "--detach", *render_options(spec), spec.image, *spec.command)


def render_podman_run(spec: ContainerSpec, *, program: Sequence[str] = ("podman",)) -> tuple[str, ...]:
    """Return the command that starts the container in the background."""
    options = render_options(spec, mount_words=(_NO_NESTED,))
    return (*program, "run", "--detach", *options, spec.image, *spec.command)


def render_podman_create(
    spec: ContainerSpec, *, labels: Mapping[str, str], program: Sequence[str] = ("podman",)
) -> tuple[str, ...]:
    """Return the command that makes the container from an image that is there, with further labels."""
    marks = tuple(f"--label={key}={value}" for key, value in labels.items())
    options = render_options(spec, mount_words=(_NO_NESTED,))
    return (*program, "create", "--pull=never", *options, *marks, spec.image, *spec.command)


def render_bubblewrap(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Return the arguments that show the mounts to a process; bubblewrap makes nested file systems read-only too."""
    check_mounts(mounts)
    check_places(mounts)
    ordered = by_depth(mounts)
    words = {Access.READ_ONLY: "--ro-bind", Access.READ_WRITE: "--bind"}
    return tuple(part for mount in ordered for part in (words[mount.access], mount.host, mount.inside))


def render_options(spec: ContainerSpec, *, mount_words: Sequence[str] = ()) -> tuple[str, ...]:
    """Return all of the container but its image and command, in the words that Docker and Podman share."""
    options = [f"--name={spec.name}", f"--network={spec.network}"]
    options += ["--init"] if spec.process_one == "init" else []
    options += ["--read-only"] if spec.root_access is Access.READ_ONLY else []
    options += [f"--tmpfs={folder}:{text}" for folder, text in render_scratch(spec).items()]
    options += [f"--cap-drop={name}" for name in spec.dropped_capabilities]
    options += [f"--cap-add={name}" for name in spec.added_capabilities]
    options += [f"--security-opt={text}" for text in spec.security_options]
    options += [
        f"--pids-limit={spec.pids_limit}",
        f"--memory={spec.memory_bytes}",
        f"--memory-swap={spec.memory_bytes}",
    ]
    options += [f"--cpus={spec.cpus}"] if spec.cpus else []
    options += [f"--stop-timeout={spec.stop_seconds}"]
    options += [f"--user={spec.user}"] if spec.user else []
    options += [f"--workdir={spec.work_folder}"] if spec.work_folder else []
    options += [f"--env={name}={value}" for name, value in sorted(spec.environment.items())]
    options += [f"--label={name}={value}" for name, value in sorted(spec.labels.items())]
    options += [f"--mount={_mount_option(mount, mount_words)}" for mount in spec.mounts]
    return tuple(options)


def render_scratch(spec: ContainerSpec) -> dict[str, str]:
    """Return the options of each folder in memory."""
    return dict.fromkeys(spec.scratch, f"rw,size={spec.scratch_bytes},mode=1777,noexec,nosuid,nodev")


def _bind(mount: Mount) -> str:
    drive, path = os.path.splitdrive(mount.host)
    if ":" in path or ":" in mount.inside:
        raise SettingsError(
            f"a bind cannot name '{mount.host}' at '{mount.inside}': ':' separates its parts",
            hint="use the argument list, or a path without ':'",
            code="bad-mount",
        )
    return f"{drive}{path}:{mount.inside}" + (":ro" if mount.access is Access.READ_ONLY else "")


def _mount_option(mount: Mount, words: Sequence[str]) -> str:
    """Return a mount as a row of comma-separated values; it stands for every path, unlike `-v`."""
    if "\r" in mount.host + mount.inside:
        raise SettingsError(
            f"a command cannot name {mount.host!r}: engines read a carriage return as the end of a line",
            hint="rename the folder",
            code="bad-mount",
        )
    fields = ["type=bind", f"source={mount.host}", f"target={mount.inside}"]
    if mount.access is Access.READ_ONLY:
        fields += ["readonly", *words]
    return ",".join(map(_quote, fields))


def _quote(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if _NEEDS_QUOTES.search(value) else value
