"""Names for new conversations."""

import os
import time

__all__ = ["is_chat_id", "make_chat_id"]

_RANDOM_BYTES = 8
"""So many that no two servers make the same name within a second."""
_LONGEST = 200


def make_chat_id(now: float) -> str:
    """Return a name for a new conversation that people can read, and that no other has."""
    return f"chat-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{os.urandom(_RANDOM_BYTES).hex()}"


def is_chat_id(text: str) -> bool:
    """Say whether a conversation can have this name: people must see all of it, and see it whole."""
    return 0 < len(text) <= _LONGEST and text.isprintable() and text == text.strip()
