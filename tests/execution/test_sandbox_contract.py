"""What every sandbox promises, tried on each of the real ones."""

import os
import signal
import socket
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

from prowess.containers.mounts import Access, Mount
from prowess.execution.jobs import Captured, Stream
from prowess.policy import RunLimits
from tests.copies.parts import public_folder
from tests.execution.sandboxes import Place, find_processes, wait_until

pytestmark = pytest.mark.slow

_MIB = 1024 * 1024


def _skill(folder: Path, **files: str) -> Mount:
    """Return a skill's folder as a run sees it; but for that, everybody might write in it."""
    skill = folder / "skill"
    (skill / "scripts").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (skill / "scripts" / f"{name}.sh").write_text(text, "utf-8")
        os.chmod(skill / "scripts" / f"{name}.sh", 0o666)
    os.chmod(folder, 0o755)
    for path in (skill, skill / "scripts"):
        os.chmod(path, 0o777)
    return Mount(str(skill), inside="/shared/skills/project--pdf")


# How it ends


@pytest.mark.requirement("R96", "R97")
def test_success_brings_both_streams_and_the_time(place: Place) -> None:
    ended = place.run("sh", "-c", "echo out; echo err >&2")
    assert (ended.exit_status, ended.timed_out, ended.notices, ended.outputs) == (0, False, (), ())
    assert (ended.stdout, ended.stderr) == (Captured(b"out\n", 4), Captured(b"err\n", 4))
    assert 0 < ended.seconds < 30


@pytest.mark.parametrize(
    ("command", "status"), [("exit 3", 3), ("exit 126", 126), ("exit 127", 127), ("kill -9 $$", 137)]
)
def test_other_ends_are_told_as_they_are(place: Place, command: str, status: int) -> None:
    ended = place.run("sh", "-c", command)
    assert (ended.exit_status, ended.timed_out) == (status, False)


def test_arguments_arrive_byte_for_byte(place: Place) -> None:
    words = ["", " ", "a b", "'", '"', "$(id)", "`id`", "\n", "ü", "--", "-x", "\\"]
    ended = place.python("import sys; sys.stdout.write('|'.join(sys.argv[1:]))", *words)
    assert ended.stdout.content.decode() == "|".join(words)


def test_input_is_a_file_that_can_be_read_and_not_written(place: Place) -> None:
    code = "print(open('/input/input.json').read()); open('/input/input.json', 'w')"
    ended = place.python(code, given=b'{"a": [1, 2]}')
    assert (ended.exit_status, ended.stdout.content) == (1, b'{"a": [1, 2]}\n')
    assert b"Read-only file system" in ended.stderr.content or b"Permission denied" in ended.stderr.content


def test_standard_input_is_at_its_end(place: Place) -> None:
    assert place.run("cat").exit_status == 0
    assert place.run("cat", secrets={"TOKEN": "s3cret-value"}).stdout.content == b""


# Time


_ESCAPES = {
    "session": "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)",
    "double fork": (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()\ntime.sleep(600)"
    ),
    "deaf to signals": (
        "import signal, time\n"
        "for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
        "while True: time.sleep(600)"
    ),
    "streams closed": "import os, time; os.close(1); os.close(2); time.sleep(600)",
}


@pytest.mark.requirement("R96", "K2")
@pytest.mark.parametrize("code", _ESCAPES.values(), ids=_ESCAPES)
def test_nothing_survives_the_time_limit(place: Place, code: str) -> None:
    marker = uuid.uuid4().hex
    begun = time.monotonic()
    ended = place.python(code, marker, limits=RunLimits(timeout_seconds=2.0))
    assert (ended.exit_status, ended.timed_out) == (137, True)
    assert "it was ended at its time limit" in ended.notices
    assert time.monotonic() - begun < 20
    assert wait_until(lambda: find_processes(marker) == [])


