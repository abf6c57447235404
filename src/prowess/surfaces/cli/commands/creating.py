"""`prowess new`."""

import os
import shutil

import click

from prowess.catalog.validation import check_text
from prowess.copies.disk_failures import telling
from prowess.errors import Refused, SettingsError
from prowess.policy import STRICT_READING, Limits
from prowess.skill.manifest import MAX_DESCRIPTION_LENGTH
from prowess.skill.names import MAX_NAME_LENGTH, is_standard_name, sanitise_name
from prowess.skill.problems import Severity
from prowess.skill.repair import quote_value
from prowess.skill.trigger_tests import TEST_FILES
from prowess.sources.folders import SKILL_MD
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text

__all__ = ["command"]

_DEFAULT_DESCRIPTION = "Says what this skill does and when to use it. Use when the user asks for it by name."
_EVALS = "evals"
_PARTS = ("scripts", "references", "assets", _EVALS)
_BODY = """
# {title}

State the goal in a sentence, then the steps that lead to it.

1. Read what is there before changing anything.
2. Do the work.
3. Check the result, and say what was done.
"""
_TESTS = """\
# What people say that should trigger the skill, and near misses that should not; ten of each, in people's own words.
# `prowess eval {name}` measures them.
should:
  - {example}
should_not:
  - Hello, how are you today?
"""


@click.command("new")
@click.argument("name")
@click.option("--dir", "folder", metavar="DIR", help="Where to make it; without it the project's .agents/skills.")
@click.option("--description", default=_DEFAULT_DESCRIPTION, help="What it does and when to use it.")
@click.option(
    "--with", "parts", type=click.Choice(_PARTS), multiple=True, help="Make this folder too; may be repeated."
)
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, folder: str | None, description: str, parts: tuple[str, ...]) -> None:
    """Make the folder of a new skill, valid from the start.

    \b
    prowess new pdf-fill --description "Fills in PDF forms. Use when a form is to be completed."
    prowess new pdf-fill --dir ./skills --with scripts --with references --with evals
    """
    if not is_standard_name(name) or len(name) > MAX_NAME_LENGTH:
        near = sanitise_name(name)
        hint = f"use '{near}'" if near else "use lower-case letters, digits and single hyphens, as in pdf-fill"
        raise SettingsError(f"'{name}' is not a name for a skill", hint=hint, code="bad-name")
    about = " ".join(description.split())
    if not 0 < len(about) <= MAX_DESCRIPTION_LENGTH:
        hint = f"say what the skill does and when to use it, in 1 to {MAX_DESCRIPTION_LENGTH:,} characters"
        raise SettingsError(f"a description cannot have {len(about):,} characters", hint=hint, code="bad-description")
    text = _render_skill(name, about)
    _check(text, name)
    home = folder or (invocation.skills[0] if invocation.skills else _project_skills(invocation))
    path = os.path.abspath(os.path.join(home, name))
    if os.path.lexists(path):
        raise Refused(f"{path} exists already", hint="choose another name, or remove it first", code="exists")
    if os.path.exists(home) and not os.path.isdir(home):
        raise SettingsError(f"{home} is not a folder", hint="name a folder for the skill", code="not-a-folder")
    with telling(f"{path} cannot be made"):
        files = _write(path, text, parts, tests=_TESTS.format(name=name, example=quote_value(about)))
    if invocation.as_json:
        print_json({"name": name, "path": path, "files": files})
        return
    print_text(path)
    note(f"Edit {os.path.join(path, SKILL_MD)}, then: prowess validate --strict {path}")
    if not folder and not invocation.skills:
        note("Models see a project's skills once the project is trusted: prowess trust")


def _project_skills(invocation: Invocation) -> str:
    return os.path.join(invocation.settings().place.project_root, ".agents", "skills")


def _render_skill(name: str, about: str) -> str:
    title = name.replace("-", " ").capitalize()
    return f"---\nname: {name}\ndescription: {quote_value(about)}\n---\n{_BODY.format(title=title)}"


def _check(text: str, name: str) -> None:
    """Refuse a description that the skill would be judged by: it is the one part that comes from the caller."""
    raw = text.encode("utf-8", "surrogateescape")
    for problem in check_text(raw, folder=name, reading=STRICT_READING, limits=Limits()).problems:
        if problem.severity is Severity.ERROR:
            hint = "say what the skill does and when to use it, in plain letters of one script"
            raise SettingsError(f"this description will not do: {problem.message}", hint=hint, code="bad-description")


def _write(path: str, text: str, parts: tuple[str, ...], *, tests: str) -> list[str]:
    """Make the folder beside its place and move it there as a whole."""
    home, name = os.path.split(path)
    draft = os.path.join(home, f".{name}.{os.urandom(8).hex()}")
    try:
        os.makedirs(draft)
        _write_text(draft, SKILL_MD, text)
        for part in parts:
            os.mkdir(os.path.join(draft, part))
        if _EVALS in parts:
            _write_text(draft, TEST_FILES[0], tests)
        os.rename(draft, path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return [SKILL_MD, *(f"{part}/" for part in parts)]


def _write_text(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
