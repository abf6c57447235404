"""What was typed before a question was put: it was meant for something else."""

import sys

__all__ = ["forget_typed_ahead"]


def forget_typed_ahead() -> None:
    """Drop what was typed at the terminal before now; what comes through a pipe stays."""
    try:
        import termios
    except ImportError:  # Not on this system.
        return
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (OSError, ValueError, termios.error):
        return