@pytest.mark.requirement("R96")
def test_nothing_survives_the_end_of_the_script(place: Place) -> None:
    marker = uuid.uuid4().hex
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for stream in (0, 1, 2): os.close(stream)\n"
        "    time.sleep(600)\n"
        "print('done')"
    )
    ended = place.python(code, marker)
    assert (ended.exit_status, ended.stdout.content) == (0, b"done\n")
    assert wait_until(lambda: find_processes(marker) == [])


@pytest.mark.requirement("R96")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_nothing_survives_the_death_of_prowess(place: Place, end: signal.Signals) -> None:
    marker = uuid.uuid4().hex
    command = "trap '' TERM INT HUP; echo begun; sleep 600 & wait; sleep 600"
    process = place.start_elsewhere("sh", "-c", command, marker)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    assert find_processes(marker)
    process.send_signal(end)
    process.wait(20)
    process.stdout.close()
    assert wait_until(lambda: find_processes(marker) == [])
    assert wait_until(lambda: place.containers() == [])


# What it writes


@pytest.mark.requirement("R96", "R105")
def test_flood_is_drained_and_cut_with_a_notice(place: Place) -> None:
    code = "import sys\nfor _ in range(2000): sys.stdout.write('o' * 65536); sys.stderr.write('e' * 1024)"
    ended = place.python(code, limits=RunLimits(timeout_seconds=60, output_bytes=100_000))
    assert ended.exit_status == 0
    assert (ended.stdout.size_bytes, ended.stdout.truncated) == (2000 * 65536, True)
    assert (ended.stderr.size_bytes, ended.stderr.truncated) == (2000 * 1024, True)
    assert len(ended.stdout.content) < 100_200
    assert b"bytes left out: output is cut at 100,000" in ended.stdout.content


def test_flood_without_end_is_ended_at_the_time_limit(place: Place) -> None:
    ended = place.run("yes", limits=RunLimits(timeout_seconds=1.5, output_bytes=1_000))
    assert (ended.timed_out, ended.stdout.truncated) == (True, True)
    assert len(ended.stdout.content) < 1_200


def test_listener_hears_output_while_the_script_runs(place: Place) -> None:
    from prowess.execution.jobs import SEARCH_PATH, Job

    heard: list[tuple[Stream, bytes, float]] = []
    job = Job(("sh", "-c", "echo one; sleep 1; echo two >&2"), environment={"PATH": SEARCH_PATH})
    place.sandbox.run(job, keep="", listener=lambda stream, part: heard.append((stream, part, time.monotonic())))
    assert [(stream, part) for stream, part, _ in heard] == [(Stream.STDOUT, b"one\n"), (Stream.STDERR, b"two\n")]
    assert heard[1][2] - heard[0][2] > 0.5


def test_files_in_the_output_folder_come_back(place: Place) -> None:
    ended = place.run("sh", "-c", "cd /output; mkdir a; echo hi > a/b.txt; printf '\\000\\377' > c.bin; chmod +x c.bin")
    assert [(file.path, file.size_bytes, file.mime) for file in ended.outputs] == [
        ("a/b.txt", 3, "text/plain"),
        ("c.bin", 2, "application/octet-stream"),
    ]
    assert [Path(file.location).read_bytes() for file in ended.outputs] == [b"hi\n", b"\x00\xff"]


@pytest.mark.requirement("K2")
def test_links_and_odd_things_in_the_output_folder_stay_behind(place: Place) -> None:
    secret = place.folder / "secret"
    secret.write_text("host\n", "utf-8")
    code = (
        "import os, socket\n"
        "os.chdir('/output')\n"
        f"os.symlink({str(secret)!r}, 'out'); os.symlink('/etc/passwd', 'passwd'); os.symlink('.', 'loop')\n"
        "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('socket'); open('good', 'w').write('x')"
    )
    ended = place.python(code)
    assert ended.exit_status == 0, ended.stderr
    assert [file.path for file in ended.outputs] == ["good"]
    assert sorted(os.listdir(place.kept)) == ["good"]
    left = " ".join(ended.notices)
    assert all(f"output {name} " in left for name in ("out", "passwd", "loop", "pipe", "socket"))


