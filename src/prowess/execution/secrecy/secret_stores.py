"""Where secrets are kept: in a file that only its owner may read, or in the keyring of the system.

A value may be kept for all skills, or for one. No value is ever part of a message.
"""

import importlib
import os
import stat
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from prowess.errors import Refused, WorldError
from prowess.policy import SecretKeeping
from prowess.skill.declared_secrets import is_secret_name
from prowess.sources.durable_names import fsync_folder
from prowess.sources.locks import Hold, hold_lock

__all__ = [
    "FILE_NAME",
    "MAX_SECRETS",
    "MAX_VALUE_BYTES",
    "FileSecretStore",
    "KeyringSecretStore",
    "SecretName",
    "SecretStore",
    "check_secret_name",
    "check_secret_value",
    "open_secret_store",
]

FILE_NAME = "secrets.json"
MAX_VALUE_BYTES = 64 * 1024
MAX_SECRETS = 1_000
"""In one store."""
_MAX_SKILL_LENGTH = 256
_MAX_FILE_BYTES = 64 * 1024 * 1024
_FORMAT = "prowess-secrets-1"
_SERVICE = "prowess"
_INDEX = "-names"
"""The entry of a keyring that lists the others; no name of a secret looks like it."""
_T = TypeVar("_T")


class SecretName(NamedTuple):
    """What a value is kept under."""

    name: str
    """Of the variable."""
    skill: str = ""
    """The id or the name of the one skill that it is for; empty for all."""


_Values = dict[SecretName, str]


class SecretStore(Protocol):
    """Keeps secrets. Several processes may use it at once, and none loses what another has set."""

    def get(self, name: str, skill: str = "") -> str | None:
        """Return the value for this skill, or else the one for all; None if there is neither."""
        ...

    def find(self, keys: Collection[SecretName]) -> Mapping[SecretName, str]:
        """Return the values that are kept under exactly these names."""
        ...

    def set(self, name: str, value: str, skill: str = "") -> None:
        """Keep a value in the place of the one before."""
        ...

    def unset(self, name: str, skill: str = "") -> bool:
        """Forget the value for exactly this skill, or for all; return whether there was one."""
        ...

    def names(self) -> tuple[SecretName, ...]:
        """Return what values there are, in order."""
        ...


def open_secret_store(keeping: SecretKeeping, *, home: str) -> SecretStore:
    """Return the store that the policy names. Nothing is read or written yet."""
    match keeping:
        case SecretKeeping.FILE:
            return FileSecretStore(os.path.join(home, FILE_NAME))
        case SecretKeeping.KEYRING:
            return KeyringSecretStore(lock=os.path.join(home, "keyring.lock"))


def check_secret_name(name: str, skill: str = "") -> SecretName:
    """Return what to keep a value under, or refuse it without repeating it: it may be `NAME=VALUE`."""
    if not is_secret_name(name):
        hint = "use letters, digits and _, as for a variable; at most 128"
        raise Refused("this cannot be the name of a secret", hint=hint, code="bad-secret-name")
    if len(skill) > _MAX_SKILL_LENGTH or not skill.isprintable():
        raise Refused("this cannot be the name of a skill", hint="give its name or its id", code="bad-secret-name")
    return SecretName(name, skill)


def check_secret_value(value: str) -> str:
    """Return the value, or refuse it without a word of what it is."""
    size_bytes = len(value.encode("utf-8", "surrogatepass"))
    if not 1 <= size_bytes <= MAX_VALUE_BYTES:
        found = f"has {size_bytes} bytes" if size_bytes else "is empty"
        hint = f"give text of 1 to {MAX_VALUE_BYTES} bytes"
        raise Refused(f"the value {found}", hint=hint, code="bad-secret-value")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        hint = "give text in UTF-8 without NUL; encode other data, for example in base64"
        raise Refused("the value is not plain text", hint=hint, code="bad-secret-value")
    return value


