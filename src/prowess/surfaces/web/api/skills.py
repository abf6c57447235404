"""Skills over HTTP: the list, one skill, its instructions, its files, and why models see it or not."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from starlette.responses import Response

from prowess.catalog.validation import check_skill
from prowess.disclosure.instructions import read_instructions
from prowess.runtime import Runtime
from prowess.runtime.tool_results import show_moment
from prowess.surfaces.records import (
    Record,
    explanation_record,
    file_record,
    problem_record,
    rejected_record,
    skill_record,
    skill_row,
)
from prowess.surfaces.web.api.file_answers import make_attachment, make_picture
from prowess.surfaces.web.api.operations import Call, Operation
from prowess.surfaces.web.api.skill_answers import (
    Explanation,
    SkillContent,
    SkillDetails,
    SkillFiles,
    SkillList,
    SkillProblems,
)
from prowess.surfaces.web.api.skill_contents import open_contents
from prowess.surfaces.web.api.validating import VALIDATE
from prowess.surfaces.web.skill_table import SkillRow, Snapshot, Wanted

__all__ = ["SKILL_OPERATIONS", "answer_file", "describe_rows", "describe_skill", "judge_skill"]

MAX_LISTED = 500
"""Folders that gave no skill, and Problems of sources, that one answer lists."""
_row = partial(Operation, tag="skills")
_ONE = "/api/skills/{skill}"
_BINARY = "application/octet-stream"
_ZIP = "application/zip"

Source = Literal["", "core", "config", "plugin", "agents", "user", "project", "workspace", "mcp"]
State = Literal["", "visible", "hidden", "disabled", "shadowed", "untrusted", "ineligible", "problems", "rejected"]
Rising = Literal["", "name", "source", "state", "problems", "uses", "used", "tokens"]
Falling = Literal["-name", "-source", "-state", "-problems", "-uses", "-used", "-tokens"]


class ListQuery(Struct, kw_only=True):
    """Which skills, and in which order."""

    query: Annotated[str, Meta(max_length=200)] = ""
    source: Source = ""
    state: State = ""
    sort: Rising | Falling = ""
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class FileQuery(Struct, kw_only=True):
    """Of which digest, and what for."""

    digest: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    """Empty for the files that the skill has now."""
    form: Literal["download", "image"] = field(name="as", default="download")


class WhyQuery(Struct, kw_only=True):
    """For which message of a user."""

    query: Annotated[str, Meta(max_length=2_000)] = ""


def describe_rows(runtime: Runtime, snapshot: Snapshot, rows: tuple[SkillRow, ...]) -> list[Record]:
    """Return skills as they are listed, each with its digest."""
    return [
        skill_row(runtime, snapshot.catalog, snapshot.switches, row.skill, agent=snapshot.agent)
        | _describe_standing(snapshot, row)
        for row in rows
    ]


def describe_skill(runtime: Runtime, snapshot: Snapshot, row: SkillRow) -> Record:
    """Return all that is known of one skill."""
    used = snapshot.usage.get(row.skill.id)
    usage = {
        "activations": used.activations if used else 0,
        "sessions": used.sessions if used else 0,
        "tokens": used.tokens if used else 0,
        "runs": used.runs if used else 0,
        "last_used_at": show_moment(used.last_used_at) if used else None,
    }
    why = explanation_record(runtime.why(row.skill.id, agent=snapshot.agent))
    record = skill_record(runtime, snapshot.catalog, row.skill, agent=snapshot.agent)
    return record | _describe_standing(snapshot, row) | {"usage": usage, "why": why}


def judge_skill(runtime: Runtime, row: SkillRow) -> Record:
    """Return all that is wrong with a skill, its instructions, its files and its scripts."""
    skill, policy = row.skill, runtime.policy
    checked = check_skill(skill.real, reading=policy.reading, limits=policy.limits)
    problems = dict.fromkeys((*skill.problems, *checked.problems, *runtime.script_problems(skill)))
    listed = [problem_record(problem) for problem in problems]
    return {"name": skill.name, "id": skill.id, "valid": checked.valid, "problems": listed}


def answer_file(raw: bytes, path: str, form: str) -> Response:
    """Return a file of a skill in the way that was asked for."""
    return make_picture(raw) if form == "image" else make_attachment(raw, path)


def _describe_standing(snapshot: Snapshot, row: SkillRow) -> Record:
    used = snapshot.usage.get(row.skill.id)
    return {
        "key": row.key,
        "visible": row.is_visible,
        "state": row.state,
        "tokens": snapshot.tokens(row),
        "activations": used.activations if used else 0,
        "runs": used.runs if used else 0,
        "last_used_at": show_moment(used.last_used_at) if used else None,
    }


def _list(call: Call) -> Record:
    wanted: ListQuery = call.query
    snapshot = call.site.table.current()
    cut = snapshot.choose(
        Wanted(
            query=wanted.query,
            source=wanted.source,
            state=wanted.state,
            sort=wanted.sort,
            page=wanted.page,
            limit=wanted.limit,
        )
    )
    catalog = snapshot.catalog
    return {
        "skills": describe_rows(call.site.runtime, snapshot, cut.rows),
        "total": cut.total,
        "page": cut.number,
        "pages": cut.pages,
        "rejected": [rejected_record(one) for one in catalog.rejected[:MAX_LISTED]],
        "rejected_total": len(catalog.rejected),
        "problems": [problem_record(one) for one in catalog.problems[:MAX_LISTED]],
        "problems_total": len(catalog.problems),
        "generation": catalog.generation,
    }


def _show(call: Call) -> Record:
    snapshot = call.site.table.current()
    return describe_skill(call.site.runtime, snapshot, snapshot.get(call.path["skill"]))


def _read_content(call: Call) -> Record:
    runtime, skill = call.site.runtime, call.site.table.get(call.path["skill"]).skill
    files = runtime.files(skill)
    limit = runtime.policy.limits.max_skill_md_bytes
    instructions = read_instructions(skill, files=files.files if files.digest else (), limit_bytes=limit)
    return {
        "name": skill.name,
        "id": skill.id,
        "digest": files.digest or None,
        "frontmatter": skill.manifest.text,
        "instructions": instructions.body,
        "truncated": instructions.truncated,
    }


def _list_files(call: Call) -> Record:
    skill = call.site.table.get(call.path["skill"]).skill
    files = call.site.runtime.files(skill)
    return {
        "name": skill.name,
        "id": skill.id,
        "digest": files.digest or None,
        "files": [file_record(file) for file in files.files],
        "problems": [problem_record(problem) for problem in files.problems],
    }


def _send_file(call: Call) -> Response:
    skill = call.site.table.get(call.path["skill"]).skill
    path = call.path["path"]
    with open_contents(call.site.runtime, skill, digest=call.query.digest) as contents:
        return answer_file(contents.read(path), path, call.query.form)


def _send_archive(call: Call) -> Response:
    row = call.site.table.get(call.path["skill"])
    with open_contents(call.site.runtime, row.skill) as contents:
        return make_attachment(contents.archive(), f"{row.key}.zip", media=_ZIP)


def _list_problems(call: Call) -> Record:
    return judge_skill(call.site.runtime, call.site.table.get(call.path["skill"]))


def _explain(call: Call) -> Record:
    asked = call.path["skill"]
    snapshot = call.site.table.current()
    row = snapshot.find(asked)
    name = row.skill.id if row else asked
    explanation = call.site.runtime.why(name, agent=snapshot.agent, query=call.query.query)
    return explanation_record(explanation)


SKILL_OPERATIONS = (
    _row(
        "GET",
        "/api/skills",
        "list_skills",
        "List skills, a page at a time, with what is wrong with them.",
        _list,
        query=ListQuery,
        answer=SkillList,
    ),
    _row("GET", _ONE, "show_skill", "Show all that is known of a skill.", _show, answer=SkillDetails, errors=(404,)),
    _row(
        "GET",
        f"{_ONE}/content",
        "read_instructions",
        "Read the instructions of a skill.",
        _read_content,
        answer=SkillContent,
        errors=(404, 422),
    ),
    _row("GET", f"{_ONE}/files", "list_files", "List a skill's files.", _list_files, answer=SkillFiles, errors=(404,)),
    _row(
        "GET",
        f"{_ONE}/files/{{path:path}}",
        "download_file",
        "Download a file of a skill, or have a picture shown.",
        _send_file,
        query=FileQuery,
        media=_BINARY,
        errors=(404, 410),
    ),
    _row(
        "GET",
        f"{_ONE}/archive",
        "download_skill",
        "Download all files of a skill as a ZIP archive.",
        _send_archive,
        media=_ZIP,
        errors=(404,),
    ),
    _row(
        "GET",
        f"{_ONE}/problems",
        "list_problems",
        "List all that is wrong with a skill, and what to do about it.",
        _list_problems,
        answer=SkillProblems,
        errors=(404,),
    ),
    _row(
        "GET",
        f"{_ONE}/why",
        "explain_skill",
        "Say why models see a skill, or why not.",
        _explain,
        query=WhyQuery,
        answer=Explanation,
    ),
    VALIDATE,
)