# What it uses up


@pytest.mark.requirement("R96", "K2")
def test_fork_bomb_does_not_pass_the_limit(place: Place) -> None:
    marker = uuid.uuid4().hex
    code = (
        "import os, sys, time\n"
        "made = 0\n"
        "try:\n"
        "    while made < 3000:\n"
        "        if os.fork() == 0: time.sleep(600)\n"
        "        made += 1\n"
        "except OSError: print('stopped', made, flush=True)\n"
        "time.sleep(600)"
    )
    most = 0

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(find_processes(marker)))

    done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    ended = place.python(code, marker, limits=RunLimits(timeout_seconds=4, processes=40))
    done.set()
    watcher.join()
    assert ended.exit_status == 137
    assert 30 <= int(ended.stdout.content.removeprefix(b"stopped ")) < 40
    assert most <= 60  # The engine's own command carries the marker too.
    assert wait_until(lambda: find_processes(marker) == [])


@pytest.mark.requirement("R96", "K2")
def test_memory_hog_is_stopped_and_leaves_nothing_behind(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    code = "data = []\nwhile True: data.append(b'x' * (1 << 20))"
    ended = place.python(code, limits=RunLimits(timeout_seconds=30, memory_bytes=128 * _MIB))
    assert not ended.timed_out
    assert ended.exit_status == 137 or b"MemoryError" in ended.stderr.content
    assert os.listdir(place.folder) == []


@pytest.mark.requirement("R96", "K2")
def test_memory_of_all_processes_together_is_bounded(place: Place) -> None:
    code = (
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        data = bytearray(60 << 20)\n"
        "        for at in range(0, len(data), 4096): data[at] = 1\n"
        "        time.sleep(4); os._exit(0)\n"
        "failed = sum(os.wait()[1] != 0 for _ in range(8))\n"
        "print('failed', failed)"
    )
    ended = place.python(code, limits=RunLimits(timeout_seconds=15, memory_bytes=160 * _MIB))
    assert not ended.timed_out
    if ended.exit_status == 0:  # What was too much was ended alone, and the script lived to tell.
        assert ended.stdout.content.startswith(b"failed ")
        assert ended.stdout.content != b"failed 0\n"
    else:
        assert (ended.exit_status, any("memory" in notice for notice in ended.notices)) == (137, True)


@pytest.mark.requirement("R96", "K2")
@pytest.mark.parametrize("folder", ["/output", "/tmp", "/dev/shm"])
def test_disk_filler_is_stopped(place: Place, folder: str) -> None:
    before = os.statvfs(place.folder).f_bavail * os.statvfs(place.folder).f_frsize
    code = (
        "import sys\n"
        "number = 0\n"
        "try:\n"
        "    while number < 2000:\n"
        f"        with open('{folder}/' + str(number), 'wb') as file: file.write(b'x' * (1 << 20))\n"
        "        number += 1\n"
        "except OSError as error: print(number, error.strerror); sys.exit(7)"
    )
    limits = RunLimits(timeout_seconds=30, folder_bytes=16 * _MIB, scratch_bytes=16 * _MIB)
    ended = place.python(code, limits=limits)
    if folder == "/output" and place.engine:  # It is on a disk, and is measured again and again.
        notice = f"it was ended for leaving more than {16 * _MIB:,} bytes in its output folder"
        assert (ended.exit_status, ended.notices[:1]) == (137, (notice,))
    else:
        written, _, why = ended.stdout.content.decode().strip().partition(" ")
        assert (ended.exit_status, why, 8 < int(written) <= 16) == (7, "No space left on device", True), ended
    assert sum(file.size_bytes for file in ended.outputs) <= 16 * _MIB
    after = os.statvfs(place.folder).f_bavail * os.statvfs(place.folder).f_frsize
    assert before - after < 500 * _MIB


@pytest.mark.requirement("R96")
def test_file_and_computing_time_have_limits(place: Place) -> None:
    ended = place.run("sh", "-c", "head -c 9000000 /dev/zero > /tmp/big", limits=RunLimits(file_bytes=1_000_000))
    assert ended.exit_status == 153  # As a shell tells of the signal for that.
    ended = place.python("while True: pass", limits=RunLimits(timeout_seconds=20, cpu_seconds=1))
    assert (ended.timed_out, ended.exit_status != 0) == (False, True)
    assert ended.seconds < 15


# What it sees


@pytest.mark.requirement("K2", "J9")
def test_skill_is_seen_where_it_should_be_and_cannot_be_changed(place: Place) -> None:
    mount = _skill(place.folder, run="echo ran from $PWD")
    inside = f"{mount.inside}/scripts"
    ended = place.run("sh", f"{inside}/run.sh", mounts=[mount])
    assert (ended.exit_status, ended.stdout.content) == (0, b"ran from /output\n")
    for attempt in (
        f"echo x > {inside}/run.sh",
        f"rm {inside}/run.sh",
        f"mkdir {inside}/new",
        f"chmod 777 {inside}/run.sh",
    ):
        assert place.run("sh", "-c", attempt, mounts=[mount]).exit_status != 0
    assert (place.folder / "skill/scripts/run.sh").read_text("utf-8") == "echo ran from $PWD"


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    "target",
    [
        "/x",
        "/usr/x",
        "/etc/x",
        "/bin/x",
        "/shared/x",
        "/shared/skills/x",
        "/proc/sys/kernel/core_pattern",
        "/dev/x",
        "/sys/x",
    ],
)
def test_nothing_outside_can_be_written(place: Place, target: str) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_bytes()
    ended = place.run("sh", "-c", f"echo x > {target}", mounts=[_skill(place.folder)])
    assert ended.exit_status != 0
    assert Path("/proc/sys/kernel/core_pattern").read_bytes() == before


