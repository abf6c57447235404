"""How mounts and containers are said to commands."""

import csv
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.containers.arguments import (
    render_binds,
    render_bubblewrap,
    render_docker_run,
    render_podman_create,
    render_podman_run,
)
from prowess.containers.mounts import Access, Mount, make_skills_mount
from prowess.containers.spec import ContainerSpec
from prowess.errors import SettingsError

from .conftest import Kit

_HOME = Mount("/data/u1/home", inside="/home", access=Access.READ_WRITE)
_SKILLS = make_skills_mount("/data/u1/skills/active")
_ODD_NAMES = ["a,b", "a:b", "a b", 'a"b', "a'b", "a=b", "a\\b", "a\nb", '"q"', " a ", 'ü,"x":$y', "-v", "readonly,rw"]


@pytest.mark.requirement("R83", "R111")
def test_binds_are_home_and_skills_read_only() -> None:
    """D56."""
    assert render_binds((_SKILLS, _HOME)) == ("/data/u1/home:/home", "/data/u1/skills/active:/shared/skills:ro")


@pytest.mark.requirement("R83")
def test_bind_cannot_name_a_path_with_a_colon() -> None:
    with pytest.raises(SettingsError) as refused:
        render_binds((make_skills_mount("/data/a:b"),))
    assert refused.value.message == "a bind cannot name '/data/a:b' at '/shared/skills': ':' separates its parts"


_SAFE = (
    "--name=box",
    "--network=none",
    "--init",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--pids-limit=256",
    "--memory=536870912",
    "--memory-swap=536870912",
    "--stop-timeout=5",
)
_HOME_OPTION = "--mount=type=bind,source=/data/u1/home,target=/home"
_SKILLS_OPTION = "--mount=type=bind,source=/data/u1/skills/active,target=/shared/skills,readonly"


@pytest.mark.requirement("R83")
def test_container_is_closed_unless_its_spec_says_otherwise() -> None:
    spec = ContainerSpec("box", image="img", mounts=(_SKILLS, _HOME), command=("sleep", "9"))
    mounts = (_HOME_OPTION, _SKILLS_OPTION)
    assert render_docker_run(spec) == ("docker", "run", "--detach", *_SAFE, *mounts, "img", "sleep", "9")
    mounts = (_HOME_OPTION, f"{_SKILLS_OPTION},bind-nonrecursive")
    assert render_podman_run(spec) == ("podman", "run", "--detach", *_SAFE, *mounts, "img", "sleep", "9")
    create = render_podman_create(spec, labels={"a": "b"})
    assert create == ("podman", "create", "--pull=never", *_SAFE, *mounts, "--label=a=b", "img", "sleep", "9")


def test_every_field_of_a_spec_is_said() -> None:
    spec = ContainerSpec(
        "box",
        image="img",
        environment={"B": "2 3", "A": "1"},
        labels={"l": "v"},
        user="65534:65534",
        work_folder="/work",
        network="bridge",
        process_one="command",
        root_access=Access.READ_ONLY,
        scratch=("/tmp",),
        scratch_bytes=1024,
        added_capabilities=("CHOWN",),
        dropped_capabilities=("NET_RAW",),
        security_options=(),
        pids_limit=64,
        memory_bytes=1048576,
        cpus=1.5,
        stop_seconds=1,
    )
    assert render_docker_run(spec, program=("sudo", "docker")) == (
        "sudo",
        "docker",
        "run",
        "--detach",
        "--name=box",
        "--network=bridge",
        "--read-only",
        "--tmpfs=/tmp:rw,size=1024,mode=1777,noexec,nosuid,nodev",
        "--cap-drop=NET_RAW",
        "--cap-add=CHOWN",
        "--pids-limit=64",
        "--memory=1048576",
        "--memory-swap=1048576",
        "--cpus=1.5",
        "--stop-timeout=1",
        "--user=65534:65534",
        "--workdir=/work",
        "--env=A=1",
        "--env=B=2 3",
        "--label=l=v",
        "img",
    )


@pytest.mark.parametrize(
    ("mounts", "message"),
    [
        ((Mount("/t", inside="private:/.skills/x"),), "mount 'private:/.skills/x' has no path in a container"),
        ((_SKILLS, make_skills_mount("/other")), "mount '/shared/skills' is taken"),
        ((Mount("/a", inside="/"),), "mount '/' is taken"),
        (
            (Mount("/data/u1", inside="/data", access=Access.READ_WRITE), _SKILLS),
            "mount '/shared/skills' is read-only, but '/data/skills/active' gives leave to write the same files",
        ),
        (
            (make_skills_mount("/a\udcff"),),
            "mount '/shared/skills' is not UTF-8, and engines take nothing else",
        ),
    ],
)
def test_mounts_that_no_container_should_have_are_refused(mounts: tuple[Mount, ...], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        ContainerSpec("box", image="img", mounts=mounts)
    assert refused.value.message == message


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "x" * 201])
def test_container_needs_a_name_that_engines_take(name: str) -> None:
    with pytest.raises(SettingsError):
        ContainerSpec(name, image="img")


