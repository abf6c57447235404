"""`prowess mcp` as clients start it: over pipes, with nothing on standard output but the protocol."""

import json
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from tests.runtime.runs import find_processes, is_gone
from tests.skills_on_disk import Home
from tests.surfaces.command import PROWESS, run
from tests.surfaces.mcp.connecting import connect_stdio, until, with_client

pytestmark = pytest.mark.slow


def test_cancelling_and_leaving_end_the_scripts(skills: Path, mode: str, tmp_path: Path) -> None:
    run("--skills", str(skills), "grants", "--allow", "greet", "--run")
    marker = f"marker-{tmp_path.name}-{mode}"
    given = {"name": "greet", "script": "scripts/wait.py", "arguments": [marker]}

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "run_skill_script", given)
            await until(lambda: find_processes(marker))
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(is_gone, marker)

    with_client(work, connect_stdio("--skills", str(skills), mode=mode))

    with _started("--skills", str(skills)) as pipes:
        pipes.shake_hands()
        pipes.say("tools/call", {"name": "run_skill_script", "arguments": given}, number=2)
        while not find_processes(marker):
            assert pipes.process.poll() is None
        assert pipes.leave() == 0
    assert is_gone(marker)


_CLIENT = {"name": "test", "version": "1"}
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}


class _Pipes:
    """A client that says whatever it likes, line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def say(self, method: str, params: dict[str, Any], *, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
        self.write(json.dumps(message).encode())

    def write(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def hear(self) -> dict[str, Any]:
        return json.loads(self._stdout.readline())

    def shake_hands(self) -> dict[str, Any]:
        self.say("initialize", _HELLO, number=1)
        answer = self.hear()
        self.say("notifications/initialized", {})
        return answer["result"]

    def leave(self) -> int:
        self._stdin.close()
        return self.process.wait(20)


@contextmanager
def _started(*arguments: str, further: Sequence[str] = ()) -> Generator[_Pipes]:
    command = [PROWESS, *arguments, "mcp", *further]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield _Pipes(process)
        finally:
            process.kill()


def test_broken_requests_are_answered_and_survived(skills: Path) -> None:
    with _started("--skills", str(skills)) as pipes:
        pipes.say("tools/list", {}, number=1)
        assert "error" in pipes.hear()  # Nobody has shaken hands.
        pipes.say("initialize", {**_HELLO, "protocolVersion": "1999-01-01"}, number=2)
        assert pipes.hear()["result"]["protocolVersion"] == "2025-11-25"
        pipes.say("notifications/initialized", {})
        for line in (b"{", b"[]", b"\xff\xfe", b'"text"', b'{"jsonrpc": "2.0"}', b"{" * 5_000, b"", b"null"):
            pipes.write(line)
        pipes.say("no/such", {}, number=3)
        pipes.say("tools/call", {"arguments": {}}, number=4)
        pipes.say("tools/call", {"name": "activate_skill", "arguments": "text"}, number=5)
        pipes.say("resources/read", {"uri": 7}, number=6)
        pipes.say("prompts/get", {"name": "greet", "arguments": {"arguments": 7}}, number=7)
        pipes.say("tools/list", {"cursor": 7}, number=8)
        pipes.say("tools/list", {}, number=9)
        answers: dict[Any, dict[str, Any]] = {}
        while 9 not in answers:
            answer = pipes.hear()
            answers[answer.get("id")] = answer
        assert answers[3]["error"]["code"] == types.METHOD_NOT_FOUND
        assert {answers[number]["error"]["code"] for number in (4, 5, 6, 7, 8)} == {types.INVALID_PARAMS}
        assert len(answers[9]["result"]["tools"]) == 5
        assert pipes.leave() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_in_order(skills: Path, number: signal.Signals) -> None:
    with _started("--skills", str(skills)) as pipes:
        pipes.shake_hands()
        pipes.process.send_signal(number)
        assert pipes.process.wait(20) == 128 + number


@pytest.mark.parametrize(("further", "kept"), [((), []), (("--session", "kept"), ["kept"])])
def test_session_ends_with_its_client_unless_it_is_named(
    skills: Path, further: tuple[str, ...], kept: list[str]
) -> None:
    with _started("--skills", str(skills), further=further) as pipes:
        pipes.shake_hands()
        pipes.say("tools/call", {"name": "activate_skill", "arguments": {"name": "greet"}}, number=2)
        assert pipes.hear()["result"]["isError"] is False
        assert pipes.leave() == 0
    assert [one["id"] for one in run("sessions", "--json").json["sessions"]] == kept


def test_agent_sees_what_it_may_see(home: Home, skills: Path) -> None:
    home.write_settings('[agents.clerk]\nskills = ["tables"]\n')
    with _started("--skills", str(skills), further=("--agent", "clerk")) as pipes:
        said = pipes.shake_hands()["instructions"]
    assert "<name>tables</name>" in said
    assert "<name>greet</name>" not in said
