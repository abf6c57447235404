"""Consent over MCP: a form for those who can ask, what was granted for the others, and each answer for one call."""

from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from prowess.activation.grants import Act, Decision
from prowess.runtime import Runtime
from tests.skills_on_disk import Home
from tests.surfaces.mcp.connecting import LEGACY, MODERN, Person, connect, until, with_client

pytestmark = pytest.mark.requirement("K1")

_NOTES = "skill://agents/careful/notes.md"
_RUN = {"name": "careful", "script": "scripts/run.py"}


def _use(client: Client) -> Any:
    return client.call_tool("activate_skill", {"name": "careful"})


def _text(blocks: Sequence[types.ContentBlock]) -> str:
    return "".join(block.text for block in blocks if isinstance(block, types.TextContent))


def _code(result: types.CallToolResult) -> str:
    return result.structured_content.get("error", {}).get("code", "")


def test_form_shows_what_is_asked_about(wary: Runtime, mode: str) -> None:
    person = Person(["allow-once"])

    async def work(client: Client) -> types.CallToolResult:
        return await _use(client)

    result = with_client(work, connect(wary, mode=mode, person=person))
    assert not result.is_error
    (text,), (form,) = person.asked, person.forms
    digest = wary.digest(wary.catalog().get("careful"))[:12]
    for expected in ('Activate skill "careful"?', "Is careful.", digest, "notes.md", "run.py"):
        assert expected in text
    choices = [one["const"] for one in form["properties"]["answer"]["oneOf"]]
    assert choices == ["allow-once", "allow-for-session", "allow-always", "refuse-once", "refuse"]
    assert form["required"] == ["answer"]


@pytest.mark.parametrize(
    ("answer", "asked", "granted"),
    [("allow-once", 2, 0), ("allow-for-session", 1, 1), ("allow-always", 1, 1)],
)
def test_yes_reaches_as_far_as_it_was_meant(wary: Runtime, mode: str, answer: str, asked: int, granted: int) -> None:
    person = Person([answer] * 2)

    async def work(client: Client) -> None:
        for _ in range(2):
            assert not (await client.call_tool("read_skill_resource", {"name": "careful", "path": "notes.md"})).is_error
        assert len(wary.grants()) == granted

    with_client(work, connect(wary, mode=mode, person=person))
    assert len(person.asked) == asked


@pytest.mark.parametrize(("answer", "asked"), [("refuse", 1), ("refuse-once", 2), ("decline", 2), ("cancel", 2)])
def test_no_is_a_result_and_only_a_refusal_sticks(wary: Runtime, mode: str, answer: str, asked: int) -> None:
    person = Person([answer] * 2)

    async def work(client: Client) -> list[types.CallToolResult]:
        return [await _use(client) for _ in range(2)]

    for result in with_client(work, connect(wary, mode=mode, person=person)):
        assert result.is_error
        assert _code(result) == "refused"
    assert len(person.asked) == asked
    assert len(wary.grants()) == (answer == "refuse")


def test_answer_that_is_none_is_no_yes(wary: Runtime, mode: str) -> None:
    """Where the answer comes with the request again, it is asked for once more until there is one."""

    async def work(client: Client) -> types.CallToolResult:
        return await _use(client)

    person = Person(["perhaps", "perhaps", "cancel"])
    code = _code(with_client(work, connect(wary, mode=mode, person=person)))
    assert (code, len(person.asked)) == (("consent-needed", 1) if mode == LEGACY else ("refused", 3))
    assert wary.receipts() == ()