@pytest.mark.parametrize("image", ["", "--privileged"])
def test_image_is_never_an_option(image: str) -> None:
    with pytest.raises(SettingsError):
        ContainerSpec("box", image=image)


def test_carriage_return_cannot_be_said_to_a_command() -> None:
    spec = ContainerSpec("box", image="img", mounts=(make_skills_mount("/a\r\nb"),))
    with pytest.raises(SettingsError):
        render_docker_run(spec)


def test_variable_with_an_odd_name_is_refused() -> None:
    with pytest.raises(SettingsError):
        ContainerSpec("box", image="img", environment={"A=B": "1"})


def test_bubblewrap_mounts_parents_first() -> None:
    nested = Mount("/n", inside="/shared/skills/n")
    assert render_bubblewrap((nested, _HOME, _SKILLS)) == (
        *("--bind", "/data/u1/home", "/home"),
        *("--ro-bind", "/data/u1/skills/active", "/shared/skills"),
        *("--ro-bind", "/n", "/shared/skills/n"),
    )


def test_bubblewrap_mounts_nothing_below_a_folder_that_a_skill_can_write() -> None:
    with pytest.raises(SettingsError) as refused:
        render_bubblewrap((_HOME, Mount("/s", inside="/home/skills")))
    assert refused.value.message == "mount '/home/skills' lies below '/home', where links can be written"


@given(name=st.text(st.characters(exclude_characters="/\0\r", exclude_categories=["Cs"])).filter(str.strip))
def test_law_mount_option_is_read_back_as_it_was_meant(name: str) -> None:
    mount = make_skills_mount(f"/data/x{name}")
    *_, option, _ = render_docker_run(ContainerSpec("box", image="img", mounts=(mount,)))
    (fields,) = csv.reader(io.StringIO(option.removeprefix("--mount="), newline=""))
    assert fields == ["type=bind", f"source={mount.host}", "target=/shared/skills", "readonly"]


@pytest.mark.slow
@pytest.mark.requirement("R83")
@pytest.mark.parametrize("name", _ODD_NAMES)
def test_odd_paths_survive_the_argument_list(kit: Kit, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "SKILL.md").write_text("odd")
    mounts = (make_skills_mount(str(folder)),)
    spec = ContainerSpec("odd", image=kit.image, mounts=mounts, command=("cat", "/shared/skills/SKILL.md"))
    run = render_podman_run if kit.image.startswith("localhost/") else render_docker_run
    command = run(spec, program=getattr(kit.real, "command", ("docker",)))
    done = kit.real.start_command(tuple("--rm" if part == "--detach" else part for part in command))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"odd", b"")


def _bubblewrap(mounts: tuple[Mount, ...], *command: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("bwrap") is None:
        pytest.fail("bubblewrap is not installed: apt-get install bubblewrap")
    system = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]
    system += ["--symlink", "usr/lib64", "/lib64"] if os.path.exists("/lib64") else []
    options = ["--unshare-all", "--die-with-parent", *system, "--proc", "/proc", "--dev", "/dev"]
    arguments = ["bwrap", *options, *render_bubblewrap(mounts), *command]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.requirement("R86", "K5")
def test_process_under_bubblewrap_reads_skills_and_cannot_write_them(active: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    home = Mount(str(tmp_path / "home"), inside="/home", access=Access.READ_WRITE)
    mounts = (home, make_skills_mount(str(active)))
    done = _bubblewrap(mounts, "cat", "/shared/skills/pdf/SKILL.md")
    assert (done.returncode, done.stdout) == (0, (active / "pdf" / "SKILL.md").read_text())
    for command in (
        ("touch", "/shared/skills/new"),
        ("touch", "/shared/skills/pdf/new"),
        ("rm", "/shared/skills/pdf/SKILL.md"),
        ("mv", "/shared/skills/pdf", "/shared/skills/x"),
        ("chmod", "0777", "/shared/skills/pdf/SKILL.md"),
    ):
        done = _bubblewrap(mounts, *command)
        assert done.returncode == 1
        assert "Read-only file system" in done.stderr
    assert _bubblewrap(mounts, "touch", "/home/new").returncode == 0
    assert os.listdir(tmp_path / "home") == ["new"]


@pytest.mark.slow
@pytest.mark.parametrize("name", _ODD_NAMES)
def test_odd_paths_survive_bubblewrap(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "SKILL.md").write_text("odd")
    done = _bubblewrap((make_skills_mount(str(folder)),), "cat", "/shared/skills/SKILL.md")
    assert (done.returncode, done.stdout) == (0, "odd")
