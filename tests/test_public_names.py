"""What `prowess` offers to those who import it."""

import pytest

import prowess


def test_public_names_are_these() -> None:
    assert prowess.__all__ == [
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


@pytest.mark.parametrize("name", prowess.__all__)
def test_public_name_can_be_imported(name: str) -> None:
    value = getattr(prowess, name)
    assert getattr(value, "__name__", name) == name
    assert getattr(prowess, name) is value


def test_names_of_the_module_are_sorted_and_each_is_given_once() -> None:
    assert prowess.__all__ == sorted(set(prowess.__all__))


def test_dir_lists_the_public_names() -> None:
    assert dir(prowess) == sorted(prowess.__all__)


def test_other_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'prowess' has no attribute 'nope'"):
        _ = prowess.nope  # type: ignore[attr-defined]
