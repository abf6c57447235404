"""Clients of every version of the protocol are answered in theirs."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command import PROWESS

pytestmark = pytest.mark.slow

_CLIENT = {"name": "test", "version": "1"}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_client_of_each_version_shakes_hands_and_uses_skills(skills: Path, version: str) -> None:
    said: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT},
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "activate_skill", "arguments": {"name": "tables"}}},
        {"id": 4, "method": "resources/read", "params": {"uri": "skill://project/greet/references/guide.md"}},
        {"id": 5, "method": "prompts/get", "params": {"name": "greet", "arguments": {"arguments": "Ann"}}},
        {"id": 6, "method": "skills/list"},
    ]
    heard: dict[int, Any] = {}
    with subprocess.Popen(
        [PROWESS, "--skills", str(skills), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in said:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            while "id" in message and message["id"] not in heard:
                answer = json.loads(process.stdout.readline())
                heard[answer.get("id", 0)] = answer.get("result")
        process.stdin.close()
        assert process.wait(20) == 0
    greeting = heard[1]
    assert (greeting["protocolVersion"], greeting["serverInfo"]["name"]) == (version, "prowess")
    assert greeting["capabilities"].keys() >= {"tools", "resources", "prompts", "completions"}
    assert greeting["capabilities"]["experimental"] == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    assert "<name>greet</name>" in greeting["instructions"]
    assert heard[6]["skills"][0]["uri"] == "skill://project/greet/SKILL.md"
    assert heard[2]["tools"][0]["name"] == "activate_skill"
    assert "Make a table." in heard[3]["content"][0]["text"]
    assert heard[4]["contents"][0]["text"] == "# Guide\nRead me.\n"
    assert "Greet Ann." in heard[5]["messages"][0]["content"]["text"]
