"""Export skills as zip archives: the same skills give the same bytes, on every machine and at any time."""

import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from prowess.copies.disk_failures import telling
from prowess.copies.trees import remove_tree
from prowess.copies.writable_copies import copy_for_editing
from prowess.errors import BrokenSkill
from prowess.runtime import Runtime
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.skill import Skill
from prowess.sources.source import is_text, show_path
from prowess.surfaces.export.choosing import Named, name_skills
from prowess.surfaces.export.ledger import decide_change, hash_file, read_ledger, refuse_place
from prowess.surfaces.export.options import Doing, ExportOptions
from prowess.surfaces.export.reports import Change, ExportReport, LeftOut, Written

__all__ = ["export_archives"]

_SUFFIX = ".zip"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The first moment that an archive can tell."""
_UNIX = 3
_MODES = {
    FileKind.FILE: stat.S_IFREG | 0o644,
    FileKind.EXECUTABLE: stat.S_IFREG | 0o755,
    FileKind.LINK: stat.S_IFLNK | 0o777,
}


class _Staged(NamedTuple):
    """A skill that was copied, so that what is packed is whole and stays as it is."""

    one: Named
    folder: str
    files: tuple[SkillFile, ...]


def export_archives(runtime: Runtime, skills: Sequence[Skill], options: ExportOptions) -> ExportReport:
    """Pack all skills into one archive, or each into one of its name if `out` is no `.zip`; say what came of it."""
    named, left_out = name_skills(skills)
    written: list[Written] = []
    is_one = options.out.lower().endswith(_SUFFIX)
    parent = os.path.dirname(options.out) if is_one else options.out
    with _staging(parent, options.doing) as staging:
        staged: list[_Staged] = []
        for one in named:
            found = _stage(runtime, one, staging)
            if isinstance(found, LeftOut):
                left_out.append(found)
            else:
                staged.append(found)
        archives = [(options.out, staged)] if is_one else [(_name(parent, one), [one]) for one in staged]
        for path, members in archives:
            if not members:
                continue
            packed = _pack(path, members, staging, options)
            if isinstance(packed, Written):
                written.append(packed)
            elif is_one:
                raise refuse_place(path, packed)
            else:
                left_out.append(LeftOut(members[0].one.skill.id, f"{show_path(path)}: {packed}; --force replaces it"))
    return ExportReport(tuple(written), (), tuple(left_out))


def _name(parent: str, staged: _Staged) -> str:
    return os.path.join(parent, f"{staged.one.name}{_SUFFIX}")


@contextmanager
def _staging(parent: str, doing: Doing) -> Generator[str]:
    """Give a folder on the same disk, or anywhere if nothing is to be written; it is gone afterwards."""
    with telling(f"{show_path(parent)} cannot be written"):
        if doing is Doing.WRITE:
            os.makedirs(parent, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=".prowess-export.", dir=parent if doing is Doing.WRITE else None)
    try:
        yield folder
    finally:
        remove_tree(folder)


def _stage(runtime: Runtime, one: Named, staging: str) -> _Staged | LeftOut:
    folder = os.path.join(staging, one.name)
    wanted = runtime.files(one.skill).digest  # Which fetches those of a skill from an MCP server.
    try:
        copied = copy_for_editing(one.skill.real, folder, apart=one.skill.apart, called=f"'{one.skill.name}'")
    except BrokenSkill as error:
        return LeftOut(one.skill.id, error.message)
    if copied.digest != wanted:
        return LeftOut(one.skill.id, "its files were changed while they were copied; try again")
    files = copied.files
    unfit = next((path for file in files if not is_text(path := os.fsdecode(file.path))), None)
    if unfit is not None:
        return LeftOut(one.skill.id, f"no archive can tell the name {show_path(unfit)}: its bytes are no text")
    return _Staged(one, folder, files)


def _pack(path: str, members: Sequence[_Staged], staging: str, options: ExportOptions) -> Written | str:
    """Write an archive and put it in its place; return why not if something else has that."""
    draft = os.path.join(staging, _SUFFIX)
    with telling(f"{show_path(path)} cannot be written"):
        _write_archive(draft, members)
    digest = hash_file(draft) or ""
    parent, name = os.path.split(path)
    ledger = read_ledger(parent)
    change = decide_change(
        recorded=ledger.digests.get(name), present=hash_file(path), wanted=digest, overwriting=options.overwriting
    )
    if not isinstance(change, Change):
        return change
    if options.doing is Doing.WRITE and change is not Change.UNCHANGED:
        with telling(f"{show_path(path)} cannot be written"):
            os.replace(draft, path)
    if options.doing is Doing.WRITE and ledger.digests.get(name) != digest:
        ledger.with_digest(name, digest).write()
    return Written(path, tuple(one.one.skill.id for one in members), digest, change)


def _write_archive(path: str, members: Sequence[_Staged]) -> None:
    """Write all files in the order of their names, and as they are: how small they get differs between libraries."""
    with open(path, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, folder, entry in sorted(_entries(members), key=lambda row: row[0].encode()):
                info = zipfile.ZipInfo(name, _LONG_AGO)
                info.create_system = _UNIX
                info.external_attr = _MODES[entry.kind] << 16
                _write_entry(archive, info, os.path.join(folder, os.fsdecode(entry.path)), entry.kind)
        file.flush()
        os.fsync(file.fileno())


def _entries(members: Sequence[_Staged]) -> Iterator[tuple[str, str, SkillFile]]:
    for one in members:
        for entry in one.files:
            yield f"{one.one.name}/{os.fsdecode(entry.path)}", one.folder, entry


def _write_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, kind: FileKind) -> None:
    if kind is FileKind.LINK:
        archive.writestr(info, os.fsencode(os.readlink(path)))
        return
    info.file_size = os.path.getsize(path)
    with open(path, "rb") as source, archive.open(info, "w") as target:
        shutil.copyfileobj(source, target)
