"""A worker that is killed at any moment leaves whole skills behind, and the next one goes on."""

import os
import signal
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import anyio
import pytest

from prowess.sources.mcp.listed import Listed, judge_entry
from prowess.sources.mcp.orders import Act, Order
from prowess.sources.mcp.work import carry_out
from prowess.sources.skill_files import read_skill_files
from tests.sources.mcp.scripts import Acted, entry, skill_md

pytestmark = pytest.mark.slow

_ROUNDS = 16


def _files(number: int) -> dict[str, str | bytes]:
    parts = {f"parts/{part}.bin": bytes([number, part]) * 100_000 for part in range(8)}
    return {"SKILL.md": skill_md("refunds", body=f"Version {number}.\n"), **parts}


def _digest(number: int) -> str:
    judged = judge_entry(entry("skill://refunds", _files(number)), server="acme")
    assert isinstance(judged, Listed)
    return judged.digest


def _start(order: Order) -> int:
    """Carry out an order in a process that leads a group of its own, as workers do; return its number."""
    worker = os.fork()
    if worker == 0:
        os.setsid()
        anyio.run(lambda: carry_out(order))
        signal.pause()  # To be killed in any case.
    return worker


@pytest.mark.slow
@pytest.mark.requirement("J11", "K5")
def test_killed_worker_leaves_a_whole_skill(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds", _files(0))
    acted.refresh()
    acted.fetch("refunds")
    known = {_digest(number) for number in range(_ROUNDS)}
    order = Order(Act.LIST, acted.server, str(acted.mirror), 60.0)
    for number in range(1, _ROUNDS):
        acted.add("skill://refunds", _files(number))
        heard = acted.asked().count("skills/list")
        worker = _start(order)
        while acted.asked().count("skills/list") == heard:
            time.sleep(0.001)
        time.sleep(0.005 * number)
        os.killpg(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        assert read_skill_files(str(acted.mirror / "skill-0/refunds")).digest in known
    assert acted.refresh() is None
    assert read_skill_files(str(acted.mirror / "skill-0/refunds")).digest == _digest(_ROUNDS - 1)
    assert not (acted.mirror / "staging").exists() or not list((acted.mirror / "staging").iterdir())


_STEPS = frozenset(("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"))


def _is_killed_at(step: int, order: Order) -> bool:
    """Carry out an order in a process that is killed before it writes for the nth time; whether it came so far."""
    worker = os.fork()
    if worker == 0:
        os.setsid()
        _die_at(step, staging=f"{order.folder}/staging")
        anyio.run(lambda: carry_out(order))
        os._exit(0)
    status = os.waitpid(worker, 0)[1]
    with suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)  # The server, if it has not heard of it yet.
    return os.WIFSIGNALED(status)


def _die_at(step: int, *, staging: str) -> None:
    """Have this process killed at one of its changes of files, counted from when it begins to lay a skill out."""
    numbers, begun = count(1), False

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal begun
        begun = begun or (event, *arguments[:1]) == ("os.mkdir", staging)
        is_reading = event == "open" and not (isinstance(arguments[2], int) and arguments[2] & os.O_CREAT)
        if begun and event in _STEPS and not is_reading and next(numbers) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


@pytest.mark.slow
@pytest.mark.requirement("J11", "K5")
def test_worker_that_is_killed_at_any_step_of_its_writing_leaves_a_whole_skill(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    order = Order(Act.LIST, acted.server, str(acted.mirror), 60.0)

    def version(number: int) -> dict[str, str | bytes]:
        parts = {f"parts/{part}.bin": bytes([number % 256, part]) * 50_000 for part in range(2)}
        return {"SKILL.md": skill_md("refunds", body=f"Version {number}.\n"), **parts}

    def held() -> dict[str, str | bytes]:
        return {path.removeprefix("skill-0/refunds/"): content for path, content in acted.held().items()}

    def raw(number: int) -> dict[str, str | bytes]:
        return {path: text.encode() if isinstance(text, str) else text for path, text in version(number).items()}

    acted.add("skill://refunds", version(0))
    acted.refresh()
    acted.fetch("refunds")
    before, step = held(), 1
    assert before == raw(0)
    acted.add("skill://refunds", version(step))
    while _is_killed_at(step, order):
        assert held() in (before, raw(step))
        before, step = held(), step + 1
        acted.add("skill://refunds", version(step))
    assert step > 15
    assert held() == raw(step)
    assert not (acted.mirror / "staging").exists() or not list((acted.mirror / "staging").iterdir())
