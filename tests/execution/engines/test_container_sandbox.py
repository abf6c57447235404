"""What is particular to containers, on a real Docker and a real Podman: the contract of all sandboxes is elsewhere."""

import hashlib
import io
import json
import os
import secrets
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from prowess.containers.mounts import SHARED_SKILLS, Access, Mount, make_skills_mount
from prowess.errors import SettingsError, ToolInputError
from prowess.execution.engines.container_arguments import Shape
from prowess.execution.engines.container_commands import KINDS, EngineCommand, EngineFacts
from prowess.execution.engines.container_images import HostPrograms, find_mounts_below, make_programs_archive
from prowess.execution.engines.container_sandbox import ContainerSandbox, docker_sandbox, podman_sandbox
from prowess.execution.engines.job_containers import JobContainer, get_runs_folder
from prowess.execution.engines.leftovers import NAME_PREFIX, make_owner_labels
from prowess.execution.engines.run_guard import RunGuard
from prowess.execution.engines.spare_containers import SpareContainers
from prowess.execution.jobs import INPUT_FILE, SEARCH_PATH, Captured, Ended, Job
from prowess.execution.sandbox import NoSandbox, Probed
from prowess.policy import RunLimits
from tests.docker_engine import IMAGE as DOCKER_IMAGE
from tests.docker_engine import Docker, docker_engine
from tests.podman_engine import IMAGE as PODMAN_IMAGE
from tests.podman_engine import Podman, podman_engine

__all__ = ["docker_engine", "podman_engine"]

pytestmark = pytest.mark.slow

_SECONDS = 30.0
_ENVIRONMENT = {"PATH": SEARCH_PATH}


@dataclass(frozen=True, slots=True)
class Kit:
    """An engine, and how sandboxes of it are made."""

    name: str
    real: Docker | Podman
    program: tuple[str, ...]
    environment: Mapping[str, str]
    image: str

    def make(self, **options: Any) -> ContainerSandbox:
        make = docker_sandbox if self.name == "docker" else podman_sandbox
        given: dict[str, Any] = {"program": self.program, "environment": self.environment, **options}
        return make(**given)

    def list_runs(self) -> list[str]:
        """Return the names of all containers of runs that there are, whatever their state."""
        return self.real.run("ps", "--all", "--filter=label=prowess.run=1", "--format={{.Names}}").split()

    def inspect(self, name: str) -> dict[str, Any]:
        return json.loads(self.real.run("container", "inspect", name))[0]


