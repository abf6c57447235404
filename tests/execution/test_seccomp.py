"""The filter of system calls: what it says by the kernel's own numbers, and what it does to real processes."""

import errno
import json
import os
import platform
import re
import signal
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prowess.execution.seccomp import make_filter, make_profile

_EPERM, _ENOSYS, _EAFNOSUPPORT = errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT
_NEW_USER = 0x10000000
_HIGH = 1 << 32
_ALLOWED, _KILLED = "allowed", "killed"
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES = {False: {_UNIX}, True: {_UNIX, _INET, _INET6, _NETLINK}}
_MACHINES = {
    "x86_64": (0xC000003E, "asm/unistd_64.h"),
    "aarch64": (0xC00000B7, "asm-generic/unistd.h"),
}
_INCLUDES = [Path("/usr/include"), *Path("/usr/include").glob("*-linux-gnu")]
Verdict = int | str


def _read_numbers(machine: str) -> dict[str, int]:
    """Return the number of every system call, from the kernel's headers."""
    files = [folder / _MACHINES[machine][1] for folder in _INCLUDES]
    text = next((file.read_text() for file in files if file.exists()), None)
    if text is None:
        pytest.fail("the kernel's headers are not installed: apt-get install linux-libc-dev")
    found = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    return {name: int(number) for name, number in found if name not in ("syscalls", "arch_specific_syscall")}


def _run_filter(program: bytes, audit: int, number: int, arguments: tuple[int, ...]) -> Verdict:
    """Return what the kernel would make of a call: the error, or whether it is allowed."""
    account = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, audit, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    place = loaded = 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, place * 8)
        place += 1
        match code:
            case 0x20:
                loaded = struct.unpack_from("=I", account, value)[0]
            case 0x15 | 0x35 | 0x45:
                holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
                place += yes if holds else no
            case 0x06:
                actions: dict[int, Verdict] = {0x7FFF0000: _ALLOWED, 0x80000000: _KILLED, 0x00050000: value & 0xFFFF}
                return actions[value & 0xFFFF0000]
            case _:
                pytest.fail(f"the filter has an instruction that is not known here: {code:#x}")


def _read_profile(profile: dict[str, Any], name: str, arguments: tuple[int, ...]) -> Verdict:
    """Return what a container engine would make of a call."""
    for rule in profile["syscalls"]:
        if name in rule["names"] and all(_holds(one, arguments) for one in rule.get("args", [])):
            return rule["errnoRet"]
    return _ALLOWED


def _holds(condition: dict[str, Any], arguments: tuple[int, ...]) -> bool:
    index, value, second = (int(condition[key]) for key in ("index", "value", "valueTwo"))
    given = (*arguments, 0, 0)[index]
    answers = {
        "SCMP_CMP_EQ": given == value,
        "SCMP_CMP_GE": given >= value,
        "SCMP_CMP_MASKED_EQ": given & value == second,
    }
    return answers[condition["op"]]


@dataclass(frozen=True, slots=True)
class Filters:
    """Both forms of the filter for a kind of processor."""

    program: bytes
    profile: dict[str, Any]
    audit: int
    numbers: dict[str, int]

    def ask(self, name: str, *arguments: int) -> tuple[Verdict, Verdict]:
        """Return what each of the two makes of a call."""
        by_number = _run_filter(self.program, self.audit, self.numbers[name], arguments)
        return by_number, _read_profile(self.profile, name, arguments)


def _make(machine: str, monkeypatch: pytest.MonkeyPatch, *, network: bool) -> Filters:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program = make_filter(network=network)
    assert program is not None
    return Filters(program, json.loads(make_profile(network=network)), _MACHINES[machine][0], _read_numbers(machine))


@pytest.fixture(params=[False, True], ids=["alone", "with network"])
def network(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(params=sorted(_MACHINES))
def filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, network: bool) -> Filters:
    return _make(request.param, monkeypatch, network=network)


# By the numbers