@pytest.mark.requirement("K2")
def test_devices_of_the_host_cannot_be_changed(place: Place) -> None:
    before = os.stat("/dev/null").st_mode
    place.run("sh", "-c", "chmod 000 /dev/null; chown 1:1 /dev/null; rm -f /dev/null; chmod 000 /dev/urandom")
    assert os.stat("/dev/null").st_mode == before
    assert os.stat("/dev/null").st_uid == 0


@pytest.mark.requirement("K2")
def test_files_of_the_host_are_not_seen(place: Place) -> None:
    with public_folder() as folder:
        (folder / "canary").write_text("host\n", "utf-8")
        for path in (str(folder / "canary"), str(folder), "/etc/shadow", "/root", "/home", "/var", str(Path.home())):
            ended = place.run("stat", path)
            assert (ended.exit_status, ended.stderr.content.count(b"No such file or directory")) == (1, 1), path
    assert place.run("ls", "/run").stdout.content in (b"", b"podman-init\n")


@pytest.mark.requirement("K2")
def test_processes_of_others_are_not_seen(place: Place) -> None:
    code = (
        "import os\n"
        "numbers = [int(name) for name in os.listdir('/proc') if name.isdigit()]\n"
        "print(len(numbers), max(numbers))\n"
        f"print(os.path.exists('/proc/{os.getpid()}/environ') and open('/proc/{os.getpid()}/environ').read())\n"
    )
    ended = place.python(code)
    count, highest = map(int, ended.stdout.content.split(b"\n")[0].split())
    assert count <= 6, ended
    assert highest < 200
    kill = place.run("sh", "-c", f"kill -9 {os.getpid()}")
    assert kill.exit_status != 0


