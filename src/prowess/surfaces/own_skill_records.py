"""The user's own skills as plain data: what became of one, its versions, and where they came from."""

from typing import Any

from prowess.copies.history import History, KeptVersion, Origin
from prowess.copies.personal import Change
from prowess.runtime.tool_results import show_moment
from prowess.sources.source import show_path
from prowess.surfaces.records import problem_record

__all__ = ["change_record", "history_record", "list_versions", "origin_record", "version_record"]

Record = dict[str, Any]


def origin_record(origin: Origin | None) -> Record | None:
    """Return where a version came from as plain data."""
    if origin is None:
        return None
    if not origin.is_git:
        return {"path": origin.place}
    return {
        "repository": origin.place,
        "ref": origin.ref or None,
        "folder": origin.folder or None,
        "commit": origin.commit,
    }


def change_record(change: Change) -> Record:
    """Return what became of a skill as plain data."""
    return {
        "name": show_path(change.name),
        "status": change.status.value,
        "path": show_path(change.folder),
        "version": change.version,
        "digest": change.digest or None,
        "kept": change.kept,
        "origin": origin_record(change.origin),
        "problems": [problem_record(problem) for problem in change.problems],
    }


def history_record(history: History) -> Record:
    """Return all versions of a skill as plain data, oldest first."""
    return {
        "name": show_path(history.name),
        "current": history.current.number if history.current else None,
        "previous": [one.number for one in history.previous],
        "versions": [version_record(one) for one in list_versions(history)],
    }


def list_versions(history: History) -> tuple[KeptVersion, ...]:
    """Return the former versions, and then the one in use."""
    return (*history.previous, *([history.current] if history.current else []))


def version_record(version: KeptVersion) -> Record:
    """Return one version as plain data."""
    return {
        "version": version.number,
        "path": show_path(version.folder),
        "digest": version.digest or None,
        "at": None if version.at is None else show_moment(version.at),
        "edited": version.edited,
        "origin": origin_record(version.origin),
    }
