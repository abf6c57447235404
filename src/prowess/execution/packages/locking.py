"""Locks: the exact packages, by version and hash, that stand for what a script declares.

Wheels only: to build a package is to run its code, on the host and before anybody has agreed to it.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from prowess.errors import Refused, WorldError
from prowess.execution.packages.script_metadata import ScriptMetadata, satisfies_python
from prowess.execution.packages.uv_command import Progress, Ran, describe_refusal, run_uv, working

__all__ = ["MAX_PACKAGES", "Interpreter", "Lock", "Package", "find_lock", "make_lock"]

MAX_PACKAGES = 300
TIMEOUT_SECONDS = 600
_MAX_LOCK_BYTES = 4 * 1024 * 1024
_MAX_LOCKS = 1_000
"""How many are kept; those go that were not looked at for the longest time."""
_MAX_FETCHED_BYTES = 1 << 30
"""Some indexes give the metadata of a package only with all of it."""
_FOLDER = "locks-1"
_UNRESOLVED = "packages-unresolved"
_PACKAGE = re.compile(r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)==([A-Za-z0-9][A-Za-z0-9.!+_-]{0,199})((?: --hash=\S+)+)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that will run the script: the sandbox's, not the host's."""

    python: tuple[int, ...]
    """Its version, as in (3, 11, 2)."""
    platform: str
    """In uv's words, such as `x86_64-unknown-linux-gnu` or `x86_64-manylinux_2_36`."""

    @property
    def version(self) -> str:
        return ".".join(map(str, self.python))


@dataclass(frozen=True, slots=True)
class Package:
    """One package of a lock."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Lock:
    """What a person agrees to, and what is installed: nothing else, whatever the index says later."""

    text: str
    """The requirements with their hashes, a package a line."""
    digest: str
    """Stands for the text, the platform, and Python up to its minor version."""
    packages: tuple[Package, ...]
    python: str
    platform: str


def find_lock(metadata: ScriptMetadata, *, interpreter: Interpreter, cache: str) -> Lock | None:
    """Return the lock that was made before; None if there is none that can be used."""
    path = _place(metadata, interpreter, cache)
    content = _read(path)
    lock = _parse(content, interpreter) if content is not None else None
    if lock is not None:
        with suppress(OSError):
            os.utime(path)
    return lock


def make_lock(
    metadata: ScriptMetadata,
    *,
    interpreter: Interpreter,
    cache: str,
    uv: str,
    progress: Progress,
    offline: bool = False,
) -> Lock:
    """Return the lock that was made before, or ask the index for the newest packages that fit, and keep the answer."""
    if not satisfies_python(metadata.requires_python, interpreter.python):
        needed = f"the script needs Python {metadata.requires_python}, and the sandbox has {interpreter.version}"
        raise Refused(needed, hint="let scripts run where there is such a Python", code=_UNRESOLVED)
    place = _place(metadata, interpreter, cache)
    key = os.path.basename(place)
    try:
        with working(os.path.join(cache, _FOLDER), key, progress=progress) as folder:
            found = find_lock(metadata, interpreter=interpreter, cache=cache)
            if found is not None:
                return found  # From before, or from the process that this one has waited for.
            content = _resolve(
                metadata,
                interpreter,
                folder=folder,
                uv=uv,
                progress=progress,
                offline=offline,
            )
            lock = _parse(content, interpreter)
            if lock is None:
                raise _unfit(content)
            _keep(lock, folder, place)
            return lock
    except OSError as error:
        raise WorldError(f"the packages cannot be locked: {error}", hint="see to the disk and try again") from error


def _resolve(
    metadata: ScriptMetadata,
    interpreter: Interpreter,
    *,
    folder: str,
    uv: str,
    progress: Progress,
    offline: bool,
) -> str:
    if not metadata.dependencies:
        return ""
    with open(os.path.join(folder, "declared.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{dependency}\n" for dependency in metadata.dependencies)
    ran = run_uv(
        uv,
        (
            *("pip", "compile", "declared.txt", "--output-file=locked.txt", "--generate-hashes"),
            *("--only-binary=:all:", "--no-sources", "--no-header", "--no-annotate"),
            *("--no-emit-index-url", "--no-emit-find-links"),
            *(f"--python-version={interpreter.version}", f"--python-platform={interpreter.platform}"),
            *(("--offline",) if offline else ()),
        ),
        folder=folder,
        progress=progress,
        timeout_seconds=TIMEOUT_SECONDS,
        max_bytes=_MAX_FETCHED_BYTES,
    )
    if ran.failure is not None:
        raise describe_refusal(ran, "the packages that the script declares cannot be found", otherwise=_UNRESOLVED)
    return _read(os.path.join(folder, "locked.txt")) or ""


def _unfit(content: str) -> Refused:
    count = content.count("==")
    if count > MAX_PACKAGES:
        reason = f"there are {count:,} of them, more than {MAX_PACKAGES}"
    else:
        reason = "the index gives no SHA-256 hash or no plain version for one of them"
    return describe_refusal(
        Ran(None, reason), "the packages that the script declares cannot be locked", otherwise=_UNRESOLVED
    )


def _parse(content: str, interpreter: Interpreter) -> Lock | None:
    """Return the lock if the text has nothing but packages with a version and hashes; None if not."""
    rows: dict[str, tuple[Package, tuple[str, ...]]] = {}
    for line in re.sub(r"[ \t]*\\\n[ \t]*", " ", content).splitlines():
        found = _PACKAGE.fullmatch(line)
        hashes = found[3].split() if found else []
        if found is None or found[1] in rows or not all(_HASH.fullmatch(one) for one in hashes):
            return None
        rows[found[1]] = Package(found[1], found[2]), tuple(sorted(set(hashes)))
    if len(rows) > MAX_PACKAGES:
        return None
    ordered = [rows[name] for name in sorted(rows)]
    text = "".join(f"{package.name}=={package.version} {' '.join(hashes)}\n" for package, hashes in ordered)
    minor = ".".join(map(str, interpreter.python[:2]))
    digest = _hash(("lock-1", minor, interpreter.platform, text))
    packages = tuple(package for package, _ in ordered)
    return Lock(text, digest, packages, interpreter.version, interpreter.platform)


def _place(metadata: ScriptMetadata, interpreter: Interpreter, cache: str) -> str:
    """Return where the lock lies, or would."""
    asked = (metadata.requires_python, interpreter.version, interpreter.platform, *sorted(metadata.dependencies))
    return os.path.join(cache, _FOLDER, f"{_hash(asked)}.txt")


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()


def _read(path: str) -> str | None:
    """Return the text of a plain file; None if there is none, or one that is too large."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            content = file.read(_MAX_LOCK_BYTES + 1)
        return content.decode("ascii") if len(content) <= _MAX_LOCK_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None


def _keep(lock: Lock, folder: str, place: str) -> None:
    draft = os.path.join(folder, "lock.txt")
    with open(draft, "w", encoding="ascii", newline="\n") as file:
        file.write(lock.text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, place)
    _forget_oldest(os.path.dirname(place))


def _forget_oldest(folder: str) -> None:
    with os.scandir(folder) as entries:
        kept = [
            (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries if _is_lock(entry.name)
        ]
    for _, path in sorted(kept)[: max(0, len(kept) - _MAX_LOCKS)]:
        with suppress(OSError):
            os.unlink(path)


def _is_lock(name: str) -> bool:
    return name.endswith(".txt")
