"""Toolsets as the host sees them: what is asked of a skill's code inside a sandbox, and what to believe of its answer.

The skill's code is never loaded here. `HELPER_FILE`, seen inside in `HELPER_FOLDER`, loads it there, reads a request,
and leaves a reply; since the skill could write any reply, each is checked as foreign bytes.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from prowess.errors import ToolInputError
from prowess.execution.toolsets.toolset_schemas import (
    CUT,
    Schema,
    ToolsetFault,
    check_schema,
    clean_description,
    find_flaw,
)
from prowess.skill.deception import make_printable, strip_invisible
from prowess.skill.toolset_references import ToolsetReference, find_reference

__all__ = [
    "COMMAND",
    "HELPER_FILE",
    "HELPER_FOLDER",
    "HELPER_SOURCE",
    "MAX_LISTING_BYTES",
    "MAX_MESSAGE_CHARACTERS",
    "MAX_NAME_CHARACTERS",
    "MAX_REQUEST_BYTES",
    "MAX_RESULT_BYTES",
    "MAX_TOOLS",
    "PROTOCOL",
    "REPLY_FILE",
    "Failed",
    "Failure",
    "OfferedTool",
    "Returned",
    "ToolsetFault",
    "ToolsetReference",
    "make_request_to_call",
    "make_request_to_list",
    "parse_listing",
    "parse_outcome",
    "parse_reference",
    "tool_name",
]

PROTOCOL = 1
HELPER_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "toolset_helper")
"""The folder of the host that holds the helper, and nothing else."""
HELPER_FILE = os.path.join(HELPER_SOURCE, "prowess_toolset.py")
HELPER_FOLDER = "/toolset"
"""Where a sandbox sees the helper; PYTHONPATH must name it."""
COMMAND = ("-m", "prowess_toolset")
"""What the interpreter is given. It must stand in the skill's folder."""
REPLY_FILE = "reply.json"
"""What it leaves in the output folder. Without it, the code was ended or has ended itself."""
MAX_REQUEST_BYTES = 1_000_000
MAX_LISTING_BYTES = 256 * 1024
MAX_RESULT_BYTES = 1_000_000
MAX_TOOLS = 64
"""Of one toolset."""
MAX_MESSAGE_CHARACTERS = 2_000
MAX_NAME_CHARACTERS = 64
"""Of a tool's name as a model sees it: what the strictest provider takes."""

_MAX_SHOWN_CHARACTERS = 200
_HASH_CHARACTERS = 10
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_PLAIN_SKILL = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Without the two strokes that part it from the tool."""
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a toolset describes it, fit to be shown to a model."""

    name: str
    """Within its toolset; `tool_name` makes the one that a model sees."""
    description: str
    schema: Schema


class Failure(StrEnum):
    """Whose fault it is that a call returned nothing."""

    TOOL = "tool"
    """The tool says what the model should do differently."""
    CRASH = "crash"
    """The skill's code failed."""
    REQUEST = "request"
    """What was asked for does not exist, or does not fit."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool has returned: any JSON."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a tool has returned nothing."""

    kind: Failure
    message: str


def parse_reference(text: str) -> ToolsetReference:
    """Return what an entry of `toolsets` names; raise a fault for one that could leave the skill's folder."""
    found = find_reference(text)
    if found is None:
        raise ToolsetFault(
            f"toolset '{make_printable(text[:_MAX_SHOWN_CHARACTERS])}' names no file of the skill with a class",
            hint="write it as toolsets/index:MyToolset, for the class MyToolset in toolsets/index.py",
            code="toolset-bad",
        )
    return found


def make_request_to_list(ref: ToolsetReference) -> bytes:
    """Return the request for all tools of a toolset."""
    return _encode({"protocol": PROTOCOL, "toolset": ref.text, "do": "list"})


def make_request_to_call(ref: ToolsetReference, tool: str, arguments: Mapping[str, object]) -> bytes:
    """Return the request for one call, with arguments that `check_arguments` has passed."""
    request = {"protocol": PROTOCOL, "toolset": ref.text, "do": "call", "tool": tool, "arguments": dict(arguments)}
    try:
        encoded = _encode(request)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolInputError(f"{tool}: the arguments are no JSON", code="bad-arguments") from error
    if len(encoded) > MAX_REQUEST_BYTES:
        raise ToolInputError(
            f"{tool}: the arguments have more than {MAX_REQUEST_BYTES:,} bytes",
            hint="pass less, or write a file and pass its path",
            code="bad-arguments",
        )
    return encoded


