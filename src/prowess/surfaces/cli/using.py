"""What the commands that use a skill have in common."""

import shlex
from collections.abc import Generator
from contextlib import contextmanager

from prowess.errors import ToolInputError
from prowess.runtime import Runtime

__all__ = ["explained"]


@contextmanager
def explained(runtime: Runtime, name: str, *, agent: str = "") -> Generator[None]:
    """Say in the error of an unknown skill what was probably meant, and where the reason can be found."""
    try:
        yield
    except ToolInputError as error:
        if error.code == "unknown-skill":
            whom = f" --agent {shlex.quote(agent)}" if agent else ""
            why = f"`prowess why {shlex.quote(name)}{whom}` says why"
            catalog = runtime.catalog()
            error.hint = why if catalog.find(name) else f"{catalog.suggest(name)}; {why}".replace("?;", "?")
        raise
