"""Which sandbox is chosen: in order, with reasons, and never the host."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.errors import WorldError
from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.choosing import BACKENDS, SandboxChoice
from prowess.execution.engines.container_sandbox import ContainerSandbox
from prowess.execution.jobs import Captured, Ended, Job, Listener
from prowess.execution.probing import Facts, FactsCache
from prowess.execution.sandbox import NoSandbox, Probed, ScriptSandbox, hear_nothing
from prowess.policy import Backend, Execution

_INSTALL = (
    "install bubblewrap (Debian: apt-get install bubblewrap), or start Docker or Podman; "
    "`prowess doctor` tries all of them"
)
_REAL = (Backend.BUBBLEWRAP, Backend.DOCKER, Backend.PODMAN)


class DrawnSandbox:
    """Works, or says why it does not; keeps a diary of what is done to it."""

    def __init__(self, name: str, diary: list[str], *, fault: str = "") -> None:
        self.name = name
        self.fault = fault
        self.version = 1
        self._diary = diary
        diary.append(f"make {name}")

    def probe(self) -> Probed:
        return Probed(works=not self.fault, detail=self.fault)

    def identity(self) -> str:
        return f"{self.name} {self.version}"

    def run(self, job: Job, *, keep: str, listener: Listener = hear_nothing) -> Ended:
        assert (job.network, keep, listener) == (False, "", hear_nothing)
        self._diary.append(f"run {self.name}")
        if self.fault:
            raise NoSandbox(self.fault)
        said = f"Linux\nx\n//\n//\nsh\n{self.name}\n".encode()
        return Ended(0, Captured(said, len(said)), Captured(), timed_out=False, seconds=0.1)

    def close(self) -> None:
        self._diary.append(f"close {self.name}")
        if self.fault == "cannot close":
            raise WorldError(self.fault)


class Row:
    """Sandboxes of all names, some of which do not work."""

    def __init__(self, folder: Path, policy: Execution | None = None, /, **faults: str) -> None:
        self.diary: list[str] = []
        self.policies: list[Execution] = []
        self.made: dict[str, DrawnSandbox] = {}
        self.choice = SandboxChoice(
            policy or Execution(),
            FactsCache(str(folder)),
            backends={name: self._draw(name, faults.get(name, "")) for name in _REAL},
        )

    def _draw(self, name: str, fault: str) -> Callable[[Execution], ScriptSandbox]:
        def make(policy: Execution) -> ScriptSandbox:
            self.policies.append(policy)
            self.made[name] = DrawnSandbox(name, self.diary, fault=fault)
            return self.made[name]

        return make


def _facts(name: str) -> Facts:
    return Facts(frozenset({"sh", name}), "linux", "x")


# The table


def test_every_backend_but_auto_is_in_the_table_the_preferred_one_first() -> None:
    assert tuple(BACKENDS) == _REAL
    assert {*Backend} - {*_REAL} == {Backend.AUTO}


@pytest.mark.requirement("K2")
@pytest.mark.parametrize("name", ["host", "none", "local", "subprocess", ""])
def test_host_is_no_backend(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid Backend"):
        Backend(name)


def test_table_makes_the_sandboxes_of_its_names() -> None:
    made = {name: make(Execution(programs=("/opt",))) for name, make in BACKENDS.items()}
    assert {name: (type(sandbox), sandbox.name) for name, sandbox in made.items()} == {
        Backend.BUBBLEWRAP: (BubblewrapSandbox, "bubblewrap"),
        Backend.DOCKER: (ContainerSandbox, "docker"),
        Backend.PODMAN: (ContainerSandbox, "podman"),
    }
    assert "/opt@" in made[Backend.BUBBLEWRAP].identity()
    for sandbox in made.values():
        sandbox.close()


# Choosing


def test_first_that_works_is_chosen_and_the_others_are_not_made(tmp_path: Path) -> None:
    row = Row(tmp_path)
    assert row.choice.choose() == (row.made["bubblewrap"], _facts("bubblewrap"))
    assert row.diary == ["make bubblewrap", "run bubblewrap"]


def test_choice_falls_through_to_the_next_that_works(tmp_path: Path) -> None:
    row = Row(tmp_path, bubblewrap="no namespaces", docker="no engine")
    assert row.choice.choose() == (row.made["podman"], _facts("podman"))
    assert row.diary == [f"{verb} {name}" for name in _REAL for verb in ("make", "run")]


def test_choice_is_made_once(tmp_path: Path) -> None:
    row = Row(tmp_path, bubblewrap="no namespaces")
    first = row.choice.choose()
    written = list(row.diary)
    assert [row.choice.choose(), row.choice.choose(Backend.AUTO)] == [first, first]
    assert row.diary == written


@pytest.mark.requirement("R96")
def test_where_none_works_the_refusal_names_all_reasons_and_what_to_install(tmp_path: Path) -> None:
    row = Row(tmp_path, bubblewrap="no namespaces", docker="no engine", podman="no command")
    with pytest.raises(NoSandbox) as caught:
        row.choice.choose()
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "no-sandbox",
        "no sandbox works here, so no script is run (bubblewrap: no namespaces; docker: no engine; podman: no command)",
        _INSTALL,
    )


def test_where_nothing_is_installed_the_real_ones_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    choice = SandboxChoice(Execution(), FactsCache(str(tmp_path / "cache")))
    with pytest.raises(NoSandbox) as caught:
        choice.choose()
    choice.close()
    assert caught.value.message == (
        "no sandbox works here, so no script is run (bubblewrap: there is no bubblewrap here; "
        "docker: there is no command 'docker'; podman: there is no command 'podman')"
    )
    assert caught.value.hint == _INSTALL


def test_one_that_works_later_is_chosen_then(tmp_path: Path) -> None:
    row = Row(tmp_path, bubblewrap="no", docker="no", podman="no")
    with pytest.raises(NoSandbox):
        row.choice.choose()
    row.made["docker"].fault = ""
    assert row.choice.choose() == (row.made["docker"], _facts("docker"))


def test_one_that_works_no_more_gives_way_to_another(tmp_path: Path) -> None:
    row = Row(tmp_path)
    row.choice.choose()
    row.made["bubblewrap"].fault, row.made["bubblewrap"].version = "it was removed", 2
    assert row.choice.choose() == (row.made["docker"], _facts("docker"))


def test_named_sandbox_is_used_and_no_other_in_its_place(tmp_path: Path) -> None:
    row = Row(tmp_path, docker="no engine")
    assert row.choice.choose(Backend.PODMAN) == (row.made["podman"], _facts("podman"))
    with pytest.raises(NoSandbox, match="no engine"):
        row.choice.choose(Backend.DOCKER)
    assert row.diary == ["make podman", "run podman", "make docker", "run docker"]


def test_sandbox_of_the_settings_is_used_unless_another_is_named(tmp_path: Path) -> None:
    policy = replace(Execution(), backend=Backend.PODMAN, image="some-image")
    row = Row(tmp_path, policy)
    assert row.choice.choose()[0] is row.choice.get(Backend.PODMAN)
    assert row.choice.choose(Backend.DOCKER)[0] is row.choice.get(Backend.DOCKER)
    assert row.choice.choose(Backend.AUTO)[0] is row.choice.get(Backend.BUBBLEWRAP)
    assert row.policies == [policy] * 3


@pytest.mark.requirement("R96")
def test_real_bubblewrap_is_chosen_on_this_machine(tmp_path: Path) -> None:
    choice = SandboxChoice(Execution(), FactsCache(str(tmp_path)))
    sandbox, facts = choice.choose()
    assert (type(sandbox), "sh" in facts.commands) == (BubblewrapSandbox, True)
    choice.close()


# Closing


def test_closing_closes_what_was_made_and_nothing_else(tmp_path: Path) -> None:
    row = Row(tmp_path, bubblewrap="no namespaces")
    row.choice.choose()
    row.diary.clear()
    row.choice.close()
    assert sorted(row.diary) == ["close bubblewrap", "close docker"]
    row.choice.close()
    assert len(row.diary) == 2


def test_one_that_cannot_close_keeps_no_other_open(tmp_path: Path) -> None:
    for faulty in _REAL:
        row = Row(tmp_path, **{faulty: "cannot close"})
        for name in _REAL:
            row.choice.get(name)
        row.diary.clear()
        with pytest.raises(WorldError, match="cannot close"):
            row.choice.close()
        assert sorted(row.diary) == [f"close {name}" for name in _REAL]


def test_closed_choice_can_be_used_again(tmp_path: Path) -> None:
    row = Row(tmp_path)
    row.choice.choose()
    row.choice.close()
    assert row.choice.choose() == (row.made["bubblewrap"], _facts("bubblewrap"))
