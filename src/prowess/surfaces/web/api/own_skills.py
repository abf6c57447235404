"""The user's own skills over HTTP: their versions, restoring one, taking a copy of another's skill, removing one."""

import os
import re
import tempfile
from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from starlette.responses import Response

from prowess.copies.history import Origin
from prowess.copies.incoming import is_folder_name
from prowess.copies.personal import Change
from prowess.copies.writable_copies import eject_skill
from prowess.errors import NotFound, Refused, SettingsError
from prowess.policy import SourceKind
from prowess.runtime import Runtime
from prowess.runtime.own_skills import find_own_folder, get_agreed_digest
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.skill import Skill
from prowess.sources.source import show_path
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.own_skill_records import change_record, history_record
from prowess.surfaces.records import Record
from prowess.surfaces.web.api.operations import Call, Operation
from prowess.surfaces.web.api.skill_answers import Digest, ProblemRow
from prowess.surfaces.web.api.skill_contents import open_folder_contents
from prowess.surfaces.web.api.skills import answer_file
from prowess.surfaces.web.skill_table import SkillRow

__all__ = ["OWN_SKILL_OPERATIONS", "describe_versions", "list_removed"]

_row = partial(Operation, tag="own")
_ONE = "/api/skills/{skill}"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_OWN_FORMS = (f"{SourceKind.USER}:", f"{SourceKind.USER}--")
"""How ids and keys of the user's own skills begin."""


class OriginRow(Struct, kw_only=True):
    """Where a version came from: a folder, or a folder of a git repository at a commit."""

    path: str | UnsetType = UNSET
    repository: str | UnsetType = UNSET
    ref: str | UnsetType | None = UNSET
    folder: str | UnsetType | None = UNSET
    commit: str | UnsetType = UNSET


class VersionRow(Struct, kw_only=True):
    """One version of a skill."""

    version: int | None
    """None for the only version of a skill that is not the user's own."""
    path: str
    digest: Digest | None
    at: str | None
    edited: bool
    origin: OriginRow | None


class VersionList(Struct, kw_only=True):
    """All versions of a skill, oldest first."""

    name: str
    own: bool
    current: int | None
    previous: list[int]
    versions: list[VersionRow]


class ChangeAnswer(Struct, kw_only=True):
    """What became of one of the user's own skills."""

    name: str
    status: str
    path: str
    version: int
    digest: Digest | None
    kept: int | None
    """The version that was in use before, if it was put into the history."""
    origin: OriginRow | None
    problems: list[ProblemRow]


class RestoreBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which version is to be used again."""

    version: Annotated[int, Meta(ge=1, le=999_999_999)] | None = None
    """Without it, the last former one."""


class EjectBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """No more need be said than which skill."""


class VersionFileQuery(Struct, kw_only=True):
    """What a file is wanted for."""

    form: Literal["download", "image"] = field(name="as", default="download")


def describe_versions(runtime: Runtime, skill: Skill) -> Record:
    """Return the versions of a skill; of one that is not the user's own, the only one."""
    own = find_own_folder(runtime, skill)
    if own is not None:
        return history_record(runtime.personal().history(own)) | {"own": True}
    only = {
        "version": None,
        "path": show_path(skill.folder),
        "digest": runtime.digest(skill) or None,
        "at": None,
        "edited": False,
        "origin": None,
    }
    return {"name": skill.name, "own": False, "current": None, "previous": [], "versions": [only]}


def list_removed(runtime: Runtime) -> list[tuple[str, str]]:
    """Return the folder's name and the key of each own skill that was removed; none if none are looked for."""
    try:
        personal = runtime.personal()
    except SettingsError:
        return []
    used = set(personal.names())
    names = [name for name in personal.former_names() if name not in used and personal.knows(name)]
    return [(name, make_activation_key(_make_id(name))) for name in names]


def _make_id(name: str) -> str:
    return f"{SourceKind.USER}:{name}"


def _find_own(call: Call, row: SkillRow | None) -> str | None:
    """Return the folder's name of one of the user's own skills, in use or removed, whatever else has its name."""
    runtime, asked = call.site.runtime, call.path["skill"]
    own = find_own_folder(runtime, row.skill) if row is not None else None
    if own is not None:
        return own
    if row is None and runtime.personal().knows(asked):
        return asked
    return _find_by_id(runtime, asked) if asked.startswith(_OWN_FORMS) else None


def _find_by_id(runtime: Runtime, asked: str) -> str | None:
    """Return the folder's name of an own skill that the catalog does not have, by its id or key."""
    personal = runtime.personal()
    for name in {*personal.names(), *personal.former_names()}:
        if asked in (_make_id(name), make_activation_key(_make_id(name))) and personal.knows(name):
            return name
    return None