@pytest.fixture(params=["docker", "podman"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """Each engine in turn; no test leaves a container or a folder of a run behind."""
    real: Docker | Podman = request.getfixturevalue(f"{request.param}_engine")
    program = ("docker",) if isinstance(real, Docker) else real.command
    image = DOCKER_IMAGE if isinstance(real, Docker) else PODMAN_IMAGE
    kit = Kit(request.param, real, program, real.environment, image)
    yield kit
    left = kit.list_runs(), _list_folders(os.getpid())
    real.remove_containers()
    assert left == ([], [])


@pytest.fixture
def sandbox(kit: Kit) -> Iterator[ContainerSandbox]:
    sandbox = kit.make()
    yield sandbox
    sandbox.close()


@pytest.fixture
def mark() -> str:
    """A word by which a script is found among all processes."""
    return secrets.token_hex(8)


@pytest.fixture
def keep(tmp_path: Path) -> str:
    return str(tmp_path / "kept")


def _list_folders(process: int) -> list[str]:
    return [name for name in os.listdir(get_runs_folder()) if name.startswith(f"{NAME_PREFIX}{process}-")]


def _shell(text: str, **options: Any) -> Job:
    given: dict[str, Any] = {"environment": _ENVIRONMENT, **options}
    return Job(("sh", "-c", text), **given)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _told(ended: Ended) -> tuple[int, bytes, bytes, bool, tuple[str, ...]]:
    return ended.exit_status, ended.stdout.content, ended.stderr.content, ended.timed_out, ended.notices


def test_job_has_its_environment_its_input_and_its_output_folder_and_nothing_else(
    sandbox: ContainerSandbox, keep: str
) -> None:
    # A shell of its own would add variables.
    job = Job(("env",), environment={**_ENVIRONMENT, "A": "1"})
    assert sorted(sandbox.run(job, keep=keep).stdout.content.splitlines()) == [b"A=1", f"PATH={SEARCH_PATH}".encode()]
    job = _shell(f"cat {INPUT_FILE}; cat; id -u; pwd; echo out >made; touch /x /usr/x /input/x; exit 7", input=b"{}\n")
    ended = sandbox.run(job, keep=keep)
    assert (ended.exit_status, ended.stdout) == (7, Captured(b"{}\n65534\n/output\n", 17))
    assert ended.stderr.content.count(b"Read-only file system") == 3
    assert [(file.path, Path(file.location).read_text()) for file in ended.outputs] == [("made", "out\n")]


def test_container_is_closed_and_bounded(kit: Kit, sandbox: ContainerSandbox, keep: str) -> None:
    seen: list[dict[str, Any]] = []
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, _shell("echo on; sleep 1.5"), keep=keep)
        _wait_for(lambda: bool(kit.list_runs()))
        seen.append(kit.inspect(kit.list_runs()[0]))
        assert running.result().exit_status == 0
    host, config = seen[0]["HostConfig"], seen[0]["Config"]
    assert seen[0]["Name"].strip("/").startswith(f"{NAME_PREFIX}{os.getpid()}-")
    assert {key: value for key, value in config["Labels"].items() if key.startswith("prowess")} == make_owner_labels()
    assert (config["User"], config["Hostname"], config["WorkingDir"]) == ("65534:65534", "sandbox", "/output")
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == ("none", True, False)
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (512 << 20, 512 << 20, 129)
    assert host["LogConfig"]["Type"] == "none"
    assert "no-new-privileges" in host["SecurityOpt"]
    ulimits = {limit["Name"].removeprefix("RLIMIT_").lower(): limit["Hard"] for limit in host["Ulimits"]}
    expected = {"nofile": 1024, "core": 0, "fsize": 64 << 20, "cpu": 121}
    assert {name: ulimits[name] for name in expected} == expected


@pytest.mark.parametrize("status", [1, 125, 126, 127, 137, 143])
def test_status_of_a_script_is_never_taken_for_one_of_the_engine(
    sandbox: ContainerSandbox, keep: str, status: int
) -> None:
    job = _shell(f"echo 'OCI runtime exec failed: docker: Error response from daemon' >&2; exit {status}")
    assert sandbox.run(job, keep=keep).exit_status == status


def test_command_that_is_not_there_is_the_scripts_own_failure(sandbox: ContainerSandbox, keep: str) -> None:
    ended = sandbox.run(Job(("nonesuch",), environment=_ENVIRONMENT), keep=keep)
    assert (ended.exit_status, b"nonesuch" in ended.stderr.content) == (127, True)


def test_job_that_closes_its_streams_ends_at_its_time_limit(sandbox: ContainerSandbox, keep: str) -> None:
    job = _shell("exec >&- 2>&-; sleep 1000", limits=RunLimits(timeout_seconds=1))
    assert _told(sandbox.run(job, keep=keep)) == (137, b"", b"", True, ("it was ended at its time limit",))


def test_processes_that_a_script_leaves_do_not_outlive_it(sandbox: ContainerSandbox, mark: str, keep: str) -> None:
    ended = sandbox.run(_shell(f"sh -c ': {mark}; sleep 1000; :' & exit 0"), keep=keep)
    assert (ended.exit_status, ended.seconds < 10) == (0, True)
    assert not _find_processes(mark)


def test_mount_below_a_writable_one_is_refused(sandbox: ContainerSandbox, tmp_path: Path, keep: str) -> None:
    mounts = (Mount(str(tmp_path), inside="/output/below"),)
    with pytest.raises(SettingsError) as refused:
        sandbox.run(_shell("true", mounts=mounts), keep=keep)
    assert refused.value.message == "mount '/output/below' lies below '/output', where links can be written"


def test_job_writes_a_workspace_as_its_owner_and_never_as_root(
    sandbox: ContainerSandbox, tmp_path: Path, keep: str
) -> None:
    mounts = (Mount(str(tmp_path), inside="/workspace", access=Access.READ_WRITE),)
    job = _shell("id -u; echo x >/workspace/made; echo y >/output/made", mounts=mounts)
    with pytest.raises(NoSandbox) as refused:
        sandbox.run(job, keep=keep)
    assert (refused.value.code, refused.value.message) == (
        "workspace-of-root",
        f"{tmp_path} belongs to root, and no script is run as root",
    )
    os.chown(tmp_path, 1234, 1235)
    ended = sandbox.run(job, keep=keep)
    assert (ended.exit_status, ended.stdout.content, [file.path for file in ended.outputs]) == (0, b"1234\n", ["made"])
    assert (tmp_path / "made").stat().st_uid == 1234


@pytest.mark.parametrize(
    "job",
    [
        _shell("true", environment={"A=B": "1"}),
        _shell("true", secrets={"A": "a\0b"}),
        Job(("a\0b",)),
        Job(("true", "x" * 131_072)),
        Job(("true", *["x" * 100_000] * 11)),
    ],
)
def test_what_no_program_can_be_given_is_refused(job: Job, keep: str) -> None:
    with pytest.raises(ToolInputError):
        docker_sandbox(("nonesuch",)).run(job, keep=keep)


# Secrets


def _find_processes(text: str) -> list[bytes]:
    """Return the command lines of all processes that hold a text, but for this one."""
    found: list[bytes] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            found += [line] if text.encode() in line else []
    return found


@pytest.mark.requirement("R97")
def test_secret_is_in_no_engine_on_no_command_line_and_on_no_disk(
    kit: Kit, sandbox: ContainerSandbox, mark: str, keep: str
) -> None:
    word = secrets.token_hex(8)
    value = word + "'\"$(id)`\\\n \tÁ…\x10\x11 end"
    digest = hashlib.sha256(value.encode()).hexdigest().encode()
    script = f': {mark}; printf %s "$TOKEN" | sha256sum; echo "$TOKEN" | head -c 11; sleep 2'
    job = _shell(script, secrets={"TOKEN": value})
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, job, keep=keep)
        _wait_for(lambda: bool(_find_processes(mark)))
        time.sleep(0.5)
        (name,) = kit.list_runs()
        told = json.dumps(kit.inspect(name))
        lines = _find_processes(word)
        folder = os.path.join(get_runs_folder(), name)
        files = [os.path.join(top, file) for top, _, found in os.walk(folder) for file in found]
        written = b"".join(Path(file).read_bytes() for file in files)
        ended = running.result()
    assert (word in told, lines, word.encode() in written, len(files)) == (False, [], False, 1)
    assert (ended.exit_status, ended.stdout.content.split()[0]) == (0, digest)


