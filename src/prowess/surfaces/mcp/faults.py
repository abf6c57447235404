"""What goes wrong in a request, as the protocol tells it."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from prowess.errors import NotFound, ProwessError, Refused, SettingsError, ToolInputError, WorldError

if TYPE_CHECKING:
    from prowess.agent.events import Failed

__all__ = ["REFUSED", "make_fault", "no_such", "telling_faults"]

REFUSED = -32050
"""A person or a policy said no."""


@contextmanager
def telling_faults() -> Generator[None]:
    """Turn our errors into those of the protocol, with their code and what to do."""
    try:
        yield
    except (NotFound, ToolInputError) as error:
        raise _make_error(INVALID_PARAMS, error) from error
    except Refused as error:
        raise _make_error(REFUSED, error) from error
    except ProwessError as error:
        raise _make_error(INTERNAL_ERROR, error) from error


def make_fault(failed: "Failed") -> ProwessError:
    """Return what a turn has failed of, as it would have been raised without one."""
    match failed.kind:
        case "settings":
            return SettingsError(failed.message, hint=failed.hint, code=failed.code)
        case "world":
            return WorldError(failed.message, hint=failed.hint, code=failed.code)
        case _:
            return Refused(failed.message, hint=failed.hint, code=failed.code)


def no_such(message: str) -> MCPError:
    """Return the error for an address or a name that there is not."""
    return MCPError(INVALID_PARAMS, message)


def _make_error(code: int, error: ProwessError) -> MCPError:
    hint = error.hint_elsewhere if isinstance(error, Refused) else error.hint
    message = f"{error.message}; {hint}" if hint else error.message
    return MCPError(code, message, data={"code": error.code, "message": error.message, "hint": hint})
