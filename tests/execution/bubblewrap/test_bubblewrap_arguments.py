"""How a job is said to bubblewrap: the whole list for a small job, and what must hold for every one."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from prowess.containers.mounts import Access, Mount
from prowess.errors import SettingsError, ToolInputError
from prowess.execution.bubblewrap.bubblewrap_arguments import INSIDE_USER, RunAs, render_job
from prowess.execution.jobs import INPUT_FILE, SEARCH_PATH, Job
from prowess.execution.seccomp import make_filter
from prowess.policy import RunLimits

_TRANSLATED = RunAs(INSIDE_USER, translated=True)
_HANDED_TO = RunAs(61_200, translated=False)
_WAYS = pytest.mark.parametrize("run_as", [_TRANSLATED, _HANDED_TO], ids=["translated", "handed to a user"])
_LIMITS = RunLimits(scratch_bytes=1_111, folder_bytes=2_222)
_JOB = Job(
    ("python3", "x.py"),
    work_folder="/shared/skills/pdf",
    mounts=(Mount("/srv/skills/pdf", inside="/shared/skills/pdf"),),
    environment={"PATH": SEARCH_PATH},
    secrets={"TOKEN": "hunter2"},
    input=b"{}",
    limits=_LIMITS,
)


class Handed:
    """Takes files for bubblewrap, and numbers them from 100 on."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def __call__(self, name: str, content: bytes) -> int:
        self.files[name] = content
        return 99 + len(self.files)


def _render(job: Job, *, run_as: RunAs = _TRANSLATED, programs: tuple[str, ...] = ()) -> list[str]:
    return render_job(job, run_as=run_as, programs=programs, hand_over=Handed())


def _show_usr() -> list[str]:
    """Return how the programs of this machine are shown."""
    shown = ["--perms", "0755", "--dir", "/etc", "--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(folder):
            shown += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            shown += ["--ro-bind", folder, folder]
    return shown


def _find(options: list[str], *words: str) -> int:
    """Return where these words stand next to each other."""
    places = [at for at in range(len(options)) if tuple(options[at : at + len(words)]) == words]
    assert len(places) == 1, f"{words} stands {len(places)} times"
    return places[0]


# The whole


_NAMESPACES = {
    True: "--unshare-all --unshare-user --disable-userns --uid 1000 --gid 1000 --cap-drop ALL",
    False: (
        "--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try "
        "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID"
    ),
}
_BEFORE = "--die-with-parent --new-session --hostname sandbox"
_OF_HOST = "--ro-bind-try {cache} /etc/ld.so.cache --ro-bind-try {alternatives} /etc/alternatives"
_AFTER = """
--perms 0444 --file 100 /etc/passwd
--perms 0444 --file 101 /etc/group
--proc /proc --remount-ro /proc
--dev /dev --size 1111 --perms 1777 --tmpfs /dev/shm --remount-ro /dev
--size 1111 --perms 1777 --tmpfs /tmp
--size 2222 --perms 1777 --tmpfs /output
--perms 0755 --dir /input --perms 0755 --dir /shared --perms 0755 --dir /shared/skills
--perms 0444 --file 102 /input/input.json
--ro-bind /srv/skills/pdf /shared/skills/pdf
--remount-ro / --chdir /shared/skills/pdf
--clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin --setenv TOKEN hunter2
--seccomp 103
"""


@pytest.mark.requirement("K2")
@_WAYS
def test_small_job_as_a_whole(run_as: RunAs) -> None:
    handed = Handed()
    options = render_job(_JOB, run_as=run_as, programs=(), hand_over=handed)
    of_host = _OF_HOST.format(
        cache=os.path.realpath("/etc/ld.so.cache"), alternatives=os.path.realpath("/etc/alternatives")
    )
    assert options == [
        *_NAMESPACES[run_as.translated].split(),
        *_BEFORE.split(),
        *_show_usr(),
        *of_host.split(),
        *_AFTER.split(),
    ]
    user = run_as.user
    assert handed.files == {
        "passwd": f"skill:x:{user}:{user}:skill:/output:/bin/sh\n".encode(),
        "group": f"skill:x:{user}:\n".encode(),
        "input": b"{}",
        "filter": make_filter(network=False),
    }


def test_command_is_begun_as_another_user_only_where_nothing_is_translated() -> None:
    begun = "/usr/bin/setpriv --reuid=61200 --regid=61200 --clear-groups --inh-caps=-all --"
    assert (_TRANSLATED.prefix, _HANDED_TO.prefix) == ((), tuple(begun.split()))


# Network


@pytest.mark.requirement("K2")
@_WAYS
def test_network_is_shared_only_if_asked_for(run_as: RunAs) -> None:
    alone, shared = (_render(replace(_JOB, network=network), run_as=run_as) for network in (False, True))
    if run_as.translated:
        assert ("--unshare-all" in alone, "--share-net" in alone) == (True, False)
        assert ("--unshare-all" in shared, "--share-net" in shared) == (True, True)
        assert shared.index("--unshare-all") < shared.index("--share-net")
    else:
        assert ("--unshare-net" in alone, "--unshare-net" in shared, "--share-net" in shared) == (True, False, False)
        assert "--unshare-pid" in shared
    names = {"resolv.conf", "ssl/certs", "ca-certificates", "pki", "hosts", "nsswitch.conf"}
    paths = {f"/etc/{name}" for name in names}
    assert (paths & {*alone}, paths & {*shared}) == (set(), paths)


@pytest.mark.requirement("K2")
def test_filter_is_that_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bytes] = []
    for network in (False, True):
        handed = Handed()
        render_job(replace(_JOB, network=network), run_as=_TRANSLATED, programs=(), hand_over=handed)
        found.append(handed.files["filter"])
    assert found == [make_filter(network=False), make_filter(network=True)]
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "--seccomp" not in _render(_JOB)


