"""Which system calls a run may not make, as a filter for the kernel and as a profile for container engines.

The list names what no script needs and what has led out of sandboxes before: new namespaces and mounts, the kernel's
keyrings (they belong to the user and not to the sandbox), the memory of System V (which no process is seen to hold),
tracing, loading code into the kernel, io_uring (which no filter sees into). Of the families of sockets, a run without a
network has AF_UNIX alone: AF_VSOCK, for one, reaches the host through no network at all.
"""

import json
import platform
import struct
from dataclasses import dataclass
from functools import cache

__all__ = ["make_filter", "make_profile"]

_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES_ALONE = (_UNIX,)
_FAMILIES_WITH_NETWORK = (_UNIX, _INET, _INET6, _NETLINK)
_INT = 0xFFFFFFFF
"""As much of an argument as the kernel looks at where it takes a number of 32 bits; it ignores what stands above."""
_MOST_FAMILIES = 64
"""More than Linux knows; whatever is beyond is refused too."""
_NEW_USER_NAMESPACE = 0x10000000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put characters into a terminal as if they had been typed."""

_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
"""By name, the number on x86_64 and on aarch64."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """What the filter must know of a kind of processor."""

    column: int
    audit: int
    """Its number in the kernel's audit, by which calls of another kind (32-bit programs) are told apart."""
    socket: int
    socketpair: int
    ioctl: int
    clone: int
    clone3: int
    engine: str
    """What container engines call it."""


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, 41, 53, 16, 56, 435, "SCMP_ARCH_X86_64"),
    "aarch64": _Machine(1, 0xC00000B7, 198, 199, 29, 220, 435, "SCMP_ARCH_AARCH64"),
}
_X32 = 0x40000000
"""Calls from here on are those of a rare second way of x86_64, with other numbers for the same calls."""

_LOAD, _EQUAL, _GREATER_EQUAL, _BITS_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_CALL, _AUDIT, _FIRST, _SECOND = 0, 4, 16, 24
"""Where in the kernel's account of a call its number, its machine and its first arguments stand."""


def make_filter(*, network: bool) -> bytes | None:
    """Return the filter as the kernel takes it; None for a processor whose numbers are not known here."""
    machine = _MACHINES.get(platform.machine())
    return None if machine is None else _assemble(machine, _choose_families(network=network))


@cache
def _assemble(machine: _Machine, families: tuple[int, ...]) -> bytes:
    numbers = [row[machine.column] for row in _REFUSED.values()]
    program = [
        *((_LOAD, 0, 0, _AUDIT), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL)),
        (_LOAD, 0, 0, _CALL),
        *_refuse(_GREATER_EQUAL, _X32, _ENOSYS),
        *_refuse(_EQUAL, machine.clone3, _ENOSYS),  # Its flags cannot be looked at; programs fall back to clone.
        *(step for number in numbers if number is not None for step in _refuse(_EQUAL, number, _EPERM)),
        *_look_inside(machine.clone, _FIRST, _refuse(_BITS_SET, _NEW_USER_NAMESPACE, _EPERM)),
        *_look_inside(machine.ioctl, _SECOND, [s for one in _TERMINAL_INPUT for s in _refuse(_EQUAL, one, _EPERM)]),
        *_look_inside(machine.socket, _FIRST, _only(families)),
        *_look_inside(machine.socketpair, _FIRST, _only(families)),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", code, yes, no, value) for code, yes, no, value in program)


_Step = tuple[int, int, int, int]


def _refuse(test: int, value: int, errno: int) -> list[_Step]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, _ERRNO | errno)]


def _look_inside(call: int, argument: int, steps: list[_Step]) -> list[_Step]:
    """Return steps for one call only, which look at one of its arguments; the others go on with their number."""
    inner = [(_LOAD, 0, 0, argument), *steps, (_LOAD, 0, 0, _CALL)]
    return [(_EQUAL, 0, len(inner), call), *inner]


def _only(families: tuple[int, ...]) -> list[_Step]:
    """Return steps that refuse all families but these."""
    left = len(families)
    steps = [(_EQUAL, left - place, 0, family) for place, family in enumerate(families)]
    return [*steps, (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT)]


def _choose_families(*, network: bool) -> tuple[int, ...]:
    return _FAMILIES_WITH_NETWORK if network else _FAMILIES_ALONE


def make_profile(*, network: bool) -> str:
    """Return the same as a profile of Docker and Podman."""
    machine = _MACHINES.get(platform.machine())
    allowed = _choose_families(network=network)
    refused = [number for number in range(_MOST_FAMILIES) if number not in allowed]
    rules = [
        _rule(["clone3"], errno=_ENOSYS),
        _rule(sorted(_REFUSED)),
        _rule(["clone"], index=0, op="SCMP_CMP_MASKED_EQ", value=_NEW_USER_NAMESPACE, second=_NEW_USER_NAMESPACE),
        *(_rule(["ioctl"], index=1, op="SCMP_CMP_MASKED_EQ", value=_INT, second=one) for one in _TERMINAL_INPUT),
        *(
            _rule(["socket", "socketpair"], index=0, op="SCMP_CMP_EQ", value=family, errno=_EAFNOSUPPORT)
            for family in refused
        ),
        _rule(["socket", "socketpair"], index=0, op="SCMP_CMP_GE", value=_MOST_FAMILIES, errno=_EAFNOSUPPORT),
    ]
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}
    return json.dumps(profile | ({"architectures": [machine.engine]} if machine else {}))


def _rule(
    names: list[str], *, errno: int = _EPERM, index: int | None = None, op: str = "", value: int = 0, second: int = 0
) -> dict[str, object]:
    rule: dict[str, object] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno}
    if index is not None:
        rule["args"] = [{"index": index, "value": value, "valueTwo": second, "op": op}]
    return rule
