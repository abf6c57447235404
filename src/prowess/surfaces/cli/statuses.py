"""The status with which a command ends: 0 done, and otherwise by who can act."""

from prowess.errors import ProwessError, SettingsError, WorldError

__all__ = ["STATUS_OF_REFUSAL", "STATUS_OF_SETTINGS", "STATUS_OF_WORLD", "find_status"]

STATUS_OF_REFUSAL = 1
"""The answer is no: invalid, refused, not found, a script that failed."""
STATUS_OF_SETTINGS = 2
"""Wrong usage or settings."""
STATUS_OF_WORLD = 3
"""The disk, the network, a process or a database failed."""


def find_status(error: ProwessError) -> int:
    """Return the status of a command that ends with this error."""
    if isinstance(error, SettingsError):
        return STATUS_OF_SETTINGS
    return STATUS_OF_WORLD if isinstance(error, WorldError) else STATUS_OF_REFUSAL
