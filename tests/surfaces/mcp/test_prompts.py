"""Skills as prompts: called for by a person, with arguments."""

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from prowess.activation.receipts import AskedBy
from prowess.runtime import Runtime
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import connect, with_client

pytestmark = pytest.mark.slow


def _text(result: types.GetPromptResult) -> str:
    (message,) = result.messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@pytest.fixture
def told(home: Home) -> Runtime:
    """Skills that take arguments by name, by hint, and that only people call for."""
    root = home.project / "skills"
    arguments = "arguments:\n  - name: city\n    description: Which city.\n    required: true\n  - name: day\n"
    write_skill(
        root, "weather", extra=f"{arguments}argument-hint: '<city> [today|tomorrow]'\n", body="In $city, $day.\n"
    )
    write_skill(root, "hinted", extra="argument-hint: draft|final\n", body="Write $ARGUMENTS.\n")
    write_skill(root, "for-people", extra="disable-model-invocation: true\n", body="By hand.\n")
    write_skill(root, "for-models", extra="user-invocable: false\n")
    return Runtime.open(skills=[root])


def test_skills_that_people_call_for_are_prompts(told: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[types.Prompt]:
        return (await client.list_prompts()).prompts

    with told:
        found = {prompt.name: prompt for prompt in with_client(work, connect(told, mode=mode))}
    assert sorted(found) == ["for-people", "hinted", "weather"]
    names = [(one.name, one.required, one.description) for one in found["weather"].arguments or ()]
    assert names == [("city", True, "Which city."), ("day", False, None)]
    (only,) = found["hinted"].arguments or []
    assert (only.name, only.description) == ("arguments", "draft|final")


def test_prompt_is_the_instructions_with_the_arguments(told: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[str]:
        calls = (
            ("weather", {"city": "New York", "day": "today"}),
            ("weather", {"city": "Rome"}),
            ("hinted", {"arguments": "a letter"}),
            ("hinted", None),
            ("for-people", None),
            ("for-people", None),
        )
        return [_text(await client.get_prompt(name, given)) for name, given in calls]

    with told:
        texts = with_client(work, connect(told, mode=mode))
        receipts = [one for one in told.receipts() if one.name == "for-people"]
    assert "In New York, today." in texts[0]
    assert "In Rome, ." in texts[1]
    assert "Write a letter." in texts[2]
    assert "Write ." in texts[3]
    assert "By hand." in texts[4]
    assert texts[5] == texts[4]
    assert {one.asked_by for one in receipts} == {AskedBy.USER}


@pytest.mark.parametrize(
    ("name", "given"),
    [("nobody", None), ("for-models", None), ("weather", {}), ("weather", {"city": "x", "other": "y"})],
)
def test_wrong_prompt_is_an_error(told: Runtime, mode: str, name: str, given: dict[str, str] | None) -> None:
    async def work(client: Client) -> int:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, given)
        return caught.value.error.code

    with told:
        assert with_client(work, connect(told, mode=mode)) == types.INVALID_PARAMS


def test_arguments_are_completed_by_their_hint(told: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[list[str]]:
        asked = (
            ("weather", "day", "to"),
            ("weather", "day", "tom"),
            ("weather", "city", ""),
            ("hinted", "arguments", "f"),
        )
        found: list[list[str]] = []
        for name, argument, value in asked:
            ref = types.PromptReference(name=name)
            result = await client.complete(ref, {"name": argument, "value": value})
            found.append(result.completion.values)
        return found

    with told:
        found = with_client(work, connect(told, mode=mode))
    assert found == [["today", "tomorrow"], ["tomorrow"], [], ["final"]]
