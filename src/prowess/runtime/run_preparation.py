"""What starts a run, where and with what: all of it is found out before anybody is asked."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from prowess.disclosure.names import show_names
from prowess.disclosure.resources import normalise_path
from prowess.errors import BrokenSkill, ToolInputError
from prowess.execution.interpreters import (
    INTERPRETERS,
    Chosen,
    Interpreter,
    choose_interpreter,
    find_program,
    is_script_name,
)
from prowess.execution.probing import Facts
from prowess.execution.rules.rights import Rights
from prowess.execution.rules.tool_rules import covers_script, covers_script_all, find_script_prohibition
from prowess.execution.sandbox import ScriptSandbox
from prowess.policy import WorkspaceAccess
from prowess.runtime.gate import RunWish
from prowess.runtime.run_powers import (
    Progress,
    decide_network,
    decide_workspace,
    describe_unmet,
    find_secrets,
    lock_packages,
)
from prowess.runtime.run_results import RunRequest
from prowess.runtime.tool_checks import apply_rules
from prowess.runtime.workbench import Workbench
from prowess.skill.deception import make_printable
from prowess.skill.problems import make_problem
from prowess.skill.skill import Skill
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.skill_files import FileSet
from prowess.sources.source import show_bytes

if TYPE_CHECKING:
    from prowess.execution.packages.locking import Lock

__all__ = ["Preparation", "Prepared", "find_scripts"]

_SCRIPTS_FOLDER = b"scripts/"
_MAX_INPUT_BYTES = 16 << 20
_MAX_PROGRAM = 64
"""Characters of a program's name that are said."""
_MAX_NAMED = 10
_MAX_SECONDS = 86_400.0
"""How long a run may take, whoever asks, unless the settings allow more."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that could start, if it is allowed."""

    sandbox: ScriptSandbox
    command: tuple[str, ...]
    """The interpreter with its options; what it runs comes after."""
    wish: RunWish
    input: bytes | None = field(default=None, repr=False)
    lock: "Lock | None" = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    network: bool = False
    workspace: WorkspaceAccess = WorkspaceAccess.NONE
    notices: tuple[str, ...] = ()


def find_scripts(files: FileSet) -> tuple[str, ...]:
    """Return the paths of a skill's files that look like scripts."""
    found = (show_bytes(file.path) for file in files.files if _looks_like_script(file.path))
    return tuple(found)


def _looks_like_script(path: bytes) -> bool:
    return path.startswith(_SCRIPTS_FOLDER) or is_script_name(show_bytes(path))


