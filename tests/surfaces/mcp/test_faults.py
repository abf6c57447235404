"""What goes wrong is told by the protocol, with a code and what to do; in a turn as it would be without one."""

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ErrorData

from prowess.agent.events import make_failed
from prowess.errors import ProwessError, Refused, SettingsError, WorldError
from prowess.runtime import Runtime
from prowess.surfaces.mcp.faults import REFUSED, make_fault, telling_faults
from prowess.surfaces.mcp.options import McpOptions
from tests.surfaces.mcp.connecting import connect, with_client


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("no", hint="--yes", hint_elsewhere="ask", code="consent-needed"), REFUSED),
        (SettingsError("bad", hint="mend it", code="bad-settings"), INTERNAL_ERROR),
        (WorldError("the disk is full", hint="make room", code="disk-full"), INTERNAL_ERROR),
    ],
)
def test_fault_of_a_turn_is_told_as_it_would_be_without_one(error: ProwessError, code: int) -> None:
    told: list[MCPError] = []
    for one in (error, make_fault(make_failed(error))):
        with pytest.raises(MCPError) as caught, telling_faults():
            raise one
        told.append(caught.value)
    assert told[0].error == told[1].error
    assert told[0].error.code == code


def test_session_that_cannot_begin_is_told_with_its_code_and_what_to_do(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> ErrorData:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
        return caught.value.error

    error = with_client(work, connect(runtime, mode=mode, options=McpOptions(session=" ")))
    assert (error.code, error.data["code"]) == (INTERNAL_ERROR, "bad-session")
    assert error.data["hint"] in error.message