def _find_row(call: Call) -> SkillRow | None:
    return call.site.table.current().find(call.path["skill"])


def _get_own(call: Call) -> str:
    row = _find_row(call)
    own = _find_own(call, row)
    if own is not None:
        return own
    if row is None:
        raise _unknown(call.path["skill"])
    raise Refused(
        f"'{row.skill.name}' is not one of your own skills",
        hint=f"make a copy of it yours first: eject it; if you removed your own, '{_make_id(row.skill.name)}' names it",
        code="not-yours",
    )


def _unknown(asked: str) -> NotFound:
    shown = show_path(asked[:200])
    return NotFound(f"no skill '{shown}'", hint="/api/skills lists all skills", code="unknown-skill")


def _list_versions(call: Call) -> Record:
    row = _find_row(call)
    own = _find_own(call, row)
    if own is not None:
        return history_record(call.site.runtime.personal().history(own)) | {"own": True}
    if row is None:
        raise _unknown(call.path["skill"])
    return describe_versions(call.site.runtime, row.skill)


def _send_version_file(call: Call) -> Response:
    number = call.path["number"]
    own = _get_own(call)
    if not _NUMBER.fullmatch(number):
        raise NotFound(f"'{show_path(own)}' has no version '{show_path(number[:40])}'", code="unknown-version")
    kept = call.site.runtime.personal().version(own, int(number))
    path = call.path["path"]
    return answer_file(open_folder_contents(show_path(own), kept.folder).read(path), path, call.query.form)


def _restore(call: Call) -> Record:
    return _tell(call, call.site.runtime.personal().restore(_get_own(call), version=call.body.version))


def _remove(call: Call) -> Record:
    return _tell(call, call.site.runtime.personal().remove(_get_own(call)))


def _eject(call: Call) -> Record:
    runtime = call.site.runtime
    skill = call.site.table.get(call.path["skill"]).skill
    personal = runtime.personal()
    if find_own_folder(runtime, skill) is not None or skill.name in personal.names():
        raise RequestRefused(
            f"you have a skill '{skill.name}' of your own already",
            status=409,
            code="exists",
            hint="edit that one, or remove it first; it stays in the history, and can be restored",
        )
    return _tell(call, _add(runtime, skill))


def _add(runtime: Runtime, skill: Skill) -> Change:
    policy, origin = runtime.policy, Origin(show_path(skill.folder))
    personal = runtime.personal()
    if not skill.server and not skill.apart:
        return personal.add(skill.real, reading=policy.reading, limits=policy.limits, origin=origin)
    digest = get_agreed_digest(runtime, skill) if skill.server else ""
    label = skill.name if is_folder_name(skill.name) else "skill"
    with tempfile.TemporaryDirectory(prefix="prowess-") as folder:
        copy = os.path.join(os.path.realpath(folder), label)
        # Without the skills that lie inside this one, and just those files that somebody agreed to.
        eject_skill(skill.real, copy, apart=skill.apart, digest=digest)
        return personal.add(copy, reading=policy.reading, limits=policy.limits, origin=origin)


def _tell(call: Call, change: Change) -> Record:
    call.site.runtime.rescan()
    return change_record(change)


OWN_SKILL_OPERATIONS = (
    _row(
        "GET",
        f"{_ONE}/versions",
        "list_versions",
        "List the versions of a skill, former ones too if it is one's own.",
        _list_versions,
        answer=VersionList,
        errors=(404, 422),
    ),
    _row(
        "GET",
        f"{_ONE}/versions/{{number}}/files/{{path:path}}",
        "download_version_file",
        "Download a file of a version of one's own skill.",
        _send_version_file,
        query=VersionFileQuery,
        media="application/octet-stream",
        errors=(404, 422),
    ),
    _row(
        "POST",
        f"{_ONE}/restore",
        "restore_skill",
        "Put a former version of one's own skill in use again.",
        _restore,
        body=RestoreBody,
        answer=ChangeAnswer,
        errors=(404, 422),
    ),
    _row(
        "POST",
        f"{_ONE}/eject",
        "eject_skill",
        "Make a copy of a skill one's own, to edit it.",
        _eject,
        body=EjectBody,
        answer=ChangeAnswer,
        errors=(404, 409, 422),
    ),
    _row(
        "DELETE",
        f"{_ONE}/own",
        "remove_skill",
        "Remove one's own skill; it is kept in the history.",
        _remove,
        answer=ChangeAnswer,
        errors=(404, 422),
    ),
)