@dataclass(frozen=True, slots=True)
class Preparation:
    """Finds out all that a run of one skill needs, for one request."""

    workbench: Workbench
    skill: Skill
    files: FileSet
    folder: str
    """Where the skill's files lie."""
    request: RunRequest
    rights: Rights
    progress: Progress

    def script(self, script: str, arguments: Sequence[str]) -> Prepared:
        """Return a run of a script, which is named by its path in the skill's folder."""
        given = _check_arguments(arguments)
        self._check_timeout()
        path = normalise_path(script)
        source = self._read(path)
        chosen = choose_interpreter(path, source)
        if chosen is None:
            raise self._without_interpreter(path, source)
        sandbox, facts = self.workbench.choose(self.request.backend)
        command = self._find_command(chosen, facts, sandbox, path)
        notices = self._check_rules(chosen.interpreter, path, given)
        declared = source if chosen.interpreter.name == "python" else b""
        prepared = self._finish(RunWish(path, given), sandbox, facts, command, declared=declared, notices=notices)
        if prepared.lock is None or not chosen.exact:
            return prepared
        # Packages are those for the Python that the sandbox was asked about, which another version cannot load.
        usual = self._find_command(replace(chosen, exact=""), facts, sandbox, path)
        return replace(prepared, command=usual)

    def tools(self, file: str) -> Prepared:
        """Return a run of the helper that serves the tools in a file."""
        sandbox, facts = self.workbench.choose(self.request.backend)
        python = choose_interpreter("tools.py", b"")
        assert python is not None
        command = self._find_command(python, facts, sandbox, file)
        return self._finish(RunWish(""), sandbox, facts, command, declared=self._read(file))

    def _finish(
        self,
        wish: RunWish,
        sandbox: ScriptSandbox,
        facts: Facts,
        command: tuple[str, ...],
        *,
        declared: bytes,
        notices: tuple[str, ...] = (),
    ) -> Prepared:
        network, of_network = decide_network(self.skill, self.request, self.rights)
        workspace = decide_workspace(self.workbench, self.request, self.rights)
        unmet = describe_unmet(self.skill, workspace)
        secrets = find_secrets(self.workbench, self.skill)
        lock, of_packages = lock_packages(self.workbench, self.skill, declared, facts, progress=self.progress)
        given = _encode_input(self.request.input)
        powers = [
            *(("network",) if network else ()),
            *((self._name_workspace(workspace),) if workspace is not WorkspaceAccess.NONE else ()),
            *(f"secret:{name}" for name in secrets),
            *((f"packages:{lock.digest[:16]}",) if lock else ()),
        ]
        full = replace(
            wish,
            powers=tuple(sorted(powers)),
            packages=tuple(f"{package.name}=={package.version}" for package in lock.packages) if lock else (),
            given=hashlib.sha256(given).hexdigest() if given is not None else "",
        )
        told = (*notices, *of_network, *unmet, *of_packages)
        return Prepared(sandbox, command, full, given, lock, secrets, network, workspace, told)

    def _name_workspace(self, access: WorkspaceAccess) -> str:
        """Return the power over this very folder: leave to write in one project is none to write in another."""
        return f"workspace:{access.value}:{os.path.realpath(self.workbench.workspace)}"

    def _read(self, path: str) -> bytes:
        """Return the beginning of a file, and one byte more than is looked at, which says that it goes on."""
        try:
            found = open_beneath(self.folder, path=os.fsencode(path))
        except UnicodeEncodeError:
            found = Obstacle.MISSING  # No name on any disk.
        if not isinstance(found, Obstacle):
            return _read_and_close(found)
        scripts = show_names(find_scripts(self.files), most=_MAX_NAMED)
        raise ToolInputError(
            f"skill '{self.skill.name}' has no script '{make_printable(path[:200])}'",
            hint=f"its scripts: {scripts}" if scripts else "it has no scripts",
            code="unknown-script",
        )

    def _without_interpreter(self, path: str, source: bytes) -> BrokenSkill:
        program = make_printable(find_program(source)[:_MAX_PROGRAM])
        if not program:
            return self._broken("interpreter-unknown", f"nothing here runs {path}", path)
        what = f"{path} names '{program}' in its first line, which runs no scripts here"
        known = ", ".join(row.name for row in INTERPRETERS)
        return self._broken("interpreter-missing", what, path, hint=f"name one of these there: {known}")

    def _find_command(self, chosen: Chosen, facts: Facts, sandbox: ScriptSandbox, path: str) -> tuple[str, ...]:
        command = chosen.command(facts.commands)
        if command is not None:
            return command
        row = chosen.interpreter
        what = f"{path} needs {row.name}, which the {sandbox.name} sandbox has not"
        hint = f"install it (Debian: apt-get install {row.package})" if row.package else f"install {row.name}"
        raise self._broken("interpreter-missing", what, path, hint=hint)

    def _broken(self, code: str, message: str, path: str, *, hint: str = "") -> BrokenSkill:
        problem = make_problem(code, message, path=path, remedy=hint)
        told = f"skill '{self.skill.name}': {problem.message}"
        return BrokenSkill(told, problems=(problem,), hint=problem.remedy, code=code)

    def _check_timeout(self) -> None:
        seconds = self.request.timeout_seconds
        most = max(_MAX_SECONDS, self.workbench.policy.limits.timeout_seconds)
        if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= most):
            raise ToolInputError(
                f"a run cannot take {seconds} seconds",
                hint=f"give more than 0, and at most {most:,.0f}",
                code="bad-timeout",
            )

    def _check_rules(self, row: Interpreter, path: str, arguments: Sequence[str]) -> tuple[str, ...]:
        """Hold a run against the rules of the host, the session and the skill itself; return what to say of it."""
        names = tuple(dict.fromkeys((row.name, *(way[0] for way in row.commands))))
        own = self.skill.manifest.allowed_tools
        return apply_rules(
            self.skill,
            self.workbench.policy.allowed_tools,
            what=f"running {path}",
            host=covers_script_all(self.rights.tools, interpreters=names, script=path, arguments=arguments),
            own=None if own is None else covers_script(own, interpreters=names, script=path, arguments=arguments),
            forbidden_by=find_script_prohibition(
                self.skill.manifest.behaviour.disallowed_tools, interpreters=names, script=path, arguments=arguments
            ),
        )


def _check_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments if a program can be given them; one text instead of a list would become its letters."""
    untyped = cast("Sequence[object]", arguments)
    if isinstance(untyped, str) or not all(isinstance(argument, str) for argument in untyped):
        raise ToolInputError("the arguments are no list of texts", hint="give one text each", code="bad-arguments")
    if any("\0" in argument for argument in arguments):
        raise ToolInputError("an argument holds a NUL character", hint="give such data as input", code="bad-arguments")
    return tuple(arguments)


def _read_and_close(file: int) -> bytes:
    from prowess.execution.packages.script_metadata import READ_BYTES

    try:
        return os.read(file, READ_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(file)


def _encode_input(given: Any) -> bytes | None:
    if given is None:
        return None
    try:
        raw = json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolInputError("the input cannot be written as JSON", hint=str(error)[:200], code="bad-input") from error
    if len(raw) > _MAX_INPUT_BYTES:
        raise ToolInputError(f"the input has more than {_MAX_INPUT_BYTES:,} bytes", code="bad-input")
    return raw