def test_client_that_cannot_ask_is_told_by_what_command_to_agree(wary: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[types.CallToolResult]:
        return [await _use(client), await client.call_tool("run_skill_script", _RUN)]

    use, run = with_client(work, connect(wary, mode=mode))
    assert (_code(use), _code(run)) == ("consent-needed", "consent-needed")
    assert "`prowess grants --allow careful`" in _text(use.content)
    assert "`prowess grants --allow careful --run`" in _text(run.content)


def test_what_was_granted_needs_no_form(wary: Runtime, mode: str) -> None:
    wary.decide("careful", Decision.ALLOW)
    wary.decide("careful", Decision.ALLOW, act=Act.RUN)

    async def work(client: Client) -> list[types.CallToolResult]:
        return [await _use(client), await client.call_tool("run_skill_script", _RUN)]

    use, run = with_client(work, connect(wary, mode=mode))
    assert not use.is_error
    assert run.structured_content["stdout"] == "it ran\n"


def test_run_is_asked_about_with_its_script(wary: Runtime, mode: str) -> None:
    wary.decide("careful", Decision.ALLOW)
    person = Person(["allow-once"])

    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool("run_skill_script", {**_RUN, "arguments": ["--fast"]})

    result = with_client(work, connect(wary, mode=mode, person=person))
    assert result.structured_content["stdout"] == "it ran\n"
    assert 'Run scripts/run.py of skill "careful"?' in person.asked[0]
    assert "--fast" in person.asked[0]


def test_changed_skill_asks_again_and_shows_what_changed(wary: Runtime, home: Home, mode: str) -> None:
    person = Person(["allow-always", "allow-once"])

    async def work(client: Client) -> None:
        await _use(client)
        (home.path / ".agents/skills/careful/notes.md").write_text("Other notes.\n")
        assert not (await _use(client)).is_error

    with_client(work, connect(wary, mode=mode, person=person))
    assert "changed since you agreed" in person.asked[1]
    assert "notes.md" in person.asked[1]


def test_resources_and_prompts_ask_too(wary: Runtime, mode: str) -> None:
    person = Person(["allow-once", "allow-once"])

    async def work(client: Client) -> None:
        read = await client.read_resource(_NOTES)
        assert isinstance(read.contents[0], types.TextResourceContents)
        assert read.contents[0].text == "Some notes.\n"
        prompt = await client.get_prompt("careful")
        assert "Be careful." in _text([message.content for message in prompt.messages])

    with_client(work, connect(wary, mode=mode, person=person))
    assert len(person.asked) == 2


def test_resources_and_prompts_are_refused_with_a_reason(wary: Runtime, mode: str) -> None:
    async def work(client: Client) -> None:
        for request in (client.read_resource(_NOTES), client.get_prompt("careful")):
            with pytest.raises(MCPError) as caught:
                await request
            assert caught.value.error.code == -32050
            assert "prowess grants --allow careful" in caught.value.error.message
            assert caught.value.error.data["code"] == "consent-needed"

    with_client(work, connect(wary, mode=mode))


def test_answer_is_bound_to_its_call_and_counts_once(wary: Runtime) -> None:
    """In the protocol of today the answer comes with the request again: no other request may bring it."""

    async def work(client: Client) -> None:
        call = client.session.call_tool
        given = {"name": "careful", "path": "notes.md"}
        first = await call("read_skill_resource", given, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        assert first.input_requests is not None
        answers: Any = {"consent": types.ElicitResult(action="accept", content={"answer": "allow-once"})}
        state = first.request_state
        with pytest.raises(MCPError):  # Another file.
            await call(
                "read_skill_resource",
                {**given, "path": "SKILL.md"},
                input_responses=answers,
                request_state=state,
                allow_input_required=True,
            )
        with pytest.raises(MCPError):  # A state that nobody gave.
            await call(
                "read_skill_resource", given, input_responses=answers, request_state="forged", allow_input_required=True
            )
        done = await call(
            "read_skill_resource", given, input_responses=answers, request_state=state, allow_input_required=True
        )
        assert isinstance(done, types.CallToolResult)
        assert not done.is_error
        again = await call(
            "read_skill_resource", given, input_responses=answers, request_state=state, allow_input_required=True
        )
        assert isinstance(again, types.InputRequiredResult)
        unasked = await call("read_skill_resource", given, input_responses=answers, allow_input_required=True)
        assert isinstance(unasked, types.InputRequiredResult)

    with_client(work, connect(wary, mode=MODERN, person=Person()))


def test_answer_is_for_the_files_that_were_shown(wary: Runtime, home: Home) -> None:
    async def work(client: Client) -> None:
        given = {"name": "careful", "path": "notes.md"}
        call = client.session.call_tool
        first = await call("read_skill_resource", given, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        (home.path / ".agents/skills/careful/notes.md").write_text("Other notes.\n")
        answers: Any = {"consent": types.ElicitResult(action="accept", content={"answer": "allow-always"})}
        second = await call(
            "read_skill_resource",
            given,
            input_responses=answers,
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert isinstance(second, types.InputRequiredResult)
        assert wary.grants() == ()

    with_client(work, connect(wary, mode=MODERN, person=Person()))


def test_cancelled_question_leaves_nothing_behind(wary: Runtime) -> None:
    person = Person(waits=True)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_use, client)
            await until(lambda: person.asked)
            tasks.cancel_scope.cancel()
        person.waits, person.answers = False, ["allow-once"]
        assert not (await _use(client)).is_error

    with_client(work, connect(wary, mode=LEGACY, person=person))


@pytest.mark.parametrize("script", ["", "scripts/run.py"])
def test_hint_is_for_somebody_who_typed_no_command(wary: Runtime, mode: str, script: str) -> None:
    async def work(client: Client) -> types.CallToolResult:
        return await (client.call_tool("run_skill_script", _RUN) if script else _use(client))

    result = with_client(work, connect(wary, mode=mode))
    assert result.structured_content["error"]["hint"].endswith(" gives it")
    assert "--yes" not in _text(result.content)
