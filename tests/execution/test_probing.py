"""What a sandbox has: found out inside it, remembered on disk, and what counts for the eligibility of skills."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prowess.catalog.eligibility import decide_eligibility
from prowess.errors import WorldError
from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.jobs import SEARCH_PATH, Captured, Ended, Job, Listener
from prowess.execution.probing import Facts, FactsCache, SandboxProbe, gather_facts
from prowess.execution.sandbox import NoSandbox, Probed, ScriptSandbox, hear_nothing
from prowess.skill.manifest import Requirements

_SAID = "Linux\nriscv64\n//\n3 12 1 glibc 2.39\n//\nsh\npython3\nonly-inside\n"
_FACTS = Facts(frozenset({"sh", "python3", "only-inside"}), "linux", "riscv64", (3, 12, 1), "glibc 2.39")


class CountingSandbox:
    """Says always the same, and counts how often it is asked."""

    name = "counting"

    def __init__(self, said: str = _SAID, *, status: int = 0, stderr: str = "") -> None:
        self.said = said
        self.version = "1"
        self.identities = self.runs = 0
        self._status = status
        self._stderr = stderr.encode()

    def probe(self) -> Probed:
        return Probed(works=True, detail="")

    def identity(self) -> str:
        self.identities += 1
        return f"counting {self.version}"

    def run(self, job: Job, *, keep: str, listener: Listener = hear_nothing) -> Ended:
        assert (job.network, job.mounts, job.secrets, keep, listener) == (False, (), {}, "", hear_nothing)
        self.runs += 1
        stdout = Captured(self.said.encode("utf-8", "surrogateescape"), len(self.said))
        return Ended(self._status, stdout, Captured(self._stderr), timed_out=False, seconds=0.1)

    def close(self) -> None:
        pass


# Looking around


def _list_commands() -> set[str]:
    """Return the names of all programs of this machine that everybody may start."""
    folders = [folder for folder in SEARCH_PATH.split(":") if os.path.isdir(folder)]
    return {name for folder in folders for name in os.listdir(folder) if _can_start(os.path.join(folder, name))}


def _can_start(path: str) -> bool:
    return os.path.isfile(path) and os.stat(path).st_mode & 0o001 != 0


@pytest.mark.requirement("K3")
def test_facts_of_bubblewrap_are_those_of_this_machine() -> None:
    facts = gather_facts(BubblewrapSandbox())
    assert facts.commands == _list_commands()
    assert (facts.system, facts.machine) == ("linux", platform.machine())
    ask = "import sys, platform as p; print(*sys.version_info[:3], *p.libc_ver())"
    done = subprocess.run(
        ["python3", "-c", ask], env={"PATH": SEARCH_PATH}, capture_output=True, text=True, check=False
    )
    words = done.stdout.split()
    assert (facts.python, facts.libc) == (tuple(map(int, words[:3])), " ".join(words[3:]))


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (_SAID, _FACTS),
        ("Linux\nx86_64\n//\n//\nsh\n", Facts(frozenset({"sh"}), "linux", "x86_64")),
        ("Darwin\narm64\n//\n3 9 6\n//\nsh\n", Facts(frozenset({"sh"}), "macos", "arm64", (3, 9, 6))),
        ("FreeBSD\namd64\n//\n//\n", Facts(frozenset(), "freebsd", "amd64")),
        ("//\n//\nsh\n", Facts(frozenset({"sh"}), "", "")),
        ("Linux\nx\n//\nno such thing here\n//\nsh\n", Facts(frozenset({"sh"}), "linux", "x")),
        ("Linux\nx\n//\n3 x 1 glibc 2\n//\nsh\n", Facts(frozenset({"sh"}), "linux", "x")),
        (f"Linux\nx\n//\n3 {'9' * 5_000} 1\n//\nsh\n", Facts(frozenset({"sh"}), "linux", "x")),
        ("Linux\nx\n//\n//\na b\n//\n\udcff\n", Facts(frozenset({"a b", "//", "\ufffd"}), "linux", "x")),
    ],
)
def test_what_a_sandbox_says_is_read_with_suspicion(said: str, facts: Facts) -> None:
    assert gather_facts(CountingSandbox(said)) == facts


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [
        (CountingSandbox("", status=127, stderr="sh: not found\n"), "counting does not work: sh: not found"),
        (CountingSandbox("", status=137), "counting does not work: a trial ended with 137"),
        (CountingSandbox("Linux\nx\n//\n", status=0), "counting does not work: a trial ended with 0"),
    ],
)
def test_sandbox_that_says_too_little_does_not_work(sandbox: CountingSandbox, message: str) -> None:
    with pytest.raises(NoSandbox) as caught:
        gather_facts(sandbox)
    assert caught.value.message == message


# Remembering


def test_facts_are_found_out_once_and_for_other_processes_too(tmp_path: Path) -> None:
    sandbox, cache = CountingSandbox(), FactsCache(str(tmp_path / "cache"))
    assert [cache.get(sandbox) for _ in range(3)] == [_FACTS] * 3
    other = CountingSandbox()
    assert FactsCache(str(tmp_path / "cache")).get(other) == _FACTS
    assert (sandbox.runs, other.runs) == (1, 0)


def test_facts_of_bubblewrap_survive_on_disk(tmp_path: Path) -> None:
    facts = FactsCache(str(tmp_path)).get(BubblewrapSandbox())
    unused = CountingSandbox()
    unused.identity = BubblewrapSandbox().identity
    assert FactsCache(str(tmp_path)).get(unused) == facts
    assert unused.runs == 0


def test_changed_identity_looks_again(tmp_path: Path) -> None:
    sandbox, cache = CountingSandbox(), FactsCache(str(tmp_path))
    cache.get(sandbox)
    sandbox.version, sandbox.said = "2", "Linux\nx86_64\n//\n//\nsh\n"
    assert (cache.get(sandbox), sandbox.runs) == (Facts(frozenset({"sh"}), "linux", "x86_64"), 2)
    sandbox.version = "1"
    assert (cache.get(sandbox), sandbox.runs) == (_FACTS, 2)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{}",
        b"null",
        b"[]",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"commands": 1}',
        b'{"commands": ["sh"], "python": ["x"]}',
        b'{"commands": []}',
        b'{"commands": ["sh"], "system": "li',
        b" " * (1 << 22) + b'{"commands": ["sh"]}',
    ],
    ids=lambda content: repr(content[:40]),
)
def test_damaged_file_is_ignored_and_replaced(tmp_path: Path, content: bytes) -> None:
    FactsCache(str(tmp_path)).get(CountingSandbox())
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(content)
    sandbox = CountingSandbox()
    assert (FactsCache(str(tmp_path)).get(sandbox), sandbox.runs) == (_FACTS, 1)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [whole]


def test_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    sandbox = CountingSandbox()
    assert FactsCache(str(tmp_path / "file" / "cache")).get(sandbox) == _FACTS
    (tmp_path / "cache").mkdir()
    FactsCache(str(tmp_path / "cache")).get(sandbox)
    [file] = (tmp_path / "cache").iterdir()
    file.unlink()
    file.mkdir()
    assert (FactsCache(str(tmp_path / "cache")).get(sandbox), sandbox.runs) == (_FACTS, 3)


def test_failure_is_not_remembered(tmp_path: Path) -> None:
    cache = FactsCache(str(tmp_path))
    with pytest.raises(NoSandbox):
        cache.get(CountingSandbox("", status=1))
    assert (cache.get(CountingSandbox()), len(os.listdir(tmp_path))) == (_FACTS, 1)


def test_cache_keeps_a_bounded_number_of_files(tmp_path: Path) -> None:
    sandbox, cache = CountingSandbox(), FactsCache(str(tmp_path))
    for version in range(40):
        sandbox.version = str(version)
        cache.get(sandbox)
    assert len(os.listdir(tmp_path)) == 20
    again = CountingSandbox()
    again.version = "39"
    assert (FactsCache(str(tmp_path)).get(again), again.runs) == (_FACTS, 0)


def test_identity_may_hold_any_path(tmp_path: Path) -> None:
    sandbox = CountingSandbox()
    sandbox.version = "/opt/\udcff"
    assert FactsCache(str(tmp_path)).get(sandbox) == _FACTS


# Answering


def _make_probe(tmp_path: Path, sandbox: ScriptSandbox | None) -> SandboxProbe:
    return SandboxProbe(lambda: sandbox, FactsCache(str(tmp_path / "cache")))


@pytest.mark.requirement("K3")
def test_probe_answers_for_the_sandbox(tmp_path: Path) -> None:
    probe = _make_probe(tmp_path, CountingSandbox())
    found = (probe.has_binary("only-inside"), probe.has_binary("ls"), probe.system(), probe.python())
    assert found == (True, False, "linux", (3, 12, 1))


@pytest.mark.requirement("K3")
def test_probe_answers_for_this_machine_where_there_is_no_sandbox(tmp_path: Path) -> None:
    for sandbox in (None, CountingSandbox("", status=1)):
        probe = _make_probe(tmp_path, sandbox)
        found = (probe.has_binary("only-inside"), probe.has_binary("ls"), probe.system(), probe.python())
        assert found == (False, True, "linux", tuple(sys.version_info[:3]))


@pytest.mark.requirement("K3")
def test_command_that_only_the_host_has_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "host-only-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    wanted = Requirements(binaries=("host-only-tool", "sh"))
    inside, outside = _make_probe(tmp_path, BubblewrapSandbox()), _make_probe(tmp_path, None)
    missing = ("the command 'host-only-tool' is not installed",)
    assert (decide_eligibility(wanted, inside), decide_eligibility(wanted, outside)) == (missing, ())


@pytest.mark.requirement("K3")
def test_python_of_the_host_does_not_count_for_a_sandbox_without_one(tmp_path: Path) -> None:
    probe = _make_probe(tmp_path, CountingSandbox("Linux\nx\n//\n//\nsh\n"))
    assert probe.python() == ()
    assert decide_eligibility(Requirements(python=">=3.8"), probe) != ()


def test_variable_counts_if_the_host_or_the_secrets_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_HOST", "x")
    probe = SandboxProbe(lambda: None, FactsCache(str(tmp_path)), find_secrets=lambda: {"KEPT"})
    assert [probe.has_variable(name) for name in ("OF_HOST", "KEPT", "NEITHER")] == [True, True, False]


# State


def _refuse() -> ScriptSandbox:
    raise AssertionError("a sandbox was looked for")


def test_state_chooses_no_sandbox_before_one_was_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_HOST", "x")
    probe = SandboxProbe(_refuse, FactsCache(str(tmp_path)))
    assert probe.state() == probe.state()
    probe.has_variable("OF_HOST")
    states = [probe.state()]
    assert decide_eligibility(Requirements(environment=("OF_HOST",)), probe) == ()
    states.append(probe.state())
    assert states[0] == states[1]


def _ask_for_a_binary(probe: SandboxProbe) -> object:
    return probe.has_binary("sh")


@pytest.mark.parametrize("ask", [_ask_for_a_binary, SandboxProbe.system, SandboxProbe.python])
def test_state_follows_the_sandbox_once_it_has_answered(tmp_path: Path, ask: Callable[[SandboxProbe], object]) -> None:
    sandbox = CountingSandbox()
    probe = _make_probe(tmp_path, sandbox)
    before = (probe.state(), sandbox.identities)
    ask(probe)
    states = [probe.state(), probe.state()]
    sandbox.version = "2"
    states.append(probe.state())
    assert before[1] == 0
    assert states[0] == states[1] != states[2]
    assert sandbox.runs == 1


def test_state_differs_when_a_secret_that_was_asked_for_comes_or_goes(tmp_path: Path) -> None:
    kept: set[str] = set()
    probe = SandboxProbe(_refuse, FactsCache(str(tmp_path)), find_secrets=lambda: kept)
    assert not probe.has_variable("TOKEN")
    states = [probe.state()]
    for change in (lambda: kept.add("OTHER"), lambda: kept.add("TOKEN"), lambda: kept.remove("TOKEN")):
        change()
        states.append(probe.state())
    assert states[0] == states[1] == states[3] != states[2]


def test_state_asks_once_for_the_secrets_however_many_count(tmp_path: Path) -> None:
    asked: list[None] = []

    def find() -> set[str]:
        asked.append(None)
        return {"A"}

    probe = SandboxProbe(_refuse, FactsCache(str(tmp_path)), find_secrets=find)
    assert [probe.has_variable(name) for name in ("A", "B", "C")] == [True, False, False]
    asked.clear()
    probe.state()
    assert len(asked) == 1


def test_sandbox_that_cannot_tell_its_identity_harms_no_view(tmp_path: Path) -> None:
    class Broken(CountingSandbox):
        def identity(self) -> str:
            raise WorldError("the engine is gone")

    probe = _make_probe(tmp_path, Broken())
    assert (probe.has_binary("ls"), probe.state() == probe.state()) == (True, True)


def test_probe_of_a_real_sandbox_has_a_steady_state(tmp_path: Path) -> None:
    probe = _make_probe(tmp_path, BubblewrapSandbox())
    assert probe.has_binary("sh")
    assert probe.state() == probe.state()
