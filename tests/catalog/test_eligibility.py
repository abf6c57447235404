"""Whether what a skill needs is there."""

import sys
from pathlib import Path

import pytest

from prowess.catalog.eligibility import HostProbe, Probe, decide_eligibility
from prowess.skill.manifest import Requirements
from tests.catalog.probes import PaperProbe

_LINUX: Probe = PaperProbe(frozenset({"git", "uv"}), frozenset({"TOKEN"}), "linux", (3, 12, 4), frozenset({"mail"}))


@pytest.mark.requirement("K3")
def test_place_without_python_says_so() -> None:
    bare = PaperProbe(frozenset(), frozenset(), "linux", ())
    missing = ("there is no Python, and <4 is needed",)
    assert decide_eligibility(Requirements(python="<4"), bare) == missing


@pytest.mark.requirement("R121", "R127", "K3")
@pytest.mark.parametrize(
    ("requires", "missing"),
    [
        (Requirements(), ()),
        (Requirements(binaries=("git", "uv")), ()),
        (Requirements(binaries=("git", "jq")), ("the command 'jq' is not installed",)),
        (Requirements(any_binaries=("jq", "uv")), ()),
        (Requirements(any_binaries=("jq", "yq")), ("none of the commands jq, yq is installed",)),
        (Requirements(environment=("TOKEN", "KEY")), ("the variable KEY is not set",)),
        (Requirements(systems=("linux", "macos")), ()),
        (Requirements(systems=("macos", "windows")), ("the operating system is linux, not macos or windows",)),
        (Requirements(python=">=3.11"), ()),
        (Requirements(python=">=3.13"), ("Python is 3.12.4, not >=3.13",)),
        (Requirements(binaries=("jq",), environment=("KEY",), python=">=3.13", always=True), ()),
        (Requirements(systems=("macos",), always=True), ("the operating system is linux, not macos",)),
        (Requirements(tools=("Bash",), configuration=("a.b",)), ()),
        (Requirements(tools=("Bash", "mail")), ("the tool mail is off: no rule of the host is for it",)),
        (
            Requirements(binaries=("jq",), environment=("KEY",), systems=("macos",)),
            (
                "the operating system is linux, not macos",
                "the command 'jq' is not installed",
                "the variable KEY is not set",
            ),
        ),
    ],
)
def test_everything_that_is_missing_has_a_phrase(requires: Requirements, missing: tuple[str, ...]) -> None:
    assert decide_eligibility(requires, _LINUX) == missing


@pytest.mark.requirement("K3")
@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        *((">=3.11", True), (">=3.12", True), (">=3.12.4", True), (">=3.12.5", False), (">=4", False)),
        *(("<3.13", True), ("<3.12", False), ("<4", True), ("<=3.13", True), ("<=3.11", False)),
        *((">3.11", True), (">3.12.4", False), (">3.13", False)),
        *(("==3.12.*", True), ("==3.11.*", False), ("==3.12.4", True), ("==3.12.5", False), ("!=3.11.*", True)),
        *(("!=3.12.*", False), ("~=3.11", True), ("~=3.12.1", True), ("~=3.11.2", False), ("~=3.13", False)),
        *(("3.11", True), ("3.12.*", True), ("3.13", False)),
        *((">=3.11,<3.13", True), (">=3.11, <3.12", False), (" >= 3.11 , < 4 ", True)),
        *(("python3", False), (">=3.x", False), ("=>3.11", False), ("3.11 or later", False), (">=3.11;", False)),
    ],
)
def test_python_is_held_against_every_clause_and_an_unreadable_one_is_met_by_none(
    specifier: str, *, expected: bool
) -> None:
    assert (decide_eligibility(Requirements(python=specifier), _LINUX) == ()) is expected


# This machine


def _install(folder: Path, name: str, mode: int = 0o755) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(mode)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.requirement("K3")
def test_command_is_there_if_it_can_be_started(folder: Path) -> None:
    _install(folder, "tool")
    _install(folder, "text", 0o644)
    (folder / "directory").mkdir()
    probe = HostProbe()
    found = {name: probe.has_binary(name) for name in ("tool", "text", "directory", "missing")}
    assert found == {"tool": True, "text": False, "directory": False, "missing": False}


@pytest.mark.requirement("K3")
def test_command_that_is_installed_or_removed_later_is_seen(folder: Path) -> None:
    probe = HostProbe()
    seen: list[bool] = []
    states: list[object] = []
    for change in (lambda: None, lambda: _install(folder, "tool"), (folder / "tool").unlink):
        change()
        states.append(probe.state())
        seen.append(probe.has_binary("tool"))
    assert seen == [False, True, False]
    assert len(set(states)) == 3


@pytest.mark.requirement("K3")
def test_command_that_becomes_executable_is_seen(folder: Path) -> None:
    probe = HostProbe()
    _install(folder, "tool", 0o644)
    before = (probe.has_binary("tool"), probe.state())
    (folder / "tool").chmod(0o755)
    assert probe.state() != before[1]
    assert (before[0], probe.has_binary("tool")) == (False, True)


@pytest.mark.requirement("K3")
def test_path_that_changes_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder / "other"
    other.mkdir()
    _install(other, "tool")
    probe = HostProbe()
    assert not probe.has_binary("tool")
    states = [probe.state()]
    monkeypatch.setenv("PATH", f"{folder}:/nonexistent:{other}:")
    states.append(probe.state())
    assert probe.has_binary("tool")
    monkeypatch.delenv("PATH")
    states.append(probe.state())
    assert not probe.has_binary("tool")
    assert len(set(states)) == 3


@pytest.mark.requirement("K3")
@pytest.mark.parametrize("name", ["", "a b", "tool;ls", "./tool", "/bin/sh", "../tool", "tool\n", "$(tool)", "~/tool"])
def test_what_is_no_bare_name_is_never_looked_for(name: str, folder: Path) -> None:
    _install(folder, "tool")
    assert not HostProbe().has_binary(name)


@pytest.mark.requirement("K3")
def test_variable_counts_if_it_is_set_and_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = HostProbe()
    before = probe.state()
    monkeypatch.setenv("PROWESS_TEST_SET", "x")
    monkeypatch.setenv("PROWESS_TEST_EMPTY", "")
    names = ("PROWESS_TEST_SET", "PROWESS_TEST_EMPTY", "PROWESS_TEST_MISSING")
    assert [probe.has_variable(name) for name in names] == [True, False, False]
    assert probe.state() != before


@pytest.mark.requirement("K3")
def test_this_machine_is_known() -> None:
    probe = HostProbe()
    assert probe.system() in {"linux", "macos", "windows"}
    assert probe.python() == tuple(sys.version_info[:3])
    assert decide_eligibility(Requirements(systems=(probe.system(),), python=">=3.11"), probe) == ()
