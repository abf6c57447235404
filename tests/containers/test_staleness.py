"""Whether a container is judged rightly by what its engine tells."""

from typing import Any

import pytest

from prowess.containers.inspection import Inspected, SeenMount, parse_inspected
from prowess.containers.mounts import Access, Mount, make_skills_mount
from prowess.containers.spec import ContainerSpec
from prowess.containers.staleness import (
    Changed,
    Fault,
    Part,
    StaleMount,
    is_ours,
    judge_container,
    judge_mounts,
    make_labels,
)

_HOME = Mount("/data/home", inside="/home", access=Access.READ_WRITE)
_SKILLS = make_skills_mount("/data/active")
_HOME_SEEN = {"Type": "bind", "Source": "/data/home", "Destination": "/home", "RW": True}
_SKILLS_SEEN = {"Type": "bind", "Source": "/data/active", "Destination": "/shared/skills", "RW": False}
_SPEC = ContainerSpec("box", image="img", mounts=(_HOME, _SKILLS), command=("sleep", "9"))


def _told(*mounts: dict[str, Any], tmpfs: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "Id": "abc",
        "Name": "/box",
        "Image": "sha256:1",
        "State": {"Status": "running", "Pid": 7},
        "Config": {"Labels": make_labels(_SPEC)},
        "HostConfig": {"Tmpfs": tmpfs},
        "Mounts": list(mounts),
    }


def _skills_fault(fault: Fault, message: str) -> tuple[StaleMount, ...]:
    return (StaleMount("/shared/skills", fault=fault, message=message),)


@pytest.mark.requirement("R83")
@pytest.mark.parametrize(
    ("told", "faults"),
    [
        (_told(_HOME_SEEN, _SKILLS_SEEN), ()),
        (_told(_SKILLS_SEEN, {**_SKILLS_SEEN, "Destination": "/other"}, _HOME_SEEN, tmpfs={"/tmp": ""}), ()),
        (_told({**_SKILLS_SEEN, "Source": "/data//active/", "Destination": "/shared/skills/"}, _HOME_SEEN), ()),
        (_told(_HOME_SEEN), _skills_fault(Fault.MISSING, "mount '/shared/skills' is missing")),
        (
            _told(_HOME_SEEN, {**_SKILLS_SEEN, "Source": "/data/old"}),
            _skills_fault(Fault.WRONG_HOST, "mount '/shared/skills' shows '/data/old' and not '/data/active'"),
        ),
        (
            _told(_HOME_SEEN, {**_SKILLS_SEEN, "Type": "volume"}),
            _skills_fault(
                Fault.WRONG_HOST, "mount '/shared/skills' shows no folder of the host and not '/data/active'"
            ),
        ),
        (
            _told(_HOME_SEEN, tmpfs={"/shared/skills": "rw"}),
            _skills_fault(
                Fault.WRONG_HOST, "mount '/shared/skills' shows no folder of the host and not '/data/active'"
            ),
        ),
        (
            _told(_HOME_SEEN, {**_SKILLS_SEEN, "RW": True}),
            _skills_fault(Fault.WRONG_ACCESS, "mount '/shared/skills' is 'rw' and not 'ro'"),
        ),
        (
            _told(_HOME_SEEN, _SKILLS_SEEN, {**_HOME_SEEN, "Destination": "/shared/skills/pdf"}),
            _skills_fault(Fault.HIDDEN, "mount '/shared/skills' is hidden in part by '/shared/skills/pdf'"),
        ),
        (
            _told(_HOME_SEEN, _SKILLS_SEEN, tmpfs={"/shared/skills/x/y": ""}),
            _skills_fault(Fault.HIDDEN, "mount '/shared/skills' is hidden in part by '/shared/skills/x/y'"),
        ),
    ],
)
def test_mounts_are_judged_by_what_the_engine_tells(told: dict[str, Any], faults: tuple[StaleMount, ...]) -> None:
    """D57, the verdict."""
    assert judge_mounts(told, (_HOME, _SKILLS)) == faults


def test_every_wanted_mount_of_an_empty_answer_is_missing() -> None:
    assert [fault.fault for fault in judge_mounts({}, (_HOME, _SKILLS))] == [Fault.MISSING, Fault.MISSING]


def test_source_that_was_asked_for_counts_where_an_engine_tells_another() -> None:
    told = _told(_HOME_SEEN, {**_SKILLS_SEEN, "Source": "/host_mnt/data/active"})
    told["HostConfig"]["Mounts"] = [{"Type": "bind", "Source": "/data/active", "Target": "/shared/skills"}]
    assert judge_mounts(told, (_HOME, _SKILLS)) == ()


def test_inspected_is_a_value() -> None:
    assert parse_inspected(_told(_SKILLS_SEEN, tmpfs={"/tmp/": "rw"})) == Inspected(
        "abc",
        name="box",
        status="running",
        pid=7,
        image_id="sha256:1",
        labels=make_labels(_SPEC),
        mounts={
            "/tmp": SeenMount("", access=Access.READ_WRITE),
            "/shared/skills": SeenMount("/data/active", access=Access.READ_ONLY),
        },
    )


def test_container_that_is_as_it_shall_be_is_not_stale() -> None:
    inspected = parse_inspected(_told(_HOME_SEEN, _SKILLS_SEEN))
    assert judge_container(inspected, _SPEC, image_id="sha256:1") == ()
    assert judge_container(inspected, _SPEC, image_id=None) == ()


def test_other_image_and_other_options_and_a_hopeless_state_are_told_apart() -> None:
    told = _told(_HOME_SEEN, _SKILLS_SEEN)
    other = ContainerSpec("box", image="img", mounts=_SPEC.mounts, command=_SPEC.command, network="bridge")
    assert judge_container(parse_inspected(told), _SPEC, image_id="sha256:2") == (
        Changed(Part.IMAGE, message="image 'img' is another by now"),
    )
    assert judge_container(parse_inspected(told), other, image_id="sha256:1") == (
        Changed(Part.SPEC, message="the container was made with other options"),
    )
    told["State"]["Status"] = "dead"
    assert judge_container(parse_inspected(told), _SPEC, image_id="sha256:1") == (
        Changed(Part.STATE, message="the container is 'dead'"),
    )


def test_mount_that_is_no_longer_wanted_makes_other_options() -> None:
    inspected = parse_inspected(_told(_HOME_SEEN, _SKILLS_SEEN))
    fewer = ContainerSpec("box", image="img", mounts=(_SKILLS,), command=_SPEC.command)
    assert [reason.message for reason in judge_container(inspected, fewer, image_id=None)] == [
        "the container was made with other options"
    ]


def test_order_of_variables_makes_no_other_container() -> None:
    one = ContainerSpec("box", image="img", environment={"A": "1", "B": "2"})
    two = ContainerSpec("box", image="img", environment={"B": "2", "A": "1"})
    assert make_labels(one) == make_labels(two)


def test_container_made_from_an_image_of_ours_is_not_ours() -> None:
    told = _told()
    assert is_ours(parse_inspected(told))
    assert not is_ours(parse_inspected({**told, "Name": "/other"}))
    assert not is_ours(parse_inspected({**told, "Config": {"Labels": None}}))
