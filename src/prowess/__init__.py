"""Prowess: the skills runtime for agents.

    from prowess import Runtime

    with Runtime.open() as runtime, runtime.session("chat-1") as session:
        system_prompt = session.prompt()
        tools = session.tools(dialect="openai")
        result = session.call("activate_skill", {"name": "repo-survey"})

The names below are the public ones. They load when they are first used, so that `import prowess` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prowess.activation.consent import Answer, CallbackAsker, Confirmation, ConsentAsker, Question
    from prowess.activation.grants import Act, Decision, Grant
    from prowess.activation.receipts import Receipt, RunReceipt, UsageReport
    from prowess.agent.agent import Agent
    from prowess.agent.chat import Chat, TurnAnswer
    from prowess.agent.chat_model import ChatModel
    from prowess.agent.events import Happening
    from prowess.catalog.catalog import Catalog
    from prowess.catalog.switches import Switch
    from prowess.catalog.views import Reason, View
    from prowess.containers.mounts import Access, Mount, Permissions
    from prowess.copies.sync import SyncReport
    from prowess.copies.versions import Pin
    from prowess.disclosure.planner import Plan
    from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, SettingsError, ToolInputError, WorldError
    from prowess.execution.jobs import OutputFile
    from prowess.execution.rules.rights import Rights
    from prowess.policy import Policy
    from prowess.runtime.activator import Activation
    from prowess.runtime.evaluation import Evaluation, Goals
    from prowess.runtime.host_tools import HostTool
    from prowess.runtime.reception import ToolUse
    from prowess.runtime.run_results import RunRequest, RunResult
    from prowess.runtime.runtime import Runtime
    from prowess.runtime.session import Session
    from prowess.runtime.tool_results import ToolResult
    from prowess.settings import Settings, load_settings
    from prowess.skill.manifest import Manifest
    from prowess.skill.problems import Problem, Severity
    from prowess.skill.skill import Skill
    from prowess.state.conversations import TurnReceipt
    from prowess.version import __version__

__all__ = [
    "Access",
    "Act",
    "Activation",
    "Agent",
    "Answer",
    "BrokenSkill",
    "CallbackAsker",
    "Catalog",
    "Chat",
    "ChatModel",
    "Confirmation",
    "ConsentAsker",
    "Decision",
    "Evaluation",
    "Goals",
    "Grant",
    "Happening",
    "HostTool",
    "Manifest",
    "Mount",
    "NotFound",
    "OutputFile",
    "Permissions",
    "Pin",
    "Plan",
    "Policy",
    "Problem",
    "ProwessError",
    "Question",
    "Reason",
    "Receipt",
    "Refused",
    "Rights",
    "RunReceipt",
    "RunRequest",
    "RunResult",
    "Runtime",
    "Session",
    "Settings",
    "SettingsError",
    "Severity",
    "Skill",
    "Switch",
    "SyncReport",
    "ToolInputError",
    "ToolResult",
    "ToolUse",
    "TurnAnswer",
    "TurnReceipt",
    "UsageReport",
    "View",
    "WorldError",
    "__version__",
    "load_settings",
]

_HOMES = {
    "prowess.activation.consent": (
        "Answer",
        "CallbackAsker",
        "Confirmation",
        "ConsentAsker",
        "Question",
    ),
    "prowess.activation.grants": (
        "Act",
        "Decision",
        "Grant",
    ),
    "prowess.activation.receipts": (
        "Receipt",
        "RunReceipt",
        "UsageReport",
    ),
    "prowess.agent.agent": ("Agent",),
    "prowess.agent.chat": (
        "Chat",
        "TurnAnswer",
    ),
    "prowess.agent.chat_model": ("ChatModel",),
    "prowess.agent.events": ("Happening",),
    "prowess.catalog.catalog": ("Catalog",),
    "prowess.catalog.switches": ("Switch",),
    "prowess.catalog.views": (
        "Reason",
        "View",
    ),
    "prowess.containers.mounts": (
        "Access",
        "Mount",
        "Permissions",
    ),
    "prowess.copies.sync": ("SyncReport",),
    "prowess.copies.versions": ("Pin",),
    "prowess.disclosure.planner": ("Plan",),
    "prowess.errors": (
        "BrokenSkill",
        "NotFound",
        "ProwessError",
        "Refused",
        "SettingsError",
        "ToolInputError",
        "WorldError",
    ),
    "prowess.execution.jobs": ("OutputFile",),
    "prowess.execution.rules.rights": ("Rights",),
    "prowess.policy": ("Policy",),
    "prowess.runtime.activator": ("Activation",),
    "prowess.runtime.evaluation": (
        "Evaluation",
        "Goals",
    ),
    "prowess.runtime.host_tools": ("HostTool",),
    "prowess.runtime.reception": ("ToolUse",),
    "prowess.runtime.run_results": (
        "RunRequest",
        "RunResult",
    ),
    "prowess.runtime.runtime": ("Runtime",),
    "prowess.runtime.session": ("Session",),
    "prowess.runtime.tool_results": ("ToolResult",),
    "prowess.settings": (
        "Settings",
        "load_settings",
    ),
    "prowess.skill.manifest": ("Manifest",),
    "prowess.skill.problems": (
        "Problem",
        "Severity",
    ),
    "prowess.skill.skill": ("Skill",),
    "prowess.state.conversations": ("TurnReceipt",),
    "prowess.version": ("__version__",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'prowess' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