def test_every_byte_of_a_variable_and_an_argument_arrives(kit: Kit, keep: str) -> None:
    every = os.fsdecode(bytes(range(1, 256)) + b"\n\n")
    digest = hashlib.sha256(os.fsencode(every)).hexdigest()
    for options in ({}, {"image": kit.image}):
        sandbox = kit.make(**options)
        python = 'import hashlib, os, sys; print(hashlib.sha256(os.environb[b"A"]).hexdigest() + "  -"); '
        python += "print(hashlib.sha256(os.fsencode(sys.argv[1])).hexdigest() + '  -')"
        command = ("python3", "-c", python, every)
        if options:  # Busybox has no digests here, so it says the bytes.
            command = ("sh", "-c", "cat <<E\n$A$1\nE\n", "sh", every)
        ended = sandbox.run(Job(command, environment={**_ENVIRONMENT, "A": every}), keep=keep)
        expected = os.fsencode(every) * 2 + b"\n" if options else f"{digest}  -\n".encode() * 2
        assert (ended.exit_status, ended.stdout.content) == (0, expected)
        sandbox.close()


# Bounds


def test_job_that_uses_too_much_memory_is_said_to(sandbox: ContainerSandbox, keep: str) -> None:
    job = Job(("python3", "-c", "x = b'x' * (1 << 30)"), environment=_ENVIRONMENT)
    ended = sandbox.run(replace(job, limits=RunLimits(memory_bytes=64 << 20)), keep=keep)
    notice = "it was killed, probably for using more than 64 MiB of memory"
    assert (ended.exit_status, ended.notices) == (137, (notice,))