_REFUSED_WHOLE = """
acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module fanotify_init finit_module fsconfig fsmount
fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load
keyctl lookup_dcookie mbind migrate_pages modify_ldt mount mount_setattr move_mount move_pages msgget name_to_handle_at
open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_vm_readv process_vm_writev ptrace quotactl
quotactl_fd reboot request_key semget set_mempolicy setdomainname sethostname setns settimeofday shmget swapoff swapon
syslog umount2
unshare uselib userfaultfd vhangup
"""


@pytest.mark.requirement("K2")
def test_filter_and_profile_refuse_the_same_calls_and_no_other(filters: Filters) -> None:
    found = {name: filters.ask(name, _UNIX) for name in filters.numbers}
    refused = {name: _EPERM for name in _REFUSED_WHOLE.split() if name in filters.numbers} | {"clone3": _ENOSYS}
    assert {name: both for name, both in found.items() if both != (_ALLOWED, _ALLOWED)} == {
        name: (number, number) for name, number in refused.items()
    }


@pytest.mark.requirement("K2")
@pytest.mark.parametrize("call", ["socket", "socketpair"])
def test_both_allow_few_families_of_sockets(filters: Filters, network: bool, call: str) -> None:
    families = [*range(70), 255, 1 << 31, 0xFFFFFFFF]
    allowed = [family for family in families if filters.ask(call, family) == (_ALLOWED, _ALLOWED)]
    assert allowed == sorted(_FAMILIES[network])
    refused = [family for family in families if filters.ask(call, family) == (_EAFNOSUPPORT, _EAFNOSUPPORT)]
    assert sorted(allowed + refused) == sorted(families)


def test_bits_that_the_kernel_ignores_open_no_way_round(filters: Filters) -> None:
    assert filters.ask("socket", _HIGH | socket.AF_VSOCK) == (_EAFNOSUPPORT, _EAFNOSUPPORT)
    assert filters.ask("ioctl", 0, _HIGH | 0x5412) == (_EPERM, _EPERM)
    assert filters.ask("ioctl", 0, _HIGH | 0x541C) == (_EPERM, _EPERM)
    assert filters.ask("clone", _HIGH | _NEW_USER) == (_EPERM, _EPERM)


def test_both_look_into_arguments(filters: Filters) -> None:
    assert [filters.ask("ioctl", 0, request)[0] for request in (0x5411, 0x5412, 0x5413, 0x541B, 0x541C)] == [
        _ALLOWED,
        _EPERM,
        _ALLOWED,
        _ALLOWED,
        _EPERM,
    ]
    assert filters.ask("ioctl", 0, 0x5413) == (_ALLOWED, _ALLOWED)
    assert filters.ask("ioctl", 0x5412, 0) == (_ALLOWED, _ALLOWED)
    assert filters.ask("clone", _NEW_USER | signal.SIGCHLD) == (_EPERM, _EPERM)
    assert filters.ask("clone", 0x003D0F00) == (_ALLOWED, _ALLOWED)  # As threads are made.


def test_calls_of_another_kind_of_processor_kill(filters: Filters) -> None:
    assert _run_filter(filters.program, 0x40000003, filters.numbers["getpid"], ()) == _KILLED


def test_calls_with_other_numbers_for_the_same_are_unknown(filters: Filters) -> None:
    for number in (0x40000000, 0x40000000 | filters.numbers["mount"], 0xFFFFFFFF):
        assert _run_filter(filters.program, filters.audit, number, ()) == _ENOSYS


def test_profile_names_the_processor_and_allows_by_default(filters: Filters) -> None:
    engine = {0xC000003E: "SCMP_ARCH_X86_64", 0xC00000B7: "SCMP_ARCH_AARCH64"}[filters.audit]
    outline = {key: value for key, value in filters.profile.items() if key != "syscalls"}
    assert outline == {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [engine]}
    assert {rule["action"] for rule in filters.profile["syscalls"]} == {"SCMP_ACT_ERRNO"}