def parse_listing(raw: bytes, *, ref: ToolsetReference) -> tuple[OfferedTool, ...]:
    """Return the tools that a reply lists, cleaned; raise a fault if any of it is not as it must be."""
    reply = _decode(raw, max_bytes=MAX_LISTING_BYTES)
    if "error" in reply:
        raise _fault(f"{ref.text}: {_parse_failure(reply).message}")
    rows = reply.get("tools")
    if set(reply) != {"protocol", "tools"} or not isinstance(rows, list):
        raise _fault(f"{ref.text}: the reply lists no tools")
    if len(cast("list[object]", rows)) > MAX_TOOLS:
        raise _fault(f"{ref.text}: more than {MAX_TOOLS} tools")
    tools = tuple(_parse_tool(row, ref) for row in cast("list[object]", rows))
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise _fault(f"{ref.text}: two tools are named '{name}'")
    return tools


def parse_outcome(raw: bytes) -> Returned | Failed:
    """Return what came of a call; raise a fault if the reply says neither a result nor an error."""
    reply = _decode(raw, max_bytes=MAX_RESULT_BYTES)
    if "error" in reply:
        return _parse_failure(reply)
    if set(reply) != {"protocol", "result"}:
        raise _fault("the reply holds no result")
    return Returned(reply["result"])


def tool_name(skill_name: str, tool: str) -> str:
    """Return the name that a model sees for a tool that `parse_listing` has passed: `<skill>__<tool>`.

    No two pairs share one. Where the skill's name must be changed to fit, a hash of both stands between them; it begins
    with a digit, as no tool's name does, so that no other skill can be named to have the same.
    """
    whole = f"{skill_name}__{tool}"
    if _PLAIN_SKILL.fullmatch(skill_name) and len(whole) <= MAX_NAME_CHARACTERS:
        return whole
    digest = hashlib.sha256(f"{skill_name}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    end = f"__0{digest}__{tool}"
    return (_NOT_PLAIN.sub("-", skill_name).strip("-") or "skill")[: MAX_NAME_CHARACTERS - len(end)] + end


def _parse_tool(row: object, ref: ToolsetReference) -> OfferedTool:
    fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
    name, description = fields.get("name"), fields.get("description")
    if (
        set(fields) != {"name", "description", "schema"}
        or not isinstance(name, str)
        or not isinstance(description, str)
    ):
        raise _fault(f"{ref.text}: a tool is not described by name, description and schema")
    if not _TOOL_NAME.fullmatch(name):
        raise _fault(f"{ref.text}: '{make_printable(name[:64])}' cannot be the name of a tool")
    try:
        return OfferedTool(name, clean_description(description), check_schema(fields["schema"]))
    except ToolsetFault as fault:
        raise _fault(f"{ref.text}: tool '{name}': {fault.message}") from fault


def _parse_failure(reply: Mapping[str, object]) -> Failed:
    error = cast("dict[str, object]", reply["error"]) if isinstance(reply["error"], dict) else {}
    kind, message = error.get("kind"), error.get("message")
    if set(reply) != {"protocol", "error"} or set(error) != {"kind", "message"} or not isinstance(message, str):
        raise _fault("the reply holds an error without kind and message")
    if not isinstance(kind, str) or kind not in list(Failure):
        raise _fault("the reply holds an error of no known kind")
    return Failed(Failure(kind), _clean_message(message))


def _clean_message(message: str) -> str:
    visible = strip_invisible(message)[0].strip() or "no reason was given"
    if len(visible) <= MAX_MESSAGE_CHARACTERS:
        return visible
    return visible[: MAX_MESSAGE_CHARACTERS - len(CUT)] + CUT


def _decode(raw: bytes, *, max_bytes: int) -> dict[str, object]:
    """Return the object that a reply is, of this protocol, and JSON through and through."""
    import json

    if len(raw) > max_bytes:
        raise _fault(f"the reply has more than {max_bytes:,} bytes")
    try:
        reply: object = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise _fault("the reply is not valid JSON") from error
    flaw = find_flaw(reply)
    if flaw:
        raise _fault(f"the reply: '{flaw[0]}' {flaw[1]}")
    if not isinstance(reply, dict):
        raise _fault("the reply is no object")
    fields = cast("dict[str, object]", reply)
    if type(fields.get("protocol")) is not int or fields["protocol"] != PROTOCOL:
        raise _fault(f"the reply is not of protocol {PROTOCOL}")
    return fields


def _encode(request: Mapping[str, object]) -> bytes:
    import json

    return json.dumps(request, allow_nan=False).encode()


def _fault(message: str) -> ToolsetFault:
    return ToolsetFault(message, hint="the author of the skill must correct its toolset")