def test_job_is_told_when_it_reaches_bounds_of_one_process(sandbox: ContainerSandbox, keep: str) -> None:
    limits = RunLimits(cpu_seconds=1, file_bytes=1 << 20)
    ended = sandbox.run(_shell("exec sh -c 'while :; do :; done'", limits=limits), keep=keep)
    assert (ended.exit_status, ended.notices) == (
        152,
        ("it was ended for using more than 1 seconds of processor time",),
    )
    ended = sandbox.run(_shell("exec head -c 2000000 /dev/zero >/tmp/x", limits=limits), keep=keep)
    assert (ended.exit_status, ended.notices) == (
        153,
        ("it was ended for writing a file of more than 1,048,576 bytes",),
    )


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("while :; do head -c 1000000 /dev/zero >$((i=i+1)); done", "2,000,000 bytes"),
        ("while :; do : >$((i=i+1)); done", "50 files"),
        ("while :; do mkdir d && cd d; done; sleep 100", "50 files"),
    ],
)
def test_job_that_fills_its_output_folder_is_ended(
    sandbox: ContainerSandbox, keep: str, script: str, what: str
) -> None:
    limits = RunLimits(folder_bytes=2_000_000, output_files=50)
    ended = sandbox.run(_shell(script, limits=limits), keep=keep)
    assert (ended.exit_status, ended.timed_out) == (137, False)
    assert ended.notices[0] == f"it was ended for leaving more than {what} in its output folder"
    assert len(ended.outputs) <= 50
    assert sum(file.size_bytes for file in ended.outputs) <= 2_000_000


def test_folders_nested_without_end_go_with_the_run(sandbox: ContainerSandbox, keep: str) -> None:
    script = "import os\nfor _ in range(3000):\n os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
    ended = sandbox.run(Job(("python3", "-c", script), environment=_ENVIRONMENT), keep=keep)
    assert ended.outputs == ()
    assert ended.notices[-1].endswith(" lies too deep and was left behind")


@pytest.mark.requirement("R97")
def test_engine_that_sets_no_limit_is_refused(kit: Kit, tmp_path: Path, keep: str) -> None:
    wrapper = tmp_path / "engine"
    warning = "WARNING: Your kernel does not support memory limit capabilities. Limitation discarded."
    wrapper.write_text(f'#!/bin/sh\necho "{warning}" >&2\nexec "$@"\n')
    wrapper.chmod(0o755)
    sandbox = kit.make(program=(str(wrapper), *kit.program))
    with pytest.raises(NoSandbox) as refused:
        sandbox.run(_shell("true"), keep=keep)
    assert refused.value.message == f"{KINDS[kit.name].label} cannot bound a run: {warning}"
    sandbox.close()


# Engines and images that are not there


def test_missing_command_is_told_with_what_to_install() -> None:
    for sandbox, label, package in (
        (docker_sandbox(("nonesuch",)), "Docker", "docker.io"),
        (podman_sandbox(("nonesuch",)), "Podman", "podman"),
    ):
        hint = f"install {label} (Debian: apt-get install {package})"
        assert sandbox.probe() == Probed(works=False, detail="there is no command 'nonesuch'", hint=hint)
        sandbox.close()