def test_unknown_processor_has_a_profile_by_names_but_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    known = json.loads(make_profile(network=False))
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert make_filter(network=False) is None
    assert json.loads(make_profile(network=False)) == {key: known[key] for key in ("defaultAction", "syscalls")}


# Real processes

_LOADER = """
import ctypes, json, os, signal, socket, struct, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    ctypes.set_errno(0)
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    found = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(one) for one in padded))
    return "allowed" if found >= 0 else ctypes.get_errno()

program = bytes.fromhex(sys.argv[1])
if program:
    kept = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0) == 0
given = json.loads(sys.argv[2])
"""


def _run_under(program: bytes, script: str, given: object = None) -> Any:
    """Return what a Python script prints under a filter; an empty one is none."""
    command = [sys.executable, "-c", _LOADER + script, program.hex(), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def _get_filter(*, network: bool) -> bytes:
    made = make_filter(network=network)
    assert made is not None, f"no filter for {platform.machine()}"
    return made


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    return _read_numbers(platform.machine())


_ASK = "print(json.dumps([call(*one) for one in given]))"
_DATAGRAM, _RAW = 2, 3


@pytest.mark.requirement("K2")
def test_kernel_refuses_families_of_sockets(numbers: dict[str, int], network: bool) -> None:
    families = [*range(50), 0xFFFF, _HIGH | socket.AF_VSOCK, _HIGH | _NETLINK]
    calls = [(numbers["socket"], family, _RAW if family == _NETLINK else _DATAGRAM) for family in families]
    bare = _run_under(b"", _ASK, calls)
    found = _run_under(_get_filter(network=network), _ASK, calls)
    low = [family & 0xFFFFFFFF for family in families]
    wanted = [
        before if family in _FAMILIES[network] else _EAFNOSUPPORT for family, before in zip(low, bare, strict=True)
    ]
    assert found == wanted
    assert [bare[families.index(family)] for family in (_UNIX, _INET, _NETLINK)] == [_ALLOWED] * 3


def test_kernel_refuses_pairs_of_sockets_of_other_families(numbers: dict[str, int], network: bool) -> None:
    script = """
fds = (ctypes.c_int * 2)()
print(json.dumps([call(given, family, 1, 0, ctypes.addressof(fds)) for family in (1, 40, 30, 38)]))
"""
    found = _run_under(_get_filter(network=network), script, numbers["socketpair"])
    assert found == [_ALLOWED, _EAFNOSUPPORT, _EAFNOSUPPORT, _EAFNOSUPPORT]


@pytest.mark.requirement("K2")
def test_kernel_refuses_what_no_script_needs(numbers: dict[str, int], network: bool) -> None:
    calls = {
        "unshare": (_NEW_USER,),
        "mount": (0, 0, 0, 0, 0),
        "umount2": (0, 0),
        "setns": (0, 0),
        "chroot": (0,),
        "pivot_root": (0, 0),
        "keyctl": (0, 0xFFFFFFFD, 0),
        "add_key": (0, 0, 0, 0, 0),
        "request_key": (0, 0, 0, 0),
        "ptrace": (0, 0, 0, 0),
        "process_vm_readv": (os.getpid(), 0, 0, 0, 0),
        "io_uring_setup": (1, 0),
        "bpf": (0, 0, 0),
        "perf_event_open": (0, 0, 0, 0, 0),
        "userfaultfd": (0,),
        "name_to_handle_at": (0, 0, 0, 0, 0),
        "open_by_handle_at": (0, 0, 0),
        "fsopen": (0, 0),
        "open_tree": (0, 0, 0),
        "kexec_load": (0, 0, 0, 0),
        "init_module": (0, 0, 0),
        "syslog": (10, 0, 0),
        "clone": (_NEW_USER | signal.SIGCHLD, 0, 0, 0, 0),
        "ioctl": (0, 0x5412, 0),
    }
    found = _run_under(
        _get_filter(network=network), _ASK, [(numbers[name], *arguments) for name, arguments in calls.items()]
    )
    assert dict(zip(calls, found, strict=True)) == dict.fromkeys(calls, _EPERM)


def test_kernel_does_not_know_clone3_and_numbers_of_another_kind(numbers: dict[str, int], network: bool) -> None:
    calls = [(numbers["clone3"], 0, 0), (numbers["clone3"], 1, 88), (0x40000000 | numbers["getpid"],)]
    assert _run_under(_get_filter(network=network), _ASK, calls) == [_ENOSYS] * 3


def test_keys_and_tracing_work_without_the_filter(numbers: dict[str, int]) -> None:
    calls = [(numbers["keyctl"], 0, 0xFFFFFFFD, 0), (numbers["ptrace"], 0, 0, 0, 0)]
    assert _run_under(b"", _ASK, calls) != [_EPERM] * 2


def test_ordinary_programs_work_under_the_filter(network: bool) -> None:
    script = """
import asyncio, multiprocessing, sqlite3, tempfile
from concurrent.futures import ThreadPoolExecutor

answers = []
child = os.fork()
if not child:
    os._exit(7)
answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with ThreadPoolExecutor(4) as pool:
    answers.append(sum(pool.map(abs, range(-10, 0))))
answers.append(subprocess.run(["sh", "-c", "echo $((6 * 7)) | cat"], capture_output=True, text=True).stdout)
answers.append(subprocess.run(["true"], start_new_session=True, preexec_fn=lambda: None).returncode)
answers.append(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp("false", ["false"], {}), 0)[1]))

async def speak():
    process = await asyncio.create_subprocess_exec("echo", "async", stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode()

answers.append(asyncio.run(speak()))
with multiprocessing.get_context("fork").Pool(2) as pool:
    answers.append(pool.map(abs, [-1, -2]))
one, other = socket.socketpair()
one.send(b"pair")
answers.append(other.recv(9).decode())
with tempfile.TemporaryDirectory() as folder:
    database = sqlite3.connect(folder + "/x.sqlite")
    database.execute("create table t (a)")
    database.commit()
    answers.append(os.listdir(folder))
print(json.dumps(answers))
"""
    assert _run_under(_get_filter(network=network), script) == [
        7,
        55,
        "42\n",
        0,
        1,
        "async\n",
        [1, 2],
        "pair",
        ["x.sqlite"],
    ]


def test_filter_holds_for_all_that_is_started() -> None:
    script = """
answers = [subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode]
answers.append(subprocess.run(["sh", "-c", "unshare --user true"], capture_output=True).returncode)
print(json.dumps(answers))
"""
    assert (_run_under(b"", script), _run_under(_get_filter(network=True), script)) == ([0, 0], [1, 1])


_INT_80 = """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53b814000000cd805bc3"))  # push rbx; mov eax, 20 (getpid of 32 bits); int 0x80; pop rbx; ret
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
child = os.fork()
if not child:
    os._exit(0 if function() == os.getpid() else 1)
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""


@pytest.mark.requirement("K2")
def test_calls_of_32_bits_end_the_process() -> None:
    bare = _run_under(b"", _INT_80)
    assert bare in (0, -signal.SIGSEGV), "a kernel without them answers with SIGSEGV"
    wanted = -signal.SIGSYS if bare == 0 else bare
    assert _run_under(_get_filter(network=True), _INT_80) == wanted


@pytest.mark.requirement("K2")
def test_bubblewrap_loads_the_filter() -> None:
    handle = os.memfd_create("filter")
    os.write(handle, _get_filter(network=False))
    statuses: list[int] = []
    for options, command in (
        (["--seccomp", str(handle)], ["true"]),
        (["--seccomp", str(handle)], ["unshare", "--user", "true"]),
        ([], ["unshare", "--user", "true"]),
    ):
        os.lseek(handle, 0, os.SEEK_SET)
        bubblewrap = ["bwrap", "--ro-bind", "/", "/", *options]
        done = subprocess.run([*bubblewrap, *command], pass_fds=[handle], capture_output=True, check=False)
        statuses.append(done.returncode)
    os.close(handle)
    assert statuses == [0, 1, 0]
