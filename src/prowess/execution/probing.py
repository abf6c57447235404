"""What a sandbox has: its commands, its Python, its system, found out by a job inside it and remembered on disk.

`SandboxProbe` answers with it whether a skill is eligible: the programs that count are those that its scripts find.
"""

import hashlib
import os
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from prowess.catalog.eligibility import HostProbe
from prowess.errors import WorldError
from prowess.execution.jobs import SEARCH_PATH, Job
from prowess.execution.rules.tool_rules import names_tool
from prowess.execution.sandbox import NoSandbox, ScriptSandbox
from prowess.execution.stopping import stoppable
from prowess.policy import RunLimits
from prowess.sources.private_folders import make_private_folder

__all__ = ["Facts", "FactsCache", "SandboxProbe", "gather_facts"]

_SEPARATOR = "//"
_MAX_CACHED_BYTES = 1 << 21
_MAX_CACHED_FILES = 20
_LIMITS = RunLimits(timeout_seconds=30, output_bytes=_MAX_CACHED_BYTES)
_SCRIPT = """
uname -s; uname -m; echo //
python3 -c 'import sys, platform as p; print(*sys.version_info[:3], *p.libc_ver())' 2>/dev/null; echo //
IFS=:; for folder in $PATH; do for file in "$folder"/*; do
[ -f "$file" ] && [ -x "$file" ] && echo "${file##*/}"; done; done; :
"""
_MAX_DIGITS = 6
_SYSTEMS = {"Linux": "linux", "Darwin": "macos"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is inside a sandbox."""

    commands: frozenset[str] = frozenset()
    system: str = "linux"
    machine: str = ""
    python: tuple[int, ...] = ()
    """Its version; empty if there is none."""
    libc: str = ""
    """Its kind and version, as in `glibc 2.36`."""


def gather_facts(sandbox: ScriptSandbox, *, path: str = SEARCH_PATH) -> Facts:
    """Look around in a sandbox, for commands where `path` says; raise `NoSandbox` if it does not work."""
    job = Job(("sh", "-c", _SCRIPT), environment={"PATH": path}, limits=_LIMITS)
    with stoppable(lambda: False):  # What is found out here is kept for others.
        ended = sandbox.run(job, keep="")
    text = ended.stdout.content.decode("utf-8", "replace")
    if ended.exit_status != 0 or text.count(f"{_SEPARATOR}\n") < 2:
        said = ended.stderr.content.decode("utf-8", "replace").strip()
        raise NoSandbox(f"{sandbox.name} does not work: {said or f'a trial ended with {ended.exit_status}'}")
    return _parse(text)


def _parse(text: str) -> Facts:
    system, python, commands = (part.strip() for part in text.split(f"{_SEPARATOR}\n", 2))
    kernel, machine = [*system.split("\n"), "", ""][:2]
    words = python.split()
    numbers = [int(word) for word in words[:3] if word.isdecimal() and len(word) < _MAX_DIGITS]
    version, libc = (tuple(numbers), " ".join(words[3:])) if len(numbers) == 3 else ((), "")
    names = frozenset(filter(None, commands.split("\n")))
    return Facts(names, _SYSTEMS.get(kernel, kernel.lower()), machine, version, libc)


class FactsCache:
    """Facts by the identity of a sandbox, kept in a folder that is always safe to delete."""

    def __init__(self, folder: str, *, path: str = SEARCH_PATH) -> None:
        self._folder = folder
        self._search_path = path
        self._known: dict[str, tuple[str, Facts]] = {}
        """By the name of a sandbox, its last identity and what it had then."""

    def get(self, sandbox: ScriptSandbox) -> Facts:
        """Return what a sandbox has, looked up anew once its programs may be others."""
        identity = sandbox.identity()
        known = self._known.get(sandbox.name)
        if known is not None and known[0] == identity:
            return known[1]
        facts = self._read(identity)
        if facts is None:
            facts = gather_facts(sandbox, path=self._search_path)
            self._write(identity, facts)
        self._known[sandbox.name] = identity, facts
        return facts

    def _path(self, identity: str) -> str:
        return os.path.join(self._folder, hashlib.sha256(os.fsencode(identity)).hexdigest()[:32])

    def _read(self, identity: str) -> Facts | None:
        import msgspec

        try:
            with open(self._path(identity), "rb") as file:
                facts = msgspec.json.decode(file.read(_MAX_CACHED_BYTES), type=Facts)
        except (OSError, ValueError, RecursionError):
            return None
        return facts if facts.commands else None  # No sandbox is without a shell.

    def _write(self, identity: str, facts: Facts) -> None:
        import msgspec

        path = self._path(identity)
        draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
        with suppress(OSError):  # What cannot be remembered is found out again.
            make_private_folder(self._folder)
            try:
                with open(draft, "xb") as file:
                    file.write(msgspec.json.encode(facts))
                os.replace(draft, path)
            except OSError:
                os.unlink(draft)
            self._tidy()

    def _tidy(self) -> None:
        """Remove all but the newest files: each program that is installed makes another one."""
        with os.scandir(self._folder) as entries:
            found = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
        for entry in found[_MAX_CACHED_FILES:]:
            with suppress(OSError):
                os.unlink(entry.path)


@dataclass(slots=True)
class SandboxProbe:
    """Answers for the sandbox that scripts would run in, and for this machine where there is none."""

    find: Callable[[], ScriptSandbox | None]
    cache: FactsCache
    find_secrets: Callable[[], Container[str]] = tuple
    """Under which names values are kept, which a run would be given."""
    tools: Sequence[str] = ("*",)
    """The host's rules on tools."""
    host: HostProbe = field(default_factory=HostProbe)
    _asked: bool = field(default=False, init=False, repr=False)
    """Whether a question was asked that the sandbox answers."""
    _secrets_asked: set[str] = field(default_factory=set[str], init=False, repr=False)

    def has_binary(self, name: str) -> bool:
        facts = self._facts()
        return self.host.has_binary(name) if facts is None else name in facts.commands

    def has_variable(self, name: str) -> bool:
        if self.host.has_variable(name):
            return True
        self._secrets_asked.add(name)
        return name in self.find_secrets()

    def has_tool(self, name: str) -> bool:
        return names_tool(self.tools, name)

    def system(self) -> str:
        facts = self._facts()
        return self.host.system() if facts is None else facts.system

    def python(self) -> tuple[int, ...]:
        """The version of Python in the sandbox; no number at all if there is none."""
        facts = self._facts()
        return self.host.python() if facts is None else facts.python

    def state(self) -> object:
        """Every view asks for this, so no sandbox is chosen for it before there is an answer that depends on one."""
        asked = tuple(self._secrets_asked)
        there = self.find_secrets() if asked else ()
        kept = tuple(sorted(name for name in asked if name in there))
        return (self._identity() if self._asked else "", kept, self.host.state())

    def _identity(self) -> str:
        sandbox = self.find()
        try:
            return "" if sandbox is None else sandbox.identity()
        except WorldError:
            return ""

    def _facts(self) -> Facts | None:
        self._asked = True
        sandbox = self.find()
        try:
            return None if sandbox is None else self.cache.get(sandbox)
        except WorldError:
            return None