@pytest.mark.parametrize(
    ("answer", "detail", "hint"),
    [
        ('{"Client": {"Version": "4.3.1"}}', "'{}' is not Docker but Podman here", "use podman"),
        ("hello", "'{}' does not answer as Docker does", ""),
    ],
)
def test_command_that_is_not_docker_is_told(tmp_path: Path, answer: str, detail: str, hint: str) -> None:
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    sandbox = docker_sandbox((str(program),))
    assert sandbox.probe() == Probed(works=False, detail=detail.format(program), hint=hint)
    sandbox.close()


@pytest.mark.parametrize(
    ("client", "components", "words", "rootless"),
    [
        ("24.0.7", "", ("bind-nonrecursive",), False),
        ("25.0.0", '{"Name": "Engine"}', ("bind-recursive=disabled",), False),
        ("29.1.0", '{"Name": "Engine"}, {"Name": "rootlesskit"}', ("bind-recursive=disabled",), True),
    ],
)
def test_words_for_mounts_follow_the_version_of_the_command(
    tmp_path: Path, client: str, components: str, words: tuple[str, ...], rootless: bool
) -> None:
    answer = f'{{"Client": {{"Version": "{client}"}}, "Server": {{"Version": "1", "Components": [{components}]}}}}'
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    command = EngineCommand(KINDS["docker"], (str(program),), None)
    assert command.facts() == EngineFacts("1", words, rootless=rootless)


