"""Bytes of a skill's files, of one exact digest, for whoever looks at them or takes them away.

A path is never joined to a folder: it is looked up in the list of the skill's files, the file is opened by a walk that
cannot leave the skill, and its bytes are held against that list.
"""

import hashlib
import io
import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import NotFound, Refused
from prowess.runtime import Runtime
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.skill import Skill
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import show_bytes
from prowess.surfaces.http.refusals import RequestRefused

__all__ = ["MAX_ARCHIVE_BYTES", "MAX_FILE_BYTES", "Contents", "find_file", "open_contents", "open_folder_contents"]

MAX_FILE_BYTES = 16 << 20
MAX_ARCHIVE_BYTES = 64 << 20
"""Of all files of a skill together, before they are packed."""
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
"""The same files give the same archive, whenever it is made."""
_MAX_SAID = 50


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a skill as they lie in one folder."""

    name: str
    folder: str
    files: FileSet
    apart: bool = False

    def read(self, path: str) -> bytes:
        """Return the bytes of one file, by its path as it is shown; raise if it is not one of them, or too large."""
        file = find_file(self.files, path)
        if file is None:
            hint = "the list of its files says what there is"
            raise NotFound(f"skill '{self.name}' has no file '{path[:200]}'", hint=hint, code="resource-not-found")
        return self._read(file)

    def archive(self) -> bytes:
        """Return all files in a ZIP archive, sorted, in a folder of the skill's name.

        Links are left out, since programs that unpack them follow them, and names that mean something else on another
        system; the archive's comment says so.
        """
        total = sum(file.size for file in self.files.files)
        if total > MAX_ARCHIVE_BYTES:
            raise _too_large(f"skill '{self.name}' has {total:,} bytes", MAX_ARCHIVE_BYTES)
        packed, left_out = io.BytesIO(), list[str]()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self.files.files:
                shown = show_bytes(file.path)
                if file.kind is FileKind.LINK or any(sign in shown for sign in '\\:*?"<>|'):
                    left_out.append(shown)
                    continue
                entry = zipfile.ZipInfo(f"{_folder_name(self.name)}/{shown}", _DATE)
                entry.external_attr = (0o100755 if file.kind is FileKind.EXECUTABLE else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, self._read(file, limit=MAX_ARCHIVE_BYTES))
            archive.comment = _tell_left_out(left_out)
        return packed.getvalue()

    def _read(self, file: SkillFile, *, limit: int = MAX_FILE_BYTES) -> bytes:
        raw = self._read_bounded(file, limit)
        hashes = {file.sha256} if file.kind is not FileKind.LINK else {one.sha256 for one in self.files.files}
        if hashlib.sha256(raw).hexdigest() not in hashes:
            raise SkillChanged(f"skill '{self.name}' was changed while it was read", hint="try again")
        return raw

    def _read_bounded(self, file: SkillFile, limit: int) -> bytes:
        found = open_beneath(self.folder, path=file.path, apart=self.apart)
        if isinstance(found, Obstacle):
            message = f"the file '{show_bytes(file.path)}' of skill '{self.name}' cannot be read"
            raise NotFound(message, hint="it may have been removed just now; look at the list again", code=found.value)
        parts: list[bytes] = []
        left = limit + 1
        try:
            while left > 0 and (part := os.read(found, min(left, _CHUNK))):
                parts.append(part)
                left -= len(part)
        except OSError:
            raise SkillChanged(f"a file of skill '{self.name}' cannot be read now", hint="try again") from None
        finally:
            os.close(found)
        if left <= 0:
            raise _too_large(f"the file '{show_bytes(file.path)}' of skill '{self.name}' is too large", limit)
        return b"".join(parts)


def find_file(files: FileSet, path: str) -> SkillFile | None:
    """Return the file of this path, as it is on disk or else as it is shown."""
    by_bytes = path.encode("utf-8", "surrogateescape")
    shown = None
    for file in files.files:
        if file.path == by_bytes:
            return file
        if shown is None and show_bytes(file.path) == path:
            shown = file
    return shown


@contextmanager
def open_contents(runtime: Runtime, skill: Skill, *, digest: str = "") -> Generator[Contents]:
    """Give the files of a digest: those that the skill has now, or a version of it that is kept.

    Without a digest, those that it has now. `digest` is 64 hexadecimal digits.
    """
    files = runtime.files(skill)
    if not digest or digest == files.digest:
        yield Contents(skill.name, skill.real, files, skill.apart)
        return
    versions = runtime.copying.versions
    try:
        pin = versions.pin(digest)
    except NotFound:
        raise _not_kept(skill, digest) from None
    with pin:
        kept = versions.read(digest)
        if kept is None:
            raise _not_kept(skill, digest)
        yield Contents(skill.name, pin.folder, kept)


def open_folder_contents(name: str, folder: str) -> Contents:
    """Return the files of a folder, such as that of a former version of one of the user's own skills."""
    return Contents(name, folder, read_skill_files(folder))


def _not_kept(skill: Skill, digest: str) -> RequestRefused:
    message = f"the files of skill '{skill.name}' with the digest {digest[:12]}… are not kept any more"
    hint = "leave the digest out for those that it has now"
    return RequestRefused(message, status=410, code="not-kept", hint=hint)


def _too_large(message: str, limit: int) -> Refused:
    return Refused(f"{message}; at most {limit:,} bytes are sent", hint="open it on disk", code="resource-too-large")


def _folder_name(name: str) -> str:
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name).strip(".")
    return plain[:100] or "skill"


def _tell_left_out(paths: list[str]) -> bytes:
    if not paths:
        return b""
    more = f" and {len(paths) - _MAX_SAID:,} more" if len(paths) > _MAX_SAID else ""
    return f"Left out: {', '.join(paths[:_MAX_SAID])}{more}".encode()[:60_000]