@pytest.mark.requirement("K2")
def test_environment_is_what_was_given_and_nothing_more(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_CANARY", "canary-value")
    ended = place.run("env")
    names = {line.partition("=")[0] for line in ended.stdout.content.decode().splitlines()}
    assert b"canary-value" not in ended.stdout.content
    assert {"PATH", "LANG"} <= names <= {"PATH", "LANG", "PWD", "HOME", "HOSTNAME", "TERM", "container"}


@pytest.mark.requirement("K2")
def test_user_is_not_root_and_has_no_rights(place: Place) -> None:
    ended = place.run(
        "sh", "-c", "id -u; id -g; grep -E '^(CapEff|CapPrm|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status"
    )
    user, group, *status = ended.stdout.content.decode().split("\n")
    assert int(user) > 0
    assert int(group) > 0
    found = {line.split()[0]: line.split()[1] for line in status if line}
    zero = "0000000000000000"
    assert found == {"CapPrm:": zero, "CapEff:": zero, "CapAmb:": zero, "NoNewPrivs:": "1", "Seccomp:": "2"}
    for attempt in ("mount -t tmpfs x /tmp", "unshare -Ur true", "unshare -n true", "chroot / true", "hostname x"):
        assert place.run("sh", "-c", attempt).exit_status != 0, attempt


def test_writable_mount_can_be_written_and_nothing_beside_it(place: Place) -> None:
    workspace = place.folder / "workspace"
    workspace.mkdir()
    os.chmod(place.folder, 0o755)
    os.chmod(workspace, 0o777)
    if os.geteuid() == 0:
        os.chown(workspace, 65_534, 65_534)
    mount = Mount(str(workspace), inside="/workspace", access=Access.READ_WRITE)
    ended = place.run("sh", "-c", "echo hi > /workspace/new; echo hi > /workspace/../beside", mounts=[mount])
    assert (workspace / "new").read_text("utf-8") == "hi\n", ended
    assert not (place.folder / "beside").exists()


# What it reaches


@pytest.mark.requirement("K2")
def test_no_network_is_reached(place: Place) -> None:
    """TCP, UDP, and the sockets of the host by path and by name; also machines beside it, by a family of their own."""
    name = f"\0prowess-{uuid.uuid4().hex}"
    with (
        public_folder() as folder,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as by_path,
        socket.socket(socket.AF_UNIX) as by_name,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        path = folder / "host.sock"
        by_path.bind(str(path))
        os.chmod(path, 0o777)
        by_name.bind(name)
        for listener in (by_path, by_name):
            listener.listen()
            listener.settimeout(0.2)
        code = (
            "import socket\n"
            "def attempt(what, family, kind, *address):\n"
            "    try:\n"
            "        one = socket.socket(family, kind)\n"
            "        one.settimeout(2)\n"
            "        one.sendto(b'x', address[0]) if kind == socket.SOCK_DGRAM else one.connect(address[0])\n"
            "        print('REACHED', what)\n"
            "    except (OSError, OverflowError) as error: print(what, type(error).__name__)\n"
            f"attempt('tcp', socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {tcp.getsockname()[1]}))\n"
            f"attempt('udp', socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', {udp.getsockname()[1]}))\n"
            "attempt('tcp6', socket.AF_INET6, socket.SOCK_STREAM, ('::1', 80))\n"
            f"attempt('path', socket.AF_UNIX, socket.SOCK_STREAM, {str(path)!r})\n"
            f"attempt('name', socket.AF_UNIX, socket.SOCK_STREAM, {name!r})\n"
            "attempt('vsock', 40, socket.SOCK_STREAM, (2, 1024))\n"
            "attempt('packet', 17, socket.SOCK_RAW, ('lo', 0))\n"
            "attempt('netlink', 16, socket.SOCK_RAW, (0, 0))\n"
        )
        ended = place.python(code)
        assert ended.exit_status == 0, ended
        lines = ended.stdout.content.decode().splitlines()
        assert len(lines) == 8
        assert not any(line.startswith("REACHED") for line in lines), lines
        for listener in (by_path, by_name):
            with pytest.raises(TimeoutError):
                listener.accept()
        with pytest.raises(TimeoutError):
            udp.recv(1)


@pytest.mark.requirement("K2")
def test_fifo_in_a_mounted_folder_keeps_nobody_waiting(place: Place) -> None:
    mount = _skill(place.folder)
    os.mkfifo(place.folder / "skill" / "pipe")
    marker = uuid.uuid4().hex
    ended = place.run("cat", f"{mount.inside}/pipe", marker, mounts=[mount], limits=RunLimits(timeout_seconds=2))
    assert ended.timed_out
    assert wait_until(lambda: find_processes(marker) == [])


# Secrets


@pytest.mark.requirement("K8")
def test_secret_reaches_the_process_and_nothing_else(place: Place) -> None:
    value = f"s3cret-{uuid.uuid4().hex}"
    marker = uuid.uuid4().hex
    seen: list[bytes] = []

    def look() -> None:
        while not done.is_set():
            for process in find_processes(marker):
                with suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as file:
                    seen.append(file.read())

    done = threading.Event()
    watcher = threading.Thread(target=look)
    watcher.start()
    code = (
        "import base64, os, sys, time\n"
        "value = os.environ['TOKEN']\n"
        "print(len(value), value, base64.b64encode(value.encode()).decode(), value.encode().hex())\n"
        "print(value, file=sys.stderr)\n"
        "open('/output/leak', 'w').write(value); open('/output/fine', 'w').write('fine'); time.sleep(0.5)"
    )
    ended = place.python(code, marker, secrets={"TOKEN": value})
    done.set()
    watcher.join()
    assert ended.stdout.content.startswith(f"{len(value)} [secret TOKEN]".encode())
    assert value.encode() not in ended.stdout.content + ended.stderr.content
    assert value.encode().hex().encode() not in ended.stdout.content
    assert seen
    assert not any(value.encode() in line for line in seen)
    assert [file.path for file in ended.outputs] == ["fine"]
    assert any("holds the secret TOKEN" in notice for notice in ended.notices)


# Many at once


def test_runs_at_once_do_not_see_each_other(place: Place) -> None:
    results: dict[int, bytes] = {}

    def one(number: int) -> None:
        write = f"echo {number} > /output/mine; echo {number} > /tmp/mine"
        code = f"{write}; sleep 0.5; cat /output/mine /tmp/mine; ls /output /tmp"
        from prowess.execution.jobs import SEARCH_PATH, Job

        job = Job(("sh", "-c", code), environment={"PATH": SEARCH_PATH})
        results[number] = place.sandbox.run(job, keep=str(place.folder / f"kept-{number}")).stdout.content

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {n: f"{n}\n{n}\n/output:\nmine\n\n/tmp:\nmine\n".encode() for n in range(4)}
    assert results == expected


@pytest.mark.requirement("K3")
def test_sandbox_says_that_it_works_and_what_it_has(place: Place) -> None:
    from prowess.execution.probing import gather_facts

    assert place.sandbox.probe().works
    facts = gather_facts(place.sandbox)
    assert {"sh", "python3"} <= facts.commands
    assert facts.python[:1] == (3,)
    assert place.sandbox.identity() == place.sandbox.identity()


@pytest.mark.requirement("R96")
def test_reader_that_stalls_does_not_stop_the_clock(place: Place) -> None:
    from prowess.execution.jobs import SEARCH_PATH, Job

    marker = uuid.uuid4().hex
    left: list[list[int]] = []

    def stall(_stream: Stream, _part: bytes) -> None:
        if not left:
            time.sleep(6)
            left.append([process for process in find_processes(marker) if process])

    job = Job(
        ("sh", "-c", "echo one; sleep 600", marker),
        environment={"PATH": SEARCH_PATH},
        limits=RunLimits(timeout_seconds=2.0),
    )
    ended = place.sandbox.run(job, keep="", listener=stall)
    assert ended.timed_out
    assert left == [[]]


def test_certificates_are_there_with_a_network(place: Place) -> None:
    ended = place.run("sh", "-c", "ls -L /etc/ssl/certs | head -1; cat /etc/resolv.conf > /dev/null", network=True)
    assert (ended.exit_status, ended.stderr.content) == (0, b"")