# Mounts


def test_mounts_come_in_order_of_depth_after_the_folders_above_them() -> None:
    mounts = (
        Mount("/srv/c", inside="/shared/skills/pdf/deep/c"),
        Mount("/srv/packages", inside="/packages"),
        Mount("/srv/work", inside="/workspace", access=Access.READ_WRITE),
        Mount("/srv/a", inside="/shared/skills/pdf"),
    )
    options = _render(replace(_JOB, mounts=mounts))
    shown = [
        _find(options, "--ro-bind", "/srv/packages", "/packages"),
        _find(options, "--bind", "/srv/work", "/workspace"),
        _find(options, "--ro-bind", "/srv/a", "/shared/skills/pdf"),
        _find(options, "--ro-bind", "/srv/c", "/shared/skills/pdf/deep/c"),
    ]
    folders = ("/input", "/shared", "/shared/skills", "/shared/skills/pdf", "/shared/skills/pdf/deep")
    made = [_find(options, "--perms", "0755", "--dir", folder) for folder in folders]
    assert made + shown == sorted(made + shown)


@pytest.mark.requirement("K2")
@_WAYS
def test_root_is_closed_after_all_mounts_and_before_the_work_folder(run_as: RunAs) -> None:
    mounts = (*_JOB.mounts, Mount("/srv/work", inside="/workspace", access=Access.READ_WRITE))
    options = _render(replace(_JOB, mounts=mounts), run_as=run_as, programs=("/opt",))
    closed = _find(options, "--remount-ro", "/", "--chdir", _JOB.work_folder)
    changing = {
        "--bind",
        "--ro-bind",
        "--ro-bind-try",
        "--file",
        "--dir",
        "--tmpfs",
        "--symlink",
        "--proc",
        "--dev",
    }
    assert [option for option in options[closed:] if option in changing] == []


@pytest.mark.requirement("K2")
def test_nothing_can_be_written_without_a_bound() -> None:
    options = _render(_JOB)
    unbounded = [
        option
        for (before, option) in pairwise(options)
        if (option == "--tmpfs" and before != "1777") or option in ("--bind", "--bind-try", "--dev-bind")
    ]
    assert unbounded == []
    sizes = [options[at - 3] for at, option in enumerate(options) if option == "--tmpfs"]
    assert sizes == ["1111", "1111", "2222"]


def test_mount_below_one_that_can_be_written_is_refused() -> None:
    mounts = (
        Mount("/srv/work", inside="/workspace", access=Access.READ_WRITE),
        Mount("/srv/other", inside="/workspace/other"),
    )
    with pytest.raises(SettingsError):
        _render(replace(_JOB, mounts=mounts))


