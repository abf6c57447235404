"""The contract of an engine, on a real Docker and a real Podman."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.containers.docker_engine import DockerEngine
from prowess.containers.ensuring import Action, Ensured, Strangers
from prowess.containers.mounts import Access, Mount, make_skills_mount
from prowess.containers.pinned_folders import find_replaced
from prowess.containers.podman_engine import PodmanEngine
from prowess.containers.spec import ContainerSpec
from prowess.containers.staleness import Changed, Fault, Part, StaleMount
from prowess.errors import Refused, WorldError
from prowess.sources.renaming import exchange
from tests.docker_engine import Docker
from tests.skills_on_disk import write_skill

from .conftest import Kit

pytestmark = pytest.mark.slow


@pytest.fixture
def spec(kit: Kit, active: Path) -> ContainerSpec:
    return ContainerSpec(
        "box", image=kit.image, mounts=(make_skills_mount(str(active)),), command=("sleep", "1000"), stop_seconds=0
    )


@pytest.mark.requirement("R83", "K5", "R111")
def test_container_reads_skills_and_cannot_write_them(kit: Kit, spec: ContainerSpec, active: Path) -> None:
    kit.engine.ensure(spec)
    assert kit.real.execute("box", "cat", "/shared/skills/pdf/SKILL.md") == (
        0,
        (active / "pdf" / "SKILL.md").read_text(),
    )
    assert kit.real.execute("box", "/shared/skills/pdf/scripts/run.sh") == (0, "ran\n")
    for command in (
        ("touch", "/shared/skills/new"),
        ("touch", "/shared/skills/pdf/scripts/new"),
        ("rm", "/shared/skills/pdf/SKILL.md"),
        ("mv", "/shared/skills/pdf", "/shared/skills/x"),
        ("sh", "-c", "echo x >> /shared/skills/pdf/SKILL.md"),
    ):
        status, said = kit.real.execute("box", *command)
        assert status == 1
        assert "Read-only file system" in said
    assert sorted(os.listdir(active / "pdf")) == ["SKILL.md", "scripts"]


@pytest.mark.requirement("R83", "K5")
def test_running_container_sees_an_update_and_a_removal(
    kit: Kit, spec: ContainerSpec, active: Path, tmp_path: Path
) -> None:
    kit.engine.ensure(spec)
    update = write_skill(tmp_path / "staging", "pdf", body="two\n")
    exchange(str(active / "pdf"), str(update))
    status, said = kit.real.execute("box", "cat", "/shared/skills/pdf/SKILL.md")
    assert (status, said.splitlines()[-1]) == (0, "two")
    assert kit.real.execute("box", "ls", "/shared/skills/pdf") == (0, "SKILL.md\n")
    (active / "pdf").rename(tmp_path / "gone")
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "")
    assert kit.engine.ensure(spec).action is Action.KEPT


def test_file_system_mounted_below_a_read_only_mount_is_not_shown(kit: Kit, spec: ContainerSpec, active: Path) -> None:
    nested = active / "nested"
    nested.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", nested], check=True)
    try:
        (nested / "file").write_text("x")
        kit.engine.ensure(spec)
        assert kit.real.execute("box", "ls", "/shared/skills/nested") == (0, "")
        assert kit.real.execute("box", "touch", "/shared/skills/nested/new")[0] == 1
        assert os.listdir(nested) == ["file"]
    finally:
        kit.engine.remove("box")
        subprocess.run(["umount", nested], check=True)


def test_container_is_as_closed_as_its_spec_says(kit: Kit, spec: ContainerSpec) -> None:
    kit.engine.ensure(
        replace(spec, user="65534:65534", root_access=Access.READ_ONLY, scratch=("/tmp",), environment={"A": "b c"})
    )
    status, said = kit.real.execute("box", "cat", "/proc/self/status")
    facts = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert (status, facts["CapBnd"], facts["NoNewPrivs"]) == (0, "0" * 16, "1")
    assert kit.real.execute("box", "ls", "/sys/class/net") == (0, "lo\n")
    assert kit.real.execute("box", "id", "-u") == (0, "65534\n")
    assert kit.real.execute("box", "touch", "/etc/new")[0] == 1
    assert kit.real.execute("box", "touch", "/tmp/new") == (0, "")
    assert kit.real.execute("box", "sh", "-c", "echo $A") == (0, "b c\n")
    assert "init" in kit.real.execute("box", "cat", "/proc/1/cmdline")[1]
    limits = "{{.HostConfig.PidsLimit}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"
    assert kit.real.run("inspect", "--format", limits, "box").split() == ["256", "536870912", "536870912"]


@pytest.mark.requirement("R83")
def test_right_container_is_created_once_and_then_kept(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(spec)
    assert made == Ensured(Action.CREATED, container_id=made.container_id)
    assert kit.engine.ensure(spec) == Ensured(Action.KEPT, container_id=made.container_id)


def test_stopped_container_is_started(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(spec)
    kit.real.run("stop", "--time", "0", "box")
    assert kit.engine.ensure(spec) == Ensured(Action.STARTED, container_id=made.container_id)
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "pdf\n")


def test_paused_container_goes_on(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(spec)
    kit.real.run("pause", "box")
    assert kit.engine.ensure(spec) == Ensured(Action.STARTED, container_id=made.container_id)
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "pdf\n")


def test_paused_container_that_is_stale_is_replaced(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(replace(spec, mounts=()))
    kit.real.run("pause", "box")
    mended = kit.engine.ensure(spec)
    assert (mended.action, mended.container_id != made.container_id) == (Action.RECREATED, True)


def _without_mount(spec: ContainerSpec, tmp_path: Path) -> ContainerSpec:
    return replace(spec, mounts=())


def _with_other_host(spec: ContainerSpec, tmp_path: Path) -> ContainerSpec:
    (tmp_path / "other").mkdir()
    return replace(spec, mounts=(make_skills_mount(str(tmp_path / "other")),))


def _writable(spec: ContainerSpec, tmp_path: Path) -> ContainerSpec:
    return replace(spec, mounts=(replace(spec.mounts[0], access=Access.READ_WRITE),))


def _partly_hidden(spec: ContainerSpec, tmp_path: Path) -> ContainerSpec:
    (tmp_path / "over").mkdir()
    return replace(spec, mounts=(*spec.mounts, Mount(str(tmp_path / "over"), inside="/shared/skills/pdf")))


def _with_network(spec: ContainerSpec, tmp_path: Path) -> ContainerSpec:
    return replace(spec, network="host")


@pytest.mark.requirement("R83", "R111")
@pytest.mark.parametrize(
    ("make_former", "reason"),
    [
        (_without_mount, Fault.MISSING),
        (_with_other_host, Fault.WRONG_HOST),
        (_writable, Fault.WRONG_ACCESS),
        (_partly_hidden, Fault.HIDDEN),
        (_with_network, Part.SPEC),
    ],
)
def test_stale_container_is_recreated_with_its_reason(
    kit: Kit,
    spec: ContainerSpec,
    tmp_path: Path,
    make_former: Callable[[ContainerSpec, Path], ContainerSpec],
    reason: Fault | Part,
) -> None:
    """D57, with the engine."""
    former = kit.engine.ensure(make_former(spec, tmp_path))
    mended = kit.engine.ensure(spec)
    assert mended.action is Action.RECREATED
    assert mended.container_id != former.container_id
    assert [one.fault if isinstance(one, StaleMount) else one.part for one in mended.reasons] == [reason]
    assert kit.engine.ensure(spec) == Ensured(Action.KEPT, container_id=mended.container_id)
    assert kit.real.execute("box", "ls", "/shared/skills/pdf") == (0, "SKILL.md\nscripts\n")
    assert kit.real.execute("box", "touch", "/shared/skills/new")[0] == 1


def test_container_of_an_image_that_has_changed_is_recreated(kit: Kit, spec: ContainerSpec) -> None:
    name = "localhost/changing:latest" if kit.image.startswith("localhost/") else "changing:latest"
    kit.real.import_image(name, note="one")
    kit.engine.ensure(replace(spec, image=name))
    kit.real.import_image(name, note="two")
    mended = kit.engine.ensure(replace(spec, image=name))
    assert mended.action is Action.RECREATED
    assert mended.reasons == (Changed(Part.IMAGE, message=f"image '{name}' is another by now"),)
    assert kit.real.execute("box", "cat", "/etc/note") == (0, "two")


def test_container_that_holds_a_replaced_folder_is_recreated(
    kit: Kit, spec: ContainerSpec, active: Path, tmp_path: Path
) -> None:
    kit.engine.ensure(spec)
    active.rename(tmp_path / "former")
    write_skill(active, "docx")
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "pdf\n")
    mended = kit.engine.ensure(spec)
    assert mended.action is Action.RECREATED
    message = f"mount '/shared/skills' shows a folder that was replaced: '{active}' is another by now"
    assert mended.reasons == (StaleMount("/shared/skills", fault=Fault.REPLACED, message=message),)
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "docx\n")


def test_container_is_left_alone_while_its_folder_is_gone(kit: Kit, spec: ContainerSpec, active: Path) -> None:
    made = kit.engine.ensure(spec)
    active.rename(active.with_name("former"))
    with pytest.raises(WorldError) as failed:
        kit.engine.ensure(spec)
    assert failed.value.message == f"mount '/shared/skills': there is no '{active}'"
    active.with_name("former").rename(active)
    assert kit.engine.ensure(spec) == Ensured(Action.KEPT, container_id=made.container_id)


def test_link_that_the_container_put_on_the_way_to_a_mount_shows_it_as_replaced(kit: Kit, spec: ContainerSpec) -> None:
    opened = replace(spec, dropped_capabilities=())
    kit.engine.ensure(opened)
    way = "mv /shared /moved; mkdir -p /own/skills; ln -s /own /shared"
    assert kit.real.execute("box", "sh", "-c", way.replace("ln", "busybox ln")) == (0, "")
    mended = kit.engine.ensure(opened)
    assert [reason.fault for reason in mended.reasons if isinstance(reason, StaleMount)] == [Fault.REPLACED]


def test_mount_is_found_where_a_link_of_the_image_leads(kit: Kit, spec: ContainerSpec, active: Path) -> None:
    mount = Mount(str(active), inside="/link/skills")
    opened = replace(spec, dropped_capabilities=(), mounts=(mount,))
    made = kit.engine.ensure(opened)
    assert kit.real.execute("box", "sh", "-c", "mv /link /real; busybox ln -s /real /link") == (0, "")
    assert kit.engine.ensure(opened) == Ensured(Action.KEPT, container_id=made.container_id)


def test_mount_by_a_link_of_the_host_is_kept(kit: Kit, spec: ContainerSpec, active: Path) -> None:
    os.symlink(active, active.with_name("link"))
    linked = replace(spec, mounts=(make_skills_mount(str(active.with_name("link"))),))
    made = kit.engine.ensure(linked)
    assert kit.engine.ensure(linked) == Ensured(Action.KEPT, container_id=made.container_id)


@pytest.mark.parametrize("name", ["a:b", 'ü,"x" y', "a\nb"])
def test_mount_with_an_odd_path_is_made_and_kept(kit: Kit, spec: ContainerSpec, active: Path, name: str) -> None:
    folder = active.rename(active.with_name(name))
    odd = replace(spec, mounts=(make_skills_mount(str(folder)),))
    made = kit.engine.ensure(odd)
    assert kit.real.execute("box", "ls", "/shared/skills") == (0, "pdf\n")
    assert kit.engine.ensure(odd) == Ensured(Action.KEPT, container_id=made.container_id)


def test_container_of_somebody_else_is_refused_and_left_alone(kit: Kit, spec: ContainerSpec) -> None:
    theirs = kit.real.run(
        "run", "--detach", "--init", "--network=none", "--name=box", kit.image, "sleep", "1000"
    ).strip()
    for attempt in (lambda: kit.engine.ensure(spec), lambda: kit.engine.remove("box")):
        with pytest.raises(Refused) as refused:
            attempt()
        assert refused.value.code == "foreign-container"
        assert refused.value.message == "container 'box' was not made by Prowess"
    assert kit.real.run("inspect", "--format", "{{.Id}} {{.State.Running}}", "box").split() == [theirs, "true"]


def test_container_of_somebody_else_is_replaced_if_that_is_said(kit: Kit, spec: ContainerSpec) -> None:
    kit.real.run("run", "--detach", "--init", "--network=none", "--name=box", kit.image, "sleep", "1000")
    assert kit.engine.ensure(spec, strangers=Strangers.REPLACE).action is Action.RECREATED
    assert kit.engine.ensure(spec).action is Action.KEPT
    kit.real.run("run", "--detach", "--init", "--network=none", "--name=other", kit.image, "sleep", "1000")
    assert kit.engine.remove("other", strangers=Strangers.REPLACE) is True


def test_name_is_not_taken_for_the_beginning_of_an_id(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(spec)
    assert kit.engine.remove(made.container_id[:12]) is False
    assert kit.engine.ensure(spec).action is Action.KEPT


def test_removed_container_is_gone(kit: Kit, spec: ContainerSpec) -> None:
    kit.engine.ensure(spec)
    assert kit.engine.remove("box") is True
    assert kit.engine.remove("box") is False
    assert kit.real.run("ps", "--all", "--quiet") == ""


def test_image_that_is_not_here_is_told_and_the_old_container_stays(kit: Kit, spec: ContainerSpec) -> None:
    with pytest.raises(WorldError) as failed:
        kit.engine.ensure(replace(spec, image="localhost/nothing:latest"))
    assert failed.value.hint == "pull or build the image"
    made = kit.engine.ensure(spec)
    with pytest.raises(WorldError) as failed:
        kit.engine.ensure(replace(spec, image="localhost/nothing:latest", network="host"))
    assert failed.value.code == "no-image"
    assert kit.engine.ensure(spec) == Ensured(Action.KEPT, container_id=made.container_id)


def test_folder_that_is_not_there_is_told(kit: Kit, spec: ContainerSpec, tmp_path: Path) -> None:
    missing = make_skills_mount(str(tmp_path / "missing"))
    with pytest.raises(WorldError) as failed:
        kit.engine.ensure(replace(spec, mounts=(missing,)))
    assert failed.value.hint == "sync first, so that the folder is there"
    assert not (tmp_path / "missing").exists()


def test_many_who_ensure_at_once_get_one_container(kit: Kit, spec: ContainerSpec) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(kit.engine.ensure, [spec] * 4))
    assert sorted(one.action for one in done).count(Action.CREATED) == 1
    assert len({one.container_id for one in done}) == 1


def test_command_that_ended_is_started_again(kit: Kit, spec: ContainerSpec) -> None:
    made = kit.engine.ensure(spec)
    pid = int(kit.real.run("inspect", "--format", "{{.State.Pid}}", "box"))
    os.kill(pid, signal.SIGKILL)
    kit.real.run("wait", "box")
    assert kit.engine.ensure(spec) == Ensured(Action.STARTED, container_id=made.container_id)


def test_process_that_is_not_of_the_container_is_not_looked_into(active: Path) -> None:
    pins = find_replaced((make_skills_mount(str(active)),), pid=os.getpid(), container_id="f" * 64)
    assert pins.replaced == ()
    assert pins.note.startswith("cannot look into the container (its processes are not on this machine)")
    assert find_replaced((), pid=2**22 + 1, container_id="f" * 64) == pins


def test_engine_that_is_not_there_is_told(tmp_path: Path) -> None:
    """In a process of its own: the SDK leaves a socket open that cannot connect."""
    code = (
        "from prowess.containers.docker_engine import DockerEngine\n"
        "from prowess.errors import WorldError\n"
        "try: DockerEngine()\n"
        "except WorldError as error: print(error.code, '|', error.hint)\n"
    )
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    hint = "install and start the engine (Debian: docker.io), or name it with DOCKER_HOST"
    assert (done.stdout, done.stderr) == (f"no-docker | {hint}\n", "")
    with pytest.raises(WorldError) as podman:
        PodmanEngine(("no-such-podman",)).remove("box")
    assert (podman.value.code, podman.value.hint) == ("no-podman", "install Podman (Debian: podman)")


def test_missing_sdk_is_told_with_what_to_install() -> None:
    code = (
        "import sys; sys.modules['docker'] = None\n"
        "from prowess.containers.docker_engine import DockerEngine\n"
        "from prowess.errors import WorldError\n"
        "try: DockerEngine()\n"
        "except WorldError as error: print(error.code, '|', error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("no-docker-sdk | pip install 'prowess[docker]'\n", "")


def test_engine_of_the_environment_is_used_and_given_back(
    docker_engine: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_engine.url)
    with DockerEngine() as engine:
        assert engine.remove("none") is False
