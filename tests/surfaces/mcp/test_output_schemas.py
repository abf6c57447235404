"""What tools answer is as their schemas say, be it an answer or an error."""

from typing import Any

import jsonschema
import pytest
from mcp.client import Client

from prowess.activation.grants import Act, Decision
from prowess.activation.tool_dialects import DIALECTS, render_tools
from prowess.activation.tool_outputs import OUTPUT_SCHEMAS
from prowess.activation.tools import make_tools
from prowess.policy import ToolSet
from prowess.runtime import Runtime
from tests.agent.openai_server import ScriptedServer
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import MODERN, Person, connect, with_client

pytestmark = pytest.mark.slow

_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_skills", {"query": "tables"}),
    ("search_skills", {"query": "nothing of the kind"}),
    ("search_skills", {}),
    ("activate_skill", {"name": "greet"}),
    ("activate_skill", {"name": "deep"}),
    ("activate_skill", {"name": "nobody"}),
    ("read_skill_resource", {"name": "greet", "path": "references/guide.md", "lines": "1-1"}),
    ("read_skill_resource", {"name": "greet", "path": "assets/picture.png"}),
    ("read_skill_resource", {"name": "greet", "path": "none.md"}),
    ("run_skill_script", {"name": "greet", "script": "scripts/slow.py"}),
    ("run_skill_script", {"name": "tables", "script": "none.py"}),
    ("deactivate_skill", {"name": "greet"}),
    ("deactivate_skill", {"name": "greet"}),
    ("deactivate_skill", {}),
)


def test_answers_and_errors_fit_and_nothing_in_them_goes_unsaid(runtime: Runtime, home: Home) -> None:
    write_skill(home.project / "skills", "deep", extra="context: fork\n", body="Dig deep.\n")
    runtime.decide("greet", Decision.ALLOW, act=Act.RUN)

    async def work(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert all(schemas.values())
        for tool, given in _CALLS:
            data = (await client.call_tool(tool, given)).structured_content
            schema = schemas[tool] or {}
            jsonschema.validate(data, schema)
            assert data.keys() <= schema["properties"].keys()

    with_client(work, connect(runtime, mode=MODERN))


def test_subagents_that_answer_and_fail_fit(served: ScriptedServer) -> None:
    calls = [{"name": "deep", "arguments": how} for how in ("Dig here.", "Dig in vain.")]

    async def work(client: Client) -> list[dict[str, Any]]:
        (schema,) = [one.output_schema for one in (await client.list_tools()).tools if one.name == "activate_skill"]
        results = [(await client.call_tool("activate_skill", given)).structured_content for given in calls]
        for data in results:
            jsonschema.validate(data, schema or {})
            assert data.keys() <= (schema or {})["properties"].keys()
        return results

    with Runtime.open() as runtime:
        runtime.decide("deep", Decision.ALLOW)
        answered, failed = with_client(work, connect(runtime, mode=MODERN))
    assert (answered["text"], answered["outcome"]) == ("Dug.", "answered")
    assert failed["error"]["code"] == "fork-failed"
    assert served.faults == []


@pytest.mark.parametrize("profile", ["daycare", "workspace", "remcochat"])
def test_answers_of_other_profiles_fit(home: Home, profile: str) -> None:
    home.write_settings("enabled = true\n")
    write_skill(home.project / "skills", "greet", files={"notes.md": "Notes.\n"})

    async def work(client: Client) -> None:
        schemas = {tool.name: tool.output_schema or {} for tool in (await client.list_tools()).tools}
        assert schemas
        assert all(schemas.values())
        for given in ({"name": "greet"}, {"name": "nobody"}, {"name": "greet", "path": "notes.md"}, {}):
            for tool, schema in schemas.items():
                jsonschema.validate((await client.call_tool(tool, given)).structured_content, schema)

    with Runtime.open(skills=[home.project / "skills"], profile=profile) as runtime:
        with_client(work, connect(runtime, mode=MODERN, person=Person(["allow-always"] * 10)))


def test_only_the_dialect_of_mcp_tells_of_answers() -> None:
    tools = make_tools(ToolSet.STANDARD, names=("greet",))
    for dialect in DIALECTS:
        told = [row.get("outputSchema") for row in render_tools(tools, dialect)]
        assert told == [OUTPUT_SCHEMAS[tool.role] if dialect == "mcp" else None for tool in tools]
