"""Names of skills in running text, where no form escapes them."""

from prowess.skill.names import MAX_NAME_LENGTH

__all__ = ["show_name", "show_names"]

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def show_name(name: str) -> str:
    """Return a name that can neither end nor begin a tag, nor run on: what a lenient profile loads may be any text."""
    short = name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…"
    return short.translate(_ENTITIES)


def show_names(names: tuple[str, ...], *, most: int) -> str:
    """Return names with commas between them, as many as are wanted, and how many there are besides."""
    shown = ", ".join(map(show_name, names[:most]))
    rest = len(names) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown
