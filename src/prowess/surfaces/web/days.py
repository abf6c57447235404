"""Days, as they are counted and shown."""

from datetime import UTC, datetime, timedelta

__all__ = ["show_day"]

_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)


def show_day(day: int) -> str:
    """Return a day as text, counted from 1970."""
    return (_FIRST_DAY + timedelta(days=day)).date().isoformat()
