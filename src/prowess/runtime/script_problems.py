"""Whether the scripts of a skill could run, judged by the sandbox that would run them."""

import os
from collections.abc import Iterator

from prowess.errors import WorldError
from prowess.execution.interpreters import HEAD_BYTES, choose_interpreter
from prowess.execution.probing import Facts
from prowess.runtime.run_preparation import find_scripts
from prowess.runtime.workbench import Workbench
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.skill_files import FileSet

__all__ = ["find_script_problems"]

_MAX_SCRIPTS = 100
"""Of one skill that are looked at."""


def find_script_problems(workbench: Workbench, skill: Skill, files: FileSet) -> tuple[Problem, ...]:
    """Return a Problem for each script whose interpreter the sandbox does not have; none if there is no sandbox.

    A file that nothing runs is no fault: not all that lies beside scripts is one.
    """
    scripts = find_scripts(files)[:_MAX_SCRIPTS]
    if not scripts or not workbench.policy.enabled:
        return ()
    try:
        sandbox, facts = workbench.choose()
    except WorldError:  # `prowess doctor` says so, and so does a run.
        return ()
    return tuple(_judge(skill, scripts, facts, sandbox.name))


def _judge(skill: Skill, scripts: tuple[str, ...], facts: Facts, sandbox: str) -> Iterator[Problem]:
    for path in scripts:
        chosen = choose_interpreter(path, _read_head(skill, path))
        if chosen is not None and chosen.command(facts.commands) is None:
            row = chosen.interpreter
            message = f"{path} needs {row.name}, which the {sandbox} sandbox has not"
            yield make_problem("interpreter-missing", message, path=path)


def _read_head(skill: Skill, path: str) -> bytes:
    found = open_beneath(skill.real, path=os.fsencode(path), apart=skill.apart)
    if isinstance(found, Obstacle):
        return b""
    try:
        return os.read(found, HEAD_BYTES + 1)  # One more says that it goes on.
    except OSError:
        return b""
    finally:
        os.close(found)