def test_engine_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    sandbox = docker_sandbox(environment={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    probed = sandbox.probe()
    assert probed == Probed(
        works=False,
        detail="Docker cannot run a script: Cannot connect to the Docker daemon at "
        f"unix://{tmp_path}/none.sock. Is the docker daemon running?",
        hint="start the engine, or name another with DOCKER_HOST",
    )
    sandbox.close()


def test_engine_that_works_is_told_with_its_version(kit: Kit, sandbox: ContainerSandbox) -> None:
    probed = sandbox.probe()
    assert (probed.works, probed.hint) == (True, "")
    assert probed.detail.startswith(f"{KINDS[kit.name].label} ")


def test_missing_image_is_told_with_how_to_get_it(kit: Kit, keep: str) -> None:
    sandbox = kit.make(image="nonesuch:1")
    with pytest.raises(NoSandbox) as refused:
        sandbox.run(_shell("true"), keep=keep)
    told = refused.value.code, refused.value.message, refused.value.hint
    assert told == ("no-image", f"{KINDS[kit.name].label} has no image 'nonesuch:1'", f"{kit.name} pull nonesuch:1")
    assert sandbox.identity() == f"{kit.name} nonesuch:1 is not there"
    sandbox.close()


def test_image_without_a_shell_is_told(kit: Kit, keep: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("etc")
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(entry)
    kit.real.run("import", "-", "empty:1", text=buffer.getvalue())
    sandbox = kit.make(image="empty:1")
    with pytest.raises(NoSandbox) as refused:
        sandbox.run(_shell("true"), keep=keep)
    assert refused.value.message == "image 'empty:1' has no `sh`, which begins each run"
    sandbox.close()


def test_named_image_brings_its_programs_but_neither_its_environment_nor_its_volumes(kit: Kit, keep: str) -> None:
    name = kit.image.replace("test:", "settings:")
    changes = ("--change=ENV LEAK=1", "--change=VOLUME /data", '--change=ENTRYPOINT ["/bin/nonesuch"]')
    archive = kit.real.run
    container = archive("create", "--network=none", kit.image, "sh").split()[-1]
    archive("commit", *changes, container, name)
    archive("rm", container)
    sandbox = kit.make(image=name)
    ended = sandbox.run(_shell("export -p; touch /data/x; test -e /usr/bin/python3"), keep=keep)
    assert (ended.exit_status, b"LEAK" in ended.stdout.content) == (1, False)
    assert b"/data/x: Read-only file system" in ended.stderr.content
    sandbox.close()


def test_identity_changes_with_the_image(kit: Kit) -> None:
    name = kit.image.replace("test:", "changing:")
    identities: set[str] = set()
    for note in ("1", "2"):
        kit.real.import_image(name, note=note)
        sandbox = kit.make(image=name)
        identities |= {sandbox.identity(), sandbox.identity()}
        sandbox.close()
    assert len(identities) == 2


def test_identity_changes_with_the_programs_of_this_machine(kit: Kit, tmp_path: Path) -> None:
    sandbox = kit.make(programs=(str(tmp_path),))
    before = sandbox.identity()
    assert before == sandbox.identity()
    (tmp_path / "new-program").touch()
    assert before != sandbox.identity()


def test_programs_of_further_folders_are_seen_at_the_same_path(kit: Kit, tmp_path: Path, keep: str) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho tool\n")
    for path in (tmp_path, tmp_path / "tool"):
        path.chmod(0o755)
    sandbox = kit.make(programs=(str(tmp_path),))
    ended = sandbox.run(Job((f"{tmp_path}/tool",), environment=_ENVIRONMENT), keep=keep)
    assert _told(ended) == (0, b"tool\n", b"", False, ())
    sandbox.close()


def test_image_for_programs_is_the_same_each_time_and_made_again_when_somebody_removes_it(
    kit: Kit, sandbox: ContainerSandbox, keep: str
) -> None:
    assert make_programs_archive(5, 6) == make_programs_archive(5, 6)
    assert sandbox.run(_shell("true"), keep=keep).exit_status == 0
    name = HostPrograms(EngineCommand(KINDS[kit.name], kit.program, kit.environment), programs=()).get().name
    kit.real.run("image", "rm", "--force", name)
    assert sandbox.run(_shell("true"), keep=keep).exit_status == 0


def test_mounts_below_a_folder_are_found() -> None:
    assert "/proc/self" not in find_mounts_below(["/usr"])
    assert set(find_mounts_below(["/sys/fs"])) <= set(find_mounts_below(["/sys", "/sys/fs"]))
    assert all(place.startswith("/dev/") for place in find_mounts_below(["/dev"]))
    assert find_mounts_below(["/dev"])


def test_run_with_a_network_has_another_network_than_the_host(sandbox: ContainerSandbox, keep: str) -> None:
    ended = sandbox.run(_shell("readlink /proc/self/ns/net; ls /etc/ssl/certs | head -1", network=True), keep=keep)
    space, *certificates = ended.stdout.content.decode().split()
    assert (ended.exit_status, space != os.readlink("/proc/self/ns/net"), len(certificates)) == (0, True, 1)


# Failures in the middle


def test_engine_command_that_dies_in_the_middle_is_the_engines_failure(
    kit: Kit, sandbox: ContainerSandbox, mark: str, keep: str
) -> None:
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, _shell(f": {mark}; sleep 1000"), keep=keep)
        _wait_for(lambda: bool(_find_processes(mark)))
        (name,) = kit.list_runs()
        for entry in os.listdir("/proc"):
            if entry.isdigit() and _is_client(int(entry), name):
                os.kill(int(entry), signal.SIGKILL)
        with pytest.raises(NoSandbox) as failed:
            running.result()
    assert "has failed in the middle of a run" in failed.value.message
    assert kit.list_runs() == []


def _is_client(process: int, name: str) -> bool:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        line = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return int(fields[1]) == os.getpid() and f"--name={name}".encode() in line


def test_listener_that_fails_leaves_nothing_behind(sandbox: ContainerSandbox, keep: str) -> None:
    def fail(_stream: object, _content: bytes) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sandbox.run(_shell("echo x; sleep 1000"), keep=keep, listener=fail)


def test_several_runs_at_once_do_not_meet(kit: Kit, sandbox: ContainerSandbox, tmp_path: Path) -> None:
    def run(number: int) -> tuple[int, bytes, list[str]]:
        job = _shell(f"echo {number} | tee {number}; sleep 0.2; ls", input=str(number).encode())
        ended = sandbox.run(job, keep=str(tmp_path / str(number)))
        return ended.exit_status, ended.stdout.content, [file.path for file in ended.outputs]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(run, range(6)))
    assert found == [(0, f"{number}\n{number}\n".encode(), [str(number)]) for number in range(6)]


# What dead processes leave behind

_RUNNER = """
import json, os, sys
from prowess.execution.engines.container_sandbox import ContainerSandbox
from prowess.execution.jobs import Job
name, program, spares, mark = json.loads(sys.argv[1])
sandbox = ContainerSandbox(name, program, spares=spares)
job = Job(("sh", "-c", "echo begun; sleep 1000", mark), environment={"PATH": "/usr/bin:/bin"})
if spares:
    sandbox.run(Job(("true",), environment={"PATH": "/usr/bin:/bin"}), keep=sys.argv[2])
    sandbox.spares.settle()
    print("begun", flush=True)
sandbox.run(job, keep=sys.argv[2], listener=lambda stream, content: print(content.decode().strip(), flush=True))
"""


@pytest.mark.requirement("R97")
@pytest.mark.parametrize("spares", [False, True])
def test_nothing_is_left_of_a_process_that_is_killed(kit: Kit, mark: str, keep: str, spares: bool) -> None:
    arguments = json.dumps([kit.name, kit.program, spares, mark])
    process = subprocess.Popen(
        [sys.executable, "-c", _RUNNER, arguments, keep], env=dict(kit.environment), stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        assert (len(kit.list_runs()) >= 1, len(_list_folders(process.pid)) >= 1) == (True, True)
        process.kill()
    _wait_for(lambda: (kit.list_runs(), _list_folders(process.pid)) == ([], []))
    _wait_for(lambda: not _find_processes(mark))


def test_containers_of_dead_processes_are_removed_and_no_others(kit: Kit, keep: str) -> None:
    code = "import json; from prowess.execution.engines.leftovers import *; print(json.dumps(make_owner_labels()))"
    dead = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    alive = make_owner_labels()
    elsewhere = {**dead, "prowess.owner": "another-machine." + dead["prowess.owner"].partition(".")[2]}
    labels = {"1-" + "0" * 16: dead, "2-" + "0" * 16: alive, "3-" + "0" * 16: elsewhere, "odd": dead}
    names = [f"{NAME_PREFIX}{end}" for end in labels]
    for name, marks in zip(names, labels.values(), strict=True):
        options = [f"--label={key}={value}" for key, value in marks.items()]
        kit.real.run("run", "--detach", "--network=none", f"--name={name}", *options, kit.image, "sleep", "1000")
    folder = Path(get_runs_folder(), names[0])
    folder.mkdir()
    sandbox = kit.make()
    assert sandbox.run(_shell("true"), keep=keep).exit_status == 0
    _wait_for(lambda: names[0] not in kit.list_runs() and not folder.exists())
    sandbox.close()
    assert sorted(kit.list_runs()) == sorted(names[1:])
    kit.real.remove_containers()


# Spares


@pytest.fixture
def sparing(kit: Kit) -> Iterator[ContainerSandbox]:
    sandbox = kit.make(spares=True)
    yield sandbox
    sandbox.close()


def _settle(sandbox: ContainerSandbox) -> tuple[str, ...]:
    assert sandbox.spares is not None
    sandbox.spares.settle()
    return sandbox.spares.names


def test_spare_serves_one_run_and_is_gone_with_it(kit: Kit, sparing: ContainerSandbox, keep: str) -> None:
    job = _shell("ls -A /tmp /output /dev/shm; touch /tmp/x /output/x /dev/shm/x; cat /input/input.json; echo $1")
    empty = b"/dev/shm:\n\n/output:\n\n/tmp:\n"
    assert sparing.run(replace(job, input=b"0"), keep=f"{keep}0").stdout.content == empty + b"0\n"
    served: list[str] = []
    for number in range(1, 4):
        (name,) = _settle(sparing)
        served.append(name)
        assert kit.list_runs() == [name]
        ended = sparing.run(replace(job, input=str(number).encode()), keep=f"{keep}{number}")
        assert (ended.exit_status, ended.stdout.content) == (0, empty + f"{number}\n".encode())
        assert name not in kit.list_runs()
    assert len(set(served)) == 3
    _settle(sparing)
    sparing.close()
    assert kit.list_runs() == []


def test_spare_is_for_the_same_mounts_and_limits_only(
    kit: Kit, sparing: ContainerSandbox, tmp_path: Path, keep: str
) -> None:
    folder = tmp_path / "skills"
    folder.mkdir()
    job = _shell(f"ls {SHARED_SKILLS}", mounts=(make_skills_mount(str(folder)),))
    assert sparing.run(job, keep=keep).stdout.content == b""
    (first,) = _settle(sparing)
    sparing.run(replace(job, limits=RunLimits(processes=20)), keep=keep)
    both = _settle(sparing)
    assert (len(both), first in both) == (2, True)
    sparing.run(replace(job, mounts=()), keep=keep)
    assert (len(_settle(sparing)), first in _settle(sparing)) == (2, False)


def test_spare_that_shows_a_folder_which_was_replaced_is_not_used(
    sparing: ContainerSandbox, tmp_path: Path, keep: str
) -> None:
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / "old").touch()
    job = _shell(f"ls {SHARED_SKILLS}", mounts=(make_skills_mount(str(folder)),))
    assert sparing.run(job, keep=keep).stdout.content == b"old\n"
    assert len(_settle(sparing)) == 1
    folder.rename(tmp_path / "before")
    folder.mkdir()
    (folder / "new").touch()
    assert sparing.run(job, keep=keep).stdout.content == b"new\n"


def test_spare_that_somebody_has_removed_is_not_used(kit: Kit, sparing: ContainerSandbox, keep: str) -> None:
    sparing.run(_shell("true"), keep=keep)
    assert len(_settle(sparing)) == 1
    kit.real.remove_containers()
    time.sleep(0.5)
    assert sparing.run(_shell("echo x"), keep=keep).stdout.content == b"x\n"


def test_spare_that_waits_for_long_is_dropped(kit: Kit) -> None:
    command = EngineCommand(KINDS[kit.name], kit.program, kit.environment)
    remove = (*command.program, *command.kind.remove)
    guard = RunGuard(remove, folder=get_runs_folder(), environment=command.environment)
    programs = HostPrograms(command, programs=())
    shape = Shape(programs.get(), programs.list_mounts(network=False), "/output", network=False, limits=RunLimits())
    programs.supply(shape.image)
    spares = SpareContainers(lambda wanted: JobContainer(wanted, command, guard), idle_seconds=2.0)
    spares.prepare(shape)
    spares.settle()
    assert [*spares.names] == kit.list_runs() != []
    _wait_for(lambda: (spares.names, kit.list_runs()) == ((), []))
    assert spares.take(shape) is None
    spares.close()
    guard.close()


def test_fork_uses_no_spare_of_its_parent(kit: Kit, sparing: ContainerSandbox, keep: str) -> None:
    sparing.run(_shell("true"), keep=keep)
    names = _settle(sparing)
    assert len(names) == 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert sparing.spares is not None
            ended = sparing.run(_shell("true"), keep=keep)
            status = 0 if ended.exit_status == 0 and set(kit.list_runs()) >= set(names) else 2
            sparing.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _settle(sparing) == names
    assert set(kit.list_runs()) >= set(names)
