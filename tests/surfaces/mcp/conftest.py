"""A folder with skills, and runtimes that serve them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.runtime import Runtime
from tests.agent.openai_server import Reply, ScriptedServer, fail, hang, say
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import LEGACY, MODERN

PNG = b"\x89PNG\r\n\x1a\n\0picture"
SLOW = "import sys, time\nfor n in range(3):\n    print('line', n, flush=True)\n    time.sleep(0.25)\n"


@pytest.fixture
def skills(home: Home) -> Path:
    """Skills that whoever starts the server names, so that nobody is asked before one is used."""
    root = home.project / "skills"
    files: dict[str, str | bytes] = {
        "references/guide.md": "# Guide\nRead me.\n",
        "assets/picture.png": PNG,
        "assets/data.bin": b"\0\1\2",
        "scripts/slow.py": SLOW,
        "scripts/wait.py": "import time\nprint('ready', flush=True)\ntime.sleep(60)\n",
    }
    write_skill(root, "greet", description="Greets people. Use when greeting.", body="Greet $ARGUMENTS.\n", files=files)
    write_skill(root, "office/tables", description="Makes tables. Use for tables.", body="Make a table.\n")
    return root


@pytest.fixture
def runtime(skills: Path) -> Iterator[Runtime]:
    with Runtime.open(skills=[skills]) as opened:
        yield opened


@pytest.fixture
def wary(home: Home) -> Iterator[Runtime]:
    """A runtime whose one skill is the user's own, and asked about before it is used."""
    write_skill(
        home.path / ".agents" / "skills",
        "careful",
        description="Is careful. Use with care.",
        body="Be careful.\n",
        files={"notes.md": "Some notes.\n", "scripts/run.py": "print('it ran')\n"},
    )
    with Runtime.open() as opened:
        yield opened


@pytest.fixture
def deep(home: Home) -> Path:
    """A skill for subagents: the user's own, and asked about before it is used."""
    files = {"notes.md": "Notes.\n"}
    own = home.path / ".agents" / "skills"
    return write_skill(own, "deep", extra="context: fork\n", body="Dig deep.\n", files=files)


@pytest.fixture
def served(home: Home, deep: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """The model of the settings, which a subagent asks once."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ScriptedServer(_work) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        yield server


def _work(body: dict[str, Any]) -> Reply:
    messages = str(body["messages"])
    if "Dig deep." not in messages or "Dig in vain." in messages:
        return fail(401)
    if "Dig for ever." in messages:
        return hang() + say("Dug.")
    return say("Dug.")


@pytest.fixture
def served_in_turn(home: Home, deep: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A model that takes its time for each subagent, and a test fails that asks it for two of them at once."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def work(body: dict[str, Any]) -> Reply:
        for other in server.requests:
            if other.body is not body and not other.answered.wait(0.2):
                server.faults.append("two subagents were at work at once")
        return hang(0.7) + say("Dug.")

    with ScriptedServer(work) as server:
        home.write_settings(f'model = "openai-chat:scripted"\nmodel_url = "{server.url}"\n')
        yield server


@pytest.fixture(params=[LEGACY, MODERN])
def mode(request: pytest.FixtureRequest) -> str:
    """How a client and a server agree on the protocol."""
    return request.param