class FileSecretStore:
    """Secrets in a JSON file, which is never readable for others, not even while it is written."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._names: tuple[object, tuple[SecretName, ...]] | None = None
        """What there was when the file was last read for it, and by what to know that the file is still the same."""

    def __repr__(self) -> str:
        return f"FileSecretStore({self.path!r})"

    def get(self, name: str, skill: str = "") -> str | None:
        """Return the value for this skill, or else the one for all; None if there is neither."""
        key = check_secret_name(name, skill)
        values = self._read()
        return values.get(key, values.get(SecretName(name)))

    def find(self, keys: Collection[SecretName]) -> Mapping[SecretName, str]:
        """Return the values that are kept under exactly these names, as they all are at one moment."""
        values = self._read()
        return {key: values[key] for key in keys if key in values}

    def set(self, name: str, value: str, skill: str = "") -> None:
        """Keep a value in the place of the one before."""
        key = check_secret_name(name, skill)
        check_secret_value(value)
        with self._locked():
            self._write(_add(self._read(), key, value))

    def unset(self, name: str, skill: str = "") -> bool:
        """Forget the value for exactly this skill, or for all; return whether there was one."""
        key = check_secret_name(name, skill)
        with self._locked():
            values = self._read()
            if key not in values:
                return False
            del values[key]
            self._write(values)
        return True

    def names(self) -> tuple[SecretName, ...]:
        """Return what values there are, in order."""
        stamp = self._stamp()  # Taken first: what is written meanwhile is read again.
        if stamp is None or self._names is None or self._names[0] != stamp:
            self._names = stamp, tuple(sorted(self._read()))
        return self._names[1]

    def _stamp(self) -> object:
        """Return what differs once the file is another, or others may use it; None if it cannot be told."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @contextmanager
    def _locked(self) -> Generator[None]:
        try:
            with hold_lock(f"{self.path}.lock", Hold.ALONE):
                yield
        except OSError as error:
            raise self._failure(error) from error

    def _read(self) -> _Values:
        try:
            content = self._read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._failure(error) from error
        values = _parse(content)
        if values is None:
            raise WorldError(
                f"the secrets in {self.path} cannot be understood: the file is damaged",
                hint="restore it from a backup, or move it away and set the secrets again",
                code="secrets-damaged",
            )
        return values

    def _read_bytes(self) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self.path, flags)
        with open(handle, "rb") as file:
            self._check(os.fstat(handle))
            return file.read(_MAX_FILE_BYTES + 1)

    def _check(self, status: os.stat_result) -> None:
        """Raise if the file is not one that only this user can have written and read."""
        if not stat.S_ISREG(status.st_mode):
            raise WorldError(f"{self.path} is no file", hint="move it away", code="secrets-unsafe")
        if os.name != "posix":
            return
        if status.st_uid != os.geteuid():
            hint = "run Prowess as the user that owns it"
            raise WorldError(f"the secrets in {self.path} belong to another user", hint=hint, code="secrets-unsafe")
        if status.st_mode & 0o077:
            message = f"others may read or write the secrets in {self.path}"
            hint = f"`chmod 600 {self.path}`, and think of the secrets in it as known to others"
            raise WorldError(message, hint=hint, code="secrets-unsafe")

    def _write(self, values: _Values) -> None:
        import json

        rows = [{"name": key.name, "skill": key.skill, "value": values[key]} for key in sorted(values)]
        content = json.dumps({"format": _FORMAT, "secrets": rows}, ensure_ascii=False, indent=1).encode() + b"\n"
        if len(content) > _MAX_FILE_BYTES:
            raise Refused("the secrets are too large together", hint="unset some of them", code="too-many-secrets")
        temporary = f"{self.path}.new"
        with suppress(FileNotFoundError):  # Left by a process that was killed.
            os.unlink(temporary)
        try:
            _write_private(temporary, content)
            os.replace(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        fsync_folder(os.path.dirname(self.path))

    def _failure(self, error: OSError) -> WorldError:
        if os.path.islink(self.path):
            return WorldError(
                f"{self.path} is a link, which is not followed",
                hint="put the file itself in its place",
                code="secrets-unsafe",
            )
        reason = error.strerror or type(error).__name__
        return WorldError(f"the secrets in {self.path} cannot be used: {reason}", code="secrets-unusable")


def _write_private(path: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _add(values: dict[SecretName, _T], key: SecretName, value: _T) -> dict[SecretName, _T]:
    if key not in values and len(values) >= MAX_SECRETS:
        hint = "`prowess secrets unset NAME` makes room"
        raise Refused(f"there are {MAX_SECRETS} secrets already", hint=hint, code="too-many-secrets")
    return {**values, key: value}


def _parse(content: bytes) -> _Values | None:
    """Return the values; None if the file is damaged. No error leaves here, since it would hold the content."""
    import json

    if len(content) > _MAX_FILE_BYTES:
        return None
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    fields = cast("dict[str, object]", document) if isinstance(document, dict) else {}
    rows = fields.get("secrets")
    if fields.get("format") != _FORMAT or not isinstance(rows, list):
        return None
    pairs = [_parse_row(row) for row in cast("list[object]", rows)]
    values = dict(pair for pair in pairs if pair is not None)
    return values if len(values) == len(pairs) else None


def _parse_row(row: object) -> tuple[SecretName, str] | None:
    match row:
        case {"name": str(name), "skill": str(skill), "value": str(value)} if is_secret_name(name):
            return SecretName(name, skill), value
        case _:
            return None


class KeyringSecretStore:
    """Secrets in the keyring of the system, with one entry more that lists their names."""

    def __init__(self, *, lock: str = "") -> None:
        self._lock = lock
        """A file by which processes take turns to change the list; empty if there is one process only."""

    def __repr__(self) -> str:
        return "KeyringSecretStore()"

    def get(self, name: str, skill: str = "") -> str | None:
        """Return the value for this skill, or else the one for all; None if there is neither."""
        key = check_secret_name(name, skill)
        own = self._get(_entry(key)) if skill else None
        return self._get(name) if own is None else own

    def find(self, keys: Collection[SecretName]) -> Mapping[SecretName, str]:
        """Return the values that are kept under exactly these names."""
        listed = frozenset(self.names())
        found = ((key, self._get(_entry(key))) for key in keys if key in listed)
        return {key: value for key, value in found if value is not None}

    def set(self, name: str, value: str, skill: str = "") -> None:
        """Keep a value in the place of the one before."""
        key = check_secret_name(name, skill)
        check_secret_value(value)
        with self._locked():
            listed = _add(dict.fromkeys(self.names()), key, None)
            self._set(_INDEX, _render_index(listed))  # First: what is listed but missing does no harm.
            self._set(_entry(key), value)

    def unset(self, name: str, skill: str = "") -> bool:
        """Forget the value for exactly this skill, or for all; return whether there was one."""
        key = check_secret_name(name, skill)
        with self._locked():
            existed = self._get(_entry(key)) is not None
            if existed:
                _ask_keyring(lambda keyring: keyring.delete_password(_SERVICE, _entry(key)))
            listed = dict.fromkeys(self.names())
            if key in listed:
                del listed[key]
                self._set(_INDEX, _render_index(listed))
        return existed

    def names(self) -> tuple[SecretName, ...]:
        """Return what values there are, in order."""
        index = self._get(_INDEX)
        names = _parse_index(index) if index else ()
        if names is None:
            hint = f"remove the entry '{_INDEX}' of '{_SERVICE}' from the keyring, and set the secrets again"
            raise WorldError("the list of secrets in the keyring is damaged", hint=hint, code="secrets-damaged")
        return names

    @contextmanager
    def _locked(self) -> Generator[None]:
        with hold_lock(self._lock, Hold.ALONE) if self._lock else nullcontext():
            yield

    def _get(self, entry: str) -> str | None:
        return _ask_keyring(lambda keyring: keyring.get_password(_SERVICE, entry))

    def _set(self, entry: str, value: str) -> None:
        _ask_keyring(lambda keyring: keyring.set_password(_SERVICE, entry, value))
        if self._get(entry) != value:  # There are keyrings that keep nothing, and do not say so.
            raise _no_keyring("the keyring does not keep what it is given")


def _entry(key: SecretName) -> str:
    return f"{key.name}@{key.skill}" if key.skill else key.name


def _render_index(names: dict[SecretName, None]) -> str:
    import json

    return json.dumps([list(key) for key in sorted(names)])


def _parse_index(text: str) -> tuple[SecretName, ...] | None:
    import json

    try:
        rows: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names: list[SecretName] = []
    for row in cast("list[object]", rows) if isinstance(rows, list) else [None]:
        match row:
            case [str(name), str(skill)] if is_secret_name(name):
                names.append(SecretName(name, skill))
            case _:
                return None
    return tuple(sorted(names))


def _ask_keyring(ask: Callable[[Any], _T]) -> _T:
    """Ask the keyring. What it raises is told by its kind alone: its text might hold the value."""
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError:
        raise _no_keyring("the package keyring is not installed") from None
    kind = ""
    try:
        return ask(keyring)
    except keyring.errors.NoKeyringError:
        pass
    except Exception as error:  # noqa: BLE001 - keyrings of all kinds, each with errors of its own
        kind = type(error).__name__
    if not kind:
        raise _no_keyring("there is no keyring on this system that works")
    raise WorldError(f"the keyring failed: {kind}", hint="unlock it, and try again", code="keyring-failed")


def _no_keyring(message: str) -> WorldError:
    hint = "`pip install 'prowess[keyring]'`, or keep secrets in a file: execution.secrets = \"file\""
    return WorldError(message, hint=hint, code="no-keyring")