def test_folders_of_programs_are_shown_at_their_own_paths(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    options = _render(_JOB, programs=(str(tmp_path / "link"), "/opt/missing"))
    assert _find(options, "--ro-bind-try", str(tmp_path / "real"), str(tmp_path / "link"))
    assert _find(options, "--ro-bind-try", "/opt/missing", "/opt/missing")
    made = [_find(options, "--perms", "0755", "--dir", str(parent)) for parent in (tmp_path, tmp_path.parent)]
    assert max(made) < options.index(str(tmp_path / "link"))
    assert "/opt" not in options


# Input and variables


def test_no_file_is_made_for_input_that_was_not_given() -> None:
    handed = Handed()
    options = render_job(replace(_JOB, input=None), run_as=_TRANSLATED, programs=(), hand_over=handed)
    assert (INPUT_FILE in options, "input" in handed.files) == (False, False)


def test_empty_input_is_a_file_too() -> None:
    handed = Handed()
    options = render_job(replace(_JOB, input=b""), run_as=_TRANSLATED, programs=(), hand_over=handed)
    assert (INPUT_FILE in options, handed.files["input"]) == (True, b"")


def test_environment_begins_empty_and_secrets_come_last() -> None:
    job = replace(_JOB, environment={"A": "1", "TOKEN": "of the environment"}, secrets={"TOKEN": "secret", "Z": ""})
    options = _render(job)
    cleared = options.index("--clearenv")
    assert "--setenv" not in options[:cleared]
    variables = ["--setenv", "A", "1", "--setenv", "TOKEN", "secret", "--setenv", "Z", ""]
    assert options[cleared:-2] == ["--clearenv", *variables]


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    "changes",
    [
        {"environment": {"A": "x\0--bind\0/\0/host"}},
        {"secrets": {"A": "x\0--bind\0/\0/host"}},
        {"secrets": {"A\0--bind\0/\0/host": "x"}},
        {"work_folder": "/output\0--bind\0/\0/host"},
        {"environment": {"A": "half a character \ud800"}},
    ],
    ids=["variable", "secret", "name of a secret", "work folder", "half a character"],
)
def test_no_value_can_become_an_option_of_its_own(changes: Mapping[str, object]) -> None:
    job = replace(_JOB, **changes)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ToolInputError) as caught:
        _render(job)
    assert (caught.value.code, "host" in str(caught.value)) == ("bad-arguments", False)


def test_programs_are_checked_like_all_else() -> None:
    assert "/opt/\udcff" in _render(_JOB, programs=("/opt/\udcff",))
    for path in ("/opt/\ud800", "/opt/\0--bind\0/\0/host"):
        with pytest.raises(ToolInputError):
            _render(_JOB, programs=(path,))


# The real bubblewrap


def test_bubblewrap_takes_the_list(tmp_path: Path) -> None:
    skill, programs = tmp_path / "skill", tmp_path / "deep" / "programs"
    skill.mkdir()
    programs.mkdir(parents=True)
    (skill / "file").write_text("of the skill\n")
    (programs / "tool").write_text("#!/bin/sh\necho of the tool\n")
    (programs / "tool").chmod(0o755)
    run_as = _HANDED_TO if os.getuid() == 0 else _TRANSLATED
    handles: list[int] = []

    def hand_over(name: str, content: bytes) -> int:
        handle = os.memfd_create(name)
        os.write(handle, content)
        os.lseek(handle, 0, os.SEEK_SET)
        handles.append(handle)
        return handle

    job = replace(
        _JOB,
        mounts=(Mount(str(skill), inside="/shared/skills/pdf"),),
        limits=RunLimits(),
        environment={"PATH": SEARCH_PATH},
    )
    options = render_job(job, run_as=run_as, programs=(str(programs),), hand_over=hand_over)
    script = f"""
pwd; cat file; echo $TOKEN; cat {INPUT_FILE}; echo; id -un; {programs}/tool; ls -A /; stat -c %a /shared /shared/skills
for place in / /etc /usr /input /shared /shared/skills/pdf /dev /proc /output /tmp /dev/shm; do
    (: > $place/new) 2>/dev/null && echo wrote $place
done
"""
    command = ["bwrap", *options, "--", *run_as.prefix, "sh", "-c", script]
    done = subprocess.run(command, pass_fds=handles, capture_output=True, text=True, check=False)
    for handle in handles:
        os.close(handle)
    beside = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"} & {*os.listdir("/")}
    top = tmp_path.parts[1]
    listed = sorted({"dev", "etc", "input", "output", "proc", "shared", "tmp", "usr", top, *beside})
    assert (done.stderr, done.stdout.splitlines()) == (
        "",
        [
            "/shared/skills/pdf",
            "of the skill",
            "hunter2",
            "{}",
            "skill",
            "of the tool",
            *listed,
            "755",
            "755",
            "wrote /output",
            "wrote /tmp",
            "wrote /dev/shm",
        ],
    )
