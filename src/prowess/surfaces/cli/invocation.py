"""What the general options of one call say, and the runtime that they open."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prowess.errors import ProwessError

if TYPE_CHECKING:
    from prowess.runtime import Runtime
    from prowess.settings import Settings
    from prowess.skill.problems import Problem

__all__ = ["Invocation", "complete_skill", "json_lines_option", "json_option"]

_COMMAND = re.compile(r"(?:^|(?<=`))prowess(?= [a-z])")
"""A command in a hint, at its beginning or in backticks."""
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """The general options."""

    config: str | None = None
    profile: str | None = None
    skills: tuple[str, ...] = ()
    as_json: bool = False
    _told: "list[Problem]" = field(default_factory=list, init=False, repr=False)
    """What was said of sources."""

    def settings(self, *, user: str | None = None) -> "Settings":
        """Read the settings that apply, for another user if one is named."""
        from prowess.settings import load_settings

        settings = load_settings(config=self.config, profile=self.profile)
        return settings if user is None else settings.for_user(user)

    def open(self, *, user: str | None = None) -> "Runtime":
        """Open the runtime that the options describe, for another user if one is named; say which folder is missing."""
        runtime = self.open_silently(user=user)
        for folder in self.skills:
            self._check_folder(runtime, folder)
        return runtime

    def open_silently(self, *, user: str | None = None) -> "Runtime":
        """Open the runtime without a word, for what nobody reads."""
        from prowess.runtime import Runtime

        return Runtime(self.settings(user=user), skills=self.skills or None)

    def _check_folder(self, runtime: "Runtime", folder: str) -> None:
        from prowess.sources.folders import find_root_problem
        from prowess.sources.places import expand_path

        place = runtime.settings.place
        problem = find_root_problem(expand_path(folder, base=place.working_folder, home=place.home))
        if problem is not None:
            self.tell_once(problem)

    def tell_once(self, problem: "Problem") -> None:
        """Say on standard error what is wrong with a source, unless that was said before."""
        from prowess.surfaces.cli.output import note

        if problem not in self._told:
            self._told.append(problem)
            note(f"{problem.severity}: {problem.message} [{problem.code}]")

    def keep_options(self, text: str) -> str:
        """Return a text in which every command that it tells a person to type has the general options of this call.

        Without them it would ask about other skills, or by other settings.
        """
        named = (("--config", self.config), ("--profile", self.profile), *(("--skills", one) for one in self.skills))
        options = "".join(f" {option} {shlex.quote(value)}" for option, value in named if value is not None)
        return _COMMAND.sub(lambda found: f"{found[0]}{options}", text) if options else text

    def check_agent(self, runtime: "Runtime", agent: str) -> None:
        """Say so if an agent is meant that the settings do not know: it sees what everybody sees."""
        if agent and agent not in runtime.settings.agents:
            from prowess.surfaces.cli.output import note

            note(f"the settings know no agent '{agent}'; it has no list of skills")


def json_option(function: _F) -> _F:
    """Let `--json` stand after the command as well as before it."""
    return _add_json_option(function, "Print one JSON document and nothing else.")


def json_lines_option(function: _F) -> _F:
    """Do so for a command that prints many documents."""
    return _add_json_option(function, "Print JSON and nothing else, one object a line.")


def _add_json_option(function: _F, about: str) -> _F:
    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            ctx.find_object(Invocation).as_json = True  # type: ignore[union-attr]

    option = click.option("--json", is_flag=True, expose_value=False, callback=remember, help=about)
    return option(function)


def complete_skill(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a skill in a shell."""
    options = ctx.find_root().params
    invocation = Invocation(
        config=options.get("config"), profile=options.get("profile"), skills=options.get("skills", ())
    )
    try:
        with invocation.open_silently() as runtime:
            names = runtime.catalog().names()
    except ProwessError:  # The command itself will say what is wrong; a key says nothing.
        return []
    return [name for name in names if name.startswith(incomplete)]
