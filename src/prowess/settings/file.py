"""A settings file, with the lines on which its keys stand."""

import os
import re
from dataclasses import dataclass
from typing import Any

from prowess.errors import SettingsError

__all__ = ["SettingsFile"]

_MAX_BYTES = 4 << 20
_HINT = "it should be a file of TOML, in UTF-8; `prowess init --print` shows one"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    path: str
    text: str
    values: dict[str, Any]

    @staticmethod
    def read(path: str, *, must_exist: bool) -> "SettingsFile":
        """Return the file's settings; none if it is missing and may be."""
        try:
            with open(path, "rb") as file:
                raw = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            if must_exist:
                raise SettingsError(
                    f"no settings file at {path}", hint="`prowess init` writes one", code="settings-missing"
                ) from None
            return SettingsFile("", "", {})
        except NotADirectoryError as error:
            raise _misplaced(path, must_exist=must_exist) from error
        except OSError as error:
            raise _unreadable(path, f"cannot be read: {error}") from error
        return SettingsFile.parse(path, raw)

    @staticmethod
    def parse(path: str, raw: bytes) -> "SettingsFile":
        """Return the settings of a file that holds these bytes."""
        import tomllib

        if len(raw) > _MAX_BYTES:
            raise _unreadable(path, f"larger than {_MAX_BYTES:,} bytes")
        try:
            text = raw.decode()
            return SettingsFile(path, text, tomllib.loads(text))
        except UnicodeDecodeError as error:
            raise _unreadable(path, f"cannot be read: {error}") from error
        except RecursionError as error:
            raise SettingsError(f"{path}: nested too deeply", hint="correct the file", code="bad-toml") from error
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{path}: not valid TOML: {error}", hint="correct the line", code="bad-toml") from error

    def fail(self, key: str, message: str, hint: str = "") -> SettingsError:
        """Return the error for a key, with the line where it stands."""
        line = self._line(key)
        return SettingsError(f"{self.path}{f':{line}' if line else ''}: {message}", hint=hint, code="bad-setting")

    def _line(self, key: str) -> int | None:
        """Return the line of a key: in its own table if that can be told, else where its last part is first set."""
        table, _, last = key.rpartition(".")
        inside = not table
        elsewhere: int | None = None
        anywhere = re.compile(rf"(?:^|[\s.{{,'\"]){re.escape(last)}['\"]?\s*=")
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
            if header:
                name = re.sub(r"['\"]", "", header[1])
                if name == key:
                    return number
                inside = name == table
            elif anywhere.search(line):
                if inside:
                    return number
                elsewhere = elsewhere or number
        return elsewhere


def _misplaced(path: str, *, must_exist: bool) -> SettingsError:
    """Return the error for a place below something that is no folder; where none is named, it is the home."""
    place = os.path.dirname(path)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    hint = "give the path of a settings file" if must_exist else "set PROWESS_HOME to a folder"
    return SettingsError(f"{place} is not a folder, so there can be no {path}", hint=hint, code="not-a-folder")


def _unreadable(path: str, why: str) -> SettingsError:
    return SettingsError(f"{path}: {why}", hint=_HINT, code="settings-unreadable")
